/* resample.c - sums of drawn segments. Bootstrap sums are float32 added one after the other, as
 * numpy's are; those of randomization are whole. */
#include "metrics/resample.h"
#include "metrics/numpy_rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 4, MAX_WIDTH = 6 * TF_CHRF_MAX, MAX_LINES = 1 << 30 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* Counts as float32, rows padded to whole vectors. */
static lanes *rows_of(const struct tf_tally *t, size_t cell, size_t *vectors)
{
    const struct tf_metric *m = &t->metrics[cell % t->nmetrics];
    *vectors = (m->width + LANES - 1) / LANES;
    lanes *rows = aligned_alloc(64, (t->nlines * *vectors * sizeof *rows + 63) & ~(size_t)63);
    if (!rows)
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

/* The sum of the drawn rows. The vectors of a row are a constant in each case, so that they stay in
 * registers. */
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

/* Scores of all samples of one system under one metric. single: all of them are float32, so numpy's
 * array of them is, too. */
struct samples {
    lanes *rows;
    size_t vectors;
    double *score;
    bool single;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* numpy's pairwise summation (loops_utils.h.src). */
static double pairwise(const double *x, size_t n, enum tf_arith a)
{
    double sum = 0;
    if (n < 8) {
        for (size_t i = 0; i < n; i++)
            sum = tf_arith_round(sum + x[i], a);
        return sum;
    }
    if (n <= 128) {
        double r[8];
        size_t i;
        memcpy(r, x, sizeof r);
        for (i = 8; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; k++)
                r[k] = tf_arith_round(r[k] + x[i + (size_t)k], a);
        for (int step = 1; step < 8; step *= 2)
            for (int k = 0; k < 8; k += 2 * step)
                r[k] = tf_arith_round(r[k] + r[k + step], a);
        for (sum = r[0]; i < n; i++)
            sum = tf_arith_round(sum + x[i], a);
        return sum;
    }
    size_t half = n / 2;
    half -= half % 8;
    return tf_arith_round(pairwise(x, half, a) + pairwise(x + half, n - half, a), a);
}

static double mean_of(const double *x, size_t n, enum tf_arith a)
{
    return tf_arith_round(pairwise(x, n, a) / (double)n, a);
}

static double exact_mean(const double *x, size_t n, enum tf_arith a)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return tf_arith_round((double)(sum / (long double)n), a);
}

static void interval(struct tf_resample *out, const struct samples *s, size_t n, bool exact)
{
    enum tf_arith a = s->single ? TF_SINGLE : TF_DOUBLE;
    double *sorted = tf_xarray(NULL, n, sizeof *sorted);
    size_t cut = n / 40;
    memcpy(sorted, s->score, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    out->mean = exact ? exact_mean(sorted, n, a) : mean_of(sorted, n, a);
    out->ci = tf_arith_round(0.5 * tf_arith_round(sorted[n - cut - 1] - sorted[cut], a), a);
    out->has_mean = true;
    free(sorted);
}

static double real_difference(const struct tf_tally *t, size_t cell)
{
    const struct tf_metric *m = &t->metrics[cell % t->nmetrics];
    bool single;
    return fabs(tf_metric_score(m, t->sums[cell % t->nmetrics], TF_DOUBLE, &single) -
                tf_metric_score(m, t->sums[cell], TF_DOUBLE, &single));
}

static double share_above(const double *x, size_t n, double shift, double limit, enum tf_arith a)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++)
        above += tf_arith_round(x[i] - shift, a) > limit;
    return (double)(above + 1) / (double)(n + 1);
}

static void paired(struct tf_resample *out, const struct samples *sys, const struct samples *base,
                   size_t n, double difference)
{
    enum tf_arith a = sys->single && base->single ? TF_SINGLE : TF_DOUBLE;
    double *d = tf_xarray(NULL, n, sizeof *d);
    for (size_t i = 0; i < n; i++)
        d[i] = fabs(tf_arith_round(sys->score[i] - base->score[i], a));
    out->p = share_above(d, n, mean_of(d, n, a), tf_arith_round(difference, a), a);
    out->has_p = true;
    free(d);
}

int tf_bootstrap(struct tf_resample *out, const struct tf_tally *t, size_t samples,
                 const char *seed, bool exact, struct tf_err *err)
{
    size_t cells = t->nsystems * t->nmetrics;
    struct tf_numpy_rng rng;
    if (tf_numpy_rng_seed(&rng, seed, err) < 0)
        return -1;
    if (t->nlines > MAX_LINES)
        return tf_fail(err, "too many lines to resample");
    struct samples *s = tf_xcalloc(cells, sizeof *s);
    uint32_t *index = tf_xarray(NULL, t->nlines, sizeof *index);
    int rc = 0;
    for (size_t c = 0; c < cells && !rc; c++) {
        s[c].rows = rows_of(t, c, &s[c].vectors);
        s[c].score = tf_xarray(NULL, samples, sizeof *s[c].score);
        s[c].single = true;
        if (!s[c].rows)
            rc = tf_fail(err, "out of memory for %zu segments", t->nlines);
    }
    for (size_t k = 0; k < samples && !rc; k++) {
        tf_numpy_rng_below(&rng, index, t->nlines, (uint32_t)t->nlines);
        for (size_t c = 0; c < cells; c++) {
            const struct tf_metric *m = &t->metrics[c % t->nmetrics];
            lanes sum[MAX_WIDTH / LANES];
            double sums[MAX_WIDTH];
            bool single;
            sum_rows(sum, s[c].rows, s[c].vectors, index, t->nlines);
            for (size_t j = 0; j < m->width; j++)
                sums[j] = (double)sum[j / LANES][j % LANES];
            s[c].score[k] = tf_metric_score(m, sums, TF_SINGLE, &single);
            s[c].single &= single;
        }
    }
    for (size_t c = 0; c < cells; c++) {
        if (!rc) {
            out[c] = (struct tf_resample){0};
            interval(&out[c], &s[c], samples, exact);
            if (c >= t->nmetrics)
                paired(&out[c], &s[c], &s[c % t->nmetrics], samples, real_difference(t, c));
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

/* Where a trial's coins fall: mask[i] is all ones where segment i stays. */
static void throw(struct tf_numpy_rng *rng, uint32_t *mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mask[i] = -(uint32_t)tf_numpy_rng_bit(rng);
}

/* Sums of `a` where the mask is set and of `b` elsewhere. Blocks are short enough for 32 bits when
 * every count is below 2^20. */
static void pick(uint64_t *sum, const uint32_t *a, const uint32_t *b, size_t stride,
                 const uint32_t *mask, size_t n)
{
    enum { BLOCK = 4096 };
    memset(sum, 0, stride * sizeof *sum);
    for (size_t from = 0; from < n; from += BLOCK) {
        uint32_t part[MAX_WIDTH] = {0};
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

/* The common widths with a constant stride, so that the compiler unrolls them into vectors. */
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
    uint64_t both[MAX_WIDTH];
    double *d;
    bool small;
};

static void prepare(struct pair *p, const struct tf_tally *t, size_t cell, size_t trials)
{
    p->m = &t->metrics[cell % t->nmetrics];
    p->base = t->counts[cell % t->nmetrics];
    p->sys = t->counts[cell];
    p->d = tf_xarray(NULL, trials, sizeof *p->d);
    p->small = true;
    memset(p->both, 0, sizeof p->both);
    for (size_t i = 0; i < t->nlines * p->m->width; i++) {
        p->both[i % p->m->width] += (uint64_t)p->base[i] + p->sys[i];
        p->small &= p->base[i] < 1 << 20 && p->sys[i] < 1 << 20;
    }
}

static double score_counts(const struct tf_metric *m, const uint64_t *counts)
{
    double sums[MAX_WIDTH];
    bool single;
    for (size_t j = 0; j < m->width; j++)
        sums[j] = (double)counts[j];
    if (m->kind == TF_TER)
        sums[1] /= (double)m->nrefs;
    return tf_metric_score(m, sums, TF_INTEGER, &single);
}

static void trial(struct pair *p, size_t k, const uint32_t *mask, size_t n)
{
    uint64_t a[MAX_WIDTH], b[MAX_WIDTH];
    pick_sums(a, p->base, p->sys, p->m->width, mask, n, p->small);
    for (size_t j = 0; j < p->m->width; j++)
        b[j] = p->both[j] - a[j];
    p->d[k] = fabs(score_counts(p->m, a) - score_counts(p->m, b));
}

int tf_randomize(struct tf_resample *out, const struct tf_tally *t, size_t trials, const char *seed,
                 struct tf_err *err)
{
    struct tf_numpy_rng rng;
    struct pair p[TF_METRICS];
    if (t->nlines > MAX_LINES)
        return tf_fail(err, "too many lines to resample");
    for (size_t m = 0; m < t->nmetrics; m++)
        out[m] = (struct tf_resample){0};
    uint32_t *mask = tf_xarray(NULL, t->nlines, sizeof *mask);
    int rc = 0;
    for (size_t s = 1; s < t->nsystems && !rc; s++) {
        rc = tf_numpy_rng_seed(&rng, seed, err);
        for (size_t m = 0; m < t->nmetrics; m++)
            prepare(&p[m], t, s * t->nmetrics + m, trials);
        for (size_t k = 0; k < trials && !rc; k++) {
            throw(&rng, mask, t->nlines);
            for (size_t m = 0; m < t->nmetrics; m++)
                trial(&p[m], k, mask, t->nlines);
        }
        for (size_t m = 0; m < t->nmetrics; m++) {
            size_t cell = s * t->nmetrics + m;
            out[cell] = (struct tf_resample){.has_p = true};
            if (!rc)
                out[cell].p = share_above(p[m].d, trials, 0, real_difference(t, cell), TF_DOUBLE);
            free(p[m].d);
        }
    }
    free(mask);
    return rc;
}
