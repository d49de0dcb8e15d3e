/* item.h - heads and items of encoded CBOR, for the files of this folder only: a scanner that finds
 * where an item ends without trusting any length, and a cursor that takes fields out of a scanned
 * record. Nothing here allocates by a length that was not checked against bytes at hand. */
#ifndef TF_CBOR_ITEM_H
#define TF_CBOR_ITEM_H

#include "cbor/cbor.h"

enum {
    TF_MAJOR_UINT,
    TF_MAJOR_NEGINT,
    TF_MAJOR_BYTES,
    TF_MAJOR_TEXT,
    TF_MAJOR_ARRAY,
    TF_MAJOR_MAP,
    TF_MAJOR_TAG,
    TF_MAJOR_SIMPLE
};

/* Tags (RFC 8746, RFC 9277, notable tags). */
enum {
    TF_TAG_MULTI_DIM = 40,
    TF_TAG_U8 = 64,
    TF_TAG_U16 = 69,
    TF_TAG_U32 = 70,
    TF_TAG_U64 = 71,
    TF_TAG_S8 = 72,
    TF_TAG_S32 = 78,
    TF_TAG_S64 = 79,
    TF_TAG_F16 = 84,
    TF_TAG_F32 = 85,
    TF_TAG_F64 = 86,
    TF_TAG_SHA256 = 18540,
};

struct tf_head {
    unsigned major, info;
    uint64_t val;
};

/* The head at p: its length; 0 when n bytes do not hold it; -1 when it is reserved or of indefinite
 * length. */
static inline int tf_head_read(const uint8_t *p, size_t n, struct tf_head *h)
{
    if (n == 0)
        return 0;
    h->major = p[0] >> 5;
    h->info = p[0] & 31;
    if (h->info < 24) {
        h->val = h->info;
        return 1;
    }
    if (h->info > 27)
        return -1;
    size_t k = (size_t)1 << (h->info - 24);
    if (n < 1 + k)
        return 0;
    uint64_t x = 0;
    for (size_t i = 1; i <= k; i++)
        x = x << 8 | p[i];
    h->val = x;
    return (int)(1 + k);
}

/* Progress through one item: zero-initialise, feed the same bytes again with more behind them. */
struct tf_scan {
    size_t pos;  /* bytes known to belong to the item */
    size_t need; /* after 0: bytes of the item that must be there to go on */
    bool begun;
    int depth;
    uint64_t left[TF_CBOR_DEPTH + 1];
};
/* 1: the item ends at s->pos; 0: n bytes are too few, see s->need; -1: malformed or larger than
 * limit, *why says so. s->need never exceeds limit. */
int tf_scan_item(struct tf_scan *s, const uint8_t *p, size_t n, size_t limit, const char **why);

/* A cursor over encoded items. Getters return NULL and move on, or a reason and stay. */
struct tf_cur {
    const uint8_t *p, *end;
};
const char *tf_cur_uint(struct tf_cur *c, uint64_t *x);
const char *tf_cur_array(struct tf_cur *c, uint64_t *n); /* n <= bytes left */
const char *tf_cur_map(struct tf_cur *c, uint64_t *n);   /* n pairs, 2n <= bytes left */
const char *tf_cur_tag(struct tf_cur *c, uint64_t *tag);
const char *tf_cur_bytes(struct tf_cur *c, const uint8_t **p, size_t *n); /* a view */
/* a view, not terminated; UTF-8 without NUL */
const char *tf_cur_text(struct tf_cur *c, const char **s, size_t *n);
/* any float, or an integer */
const char *tf_cur_real(struct tf_cur *c, double *x);
/* with or without tag 18540 */
const char *tf_cur_sha256(struct tf_cur *c, uint8_t out[32]);
const char *tf_cur_crc(struct tf_cur *c, bool *has, uint32_t *crc);       /* uint32 or null */
const char *tf_cur_skip(struct tf_cur *c);
bool tf_cur_is_null(const struct tf_cur *c);
/* Ids: tags 64, 69, 70, 71 or a plain array of integers; at most max; values that do not fit 32
 * bits are refused. */
const char *tf_cur_ids(struct tf_cur *c, struct tf_arena *a, size_t max, const uint32_t **ids,
                       size_t *n);
/* Reals: tags 84, 85, 86 or a plain array of numbers; at most max. */
const char *tf_cur_reals(struct tf_cur *c, struct tf_arena *a, size_t max, const float **x,
                         size_t *n);

/* Typed arrays, little-endian. */
void tf_put_u16s(struct tf_buf *b, const uint32_t *x, size_t n); /* tag 69; values below 65536 */
void tf_put_u32s(struct tf_buf *b, const uint32_t *x, size_t n); /* tag 70 */
void tf_put_f32s(struct tf_buf *b, const float *x, size_t n);    /* tag 85 */

/* does a 32-byte string there get tag 18540? */
bool tf_value_is_hash_key(const char *parent, const char *key);
/* well-formed UTF-8 (no surrogates, no overlong forms) without NUL */
bool tf_utf8_valid(const uint8_t *p, size_t n);
float tf_half_to_float(uint16_t h);
/* The half with exactly the value of x (not a NaN); false when there is none. */
bool tf_half_exact(float x, uint16_t *h);
uint32_t tf_load32(const void *p);
uint64_t tf_load64(const void *p);

#endif
