/* watch.c - counting attention weights. */
#include "model/watch.h"

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
