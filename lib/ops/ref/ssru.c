/* ssru.c - the cells of a simpler simple recurrent unit, forward, backward and a step of decoding.
 * With s = sigmoid(z + b): the derivative of c_t by x_t is 1 - s, by z_t (c_{t-1} - x_t) s (1 - s),
 * by c_{t-1} s. */
#include "ops/ref/ref_private.h"


/* The next cell, of column d of a row of xf. */
static double next_cell(const tf_real *xf, const tf_mem *b, size_t d, size_t D, double before)
{
    const double f = sigmoid((double)xf[D + d] + (double)*in(b, d));
    return f * before + (1 - f) * (double)xf[d];
}

void TF_REF(ssru_fwd)(struct tf_ctx *c, tf_mem_act *y, tf_mem_act *cell, const tf_mem_act *xf,
                      const tf_mem_param *b, const struct tf_rows *r, int D)
{
    (void)c;
    const size_t width = (size_t)D;
    for (size_t s = 0; s < r->n; s++)
        for (size_t d = 0; d < width; d++) {
            double v = 0;
            for (size_t i = r->off[s] - r->off[0]; i < r->off[s + 1] - r->off[0]; i++) {
                v = next_cell(in(xf, i * 2 * width), b, d, width, v);
                *out(y, i * width + d) = (tf_real)(v > 0 ? v : 0);
                if (cell != NULL)
                    *out(cell, i * width + d) = (tf_real)v;
            }
        }
}

void TF_REF(ssru_bwd)(struct tf_ctx *c, tf_mem_act *dxf, tf_mem_param *db, const tf_mem_act *dy,
                      const tf_mem_act *xf, const tf_mem_act *cell, const tf_mem_param *b,
                      const struct tf_rows *r, int D)
{
    (void)c;
    const size_t width = (size_t)D;
    for (size_t d = 0; d < width; d++) {
        double sum = 0;
        for (size_t s = 0; s < r->n; s++) {
            const size_t first = r->off[s] - r->off[0], end = r->off[s + 1] - r->off[0];
            double from_next = 0; /* the gradient of a cell by way of the next one */
            for (size_t i = end; i-- > first;) {
                const double x = (double)*in(xf, i * 2 * width + d),
                             f = sigmoid((double)*in(xf, (i * 2 + 1) * width + d) +
                                         (double)*in(b, d)),
                             before = i > first ? (double)*in(cell, (i - 1) * width + d) : 0,
                             shown = *in(cell, i * width + d) > 0 ? (double)*in(dy, i * width + d)
                                                                  : 0,
                             g = shown + from_next, dz = g * (before - x) * f * (1 - f);
                *out(dxf, i * 2 * width + d) = (tf_real)(g * (1 - f));
                *out(dxf, (i * 2 + 1) * width + d) = (tf_real)dz;
                sum += dz;
                from_next = g * f;
            }
        }
        *out(db, d) = (tf_real)sum;
    }
}

void TF_REF(ssru_rows)(struct tf_ctx *c, tf_mem_act *y, tf_mem_act *cells, const tf_mem_act *xf,
                       const tf_mem_param *b, const tf_mem_u32 *slot, const tf_mem_u32 *table,
                       size_t table_ld, const tf_mem_u32 *n_past, size_t rows, int D)
{
    (void)c;
    const size_t width = (size_t)D;
    const uint32_t *to = slot, *of = table, *past = n_past;
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < width; d++) {
            const double before =
                past[r] > 1 ? (double)*in(cells, of[r * table_ld + past[r] - 2] * width + d) : 0;
            const double v = next_cell(in(xf, r * 2 * width), b, d, width, before);
            *out(y, r * width + d) = (tf_real)(v > 0 ? v : 0);
            *out(cells, to[r] * width + d) = (tf_real)v;
        }
}
