/* work.c - memory of a lane's activations, reserved for the largest batch so far and freed as a
 * whole. */
#include "base/memory.h"
#include "model/work.h"
#include "model/work_private.h"

#include <stdlib.h>
#include <string.h>

struct tf_work *tf_work_new(const struct tf_weights *w, struct tf_ctx *ctx)
{
    struct tf_work *k = tf_xcalloc(1, sizeof *k);
    k->w = w;
    k->be = w->be;
    k->ctx = ctx;
    return k;
}

static void free_stack(struct tf_work *k, struct tf_stack_acts *s)
{
    k->be->rows_free(k->ctx, s->rows);
    free(s->step);
    *s = (struct tf_stack_acts){0};
}

static void free_buffers(struct tf_work *k)
{
    for (size_t i = 0; i < k->n_owned; i++)
        k->be->free(k->ctx, k->owned[i]);
    free(k->owned);
    k->owned = NULL;
    k->n_owned = 0;
    k->bytes = k->cap_src = k->cap_tgt = k->cap_n = 0;
    free_stack(k, &k->enc);
    free_stack(k, &k->dec);
}

static void free_step(struct tf_work *k)
{
    tf_mem *all[] = {k->step.x, k->step.y, k->step.u, k->step.in, k->step.o};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->be->free(k->ctx, all[i]);
    memset(&k->step, 0, sizeof k->step);
}

void tf_work_free(struct tf_work *k)
{
    if (k == NULL)
        return;
    free_buffers(k);
    free_step(k);
    for (int i = 0; i < TF_ATTENTION_KINDS; i++)
        k->be->free(k->ctx, k->watch.mem[i]);
    k->be->free(k->ctx, k->shared_kv);
    free(k);
}

size_t tf_work_bytes(const struct tf_work *k)
{
    return k->most;
}

/* A buffer that lives until the next free_buffers; after a failure (err is set) all further ones
 * are NULL. */
static tf_mem *own(struct tf_work *k, enum tf_elem e, size_t n, struct tf_err *err)
{
    if (err->status)
        return NULL;
    k->bytes += n * k->be->elem_size[e];
    if (k->counting)
        return NULL;
    tf_mem *p = k->be->alloc(k->ctx, e, n ? n : 1, err);
    if (p == NULL)
        return NULL;
    k->owned = tf_xarray(k->owned, k->n_owned + 1, sizeof *k->owned);
    k->owned[k->n_owned++] = p;
    k->most = k->bytes > k->most ? k->bytes : k->most;
    return p;
}

static tf_mem *own_acts(struct tf_work *k, size_t rows, size_t columns, struct tf_err *err)
{
    return own(k, TF_ELEM_ACT, rows * columns, err);
}

/* Without a backward pass outputs of norms alternate between two buffers, and all sums share one.
 */
static void make_norm(struct tf_work *k, struct tf_stack_acts *side, int i, size_t rows,
                      struct tf_err *err)
{
    const size_t D = (size_t)k->w->config.d_model;
    struct tf_step_acts *a = &side->step[i];
    const bool first_sum = a->step->x_is_sum && (i == 0 || !a[-1].step->x_is_sum);
    a->y = !k->backward && i >= 2 ? a[-2].y : own_acts(k, rows, D, err);
    if (k->backward || first_sum)
        a->s = own_acts(k, rows, D, err);
    else if (i > 0)
        a->s = a[-1].s;
    if (k->backward) {
        a->mean = own(k, TF_ELEM_STAT, rows, err);
        a->rstd = own(k, TF_ELEM_STAT, rows, err);
    }
}

/* Without a backward pass all sublayers of a kind share one set of buffers. */
static void make_sublayer(struct tf_work *k, struct tf_stack_acts *side, int i, size_t rows,
                          struct tf_err *err)
{
    struct tf_step_acts *a = &side->step[i];
    const struct tf_widths *w = &a->step->width;
    for (int j = 0; !k->backward && j < i; j++)
        if (side->step[j].step->f == a->step->f) {
            a->in = side->step[j].in;
            a->o = side->step[j].o;
            return;
        }
    const size_t o = w->o + (k->backward ? w->kept : 0);
    a->in = w->in > 0 ? own_acts(k, rows, w->in, err) : NULL;
    a->o = o > 0 ? own_acts(k, rows, o, err) : NULL;
    a->stats = k->backward && w->stats > 0 ? own(k, TF_ELEM_STAT, rows * w->stats, err) : NULL;
}

static void make_gradients(struct tf_work *k, struct tf_stack_acts *side, size_t rows,
                           struct tf_err *err)
{
    const struct tf_widths *w = &side->stack->most;
    const size_t D = (size_t)k->w->config.d_model;
    side->du = own_acts(k, rows, D, err);
    side->ds = own_acts(k, rows, D, err);
    side->dy = own_acts(k, rows, D, err);
    side->d_in = own_acts(k, rows, w->in, err);
    side->d_o = own_acts(k, rows, w->o, err);
}

static void make_stack(struct tf_work *k, struct tf_stack_acts *side, const struct tf_stack *stack,
                       size_t rows, size_t n, struct tf_err *err)
{
    side->stack = stack;
    side->rows = err->status || k->counting ? NULL : k->be->rows_new(k->ctx, rows, n, err);
    side->ids = own(k, TF_ELEM_U32, rows, err);
    side->at = k->w->tables_packed ? own(k, TF_ELEM_U32, rows, err) : NULL;
    side->step = tf_xcalloc((size_t)stack->n, sizeof *side->step);
    side->embed = own_acts(k, rows, (size_t)k->w->config.d_model, err);
    side->u = own_acts(k, rows, (size_t)k->w->config.d_model, err);
    for (int i = 0; i < stack->n; i++) {
        side->step[i].step = &stack->step[i];
        make_norm(k, side, i, rows, err);
    }
    for (int i = 0; i < stack->n; i++)
        make_sublayer(k, side, i, rows, err);
    if (k->backward)
        make_gradients(k, side, rows, err);
}

size_t tf_encoder_token_bytes(const struct tf_weights *w)
{
    struct tf_work k = {.w = w, .be = w->be, .counting = true};
    struct tf_err none = {0};
    make_stack(&k, &k.enc, &w->params.enc, 1, 1, &none);
    free_stack(&k, &k.enc);
    return k.bytes;
}

static void make_buffers(struct tf_work *k, size_t n, size_t src_rows, size_t tgt_rows,
                         struct tf_err *err)
{
    const size_t kv = (size_t)k->w->config.decoder_layers * tf_kv_width(&k->w->config);
    make_stack(k, &k->enc, &k->w->params.enc, src_rows, n, err);
    if (tgt_rows == 0)
        return;
    make_stack(k, &k->dec, &k->w->params.dec, tgt_rows, n, err);
    k->kv = own_acts(k, src_rows, kv, err);
    k->dkv = k->backward ? own_acts(k, src_rows, kv, err) : NULL;
    k->tgt_out = own(k, TF_ELEM_U32, tgt_rows, err);
    k->acc = own(k, TF_ELEM_F64, 4, err);
    k->logp = own(k, TF_ELEM_STAT, tgt_rows, err);
}

size_t tf_work_training_bytes(const struct tf_backend *be, const struct tf_config *c,
                              size_t src_rows, size_t tgt_rows)
{
    struct tf_weights w = {.be = be, .config = *c};
    tf_params_init(&w.params, c);
    struct tf_work k = {.w = &w, .be = be, .counting = true, .backward = true};
    struct tf_err none = {0};
    make_buffers(&k, 1, src_rows, tgt_rows, &none);
    free_stack(&k, &k.enc);
    free_stack(&k, &k.dec);
    tf_params_release(&w.params);
    return k.bytes;
}

/* Room to grow. */
static size_t rows_for(size_t n)
{
    return tf_rows_round_up(n + n / 8);
}

int tf_work_reserve(struct tf_work *k, size_t n, size_t src_rows, size_t tgt_rows, bool training,
                    struct tf_err *err)
{
    k->training = training;
    if (n <= k->cap_n && src_rows <= k->cap_src && tgt_rows <= k->cap_tgt &&
        (k->backward || !training) && k->n_owned)
        return 0;
    bool same = training == k->backward;
    size_t cap_n = n + n / 8, cap_src = rows_for(src_rows), cap_tgt = rows_for(tgt_rows);
    if (same) { /* keep what one side already has */
        cap_n = cap_n > k->cap_n ? cap_n : k->cap_n;
        cap_src = cap_src > k->cap_src ? cap_src : k->cap_src;
        cap_tgt = cap_tgt > k->cap_tgt ? cap_tgt : k->cap_tgt;
    }
    free_buffers(k);
    struct tf_err e = {0};
    k->backward = training;
    make_buffers(k, cap_n, cap_src, cap_tgt, &e);
    if (e.status) {
        free_buffers(k);
        *err = e;
        return tf_context(err, "activations of %zu source and %zu target tokens", src_rows,
                          tgt_rows);
    }
    k->cap_n = cap_n;
    k->cap_src = cap_src;
    k->cap_tgt = cap_tgt;
    return 0;
}

int tf_work_load_side(struct tf_work *k, struct tf_stack_acts *side, const uint32_t *ids,
                      const uint32_t *off, size_t n, struct tf_err *err)
{
    side->n = off[n] - off[0];
    k->be->rows_set(k->ctx, side->rows, n, off);
    k->be->upload(k->ctx, side->ids, TF_ELEM_U32, ids + off[0], side->n);
    if (side->at == NULL)
        return 0;
    uint32_t *at = tf_xarray(NULL, side->n + 1, sizeof *at);
    for (size_t i = 0; i < n; i++)
        for (uint32_t r = off[i]; r < off[i + 1]; r++)
            at[r - off[0]] = r - off[i];
    k->be->upload(k->ctx, side->at, TF_ELEM_U32, at, side->n);
    const int rc = k->be->sync(k->ctx, err); /* at is freed */
    free(at);
    return rc;
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
    if (tf_work_reserve(k, n, s, t, training, err) != 0)
        return -1;
    k->be->upload(k->ctx, k->tgt_out, TF_ELEM_U32, p->tgt_out + p->tgt_off[from], t);
    return tf_work_load_side(k, &k->enc, p->src, p->src_off + from, n, err) != 0 ||
                   tf_work_load_side(k, &k->dec, p->tgt_in, p->tgt_off + from, n, err) != 0
               ? -1
               : 0;
}
