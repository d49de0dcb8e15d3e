/* chrf.c - see chrf_private.h. Characters and words become numbers, then their n-grams are
 * matched. */
#include "metrics/chrf_private.h"
#include "base/memory.h"
#include "metrics/number_private.h"
#include <stdlib.h>
#include <string.h>

static void grams_start(struct tf_chrf_grams *g, size_t nr, size_t nh)
{
    size_t slots = tf_table_slots(nr), most = nr > nh ? nr : nh;
    if (slots > g->cap) {
        g->slot = tf_xarray(g->slot, slots, sizeof *g->slot);
        g->cap = slots;
    }
    if (most > g->room) {
        g->room = most < 256 ? 256 : most;
        g->left = tf_xarray(g->left, g->room, sizeof *g->left);
        g->hyp = tf_xarray(g->hyp, g->room, sizeof *g->hyp);
        g->ref = tf_xarray(g->ref, g->room, sizeof *g->ref);
    }
    g->mask = slots - 1;
    g->key = tf_table_key();
}

static struct tf_chrf_slot *find_gram(struct tf_chrf_grams *g, uint64_t key)
{
    size_t i = (size_t)tf_table_hash(g->key, key) & g->mask;
    while (g->slot[i].gram && g->slot[i].key != key)
        i = (i + 1) & g->mask;
    return &g->slot[i];
}

/* An n-gram that the reference lacks, which therefore lacks all longer ones that begin with it. */
enum { NONE = UINT32_MAX };

/* matches[k - 1] += sum over k-grams of min(count in hyp, count in ref), k = 1 .. orders. */
static void grams_match(struct tf_chrf_grams *g, const uint32_t *hyp, size_t nh,
                        const uint32_t *ref, size_t nr, size_t orders, uint32_t *matches)
{
    grams_start(g, nr, nh);
    if (nh)
        memset(g->hyp, 0, nh * sizeof *g->hyp);
    if (nr)
        memset(g->ref, 0, nr * sizeof *g->ref);
    bool any = true;
    for (size_t k = 1; k <= orders && k <= nr && k <= nh && any; k++) {
        uint32_t grams = 0, found = 0;
        memset(g->slot, 0, (g->mask + 1) * sizeof *g->slot);
        for (size_t i = 0; i + k <= nr; i++) {
            uint64_t key = (uint64_t)g->ref[i] << 32 | ref[i + k - 1];
            struct tf_chrf_slot *s = find_gram(g, key);
            if (!s->gram) {
                *s = (struct tf_chrf_slot){key, ++grams};
                g->left[grams - 1] = 0;
            }
            g->left[s->gram - 1]++;
            g->ref[i] = s->gram - 1;
        }
        any = false;
        for (size_t i = 0; i + k <= nh; i++) {
            if (g->hyp[i] == NONE)
                continue;
            struct tf_chrf_slot *s = find_gram(g, (uint64_t)g->hyp[i] << 32 | hyp[i + k - 1]);
            g->hyp[i] = s->gram ? s->gram - 1 : NONE;
            if (s->gram) {
                any = true;
                if (g->left[s->gram - 1]) {
                    g->left[s->gram - 1]--;
                    found++;
                }
            }
        }
        matches[k - 1] += found;
    }
}

static void grams_release(struct tf_chrf_grams *g)
{
    free(g->slot);
    free(g->left);
    free(g->hyp);
    free(g->ref);
    *g = (struct tf_chrf_grams){0};
}

void tf_chrf_side_release(struct tf_chrf_side *s)
{
    tf_buf_release(&s->lower);
    free(s->chars);
    free(s->words);
    free(s->text);
}

void tf_chrf_release(struct tf_chrf *c)
{
    tf_chrf_side_release(&c->hyp);
    tf_chrf_side_release(&c->ref);
    tf_intern_release(&c->intern);
    grams_release(&c->grams);
    free(c->stats);
    free(c->matches);
    *c = (struct tf_chrf){0};
}

static void add_word(struct tf_chrf_side *s, const char *p, size_t n)
{
    s->text[s->nwords++] = (struct tf_text){p, n};
}

static bool ascii_punct(char c)
{
    unsigned char b = (unsigned char)c;
    return (b > ' ' && b < '0') || (b > '9' && b < 'A') || (b > 'Z' && b < 'a') ||
           (b > 'z' && b < 0x7F);
}

/* A punctuation mark at the end of a word, or else at its start, becomes a word of its own. */
static void cut_word(struct tf_chrf_side *s, const char *p, size_t n)
{
    int first;
    tf_utf8_get(p, &first);
    if (n == (size_t)first) {
        add_word(s, p, n);
    } else if (ascii_punct(p[n - 1])) {
        add_word(s, p, n - 1);
        add_word(s, p + n - 1, 1);
    } else if (ascii_punct(p[0])) {
        add_word(s, p, 1);
        add_word(s, p + 1, n - 1);
    } else {
        add_word(s, p, n);
    }
}

void tf_chrf_cut(struct tf_chrf_side *s, struct tf_text line, const struct tf_chrf_opts *o)
{
    if (o->lowercase) {
        tf_buf_clear(&s->lower);
        tf_uc_lower(&s->lower, line.p, line.n);
        line = (struct tf_text){s->lower.p, s->lower.len};
    }
    if (line.n > s->char_cap) {
        s->char_cap = 2 * line.n;
        s->chars = tf_xarray(s->chars, s->char_cap, sizeof *s->chars);
    }
    if (o->words && line.n + 1 > s->word_cap) {
        s->word_cap = 2 * line.n + 2;
        s->words = tf_xarray(s->words, s->word_cap, sizeof *s->words);
        s->text = tf_xarray(s->text, s->word_cap, sizeof *s->text);
    }
    s->nchars = s->nwords = 0;
    const char *end = line.p + line.n, *word = NULL;
    int len;
    for (const char *p = line.p; p < end; p += len) {
        uint32_t c = tf_utf8_get(p, &len);
        bool space = tf_uc_space(c);
        if (!space || o->whitespace)
            s->chars[s->nchars++] = c;
        if (space && word != NULL && o->words)
            cut_word(s, word, (size_t)(p - word));
        word = space ? NULL : word != NULL ? word : p;
    }
    if (word != NULL && o->words)
        cut_word(s, word, (size_t)(end - word));
}

void tf_chrf_counts(uint32_t *counts, const uint32_t *matches, size_t nh, size_t nr, size_t orders)
{
    for (size_t k = 1; k <= orders; k++, counts += TF_CHRF_COUNTS) {
        counts[0] = nr >= k && nh >= k ? (uint32_t)(nh - k + 1) : 0;
        counts[1] = nr >= k ? (uint32_t)(nr - k + 1) : 0;
        counts[2] = matches[k - 1];
    }
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
        grams_match(&c->grams, c->hyp.chars, c->hyp.nchars, c->ref.chars, c->ref.nchars, chars,
                    c->matches);
        if (words) {
            tf_intern_start(&c->intern, c->hyp.nwords + c->ref.nwords);
            for (size_t i = 0; i < c->ref.nwords; i++)
                c->ref.words[i] = tf_intern(&c->intern, c->ref.text[i]);
            for (size_t i = 0; i < c->hyp.nwords; i++)
                c->hyp.words[i] = tf_intern(&c->intern, c->hyp.text[i]);
            grams_match(&c->grams, c->hyp.words, c->hyp.nwords, c->ref.words, c->ref.nwords, words,
                        c->matches + chars);
        }
        tf_chrf_counts(c->stats, c->matches, c->hyp.nchars, c->ref.nchars, chars);
        tf_chrf_counts(c->stats + TF_CHRF_COUNTS * chars, c->matches + chars, c->hyp.nwords,
                       c->ref.nwords, words);
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
