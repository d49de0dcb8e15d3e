/* alignment.c - see alignment_private.h. */
#include "infer/alignment_private.h"
#include "base/memory.h"
#include "stream/search_settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int tf_alignment_open(struct tf_alignment *a, const char *head, const struct tf_ensemble *m,
                      struct tf_err *err)
{
    const struct tf_config *c = &m->model[0].config;
    const struct tf_value *own = tf_value_find(&m->header.search, TF_ALIGNMENT_HEAD, TF_TEXT);
    int64_t layer, number;
    if (head == NULL && own == NULL)
        return tf_fail_status(err, TF_USAGE,
                              "%s: states no head for alignments; choose one with "
                              "--alignment-head LAYER[,HEAD]",
                              m->name);
    if (tf_alignment_head_parse(head != NULL ? head : own->text, &layer, &number, err) != 0)
        return tf_fail_status(err, TF_USAGE, "--alignment-head %s", err->msg);
    if (layer > c->decoder_layers || number > c->heads)
        return tf_fail_status(err, TF_USAGE,
                              "--alignment-head %s: the decoder has %lld layers of %lld heads",
                              head != NULL ? head : own->text, (long long)c->decoder_layers,
                              (long long)c->heads);
    a->heads = (size_t)c->heads;
    a->source_end = c->source_eos;
    a->head = number > 0 ? (size_t)number - 1 : a->heads;
    a->layers = tf_xcalloc((size_t)c->decoder_layers, sizeof *a->layers);
    a->layers[layer - 1] = true;
    a->watch.layers[TF_ATTENTION_CROSS] = a->layers;
    return 0;
}

void tf_alignment_close(struct tf_alignment *a)
{
    free(a->layers);
}

size_t tf_alignment_cells(const struct tf_alignment *a, size_t n_source, size_t n_target)
{
    return n_source > 0 ? (n_target + 1) * (n_source + a->source_end) : 0;
}

bool tf_alignment_is_finite(const float *weights, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(weights[i]))
            return false;
    return true;
}

/* From [heads, cells] to [cells]. */
static float *reduce(const struct tf_alignment *a, float *w, size_t cells)
{
    if (a->head < a->heads)
        memmove(w, w + a->head * cells, cells * sizeof *w);
    else
        for (size_t i = 0; i < cells; i++) {
            double sum = 0;
            for (size_t h = 0; h < a->heads; h++)
                sum += (double)w[h * cells + i];
            w[i] = (float)(sum / (double)a->heads);
        }
    return tf_xarray(w, cells > 0 ? cells : 1, sizeof *w);
}

int tf_alignment_group(const struct tf_alignment *a, struct tf_lane_forward *f,
                       const struct tf_lane_item *group, size_t n, struct tf_err *err)
{
    if (tf_lane_forward_attention(f, &a->watch, group, n, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct tf_forward_pair *p = group[i].item;
        float **w = &p->weights[TF_ATTENTION_CROSS];
        *w = reduce(a, *w, tf_alignment_cells(a, p->n_src, p->n_tgt));
    }
    return 0;
}
