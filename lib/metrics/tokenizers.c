/* tokenizers.c - the list of tokenizers, and those that only split at white space. */
#include "metrics/tokenizers_private.h"
#include "base/memory.h"
#include "text/unicode.h"
#include <stdlib.h>

const char *const tf_tokenizer_names[] = {"none", "char",      "13a",       "intl",      "zh",
                                          "spm",  "flores101", "flores200", "spBLEU-1K", NULL};
tf_tokenize_fn *const tf_tokenizers[] = {tf_tokenize_none, tf_tokenize_char, tf_tokenize_13a,
                                         tf_tokenize_intl, tf_tokenize_zh,   tf_tokenize_spm,
                                         tf_tokenize_spm,  tf_tokenize_spm,  tf_tokenize_spm};

void tf_tokens_add(struct tf_tokens *t, const char *p, size_t n)
{
    TF_GROW(t->v, t->n, t->cap);
    t->v[t->n++] = (struct tf_text){p, n};
}

void tf_tokens_release(struct tf_tokens *t)
{
    free(t->v);
    free(t->number);
    tf_buf_release(&t->line);
    tf_buf_release(&t->lower);
    *t = (struct tf_tokens){0};
}

void tf_tokenize_none(struct tf_tokens *t, struct tf_text line)
{
    t->n = 0;
    if (line.n == 0)
        return; /* line.p may be NULL */
    const char *start = NULL, *end = line.p + line.n;
    for (const char *p = line.p; p < end;) {
        int space = tf_uc_space_at(p);
        if (space && start != NULL)
            tf_tokens_add(t, start, (size_t)(p - start));
        if (space)
            start = NULL;
        else if (start == NULL)
            start = p;
        p += space ? space : 1;
    }
    if (start != NULL)
        tf_tokens_add(t, start, (size_t)(end - start));
}

void tf_tokenize_char(struct tf_tokens *t, struct tf_text line)
{
    const char *end = line.p + line.n;
    int len;
    t->n = 0;
    for (const char *p = line.p; p < end; p += len)
        if (!tf_uc_space(tf_utf8_get(p, &len)))
            tf_tokens_add(t, p, (size_t)len);
}
