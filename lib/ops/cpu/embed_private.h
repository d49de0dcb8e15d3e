/* embed_private.h - embedding and position, x = e * scale + pos (paper, 3.4 and 3.5), by row. */
#ifndef TF_OPS_CPU_EMBED_PRIVATE_H
#define TF_OPS_CPU_EMBED_PRIVATE_H

#include "ops/cpu/cpu_private.h"
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

/* embed_packed; row_of takes column `id` [D] out of a packed matrix. */
INLINE void embed_packed_rows(tf_mem_act *x, const tf_mem_u32 *ids, const tf_mem_u32 *at,
                              const struct tf_packed *w, const tf_mem_param *pos, size_t rows,
                              size_t D, float scale,
                              void (*const row_of)(float *e, const struct tf_packed *w, size_t id))
{
    const uint32_t *id = ids, *place = at;
    for (size_t r = 0; r < rows; r++) {
        float *e = out(x, r * D);
        if (id[r] != TF_NO_ID)
            row_of(e, w, id[r]);
        embed_row(e, id[r] != TF_NO_ID ? e : NULL, pos != NULL ? in(pos, place[r] * D) : NULL, D,
                  scale);
    }
}

#endif
