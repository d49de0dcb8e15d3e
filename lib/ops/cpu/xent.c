/* xent.c - the products of the projection to the vocabulary (xent_private.h). Logits are E x', so
 * that E is read as it lies. */
#include "ops/cpu/xent_private.h"
#include "ops/cpu/gemm_private.h"

enum { BLOCK = 240 };

/* Operands laid out for the product: x' and x in panels, for a block those of E, and dz' in slices.
 */
struct operands {
    float *xt, *x, *e, *dz;
};

static void logits(const struct chunk *k, float *z, size_t v, size_t m)
{
    const struct operands *o = k->own;
    const size_t D = (size_t)k->x->D;
    if (v == 0)
        TF_CPU(panels_t)(o->xt, k->in, D, D, k->n);
    /* The lanes past n are products with the panels' zeros. */
    product((struct tf_cpu_gemm){.c = z,
                                 .ldc = k->ld,
                                 .a = in(k->x->e, v * D),
                                 .ras = D,
                                 .kas = 1,
                                 .b = o->xt,
                                 .ldb = TF_NR,
                                 .panel = D * TF_NR,
                                 .M = m,
                                 .N = k->ld,
                                 .K = D});
}

static void multiply_out(const struct chunk *k, const float *dz, size_t v, size_t m)
{
    const struct operands *o = k->own;
    const size_t D = (size_t)k->x->D;
    if (v == 0)
        TF_CPU(panels)(o->x, k->in, D, k->n, D);
    product((struct tf_cpu_gemm){.c = out(k->x->de, v * D),
                                 .ldc = D,
                                 .a = dz,
                                 .ras = k->ld,
                                 .kas = 1,
                                 .b = o->x,
                                 .ldb = TF_NR,
                                 .panel = k->n * TF_NR,
                                 .M = m,
                                 .N = D,
                                 .K = k->n,
                                 .add = k->first > 0});
    TF_CPU(panels)(o->e, in(k->x->e, v * D), D, m, D);
    TF_CPU(slices)(o->dz, dz, k->ld, m, k->n);
    product((struct tf_cpu_gemm){.c = out(k->x->dx, k->first * D),
                                 .ldc = D,
                                 .a = o->dz,
                                 .slice = tf_cpu_slice(m),
                                 .b = o->e,
                                 .ldb = TF_NR,
                                 .panel = m * TF_NR,
                                 .M = k->n,
                                 .N = D,
                                 .K = m,
                                 .add = v > 0});
}

void TF_CPU(xent)(struct tf_ctx *c, const struct tf_xent *x)
{
    const struct projection p = {BLOCK, 16, logits, multiply_out};
    const size_t D = (size_t)x->D, rows = chunk_rows(x, p.tile);
    const size_t xt = tf_cpu_panels_size(D, rows), xp = tf_cpu_panels_size(rows, D),
                 e = tf_cpu_panels_size(BLOCK, D), dz = tf_cpu_slices_size(BLOCK, rows);
    struct operands o;
    o.xt = tf_cpu_scratch(c, TF_CPU_PANELS, xt + xp + e + dz);
    o.x = o.xt + xt;
    o.e = o.x + xp;
    o.dz = o.e + e;
    cross_entropy(c, x, &p, &o);
}
