/* ssru.c - the cells of a simpler simple recurrent unit: 16 columns at a time, row after row, the
 * cell in a register. */
#include "ops/cpu/kernels_private.h"
#include "ops/cpu/vec_private.h"

/* n columns of a row: x + f (before - x), which is f before + (1 - f) x. */
INLINE v16f next_cell(const float *x, const float *z, v16f b, v16f before, size_t n)
{
    const v16f now = v_load_n(x, n), f = v_sigmoid(v_add(v_load_n(z, n), b));
    return v_fma(f, v_sub(before, now), now);
}

void TF_CPU(ssru_fwd)(struct tf_ctx *c, tf_mem_act *y, tf_mem_act *cell, const tf_mem_act *xf,
                      const tf_mem_param *b, const struct tf_rows *r, int D)
{
    (void)c;
    const size_t width = (size_t)D;
    for (size_t s = 0; s < r->n; s++)
        for (size_t d = 0; d < width; d += 16) {
            const size_t n = width - d;
            const v16f bias = v_load_n(in(b, d), n);
            v16f v = v_set(0);
            for (size_t i = r->off[s] - r->off[0]; i < r->off[s + 1] - r->off[0]; i++) {
                const float *row = in(xf, i * 2 * width + d);
                v = next_cell(row, row + width, bias, v, n);
                v_store_n(out(y, i * width + d), v_max(v, v_set(0)), n);
                if (cell != NULL)
                    v_store_n(out(cell, i * width + d), v, n);
            }
        }
}

void TF_CPU(ssru_bwd)(struct tf_ctx *c, tf_mem_act *dxf, tf_mem_param *db, const tf_mem_act *dy,
                      const tf_mem_act *xf, const tf_mem_act *cell, const tf_mem_param *b,
                      const struct tf_rows *r, int D)
{
    (void)c;
    const size_t width = (size_t)D;
    const v16f zero = v_set(0), one = v_set(1);
    for (size_t d = 0; d < width; d += 16) {
        const size_t n = width - d;
        const v16f bias = v_load_n(in(b, d), n);
        v16f sum = zero;
        for (size_t s = 0; s < r->n; s++) {
            const size_t first = r->off[s] - r->off[0], end = r->off[s + 1] - r->off[0];
            v16f from_next = zero; /* the gradient of a cell by way of the next one */
            for (size_t i = end; i-- > first;) {
                const float *row = in(xf, i * 2 * width + d);
                float *to = out(dxf, i * 2 * width + d);
                const v16f x = v_load_n(row, n), z = v_add(v_load_n(row + width, n), bias),
                           f = v_sigmoid(z),
                           before = i > first ? v_load_n(in(cell, (i - 1) * width + d), n) : zero,
                           shown = v_pick(m_gt(v_load_n(in(cell, i * width + d), n), zero),
                                          v_load_n(in(dy, i * width + d), n), zero),
                           g = v_add(shown, from_next), rest = v_sub(one, f),
                           dz = v_mul(v_mul(g, v_sub(before, x)), v_mul(f, rest));
                v_store_n(to, v_mul(g, rest), n);
                v_store_n(to + width, dz, n);
                sum = v_add(sum, dz);
                from_next = v_mul(g, f);
            }
        }
        v_store_n(out(db, d), sum, n);
    }
}

void TF_CPU(ssru_rows)(struct tf_ctx *c, tf_mem_act *y, tf_mem_act *cells, const tf_mem_act *xf,
                       const tf_mem_param *b, const tf_mem_u32 *slot, const tf_mem_u32 *table,
                       size_t table_ld, const tf_mem_u32 *n_past, size_t rows, int D)
{
    (void)c;
    const size_t width = (size_t)D;
    const uint32_t *to = slot, *of = table, *past = n_past;
    for (size_t r = 0; r < rows; r++) {
        const float *before =
            past[r] > 1 ? in(cells, of[r * table_ld + past[r] - 2] * width) : NULL;
        for (size_t d = 0; d < width; d += 16) {
            const size_t n = width - d;
            const float *row = in(xf, r * 2 * width + d);
            const v16f v = next_cell(row, row + width, v_load_n(in(b, d), n),
                                     before != NULL ? v_load_n(before + d, n) : v_set(0), n);
            v_store_n(out(y, r * width + d), v_max(v, v_set(0)), n);
            v_store_n(out(cells, to[r] * width + d), v, n);
        }
    }
}
