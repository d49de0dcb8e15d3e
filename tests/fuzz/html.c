/* html.c - any text as HTML, with any text for its translations and links: the tags of the result
 * are those of the text, and what has nothing to translate is the text. The first byte chooses
 * options; what follows a form feed is what each sentence becomes, and after another one its links.
 */
#include "base/utf8.h"
#include "text/html_private.h"
#include "../harness/memory.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A sum over all markup of a text, whatever its order, without quotes, > and the attributes that
 * are translated. */
static uint64_t markup(const char *s, size_t n)
{
    size_t count;
    uint64_t sum = 0;
    struct tf_html_item *items = tf_html_scan(s, n, &count);
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = 14695981039346656037u;
        struct tf_text value = {0};
        struct tf_html_attributes a = {0};
        /* A sup whose letters are lost is a mark. */
        if (items[i].whole && strncasecmp(s + items[i].begin, "<sup", 4) == 0 && !items[i].keep) {
            sum += markup(s + items[i].begin, items[i].end - items[i].begin - 1);
            continue;
        }
        bool more = tf_html_readable(s, &items[i], &a, &value);
        for (size_t p = items[i].begin; p < items[i].end; p++) {
            if (more && s + p == value.p) {
                p += value.n - 1;
                more = tf_html_readable(s, &items[i], &a, &value);
            } else if (strchr("\"'>", s[p]) == NULL) {
                hash = (hash ^ (unsigned char)s[p]) * 1099511628211u;
            }
        }
        sum += items[i].kind != TF_HTML_TEXT ? hash : 0;
    }
    free(items);
    return sum;
}

static struct tf_text part(const char **p, const char *end)
{
    const char *feed = *p < end ? memchr(*p, '\f', (size_t)(end - *p)) : NULL;
    const struct tf_text t = {*p, (size_t)((feed != NULL ? feed : end) - *p)};
    *p = feed != NULL ? feed + 1 : end;
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_err err = {0};
    struct tf_sentences *sentences = NULL;
    struct tf_html *h;
    struct tf_buf valid = {0}, out = {0};
    if (n == 0)
        return 0;
    tf_buf_valid_utf8(&valid, (const char *)data + 1, n - 1);
    tf_buf_grow(&valid, 1);
    const char *p = valid.p, *end = p + valid.len;
    const struct tf_text text = part(&p, end), made = part(&p, end), links = part(&p, end);
    TF_ASSERT(!(data[0] & 1) || tf_sentences_new(&sentences, "en", 40, &err) == 0);
    const struct tf_hide hide = {.addresses = data[0] & 2};
    TF_ASSERT(tf_html_new(&h, text.p, text.n, sentences, hide, &err) == 0);
    for (size_t i = 0; i < tf_html_count(h); i++) {
        const struct tf_text s = tf_html_sentence(h, i);
        TF_ASSERT(s.n > 0 && tf_utf8_span(s.p, s.n) == s.n);
        tf_html_set(h, i, data[0] & 4 ? made : s, links);
    }
    tf_buf_grow(&out, 1);
    tf_html_write(h, &out);
    TF_ASSERT(tf_utf8_span(out.p, out.len) == out.len);
    TF_ASSERT(markup(text.p, text.n) == markup(out.p, out.len));
    if (tf_html_count(h) == 0)
        TF_ASSERT(out.len == text.n && memcmp(out.p, text.p, text.n) == 0);
    tf_html_free(h);
    tf_sentences_free(sentences);
    tf_buf_release(&valid);
    tf_buf_release(&out);
    return 0;
}
