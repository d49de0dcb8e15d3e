/* BLEU's tokenizers: for any line of valid UTF-8, tokens are valid UTF-8, not empty, and together
 * no longer than the line. */
#include "metrics/tokenizers_private.h"
#include "base/utf8.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct tf_tokens t;
    const char *s = (const char *)data;
    size_t end = tf_utf8_span(s, n);
    const char *lf = end > 0 ? memchr(s, '\n', end) : NULL;
    if (lf != NULL)
        end = (size_t)(lf - s);
    /* As the line reader does. */
    while (end > 0 && strchr(" \t\r\v\f", s[end - 1]) != NULL && s[end - 1] != 0)
        end--;
    for (size_t k = TF_TOK_NONE; k <= TF_TOK_ZH; k++) {
        size_t total = 0;
        tf_tokenizers[k](&t, (struct tf_text){s, end});
        for (size_t i = 0; i < t.n; i++) {
            TF_ASSERT(t.v[i].n > 0 && tf_utf8_span(t.v[i].p, t.v[i].n) == t.v[i].n);
            total += t.v[i].n;
        }
        TF_ASSERT(total <= end && t.n <= end);
    }
    return 0;
}
