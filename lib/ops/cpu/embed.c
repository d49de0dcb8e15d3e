/* embed.c - embedding and position: x = dropout(table[id] * scale + pos[place]), paper
 * sections 3.4 and 3.5. */
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/vec_private.h"

/* e: the row of the table; NULL: 0. pos: the position's row or NULL. x may be e. */
INLINE void embed_row(float *x, const float *e, const float *pos, size_t D, float scale)
{
    v16f s = v_set(scale);
    for (size_t d = 0; d < D; d += 16) {
        size_t n = D - d;
        v16f v = e != NULL ? v_mul(v_load_n(e + d, n), s) : v_set(0);
        if (pos != NULL)
            v = v_add(v, v_load_n(pos + d, n));
        v_store_n(x + d, v, n);
    }
}

/* The row of an id; NULL: none. */
static const float *row_of(const tf_mem_param *table, uint32_t id, size_t D)
{
    return id == TF_NO_ID ? NULL : in(table, (size_t)id * D);
}

void TF_CPU(embed_fwd)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                       const tf_mem_param *table, const tf_mem_param *pos, const struct tf_rows *r,
                       int D, float scale, struct tf_dropout dropout)
{
    size_t width = (size_t)D;
    struct dropout dr = dropout_of(c, dropout);
    const uint32_t *id = ids;
    float *to = x;
    for (size_t s = 0; s < r->n; s++)
        for (uint32_t row = r->off[s]; row < r->off[s + 1]; row++, to += width) {
            embed_row(to, row_of(table, *id++, width),
                      pos != NULL ? in(pos, (row - r->off[s]) * width) : NULL, width, scale);
            if (dr.scale > 0)
                dropout_row(&dr, row, to, to, width);
        }
}

static void add_row(float *to, const float *x, size_t D, float scale)
{
    v16f s = v_set(scale);
    for (size_t d = 0; d < D; d += 16) {
        size_t n = D - d;
        v_store_n(to + d, v_add(v_load_n(to + d, n), v_mul(v_load_n(x + d, n), s)), n);
    }
}

void TF_CPU(embed_bwd)(struct tf_ctx *c, tf_mem_param *dtable, tf_mem_param *dpos,
                       const tf_mem_act *dx, const tf_mem_u32 *ids, const struct tf_rows *r, int D,
                       float scale, struct tf_dropout dropout)
{
    size_t width = (size_t)D;
    const uint32_t *ids_left = ids;
    const float *from = dx;
    struct dropout dr = dropout_of(c, dropout);
    float *kept = tf_cpu_scratch(c, TF_CPU_ROW, width);
    for (size_t s = 0; s < r->n; s++)
        for (uint32_t row = r->off[s]; row < r->off[s + 1]; row++, from += width) {
            const float *g = from;
            uint32_t id = *ids_left++;
            if (dr.scale > 0) {
                dropout_row(&dr, row, kept, from, width);
                g = kept;
            }
            if (id != TF_NO_ID)
                add_row(out(dtable, id * width), g, width, scale);
            if (dpos != NULL)
                add_row(out(dpos, (row - r->off[s]) * width), g, width, 1);
        }
}

void TF_CPU(embed_rows)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                        const tf_mem_u32 *at, const tf_mem_param *table, const tf_mem_param *pos,
                        size_t rows, int D, float scale)
{
    (void)c;
    size_t width = (size_t)D;
    const uint32_t *id = ids, *place = at;
    for (size_t r = 0; r < rows; r++)
        embed_row(out(x, r * width), row_of(table, id[r], width),
                  pos != NULL ? in(pos, place[r] * width) : NULL, width, scale);
}

void TF_CPU(embed_packed)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                          const tf_mem_u32 *at, const struct tf_packed *w, const tf_mem_param *pos,
                          size_t rows, float scale)
{
    const struct tf_cpu_products *p = tf_cpu_table_of(c)->packed;
    const size_t D = w->K;
    const uint32_t *id = ids, *place = at;
    for (size_t r = 0; r < rows; r++) {
        float *e = out(x, r * D);
        if (id[r] != TF_NO_ID)
            p->column(e, w, id[r]);
        embed_row(e, id[r] != TF_NO_ID ? e : NULL, pos != NULL ? in(pos, place[r] * D) : NULL, D,
                  scale);
    }
}
