/* embed.c - embedding and position: x = dropout(table[id] * scale + pos[place]), paper sections 3.4
 * and 3.5. */
#include "ops/ref/ref_private.h"

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

void TF_REF(embed_fwd)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                       const tf_mem_param *table, const tf_mem_param *pos, const struct tf_rows *r,
                       int D, float scale, struct tf_dropout dropout)
{
    const uint32_t *id = ids;
    for (size_t s = 0; s < r->n; s++)
        for (uint32_t row = r->off[s]; row < r->off[s + 1]; row++)
            for (int d = 0; d < D; d++) {
                size_t i = row - r->off[0];
                double e = embedded(table, pos, id[i], row - r->off[s], D, d, scale);
                *out(x, i * (size_t)D + (size_t)d) =
                    (tf_real)(e * TF_REF(dropout_factor)(c, dropout, row, (size_t)d));
            }
}

void TF_REF(embed_bwd)(struct tf_ctx *c, tf_mem_param *dtable, tf_mem_param *dpos,
                       const tf_mem_act *dx, const tf_mem_u32 *ids, const struct tf_rows *r, int D,
                       float scale, struct tf_dropout dropout)
{
    const uint32_t *id = ids;
    for (size_t s = 0; s < r->n; s++)
        for (uint32_t row = r->off[s]; row < r->off[s + 1]; row++)
            for (int d = 0; d < D; d++) {
                size_t i = row - r->off[0], place = row - r->off[s];
                double g = (double)*in(dx, i * (size_t)D + (size_t)d) *
                           TF_REF(dropout_factor)(c, dropout, row, (size_t)d);
                if (id[i] != TF_NO_ID)
                    *out(dtable, (size_t)id[i] * (size_t)D + (size_t)d) +=
                        (tf_real)(g * (double)scale);
                if (dpos != NULL)
                    *out(dpos, place * (size_t)D + (size_t)d) += (tf_real)g;
            }
}

void TF_REF(embed_rows)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                        const tf_mem_u32 *at, const tf_mem_param *table, const tf_mem_param *pos,
                        size_t rows, int D, float scale)
{
    (void)c;
    const uint32_t *id = ids, *place = at;
    for (size_t i = 0; i < rows; i++)
        for (int d = 0; d < D; d++)
            *out(x, i * (size_t)D + (size_t)d) =
                (tf_real)embedded(table, pos, id[i], pos != NULL ? place[i] : 0, D, d, scale);
}
