/* buf.h - a byte buffer that grows. A NUL, which does not count, follows the bytes. */
#ifndef TF_BASE_BUF_H
#define TF_BASE_BUF_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tf_buf {
    char *p;
    size_t len, cap;
};

/* Zero-initialise; p is NULL until something is added. See tf_out_of_memory. */
void tf_buf_add(struct tf_buf *b, const void *p, size_t n);
static inline void tf_buf_byte(struct tf_buf *b, unsigned char c);
void tf_buf_str(struct tf_buf *b, const char *s);
void tf_buf_uint(struct tf_buf *b, uint64_t x); /* in decimal */
void tf_buf_ids(struct tf_buf *b, const uint32_t *ids, size_t n); /* in decimal, with commas */
void tf_buf_printf(struct tf_buf *b, const char *fmt, ...) TF_PRINTF(2, 3);
/* The same as an item of a list: after what is there and ", ". */
void tf_buf_item(struct tf_buf *b, const char *fmt, ...) TF_PRINTF(2, 3);
/* Append the character c (at most U+10FFFF, no surrogate) as UTF-8. */
void tf_buf_char(struct tf_buf *b, uint32_t c);
/* Append s with U+FFFD for each maximal ill-formed part (Unicode 15, section 3.9), as Python and
 * browsers do. */
void tf_buf_valid_utf8(struct tf_buf *b, const char *s, size_t n);
/* Append n bytes of s as a terminal may show them (tf_escape). */
void tf_buf_escaped(struct tf_buf *b, const char *s, size_t n);
/* Append n bytes of s as one word of a shell command, in single quotes if it needs them. */
void tf_buf_shell_word(struct tf_buf *b, const char *s, size_t n);
/* The name of a file as an operand of such a command: one like an option gets ./ in front. */
void tf_buf_shell_file(struct tf_buf *b, const char *name);
/* Make room for n more bytes; returns a pointer to it. The caller increases len. */
char *tf_buf_grow(struct tf_buf *b, size_t n);
static inline void tf_buf_clear(struct tf_buf *b); /* len = 0, keeps the memory */
void tf_buf_release(struct tf_buf *b);             /* free */

static inline void tf_buf_byte(struct tf_buf *b, unsigned char c)
{
    if (b->cap - b->len < 2)
        tf_buf_grow(b, 1);
    b->p[b->len++] = (char)c;
    b->p[b->len] = 0;
}

static inline void tf_buf_clear(struct tf_buf *b)
{
    b->len = 0;
    if (b->p != NULL)
        b->p[0] = 0;
}

/* Does a text end with another? */
bool tf_ends_with(const char *s, const char *end);

#endif
