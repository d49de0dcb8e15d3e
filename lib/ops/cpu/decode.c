/* decode.c - for decoding only: attention of single queries over cached keys, cache rows into their
 * slots, log-probabilities, mixtures of models. */
#include "ops/cpu/kernels_private.h"
#include "ops/cpu/vec_private.h"

/* x = softmax x in place; n may be 0. */
static void softmax(float *x, size_t n)
{
    v16f top = v_set(-__builtin_inff()), sum = v_set(0), none = top;
    for (size_t i = 0; i < n; i += 16)
        top = v_max(top, v_pick(m_first(n - i), v_load_n(x + i, n - i), none));
    v16f max = v_set(v_hmax(top));
    for (size_t i = 0; i < n; i += 16) {
        v16f e = v_keep(m_first(n - i), v_exp(v_sub(v_load_n(x + i, n - i), max)));
        v_store_n(x + i, e, n - i);
        sum = v_add(sum, e);
    }
    v16f inv = v_set(1 / v_sum(sum));
    for (size_t i = 0; i < n; i += 16)
        v_store_n(x + i, v_mul(v_load_n(x + i, n - i), inv), n - i);
}

/* The keys that one query sees. */
struct keys {
    const uint32_t *table; /* or NULL: consecutive ones */
    size_t first, n;
};

static struct keys keys_of(const struct tf_cached_attention *a, size_t r)
{
    const uint32_t *table = a->table, *first = a->first, *n_keys = a->n_keys;
    const size_t from = tf_cached_attention_from(a, n_keys[r]);
    return (struct keys){.table = table != NULL ? table + r * a->table_ld + from : NULL,
                         .first = table != NULL ? 0 : first[r] + from,
                         .n = n_keys[r] - from};
}

static const float *key_row(const float *rows, size_t ld, const struct keys *k, size_t j)
{
    return rows + (k->table != NULL ? k->table[j] : k->first + j) * ld;
}

/* So many rows ahead of the one that is read, keys and values of all heads are fetched from memory:
 * a step of decoding has more of them than the caches hold, in no order that hardware foresees. */
enum { AHEAD = 8 };

/* Row j of these keys, counted on into those of the next array. Always inlined: gcc 12 takes a
 * function that only fetches for one without effect, and drops the call. */
INLINE void fetch(const float *rows, size_t ld, const struct keys *k, const float *next,
                  size_t next_ld, const struct keys *next_k, size_t j, size_t n)
{
    const float *p = NULL;
    if (j < k->n)
        p = key_row(rows, ld, k, j);
    else if (j - k->n < next_k->n)
        p = key_row(next, next_ld, next_k, j - k->n);
    for (size_t i = 0; p != NULL && i < n; i += 16)
        __builtin_prefetch(p + i, 0, 2);
}

/* Keys at once: their sums are finished together, and what they are added to stays in registers. */
enum { AT_ONCE = 4 };

/* at: the rows of keys from j on, AT_ONCE of them or, near the end, one; their number. */
INLINE size_t take(const float **at, const float *rows, size_t ld, const struct keys *k,
                   const float *next, size_t next_ld, const struct keys *next_k, size_t j, size_t n)
{
    const size_t m = k->n - j < AT_ONCE ? 1 : AT_ONCE;
    for (size_t t = 0; t < m; t++) {
        at[t] = key_row(rows, ld, k, j + t);
        fetch(rows, ld, k, next, next_ld, next_k, j + t + AHEAD, n);
    }
    return m;
}

/* p[h n + t] = scale q[h] . k[t][h] for m keys and all heads. */
INLINE void score(float *p, size_t n, const float *q, const float *const *k, size_t m, size_t heads,
                  size_t dk, float scale)
{
    for (size_t h = 0; h < heads; h++) {
        v16f s[AT_ONCE] = {v_set(0), v_set(0), v_set(0), v_set(0)};
        for (size_t i = h * dk; i < (h + 1) * dk; i += 16) {
            const size_t left = (h + 1) * dk - i;
            v16f x = v_load_n(q + i, left);
            for (size_t t = 0; t < m; t++)
                s[t] = v_fma(x, v_load_n(k[t] + i, left), s[t]);
        }
        float sums[AT_ONCE];
        if (m == AT_ONCE)
            v_sum_4(sums, s);
        else
            sums[0] = v_sum(s[0]);
        for (size_t t = 0; t < m; t++)
            p[h * n + t] = scale * sums[t];
    }
}

/* o[h] += sum over m keys of p[h n + t] v[t][h], in their order. */
INLINE void mix(float *o, const float *p, size_t n, const float *const *v, size_t m, size_t heads,
                size_t dv)
{
    for (size_t h = 0; h < heads; h++)
        for (size_t i = h * dv; i < (h + 1) * dv; i += 16) {
            const size_t left = (h + 1) * dv - i;
            v16f s = v_load_n(o + i, left);
            for (size_t t = 0; t < m; t++)
                s = v_fma(v_set(p[h * n + t]), v_load_n(v[t] + i, left), s);
            v_store_n(o + i, s, left);
        }
}

void TF_CPU(cached_attention)(struct tf_ctx *c, const struct tf_cached_attention *a, size_t rows)
{
    const size_t dk = (size_t)a->dk, dv = (size_t)a->dv, H = (size_t)a->heads;
    const float scale = 1 / __builtin_sqrtf((float)dk), *k = a->k, *v = a->v, *at[AT_ONCE];
    struct keys keys = {0}, next = rows > 0 ? keys_of(a, 0) : keys;
    for (size_t r = 0; r < rows; r++) {
        keys = next;
        next = r + 1 < rows ? keys_of(a, r + 1) : (struct keys){0};
        const float *q = (const float *)a->q + r * a->ldq;
        const size_t n = keys.n;
        float *p = tf_cpu_scratch(c, TF_CPU_ROW, H * n), *o = (float *)a->o + r * a->ldo;
        for (size_t j = 0, m; j < n; j += m) {
            m = take(at, k, a->ldk, &keys, v, a->ldv, &keys, j, H * dk);
            if (m == AT_ONCE)
                score(p + j, n, q, at, AT_ONCE, H, dk, scale);
            else
                score(p + j, n, q, at, 1, H, dk, scale);
        }
        for (size_t h = 0; h < H; h++)
            softmax(p + h * n, n);
        memset(o, 0, H * dv * sizeof *o);
        for (size_t j = 0, m; j < n; j += m) {
            m = take(at, v, a->ldv, &keys, k, a->ldk, &next, j, H * dv);
            if (m == AT_ONCE)
                mix(o, p + j, n, at, AT_ONCE, H, dv);
            else
                mix(o, p + j, n, at, 1, H, dv);
        }
    }
}

void TF_CPU(scatter_rows)(struct tf_ctx *c, tf_mem_act *dst, size_t ld_dst, const tf_mem_act *src,
                          size_t ld_src, const tf_mem_u32 *slot, size_t rows, size_t n)
{
    (void)c;
    const uint32_t *to = slot;
    for (size_t r = 0; r < rows && n > 0; r++)
        memcpy(out(dst, to[r] * ld_dst), in(src, r * ld_src), n * sizeof(float));
}

/* log(exp a + exp b) */
static v16f log_add(v16f a, v16f b)
{
    v16f max = v_max(a, b), d = v_sub(a, b), none = v_set(-__builtin_inff()); /* d keeps a NaN */
    v16f sum = v_add(max, v_log(v_add(v_set(1), v_exp(v_min(d, v_sub(v_set(0), d))))));
    return v_pick(m_gt(max, none), sum, max);
}

/* One row [n] of log_softmax; acc NULL: in place. */
static void log_softmax_row(float *z, float *acc, size_t n, float weight)
{
    const size_t whole = n / 64 * 64;
    const v16f none = v_set(-__builtin_inff());
    v16f m[4] = {none, none, none, none}, s[4] = {v_set(0), v_set(0), v_set(0), v_set(0)};
    for (size_t i = 0; i < whole; i += 64)
        for (size_t j = 0; j < 4; j++)
            m[j] = v_max(m[j], v_load(z + i + j * 16));
    for (size_t i = whole; i < n; i += 16)
        m[0] = v_max(m[0], v_pick(m_first(n - i), v_load_n(z + i, n - i), none));
    v16f max = v_set(v_hmax(v_max(v_max(m[0], m[1]), v_max(m[2], m[3]))));
    for (size_t i = 0; i < whole; i += 64)
        for (size_t j = 0; j < 4; j++)
            s[j] = v_add(s[j], v_exp(v_sub(v_load(z + i + j * 16), max)));
    for (size_t i = whole; i < n; i += 16)
        s[0] = v_add(s[0], v_keep(m_first(n - i), v_exp(v_sub(v_load_n(z + i, n - i), max))));
    v16f lse = v_add(max, v_log(v_set(v_sum(v_add(v_add(s[0], s[1]), v_add(s[2], s[3]))))));
    if (acc == NULL) {
        for (size_t i = 0; i < n; i += 16)
            v_store_n(z + i, v_sub(v_load_n(z + i, n - i), lse), n - i);
    } else {
        v16f log_w = v_log(v_set(weight)), log_rest = v_log(v_set(1 - weight));
        for (size_t i = 0; i < n; i += 16)
            v_store_n(acc + i,
                      log_add(v_add(v_load_n(acc + i, n - i), log_rest),
                              v_add(v_sub(v_load_n(z + i, n - i), lse), log_w)),
                      n - i);
    }
}

void TF_CPU(log_softmax)(struct tf_ctx *c, tf_mem_stat *z, tf_mem_stat *acc, size_t rows, int V,
                         float weight)
{
    (void)c;
    size_t n = (size_t)V;
    for (size_t r = 0; r < rows; r++)
        log_softmax_row(out(z, r * n), acc != NULL ? out(acc, r * n) : NULL, n, weight);
}
