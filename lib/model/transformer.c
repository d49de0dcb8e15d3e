/* transformer.c - one pass of the model over packed pairs: forward, backward, sums. */
#include "model/work.h"

/* Target distribution of label smoothing: `on` at the target, `off` elsewhere (backend.h,
 * tf_xent). */
static void smoothing(const struct tf_config *c, float *on, float *off)
{
    double eps = c->label_smoothing, V = (double)c->vocab_size;
    double share = c->smoothing == TF_SMOOTH_V ? eps / V : V > 1 ? eps / (V - 1) : 0;
    *off = (float)share;
    *on = (float)(c->smoothing == TF_SMOOTH_V ? 1 - eps + share : 1 - eps);
}

int tf_work_load(struct tf_work *k, const struct tf_pairs *p, size_t from, size_t to, bool training,
                 struct tf_err *err)
{
    size_t n = to - from, s = p->src_off[to] - p->src_off[from],
           t = p->tgt_off[to] - p->tgt_off[from];
    size_t positions = k->w->config.positions == TF_POS_LEARNED ? (size_t)k->w->config.max_positions
                                                                : k->w->pos_rows;
    if (p->longest > positions)
        TF_BUG("positions for %zu rows, %zu needed", positions, p->longest);
    if (tf_work_reserve(k, n, s, t, training, err) < 0)
        return -1;
    k->enc.n = s;
    k->dec.n = t;
    k->be->rows_set(k->ctx, k->enc.rows, n, p->src_off + from);
    k->be->rows_set(k->ctx, k->dec.rows, n, p->tgt_off + from);
    k->be->upload(k->ctx, k->src, TF_ELEM_U32, p->src + p->src_off[from], s);
    k->be->upload(k->ctx, k->tgt_in, TF_ELEM_U32, p->tgt_in + p->tgt_off[from], t);
    k->be->upload(k->ctx, k->tgt_out, TF_ELEM_U32, p->tgt_out + p->tgt_off[from], t);
    return 0;
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

void tf_cross_kv(struct tf_work *k, const tf_mem *memory)
{
    tf_linear(k, k->kv, memory, k->w->params.cross_w, k->w->params.cross_b, &k->enc, 0,
              (struct tf_dropout){0});
}

static struct tf_xent xent_args(struct tf_work *k, const tf_mem *x, tf_mem *acc)
{
    const struct tf_config *c = &k->w->config;
    struct tf_xent a = {
        .rows = k->dec.rows, .x = x, .e = tf_weight(k, k->w->params.project), .targets = k->tgt_out,
        .V = (int)c->vocab_size, .D = (int)c->d_model, .acc = acc,
    };
    smoothing(c, &a.on, &a.off);
    return a;
}

/* Gradients that are added to (embeddings not overwritten by the projection's, learned positions)
 * start at zero. */
static void clear_added(struct tf_work *k)
{
    const struct tf_params *p = &k->w->params;
    const int added[] = {p->src_embed, p->tgt_embed, p->src_pos, p->tgt_pos};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (added[i] >= 0 && added[i] != p->project)
            k->be->zero(k->ctx, tf_grad(k, added[i]), TF_ELEM_PARAM, p->v[added[i]].n);
}

static void forward_and_backward(struct tf_work *k, tf_mem *acc)
{
    const struct tf_params *t = &k->w->params;
    const struct tf_param *cross = &t->v[t->cross_w];
    const tf_mem *memory = tf_encoder_fwd(k);
    tf_cross_kv(k, memory);
    const tf_mem *out = tf_decoder_fwd(k);

    struct tf_xent x = xent_args(k, out, acc);
    x.dx = k->dec.dy;
    x.de = tf_grad(k, t->project);
    k->be->xent(k->ctx, &x);
    clear_added(k);
    tf_decoder_bwd(k, k->dec.dy);
    k->be->linear_bwd(k->ctx, k->enc.dy, tf_grad(k, t->cross_w), tf_grad(k, t->cross_b), k->dkv,
                      memory, tf_weight(k, t->cross_w), k->enc.rows, (int)cross->dims[1],
                      (int)cross->dims[0], 0, (struct tf_dropout){0});
    tf_encoder_bwd(k, k->enc.dy);
}

/* What tells one pass from another where a device has recorded it. Compared as bytes: no gaps. */
struct pass {
    const void *work, *grads, *acc;
    uint32_t enc[2], dec[2];
};

int tf_queue_backward(struct tf_work *k, tf_mem *grads, tf_mem *acc, const struct tf_pairs *p,
                      size_t from, size_t to, const struct tf_rng_state *rng, struct tf_err *err)
{
    if (from == to) {
        k->be->zero(k->ctx, grads, TF_ELEM_PARAM, k->w->params.size);
        return 0;
    }
    if (tf_work_load(k, p, from, to, true, err) < 0)
        return -1;
    k->grads = grads;
    k->dropout = true;
    k->be->set_rng_state(k->ctx, rng);
    struct pass pass = {.work = k, .grads = grads, .acc = acc};
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
    return 0;
}

int tf_forward(struct tf_work *k, struct tf_sums *sums, float *logp, const struct tf_pairs *p,
               size_t from, size_t to, struct tf_err *err)
{
    if (from == to)
        return 0;
    if (tf_work_load(k, p, from, to, false, err) < 0)
        return -1;
    k->dropout = false;
    tf_cross_kv(k, tf_encoder_fwd(k));
    k->be->zero(k->ctx, k->acc, TF_ELEM_F64, 4);
    struct tf_xent x = xent_args(k, tf_decoder_fwd(k), k->acc);
    x.logp = logp ? k->logp : NULL;
    k->be->xent(k->ctx, &x);
    if (logp && tf_floats_down(k->be, k->ctx, logp, TF_ELEM_STAT, k->logp, k->dec.n, err) < 0)
        return -1;
    return add_sums(k, sums, err);
}
