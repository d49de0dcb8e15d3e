/* N-gram matches against their definition, and scores of given statistics. */
#include "../harness/tap.h"
#include "base/rng.h"
#include "metrics/bleu.h"

enum { MAX_REFS = 4, MAX_LEN = 24 };

struct sentence {
    struct tf_text v[MAX_LEN];
    size_t n;
};

/* Words of a small vocabulary, of all lengths around the 4 and 8 bytes at which hashing changes. */
static struct sentence random_sentence(struct tf_rng *r)
{
    static const char text[] = "abcdefghijklmnopqabcdefghijklmnopq";
    struct sentence s = {.n = tf_rng_below(r, MAX_LEN + 1)};
    for (size_t i = 0; i < s.n; i++)
        s.v[i] = (struct tf_text){text + 17 * tf_rng_below(r, 2),
                                  1 + tf_rng_below(r, 3) * tf_rng_below(r, 9)};
    return s;
}

static bool same(const struct tf_text *a, const struct tf_text *b, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (a[i].n != b[i].n || memcmp(a[i].p, b[i].p, a[i].n) != 0)
            return false;
    return true;
}

static size_t count(const struct sentence *s, const struct tf_text *gram, size_t k)
{
    size_t n = 0;
    for (size_t i = 0; i + k <= s->n; i++)
        n += same(s->v + i, gram, k);
    return n;
}

/* By definition: for each distinct n-gram of the hypothesis, the lesser of its count and the
 * greatest count in a reference. */
static void by_definition(uint64_t *matches, const struct sentence *hyp,
                          const struct sentence *refs, size_t nrefs)
{
    for (size_t k = 1; k <= TF_NGRAM_MAX; k++)
        for (size_t i = 0; i + k <= hyp->n; i++) {
            bool before = false;
            for (size_t j = 0; j < i; j++)
                before |= same(hyp->v + j, hyp->v + i, k);
            size_t most = 0, have = count(hyp, hyp->v + i, k);
            for (size_t r = 0; r < nrefs; r++) {
                size_t c = count(&refs[r], hyp->v + i, k);
                most = c > most ? c : most;
            }
            if (!before)
                matches[k - 1] += have < most ? have : most;
        }
}

static void take(struct tf_tokens *t, const struct sentence *s)
{
    t->n = 0;
    for (size_t i = 0; i < s->n; i++)
        tf_tokens_add(t, s->v[i].p, s->v[i].n);
}

static void ngrams(void)
{
    struct tf_rng rng = tf_rng_new(1, 2);
    struct tf_bleu b = {0};
    struct tf_bleu_stats got;
    struct tf_err err = {0};
    int wrong = 0, found = 0;
    for (int round = 0; round < 2000; round++) {
        struct sentence refs[MAX_REFS], hyp = random_sentence(&rng);
        size_t nrefs = 1 + tf_rng_below(&rng, MAX_REFS);
        uint64_t want[TF_NGRAM_MAX] = {0};
        tf_bleu_room(&b, nrefs);
        take(&b.hyp, &hyp);
        for (size_t r = 0; r < nrefs; r++) {
            refs[r] = random_sentence(&rng);
            take(&b.refs[r], &refs[r]);
        }
        wrong += tf_bleu_count(&b, &got, nrefs, &err) != 0;
        by_definition(want, &hyp, refs, nrefs);
        wrong += memcmp(got.match, want, sizeof want) != 0;
        found += want[3] > 0;
    }
    is_int(wrong, 0, "2000 random segments: matches as by definition");
    ok(found > 100, "of them %d with matches of order 4", found);
    tf_bleu_release(&b);
}

static struct tf_bleu_stats segment(const char *hyp, const char *const *refs, size_t n)
{
    struct tf_bleu b = {.opts = {.tokenizer = TF_TOK_NONE}};
    struct tf_bleu_stats s = {0};
    struct tf_text texts[4];
    struct tf_err err = {0};
    for (size_t i = 0; i < n; i++)
        texts[i] = (struct tf_text){refs[i], strlen(refs[i])};
    if (tf_bleu_segment(&b, &s, (struct tf_text){hyp, strlen(hyp)}, texts, n, &err) < 0)
        ok(false, "%s", err.msg);
    tf_bleu_release(&b);
    return s;
}

/* Examples of Papineni et al., section 2. */
static void paper(void)
{
    static const char *const refs[] = {"the cat is on the mat", "there is a cat on the mat"};
    struct tf_bleu_stats s = segment("the the the the the the the", refs, 2);
    is_int(s.match[0], 2, "clipped unigrams");
    is_int(s.total[0], 7, "of 7");
    is_int(s.match[1], 0, "no bigram");
    is_int(s.ref, 7, "the closest reference has 7 words");
    static const char *const lengths[] = {"a b c d e f", "a b"};
    is_int(segment("a b c d", lengths, 2).ref, 2, "of two equally close lengths the shorter");
    is_int(segment("a b c d e", lengths, 2).ref, 6, "else the closer");
    is_int(segment("", lengths, 2).ref, 2, "also for an empty hypothesis");
    is_int(segment("a b", lengths, 2).total[3], 0, "no 4-gram in two words");
}

static struct tf_bleu_score score_of(const struct tf_bleu_stats *s, const struct tf_bleu_opts *o)
{
    double sums[TF_BLEU_WIDTH] = {(double)s->hyp, (double)s->ref};
    for (int n = 0; n < TF_NGRAM_MAX; n++) {
        sums[2 + n] = (double)s->match[n];
        sums[2 + TF_NGRAM_MAX + n] = (double)s->total[n];
    }
    return tf_bleu_score(sums, o);
}

static double score(const struct tf_bleu_stats *s, enum tf_bleu_smooth smooth, double value,
                    bool effective)
{
    const struct tf_bleu_opts o = {.smooth = smooth, .value = value, .effective_order = effective};
    return score_of(s, &o).score;
}

static void scores(void)
{
    const struct tf_bleu_stats s = {10, 12, {8, 4, 0, 0}, {10, 9, 8, 7}};
    double bp = exp(1 - 12.0 / 10), p12 = 80 * (400 / 9.0);
    is_near(score(&s, TF_SMOOTH_EXP, 0, false), bp * pow(p12 * (100 / 16.0) * (100 / 28.0), 0.25),
            1e-9, "exp");
    is_near(score(&s, TF_SMOOTH_FLOOR, 0.1, false), bp * pow(p12 * (10 / 8.0) * (10 / 7.0), 0.25),
            1e-9, "floor");
    is_near(score(&s, TF_SMOOTH_ADD_K, 1, false),
            bp * pow(80 * 50 * (100 / 9.0) * (100 / 8.0), 0.25), 1e-9, "add-k");
    is_near(score(&s, TF_SMOOTH_NONE, 0, false), 0, 0, "none");
    const struct tf_bleu_stats brief = {2, 2, {2, 1, 0, 0}, {2, 1, 0, 0}};
    is_near(score(&brief, TF_SMOOTH_EXP, 0, true), 100, 1e-9, "effective order");
    is_near(score(&brief, TF_SMOOTH_EXP, 0, false), 0, 0,
            "without it the missing orders make it 0");
    const struct tf_bleu_stats none = {5, 5, {0, 0, 0, 0}, {5, 4, 3, 2}}, nothing = {0};
    is_near(score(&none, TF_SMOOTH_EXP, 0, false), 0, 0,
            "no match at all is 0 under any smoothing");
    const struct tf_bleu_opts o = {.smooth = TF_SMOOTH_EXP};
    is_near(score_of(&nothing, &o).bp, 1, 0, "nothing against nothing: no penalty");
    is_near(score_of(&nothing, &o).ratio, 0, 0, "and ratio 0");
    const struct tf_bleu_stats empty = {.ref = 4};
    is_near(score_of(&empty, &o).bp, 0, 0, "an empty hypothesis: penalty 0");
    is_near(tf_bleu_default_value(TF_SMOOTH_FLOOR), 0.1, 0, "default of floor");
    is_near(tf_bleu_default_value(TF_SMOOTH_ADD_K), 1, 0, "default of add-k");
}

int main(void)
{
    ngrams();
    paper();
    scores();
    return done();
}
