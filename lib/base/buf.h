/* buf.h - a byte buffer that grows. Always followed by a NUL that does not count. */
#ifndef TF_BASE_BUF_H
#define TF_BASE_BUF_H

#include "base/err.h"
#include <stddef.h>

struct tf_buf {
    char *p;
    size_t len, cap;
};

/* Zero-initialised is an empty buffer (p NULL). Out of memory ends the process. */
void tf_buf_add(struct tf_buf *b, const void *p, size_t n);
void tf_buf_byte(struct tf_buf *b, unsigned char c);
void tf_buf_str(struct tf_buf *b, const char *s);
void tf_buf_printf(struct tf_buf *b, const char *fmt, ...) TF_PRINTF(2, 3);
/* room for n more bytes; returns where they go; caller adds to len */
char *tf_buf_grow(struct tf_buf *b, size_t n);
void tf_buf_clear(struct tf_buf *b);           /* len = 0, memory kept */
void tf_buf_release(struct tf_buf *b);         /* free */

#endif
