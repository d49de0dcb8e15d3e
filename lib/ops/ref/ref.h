/* ref.h - the reference backend: plain loops over tf_real, sums in double. Compiled twice, with
 * -DTF_REAL=float -DTF_REF_NAME=f32 and with -DTF_REAL=double -DTF_REF_NAME=f64; TF_REF(name) keeps
 * the symbols of the two apart. Contracts: ops/backend.h, at each entry of the table. */
#ifndef TF_OPS_REF_REF_H
#define TF_OPS_REF_REF_H

#include "ops/backend.h"
#include "ops/rows.h"

#if !defined TF_REAL || !defined TF_REF_NAME
#error "ops/ref is compiled with -DTF_REAL=float -DTF_REF_NAME=f32, and with double and f64"
#endif

typedef TF_REAL tf_real;

#define TF_REF_PASTE_(name, entry) tf_ref_##name##_##entry
#define TF_REF_PASTE(name, entry) TF_REF_PASTE_(name, entry)
#define TF_REF(entry) TF_REF_PASTE(TF_REF_NAME, entry)

/* A lane: nothing is queued, so it is the step and a scratch buffer that grows. */
struct tf_ctx {
    struct tf_rng_state step;
    double *scratch;
    size_t scratch_cap; /* doubles */
};

struct tf_packed {
    int K, N;
    tf_real w[]; /* [K, N] */
};

/* n doubles, not cleared, valid until the next call on this lane. */
double *TF_REF(scratch)(struct tf_ctx *c, size_t n);
/* What dropout multiplies element (row, column) of a site by: 0, or 1 / (1 - p). row is packed. */
double TF_REF(keep)(const struct tf_ctx *c, struct tf_dropout dropout, size_t row, size_t column);

/* memory.c */
struct tf_ctx *TF_REF(open)(const struct tf_ctx_opts *o, struct tf_err *err);
void TF_REF(close)(struct tf_ctx *c);
tf_mem *TF_REF(alloc)(struct tf_ctx *c, enum tf_elem e, size_t n, struct tf_err *err);
void TF_REF(free)(struct tf_ctx *c, tf_mem *p);
void TF_REF(upload)(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const void *src, size_t n);
int TF_REF(download)(struct tf_ctx *c, void *dst, enum tf_elem e, const tf_mem *src, size_t n,
                     struct tf_err *err);
void TF_REF(download_async)(struct tf_ctx *c, double *dst, const tf_mem *src, size_t n);
int TF_REF(download_wait)(struct tf_ctx *c, struct tf_err *err);
void TF_REF(zero)(struct tf_ctx *c, tf_mem *p, enum tf_elem e, size_t n);
void TF_REF(copy)(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const tf_mem *src, size_t n);
int TF_REF(sync)(struct tf_ctx *c, struct tf_err *err);
struct tf_rows *TF_REF(rows_new)(struct tf_ctx *c, size_t max_rows, size_t max_sentences,
                                 struct tf_err *err);
void TF_REF(rows_free)(struct tf_ctx *c, struct tf_rows *r);
void TF_REF(rows_set)(struct tf_ctx *c, struct tf_rows *r, size_t n, const uint32_t *off);
void TF_REF(set_rng_state)(struct tf_ctx *c, const struct tf_rng_state *s);
bool TF_REF(graph_begin)(struct tf_ctx *c, const void *key, size_t n);
bool TF_REF(graph_end)(struct tf_ctx *c);

/* embed.c */
void TF_REF(embed_fwd)(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *table,
                       const tf_mem *pos, const struct tf_rows *r, int D, float scale,
                       struct tf_dropout dropout);
void TF_REF(embed_bwd)(struct tf_ctx *c, tf_mem *dtable, tf_mem *dpos, const tf_mem *dx,
                       const tf_mem *ids, const struct tf_rows *r, int D, float scale,
                       struct tf_dropout dropout);
void TF_REF(embed_rows)(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *at,
                        const tf_mem *table, const tf_mem *pos, size_t rows, int D, float scale);

/* linear.c */
void TF_REF(linear_fwd)(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const tf_mem *w,
                        const tf_mem *b, const struct tf_rows *r, int N, int K, unsigned flags,
                        struct tf_dropout dropout);
void TF_REF(linear_bwd)(struct tf_ctx *c, tf_mem *dx, tf_mem *dw, tf_mem *db, tf_mem *dy,
                        const tf_mem *x, const tf_mem *w, const struct tf_rows *r, int N, int K,
                        unsigned flags, struct tf_dropout dropout);
struct tf_packed *TF_REF(pack)(struct tf_ctx *c, const tf_mem *w, int K, int N, bool transposed,
                               struct tf_err *err);
void TF_REF(pack_free)(struct tf_ctx *c, struct tf_packed *p);
void TF_REF(linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const struct tf_packed *w,
                           const tf_mem *b, size_t rows, unsigned flags);

/* norm.c */
void TF_REF(add_norm_fwd)(struct tf_ctx *c, tf_mem *s, tf_mem *y, tf_mem *mean, tf_mem *rstd,
                          const tf_mem *x, const tf_mem *res, const tf_mem *gain,
                          const tf_mem *bias, const struct tf_rows *r, int D, float eps,
                          struct tf_dropout dropout);
void TF_REF(add_norm_bwd)(struct tf_ctx *c, tf_mem *ds, tf_mem *dx, tf_mem *dgain, tf_mem *dbias,
                          const tf_mem *dy, const tf_mem *dsum, const tf_mem *s, const tf_mem *mean,
                          const tf_mem *rstd, const tf_mem *gain, const struct tf_rows *r, int D,
                          struct tf_dropout dropout);
void TF_REF(add_norm_rows)(struct tf_ctx *c, tf_mem *s, tf_mem *y, const tf_mem *x,
                           const tf_mem *res, const tf_mem *gain, const tf_mem *bias, size_t rows,
                           int D, float eps);

/* attention.c */
void TF_REF(attention_fwd)(struct tf_ctx *c, const struct tf_attention *a);
void TF_REF(attention_bwd)(struct tf_ctx *c, const struct tf_attention *a);
void TF_REF(cached_attention)(struct tf_ctx *c, const struct tf_cached_attention *a, size_t rows);

/* xent.c */
void TF_REF(xent)(struct tf_ctx *c, const struct tf_xent *x);

/* update.c */
void TF_REF(add)(struct tf_ctx *c, tf_mem *a, const tf_mem *b, size_t n);
void TF_REF(sumsq)(struct tf_ctx *c, tf_mem *dst, const tf_mem *x, size_t n);
void TF_REF(sum)(struct tf_ctx *c, tf_mem *dst, const tf_mem *src, size_t n);
void TF_REF(adam)(struct tf_ctx *c, tf_mem *p, tf_mem *m, tf_mem *v, const tf_mem *g, size_t n,
                  const tf_mem *norm2, const struct tf_adam *h);
void TF_REF(ema)(struct tf_ctx *c, tf_mem *e, const tf_mem *p, size_t n, double decay);

/* decode.c */
void TF_REF(scatter_rows)(struct tf_ctx *c, tf_mem *dst, size_t ld_dst, const tf_mem *src,
                          size_t ld_src, const tf_mem *slot, size_t rows, size_t n);
void TF_REF(log_softmax)(struct tf_ctx *c, tf_mem *z, tf_mem *acc, size_t rows, int V,
                         float weight);
void TF_REF(log_inplace)(struct tf_ctx *c, tf_mem *x, size_t n);

/* search.c */
void TF_REF(search_step)(struct tf_ctx *c, struct tf_search *s, const tf_mem *lp);

#endif
