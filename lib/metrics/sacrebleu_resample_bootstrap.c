/* sacrebleu_resample_bootstrap.c - bootstrap resampling. Sums are float32, added one segment
 * after the other as numpy does. */
#include "base/memory.h"
#include "metrics/number_private.h"
#include "metrics/sacrebleu_resample_private.h"
#include "metrics/sacrebleu_rng_private.h"
#include "metrics/sacrebleu_score_private.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 4 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* The counts as float32, in rows padded to whole vectors. NULL when out of memory. */
static lanes *rows_of(const struct tf_tally *t, size_t cell, size_t *vectors)
{
    const struct tf_metric *m = &t->metrics[cell % t->nmetrics];
    *vectors = (m->width + LANES - 1) / LANES;
    lanes *rows = aligned_alloc(64, (t->nlines * *vectors * sizeof *rows + 63) & ~(size_t)63);
    if (rows == NULL)
        return NULL;
    for (size_t i = 0; i < t->nlines; i++)
        for (size_t j = 0; j < *vectors * LANES; j++)
            rows[i * *vectors + j / LANES][j % LANES] =
                j < m->width ? (float)tf_metric_value(m, j, t->counts[cell][i * m->width + j]) : 0;
    return rows;
}

static inline __attribute__((always_inline)) void
add_rows(lanes *sum, const lanes *rows, size_t vectors, const uint32_t *index, size_t n)
{
    lanes acc[8] = {0};
    for (size_t i = 0; i < n; i++) {
        const lanes *row = rows + index[i] * vectors;
        for (size_t v = 0; v < vectors; v++)
            acc[v] += row[v];
    }
    for (size_t v = 0; v < vectors; v++)
        sum[v] = acc[v];
}

/* The sum of the drawn rows. The common widths are compiled with a constant number of vectors, so
 * that the sums stay in registers. */
static void sum_rows(lanes *sum, const lanes *rows, size_t vectors, const uint32_t *index, size_t n)
{
    switch (vectors) {
    case 1:
        add_rows(sum, rows, 1, index, n);
        return;
    case 3:
        add_rows(sum, rows, 3, index, n);
        return;
    case 5:
        add_rows(sum, rows, 5, index, n);
        return;
    case 6:
        add_rows(sum, rows, 6, index, n);
        return;
    default:
        memset(sum, 0, vectors * sizeof *sum);
        for (size_t i = 0; i < n; i++)
            for (size_t v = 0; v < vectors; v++)
                sum[v] += rows[index[i] * vectors + v];
    }
}

/* The scores of all samples of one system under one metric. */
struct samples {
    lanes *rows;
    size_t vectors;
    double *score;
    bool float32; /* numpy's array of the scores is of that type */
};

static int compare_scores(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* numpy's sum is pairwise (numpy/core/src/umath/loops_utils.h.src). */
static double sum_of(const double *x, size_t n, bool float32)
{
    if (n > 128) {
        size_t half = n / 2 - n / 2 % 8;
        return tf_number(sum_of(x, half, float32) + sum_of(x + half, n - half, float32), float32);
    }
    double r[8] = {0};
    size_t i = 0;
    for (; i < n - n % 8; i++)
        r[i % 8] = tf_number(r[i % 8] + x[i], float32);
    for (int step = 1; step < 8; step *= 2)
        for (int k = 0; k < 8; k += 2 * step)
            r[k] = tf_number(r[k] + r[k + step], float32);
    for (; i < n; i++)
        r[0] = tf_number(r[0] + x[i], float32);
    return r[0];
}

static double mean(const double *x, size_t n, bool float32)
{
    return tf_number(sum_of(x, n, float32) / (double)n, float32);
}

/* exact: the mean is that of Python's statistics.mean. */
static void interval(struct tf_resample *out, const struct samples *s, size_t n, bool exact)
{
    double *sorted = tf_xarray(NULL, n, sizeof *sorted);
    size_t cut = n / 40;
    memcpy(sorted, s->score, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_scores);
    out->mean = mean(sorted, n, s->float32 && !exact);
    out->ci = 0.5 * (sorted[n - cut - 1] - sorted[cut]);
    out->has_mean = true;
    free(sorted);
}

/* The absolute difference between the scores of a cell's system and the first one. */
static double actual_difference(const struct tf_tally *t, size_t cell)
{
    const struct tf_metric *m = &t->metrics[cell % t->nmetrics];
    return fabs(tf_metric_score(m, t->sums[cell % t->nmetrics]) -
                tf_metric_score(m, t->sums[cell]));
}

static void p_value(struct tf_resample *out, const struct samples *sys, const struct samples *base,
                    size_t n, double difference)
{
    double *d = tf_xarray(NULL, n, sizeof *d);
    for (size_t i = 0; i < n; i++)
        d[i] = fabs(sys->score[i] - base->score[i]);
    out->p = tf_sacrebleu_p(d, n, mean(d, n, false), difference);
    out->has_p = true;
    free(d);
}

int tf_sacrebleu_bootstrap(struct tf_resample *out, const struct tf_tally *t, size_t samples,
                           const char *seed, bool exact, struct tf_err *err)
{
    size_t cells = t->nsystems * t->nmetrics;
    struct tf_numpy_rng rng;
    if (tf_numpy_rng_seed(&rng, seed, err) != 0)
        return -1;
    struct samples *s = tf_xcalloc(cells, sizeof *s);
    uint32_t *index = tf_xarray(NULL, t->nlines, sizeof *index);
    int rc = 0;
    for (size_t c = 0; c < cells && !rc; c++) {
        s[c].rows = rows_of(t, c, &s[c].vectors);
        s[c].float32 = t->metrics[c % t->nmetrics].kind != TF_BLEU;
        s[c].score = tf_xarray(NULL, samples, sizeof *s[c].score);
        if (s[c].rows == NULL)
            rc = tf_fail(err, "out of memory for %zu segments", t->nlines);
    }
    for (size_t k = 0; k < samples && !rc; k++) {
        tf_numpy_rng_below(&rng, index, t->nlines, (uint32_t)t->nlines);
        for (size_t c = 0; c < cells; c++) {
            const struct tf_metric *m = &t->metrics[c % t->nmetrics];
            lanes sum[TF_METRIC_WIDTH / LANES];
            double sums[TF_METRIC_WIDTH];
            sum_rows(sum, s[c].rows, s[c].vectors, index, t->nlines);
            for (size_t j = 0; j < m->width; j++)
                sums[j] = (double)sum[j / LANES][j % LANES];
            s[c].score[k] = tf_sacrebleu_score_float32(m, sums);
        }
    }
    for (size_t c = 0; c < cells; c++) {
        if (!rc) {
            out[c] = (struct tf_resample){0};
            interval(&out[c], &s[c], samples, exact);
            if (c >= t->nmetrics)
                p_value(&out[c], &s[c], &s[c % t->nmetrics], samples, actual_difference(t, c));
        }
    }
    for (size_t c = 0; c < cells; c++) {
        free(s[c].rows);
        free(s[c].score);
    }
    free(s);
    free(index);
    return rc;
}
