/* attention.c - scaled dot-product attention of many heads (paper, section 3.2) and its
 * gradients, one sentence and head at a time in blocks of queries. A query that sees no key has
 * output 0 and log-sum-exp -inf. */
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/gemm_private.h"

#define QB 60 /* queries of a block */

/* One sentence and head. */
struct head {
    const struct tf_attention *a;
    size_t T, S;     /* queries and keys */
    size_t row, key; /* first rows of both in the buffers */
    uint32_t packed; /* packed row of the first query */
    size_t h;
    struct dropout dropout;
    float scale;
};

/* Queries [from, to) see no key outside [lo, hi); scores lie in rows of ld floats that begin with
 * key base. */
struct block {
    size_t from, to, lo, hi, base, ld;
};

static size_t first_key(const struct head *w, size_t i)
{
    size_t r = (size_t)w->a->window;
    return r > 0 && i > r ? least(i - r, w->S) : 0;
}

static size_t end_key(const struct head *w, size_t i)
{
    size_t r = (size_t)w->a->window, end = w->S;
    if (r > 0)
        end = least(end, i + r + 1);
    return w->a->causal ? least(end, i + 1) : end;
}

static struct block block_at(const struct head *w, size_t from)
{
    struct block b = {.from = from, .to = least(w->T, from + QB)};
    b.lo = first_key(w, from);
    b.hi = end_key(w, b.to - 1);
    if (b.hi < b.lo)
        b.hi = b.lo;
    b.base = b.lo / TF_NR * TF_NR;
    b.ld = (b.hi - b.base + 15) / 16 * 16;
    return b;
}

/* Rows of x as the second operand of a product: straight from memory when whole registers can be
 * read, else as panels in `copy`. */
static struct tf_cpu_gemm operand(float *copy, const float *x, size_t ld, size_t rows, size_t n)
{
    if (n % VL == 0)
        return (struct tf_cpu_gemm){.b = x, .ldb = ld, .panel = TF_NR, .K = rows, .N = n};
    TF_CPU(panels)(copy, x, ld, rows, n);
    return (struct tf_cpu_gemm){.b = copy, .ldb = TF_NR, .panel = rows * TF_NR, .K = rows, .N = n};
}

/* c [M, N] (+)= a b, with b made by operand(). */
static void multiply(struct tf_cpu_gemm g, float *c, size_t ldc, const float *a, size_t ras,
                     size_t kas, size_t M, bool add)
{
    g.c = c;
    g.ldc = ldc;
    g.a = a;
    g.ras = ras;
    g.kas = kas;
    g.M = M;
    g.add = add;
    TF_CPU(gemm)(NULL, &g);
}

/* out [queries of b, keys of b] = x y' with y transposed in panels. */
static void products(float *out, const struct block *b, const float *x, size_t ldx,
                     const float *panels, size_t n)
{
    const struct tf_cpu_gemm g = {.c = out,
                                  .ldc = b->ld,
                                  .a = x + b->from * ldx,
                                  .ras = ldx,
                                  .kas = 1,
                                  .b = panels + b->base / TF_NR * n * TF_NR,
                                  .ldb = TF_NR,
                                  .panel = n * TF_NR,
                                  .M = b->to - b->from,
                                  .N = b->hi - b->base,
                                  .K = n};
    TF_CPU(gemm)(NULL, &g);
}

/* Lanes j .. j+15 that lie in [from, to). */
INLINE m16 m_range(size_t j, size_t from, size_t to)
{
    unsigned low = from <= j ? 0xffff : from >= j + 16 ? 0 : 0xffffu << (from - j) & 0xffff;
    unsigned high = to >= j + 16 ? 0xffff : to <= j ? 0 : (1u << (to - j)) - 1;
    return m_of_bits(low & high);
}

/* p: scores of query i, from key b->base on; left as weights before dropout, 0 where it does not
 * see. Returns log sum exp. */
static float softmax_row(float *p, const struct head *w, const struct block *b, size_t i)
{
    const size_t from = first_key(w, i) - b->base, to = end_key(w, i) - b->base;
    const v16f none = v_set(-__builtin_inff()), scale = v_set(w->scale);
    if (end_key(w, i) <= first_key(w, i)) {
        memset(p, 0, b->ld * sizeof *p);
        return -__builtin_inff();
    }
    v16f top = none;
    for (size_t j = 0; j < b->ld; j += 16) {
        v16f s = v_pick(m_range(j, from, to), v_mul(v_load(p + j), scale), none);
        v_store(p + j, s);
        top = v_max(top, s);
    }
    const float max = v_hmax(top);
    v16f sum = v_set(0), m = v_set(max);
    for (size_t j = 0; j < b->ld; j += 16) {
        v16f e = v_exp(v_sub(v_load(p + j), m));
        v_store(p + j, e);
        sum = v_add(sum, e);
    }
    const float total = v_sum(sum);
    v16f inv = v_set(1 / total);
    for (size_t j = 0; j < b->ld; j += 16)
        v_store(p + j, v_mul(v_load(p + j), inv));
    float log[16];
    v_store(log, v_log(v_set(total)));
    return max + log[0];
}

static void forward(struct tf_ctx *c, const struct head *w, float *probs)
{
    const struct tf_attention *a = w->a;
    const size_t dk = (size_t)a->dk, dv = (size_t)a->dv, H = (size_t)a->heads;
    const float *q = (const float *)a->q + w->row * a->ldq + w->h * dk,
                *k = (const float *)a->k + w->key * a->ldk + w->h * dk;
    const float *v = (const float *)a->v + w->key * a->ldv + w->h * dv;
    float *o = (float *)a->o + w->row * a->ldo + w->h * dv, *lse = a->lse;
    float *kt = tf_cpu_scratch(c, TF_CPU_PANELS, tf_cpu_panels_size(dk, w->S));
    float *copy = tf_cpu_scratch(c, TF_CPU_BLOCK, dv % VL == 0 ? 0 : tf_cpu_panels_size(w->S, dv));
    TF_CPU(panels_t)(kt, k, a->ldk, dk, w->S);

    for (size_t from = 0; from < w->T; from += QB) {
        struct block b = block_at(w, from);
        float *p = tf_cpu_scratch(c, TF_CPU_TILE, QB * b.ld);
        products(p, &b, q, a->ldq, kt, dk);
        for (size_t i = b.from; i < b.to; i++) {
            float *row = p + (i - b.from) * b.ld;
            float l = softmax_row(row, w, &b, i);
            if (lse != NULL)
                lse[(w->row + i) * H + w->h] = l;
            if (probs != NULL) {
                memset(probs + i * w->S, 0, w->S * sizeof *probs);
                memcpy(probs + i * w->S + b.lo, row + (b.lo - b.base),
                       (b.hi - b.lo) * sizeof *probs);
            }
            if (w->dropout.scale > 0) {
                /* The base is a multiple of 16, as dropout's columns want. */
                v16f scale = v_set(w->dropout.scale);
                for (size_t j = 0; j < b.ld; j += 32) {
                    m32 m =
                        dropout_mask(&w->dropout, w->packed + (uint32_t)i, (uint32_t)(b.base + j));
                    v_store(row + j, v_keep(m.lo, v_mul(v_load(row + j), scale)));
                    if (j + 16 < b.ld)
                        v_store(row + j + 16, v_keep(m.hi, v_mul(v_load(row + j + 16), scale)));
                }
            }
        }
        multiply(operand(copy, v + b.lo * a->ldv, a->ldv, b.hi - b.lo, dv), o + b.from * a->ldo,
                 a->ldo, p + (b.lo - b.base), b.ld, 1, b.to - b.from, false);
    }
}

static struct head head_of(const struct tf_ctx *c, const struct tf_attention *a, size_t s, size_t h)
{
    const struct tf_rows *qr = a->q_rows, *kr = a->k_rows;
    struct tf_dropout dropout = a->dropout;
    dropout.site |= (uint32_t)h << 16;
    return (struct head){.a = a,
                         .T = qr->off[s + 1] - qr->off[s],
                         .S = kr->off[s + 1] - kr->off[s],
                         .row = qr->off[s] - qr->off[0],
                         .key = kr->off[s] - kr->off[0],
                         .packed = qr->off[s],
                         .h = h,
                         .dropout = dropout_of(c, dropout),
                         .scale = 1 / __builtin_sqrtf((float)a->dk)};
}

void TF_CPU(attention_fwd)(struct tf_ctx *c, const struct tf_attention *a)
{
    float *probs = a->probs;
    for (size_t s = 0; s < a->q_rows->n; s++)
        for (size_t h = 0; h < (size_t)a->heads; h++) {
            struct head w = head_of(c, a, s, h);
            forward(c, &w, probs);
            if (probs != NULL)
                probs += w.T * w.S;
        }
}

/* p: scores of query i, left as weights after dropout; dp: do v', left as the gradient of q k'. */
static void backward_row(float *p, float *dp, const struct head *w, const struct block *b, size_t i,
                         float lse)
{
    const size_t from = first_key(w, i) - b->base, to = end_key(w, i) - b->base;
    if (end_key(w, i) <= first_key(w, i)) {
        memset(p, 0, b->ld * sizeof *p);
        memset(dp, 0, b->ld * sizeof *dp);
        return;
    }
    const v16f none = v_set(-__builtin_inff()), zero = v_set(0), scale = v_set(w->scale),
               l = v_set(lse);
    const v16f up = v_set(w->dropout.scale > 0 ? w->dropout.scale : 1);
    v16f sum = zero;
    for (size_t j = 0; j < b->ld; j += 32) {
        m32 keep = {m_first(16), m_first(16)};
        if (w->dropout.scale > 0)
            keep = dropout_mask(&w->dropout, w->packed + (uint32_t)i, (uint32_t)(b->base + j));
        for (size_t n = j; n < j + 32 && n < b->ld; n += 16) {
            m16 sees = m_range(n, from, to), m = n == j ? keep.lo : keep.hi;
            v16f e = v_exp(v_pick(sees, v_sub(v_mul(v_load(p + n), scale), l), none));
            v16f d = v_keep(m, v_mul(v_pick(sees, v_load(dp + n), zero), up));
            sum = v_fma(e, d, sum);
            /* weights are not negative: a negative sign marks those that dropout cut */
            v_store(p + n, v_pick(m, e, v_sub(zero, e)));
            v_store(dp + n, d);
        }
    }
    v16f total = v_set(v_sum(sum));
    for (size_t n = 0; n < b->ld; n += 16) {
        v16f signed_e = v_load(p + n), kept = v_max(zero, signed_e),
             e = v_max(v_sub(zero, signed_e), kept);
        v_store(dp + n, v_mul(v_mul(e, v_sub(v_load(dp + n), total)), scale));
        v_store(p + n, v_mul(kept, up));
    }
}

/* With P the weights, M dropout's factors, o = (P M) v: dv = (P M)' do, dP = M (do v'), dS = P (dP
 * - sum_j P dP), dq = scale dS k, dk = scale dS' q. */
static void backward(struct tf_ctx *c, const struct head *w)
{
    const struct tf_attention *a = w->a;
    const size_t dk = (size_t)a->dk, dv = (size_t)a->dv, H = (size_t)a->heads;
    const float *q = (const float *)a->q + w->row * a->ldq + w->h * dk,
                *k = (const float *)a->k + w->key * a->ldk + w->h * dk;
    const float *v = (const float *)a->v + w->key * a->ldv + w->h * dv,
                *d_o = (const float *)a->d_o + w->row * a->ldo + w->h * dv;
    const float *lse = a->lse;
    float *dq = (float *)a->dq + w->row * a->ldq + w->h * dk,
          *dk_ = (float *)a->dk_ + w->key * a->ldk + w->h * dk;
    float *dv_ = (float *)a->dv_ + w->key * a->ldv + w->h * dv;

    size_t k_size = tf_cpu_panels_size(dk, w->S), v_size = tf_cpu_panels_size(dv, w->S);
    float *kt = tf_cpu_scratch(c, TF_CPU_PANELS, k_size + v_size), *vt = kt + k_size;
    float *copy = tf_cpu_scratch(c, TF_CPU_BLOCK,
                                 tf_cpu_panels_size(w->S > QB ? w->S : QB, dk > dv ? dk : dv));
    TF_CPU(panels_t)(kt, k, a->ldk, dk, w->S);
    TF_CPU(panels_t)(vt, v, a->ldv, dv, w->S);

    /* One block that sees every key writes dk and dv; several add to them. */
    struct block whole = w->T > 0 ? block_at(w, 0) : (struct block){0};
    bool once = w->T > 0 && w->T <= QB && whole.lo == 0 && whole.hi == w->S;
    for (size_t j = 0; j < w->S && !once; j++) {
        memset(dk_ + j * a->ldk, 0, dk * sizeof *dk_);
        memset(dv_ + j * a->ldv, 0, dv * sizeof *dv_);
    }
    for (size_t from = 0; from < w->T; from += QB) {
        struct block b = block_at(w, from);
        size_t n = b.to - b.from, keys = b.hi - b.lo;
        float *p = tf_cpu_scratch(c, TF_CPU_TILE, 2 * QB * b.ld), *dp = p + QB * b.ld;
        products(p, &b, q, a->ldq, kt, dk);
        products(dp, &b, d_o, a->ldo, vt, dv);
        for (size_t i = 0; i < n; i++)
            backward_row(p + i * b.ld, dp + i * b.ld, w, &b, b.from + i,
                         lse[(w->row + b.from + i) * H + w->h]);

        const float *pm = p + (b.lo - b.base), *ds = dp + (b.lo - b.base);
        multiply(operand(copy, k + b.lo * a->ldk, a->ldk, keys, dk), dq + b.from * a->ldq, a->ldq,
                 ds, b.ld, 1, n, false);
        multiply(operand(copy, q + b.from * a->ldq, a->ldq, n, dk), dk_ + b.lo * a->ldk, a->ldk, ds,
                 1, b.ld, keys, !once);
        multiply(operand(copy, d_o + b.from * a->ldo, a->ldo, n, dv), dv_ + b.lo * a->ldv, a->ldv,
                 pm, 1, b.ld, keys, !once);
    }
}

void TF_CPU(attention_bwd)(struct tf_ctx *c, const struct tf_attention *a)
{
    for (size_t s = 0; s < a->q_rows->n; s++)
        for (size_t h = 0; h < (size_t)a->heads; h++) {
            struct head w = head_of(c, a, s, h);
            backward(c, &w);
        }
}
