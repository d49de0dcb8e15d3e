/* Moses' and Tercom's tokenizers and the metrics: the output is valid UTF-8 without control
 * characters, and a line against itself has no edits and full chrF. */
#include "metrics/metric.h"
#include "metrics/tokenizer_moses.h"
#include "base/utf8.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void moses(struct tf_text line)
{
    static struct tf_moses m;
    static struct tf_moses_prefixes prefixes[TF_MOSES_FR + 1];
    static struct tf_buf plain, words, cut;
    tf_buf_clear(&plain);
    tf_moses_punctuation(&plain, line, line.n % 2);
    for (int lang = TF_MOSES_EN; lang <= TF_MOSES_FR; lang++) {
        m.lang = (enum tf_moses_lang)lang;
        if (prefixes[lang].n == 0)
            tf_moses_prefixes_of(&prefixes[lang], m.lang);
        m.prefixes = &prefixes[lang];
        tf_buf_clear(&words);
        tf_buf_clear(&cut);
        tf_moses_tokenize(&m, &words, (struct tf_text){plain.p ? plain.p : "", plain.len});
        TF_ASSERT(words.len == 0 || tf_utf8_span(words.p, words.len) == words.len);
        bool blank = true; /* a line of white space stays as it is */
        for (size_t i = 0; i < words.len; i++) {
            unsigned char c = (unsigned char)words.p[i];
            blank = blank && (c <= ' ' || c >= 0x7f);
        }
        for (size_t i = 0; i < words.len; i++)
            TF_ASSERT((blank || (unsigned char)words.p[i] >= ' ') && words.p[i] != '\'' &&
                      words.p[i] != '<');
        tf_moses_compounds(&cut, (struct tf_text){words.p ? words.p : "", words.len});
        TF_ASSERT(cut.len >= words.len);
    }
}

static void metric(enum tf_metric_kind kind, unsigned flags, struct tf_text line)
{
    struct tf_metric_opts o = {.chrf = {6, 2, 2, flags & 1, flags & 2, flags & 4},
                               .ter = {flags & 1, flags & 2, flags & 4, flags & 8}};
    struct tf_metric m;
    struct tf_err err = {0};
    uint32_t counts[64] = {0};
    tf_metric_init(&m, kind, &o, 1);
    TF_ASSERT(tf_metric_segment(&m, counts, line, &line, &err) == 0);
    for (size_t i = 0; kind == TF_CHRF && i + 2 < m.width; i += 3)
        TF_ASSERT(counts[i] == counts[i + 1] && counts[i] == counts[i + 2]);
    TF_ASSERT(kind != TF_TER || (flags & 2) || counts[0] == 0);
    tf_metric_release(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0 || n > 2000)
        return 0;
    unsigned flags = data[0];
    const char *s = (const char *)data + 1;
    size_t end = tf_utf8_span(s, n - 1);
    const char *lf = end > 0 ? memchr(s, '\n', end) : NULL;
    struct tf_text line = {s, lf ? (size_t)(lf - s) : end};
    moses(line);
    metric(TF_CHRF, flags, line);
    metric(TF_TER, flags, line);
    return 0;
}
