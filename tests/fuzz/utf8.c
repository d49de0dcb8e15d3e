/* UTF-8: the well-formed beginning is well-formed and ends where the next character is none; what
 * replacement leaves is well-formed, and replacement changes nothing else. */
#include "base/buf.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *s = (const char *)data;
    size_t span = tf_utf8_span(s, n), at = 0;
    while (at < span) {
        size_t len = tf_utf8_at(s + at, n - at);
        TF_ASSERT(len > 0);
        at += len;
    }
    TF_ASSERT(at == span && (span == n || tf_utf8_at(s + span, n - span) == 0));
    struct tf_buf b = {0}, again = {0};
    tf_buf_valid_utf8(&b, s, n);
    TF_ASSERT(b.len <= 3 * n && b.len >= span && (span == 0 || memcmp(b.p, s, span) == 0));
    TF_ASSERT(b.len == 0 || tf_utf8_span(b.p, b.len) == b.len);
    TF_ASSERT((span == n) == (b.len == n && (n == 0 || memcmp(b.p, s, n) == 0)));
    if (b.len > 0)
        tf_buf_valid_utf8(&again, b.p, b.len);
    TF_ASSERT(again.len == b.len && (b.len == 0 || memcmp(again.p, b.p, b.len) == 0));
    tf_buf_release(&b);
    tf_buf_release(&again);
    return 0;
}
