/* transformer.c - one pass of the model over packed pairs: forward, backward, sums. */
#include "model/transformer.h"
#include "base/memory.h"
#include "model/stack_private.h"
#include "model/work_private.h"
#include "ops/floats.h"

#include <stdlib.h>
#include <string.h>

/* Target distribution of label smoothing: `on` at the target, `off` elsewhere (backend.h,
 * tf_xent). */
static void smoothing(const struct tf_config *c, float *on, float *off)
{
    double eps = c->label_smoothing, V = (double)c->vocab_size;
    double share = c->smoothing == TF_SMOOTH_V ? eps / V : V > 1 ? eps / (V - 1) : 0;
    *off = (float)share;
    *on = (float)(c->smoothing == TF_SMOOTH_V ? 1 - eps + share : 1 - eps);
}

struct tf_sums tf_sums_of(const double acc[4])
{
    return (struct tf_sums){.loss = acc[0], .nll = acc[1], .correct = acc[2], .tokens = acc[3]};
}

void tf_sums_add(struct tf_sums *sums, const struct tf_sums *more)
{
    sums->loss += more->loss;
    sums->nll += more->nll;
    sums->correct += more->correct;
    sums->tokens += more->tokens;
}

static int add_sums(struct tf_work *k, struct tf_sums *sums, struct tf_err *err)
{
    double acc[4];
    if (k->be->download(k->ctx, acc, TF_ELEM_F64, k->acc, 4, err) < 0)
        return -1;
    const struct tf_sums more = tf_sums_of(acc);
    tf_sums_add(sums, &more);
    return 0;
}

static struct tf_xent xent_args(struct tf_work *k, const tf_mem *x, tf_mem *acc)
{
    const struct tf_config *c = &k->w->config;
    struct tf_xent a = {
        .rows = k->dec.rows,
        .x = x,
        .e = tf_weight(k, k->w->params.project),
        .b = tf_weight(k, k->w->params.project_b),
        .targets = k->tgt_out,
        .V = (int)c->vocab_size,
        .D = (int)c->d_model,
        .acc = acc,
    };
    smoothing(c, &a.on, &a.off);
    return a;
}

/* Gradients that are added to (embeddings not overwritten by the projection's, learned positions)
 * start at zero. */
static void clear_added(struct tf_work *k)
{
    const struct tf_params *p = &k->w->params;
    const int added[] = {p->enc.table, p->dec.table, p->enc.pos, p->dec.pos};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (added[i] >= 0 && added[i] != p->project)
            k->be->zero(k->ctx, tf_grad(k, added[i]), TF_ELEM_PARAM, p->v[added[i]].n);
}

/* What tf_encoder_bwd has gradients of. */
static void clear_encoder(struct tf_work *k)
{
    const struct tf_params *p = &k->w->params;
    for (size_t i = 0; i < p->n; i++)
        if (tf_params_of_encoder(p, i))
            k->be->zero(k->ctx, tf_grad(k, (int)i), TF_ELEM_PARAM, p->v[i].n);
}

static void forward_and_backward(struct tf_work *k, tf_mem *acc)
{
    const tf_mem *memory = tf_encoder_fwd(k);
    tf_cross_kv_fwd(k, k->kv, memory);
    const tf_mem *out = tf_decoder_fwd(k);

    struct tf_xent x = xent_args(k, out, acc);
    x.weights = k->weights;
    x.dx = k->dec.dy;
    x.de = tf_grad(k, k->w->params.project);
    x.db = tf_grad(k, k->w->params.project_b);
    k->be->xent(k->ctx, &x);
    clear_added(k);
    tf_decoder_bwd(k);
    tf_cross_kv_bwd(k, memory);
    if (k->w->encoder_is_frozen)
        clear_encoder(k);
    else
        tf_encoder_bwd(k);
}

/* The identity of a pass among those that a device has recorded as graphs. Compared as bytes: no
 * padding. */
struct pass {
    const void *work, *grads, *acc, *weights;
    uint32_t enc[2], dec[2];
};

int tf_queue_backward(struct tf_work *k, tf_mem *grads, tf_mem *acc, const struct tf_pairs *p,
                      size_t from, size_t to, const struct tf_rng_state *rng, struct tf_err *err)
{
    if (from == to) {
        k->be->zero(k->ctx, grads, TF_ELEM_PARAM, k->w->params.size);
        return 0;
    }
    if (tf_work_load(k, p, from, to, true, err) != 0)
        return -1;
    k->grads = grads;
    k->dropout = true;
    k->guided = p->guide.weight > 0 ? p : NULL;
    k->guided_acc = acc;
    k->weights = p->weighted ? k->logp : NULL;
    if (p->weighted)
        tf_floats_up(k->be, k->ctx, k->logp, TF_ELEM_STAT, p->weights + p->tgt_off[from], k->dec.n);
    k->be->set_rng_state(k->ctx, rng);
    struct pass pass = {.work = k, .grads = grads, .acc = acc, .weights = k->weights};
    if (!k->be->rows_shape(k->ctx, k->enc.rows, pass.enc) ||
        !k->be->rows_shape(k->ctx, k->dec.rows, pass.dec)) {
        forward_and_backward(k, acc);
    } else {
        do {
            if (k->be->graph_begin(k->ctx, &pass, sizeof pass))
                break;
            forward_and_backward(k, acc);
        } while (!k->be->graph_end(k->ctx));
    }
    k->grads = NULL;
    k->guided = NULL;
    return 0;
}

static int reserve_shared(struct tf_work *k, size_t n, struct tf_err *err)
{
    if (n <= k->shared_cap)
        return 0;
    k->be->free(k->ctx, k->shared_kv);
    k->shared_kv = k->be->alloc(k->ctx, TF_ELEM_ACT, n, err);
    k->shared_cap = k->shared_kv != NULL ? n : 0;
    return k->shared_kv != NULL ? 0 : tf_context(err, "keys and values of shared sources");
}

/* The encoder's pass over the distinct sources of [from, to), whose keys and values are then copied
 * for every pair. A sentence's rows do not depend on the others, so neither do the results. */
static int encode_shared(struct tf_work *k, const struct tf_pairs *p, size_t from, size_t to,
                         struct tf_err *err)
{
    const uint32_t *off = p->src_off + from;
    size_t ld = (size_t)k->w->config.decoder_layers * tf_kv_width(&k->w->config), n = 0;
    if (reserve_shared(k, k->cap_src * ld, err) != 0)
        return -1;
    uint32_t *ids = tf_xarray(NULL, k->enc.n, sizeof *ids),
             *once = tf_xcalloc(to - from + 1, sizeof *once),
             *at = tf_xarray(NULL, to - from, sizeof *at); /* first row of a pair's source */
    for (size_t i = from; i < to; i++) {
        bool copy = p->same[i] >= from && p->same[i] < i;
        uint32_t S = p->src_off[i + 1] - p->src_off[i];
        at[i - from] = copy ? at[p->same[i] - from] : once[n];
        if (copy)
            continue;
        memcpy(ids + once[n], p->src + p->src_off[i], S * sizeof *ids);
        once[n + 1] = once[n] + S;
        n++;
    }
    int rc = tf_work_load_side(k, &k->enc, ids, once, n, err);
    tf_cross_kv_fwd(k, k->shared_kv, tf_encoder_fwd(k));
    k->enc.n = off[to - from] - off[0];
    k->be->rows_set(k->ctx, k->enc.rows, to - from, off);
    for (size_t i = 0; i < to - from; i++)
        k->be->copy(k->ctx, tf_at(k->be, TF_ELEM_ACT, k->kv, (off[i] - off[0]) * ld), TF_ELEM_ACT,
                    tf_at(k->be, TF_ELEM_ACT, k->shared_kv, at[i] * ld),
                    (off[i + 1] - off[i]) * ld);
    if (k->be->sync(k->ctx, err) != 0) /* ids may be freed */
        rc = -1;
    free(ids);
    free(once);
    free(at);
    return rc;
}

int tf_forward(struct tf_work *k, struct tf_sums *sums, float *logp, const struct tf_pairs *p,
               size_t from, size_t to, struct tf_err *err)
{
    if (from == to)
        return 0;
    if (tf_work_load(k, p, from, to, false, err) != 0)
        return -1;
    k->dropout = false;
    if (p->same == NULL)
        tf_cross_kv_fwd(k, k->kv, tf_encoder_fwd(k));
    else if (encode_shared(k, p, from, to, err) < 0)
        return -1;
    k->be->zero(k->ctx, k->acc, TF_ELEM_F64, 4);
    struct tf_xent x = xent_args(k, tf_decoder_fwd(k), k->acc);
    x.logp = logp != NULL ? k->logp : NULL;
    k->be->xent(k->ctx, &x);
    if (logp != NULL &&
        tf_floats_down(k->be, k->ctx, logp, TF_ELEM_STAT, k->logp, k->dec.n, err) < 0)
        return -1;
    return add_sums(k, sums, err);
}

/* ---- attention weights ---- */

int tf_attention_layers(const struct tf_config *c, enum tf_attention_kind kind)
{
    return (int)(kind == TF_ATTENTION_ENCODER ? c->encoder_layers : c->decoder_layers);
}

size_t tf_watched_layers(const struct tf_watch *w, const struct tf_config *c,
                         enum tf_attention_kind kind)
{
    size_t n = 0;
    for (int l = 0; l < tf_attention_layers(c, kind) && w->layers[kind] != NULL; l++)
        n += w->layers[kind][l];
    return n;
}

size_t tf_attention_cells(enum tf_attention_kind kind, const struct tf_pairs *p, size_t from,
                          size_t to)
{
    const uint32_t *rows = kind == TF_ATTENTION_ENCODER ? p->src_off : p->tgt_off,
                   *cols = kind == TF_ATTENTION_DECODER ? p->tgt_off : p->src_off;
    size_t cells = 0;
    for (size_t i = from; i < to; i++)
        cells += (size_t)(rows[i + 1] - rows[i]) * (cols[i + 1] - cols[i]);
    return cells;
}

/* Room for `layers` layers of `each` elements. */
static int reserve_watched(struct tf_work *k, enum tf_attention_kind kind, size_t layers,
                           size_t each, struct tf_err *err)
{
    k->watch.each[kind] = each;
    if (layers * each <= k->watch.cap[kind])
        return 0;
    size_t cap = layers * each + layers * each / 8;
    k->be->free(k->ctx, k->watch.mem[kind]);
    k->watch.mem[kind] = k->be->alloc(k->ctx, TF_ELEM_STAT, cap, err);
    k->watch.cap[kind] = k->watch.mem[kind] != NULL ? cap : 0;
    return k->watch.mem[kind] != NULL ? 0
                                      : tf_context(err, "attention weights of %zu layers", layers);
}

int tf_attention_weights(struct tf_work *k, float *const weights[TF_ATTENTION_KINDS],
                         const struct tf_watch *watch, const struct tf_pairs *p, size_t from,
                         size_t to, struct tf_err *err)
{
    size_t n[TF_ATTENTION_KINDS];
    if (from == to)
        return 0;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++) {
        n[kind] = tf_watched_layers(watch, &k->w->config, kind);
        if (n[kind] > 0 &&
            reserve_watched(k, kind, n[kind],
                            (size_t)k->w->config.heads * tf_attention_cells(kind, p, from, to),
                            err) != 0)
            return -1;
    }
    if (tf_work_load(k, p, from, to, false, err) != 0)
        return -1;
    k->dropout = false;
    k->watch.what = watch;
    const tf_mem *memory = tf_encoder_fwd(k);
    if (n[TF_ATTENTION_DECODER] + n[TF_ATTENTION_CROSS] > 0) {
        tf_cross_kv_fwd(k, k->kv, memory);
        tf_decoder_fwd(k);
    }
    k->watch.what = NULL;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        if (n[kind] > 0 &&
            tf_floats_down(k->be, k->ctx, weights[kind], TF_ELEM_STAT, k->watch.mem[kind],
                           n[kind] * k->watch.each[kind], err) < 0)
            return -1;
    return 0;
}
