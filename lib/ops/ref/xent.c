/* xent.c - projection to the vocabulary, softmax and cross-entropy with label smoothing (paper,
 * section 5.4), in two walks that never hold [R, V]: the first by row for losses and dx, the second
 * by vocabulary entry for de and db. */
#include "ops/ref/ref_private.h"

#include <math.h>

static double logit(const struct tf_xent *x, size_t row, size_t j)
{
    size_t D = (size_t)x->D;
    const tf_real *a = (const tf_real *)x->x + row * D, *b = (const tf_real *)x->e + j * D;
    double z = x->b != NULL ? (double)*in(x->b, j) : 0;
    for (size_t d = 0; d < D; d++)
        z += (double)a[d] * (double)b[d];
    return z;
}

/* The weight of a row in the loss. */
static double weight_of(const struct tf_xent *x, size_t row)
{
    return x->weights != NULL ? (double)*in(x->weights, row) : 1;
}

/* The row's twin (backend.h, tf_xent). */
static size_t twin_of(const struct tf_rows *rows, size_t row)
{
    const uint32_t *off = rows->off, at = off[0] + (uint32_t)row;
    size_t s = 0;
    while (off[s + 1] <= at)
        s++;
    return s % 2 == 0 ? row + (off[s + 1] - off[s]) : row - (off[s] - off[s - 1]);
}

/* KL(p, q) of a row's distribution and its twin's. */
static double divergence(const struct tf_xent *x, const double *lse, size_t row, size_t twin)
{
    double sum = 0;
    for (size_t j = 0; j < (size_t)x->V; j++) {
        double p = logit(x, row, j) - lse[row], q = logit(x, twin, j) - lse[twin];
        sum += exp(p) * (p - q);
    }
    return sum;
}

/* The gradient of a logit; kl: the row's divergence, where rows have twins. */
static double dz_of(const struct tf_xent *x, const double *lse, const double *kl, size_t row,
                    size_t j)
{
    const uint32_t *targets = x->targets;
    double log_p = logit(x, row, j) - lse[row], p = exp(log_p);
    double dz = p - (double)(j == targets[row] ? x->on : x->off);
    if (x->agree > 0) {
        size_t twin = twin_of(x->rows, row);
        double log_q = logit(x, twin, j) - lse[twin];
        dz += (double)x->agree * (p * (log_p - log_q - kl[row]) + p - exp(log_q));
    }
    return weight_of(x, row) * dz;
}

void TF_REF(xent)(struct tf_ctx *c, const struct tf_xent *x)
{
    size_t V = (size_t)x->V, D = (size_t)x->D, rows = tf_rows_count(x->rows);
    const tf_real *e = x->e;
    const uint32_t *targets = x->targets;
    double *acc = x->acc;
    tf_real *logp = x->logp, *dx = x->dx, *de = x->de;
    double *z = tf_ref_scratch(c, V + D + 2 * rows), *sum = z + V, *lse = sum + D, *kl = lse + rows;

    for (size_t i = 0; i < rows; i++) {
        size_t target = targets[i], best = 0;
        TF_ASSERT(target < V);
        for (size_t j = 0; j < V; j++) {
            z[j] = logit(x, i, j);
            if (z[j] > z[best])
                best = j;
        }
        double total = 0, loss = 0;
        for (size_t j = 0; j < V; j++)
            total += exp(z[j] - z[best]);
        lse[i] = z[best] + log(total);
        for (size_t j = 0; j < V; j++)
            loss += (double)(j == target ? x->on : x->off) * (lse[i] - z[j]);
        acc[0] += weight_of(x, i) * loss;
        acc[1] += lse[i] - z[target];
        acc[2] += best == target;
        acc[3] += 1;
        if (logp != NULL)
            logp[i] = (tf_real)(z[target] - lse[i]);
    }
    if (dx == NULL)
        return;
    for (size_t i = 0; i < rows && x->agree > 0; i++) {
        kl[i] = divergence(x, lse, i, twin_of(x->rows, i));
        acc[0] += weight_of(x, i) * (double)x->agree * kl[i];
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t d = 0; d < D; d++)
            sum[d] = 0;
        for (size_t j = 0; j < V; j++) {
            double dz = dz_of(x, lse, kl, i, j);
            for (size_t d = 0; d < D; d++)
                sum[d] += dz * (double)e[j * D + d];
        }
        for (size_t d = 0; d < D; d++)
            dx[i * D + d] = (tf_real)sum[d];
    }
    for (size_t j = 0; j < V; j++) {
        double bias = 0;
        for (size_t d = 0; d < D; d++)
            sum[d] = 0;
        for (size_t i = 0; i < rows; i++) {
            double dz = dz_of(x, lse, kl, i, j);
            for (size_t d = 0; d < D; d++)
                sum[d] += dz * (double)*in(x->x, i * D + d);
            bias += dz;
        }
        if (x->db != NULL)
            *out(x->db, j) = (tf_real)bias;
        for (size_t d = 0; d < D; d++)
            de[j * D + d] = (tf_real)sum[d];
    }
}
