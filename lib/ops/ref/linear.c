/* linear.c - y = x w + b, optionally with ReLU and dropout, its gradients, and the same over packed
 * weights. */
#include "ops/ref/ref_private.h"

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

void TF_REF(linear_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x, const tf_mem_param *w,
                        const tf_mem_param *b, const struct tf_rows *r, int N, int K,
                        unsigned flags, struct tf_dropout dropout)
{
    bool relu = (flags & TF_LIN_RELU) != 0;
    size_t n_out = (size_t)N, n_in = (size_t)K, rows = tf_rows_count(r);
    for (size_t i = 0; i < rows; i++)
        for (size_t n = 0; n < n_out; n++) {
            double v = affine(in(x, i * n_in), w, b, n_in, n_out, n, relu);
            if (relu)
                v *= TF_REF(dropout_factor)(c, dropout, r->off[0] + i, n);
            *out(y, i * n_out + n) = (tf_real)v;
        }
}

void TF_REF(linear_bwd)(struct tf_ctx *c, tf_mem_act *dx, tf_mem_param *dw, tf_mem_param *db,
                        tf_mem_act *dy, const tf_mem_act *x, const tf_mem_param *w,
                        const struct tf_rows *r, int N, int K, unsigned flags,
                        struct tf_dropout dropout)
{
    (void)c;
    size_t n_out = (size_t)N, n_in = (size_t)K, rows = tf_rows_count(r);

    if (dx != NULL)
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < n_in; k++) {
                double g = flags & TF_LIN_ADD_DX ? (double)*in(dx, i * n_in + k) : 0;
                for (size_t n = 0; n < n_out; n++)
                    g += (double)*in(dy, i * n_out + n) * (double)*in(w, k * n_out + n);
                if (flags & TF_LIN_FROM_RELU)
                    g = *in(x, i * n_in + k) > 0 ? g / (1 - (double)dropout.p) : 0;
                *out(dx, i * n_in + k) = (tf_real)g;
            }
    if (dw != NULL)
        for (size_t k = 0; k < n_in; k++)
            for (size_t n = 0; n < n_out; n++) {
                double g = 0;
                for (size_t i = 0; i < rows; i++)
                    g += (double)*in(x, i * n_in + k) * (double)*in(dy, i * n_out + n);
                *out(dw, k * n_out + n) = (tf_real)g;
            }
    if (db != NULL)
        for (size_t n = 0; n < n_out; n++) {
            double g = 0;
            for (size_t i = 0; i < rows; i++)
                g += (double)*in(dy, i * n_out + n);
            *out(db, n) = (tf_real)g;
        }
}

struct tf_packed {
    int K, N;
    tf_real w[]; /* [K, N] */
};

struct tf_packed *TF_REF(pack_new)(struct tf_ctx *c, int K, int N, unsigned flags,
                                   struct tf_err *err)
{
    (void)flags, (void)err;
    struct tf_packed *p =
        tf_arena_alloc(&c->packed, sizeof *p + (size_t)K * (size_t)N * sizeof(tf_real));
    p->K = K;
    p->N = N;
    return p;
}

void TF_REF(pack)(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                  bool transposed, size_t first, size_t n)
{
    (void)c;
    size_t n_out = (size_t)p->N, n_in = (size_t)p->K;
    for (size_t k = 0; k < n_in; k++)
        for (size_t j = 0; j < n; j++)
            p->w[k * n_out + first + j] = *in(w, transposed ? j * n_in + k : k * ld + j);
}

void TF_REF(pack_select)(struct tf_ctx *c, struct tf_packed *to, const struct tf_packed *from,
                         const tf_mem_u32 *ids, size_t n)
{
    (void)c;
    const uint32_t *id = ids;
    to->N = (int)n;
    for (size_t k = 0; k < (size_t)to->K; k++)
        for (size_t j = 0; j < n; j++)
            to->w[k * n + j] = from->w[k * (size_t)from->N + id[j]];
}

void TF_REF(linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem_act *x,
                           const struct tf_packed *w, const tf_mem_param *b, size_t rows,
                           unsigned flags)
{
    (void)c;
    size_t n_out = (size_t)w->N, n_in = (size_t)w->K;
    for (size_t i = 0; i < rows; i++)
        for (size_t n = 0; n < n_out; n++)
            *out(y, i * n_out + n) = (tf_real)affine(in(x, i * n_in), w->w, b, n_in, n_out, n,
                                                     (flags & TF_LIN_RELU) != 0);
}

void TF_REF(embed_packed)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                          const tf_mem_u32 *at, const struct tf_packed *w, const tf_mem_param *pos,
                          size_t rows, float scale)
{
    (void)c;
    const uint32_t *id = ids, *place = at;
    const size_t n_out = (size_t)w->N, n_in = (size_t)w->K;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < n_in; k++) {
            double e = id[i] == TF_NO_ID ? 0 : (double)w->w[k * n_out + id[i]] * (double)scale;
            if (pos != NULL)
                e += (double)*in(pos, place[i] * n_in + k);
            *out(x, i * n_in + k) = (tf_real)e;
        }
}
