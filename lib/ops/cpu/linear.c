/* linear.c - y = x w + b, optionally with ReLU and dropout, its gradients, and the same over
 * weights laid out once for decoding: what linear maps do around the products of a table. */
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/vec_private.h"

void TF_CPU(linear_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x, const tf_mem_param *w,
                        const tf_mem_param *b, const struct tf_rows *r, int N, int K,
                        unsigned flags, struct tf_dropout dropout)
{
    const struct tf_cpu_products *p = tf_cpu_table_of(c)->products;
    const size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    const bool relu = (flags & TF_LIN_RELU) != 0;
    const struct dropout dr = dropout_of(c, relu ? dropout : (struct tf_dropout){0});
    struct tf_cpu_gemm g = {
        .ldc = n, .N = n, .K = k, .bias = b, .relu = relu, .row_wise = TF_CPU_ROWS_OF_A};
    p->lay_out_b(c, &g, TF_CPU_PANELS, w, n, false);
    for (size_t i = 0; i < rows; i += p->rows) {
        g.M = least(p->rows, rows - i);
        g.c = out(y, i * n);
        p->lay_out_a(c, &g, in(x, i * k), k, false);
        p->multiply(c, &g);
        if (dr.scale > 0)
            for (size_t j = i; j < i + g.M; j++)
                dropout_row(&dr, r->off[0] + (uint32_t)j, out(y, j * n), in(y, j * n), n);
    }
}

/* dx = dx * scale where x > 0, else 0: x is 0 where ReLU or dropout cut it. */
static void mask_rows(float *dx, const float *x, size_t n, float scale)
{
    v16f s = v_set(scale), zero = v_set(0);
    for (size_t i = 0; i < n; i += 16) {
        size_t left = n - i;
        v_store_n(dx + i,
                  v_keep(m_gt(v_load_n(x + i, left), zero), v_mul(v_load_n(dx + i, left), s)),
                  left);
    }
}

/* sum [N] += the rows of x [rows, N]. */
static void add_columns(float *sum, const float *x, size_t rows, size_t N)
{
    for (size_t j = 0; j < N; j += 16) {
        size_t n = N - j;
        v16f s = v_load_n(sum + j, n);
        for (size_t i = 0; i < rows; i++)
            s = v_add(s, v_load_n(x + i * N + j, n));
        v_store_n(sum + j, s, n);
    }
}

void TF_CPU(linear_bwd)(struct tf_ctx *c, tf_mem_act *dx, tf_mem_param *dw, tf_mem_param *db,
                        tf_mem_act *dy, const tf_mem_act *x, const tf_mem_param *w,
                        const struct tf_rows *r, int N, int K, unsigned flags,
                        struct tf_dropout dropout)
{
    const struct tf_cpu_products *p = tf_cpu_table_of(c)->products;
    const size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    const float scale = dropout.p > 0 ? (float)(1 / (1 - (double)dropout.p)) : 1;
    struct tf_cpu_gemm to_x = {.ldc = k, .N = k, .K = n, .add = (flags & TF_LIN_ADD_DX) != 0},
                       to_w = {.c = dw, .ldc = n, .M = k, .N = n};
    if (dx != NULL)
        p->lay_out_b(c, &to_x, TF_CPU_PANELS, w, n, true);
    if (db != NULL)
        memset(db, 0, n * sizeof(float));
    if (dw != NULL && rows == 0)
        memset(dw, 0, k * n * sizeof(float));

    for (size_t i = 0; i < rows; i += p->rows) {
        const size_t m = least(p->rows, rows - i);
        const float *dyi = in(dy, i * n), *xi = in(x, i * k);
        if (db != NULL)
            add_columns(db, dyi, m, n);
        if (dx != NULL) {
            to_x.M = m;
            to_x.c = out(dx, i * k);
            p->lay_out_a(c, &to_x, dyi, n, false);
            p->multiply(c, &to_x);
        }
        if (dx != NULL && flags & TF_LIN_FROM_RELU)
            mask_rows(out(dx, i * k), xi, m * k, scale);
        if (dw != NULL) {
            to_w.K = m;
            to_w.add = i > 0;
            p->lay_out_b(c, &to_w, TF_CPU_BLOCK, dyi, n, false);
            p->lay_out_a(c, &to_w, xi, k, true);
            p->multiply(c, &to_w);
        }
    }
}

/* ---- packed weights ---- */

struct tf_packed *TF_CPU(pack_new)(struct tf_ctx *c, int K, int N, unsigned flags,
                                   struct tf_err *err)
{
    (void)err;
    struct tf_packed *w = tf_arena_alloc(&c->packed, sizeof *w);
    *w = (struct tf_packed){.K = (size_t)K,
                            .N = (size_t)N,
                            .room = (size_t)N,
                            .halves = (flags & TF_PACK_HALVES) != 0,
                            .apart = (flags & TF_PACK_APART) != 0};
    tf_cpu_table_of(c)->packed->reserve(c, w);
    return w;
}

void TF_CPU(pack)(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                  bool transposed, size_t first, size_t n)
{
    TF_ASSERT(!p->apart || transposed);
    tf_cpu_table_of(c)->packed->pack(c, p, w, ld, transposed, first, n);
}

void TF_CPU(pack_select)(struct tf_ctx *c, struct tf_packed *to, const struct tf_packed *from,
                         const tf_mem_u32 *ids, size_t n)
{
    TF_ASSERT(from->apart && !to->apart && to->K == from->K && n <= to->room);
    to->N = n;
    to->halves = from->halves;
    tf_cpu_table_of(c)->packed->select(c, to, from, ids, n);
}

void TF_CPU(linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem_act *x,
                           const struct tf_packed *w, const tf_mem_param *b, size_t rows,
                           unsigned flags)
{
    const struct tf_cpu_products *p = tf_cpu_table_of(c)->packed;
    struct tf_cpu_gemm g = {.ldc = w->N,
                            .N = w->N,
                            .K = w->K,
                            .bias = b,
                            .relu = (flags & TF_LIN_RELU) != 0,
                            .row_wise = TF_CPU_ROWS_OF_A};
    for (size_t i = 0; i < rows; i += p->rows) {
        g.M = least(p->rows, rows - i);
        g.c = out(y, i * w->N);
        p->lay_out_a(c, &g, in(x, i * w->K), w->K, false);
        p->multiply_packed(c, &g, w);
    }
}
