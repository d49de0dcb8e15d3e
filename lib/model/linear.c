/* linear.c - see linear_private.h. */
#include "model/linear_private.h"

void tf_linear_fwd(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b,
                   const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout)
{
    const struct tf_param *p = &k->w->params.v[w];
    if (!k->training && k->w->packed != NULL)
        tf_linear_rows(k, y, x, w, b, side->n, flags);
    else
        k->be->linear_fwd(k->ctx, y, x, tf_weight(k, w), tf_weight(k, b), side->rows,
                          (int)p->dims[1], (int)p->dims[0], flags, dropout);
}

void tf_linear_bwd(struct tf_work *k, tf_mem *dx, tf_mem *dy, const tf_mem *x, int w, int b,
                   const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout)
{
    const struct tf_param *p = &k->w->params.v[w];
    k->be->linear_bwd(k->ctx, dx, tf_grad(k, w), tf_grad(k, b), dy, x, tf_weight(k, w), side->rows,
                      (int)p->dims[1], (int)p->dims[0], flags, dropout);
}

void tf_linear_rows(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b, size_t rows,
                    unsigned flags)
{
    k->be->linear_packed(k->ctx, y, x, k->w->packed[w], tf_weight(k, b), rows, flags);
}
