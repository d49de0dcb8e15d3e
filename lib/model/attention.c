/* attention.c - a pass whose attention weights are looked at. */
#include "model/work.h"

int tf_attention_layers(const struct tf_config *c, enum tf_attention_kind kind)
{
    return (int)(kind == TF_ATTENTION_ENCODER ? c->encoder_layers : c->decoder_layers);
}

/* Watched layers below `end`. */
static size_t watched(const struct tf_watch *w, enum tf_attention_kind kind, int end)
{
    size_t n = 0;
    for (int l = 0; l < end && w->layers[kind] != NULL; l++)
        n += w->layers[kind][l];
    return n;
}

size_t tf_watched_layers(const struct tf_watch *w, const struct tf_config *c,
                         enum tf_attention_kind kind)
{
    return watched(w, kind, tf_attention_layers(c, kind));
}

tf_mem *tf_watched(const struct tf_work *k, enum tf_attention_kind kind, int layer)
{
    const struct tf_watch *w = k->watch.what;
    if (w == NULL || w->layers[kind] == NULL || !w->layers[kind][layer])
        return NULL;
    return tf_at(k->be, TF_ELEM_STAT, k->watch.mem[kind],
                 watched(w, kind, layer) * k->watch.each[kind]);
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

/* Room for what is watched. */
static int reserve(struct tf_work *k, enum tf_attention_kind kind, size_t layers, size_t each,
                   struct tf_err *err)
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
            reserve(k, kind, n[kind],
                    (size_t)k->w->config.heads * tf_attention_cells(kind, p, from, to), err) < 0)
            return -1;
    }
    if (tf_work_load(k, p, from, to, false, err) < 0)
        return -1;
    k->dropout = false;
    k->watch.what = watch;
    const tf_mem *memory = tf_encoder_fwd(k);
    if (n[TF_ATTENTION_DECODER] + n[TF_ATTENTION_CROSS] > 0) {
        tf_cross_kv(k, memory);
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
