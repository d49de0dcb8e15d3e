/* buf.c - growing byte buffers. */
#include "base/buf.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *tf_buf_grow(struct tf_buf *b, size_t n)
{
    if (n >= SIZE_MAX / 2 - b->len)
        tf_out_of_memory((double)n, NULL);
    if (b->len + n + 1 > b->cap) {
        size_t cap = b->cap != 0 ? b->cap * 2 : 64;
        if (cap < b->len + n + 1)
            cap = b->len + n + 1;
        b->p = tf_xarray(b->p, cap, 1);
        b->cap = cap;
    }
    b->p[b->len] = 0;
    return b->p + b->len;
}

void tf_buf_add(struct tf_buf *b, const void *p, size_t n)
{
    char *dst = tf_buf_grow(b, n);
    if (n != 0)
        memcpy(dst, p, n);
    b->len += n;
    b->p[b->len] = 0;
}

void tf_buf_str(struct tf_buf *b, const char *s)
{
    size_t n = strlen(s);
    memcpy(tf_buf_grow(b, n), s, n + 1);
    b->len += n;
}

/* Write x at p in decimal; returns the end. */
static inline char *put_uint(char *p, uint64_t x)
{
    size_t digits = 1;
    for (uint64_t rest = x; rest > 9; rest /= 10)
        digits++;
    for (size_t i = digits; i > 0; x /= 10)
        p[--i] = (char)('0' + x % 10);
    return p + digits;
}

void tf_buf_uint(struct tf_buf *b, uint64_t x)
{
    char *end = put_uint(tf_buf_grow(b, sizeof "18446744073709551615" - 1), x);
    *end = 0;
    b->len = (size_t)(end - b->p);
}

void tf_buf_ids(struct tf_buf *b, const uint32_t *ids, size_t n)
{
    enum { BLOCK = 64 }; /* ids for which room is made at once */
    for (size_t i = 0; i < n;) {
        char *p = tf_buf_grow(b, BLOCK * (sizeof ",4294967295" - 1));
        do {
            if (i != 0)
                *p++ = ',';
            p = put_uint(p, ids[i++]);
        } while (i < n && i % BLOCK != 0);
        *p = 0;
        b->len = (size_t)(p - b->p);
    }
}

__attribute__((format(printf, 2, 0))) static void put_format(struct tf_buf *b, const char *fmt,
                                                             va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t room = b->cap - b->len;
    if (room > INT_MAX) /* POSIX refuses larger ones */
        room = INT_MAX;
    int n = vsnprintf(room > 0 ? b->p + b->len : NULL, room, fmt, ap);
    if (n > 0) {
        if ((size_t)n >= room)
            vsnprintf(tf_buf_grow(b, (size_t)n), (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    } else if (room > 0) {
        b->p[b->len] = 0;
    }
    va_end(again);
}

void tf_buf_printf(struct tf_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_format(b, fmt, ap);
    va_end(ap);
}

void tf_buf_item(struct tf_buf *b, const char *fmt, ...)
{
    va_list ap;
    if (b->len > 0)
        tf_buf_str(b, ", ");
    va_start(ap, fmt);
    put_format(b, fmt, ap);
    va_end(ap);
}

void tf_buf_char(struct tf_buf *b, uint32_t c)
{
    char s[4];
    tf_buf_add(b, s, tf_utf8_encode(s, c));
}

void tf_buf_valid_utf8(struct tf_buf *b, const char *s, size_t n)
{
    while (n > 0) {
        size_t good = tf_utf8_span(s, n);
        tf_buf_add(b, s, good);
        s += good;
        n -= good;
        if (n == 0)
            break;
        size_t bad = tf_utf8_ill_formed(s, n);
        tf_buf_str(b, "\xef\xbf\xbd");
        s += bad;
        n -= bad;
    }
}

void tf_buf_release(struct tf_buf *b)
{
    free(b->p);
    *b = (struct tf_buf){0};
}

void tf_buf_escaped(struct tf_buf *b, const char *s, size_t n)
{
    char *dst = tf_buf_grow(b, 4 * n);
    b->len += strlen(tf_escape(dst, 4 * n + 1, s, n));
}

void tf_buf_shell_word(struct tf_buf *b, const char *s, size_t n)
{
    bool plain = n > 0;
    for (size_t i = 0; plain && i < n; i++)
        plain = s[i] != 0 &&
                strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%",
                       s[i]) != NULL;
    if (plain) {
        tf_buf_add(b, s, n);
        return;
    }
    tf_buf_byte(b, '\'');
    for (size_t i = 0; i < n; i++)
        tf_buf_str(b, s[i] == '\'' ? "'\\''" : (char[]){s[i], 0});
    tf_buf_byte(b, '\'');
}

void tf_buf_shell_file(struct tf_buf *b, const char *name)
{
    if (name[0] == '-')
        tf_buf_str(b, "./");
    tf_buf_shell_word(b, name, strlen(name));
}

bool tf_ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}
