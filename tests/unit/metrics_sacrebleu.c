/* The formulas in numpy's number types against those of the metrics, and numpy's random numbers. */
#include "../harness/tap.h"
#include "base/rng.h"
#include "metrics/sacrebleu_rng_private.h"
#include "metrics/sacrebleu_score_private.h"
#include <math.h>

/* Random sums of counts as a text of some hundred segments has them. */
static void random_sums(double *sums, const struct tf_metric *m, struct tf_rng *rng)
{
    for (size_t i = 0; i < m->width; i++)
        sums[i] = (double)tf_rng_below(rng, 5000);
    for (size_t n = 0; m->kind == TF_BLEU && n < TF_NGRAM_MAX; n++) { /* match <= total */
        double *match = &sums[2 + n], *total = &sums[2 + TF_NGRAM_MAX + n];
        *total = fmax(*total, *match);
        if (tf_rng_below(rng, 4) == 0)
            *match = 0;
    }
    for (size_t i = 0; m->kind == TF_CHRF && i < m->width; i += TF_CHRF_COUNTS)
        sums[i + 2] = fmin(sums[i + 2], fmin(sums[i], sums[i + 1]));
}

static void compare(enum tf_metric_kind kind, const struct tf_metric_opts *o, const char *what)
{
    struct tf_metric m;
    struct tf_rng rng = tf_rng_new(1, (uint64_t)kind);
    double worst = 0, worst_whole = 0, sums[TF_METRIC_WIDTH];
    tf_metric_init(&m, kind, o, 1);
    for (int i = 0; i < 1000; i++) {
        random_sums(sums, &m, &rng);
        double score = tf_metric_score(&m, sums);
        double single = tf_sacrebleu_score_float32(&m, sums);
        worst = fmax(worst, fabs(single - score) / fmax(1, score));
        worst_whole = fmax(worst_whole, fabs(tf_sacrebleu_score_int64(&m, sums) - score));
    }
    ok(worst < 1e-5, "%s: float32 differs by at most %g", what, worst);
    ok(worst_whole < 1e-9, "%s: int64 differs by at most %g", what, worst_whole);
    tf_metric_release(&m);
}

static void scores(void)
{
    struct tf_metric_opts o = {.chrf = {.chars = 6, .words = 2, .beta = 2}};
    for (int smooth = TF_SMOOTH_EXP; smooth <= TF_SMOOTH_NONE; smooth++) {
        o.bleu.smooth = smooth;
        o.bleu.value = tf_bleu_default_value(smooth);
        compare(TF_BLEU, &o, tf_bleu_smooth_names[smooth]);
    }
    compare(TF_CHRF, &o, "chrF++");
    o.chrf.eps = true;
    compare(TF_CHRF, &o, "chrF++ with --chrf-eps-smoothing");
    compare(TF_TER, &o, "TER");
}

/* Add-k smoothing of whole numbers loses the fraction of k. */
static void truncation(void)
{
    const double sums[TF_BLEU_WIDTH] = {100, 100, 60, 40, 20, 10, 100, 99, 98, 97};
    struct tf_metric_opts half = {.bleu = {.smooth = TF_SMOOTH_ADD_K, .value = 1.5}}, one = half;
    struct tf_metric m, n;
    one.bleu.value = 1;
    tf_metric_init(&m, TF_BLEU, &half, 1);
    tf_metric_init(&n, TF_BLEU, &one, 1);
    is_near(tf_sacrebleu_score_int64(&m, sums), tf_metric_score(&n, sums), 0, "k 1.5 acts as 1");
    tf_metric_release(&m);
    tf_metric_release(&n);
}

static void random_numbers(void)
{
    struct tf_numpy_rng r;
    struct tf_err err = {0};
    uint32_t v[3];
    /* the example in the documentation of numpy.random.default_rng: integers(low=0, high=10,
     * size=3) */
    is_int(tf_numpy_rng_seed(&r, "12345", &err), 0, "seed");
    tf_numpy_rng_below(&r, v, 3, 10);
    ok(v[0] == 6 && v[1] == 2 && v[2] == 7, "%u %u %u", v[0], v[1], v[2]);
    is_int(tf_numpy_rng_seed(&r, "1x", &err), -1, "a seed that is not a number");
    is_str(err.msg, "SACREBLEU_SEED 1x: not a number", "message");
}

int main(void)
{
    scores();
    truncation();
    random_numbers();
    return done();
}
