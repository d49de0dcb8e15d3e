/* xent.c - projection to the vocabulary, softmax and cross-entropy with label smoothing
 * (paper, section 5.4), for RC rows at a time. Logits are kept transposed, z' = E x': E is read as
 * it lies. The first walk over the vocabulary gives the log-sum-exps, the second turns logits into
 * gradients block by block, while they are in cache, and multiplies them out. */
#include "ops/cpu/gemm.h"
#include "ops/cpu/xent.h"

#define VB 240 /* vocabulary entries of a block */

void TF_CPU(xent)(struct tf_ctx *c, const struct tf_xent *x)
{
    const size_t V = (size_t)x->V, D = (size_t)x->D, rows = tf_rows_count(x->rows);
    const float *e = x->e;
    float *de = x->de;
    const bool back = x->dx != NULL;
    /* Long chunks read E less often; x and dx of a chunk should stay in cache. */
    const size_t rc = D <= 256 ? RC_MAX : RC_MAX / 2, chunk = (least(rows, rc) + 15) / 16 * 16;
    const size_t xt_size = tf_cpu_panels_size(D, rc), ep_size = tf_cpu_panels_size(VB, D);
    float *xt = tf_cpu_scratch(c, TF_CPU_PANELS, xt_size + tf_cpu_panels_size(rc, D)),
          *xp = xt + xt_size;
    float *z = tf_cpu_scratch(c, TF_CPU_TILE, (back ? V : VB) * chunk);
    float *dz =
              tf_cpu_scratch(c, TF_CPU_BLOCK, VB * chunk + ep_size + tf_cpu_slices_size(VB, chunk)),
          *ep = dz + VB * chunk, *zs = ep + ep_size;
    if (back && rows == 0)
        memset(de, 0, V * D * sizeof *de);

    for (size_t i = 0; i < rows; i += rc) {
        const size_t n = least(rc, rows - i), ld = (n + 15) / 16 * 16;
        const float *in = (const float *)x->x + i * D;
        const uint32_t *targets = (const uint32_t *)x->targets + i;
        struct stats s;
        float lse[RC_MAX];
        start(&s, ld);
        for (size_t r = 0; r < n; r++)
            TF_ASSERT(targets[r] < V);
        TF_CPU(panels_t)(xt, in, D, D, n);
        for (size_t v = 0; v < V; v += VB) {
            const size_t m = least(VB, V - v);
            float *block = z + (back ? v * ld : 0);
            /* The lanes past n are products with the panels' zeros. */
            TF_CPU(gemm)
            (&(struct tf_cpu_gemm){.c = block,
                                   .ldc = ld,
                                   .a = e + v * D,
                                   .ras = D,
                                   .kas = 1,
                                   .b = xt,
                                   .ldb = TF_NR,
                                   .panel = D * TF_NR,
                                   .M = m,
                                   .N = ld,
                                   .K = D});
            gather(&s, block, ld, m, (uint32_t)v, targets, n);
        }
        losses(x, lse, &s, targets, i, n);
        if (!back)
            continue;

        TF_CPU(panels)(xp, in, D, n, D);
        for (size_t v = 0; v < V; v += VB) {
            const size_t m = least(VB, V - v);
            gradients(x, dz, z + v * ld, lse, ld, m, (uint32_t)v, targets, n);
            TF_CPU(gemm)
            (&(struct tf_cpu_gemm){.c = de + v * D,
                                   .ldc = D,
                                   .a = dz,
                                   .ras = ld,
                                   .kas = 1,
                                   .b = xp,
                                   .ldb = TF_NR,
                                   .panel = n * TF_NR,
                                   .M = m,
                                   .N = D,
                                   .K = n,
                                   .add = i > 0});
            TF_CPU(panels)(ep, e + v * D, D, m, D);
            TF_CPU(slices)(zs, dz, ld, m, n);
            TF_CPU(gemm)
            (&(struct tf_cpu_gemm){.c = (float *)x->dx + i * D,
                                   .ldc = D,
                                   .a = zs,
                                   .slice = tf_cpu_slice(m),
                                   .b = ep,
                                   .ldb = TF_NR,
                                   .panel = m * TF_NR,
                                   .M = n,
                                   .N = D,
                                   .K = m,
                                   .add = v > 0});
        }
    }
}
