/* chrf.c - see chrf_private.h. Characters and words become numbers, then their n-grams are
 * matched. */
#include "metrics/chrf_private.h"
#include "base/memory.h"
#include "metrics/number_private.h"
#include <stdlib.h>
#include <string.h>

void tf_chrf_side_release(struct tf_chrf_side *s)
{
    free(s->chars);
    tf_tokens_release(&s->words);
}

void tf_chrf_release(struct tf_chrf *c)
{
    tf_chrf_side_release(&c->hyp);
    tf_chrf_side_release(&c->ref);
    tf_intern_release(&c->intern);
    tf_grams_release(&c->grams);
    free(c->stats);
    free(c->matches);
    *c = (struct tf_chrf){0};
}

static bool ascii_punct(char c)
{
    unsigned char b = (unsigned char)c;
    return (b > ' ' && b < '0') || (b > '9' && b < 'A') || (b > 'Z' && b < 'a') ||
           (b > 'z' && b < 0x7F);
}

/* A punctuation mark at the end of a word, or else at its start, becomes a word of its own. */
static void cut_word(struct tf_tokens *words, const char *p, size_t n)
{
    int first;
    tf_utf8_get(p, &first);
    if (n == (size_t)first) {
        tf_tokens_add(words, p, n);
    } else if (ascii_punct(p[n - 1])) {
        tf_tokens_add(words, p, n - 1);
        tf_tokens_add(words, p + n - 1, 1);
    } else if (ascii_punct(p[0])) {
        tf_tokens_add(words, p, 1);
        tf_tokens_add(words, p + 1, n - 1);
    } else {
        tf_tokens_add(words, p, n);
    }
}

void tf_chrf_cut(struct tf_chrf_side *s, struct tf_text line, const struct tf_chrf_opts *o)
{
    if (o->lowercase) {
        tf_buf_clear(&s->words.lower);
        tf_uc_lower(&s->words.lower, line.p, line.n);
        line = (struct tf_text){s->words.lower.p, s->words.lower.len};
    }
    if (line.n > s->char_cap) {
        s->char_cap = 2 * line.n;
        s->chars = tf_xarray(s->chars, s->char_cap, sizeof *s->chars);
    }
    s->nchars = s->words.n = 0;
    const char *end = line.p + line.n, *word = NULL;
    int len;
    for (const char *p = line.p; p < end; p += len) {
        uint32_t c = tf_utf8_get(p, &len);
        bool space = tf_uc_space(c);
        if (!space || o->whitespace)
            s->chars[s->nchars++] = c;
        if (space && word != NULL && o->words)
            cut_word(&s->words, word, (size_t)(p - word));
        word = space ? NULL : word != NULL ? word : p;
    }
    if (word != NULL && o->words)
        cut_word(&s->words, word, (size_t)(end - word));
}

void tf_chrf_counts(uint32_t *counts, const uint32_t *matches, size_t nh, size_t nr, size_t orders)
{
    for (size_t k = 1; k <= orders; k++, counts += TF_CHRF_COUNTS) {
        counts[0] = nr >= k && nh >= k ? (uint32_t)(nh - k + 1) : 0;
        counts[1] = nr >= k ? (uint32_t)(nr - k + 1) : 0;
        counts[2] = matches[k - 1];
    }
}

static void match_kind(struct tf_chrf *c, const uint32_t *hyp, size_t nh, const uint32_t *ref,
                       size_t nr, size_t orders, uint32_t *matches)
{
    tf_grams_match(&c->grams, (struct tf_symbols){hyp, nh}, &(struct tf_symbols){ref, nr}, 1,
                   orders, matches);
}

void tf_chrf_segment(struct tf_chrf *c, uint32_t *counts, struct tf_text hyp,
                     const struct tf_text *refs, size_t nrefs)
{
    const struct tf_chrf_opts *o = &c->opts;
    size_t chars = (size_t)o->chars, words = (size_t)o->words,
           width = TF_CHRF_COUNTS * (chars + words);
    double best = -1, f, sums[TF_CHRF_WIDTH];
    if (c->stats == NULL) {
        c->stats = tf_xcalloc(width + 1, sizeof *c->stats);
        c->matches = tf_xcalloc(chars + words + 1, sizeof *c->matches);
    }
    tf_chrf_cut(&c->hyp, hyp, o);
    for (size_t r = 0; r < nrefs; r++) {
        tf_chrf_cut(&c->ref, refs[r], o);
        memset(c->matches, 0, (chars + words) * sizeof *c->matches);
        match_kind(c, c->hyp.chars, c->hyp.nchars, c->ref.chars, c->ref.nchars, chars, c->matches);
        if (words) {
            tf_intern_start(&c->intern, c->hyp.words.n + c->ref.words.n);
            tf_tokens_number(&c->ref.words, &c->intern);
            tf_tokens_number(&c->hyp.words, &c->intern);
            match_kind(c, c->hyp.words.number, c->hyp.words.n, c->ref.words.number, c->ref.words.n,
                       words, c->matches + chars);
        }
        tf_chrf_counts(c->stats, c->matches, c->hyp.nchars, c->ref.nchars, chars);
        tf_chrf_counts(c->stats + TF_CHRF_COUNTS * chars, c->matches + chars, c->hyp.words.n,
                       c->ref.words.n, words);
        for (size_t i = 0; i < width; i++)
            sums[i] = c->stats[i];
        f = nrefs > 1 ? tf_chrf_score(sums, o) : 0;
        if (f > best) {
            best = f;
            memcpy(counts, c->stats, width * sizeof *counts);
        }
    }
}

static double f_score(double precision, double recall, double factor, double otherwise, bool f)
{
    const double denominator = tf_number(tf_number(factor * precision, f) + recall, f);
    const double product =
        tf_number(tf_number(tf_number(1 + factor, f) * precision, f) * recall, f);
    return denominator > 0 ? tf_number(product / denominator, f) : otherwise;
}

double tf_chrf_score(const double *counts, const struct tf_chrf_opts *o)
{
    const bool f = o->float32;
    const double eps = tf_number(1e-16, f), factor = tf_number((double)o->beta * o->beta, f);
    double f_sum = 0, p_sum = 0, r_sum = 0;
    int64_t orders = o->chars + o->words;
    int used = 0;
    for (int64_t i = 0; i < orders; i++, counts += TF_CHRF_COUNTS) {
        const double hyp = counts[0], ref = counts[1], match = counts[2];
        const double precision = hyp > 0 ? tf_number(match / hyp, f) : eps;
        const double recall = ref > 0 ? tf_number(match / ref, f) : eps;
        f_sum = tf_number(f_sum + f_score(precision, recall, factor, eps, f), f);
        if (hyp > 0 && ref > 0) {
            p_sum = tf_number(p_sum + precision, f);
            r_sum = tf_number(r_sum + recall, f);
            used++;
        }
    }
    if (o->eps)
        return orders ? tf_number(tf_number(100 * f_sum, f) / (double)orders, f) : 0;
    const double p = used ? tf_number(p_sum / used, f) : 0,
                 r = used ? tf_number(r_sum / used, f) : 0;
    return tf_number(100 * f_score(p, r, factor, 0, f), f);
}
