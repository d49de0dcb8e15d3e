/* scan.h - find the end of an item in input that may arrive in pieces and may contain false
 * lengths. Allocates nothing. */
#ifndef TF_CBOR_SCAN_H
#define TF_CBOR_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TF_CBOR_DEPTH = 8 /* arrays, maps and tags inside each other, at most */ };

/* Progress through one item. Zero-initialise; after a return of 0, call again with the same bytes
 * and more after them. */
struct tf_scan {
    size_t pos;  /* bytes known to belong to the item; its length after a return of 1 */
    size_t need; /* after 0: bytes of the item required before the next call, at most limit */
    bool begun;
    int depth;
    const char *why;                  /* after -1: the reason */
    bool longer;                      /* after -1: an item promises more than limit bytes */
    uint64_t left[TF_CBOR_DEPTH + 1]; /* items to come, per level */
};
/* Returns 1 if the item ends at s->pos; 0 if n bytes are too few; -1 if it is malformed or longer
 * than limit bytes, at s->pos. */
int tf_scan_item(struct tf_scan *s, const uint8_t *p, size_t n, size_t limit);

#endif
