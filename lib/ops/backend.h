/* backend.h - THE table of operations. A backend is one const struct of function pointers; every
 * entry is there, on every backend.
 *
 * Bodies: ops/ref (plain loops over tf_real, as float and as double: the truth of every test),
 * ops/cpu (fast), ops/cuda (a plugin). No type of CUDA or BLAS shows here.
 *
 * Glossary: B sentences, S source length, T target length, D model width, H heads, F inner width, V
 * vocabulary, K inputs of a linear map, N its outputs, R rows (tokens). All matrices are row-major
 * and dense unless a stride is named. `dx` is the gradient of the loss with respect to `x`.
 * Arguments: outputs, inputs, then dimensions.
 *
 * Rows. Sentences are packed one after the other without padding: an activation is [R, D] with R
 * the sum of lengths. A row space (struct tf_rows) holds capacity, the actual number of rows and
 * the sentences' offsets in backend memory; host code passes the row space and never reads the
 * count back, so that a GPU can replay one graph.
 *
 * Memory. Pointers named mem are backend memory, addressed by the host only through tf_at().
 * Elements: PARAM (weights, moments, gradients: f32, or f64 in ref64), ACT (activations and their
 * gradients: the table's precision), STAT (what sums are kept in between operations, and
 * probabilities: as PARAM), U32, F64. Buffers may not overlap unless an entry says so.
 *
 * Lanes. A tf_ctx is one lane: a queue of work with its own scratch memory. Lanes of one backend
 * share memory; different lanes may run at the same time on different threads. Entries may queue;
 * `sync` and `download` are the only waits, and errors of queued work surface there. Entries that
 * return void can't fail but by a bug.
 *
 * Determinism. On ref and cpu every result is a function of the arguments alone: not of lanes,
 * threads, addresses or earlier calls. For the entries marked ROW-WISE each output row depends only
 * on its own sentence (and weights), never on its neighbours or their number. */
#ifndef TF_OPS_BACKEND_H
#define TF_OPS_BACKEND_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_BACKEND_ABI 9

struct tf_ctx;    /* a lane */
struct tf_rows;   /* a row space */
struct tf_packed; /* a weight matrix laid out for decoding */
struct tf_search; /* the state of a beam search, see ops/search.h */
typedef void tf_mem; /* backend memory */

enum tf_elem { TF_ELEM_PARAM, TF_ELEM_ACT, TF_ELEM_STAT, TF_ELEM_U32, TF_ELEM_F64, TF_ELEM_KINDS };

enum { TF_ASYNC_DOWNLOADS = 4, TF_ASYNC_DOWNLOAD_MAX = 512 };

#define TF_NO_ID UINT32_MAX /* an id that embeds as the zero vector */

/* Dropout: element (row, column) is kept iff u >= p * 2^32 and then scaled by 1 / (1 - p); u is
 * word column % 4 of Philox4x32-10 with key = seed and counter = (column / 4, row, site,
 * update), row = row in the packed batch (not in the shard). For attention: row = packed row of
 * the query, column = key within its sentence, site | head << 16. p = 0 is off. site < 65536
 * names the place in the model for good (model/params.h). */
struct tf_dropout {
    float p;
    uint32_t site;
};

/* What changes from update to update. */
struct tf_rng_state {
    uint64_t seed;   /* dropout key */
    uint32_t update; /* counts micro-steps since the start of the run */
};

/* One multi-head attention, scaled by 1/sqrt(dk) (paper, 3.2.1): for each sentence and head, o =
 * dropout(softmax(q k' * scale + mask)) v. A query that sees no key (an empty source, a window past
 * its end) gets o = 0, lse = -inf and gives no gradient. Strides are in elements between rows; head
 * h begins at column h*dk of q and k, h*dv of v and o. */
struct tf_attention {
    /* the same number of sentences; the same object for self-attention */
    const struct tf_rows *q_rows, *k_rows;
    const tf_mem *q, *k, *v;               /* [Rq, H*dk] [Rk, H*dk] [Rk, H*dv] */
    tf_mem *o;                             /* [Rq, H*dv], overwritten by forward */
    size_t ldq, ldk, ldv, ldo;
    int heads, dk, dv;
    bool causal;                           /* query i sees keys 0..i */
    /* 0: no limit; r: |i - j| <= r only (restricted attention, paper section 4) */
    int window;
    struct tf_dropout dropout;
    /* STAT [Rq, H]: log of the softmax denominators, out in forward, in in backward; NULL when
     * there will be no backward */
    tf_mem *lse;
    /* STAT or NULL: the weights before dropout, for each sentence and head a [T, S] block, in that
     * order (sum of H*T*S) */
    tf_mem *probs;
    const tf_mem *d_o;                     /* backward only: gradient of o, stride ldo */
    tf_mem *dq, *dk_, *dv_;                /* backward only: overwritten, strides as q, k, v */
};

/* Projection to the vocabulary, softmax, cross-entropy with label smoothing, and their gradients,
 * without ever keeping [R, V]:
 * z = x E', log p = z - logsumexp(z), target distribution q = on at the target, off elsewhere; loss
 * = -sum_j q_j log p_j.
 * paper: on = 1 - eps + eps/V, off = eps/V. t2t: on = 1 - eps, off = eps/(V - 1). dz = p - q
 * (not divided by the number of tokens). */
struct tf_xent {
    const struct tf_rows *rows;
    const tf_mem *x;         /* ACT [R, D] */
    const tf_mem *e;         /* PARAM [V, D] */
    const tf_mem *targets;   /* U32 [R] */
    int V, D;
    float on, off;
    /* F64 [4], added to: sum of loss, sum of -log p(target), count of rows whose most probable id
     * (lowest on ties) is the target, rows */
    tf_mem *acc;
    tf_mem *logp;            /* STAT [R] or NULL: log p(target) */
    tf_mem *dx;              /* ACT [R, D] or NULL (forward only): overwritten */
    tf_mem *de;              /* PARAM [V, D]: overwritten; NULL with dx NULL */
};

/* Adam (Kingma & Ba 2015), paper section 5.3:
 *   g' = g * gscale * min(1, clip / (gscale * sqrt(*norm2))); clip 0: off
 *   m = b1 m + (1-b1) g'; v = b2 v + (1-b2) g'^2
 *   paper: p -= lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)
 *   eps_hat (t2t): p -= lr * sqrt(1-b2^t) / (1-b1^t) * m / (sqrt(v) + eps)
 * When *norm2 is not finite, nothing is changed. */
struct tf_adam {
    double lr, beta1, beta2, eps, gscale, clip;
    uint64_t t;       /* 1 for the first update */
    bool eps_hat;
};

/* Attention of single query rows over cached keys and values, for decoding. Query row r attends to
 * n_keys[r] keys; key j is row table[r*table_ld + j] of k and v, or row first[r] + j when table is
 * NULL. */
struct tf_cached_attention {
    const tf_mem *q, *k, *v; /* [R, H*dk], strides ldq ldk ldv */
    tf_mem *o;               /* [R, H*dv] */
    size_t ldq, ldk, ldv, ldo;
    int heads, dk, dv;
    const tf_mem *table;     /* U32 [R, table_ld] or NULL */
    size_t table_ld;
    const tf_mem *first;     /* U32 [R], used when table is NULL */
    const tf_mem *n_keys;    /* U32 [R] */
    int window;              /* 0: no limit; r: of the keys only the last r + 1 */
};

/* The first of n keys that a query sees. */
static inline size_t tf_cached_attention_from(const struct tf_cached_attention *a, size_t n)
{
    size_t most = (size_t)a->window + 1;
    return a->window > 0 && n > most ? n - most : 0;
}

enum {
    TF_LIN_RELU = 1, /* y = max(0, x w + b), then dropout */
    TF_LIN_SAVE = 2, /* forward, with RELU: a linear_bwd will go back through it */
    /* backward: x is the y of a forward with RELU and KEEP, and dx goes back through it */
    TF_LIN_FROM_RELU = 4,
    TF_LIN_ADD_DX = 8, /* backward: dx is added to, not overwritten; not with FROM_RELU */
    TF_LIN_STAT = 16,  /* linear_packed: y is STAT (logits) */
};

struct tf_ctx_opts {
    int threads; /* of the process: a hint for scratch sizes */
};

/* A number of rows for row spaces and the buffers on them: n, rounded up. A device works on so many
 * rows as this makes of those in use, so that its work comes in few shapes: below 8192 in steps of
 * a sixteenth or less, but no finer than 128; above that in steps of 128. */
static inline size_t tf_rows_round_up(size_t n)
{
    size_t step = 128;
    while (step * 16 <= n && n < 8192)
        step *= 2;
    return (n + step - 1) / step * step;
}

/* What a caller is about to do: each has a precision that a backend takes when none is asked
 * for. */
enum tf_use { TF_USE_TRAINING = 1, TF_USE_SCORING = 2, TF_USE_DECODING = 4, TF_USE_ANY = 7 };

struct tf_backend {
    uint32_t abi;            /* TF_BACKEND_ABI */
    const char *name;        /* "cpu", "ref", "ref64", "cuda" */
    /* of ACT: "fp32", "fp64" (ref64), "bf16", "fp16"; or "int8": the products of linear_packed in 8
     * bits, ACT fp32. A backend has one table for each */
    const char *precision;
    unsigned supports;    /* TF_USE_...: for which this table can be taken */
    unsigned default_for; /* and for which it is the backend's default */
    /* into how many fixed parts by sentence a training batch is cut; 1: not at all */
    int shards;
    bool threads;            /* lanes may run on different host threads at the same time */
    /* decoding: look at the search every so many steps; more than 1 where a look makes a device
     * wait for the host */
    int poll;
    size_t elem_size[TF_ELEM_KINDS];

    /* ---- life ---- */
    /* 0 when usable here; else -1 and one line of reason in err. */
    int (*probe)(struct tf_err *err);
    /* A new lane. NULL and err on failure. */
    struct tf_ctx *(*open)(const struct tf_ctx_opts *o, struct tf_err *err);
    void (*close)(struct tf_ctx *c);
    /* One line for tf-info and logs: library, kernels, device ("own kernels, avx512, int8 by
     * avx512vnni"). */
    const char *(*describe)(struct tf_ctx *c);
    /* Choices among algorithms that were measured once: a text that `get_tuning` gave, to hold for
     * what is computed from here on. -1 where there is nothing to choose, or the text is of another
     * device. */
    int (*set_tuning)(struct tf_ctx *c, const char *text, size_t n, struct tf_err *err);
    /* From here on measure what comes for the first time, which takes long and leaves its results
     * as they are; `get_tuning` gives all choices as a text, from malloc. */
    int (*start_tuning)(struct tf_ctx *c, struct tf_err *err);
    char *(*get_tuning)(struct tf_ctx *c, struct tf_err *err);

    /* ---- memory ---- */
    /* n elements, cleared, 64-byte aligned; NULL and err when there is none. */
    tf_mem *(*alloc)(struct tf_ctx *c, enum tf_elem e, size_t n, struct tf_err *err);
    void (*free)(struct tf_ctx *c, tf_mem *p);
    /* Host array of the backend's own element type <-> backend memory; n elements. download
     * waits. */
    void (*upload)(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const void *src, size_t n);
    int (*download)(struct tf_ctx *c, void *dst, enum tf_elem e, const tf_mem *src, size_t n,
                    struct tf_err *err);
    /* A download of n F64 (at most TF_ASYNC_DOWNLOAD_MAX) that does not wait: dst belongs to the
     * lane until the `download_wait` that answers it has returned. Answers come in order; at most
     * TF_ASYNC_DOWNLOADS are open. */
    void (*download_async)(struct tf_ctx *c, double *dst, const tf_mem *src, size_t n);
    int (*download_wait)(struct tf_ctx *c, struct tf_err *err);
    /* Bytes that a device has free; 0 where backend memory is the host's. */
    size_t (*free_memory)(struct tf_ctx *c);
    void (*zero)(struct tf_ctx *c, tf_mem *p, enum tf_elem e, size_t n);
    void (*copy)(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const tf_mem *src, size_t n);
    int (*sync)(struct tf_ctx *c, struct tf_err *err);

    /* ---- row spaces and steps ---- */
    struct tf_rows *(*rows_new)(struct tf_ctx *c, size_t max_rows, size_t max_sentences,
                                struct tf_err *err);
    void (*rows_free)(struct tf_ctx *c, struct tf_rows *r);
    /* off: n + 1 host offsets of packed rows; the space covers rows off[0] .. off[n], and off[0] is
     * the packed row (for dropout) of its first row. */
    void (*rows_set)(struct tf_ctx *c, struct tf_rows *r, size_t n, const uint32_t *off);
    /* All that the launches of queued work on this row space depend on, beside its memory: for the
     * key of `graph_begin`. False where it hardly ever comes again. */
    bool (*rows_shape)(struct tf_ctx *c, const struct tf_rows *r, uint32_t shape[2]);
    /* for the dropout of what is queued from here on */
    void (*set_rng_state)(struct tf_ctx *c, const struct tf_rng_state *s);
    /* Queued work that comes again with the same arguments:
     *     do { if (be->graph_begin(c, key, n)) break; the calls } while (!be->graph_end(c));
     * queues it, once, however often it takes to make the calls. The key must tell one sequence
     * from another by all that differs in them; freeing any backend memory takes everything
     * recorded along. The calls may queue only: no alloc, upload, download or sync. A host's
     * backend just makes the calls. */
    bool (*graph_begin)(struct tf_ctx *c, const void *key, size_t n);
    bool (*graph_end)(struct tf_ctx *c);

    /* ---- layers ---- */
    /* x[r] = dropout(table[ids[r]] * scale + pos[row within its sentence]); pos may be NULL. table
     * PARAM [V, D], pos PARAM [>= longest, D], ids U32 [R]. ROW-WISE. */
    void (*embed_fwd)(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *table,
                      const tf_mem *pos, const struct tf_rows *r, int D, float scale,
                      struct tf_dropout dropout);
    /* dtable[ids[r]] += scale * dropout'(dx[r]) in row order; dpos (or NULL) likewise. Both are
     * added to. */
    void (*embed_bwd)(struct tf_ctx *c, tf_mem *dtable, tf_mem *dpos, const tf_mem *dx,
                      const tf_mem *ids, const struct tf_rows *r, int D, float scale,
                      struct tf_dropout dropout);

    /* y = x w + b, with TF_LIN_RELU y = dropout(max(0, x w + b)). x ACT [R, K], w PARAM [K, N], b
     * PARAM [N] or NULL. */
    void (*linear_fwd)(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const tf_mem *w,
                       const tf_mem *b, const struct tf_rows *r, int N, int K, unsigned flags,
                       struct tf_dropout dropout);
    /* Gradients: dx = dy w', dw = x' dy, db = column sums of dy, overwritten; each may be NULL.
     * With TF_LIN_FROM_RELU dx = dy w' / (1-p) where x > 0, else 0, with p of the dropout that x
     * was made with (else not used): what ReLU or dropout cut is 0 in x. dy past the rows in use
     * may be cleared. */
    void (*linear_bwd)(struct tf_ctx *c, tf_mem *dx, tf_mem *dw, tf_mem *db, tf_mem *dy,
                       const tf_mem *x, const tf_mem *w, const struct tf_rows *r, int N, int K,
                       unsigned flags, struct tf_dropout dropout);

    /* s = res + dropout(x); y = (s - mean) * rstd * gain + bias, mean and rstd = 1/sqrt(var + eps)
     * of the row, biased variance. x may be NULL (s = res); s may be NULL when it is not needed
     * later, and may be the same buffer as res or x. mean, rstd STAT [R] or NULL when there will be
     * no backward. ROW-WISE. */
    void (*add_norm_fwd)(struct tf_ctx *c, tf_mem *s, tf_mem *y, tf_mem *mean, tf_mem *rstd,
                         const tf_mem *x, const tf_mem *res, const tf_mem *gain, const tf_mem *bias,
                         const struct tf_rows *r, int D, float eps, struct tf_dropout dropout);
    /* ds = LayerNorm'(dy) + dsum (dsum NULL: 0; may be the same buffer as ds); dx = dropout'(ds),
     * NULL when x was. dgain, dbias PARAM [D] overwritten. dy NULL: ds = dsum only, dgain and dbias
     * untouched. */
    void (*add_norm_bwd)(struct tf_ctx *c, tf_mem *ds, tf_mem *dx, tf_mem *dgain, tf_mem *dbias,
                         const tf_mem *dy, const tf_mem *dsum, const tf_mem *s, const tf_mem *mean,
                         const tf_mem *rstd, const tf_mem *gain, const struct tf_rows *r, int D,
                         struct tf_dropout dropout);

    void (*attention_fwd)(struct tf_ctx *c, const struct tf_attention *a); /* ROW-WISE */
    void (*attention_bwd)(struct tf_ctx *c, const struct tf_attention *a);
    void (*xent)(struct tf_ctx *c, const struct tf_xent *x);

    /* ---- updates; n PARAM elements, any split of a range gives the same bytes ---- */
    void (*add)(struct tf_ctx *c, tf_mem *a, const tf_mem *b, size_t n);               /* a += b */
    /* F64 *dst = sum of squares */
    void (*sumsq)(struct tf_ctx *c, tf_mem *dst, const tf_mem *x, size_t n);
    /* F64 *dst = sum of n F64, in order */
    void (*sum)(struct tf_ctx *c, tf_mem *dst, const tf_mem *src, size_t n);
    void (*adam)(struct tf_ctx *c, tf_mem *p, tf_mem *m, tf_mem *v, const tf_mem *g, size_t n,
                 const tf_mem *norm2, const struct tf_adam *h);
    /* e = decay e + (1 - decay) p */
    void (*ema)(struct tf_ctx *c, tf_mem *e, const tf_mem *p, size_t n, double decay);

    /* ---- decoding: plain row counts, all ROW-WISE ---- */
    /* Lay out w PARAM [K, N] (or, transposed, [N, K]) for linear_packed. The original may go. NULL
     * and err without memory. */
    struct tf_packed *(*pack)(struct tf_ctx *c, const tf_mem *w, int K, int N, bool transposed,
                              struct tf_err *err);
    void (*pack_free)(struct tf_ctx *c, struct tf_packed *p);
    /* y [rows, N] = x [rows, K] w + b; flags TF_LIN_RELU, TF_LIN_STAT. */
    void (*linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const struct tf_packed *w,
                          const tf_mem *b, size_t rows, unsigned flags);
    /* x[r] = table[ids[r]] * scale + pos[at[r]]; at U32 [rows]. */
    void (*embed_rows)(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *at,
                       const tf_mem *table, const tf_mem *pos, size_t rows, int D, float scale);
    /* add_norm_fwd without dropout for plain rows. */
    void (*add_norm_rows)(struct tf_ctx *c, tf_mem *s, tf_mem *y, const tf_mem *x,
                          const tf_mem *res, const tf_mem *gain, const tf_mem *bias, size_t rows,
                          int D, float eps);
    void (*cached_attention)(struct tf_ctx *c, const struct tf_cached_attention *a, size_t rows);
    /* dst[slot[r]] = src[r], n elements a row: new keys and values into the cache. */
    void (*scatter_rows)(struct tf_ctx *c, tf_mem *dst, size_t ld_dst, const tf_mem *src,
                         size_t ld_src, const tf_mem *slot, size_t rows, size_t n);
    /* z STAT [rows, V]. acc NULL: z[r] = log softmax(z[r]) in place, weight unused. Else, for
     * ensembles, acc[r] += weight * softmax(z[r]); log_inplace turns the finished mix into logs. */
    void (*log_softmax)(struct tf_ctx *c, tf_mem *z, tf_mem *acc, size_t rows, int V, float weight);
    void (*log_inplace)(struct tf_ctx *c, tf_mem *x, size_t n); /* x = log x, log 0 = -inf; STAT */
    /* One step of beam search over log-probabilities lp STAT [rows, V]: select, finish, reorder;
     * contract in ops/search.h. What lp holds afterwards is up to the backend. */
    void (*search_step)(struct tf_ctx *c, struct tf_search *s, const tf_mem *lp);
};

/* Element i of backend memory. */
static inline tf_mem *tf_at(const struct tf_backend *be, enum tf_elem e, const tf_mem *p, size_t i)
{
    return (char *)p + i * be->elem_size[e];
}

/* Find a backend: "cpu", "ref", "ref64", "cuda", or "auto" (cuda when its plugin loads and probes,
 * else cpu; the reason goes to *why when given, with ENOENT where no plugin is installed).
 * precision: NULL for what the backend takes for that use. NULL and err when it is not usable or
 * has no such precision. A plugin exports `const struct tf_backend *const *tf_backend_entry(void)`:
 * its tables, NULL last. Plugins are looked for in $TF_BACKEND_DIR, beside the program (a build
 * tree), in ../lib/tf from there, and in LIBDIR/tf. */
const struct tf_backend *tf_backend_find(const char *name, const char *precision, enum tf_use use,
                                         struct tf_err *why, struct tf_err *err);

/* `rows_shape` of a backend that replays nothing: false. */
bool tf_rows_no_shape(struct tf_ctx *c, const struct tf_rows *r, uint32_t shape[2]);
/* `set_tuning`, `start_tuning` and `get_tuning` of a backend that chooses nothing. */
int tf_nothing_to_choose(struct tf_ctx *c, const char *text, size_t n, struct tf_err *err);
int tf_nothing_to_tune(struct tf_ctx *c, struct tf_err *err);
char *tf_nothing_tuned(struct tf_ctx *c, struct tf_err *err);

/* A note why `auto` did not take the GPU, unless there is no plugin for one. */
void tf_backend_note(const struct tf_err *why);

extern const struct tf_backend tf_backend_cpu, tf_backend_cpu_int8, tf_backend_ref_f32,
    tf_backend_ref_f64;

#endif
