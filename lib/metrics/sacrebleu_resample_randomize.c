/* sacrebleu_resample_randomize.c - approximate randomisation. Sums are whole numbers, those of
 * the actual difference, too: a trial that splits the counts alike is never above it. */
#include "base/memory.h"
#include "metrics/sacrebleu_resample_private.h"
#include "metrics/sacrebleu_rng_private.h"
#include "metrics/sacrebleu_score_private.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Toss a coin per segment: mask[i] is all ones where segment i is not swapped. */
static void toss(struct tf_numpy_rng *rng, uint32_t *mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mask[i] = -(uint32_t)tf_numpy_rng_bit(rng);
}

enum { SMALL_COUNT = 1 << 20 };

/* The sums of `a` where the mask is set and of `b` elsewhere, for counts below SMALL_COUNT: then
 * the sum of a block fits in 32 bits. */
static void pick(uint64_t *sum, const uint32_t *a, const uint32_t *b, size_t stride,
                 const uint32_t *mask, size_t n)
{
    enum { BLOCK = 4096 };
    memset(sum, 0, stride * sizeof *sum);
    for (size_t from = 0; from < n; from += BLOCK) {
        uint32_t part[TF_METRIC_WIDTH] = {0};
        size_t to = from + BLOCK < n ? from + BLOCK : n;
        for (size_t i = from; i < to; i++)
            for (size_t j = 0; j < stride; j++)
                part[j] += b[i * stride + j] ^ ((a[i * stride + j] ^ b[i * stride + j]) & mask[i]);
        for (size_t j = 0; j < stride; j++)
            sum[j] += part[j];
    }
}

static void pick_any(uint64_t *sum, const uint32_t *a, const uint32_t *b, size_t width,
                     const uint32_t *mask, size_t n)
{
    memset(sum, 0, width * sizeof *sum);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            sum[j] += mask[i] ? a[i * width + j] : b[i * width + j];
}

/* The common widths are compiled with a constant stride, so that the loops become vector code. */
static void pick_sums(uint64_t *sum, const uint32_t *a, const uint32_t *b, size_t width,
                      const uint32_t *mask, size_t n, bool small)
{
    if (!small)
        pick_any(sum, a, b, width, mask, n);
    else if (width == 10)
        pick(sum, a, b, 10, mask, n);
    else if (width == 2)
        pick(sum, a, b, 2, mask, n);
    else if (width == 18)
        pick(sum, a, b, 18, mask, n);
    else if (width == 24)
        pick(sum, a, b, 24, mask, n);
    else
        pick(sum, a, b, width, mask, n);
}

struct pair {
    const struct tf_metric *m;
    const uint32_t *base, *sys;
    uint64_t both[TF_METRIC_WIDTH]; /* sums of both systems together */
    double actual;                  /* the absolute difference between their scores */
    double *d;                      /* per trial: the absolute difference */
    bool small;                     /* every count is below SMALL_COUNT */
};

static void values_of(double *sums, const struct tf_metric *m, const uint64_t *counts)
{
    for (size_t j = 0; j < m->width; j++)
        sums[j] = (double)counts[j];
    if (m->kind == TF_TER)
        sums[1] /= (double)m->nrefs;
}

/* From sums of counts, not from t->sums: TER with several references adds rounded means there. Only
 * trials have add-k smoothing of whole numbers. */
static double actual_difference(const struct tf_metric *m, const uint64_t *base,
                                const uint64_t *sys)
{
    double a[TF_METRIC_WIDTH], b[TF_METRIC_WIDTH];
    values_of(a, m, base);
    values_of(b, m, sys);
    return fabs(tf_metric_score(m, a) - tf_metric_score(m, b));
}

static void prepare(struct pair *p, const struct tf_tally *t, size_t cell, size_t trials)
{
    uint64_t base[TF_METRIC_WIDTH] = {0}, sys[TF_METRIC_WIDTH] = {0};
    p->m = &t->metrics[cell % t->nmetrics];
    p->base = t->counts[cell % t->nmetrics];
    p->sys = t->counts[cell];
    p->d = tf_xarray(NULL, trials, sizeof *p->d);
    p->small = true;
    for (size_t i = 0; i < t->nlines * p->m->width; i++) {
        base[i % p->m->width] += p->base[i];
        sys[i % p->m->width] += p->sys[i];
        p->small &= p->base[i] < SMALL_COUNT && p->sys[i] < SMALL_COUNT;
    }
    for (size_t j = 0; j < p->m->width; j++)
        p->both[j] = base[j] + sys[j];
    p->actual = actual_difference(p->m, base, sys);
}

static double score_counts(const struct tf_metric *m, const uint64_t *counts)
{
    double sums[TF_METRIC_WIDTH];
    values_of(sums, m, counts);
    return tf_sacrebleu_score_int64(m, sums);
}

static void trial(struct pair *p, size_t k, const uint32_t *mask, size_t n)
{
    uint64_t a[TF_METRIC_WIDTH], b[TF_METRIC_WIDTH];
    pick_sums(a, p->base, p->sys, p->m->width, mask, n, p->small);
    for (size_t j = 0; j < p->m->width; j++)
        b[j] = p->both[j] - a[j];
    p->d[k] = fabs(score_counts(p->m, a) - score_counts(p->m, b));
}

int tf_sacrebleu_randomize(struct tf_resample *out, const struct tf_tally *t, size_t trials,
                           const char *seed, struct tf_err *err)
{
    struct tf_numpy_rng rng;
    struct pair p[TF_METRICS];
    for (size_t m = 0; m < t->nmetrics; m++)
        out[m] = (struct tf_resample){0};
    uint32_t *mask = tf_xarray(NULL, t->nlines, sizeof *mask);
    int rc = 0;
    for (size_t s = 1; s < t->nsystems && !rc; s++) {
        rc = tf_numpy_rng_seed(&rng, seed, err);
        for (size_t m = 0; m < t->nmetrics; m++)
            prepare(&p[m], t, s * t->nmetrics + m, trials);
        for (size_t k = 0; k < trials && !rc; k++) {
            toss(&rng, mask, t->nlines);
            for (size_t m = 0; m < t->nmetrics; m++)
                trial(&p[m], k, mask, t->nlines);
        }
        for (size_t m = 0; m < t->nmetrics; m++) {
            size_t cell = s * t->nmetrics + m;
            out[cell] = (struct tf_resample){.has_p = true};
            if (!rc)
                out[cell].p = tf_sacrebleu_p(p[m].d, trials, 0, p[m].actual);
            free(p[m].d);
        }
    }
    free(mask);
    return rc;
}
