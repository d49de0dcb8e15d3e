/* xent.c - projection to the vocabulary, softmax and cross-entropy with label smoothing (paper,
 * section 5.4), for a chunk of rows at a time. Logits are kept transposed, z' = E x' [entries,
 * rows]: E is read as it lies, 16 rows share each register, and softmax needs no sums across lanes.
 * The first walk over the vocabulary gives the log-sum-exps, the second turns logits into gradients
 * block by block, while they are in cache, and multiplies them out. */
#include "ops/cpu/kernels_private.h"
#include "ops/cpu/vec_private.h"

#define RC_MAX 512 /* rows of a chunk, at most; a multiple of 16 */

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

static void start_stats(struct stats *s, size_t ld)
{
    for (size_t r = 0; r < ld; r++) {
        s->max[r] = -__builtin_inff();
        s->sum[r] = s->total[r] = s->target[r] = 0;
        s->best[r] = 0;
    }
}

/* Accumulate z [n, ld], entries first .. first+n-1; targets of the first `rows` rows. */
static void gather(struct stats *s, const float *z, size_t ld, size_t n, uint32_t first,
                   const uint32_t *targets, size_t rows)
{
    size_t r = 0;
    for (; r + 64 <= ld; r += 64)
        gather_group(s, z, ld, n, first, r, 4);
    for (; r < ld; r += 16)
        gather_group(s, z, ld, n, first, r, 1);
    for (r = 0; r < rows; r++)
        if (targets[r] - first < n)
            s->target[r] = z[(targets[r] - first) * ld + r];
}

/* dz = exp(z - lse) - q for n entries from `first` on. */
static void gradients(const struct tf_xent *x, float *dz, const float *z, const float *lse,
                      size_t ld, size_t n, uint32_t first, const uint32_t *targets, size_t rows)
{
    v16f o = v_set(x->off);
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < ld; r += 16)
            v_store(dz + j * ld + r,
                    v_sub(v_exp(v_sub(v_load(z + j * ld + r), v_load(lse + r))), o));
    for (size_t r = 0; r < rows; r++)
        if (targets[r] - first < n)
            dz[(targets[r] - first) * ld + r] -= x->on - x->off;
}

/* dz [n, ld] *= the weights of its first `rows` rows. */
static void weight_gradients(float *dz, const float *weights, size_t ld, size_t n, size_t rows)
{
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < rows; r += 16)
            v_store(dz + j * ld + r,
                    v_mul(v_load(dz + j * ld + r), v_load_n(weights + r, rows - r)));
}

/* z [n, ld] += the biases of its entries. */
static void add_bias(float *z, const float *b, size_t ld, size_t n)
{
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < ld; r += 16)
            v_store(z + j * ld + r, v_add(v_load(z + j * ld + r), v_set(b[j])));
}

/* db [n] (+)= the sums of dz [n, ld] over its first `rows` rows; adds where it is not the first
 * chunk. */
static void bias_gradient(float *db, const float *dz, size_t ld, size_t n, size_t rows, bool add)
{
    for (size_t j = 0; j < n; j++) {
        v16f sum = v_set(0);
        for (size_t r = 0; r < rows; r += 16)
            sum = v_add(sum, v_load_n(dz + j * ld + r, rows - r));
        db[j] = (add ? db[j] : 0) + v_sum(sum);
    }
}

/* Losses of rows i .. i+n-1 from their stats; lse [n] out. */
static void losses(const struct tf_xent *x, float *lse, const struct stats *s,
                   const uint32_t *targets, size_t i, size_t n)
{
    double *acc = x->acc;
    const float *weights = x->weights != NULL ? in(x->weights, i) : NULL;
    const double on = (double)x->on, off = (double)x->off, mass = on + off * (x->V - 1);
    for (size_t r = 0; r < n; r += 16)
        v_store(lse + r, v_add(v_load(s->max + r), v_log(v_load(s->sum + r))));
    for (size_t r = 0; r < n; r++) {
        double l = (double)lse[r], nll = l - (double)s->target[r];
        const double weight = weights != NULL ? (double)weights[r] : 1;
        acc[0] +=
            weight * (mass * l - off * (double)s->total[r] - (on - off) * (double)s->target[r]);
        acc[1] += nll;
        acc[2] += s->best[r] == targets[r];
        acc[3] += 1;
        if (x->logp != NULL)
            ((float *)x->logp)[i + r] = (float)-nll;
    }
}

/* ---- a chunk ---- */

struct chunk {
    struct tf_ctx *c;
    const struct tf_cpu_products *p;
    const struct tf_xent *x;
    const float *in;           /* x [n, D] */
    size_t first;              /* row of the batch */
    size_t n, ld;              /* rows, and to how many they are filled up */
    struct tf_cpu_gemm z, e_x; /* logits, and the gradient of E: of x, laid out for the chunk */
};

static void lay_out_logits(struct chunk *k)
{
    const size_t D = (size_t)k->x->D;
    k->z = (struct tf_cpu_gemm){.ldc = k->ld, .N = k->n, .K = D, .row_wise = TF_CPU_COLUMNS_OF_B};
    k->p->lay_out_b(k->c, &k->z, TF_CPU_PANELS, k->in, D, true);
    k->z.N = k->ld; /* what they are filled up with is 0 */
}

/* z [m, ld] = E x' for m entries from v on. */
static void logits(struct chunk *k, float *z, size_t v, size_t m)
{
    const size_t D = (size_t)k->x->D;
    k->z.c = z;
    k->z.M = m;
    k->p->lay_out_a(k->c, &k->z, in(k->x->e, v * D), D, false);
    k->p->multiply(k->c, &k->z);
}

static void lay_out_gradient(struct chunk *k)
{
    const size_t D = (size_t)k->x->D;
    k->e_x = (struct tf_cpu_gemm){.ldc = D, .N = D, .K = k->n, .add = k->first > 0};
    k->p->lay_out_b(k->c, &k->e_x, TF_CPU_X, k->in, D, false);
}

/* de (+)= dz x, dx (+)= dz' E, of dz [m, ld] for m entries from v on; adds where it is not the
 * first chunk or block. */
static void multiply_out(struct chunk *k, const float *dz, size_t v, size_t m)
{
    const size_t D = (size_t)k->x->D;
    k->e_x.c = out(k->x->de, v * D);
    k->e_x.M = m;
    k->p->lay_out_a(k->c, &k->e_x, dz, k->ld, false);
    k->p->multiply(k->c, &k->e_x);

    struct tf_cpu_gemm to_x = {
        .c = out(k->x->dx, k->first * D), .ldc = D, .M = k->n, .N = D, .K = m, .add = v > 0};
    k->p->lay_out_b(k->c, &to_x, TF_CPU_E, in(k->x->e, v * D), D, false);
    k->p->lay_out_a(k->c, &to_x, dz, k->ld, true);
    k->p->multiply(k->c, &to_x);
}

static size_t fill_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* Rows of a chunk. Long chunks read E less often; x and dx of a chunk should stay in cache. */
static size_t chunk_rows(const struct tf_xent *x, size_t multiple)
{
    return (x->D <= 256 ? RC_MAX : RC_MAX / 2) / multiple * multiple;
}

void TF_CPU(xent)(struct tf_ctx *c, const struct tf_xent *x)
{
    const struct tf_cpu_products *p = tf_cpu_table_of(c)->products;
    const size_t V = (size_t)x->V, D = (size_t)x->D, rows = tf_rows_count(x->rows);
    const size_t step = chunk_rows(x, p->multiple), width = fill_up(least(rows, step), p->multiple);
    const bool back = x->dx != NULL;
    float *z = tf_cpu_scratch(c, TF_CPU_TILE, (back ? V : p->entries) * width);
    float *dz = back ? tf_cpu_scratch(c, TF_CPU_BLOCK, p->entries * width) : NULL;
    if (back && rows == 0)
        memset(x->de, 0, V * D * sizeof(float));
    if (x->db != NULL && rows == 0)
        memset(x->db, 0, V * sizeof(float));

    for (size_t i = 0; i < rows; i += step) {
        const uint32_t *targets = (const uint32_t *)x->targets + i;
        struct chunk k = {.c = c, .p = p, .x = x, .in = in(x->x, i * D), .first = i};
        struct stats s;
        float lse[RC_MAX] = {0};
        k.n = least(step, rows - i);
        k.ld = fill_up(k.n, p->multiple);
        for (size_t r = 0; r < k.n; r++)
            TF_ASSERT(targets[r] < V);
        start_stats(&s, k.ld);
        lay_out_logits(&k);
        for (size_t v = 0; v < V; v += p->entries) {
            const size_t m = least(p->entries, V - v);
            float *block = z + (back ? v * k.ld : 0);
            logits(&k, block, v, m);
            if (x->b != NULL)
                add_bias(block, in(x->b, v), k.ld, m);
            gather(&s, block, k.ld, m, (uint32_t)v, targets, k.n);
        }
        losses(x, lse, &s, targets, i, k.n);
        if (!back)
            continue;
        lay_out_gradient(&k);
        for (size_t v = 0; v < V; v += p->entries) {
            const size_t m = least(p->entries, V - v);
            gradients(x, dz, z + v * k.ld, lse, k.ld, m, (uint32_t)v, targets, k.n);
            if (x->weights != NULL)
                weight_gradients(dz, in(x->weights, i), k.ld, m, k.n);
            multiply_out(&k, dz, v, m);
            if (x->db != NULL)
                bias_gradient(out(x->db, v), dz, k.ld, m, k.n, i > 0);
        }
    }
}
