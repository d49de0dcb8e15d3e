/* cpu.c - the CPU backend: lanes and memory, the choice of an instruction set, and the tables that
 * forward to its kernels: fp32, and for decoding int8.
 * TF_CPU_ISA=generic|avx2|avxvnni|avx512|avx512vnni takes another set than the best one (tests). */
#include "ops/cpu/kern.h"

#ifndef TF_ONLY_GENERIC
#include <cpuid.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct set {
    const char *name;
    const struct tf_cpu_kernels *k;
    const struct tf_cpu_packing *int8;
};

#ifndef TF_ONLY_GENERIC
/* Leaf 7 of cpuid: what __builtin_cpu_supports of older compilers does not know by name. */
static bool has_avxvnni(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}
#endif

static bool runs(const struct set *s)
{
#ifndef TF_ONLY_GENERIC
    if (s->int8 == &tf_cpu_int8_avx512vnni && !__builtin_cpu_supports("avx512vnni"))
        return false;
    if (s->int8 == &tf_cpu_int8_avxvnni && !has_avxvnni())
        return false;
    if (s->k == &tf_cpu_kernels_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (s->k == &tf_cpu_kernels_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return s->k == &tf_cpu_kernels_generic;
}

static const struct set *choose(struct tf_err *err)
{
    static const struct set best_first[] = {
#ifndef TF_ONLY_GENERIC
        {"avx512vnni", &tf_cpu_kernels_avx512, &tf_cpu_int8_avx512vnni},
        {"avx512", &tf_cpu_kernels_avx512, &tf_cpu_int8_avx512},
        {"avxvnni", &tf_cpu_kernels_avx2, &tf_cpu_int8_avxvnni},
        {"avx2", &tf_cpu_kernels_avx2, &tf_cpu_int8_avx2},
#endif
        {"generic", &tf_cpu_kernels_generic, &tf_cpu_int8_generic}};
    const char *want = getenv("TF_CPU_ISA");
    for (size_t i = 0; i < sizeof best_first / sizeof best_first[0]; i++) {
        const struct set *s = &best_first[i];
        if (want != NULL && want[0] != 0 && strcmp(want, s->name) != 0)
            continue;
        if (runs(s))
            return s;
        if (want != NULL && want[0] != 0) {
            tf_fail(err, "TF_CPU_ISA=%s: this processor does not have it", want);
            return NULL;
        }
    }
    tf_fail(err, "TF_CPU_ISA=%s: not one of generic, avx2, avxvnni, avx512, avx512vnni", want);
    return NULL;
}

static int probe(struct tf_err *err)
{
    return choose(err) != NULL ? 0 : -1;
}

static struct tf_ctx *open_with(bool int8, struct tf_err *err)
{
    const struct set *s = choose(err);
    if (s == NULL)
        return NULL;
    struct tf_ctx *c = tf_xcalloc(1, sizeof *c);
    c->k = s->k;
    c->packing = int8 ? s->int8 : &s->k->packing;
    snprintf(c->about, sizeof c->about, "own kernels, %s, int8 by %s", s->k->isa, s->name);
    return c;
}

static struct tf_ctx *lane_open(const struct tf_ctx_opts *o, struct tf_err *err)
{
    (void)o;
    return open_with(false, err);
}

static struct tf_ctx *lane_open_int8(const struct tf_ctx_opts *o, struct tf_err *err)
{
    (void)o;
    return open_with(true, err);
}

static void lane_close(struct tf_ctx *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < TF_CPU_SCRATCHES; i++)
        free(c->scratch[i].base);
    free(c);
}

static const char *describe(struct tf_ctx *c)
{
    return c->about;
}

/* The next multiple of 64 after at least one pointer's room. */
static void *align(void *base)
{
    return (void *)(((uintptr_t)base + sizeof(void *) + 63) & ~(uintptr_t)63);
}

float *tf_cpu_scratch(struct tf_ctx *c, int which, size_t n)
{
    if (n > c->scratch[which].cap || c->scratch[which].p == NULL) {
        free(c->scratch[which].base);
        c->scratch[which].base = tf_xmalloc(n * sizeof(float) + 128);
        c->scratch[which].p = align(c->scratch[which].base);
        c->scratch[which].cap = n;
    }
    return c->scratch[which].p;
}

#define ELEM_SIZES                                                                           \
    {                                                                                        \
        [TF_ELEM_PARAM] = sizeof(float), [TF_ELEM_ACT] = sizeof(float),                      \
        [TF_ELEM_STAT] = sizeof(float),  [TF_ELEM_U32] = sizeof(uint32_t),                   \
        [TF_ELEM_F64] = sizeof(double),                                                      \
    }
static const size_t elem_size[TF_ELEM_KINDS] = ELEM_SIZES;

/* calloc, not memset: large blocks come as untouched zero pages. */
static tf_mem *mem_alloc(struct tf_ctx *c, enum tf_elem e, size_t n, struct tf_err *err)
{
    (void)c;
    size_t size;
    void *base = NULL;
    if (!__builtin_mul_overflow(n, elem_size[e], &size) &&
        !__builtin_add_overflow(size, 128, &size))
        base = calloc(1, size);
    if (base == NULL) {
        tf_fail(err, "no memory for %zu elements", n);
        return NULL;
    }
    void **p = align(base);
    p[-1] = base;
    return p;
}

static void mem_free(struct tf_ctx *c, tf_mem *p)
{
    (void)c;
    if (p != NULL)
        free(((void **)p)[-1]);
}

static void move(void *dst, const void *src, size_t size)
{
    if (size > 0)
        memcpy(dst, src, size);
}

static void mem_upload(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const void *src, size_t n)
{
    (void)c;
    move(dst, src, n * elem_size[e]);
}

static int mem_download(struct tf_ctx *c, void *dst, enum tf_elem e, const tf_mem *src, size_t n,
                        struct tf_err *err)
{
    (void)c;
    (void)err;
    move(dst, src, n * elem_size[e]);
    return 0;
}

static void mem_download_async(struct tf_ctx *c, double *dst, const tf_mem *src, size_t n)
{
    (void)c;
    move(dst, src, n * sizeof *dst);
}

static int mem_download_wait(struct tf_ctx *c, struct tf_err *err)
{
    (void)c;
    (void)err;
    return 0;
}

static size_t mem_free_memory(struct tf_ctx *c)
{
    (void)c;
    return 0;
}

static void mem_zero(struct tf_ctx *c, tf_mem *p, enum tf_elem e, size_t n)
{
    (void)c;
    if (n > 0)
        memset(p, 0, n * elem_size[e]);
}

static int lane_sync(struct tf_ctx *c, struct tf_err *err)
{
    (void)c;
    (void)err;
    return 0;
}

static struct tf_rows *rows_new(struct tf_ctx *c, size_t max_rows, size_t max_sentences,
                                struct tf_err *err)
{
    (void)c;
    struct tf_rows *r = tf_try_alloc(sizeof *r, err);
    if (r == NULL)
        return NULL;
    size_t size;
    *r = (struct tf_rows){.cap_rows = max_rows, .cap_sentences = max_sentences};
    if (__builtin_add_overflow(max_sentences, 1, &size) ||
        __builtin_mul_overflow(size, sizeof *r->off, &size)) {
        tf_fail(err, "no memory for %zu sentences", max_sentences);
        free(r);
        return NULL;
    }
    r->off = tf_try_alloc(size, err);
    if (r->off == NULL) {
        free(r);
        return NULL;
    }
    r->off[0] = 0;
    return r;
}

static void rows_free(struct tf_ctx *c, struct tf_rows *r)
{
    (void)c;
    if (r == NULL)
        return;
    free(r->off);
    free(r);
}

static void rows_set(struct tf_ctx *c, struct tf_rows *r, size_t n, const uint32_t *off)
{
    (void)c;
    TF_ASSERT(n <= r->cap_sentences);
    for (size_t s = 0; s < n; s++)
        TF_ASSERT(off[s] <= off[s + 1]);
    TF_ASSERT(off[n] - off[0] <= r->cap_rows);
    r->n = n;
    memcpy(r->off, off, (n + 1) * sizeof *off);
}

static void set_rng_state(struct tf_ctx *c, const struct tf_rng_state *s)
{
    c->step = *s;
}

static bool graph_begin(struct tf_ctx *c, const void *key, size_t n)
{
    (void)c, (void)key, (void)n;
    return false;
}

static bool graph_end(struct tf_ctx *c)
{
    (void)c;
    return true;
}

/* ---- entries that forward to the kernels ---- */

static void embed_fwd(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *table,
                      const tf_mem *pos, const struct tf_rows *r, int D, float scale,
                      struct tf_dropout dropout)
{
    c->k->embed_fwd(c, x, ids, table, pos, r, D, scale, dropout);
}

static void embed_bwd(struct tf_ctx *c, tf_mem *dtable, tf_mem *dpos, const tf_mem *dx,
                      const tf_mem *ids, const struct tf_rows *r, int D, float scale,
                      struct tf_dropout dropout)
{
    c->k->embed_bwd(c, dtable, dpos, dx, ids, r, D, scale, dropout);
}

static void linear_fwd(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const tf_mem *w,
                       const tf_mem *b, const struct tf_rows *r, int N, int K, unsigned flags,
                       struct tf_dropout dropout)
{
    c->k->linear_fwd(c, y, x, w, b, r, N, K, flags, dropout);
}

static void linear_bwd(struct tf_ctx *c, tf_mem *dx, tf_mem *dw, tf_mem *db, tf_mem *dy,
                       const tf_mem *x, const tf_mem *w, const struct tf_rows *r, int N, int K,
                       unsigned flags, struct tf_dropout dropout)
{
    c->k->linear_bwd(c, dx, dw, db, dy, x, w, r, N, K, flags, dropout);
}

static void add_norm_fwd(struct tf_ctx *c, tf_mem *s, tf_mem *y, tf_mem *mean, tf_mem *rstd,
                         const tf_mem *x, const tf_mem *res, const tf_mem *gain, const tf_mem *bias,
                         const struct tf_rows *r, int D, float eps, struct tf_dropout dropout)
{
    c->k->add_norm_fwd(c, s, y, mean, rstd, x, res, gain, bias, r, D, eps, dropout);
}

static void add_norm_bwd(struct tf_ctx *c, tf_mem *ds, tf_mem *dx, tf_mem *dgain, tf_mem *dbias,
                         const tf_mem *dy, const tf_mem *dsum, const tf_mem *s, const tf_mem *mean,
                         const tf_mem *rstd, const tf_mem *gain, const struct tf_rows *r, int D,
                         struct tf_dropout dropout)
{
    c->k->add_norm_bwd(c, ds, dx, dgain, dbias, dy, dsum, s, mean, rstd, gain, r, D, dropout);
}

static void attention_fwd(struct tf_ctx *c, const struct tf_attention *a)
{
    c->k->attention_fwd(c, a);
}

static void attention_bwd(struct tf_ctx *c, const struct tf_attention *a)
{
    c->k->attention_bwd(c, a);
}

static void xent(struct tf_ctx *c, const struct tf_xent *x)
{
    c->k->xent(c, x);
}

static void add(struct tf_ctx *c, tf_mem *a, const tf_mem *b, size_t n)
{
    c->k->add(a, b, n);
}

static void sumsq(struct tf_ctx *c, tf_mem *dst, const tf_mem *x, size_t n)
{
    *(double *)dst = c->k->sumsq(x, n);
}

static void sum(struct tf_ctx *c, tf_mem *dst, const tf_mem *src, size_t n)
{
    (void)c;
    const double *v = src;
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += v[i];
    *(double *)dst = s;
}

static void adam(struct tf_ctx *c, tf_mem *p, tf_mem *m, tf_mem *v, const tf_mem *g, size_t n,
                 const tf_mem *norm2, const struct tf_adam *h)
{
    c->k->adam(p, m, v, g, n, norm2, h);
}

static void ema(struct tf_ctx *c, tf_mem *e, const tf_mem *p, size_t n, double decay)
{
    c->k->ema(e, p, n, decay);
}

static struct tf_packed *pack(struct tf_ctx *c, const tf_mem *w, int K, int N, bool transposed,
                              struct tf_err *err)
{
    return c->packing->pack(w, K, N, transposed, err);
}

static void pack_free(struct tf_ctx *c, struct tf_packed *p)
{
    c->packing->free(p);
}

static void linear_packed(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const struct tf_packed *w,
                          const tf_mem *b, size_t rows, unsigned flags)
{
    c->packing->linear(c, y, x, w, b, rows, flags);
}

static void embed_rows(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *at,
                       const tf_mem *table, const tf_mem *pos, size_t rows, int D, float scale)
{
    c->k->embed_rows(x, ids, at, table, pos, rows, D, scale);
}

static void add_norm_rows(struct tf_ctx *c, tf_mem *s, tf_mem *y, const tf_mem *x,
                          const tf_mem *res, const tf_mem *gain, const tf_mem *bias, size_t rows,
                          int D, float eps)
{
    c->k->add_norm_rows(c, s, y, x, res, gain, bias, rows, D, eps);
}

static void cached_attention(struct tf_ctx *c, const struct tf_cached_attention *a, size_t rows)
{
    c->k->cached_attention(c, a, rows);
}

static void scatter_rows(struct tf_ctx *c, tf_mem *dst, size_t ld_dst, const tf_mem *src,
                         size_t ld_src, const tf_mem *slot, size_t rows, size_t n)
{
    (void)c;
    const uint32_t *at = slot;
    for (size_t r = 0; r < rows; r++)
        move((float *)dst + at[r] * ld_dst, (const float *)src + r * ld_src, n * sizeof(float));
}

static void log_softmax(struct tf_ctx *c, tf_mem *z, tf_mem *acc, size_t rows, int V, float weight)
{
    c->k->log_softmax(z, acc, rows, V, weight);
}

static void log_inplace(struct tf_ctx *c, tf_mem *x, size_t n)
{
    c->k->log_inplace(x, n);
}

static void mem_copy(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const tf_mem *src, size_t n)
{
    mem_upload(c, dst, e, src, n);
}

/* What both tables have. */
#define COMMON                                                                                  \
    .abi = TF_BACKEND_ABI, .name = "cpu", .shards = 8, .threads = true, .poll = 1,              \
    .elem_size = ELEM_SIZES, .probe = probe, .close = lane_close, .describe = describe,         \
    .set_tuning = tf_nothing_to_choose, .start_tuning = tf_nothing_to_tune,                     \
    .get_tuning = tf_nothing_tuned, .alloc = mem_alloc, .free = mem_free, .upload = mem_upload, \
    .download = mem_download, .download_async = mem_download_async,                             \
    .download_wait = mem_download_wait, .free_memory = mem_free_memory, .zero = mem_zero,       \
    .copy = mem_copy, .sync = lane_sync, .rows_new = rows_new, .rows_free = rows_free,          \
    .rows_set = rows_set, .rows_shape = tf_rows_no_shape, .set_rng_state = set_rng_state,       \
    .graph_begin = graph_begin, .graph_end = graph_end, .embed_fwd = embed_fwd,                 \
    .embed_bwd = embed_bwd, .linear_fwd = linear_fwd, .linear_bwd = linear_bwd,                 \
    .add_norm_fwd = add_norm_fwd, .add_norm_bwd = add_norm_bwd, .attention_fwd = attention_fwd, \
    .attention_bwd = attention_bwd, .xent = xent, .add = add, .sumsq = sumsq, .sum = sum,       \
    .adam = adam, .ema = ema, .pack = pack, .pack_free = pack_free,                             \
    .linear_packed = linear_packed, .embed_rows = embed_rows, .add_norm_rows = add_norm_rows,   \
    .cached_attention = cached_attention, .scatter_rows = scatter_rows,                         \
    .log_softmax = log_softmax, .log_inplace = log_inplace, .search_step = tf_cpu_search_step

const struct tf_backend tf_backend_cpu = {
    COMMON,
    .precision = "fp32",
    .supports = TF_USE_ANY,
    .default_for = TF_USE_ANY,
    .open = lane_open,
};

const struct tf_backend tf_backend_cpu_int8 = {
    COMMON,
    .precision = "int8",
    .supports = TF_USE_DECODING,
    .open = lane_open_int8,
};
