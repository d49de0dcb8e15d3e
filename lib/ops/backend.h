/* backend.h - the table of operations: everything that touches a model's numbers goes through one
 * const struct tf_backend.
 *
 * Implementations: ops/ref (plain loops in float and in double, which every test compares with),
 * ops/cpu (fast, one table for each instruction set), ops/cuda (a plugin). No type of CUDA or BLAS
 * appears here.
 *
 * Each operation is stated once, as a function type with its contract: tf_NAME_fn. The lists
 * TF_LANE_OPS, TF_ACT_OPS, TF_PACKED_OPS, TF_SELECT_OPS, TF_LISTED_OPS and TF_VALUE_OPS name the
 * operations; from them come the fields of struct tf_backend and, in each implementation, the
 * declarations of its functions and its tables. To add an operation: its type and its name in a
 * list here, one function each in ref, cpu and cuda, and one problem in tests/ops/problems.c.
 *
 * Symbols: B sentences, S source length, T target length, D model width, H heads, F inner width, V
 * vocabulary, K inputs of a linear map, N its outputs, R rows (tokens). All matrices are row-major
 * and dense unless a stride is named. `dx` is the gradient of the loss with respect to `x`.
 * Arguments: outputs, inputs, then dimensions.
 *
 * Rows. Sentences are packed one after the other without padding: an activation is [R, D] with R
 * the sum of lengths. A row space (struct tf_rows) holds capacity, the actual number of rows and
 * the sentences' offsets in backend memory; host code passes the row space and never reads the
 * count back, so that a GPU can replay one graph.
 *
 * Memory. Every array is backend memory, which the host addresses only through tf_at(). The type of
 * a pointer says what the elements are: tf_mem_param (weights, moments, gradients: f32, or f64 in
 * ref64), tf_mem_act (activations and their gradients: the table's precision), tf_mem_stat (values
 * kept between operations, and probabilities: as param), tf_mem_u32, tf_mem_f64. For the compiler
 * all of them are void, since their size depends on the table. Buffers may not overlap unless an
 * operation says so.
 *
 * Lanes. A tf_ctx is one lane: a queue of work with its own scratch memory. Lanes of one backend
 * share memory; different lanes may run at the same time on different threads. Operations may
 * queue; only sync, download and download_wait wait, and they return the errors of queued work.
 * Operations that return void can fail only through a bug.
 *
 * Determinism. On ref and cpu every result is a function of the arguments alone: not of lanes,
 * threads, addresses or earlier calls. For the operations marked ROW-WISE each output row depends
 * only on its own sentence (and the weights), never on its neighbours or their number. */
#ifndef TF_OPS_BACKEND_H
#define TF_OPS_BACKEND_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_BACKEND_ABI 26

struct tf_ctx;    /* a lane */
struct tf_rows;   /* a row space */
struct tf_packed; /* a weight matrix laid out for decoding */
struct tf_search; /* the state of a beam search, see ops/search_state.h */
/* Backend memory, and what its elements are. */
typedef void tf_mem, tf_mem_param, tf_mem_act, tf_mem_stat, tf_mem_u32, tf_mem_f64;

enum tf_elem {
    TF_ELEM_PARAM,
    TF_ELEM_ACT,
    TF_ELEM_STAT,
    TF_ELEM_U32,
    TF_ELEM_F64,
    /* PARAM, or ACT where that is smaller: weights that passes forward alone read, as w of
     * linear_fwd, e of xent and table of embed_fwd */
    TF_ELEM_WEIGHT,
    TF_ELEM_KINDS
};

/* download_async: most downloads that wait for download_wait, and most elements of one. */
enum { TF_ASYNC_DOWNLOADS = 4, TF_ASYNC_DOWNLOAD_MAX = 512 };

#define TF_NO_ID UINT32_MAX /* an id that embeds as the zero vector */

/* Dropout: element (row, column) is kept iff u >= p * 2^32 and then scaled by 1 / (1 - p); u is
 * word column % 4 of Philox4x32-10 with key = seed and counter = (column / 4, row, site, update),
 * row = row in the packed batch (not in the shard). For attention: row = packed row of the query,
 * column = key within its sentence, site | head << 16. p = 0 is off. site < 65536 is the place in
 * the model (enum tf_dropout_site in model/params.h). */
struct tf_dropout {
    float p;
    uint32_t site;
};

/* The random state of dropout; changes from update to update. */
struct tf_rng_state {
    uint64_t seed;   /* Philox key */
    uint32_t update; /* counts micro-steps since the start of the run */
};

/* One multi-head attention, scaled by 1/sqrt(dk) (paper, 3.2.1), because the variance of q.k is dk
 * for independent components of variance 1 (footnote 4): for each sentence and head, o =
 * dropout(softmax(q k' * scale + mask)) v. A query that sees no key (an empty source, a window past
 * its end) gets o = 0, lse = -inf and gives no gradient. Strides are in elements between rows; head
 * h begins at column h*dk of q and k, h*dv of v and o. */
struct tf_attention {
    /* the same number of sentences; the same object for self-attention */
    const struct tf_rows *q_rows, *k_rows;
    const tf_mem_act *q, *k, *v; /* [Rq, H*dk] [Rk, H*dk] [Rk, H*dv] */
    tf_mem_act *o;               /* [Rq, H*dv], overwritten by forward */
    size_t ldq, ldk, ldv, ldo;
    int heads, dk, dv;
    bool causal; /* query i sees keys 0..i */
    int window;  /* 0: no limit; r: |i - j| <= r only (paper, section 4) */
    struct tf_dropout dropout;
    /* [Rq, H]: log of the softmax denominators, written by forward, read by backward; NULL when
     * there will be no backward pass */
    tf_mem_stat *lse;
    /* NULL, or the weights before dropout: for each sentence and head a [T, S] block, in that
     * order (sum of H*T*S) */
    tf_mem_stat *probs;
    const tf_mem_act *d_o;      /* backward only: gradient of o, stride ldo */
    tf_mem_act *dq, *dk_, *dv_; /* backward only: overwritten, strides as q, k, v */
};

/* Projection to the vocabulary, softmax, cross-entropy with label smoothing, and their gradients,
 * without ever keeping [R, V]: z = x E' + b, log p = z - logsumexp(z), target distribution q = on
 * at the target, off elsewhere; loss = -sum_j q_j log p_j.
 * paper: on = 1 - eps + eps/V, off = eps/V. t2t: on = 1 - eps, off = eps/(V - 1). dz = p - q
 * (not divided by the number of tokens). The loss and dz of a row are multiplied by its weight;
 * weights that are all 1 give the bytes that none give. */
struct tf_xent {
    const struct tf_rows *rows;
    const tf_mem_act *x;       /* [R, D] */
    const tf_mem_param *e;     /* [V, D] */
    const tf_mem_param *b;     /* [V], or NULL: 0 */
    const tf_mem_u32 *targets; /* [R] */
    const tf_mem_stat *weights; /* [R], or NULL: 1 */
    int V, D;
    float on, off;
    /* [4], added to: sum of loss, with weights; and without: sum of -log p(target), number of rows
     * whose most probable id (lowest on ties) is the target, rows */
    tf_mem_f64 *acc;
    tf_mem_stat *logp; /* [R] or NULL: log p(target) */
    tf_mem_act *dx;    /* [R, D] or NULL (forward only): overwritten */
    tf_mem_param *de;  /* [V, D]: overwritten; NULL with dx NULL */
    tf_mem_param *db;  /* [V]: overwritten; NULL with dx or b NULL */
};

/* Adam (Kingma & Ba 2015), paper section 5.3:
 *   g' = g * gscale * min(1, clip / (gscale * sqrt(*norm2))); clip 0: off
 *   m = b1 m + (1-b1) g'; v = b2 v + (1-b2) g'^2
 *   paper: p -= lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)
 *   eps_hat (t2t): p -= lr * sqrt(1-b2^t) / (1-b1^t) * m / (sqrt(v) + eps)
 * In both, p first becomes p - lr * decay * p: AdamW (Loshchilov & Hutter 2019).
 * If *norm2 is not finite, nothing changes. */
struct tf_adam {
    double lr, beta1, beta2, eps, gscale, clip, decay;
    uint64_t t; /* 1 for the first update */
    bool eps_hat;
};

/* Attention of single query rows over cached keys and values, for decoding. Query row r attends to
 * n_keys[r] keys; key j is row table[r*table_ld + j] of k and v, or row first[r] + j when table is
 * NULL. */
struct tf_cached_attention {
    const tf_mem_act *q, *k, *v; /* [R, H*dk], strides ldq ldk ldv */
    tf_mem_act *o;               /* [R, H*dv] */
    size_t ldq, ldk, ldv, ldo;
    int heads, dk, dv;
    const tf_mem_u32 *table; /* [R, table_ld] or NULL */
    size_t table_ld;
    const tf_mem_u32 *first;  /* [R], used when table is NULL */
    const tf_mem_u32 *n_keys; /* [R] */
    int window;               /* 0: no limit; r: only the last r + 1 keys */
};

/* The first of n keys that a query sees. */
static inline size_t tf_cached_attention_from(const struct tf_cached_attention *a, size_t n)
{
    size_t most = (size_t)a->window + 1;
    return a->window > 0 && n > most ? n - most : 0;
}

enum {
    TF_LIN_RELU = 1,      /* y = max(0, x w + b), then dropout */
    TF_LIN_SAVE = 2,      /* forward, with RELU: a linear_bwd with FROM_RELU will follow */
    TF_LIN_FROM_RELU = 4, /* backward: x is the y of a forward with RELU and SAVE */
    TF_LIN_ADD_DX = 8,    /* backward: dx is added to, not overwritten; not with FROM_RELU */
    TF_LIN_STAT = 16,     /* linear_packed: y is STAT (logits) */
};

struct tf_ctx_opts {
    int threads; /* of the process: a hint for scratch sizes */
    int device;  /* which of `devices` */
};

/* n rows, rounded up, for the capacity of row spaces and of buffers on them. A device works on the
 * rounded number of the rows in use, so that its work has few different shapes: below 8192 in steps
 * of n / 16 or less, but at least 128; above that in steps of 128. */
static inline size_t tf_rows_round_up(size_t n)
{
    size_t step = 128;
    while (step * 16 <= n && n < 8192)
        step *= 2;
    return (n + step - 1) / step * step;
}

/* What the caller is about to do; each backend has a default precision for each of them. */
enum tf_use { TF_USE_TRAINING = 1, TF_USE_SCORING = 2, TF_USE_DECODING = 4, TF_USE_ANY = 7 };

/* ---- the table itself ---- */

/* 0 if the backend works on this machine; else -1 and the reason in err, as one line. */
typedef int tf_probe_fn(struct tf_err *err);
/* The devices that the table was found for, by their numbers in names as cuda:N; *n is at least 1.
 * Lanes on several may run at the same time on different threads, each device with weights of its
 * own. NULL where there is only the host. */
typedef const int *tf_devices_fn(int *n);
/* A new lane; NULL and err on failure. */
typedef struct tf_ctx *tf_open_fn(const struct tf_ctx_opts *o, struct tf_err *err);
/* One line for tf-info and logs: library, kernels, device ("own kernels, avx512, int8 by
 * avx512vnni"). Owned by the lane. */
typedef const char *tf_describe_fn(struct tf_ctx *c);
/* All that decides the bytes of results in this table's precision besides the program and its
 * settings ("avx512"; "OpenBLAS 0.3.21, core SkylakeX; avx512"; "cuda, NVIDIA H200, cuBLASLt
 * 13.1.0"): at most 200 bytes, static. After a successful probe. */
typedef const char *tf_kernels_fn(void);

/* ---- lanes and memory ---- */

/* clang-format off */
#define TF_LANE_OPS(OP)                                                                      \
    OP(close) OP(set_tuning) OP(start_tuning) OP(get_tuning)                                 \
    OP(alloc) OP(free) OP(upload) OP(download) OP(download_async) OP(download_wait)          \
    OP(free_memory) OP(zero) OP(copy) OP(sync)                                               \
    OP(rows_new) OP(rows_free) OP(rows_set) OP(rows_shape) OP(set_rng_state)                 \
    OP(graph_begin) OP(graph_end)                                                            \
    OP(link_info) OP(link_open) OP(link_close) OP(send_receive) OP(sync_within) OP(pack_free)
/* clang-format on */

/* Free a lane, or NULL. */
typedef void tf_close_fn(struct tf_ctx *c);
/* Use the choices of algorithms in `text` [n], as returned by get_tuning, for all later work. -1
 * and err where there is nothing to choose, or when the text is of another device. */
typedef int tf_set_tuning_fn(struct tf_ctx *c, const char *text, size_t n, struct tf_err *err);
/* From now on measure the algorithms for every new shape, which is slow and changes no result. -1
 * and err where there is nothing to choose. */
typedef int tf_start_tuning_fn(struct tf_ctx *c, struct tf_err *err);
/* The choices so far as text, from malloc; NULL and err on failure. */
typedef char *tf_get_tuning_fn(struct tf_ctx *c, struct tf_err *err);

/* n elements, cleared, 64-byte aligned; NULL and err without memory. */
typedef tf_mem *tf_alloc_fn(struct tf_ctx *c, enum tf_elem e, size_t n, struct tf_err *err);
typedef void tf_free_fn(struct tf_ctx *c, tf_mem *p); /* p may be NULL */
/* Copy n elements from or to a host array of the table's own element type. download waits. */
typedef void tf_upload_fn(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const void *src, size_t n);
typedef int tf_download_fn(struct tf_ctx *c, void *dst, enum tf_elem e, const tf_mem *src, size_t n,
                           struct tf_err *err);
/* Queue a download of n F64 (at most TF_ASYNC_DOWNLOAD_MAX). dst belongs to the lane until the
 * matching download_wait has returned; those match in order, at most TF_ASYNC_DOWNLOADS are
 * open. -1 and err, with nothing queued, when a device had no memory for earlier work: the results
 * of that are of no use. */
typedef int tf_download_async_fn(struct tf_ctx *c, double *dst, const tf_mem_f64 *src, size_t n,
                                 struct tf_err *err);
typedef int tf_download_wait_fn(struct tf_ctx *c, struct tf_err *err);
/* Free bytes of a device; 0 where backend memory is host memory. */
typedef size_t tf_free_memory_fn(struct tf_ctx *c);
typedef void tf_zero_fn(struct tf_ctx *c, tf_mem *p, enum tf_elem e, size_t n);
typedef void tf_copy_fn(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const tf_mem *src, size_t n);
/* Wait for all queued work. */
typedef int tf_sync_fn(struct tf_ctx *c, struct tf_err *err);

/* A row space for at most so many rows and sentences; NULL and err without memory. */
typedef struct tf_rows *tf_rows_new_fn(struct tf_ctx *c, size_t max_rows, size_t max_sentences,
                                       struct tf_err *err);
typedef void tf_rows_free_fn(struct tf_ctx *c, struct tf_rows *r); /* r may be NULL */
/* off: n + 1 host offsets of packed rows; the space covers rows off[0] .. off[n], and off[0] is the
 * packed row (for dropout) of its first row. */
typedef void tf_rows_set_fn(struct tf_ctx *c, struct tf_rows *r, size_t n, const uint32_t *off);
/* Into shape: all that queued work on this row space depends on besides its memory, for the key of
 * graph_begin. False if a graph of this shape is unlikely to be used again. */
typedef bool tf_rows_shape_fn(struct tf_ctx *c, const struct tf_rows *r, uint32_t shape[2]);
/* Set the random state for the dropout of all later work. */
typedef void tf_set_rng_state_fn(struct tf_ctx *c, const struct tf_rng_state *s);
/* Record work that is queued again and again with the same arguments, and replay it:
 *     do { if (be->graph_begin(c, key, n)) break; the calls } while (!be->graph_end(c));
 * queues the work once, however often the calls are made. Two sequences of calls with any
 * difference need different keys; freeing any backend memory discards all graphs. The calls may
 * only queue: no alloc, upload, download or sync. Backends on host memory just make the calls. */
typedef bool tf_graph_begin_fn(struct tf_ctx *c, const void *key, size_t n);
typedef bool tf_graph_end_fn(struct tf_ctx *c);

/* ---- devices of several processes ("ranks") that exchange memory without the host ---- */

/* The device of a rank, for all of them before they are linked. */
struct tf_link_info {
    char library[32];      /* that links devices, with its version: the same on all ranks */
    char device[32];       /* its place in the machine: ranks of one machine differ in it */
    unsigned char id[128]; /* of the link, made by one of the ranks */
};
/* make: also a new id. -1 and err where devices cannot be linked, as where backend memory is the
 * host's. */
typedef int tf_link_info_fn(struct tf_ctx *c, struct tf_link_info *info, bool make,
                            struct tf_err *err);
/* All ranks at once: link their devices, with the info of the rank that made the id. One link a
 * process. */
typedef int tf_link_open_fn(struct tf_ctx *c, const struct tf_link_info *info, int rank, int ranks,
                            struct tf_err *err);
/* All ranks at once. stop: without the others, and what is queued ends too, because a rank is gone.
 */
typedef void tf_link_close_fn(struct tf_ctx *c, bool stop);
/* Queue: send elements to a rank and receive others from it. It makes the matching call. */
typedef void tf_send_receive_fn(struct tf_ctx *c, int peer, enum tf_elem e, const tf_mem *out,
                                size_t n_out, tf_mem *in, size_t n_in);
/* As sync, for at most so many seconds. After a failure the link is gone. */
typedef int tf_sync_within_fn(struct tf_ctx *c, double seconds, struct tf_err *err);

/* ---- operations on activations: one implementation for each precision of ACT ---- */

/* clang-format off */
#define TF_ACT_OPS(OP)                                                                       \
    OP(embed_fwd) OP(embed_bwd) OP(linear_fwd) OP(linear_bwd)                                \
    OP(activation_fwd) OP(activation_bwd) OP(activation_rows)                                \
    OP(ssru_fwd) OP(ssru_bwd) OP(ssru_rows)                                                  \
    OP(add_norm_fwd) OP(add_norm_bwd) OP(attention_fwd) OP(attention_bwd) OP(xent)           \
    OP(embed_rows) OP(add_norm_rows) OP(cached_attention) OP(scatter_rows)
/* clang-format on */

/* x[r] = dropout(table[ids[r]] * scale + pos[row within its sentence]); pos may be NULL. x [R, D],
 * table [V, D], pos [>= longest, D], ids [R]. ROW-WISE. */
typedef void tf_embed_fwd_fn(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                             const tf_mem_param *table, const tf_mem_param *pos,
                             const struct tf_rows *r, int D, float scale,
                             struct tf_dropout dropout);
/* dtable[ids[r]] += scale * dropout'(dx[r]) in row order; dpos (or NULL) likewise. Both are added
 * to. */
typedef void tf_embed_bwd_fn(struct tf_ctx *c, tf_mem_param *dtable, tf_mem_param *dpos,
                             const tf_mem_act *dx, const tf_mem_u32 *ids, const struct tf_rows *r,
                             int D, float scale, struct tf_dropout dropout);

/* y = x w + b, with TF_LIN_RELU y = dropout(max(0, x w + b)). x [R, K], w [K, N], b [N] or NULL.
 * ROW-WISE. */
typedef void tf_linear_fwd_fn(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                              const tf_mem_param *w, const tf_mem_param *b, const struct tf_rows *r,
                              int N, int K, unsigned flags, struct tf_dropout dropout);
/* Gradients: dx = dy w', dw = x' dy, db = column sums of dy, overwritten; each may be NULL. With
 * TF_LIN_FROM_RELU dx = dy w' / (1-p) where x > 0, else 0, with the p of the dropout that x was
 * made with (otherwise unused): x is 0 where ReLU or dropout cut it. dy past the rows in use may be
 * cleared. */
typedef void tf_linear_bwd_fn(struct tf_ctx *c, tf_mem_act *dx, tf_mem_param *dw, tf_mem_param *db,
                              tf_mem_act *dy, const tf_mem_act *x, const tf_mem_param *w,
                              const struct tf_rows *r, int N, int K, unsigned flags,
                              struct tf_dropout dropout);

/* y = dropout(x g(x)); y may be x. x [R, N]. ROW-WISE. swish: g = s(x) = 1 / (1 + exp(-x)); gelu:
 * g = (1 + erf(x / sqrt(2))) / 2, the normal distribution up to x (Hendrycks and Gimpel 2016);
 * identity: g = 1. */
enum tf_function { TF_SWISH, TF_GELU, TF_IDENTITY };
typedef void tf_activation_fwd_fn(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                                  const struct tf_rows *r, int N, enum tf_function f,
                                  struct tf_dropout dropout);
/* dx = dropout'(dy) (g(x) + x g'(x)); dx may be dy. swish: g' = s (1 - s); gelu: g' = exp(-x^2 / 2)
 * / sqrt(2 pi); identity: x is not read. */
typedef void tf_activation_bwd_fn(struct tf_ctx *c, tf_mem_act *dx, const tf_mem_act *dy,
                                  const tf_mem_act *x, const struct tf_rows *r, int N,
                                  enum tf_function f, struct tf_dropout dropout);
/* activation_fwd on a plain number of rows, without dropout. ROW-WISE. */
typedef void tf_activation_rows_fn(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                                   size_t rows, int N, enum tf_function f);

/* The cells of a simpler simple recurrent unit, without the products before them (Kim et al. 2019,
 * "From Research to Production and Back: Ludicrously Fast Neural Machine Translation"). A row of xf
 * [R, 2D] is x, then z. In each sentence, with c = 0 before its first row:
 *     f_t = 1 / (1 + exp(-(z_t + b))); c_t = f_t c_{t-1} + (1 - f_t) x_t; y_t = max(0, c_t)
 * cell [R, D]: c, or NULL when there will be no backward pass. b [D]. ROW-WISE. */
typedef void tf_ssru_fwd_fn(struct tf_ctx *c, tf_mem_act *y, tf_mem_act *cell, const tf_mem_act *xf,
                            const tf_mem_param *b, const struct tf_rows *r, int D);
/* Gradients of xf and b from dy, with the cells of ssru_fwd; overwritten. */
typedef void tf_ssru_bwd_fn(struct tf_ctx *c, tf_mem_act *dxf, tf_mem_param *db,
                            const tf_mem_act *dy, const tf_mem_act *xf, const tf_mem_act *cell,
                            const tf_mem_param *b, const struct tf_rows *r, int D);

/* s = res + dropout(x); y = (s - mean) * rstd * gain + bias, mean and rstd = 1/sqrt(var + eps) of
 * the row, biased variance. x may be NULL (s = res); s may be NULL when it is not needed later, and
 * may be the same buffer as res or x. mean, rstd [R], or NULL when there will be no backward pass.
 * ROW-WISE. */
typedef void tf_add_norm_fwd_fn(struct tf_ctx *c, tf_mem_act *s, tf_mem_act *y, tf_mem_stat *mean,
                                tf_mem_stat *rstd, const tf_mem_act *x, const tf_mem_act *res,
                                const tf_mem_param *gain, const tf_mem_param *bias,
                                const struct tf_rows *r, int D, float eps,
                                struct tf_dropout dropout);
/* ds = LayerNorm'(dy) + dsum (dsum NULL: 0; may be the same buffer as ds); dx = dropout'(ds), NULL
 * when x was. dgain, dbias [D] overwritten. dy NULL: ds = dsum only, dgain and dbias untouched. */
typedef void tf_add_norm_bwd_fn(struct tf_ctx *c, tf_mem_act *ds, tf_mem_act *dx,
                                tf_mem_param *dgain, tf_mem_param *dbias, const tf_mem_act *dy,
                                const tf_mem_act *dsum, const tf_mem_act *s,
                                const tf_mem_stat *mean, const tf_mem_stat *rstd,
                                const tf_mem_param *gain, const struct tf_rows *r, int D,
                                struct tf_dropout dropout);

/* See struct tf_attention. attention_fwd is ROW-WISE. */
typedef void tf_attention_fwd_fn(struct tf_ctx *c, const struct tf_attention *a);
typedef void tf_attention_bwd_fn(struct tf_ctx *c, const struct tf_attention *a);
/* See struct tf_xent. */
typedef void tf_xent_fn(struct tf_ctx *c, const struct tf_xent *x);

/* For decoding, on plain numbers of rows, all ROW-WISE. */

/* x[r] = table[ids[r]] * scale + pos[at[r]]; pos may be NULL. */
typedef void tf_embed_rows_fn(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                              const tf_mem_u32 *at, const tf_mem_param *table,
                              const tf_mem_param *pos, size_t rows, int D, float scale);
/* add_norm_fwd without dropout. */
typedef void tf_add_norm_rows_fn(struct tf_ctx *c, tf_mem_act *s, tf_mem_act *y,
                                 const tf_mem_act *x, const tf_mem_act *res,
                                 const tf_mem_param *gain, const tf_mem_param *bias, size_t rows,
                                 int D, float eps);
/* One step of ssru_fwd: the cell of row r goes to cells[slot[r]], that before it is
 * cells[table[r*table_ld + n_past[r] - 2]], or 0 where n_past[r] is 1. */
typedef void tf_ssru_rows_fn(struct tf_ctx *c, tf_mem_act *y, tf_mem_act *cells,
                             const tf_mem_act *xf, const tf_mem_param *b, const tf_mem_u32 *slot,
                             const tf_mem_u32 *table, size_t table_ld, const tf_mem_u32 *n_past,
                             size_t rows, int D);
/* See struct tf_cached_attention. */
typedef void tf_cached_attention_fn(struct tf_ctx *c, const struct tf_cached_attention *a,
                                    size_t rows);
/* dst[slot[r]] = src[r], n elements a row: new keys and values into the cache. */
typedef void tf_scatter_rows_fn(struct tf_ctx *c, tf_mem_act *dst, size_t ld_dst,
                                const tf_mem_act *src, size_t ld_src, const tf_mem_u32 *slot,
                                size_t rows, size_t n);

/* ---- linear maps with weights laid out in advance, for decoding ---- */

#define TF_PACKED_OPS(OP) OP(pack_new) OP(pack) OP(linear_packed) OP(embed_packed)
/* Of a search with shortlists: on the host the union of those of a group, on a device each alone.
 * NULL in other backends. */
#define TF_SELECT_OPS(OP) OP(pack_select)
#define TF_LISTED_OPS(OP) OP(linear_listed) OP(log_softmax_listed)

enum { TF_PACK_COLUMNS = 64 };

enum {
    /* pack is given binary16, and results are those of the same values in fp32; only of a backend
     * that packs halves */
    TF_PACK_HALVES = 1,
    /* columns one after the other, for pack_select, not for linear_packed; of what is transposed */
    TF_PACK_APART = 2,
};
/* Memory for w [K, N]; NULL and err without it, but of the host's backends as tf_xmalloc. */
typedef struct tf_packed *tf_pack_new_fn(struct tf_ctx *c, int K, int N, unsigned flags,
                                         struct tf_err *err);
/* Lay out columns first .. first + n of w, each column once: w [K, n] has stride ld, transposed
 * [n, K] is dense. first is a multiple of TF_PACK_COLUMNS, and so is n but for the last columns.
 * w may be freed afterwards. */
typedef void tf_pack_fn(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                        bool transposed, size_t first, size_t n);
/* w [K, n] of `to` = columns ids [n] of `from`, which is APART. `to` is of pack_new with the same K
 * and at least n columns, without flags; it has n columns then. */
typedef void tf_pack_select_fn(struct tf_ctx *c, struct tf_packed *to, const struct tf_packed *from,
                               const tf_mem_u32 *ids, size_t n);
/* p may be NULL. On the host it does nothing: closing the lane frees. */
typedef void tf_pack_free_fn(struct tf_ctx *c, struct tf_packed *p);
/* y [rows, N] = x [rows, K] w + b; flags TF_LIN_RELU, TF_LIN_STAT: y ACT, or STAT with the latter.
 * ROW-WISE. */
typedef void tf_linear_packed_fn(struct tf_ctx *c, tf_mem *y, const tf_mem_act *x,
                                 const struct tf_packed *w, const tf_mem_param *b, size_t rows,
                                 unsigned flags);
/* embed_rows with the table w' [N, K], as precise as linear_packed has it. ROW-WISE. */
typedef void tf_embed_packed_fn(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                                const tf_mem_u32 *at, const struct tf_packed *w,
                                const tf_mem_param *pos, size_t rows, float scale);

/* The lists of a search: sentence i has rows row0[i] .. row0[i] + live[i] - 1, of which column j is
 * for id ids[off[i] + j], j < off[i + 1] - off[i]. What other columns hold is undefined. */
struct tf_lists {
    const tf_mem_u32 *row0, *live, *off, *ids; /* off [n + 1], the first two [n] */
    size_t n, most;                            /* sentences; rows of one, no fewer than any has */
    size_t ld; /* of rows, no less than the longest list */
};
/* Columns ids of x [rows, K] w + b, in rows of stride l->ld. ROW-WISE. */
typedef void tf_linear_listed_fn(struct tf_ctx *c, tf_mem_stat *z, const tf_mem_act *x,
                                 const struct tf_packed *w, const tf_mem_param *b,
                                 const struct tf_lists *l);
/* log_softmax over the columns of each row's list. ROW-WISE, whatever ld and other lists are. */
typedef void tf_log_softmax_listed_fn(struct tf_ctx *c, tf_mem_stat *z, tf_mem_stat *acc,
                                      const struct tf_lists *l, float weight);

/* ---- operations on weights and probabilities: the same for every precision of ACT ---- */

#define TF_VALUE_OPS(OP) \
    OP(add) OP(sumsq) OP(sum) OP(adam) OP(ema) OP(log_softmax) OP(search_step)

/* Updates of n elements; splitting a range in any way gives the same bytes (for sumsq, in any whole
 * chunks). */

/* a += b */
typedef void tf_add_fn(struct tf_ctx *c, tf_mem_param *a, const tf_mem_param *b, size_t n);
/* dst[k] = sum of the squares of x[k chunk .. (k + 1) chunk), the last chunk as far as x goes;
 * [ceil(n / chunk)] */
typedef void tf_sumsq_fn(struct tf_ctx *c, tf_mem_f64 *dst, const tf_mem_param *x, size_t n,
                         size_t chunk);
/* *dst = sum, in order */
typedef void tf_sum_fn(struct tf_ctx *c, tf_mem_f64 *dst, const tf_mem_f64 *src, size_t n);
/* p, m and v are updated; norm2 [1] is the squared norm of all gradients. See struct tf_adam. */
typedef void tf_adam_fn(struct tf_ctx *c, tf_mem_param *p, tf_mem_param *m, tf_mem_param *v,
                        const tf_mem_param *g, size_t n, const tf_mem_f64 *norm2,
                        const struct tf_adam *h);
/* e = decay e + (1 - decay) p */
typedef void tf_ema_fn(struct tf_ctx *c, tf_mem_param *e, const tf_mem_param *p, size_t n,
                       double decay);

/* For decoding, ROW-WISE. */

/* z [rows, V]. acc NULL: z[r] = log softmax(z[r]) in place, weight unused. Otherwise, for
 * ensembles, acc[r] = log((1 - weight) exp(acc[r]) + weight softmax(z[r])), 0 < weight < 1, which
 * is finite wherever either logarithm is. */
typedef void tf_log_softmax_fn(struct tf_ctx *c, tf_mem_stat *z, tf_mem_stat *acc, size_t rows,
                               int V, float weight);
/* One step of beam search over log-probabilities lp [rows, V]: select, finish, reorder; contract in
 * ops/search_state.h. The contents of lp are undefined afterwards. */
typedef void tf_search_step_fn(struct tf_ctx *c, struct tf_search *s, tf_mem_stat *lp);

struct tf_backend {
    uint32_t abi;     /* TF_BACKEND_ABI */
    const char *name; /* "cpu", "ref", "ref64", "cuda" */
    /* of ACT: "fp32", "fp64" (ref64), "bf16", "fp16"; or "int8": fp32 with linear_packed in 8 bits.
     * A backend has one table for each */
    const char *precision;
    unsigned supports;    /* TF_USE_... that this table can be used for */
    unsigned default_for; /* and those for which it is the backend's default */
    int shards;           /* parts, by sentence, that a training batch is cut into by default */
    bool threads;         /* lanes may run on different host threads at the same time */
    bool host;            /* backend memory is the host's */
    bool tables_packed;   /* decoding embeds with packed tables, whatever a file has */
    bool packs_halves;    /* pack also takes binary16 */
    size_t norm_chunk;    /* elements of a gradient in each chunk of sumsq */
    /* decoding: read the state of the search every so many steps; more than 1 where the host would
     * wait for a device */
    int poll;
    size_t elem_size[TF_ELEM_KINDS]; /* bytes */

    tf_probe_fn *probe;
    tf_open_fn *open;
    tf_devices_fn *devices;
    tf_describe_fn *describe;
    tf_kernels_fn *kernels;
#define TF_BACKEND_FIELD(op) tf_##op##_fn *op;
    TF_LANE_OPS(TF_BACKEND_FIELD)
    TF_ACT_OPS(TF_BACKEND_FIELD)
    TF_PACKED_OPS(TF_BACKEND_FIELD)
    TF_VALUE_OPS(TF_BACKEND_FIELD)
    TF_SELECT_OPS(TF_BACKEND_FIELD)
    TF_LISTED_OPS(TF_BACKEND_FIELD)
#undef TF_BACKEND_FIELD
};

/* Element i of backend memory. */
static inline tf_mem *tf_at(const struct tf_backend *be, enum tf_elem e, const tf_mem *p, size_t i)
{
    return (char *)p + i * be->elem_size[e];
}

/* Lay out all of w [K, N], or transposed [N, K], with the flags of pack_new. */
static inline struct tf_packed *tf_pack_all(const struct tf_backend *be, struct tf_ctx *c,
                                            const tf_mem_param *w, int K, int N, bool transposed,
                                            unsigned flags, struct tf_err *err)
{
    struct tf_packed *p = be->pack_new(c, K, N, flags, err);
    if (p != NULL)
        be->pack(c, p, w, (size_t)N, transposed, 0, (size_t)N);
    return p;
}

enum { TF_CPU_SHARDS = 8 }; /* of all of them */

extern const struct tf_backend tf_backend_ref_f32, tf_backend_ref_f64;

#endif
