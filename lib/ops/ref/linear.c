/* linear.c - y = x w + b with relu and dropout behind it, its gradients, and the same over packed
 * weights. */
#include "ops/ref/ref.h"

#include <stdlib.h>

/* y[n] of one row before dropout; K, N as w [K, N]. */
static double affine(const tf_real *x, const tf_real *w, const tf_real *b, size_t K, size_t N,
                     size_t n, bool relu)
{
    double y = 0;
    for (size_t k = 0; k < K; k++)
        y += (double)x[k] * (double)w[k * N + n];
    if (b != NULL)
        y += (double)b[n];
    return relu && y < 0 ? 0 : y;
}

void TF_REF(linear_fwd)(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const tf_mem *w,
                        const tf_mem *b, const struct tf_rows *r, int N, int K, unsigned flags,
                        struct tf_dropout dropout)
{
    bool relu = (flags & TF_LIN_RELU) != 0;
    size_t n_out = (size_t)N, n_in = (size_t)K, rows = tf_rows_count(r);
    tf_real *out = y;
    const tf_real *in = x;
    for (size_t i = 0; i < rows; i++)
        for (size_t n = 0; n < n_out; n++) {
            double v = affine(in + i * n_in, w, b, n_in, n_out, n, relu);
            if (relu)
                v *= TF_REF(keep)(c, dropout, r->off[0] + i, n);
            out[i * n_out + n] = (tf_real)v;
        }
}

void TF_REF(linear_bwd)(struct tf_ctx *c, tf_mem *dx, tf_mem *dw, tf_mem *db, tf_mem *dy,
                        const tf_mem *x, const tf_mem *w, const struct tf_rows *r, int N, int K,
                        unsigned flags, struct tf_dropout dropout)
{
    (void)c;
    size_t n_out = (size_t)N, n_in = (size_t)K, rows = tf_rows_count(r);
    tf_real *din = dx, *dweight = dw, *dbias = db;
    const tf_real *in = x, *weight = w, *dout = dy;

    if (din != NULL)
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < n_in; k++) {
                double g = flags & TF_LIN_ADD_DX ? (double)din[i * n_in + k] : 0;
                for (size_t n = 0; n < n_out; n++)
                    g += (double)dout[i * n_out + n] * (double)weight[k * n_out + n];
                if (flags & TF_LIN_FROM_RELU)
                    g = in[i * n_in + k] > 0 ? g / (1 - (double)dropout.p) : 0;
                din[i * n_in + k] = (tf_real)g;
            }
    if (dweight != NULL)
        for (size_t k = 0; k < n_in; k++)
            for (size_t n = 0; n < n_out; n++) {
                double g = 0;
                for (size_t i = 0; i < rows; i++)
                    g += (double)in[i * n_in + k] * (double)dout[i * n_out + n];
                dweight[k * n_out + n] = (tf_real)g;
            }
    if (dbias != NULL)
        for (size_t n = 0; n < n_out; n++) {
            double g = 0;
            for (size_t i = 0; i < rows; i++)
                g += (double)dout[i * n_out + n];
            dbias[n] = (tf_real)g;
        }
}

struct tf_packed *TF_REF(pack)(struct tf_ctx *c, const tf_mem *w, int K, int N, bool transposed,
                               struct tf_err *err)
{
    (void)c;
    size_t n_out = (size_t)N, n_in = (size_t)K;
    struct tf_packed *p = tf_try_alloc(sizeof *p + n_in * n_out * sizeof(tf_real), err);
    if (p == NULL)
        return NULL;
    p->K = K;
    p->N = N;
    const tf_real *from = w;
    for (size_t k = 0; k < n_in; k++)
        for (size_t n = 0; n < n_out; n++)
            p->w[k * n_out + n] = transposed ? from[n * n_in + k] : from[k * n_out + n];
    return p;
}

void TF_REF(pack_free)(struct tf_ctx *c, struct tf_packed *p)
{
    (void)c;
    free(p);
}

void TF_REF(linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const struct tf_packed *w,
                           const tf_mem *b, size_t rows, unsigned flags)
{
    (void)c;
    size_t n_out = (size_t)w->N, n_in = (size_t)w->K;
    tf_real *out = y;
    const tf_real *in = x;
    for (size_t i = 0; i < rows; i++)
        for (size_t n = 0; n < n_out; n++)
            out[i * n_out + n] = (tf_real)affine(in + i * n_in, w->w, b, n_in, n_out, n,
                                                 (flags & TF_LIN_RELU) != 0);
}
