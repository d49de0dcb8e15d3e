/* host_guide.c - see host_guide.h. */
#include "ops/host_guide.h"
#include "base/memory.h"
#include "ops/host.h"

#include <math.h>
#include <stdlib.h>

#define EPSILON 1e-6

/* p = softmax(z), n > 0 */
static void softmax(double *z, size_t n)
{
    double most = z[0], sum = 0;
    for (size_t j = 1; j < n; j++)
        most = z[j] > most ? z[j] : most;
    for (size_t j = 0; j < n; j++)
        sum += z[j] = exp(z[j] - most);
    for (size_t j = 0; j < n; j++)
        z[j] /= sum;
}

/* From p [n] to the gradient of the scores times `weight`; returns the loss. at: k links. With g
 * the gradient of p, which only links have, it is p (g - sum p g). */
static double turn(double *p, size_t n, const uint32_t *at, size_t k, double weight)
{
    double loss = 0, mean = 0, share = 1 / (double)k;
    for (size_t i = 0; i < k; i++) {
        const double x = p[at[i]];
        loss -= share * log(x + EPSILON);
        mean -= share * x / (x + EPSILON);
    }
    double *linked = p + n; /* p of the links, before it is overwritten */
    for (size_t i = 0; i < k; i++)
        linked[i] = p[at[i]];
    for (size_t j = 0; j < n; j++)
        p[j] *= -weight * mean;
    for (size_t i = 0; i < k; i++)
        p[at[i]] -= weight * share * linked[i] / (linked[i] + EPSILON);
    return loss;
}

/* Rows of a sentence: T queries, S keys, from their first elements of the head. */
#define DEFINE_GUIDE(name, real)                                                             \
    static double name(const struct tf_attention *a, struct tf_links_of links, size_t row,   \
                       size_t T, size_t S, const real *q, const real *k, real *dq, real *dk, \
                       double weight, double *z)                                             \
    {                                                                                        \
        const double scale = 1 / sqrt((double)a->dk);                                        \
        double loss = 0;                                                                     \
        for (size_t t = 0; t < T; t++, q += a->ldq, dq += a->ldq) {                          \
            const uint32_t from = links.off[row + t], n = links.off[row + t + 1] - from;     \
            if (n == 0)                                                                      \
                continue;                                                                    \
            for (size_t s = 0; s < S; s++) {                                                 \
                real sum = 0;                                                                \
                for (int d = 0; d < a->dk; d++)                                              \
                    sum += q[d] * k[s * a->ldk + (size_t)d];                                 \
                z[s] = scale * (double)sum;                                                  \
            }                                                                                \
            softmax(z, S);                                                                   \
            loss += turn(z, S, links.at + from, n, weight);                                  \
            for (size_t s = 0; s < S; s++) {                                                 \
                const real g = (real)(scale * z[s]);                                         \
                for (int d = 0; d < a->dk; d++) {                                            \
                    dq[d] += g * k[s * a->ldk + (size_t)d];                                  \
                    dk[s * a->ldk + (size_t)d] += g * q[d];                                  \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
        return loss;                                                                         \
    }
DEFINE_GUIDE(guide_floats, float)
DEFINE_GUIDE(guide_doubles, double)

double tf_host_guide(const struct tf_backend *be, const struct tf_attention *a, int head,
                     struct tf_links_of links, double weight)
{
    const struct tf_rows *qr = a->q_rows, *kr = a->k_rows;
    const size_t h = (size_t)head * (size_t)a->dk;
    double loss = 0, *z = NULL;
    for (size_t i = 0; i < qr->n; i++) {
        const double own = links.weights != NULL ? (double)links.weights[qr->off[i]] : 1;
        const size_t T = qr->off[i + 1] - qr->off[i], S = kr->off[i + 1] - kr->off[i];
        const size_t q = (qr->off[i] - qr->off[0]) * a->ldq + h,
                     k = (kr->off[i] - kr->off[0]) * a->ldk + h;
        /* Links may be there twice. */
        z = tf_xarray(z, S + links.off[qr->off[i + 1]] - links.off[qr->off[i]] + 1, sizeof *z);
        if (be->elem_size[TF_ELEM_ACT] == sizeof(float))
            loss += own * guide_floats(a, links, qr->off[i], T, S, (const float *)a->q + q,
                                       (const float *)a->k + k, (float *)a->dq + q,
                                       (float *)a->dk_ + k, own * weight, z);
        else
            loss += own * guide_doubles(a, links, qr->off[i], T, S, (const double *)a->q + q,
                                        (const double *)a->k + k, (double *)a->dq + q,
                                        (double *)a->dk_ + k, own * weight, z);
    }
    free(z);
    return loss;
}
