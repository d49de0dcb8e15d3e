/* weights.c - see weights.h. */
#include "model/weights.h"
#include "base/memory.h"
#include "ops/floats.h"

#include <math.h>
#include <stdlib.h>

/* Upload, and wait until it is done. */
static int upload(struct tf_weights *w, tf_mem *dst, const float *src, size_t n, struct tf_err *err)
{
    tf_floats_up(w->be, w->ctx, dst, TF_ELEM_PARAM, src, n);
    return w->be->sync(w->ctx, err);
}

int tf_weights_init(struct tf_weights *w, const struct tf_backend *be, struct tf_ctx *ctx,
                    const struct tf_config *c, const float *flat, struct tf_err *err)
{
    *w = (struct tf_weights){.be = be, .ctx = ctx, .config = *c};
    tf_params_init(&w->params, c);
    w->flat = be->alloc(ctx, TF_ELEM_PARAM, w->params.size, err);
    if (w->flat == NULL || (flat != NULL && upload(w, w->flat, flat, w->params.size, err) != 0)) {
        tf_weights_release(w);
        return -1;
    }
    return 0;
}

bool tf_weights_are_narrow(const struct tf_weights *w, const struct tf_param *p)
{
    return w->narrow != NULL && tf_param_is_packed(p, w->tables_narrow);
}

tf_mem *tf_weights_at(const struct tf_weights *w, int i)
{
    const struct tf_param *p = &w->params.v[i];
    if (tf_weights_are_narrow(w, p))
        return tf_at(w->be, TF_ELEM_WEIGHT, w->narrow, p->offset);
    if (w->table != NULL && w->table[i] != NULL)
        return w->table[i];
    return tf_at(w->be, TF_ELEM_PARAM, w->flat, p->offset);
}

void tf_weights_release(struct tf_weights *w)
{
    for (size_t i = 0; w->packed != NULL && i < w->params.n; i++)
        w->be->pack_free(w->ctx, w->packed[i]);
    free(w->packed);
    free(w->loaded);
    for (size_t i = 0; w->table != NULL && i < w->params.n; i++)
        w->be->free(w->ctx, w->table[i]);
    free(w->table);
    if (w->be != NULL) {
        w->be->free(w->ctx, w->flat);
        w->be->free(w->ctx, w->narrow);
        w->be->free(w->ctx, w->sinusoids);
    }
    tf_params_release(&w->params);
    *w = (struct tf_weights){0};
}

/* Radians a position, of column j of D. */
static double rate(enum tf_position_table table, int j, int D)
{
    const int half = D / 2;
    if (table == TF_TABLE_PAPER)
        return pow(10000.0, -(double)(j - j % 2) / D);
    const int over = table == TF_TABLE_T2T ? half - 1 : half;
    return half > 1 ? pow(10000.0, -(double)(j % half) / over) : 1;
}

void tf_sinusoids(float *pe, size_t rows, const struct tf_config *c)
{
    const enum tf_position_table table = tf_config_position_table(c);
    const int D = (int)c->d_model, half = D / 2;
    const bool paper = table == TF_TABLE_PAPER;
    for (int j = 0; j < D; j++) {
        const double r = rate(table, j, D);
        const bool zero = !paper && j == 2 * half, sine = paper ? j % 2 == 0 : j < half;
        for (size_t t = 0; t < rows; t++) {
            const double a = (double)((size_t)c->position_offset + t) * r;
            pe[t * (size_t)D + (size_t)j] = zero ? 0 : (float)(sine ? sin(a) : cos(a));
        }
    }
}

int tf_weights_positions(struct tf_weights *w, size_t n, struct tf_err *err)
{
    if (tf_config_fits(&w->config, n, err) != 0)
        return -1;
    if (w->config.positions == TF_POS_LEARNED || n <= w->pos_rows)
        return 0;
    size_t rows = n < 64 ? 64 : n + n / 2, D = (size_t)w->config.d_model;
    tf_mem *mem = w->be->alloc(w->ctx, TF_ELEM_PARAM, rows * D, err);
    float *pe = tf_try_alloc(rows * D * sizeof *pe, err);
    if (mem == NULL || pe == NULL) {
        w->be->free(w->ctx, mem);
        free(pe);
        return tf_context(err, "positions");
    }
    tf_sinusoids(pe, rows, &w->config);
    int rc = upload(w, mem, pe, rows * D, err);
    free(pe);
    w->be->free(w->ctx, rc == 0 ? w->sinusoids : mem);
    if (rc == 0) {
        w->sinusoids = mem;
        w->pos_rows = rows;
    }
    return rc;
}
