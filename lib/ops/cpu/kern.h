/* kern.h - the CPU backend's lane, and the entries that are compiled once per instruction set
 * (kern*.c with -DTF_ISA=generic, avx2, avx512). Each set is one const struct tf_cpu_kernels; cpu.c
 * picks one at start. Contracts: ops/backend.h. */
#ifndef TF_OPS_CPU_KERN_H
#define TF_OPS_CPU_KERN_H

#include "ops/backend.h"
#include "ops/rows.h"

/* Scratch buffers of a lane, by use. An entry may hold several; nothing is kept from one entry to
 * the next. */
enum { TF_CPU_PANELS, TF_CPU_BLOCK, TF_CPU_TILE, TF_CPU_ROW, TF_CPU_SCRATCHES };

struct tf_ctx {
    const struct tf_cpu_kernels *k;
    const struct tf_cpu_packing *packing; /* of the table's precision */
    struct tf_rng_state step;
    struct {
        void *base;
        float *p; /* 64-byte aligned */
        size_t cap;
    } scratch[TF_CPU_SCRATCHES];
    char about[96];
};

/* At least n floats, not cleared, valid until the same buffer is asked for again. */
float *tf_cpu_scratch(struct tf_ctx *c, int which, size_t n);

/* Weights laid out for decoding, in one precision: pack, pack_free and linear_packed. */
struct tf_cpu_packing {
    struct tf_packed *(*pack)(const float *, int, int, bool, struct tf_err *);
    void (*free)(struct tf_packed *);
    void (*linear)(struct tf_ctx *, float *, const float *, const struct tf_packed *, const float *,
                   size_t, unsigned);
};

struct tf_cpu_kernels {
    const char *isa;
    void (*embed_fwd)(struct tf_ctx *, float *, const uint32_t *, const float *, const float *,
                      const struct tf_rows *, int, float, struct tf_dropout);
    void (*embed_bwd)(struct tf_ctx *, float *, float *, const float *, const uint32_t *,
                      const struct tf_rows *, int, float, struct tf_dropout);
    void (*linear_fwd)(struct tf_ctx *, float *, const float *, const float *, const float *,
                       const struct tf_rows *, int, int, unsigned, struct tf_dropout);
    void (*linear_bwd)(struct tf_ctx *, float *, float *, float *, const float *, const float *,
                       const float *, const struct tf_rows *, int, int, unsigned,
                       struct tf_dropout);
    void (*add_norm_fwd)(struct tf_ctx *, float *, float *, float *, float *, const float *,
                         const float *, const float *, const float *, const struct tf_rows *, int,
                         float, struct tf_dropout);
    void (*add_norm_bwd)(struct tf_ctx *, float *, float *, float *, float *, const float *,
                         const float *, const float *, const float *, const float *, const float *,
                         const struct tf_rows *, int, struct tf_dropout);
    void (*attention_fwd)(struct tf_ctx *, const struct tf_attention *);
    void (*attention_bwd)(struct tf_ctx *, const struct tf_attention *);
    void (*xent)(struct tf_ctx *, const struct tf_xent *);
    void (*add)(float *, const float *, size_t);
    double (*sumsq)(const float *, size_t);
    void (*adam)(float *, float *, float *, const float *, size_t, const double *,
                 const struct tf_adam *);
    void (*ema)(float *, const float *, size_t, double);
    struct tf_cpu_packing packing; /* fp32 */
    void (*embed_rows)(float *, const uint32_t *, const uint32_t *, const float *, const float *,
                       size_t, int, float);
    void (*add_norm_rows)(struct tf_ctx *, float *, float *, const float *, const float *,
                          const float *, const float *, size_t, int, float);
    void (*cached_attention)(struct tf_ctx *, const struct tf_cached_attention *, size_t);
    void (*log_softmax)(float *, float *, size_t, int, float);
    void (*log_inplace)(float *, size_t);
};

extern const struct tf_cpu_kernels tf_cpu_kernels_generic;
/* kern_int8.c, compiled for two sets more */
extern const struct tf_cpu_packing tf_cpu_int8_generic;
#ifndef TF_ONLY_GENERIC
extern const struct tf_cpu_kernels tf_cpu_kernels_avx2, tf_cpu_kernels_avx512;
extern const struct tf_cpu_packing tf_cpu_int8_avx2, tf_cpu_int8_avxvnni, tf_cpu_int8_avx512,
    tf_cpu_int8_avx512vnni;
#endif

/* ops/cpu/search.c */
void tf_cpu_search_step(struct tf_ctx *c, struct tf_search *s, const tf_mem *lp);

#ifdef TF_ISA
#define TF_CPU_PASTE_(isa, entry) tf_cpu_##isa##_##entry
#define TF_CPU_PASTE(isa, entry) TF_CPU_PASTE_(isa, entry)
#define TF_CPU(entry) TF_CPU_PASTE(TF_ISA, entry)

/* kern_embed.c */
void TF_CPU(embed_fwd)(struct tf_ctx *c, float *x, const uint32_t *ids, const float *table,
                       const float *pos, const struct tf_rows *r, int D, float scale,
                       struct tf_dropout dropout);
void TF_CPU(embed_bwd)(struct tf_ctx *c, float *dtable, float *dpos, const float *dx,
                       const uint32_t *ids, const struct tf_rows *r, int D, float scale,
                       struct tf_dropout dropout);
void TF_CPU(embed_rows)(float *x, const uint32_t *ids, const uint32_t *at, const float *table,
                        const float *pos, size_t rows, int D, float scale);
/* kern_linear.c */
void TF_CPU(linear_fwd)(struct tf_ctx *c, float *y, const float *x, const float *w, const float *b,
                        const struct tf_rows *r, int N, int K, unsigned flags,
                        struct tf_dropout dropout);
void TF_CPU(linear_bwd)(struct tf_ctx *c, float *dx, float *dw, float *db, const float *dy,
                        const float *x, const float *w, const struct tf_rows *r, int N, int K,
                        unsigned flags, struct tf_dropout dropout);
struct tf_packed *TF_CPU(pack)(const float *w, int K, int N, bool transposed, struct tf_err *err);
void TF_CPU(pack_free)(struct tf_packed *p);
void TF_CPU(linear_packed)(struct tf_ctx *c, float *y, const float *x, const struct tf_packed *w,
                           const float *b, size_t rows, unsigned flags);
/* kern_norm.c */
void TF_CPU(add_norm_fwd)(struct tf_ctx *c, float *s, float *y, float *mean, float *rstd,
                          const float *x, const float *res, const float *gain, const float *bias,
                          const struct tf_rows *r, int D, float eps, struct tf_dropout dropout);
void TF_CPU(add_norm_bwd)(struct tf_ctx *c, float *ds, float *dx, float *dgain, float *dbias,
                          const float *dy, const float *dsum, const float *s, const float *mean,
                          const float *rstd, const float *gain, const struct tf_rows *r, int D,
                          struct tf_dropout dropout);
void TF_CPU(add_norm_rows)(struct tf_ctx *c, float *s, float *y, const float *x, const float *res,
                           const float *gain, const float *bias, size_t rows, int D, float eps);
/* kern_attention.c */
void TF_CPU(attention_fwd)(struct tf_ctx *c, const struct tf_attention *a);
void TF_CPU(attention_bwd)(struct tf_ctx *c, const struct tf_attention *a);
/* kern_xent.c */
void TF_CPU(xent)(struct tf_ctx *c, const struct tf_xent *x);
/* kern_update.c */
void TF_CPU(add)(float *a, const float *b, size_t n);
double TF_CPU(sumsq)(const float *x, size_t n);
void TF_CPU(adam)(float *p, float *m, float *v, const float *g, size_t n, const double *norm2,
                  const struct tf_adam *h);
void TF_CPU(ema)(float *e, const float *p, size_t n, double decay);
/* kern_decode.c */
void TF_CPU(cached_attention)(struct tf_ctx *c, const struct tf_cached_attention *a, size_t rows);
void TF_CPU(log_softmax)(float *z, float *acc, size_t rows, int V, float weight);
void TF_CPU(log_inplace)(float *x, size_t n);
#endif

#endif
