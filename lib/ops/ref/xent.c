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

void TF_REF(xent)(struct tf_ctx *c, const struct tf_xent *x)
{
    size_t V = (size_t)x->V, D = (size_t)x->D, rows = tf_rows_count(x->rows);
    const tf_real *e = x->e;
    const uint32_t *targets = x->targets;
    double *acc = x->acc;
    tf_real *logp = x->logp, *dx = x->dx, *de = x->de;
    double *z = tf_ref_scratch(c, V + D + rows), *sum = z + V, *lse = sum + D;

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
        if (dx == NULL)
            continue;
        for (size_t d = 0; d < D; d++)
            sum[d] = 0;
        for (size_t j = 0; j < V; j++) {
            double dz =
                weight_of(x, i) * (exp(z[j] - lse[i]) - (double)(j == target ? x->on : x->off));
            for (size_t d = 0; d < D; d++)
                sum[d] += dz * (double)e[j * D + d];
        }
        for (size_t d = 0; d < D; d++)
            dx[i * D + d] = (tf_real)sum[d];
    }
    if (de == NULL)
        return;
    for (size_t j = 0; j < V; j++) {
        double bias = 0;
        for (size_t d = 0; d < D; d++)
            sum[d] = 0;
        for (size_t i = 0; i < rows; i++) {
            double dz = weight_of(x, i) *
                        (exp(logit(x, i, j) - lse[i]) - (double)(j == targets[i] ? x->on : x->off));
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
