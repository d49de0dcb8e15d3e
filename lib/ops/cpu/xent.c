/* xent.c - projection to the vocabulary, softmax and cross-entropy with label smoothing
 * (paper, section 5.4), for RC rows at a time. Logits are kept transposed, z' = E x': E is read as
 * it lies, 16 rows share each register, and softmax needs no sums across lanes. The first walk over
 * the vocabulary gives the log-sum-exps, the second turns logits into gradients block by block,
 * while they are in cache, and multiplies them out. */
#include "ops/cpu/gemm.h"

#define RC_MAX 512 /* rows of a chunk, at most */
#define VB 240     /* vocabulary entries of a block */

/* For each row, accumulated over the blocks. */
struct stats {
    float max[RC_MAX], sum[RC_MAX], total[RC_MAX], target[RC_MAX];
    uint32_t best[RC_MAX];
};

/* 16 g rows from r on; g is a constant at every call. */
INLINE void gather_group(struct stats *s, const float *z, size_t ld, size_t n, uint32_t first,
                         size_t r, const int g)
{
    v16f max[4], total[4], sum[4], best[4], old[4];
#pragma GCC unroll 4
    for (int i = 0; i < g; i++) {
        max[i] = old[i] = v_load(s->max + r + i * 16);
        best[i] = v_bits(u_load(s->best + r + i * 16));
        total[i] = sum[i] = v_set(0);
    }
    for (size_t j = 0; j < n; j++) {
        v16f id = v_bits(u_set(first + (uint32_t)j));
#pragma GCC unroll 4
        for (int i = 0; i < g; i++) {
            v16f x = v_load(z + j * ld + r + i * 16);
            m16 more = m_gt(x, max[i]);
            best[i] = v_pick(more, id, best[i]);
            max[i] = v_pick(more, x, max[i]);
            total[i] = v_add(total[i], x);
        }
    }
    for (size_t j = 0; j < n; j++) {
#pragma GCC unroll 4
        for (int i = 0; i < g; i++)
            sum[i] = v_add(sum[i], v_exp(v_sub(v_load(z + j * ld + r + i * 16), max[i])));
    }
#pragma GCC unroll 4
    for (int i = 0; i < g; i++) {
        float *to = s->sum + r + i * 16;
        v_store(to, v_fma(v_load(to), v_exp(v_sub(old[i], max[i])), sum[i]));
        v_store(s->max + r + i * 16, max[i]);
        v_store(s->total + r + i * 16, v_add(v_load(s->total + r + i * 16), total[i]));
        u_store(s->best + r + i * 16, u_bits(best[i]));
    }
}

/* Accumulate z [n, ld], entries first .. first+n-1. */
static void gather(struct stats *s, const float *z, size_t ld, size_t n, uint32_t first)
{
    size_t r = 0;
    for (; r + 64 <= ld; r += 64)
        gather_group(s, z, ld, n, first, r, 4);
    for (; r < ld; r += 16)
        gather_group(s, z, ld, n, first, r, 1);
}

/* dz = exp(z - lse) - off for n entries. */
static void gradients(float *dz, const float *z, const float *lse, size_t ld, size_t n, float off)
{
    v16f o = v_set(off);
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < ld; r += 16)
            v_store(dz + j * ld + r,
                    v_sub(v_exp(v_sub(v_load(z + j * ld + r), v_load(lse + r))), o));
}

/* Losses of rows i .. i+n-1 from their stats; lse [n] out. */
static void losses(const struct tf_xent *x, float *lse, const struct stats *s,
                   const uint32_t *targets, size_t i, size_t n)
{
    double *acc = x->acc;
    const double on = (double)x->on, off = (double)x->off, mass = on + off * (x->V - 1);
    for (size_t r = 0; r < n; r += 16)
        v_store(lse + r, v_add(v_load(s->max + r), v_log(v_load(s->sum + r))));
    for (size_t r = 0; r < n; r++) {
        double l = (double)lse[r], nll = l - (double)s->target[r];
        acc[0] += mass * l - off * (double)s->total[r] - (on - off) * (double)s->target[r];
        acc[1] += nll;
        acc[2] += s->best[r] == targets[r];
        acc[3] += 1;
        if (x->logp != NULL)
            ((float *)x->logp)[i + r] = (float)-nll;
    }
}

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
        for (size_t r = 0; r < ld; r++) {
            s.max[r] = -__builtin_inff();
            s.sum[r] = s.total[r] = s.target[r] = 0;
            s.best[r] = 0;
        }
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
            gather(&s, block, ld, m, (uint32_t)v);
            for (size_t r = 0; r < n; r++)
                if (targets[r] - v < m)
                    s.target[r] = block[(targets[r] - v) * ld + r];
        }
        losses(x, lse, &s, targets, i, n);
        if (!back)
            continue;

        TF_CPU(panels)(xp, in, D, n, D);
        for (size_t v = 0; v < V; v += VB) {
            const size_t m = least(VB, V - v);
            gradients(dz, z + v * ld, lse, ld, m, x->off);
            for (size_t r = 0; r < n; r++)
                if (targets[r] - v < m)
                    dz[(targets[r] - v) * ld + r] -= x->on - x->off;
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
