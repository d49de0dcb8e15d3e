/* embed.c - embedding and position: x = dropout(table[id] * scale + pos[place]), paper sections 3.4
 * and 3.5. */
#include "ops/ref/ref.h"

/* One element before dropout. */
static double embedded(const tf_real *table, const tf_real *pos, uint32_t id, size_t place, int D,
                       int d, float scale)
{
    double x =
        id == TF_NO_ID ? 0 : (double)table[(size_t)id * (size_t)D + (size_t)d] * (double)scale;
    if (pos != NULL)
        x += (double)pos[place * (size_t)D + (size_t)d];
    return x;
}

void TF_REF(embed_fwd)(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *table,
                       const tf_mem *pos, const struct tf_rows *r, int D, float scale,
                       struct tf_dropout dropout)
{
    tf_real *out = x;
    const uint32_t *id = ids;
    for (size_t s = 0; s < r->n; s++)
        for (uint32_t row = r->off[s]; row < r->off[s + 1]; row++)
            for (int d = 0; d < D; d++) {
                size_t i = row - r->off[0];
                double e = embedded(table, pos, id[i], row - r->off[s], D, d, scale);
                out[i * (size_t)D + (size_t)d] =
                    (tf_real)(e * TF_REF(keep)(c, dropout, row, (size_t)d));
            }
}

void TF_REF(embed_bwd)(struct tf_ctx *c, tf_mem *dtable, tf_mem *dpos, const tf_mem *dx,
                       const tf_mem *ids, const struct tf_rows *r, int D, float scale,
                       struct tf_dropout dropout)
{
    tf_real *dt = dtable, *dp = dpos;
    const tf_real *dout = dx;
    const uint32_t *id = ids;
    for (size_t s = 0; s < r->n; s++)
        for (uint32_t row = r->off[s]; row < r->off[s + 1]; row++)
            for (int d = 0; d < D; d++) {
                size_t i = row - r->off[0], place = row - r->off[s];
                double g = (double)dout[i * (size_t)D + (size_t)d] *
                           TF_REF(keep)(c, dropout, row, (size_t)d);
                if (id[i] != TF_NO_ID)
                    dt[(size_t)id[i] * (size_t)D + (size_t)d] += (tf_real)(g * (double)scale);
                if (dp != NULL)
                    dp[place * (size_t)D + (size_t)d] += (tf_real)g;
            }
}

void TF_REF(embed_rows)(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *at,
                        const tf_mem *table, const tf_mem *pos, size_t rows, int D, float scale)
{
    (void)c;
    tf_real *out = x;
    const uint32_t *id = ids, *place = at;
    for (size_t i = 0; i < rows; i++)
        for (int d = 0; d < D; d++)
            out[i * (size_t)D + (size_t)d] =
                (tf_real)embedded(table, pos, id[i], pos != NULL ? place[i] : 0, D, d, scale);
}
