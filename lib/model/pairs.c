/* pairs.c - batches as the model sees them, and their cut into shards. */
#include "model/pairs.h"
#include "base/memory.h"
#include "ops/backend.h"

#include <stdlib.h>
#include <string.h>

uint32_t tf_start_id(const struct tf_config *c)
{
    return c->start == TF_START_BOS ? (uint32_t)c->bos : TF_NO_ID;
}

void tf_pairs_reserve(struct tf_pairs *p, size_t n, size_t n_src, size_t n_tgt)
{
    if (n > p->cap_n || p->src_off == NULL) {
        p->cap_n = n + n / 4;
        p->src_off = tf_xarray(p->src_off, p->cap_n + 1, sizeof(uint32_t));
        p->tgt_off = tf_xarray(p->tgt_off, p->cap_n + 1, sizeof(uint32_t));
    }
    if (n_src > p->cap_src) {
        p->cap_src = n_src + n_src / 4;
        p->src = tf_xarray(p->src, p->cap_src, sizeof(uint32_t));
    }
    if (n_tgt > p->cap_tgt) {
        p->cap_tgt = n_tgt + n_tgt / 4;
        p->tgt_in = tf_xarray(p->tgt_in, p->cap_tgt, sizeof(uint32_t));
        p->tgt_out = tf_xarray(p->tgt_out, p->cap_tgt, sizeof(uint32_t));
    }
}

static int check_ids(const uint32_t *ids, size_t n, int64_t size, const char *side,
                     struct tf_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= (uint64_t)size)
            return tf_fail(err, "%s id %u: the model's vocabulary has %lld", side, ids[i],
                           (long long)size);
    return 0;
}

int tf_pairs_set(struct tf_pairs *p, const struct tf_config *c, size_t n, const uint32_t *src,
                 const uint32_t *src_off, const uint32_t *tgt, const uint32_t *tgt_off,
                 struct tf_err *err)
{
    if (check_ids(src + src_off[0], src_off[n] - src_off[0], tf_config_source_ids(c), "source",
                  err) != 0 ||
        check_ids(tgt + tgt_off[0], tgt_off[n] - tgt_off[0], c->vocab_size, "target", err) != 0)
        return -1;
    tf_pairs_reserve(p, n, src_off[n] - src_off[0] + n, tgt_off[n] - tgt_off[0] + n);
    p->n = n;
    p->longest = 0;
    p->same = NULL;
    p->guide.weight = 0;
    p->weighted = false;
    uint32_t s = 0, t = 0;
    const uint32_t end = c->source_eos;
    for (size_t i = 0; i < n; i++) {
        uint32_t S = src_off[i + 1] - src_off[i], T = tgt_off[i + 1] - tgt_off[i];
        p->src_off[i] = s;
        p->tgt_off[i] = t;
        memcpy(p->src + s, src + src_off[i], S * sizeof *src);
        if (c->source_eos)
            p->src[s + S] = (uint32_t)c->eos;
        p->tgt_in[t] = tf_start_id(c);
        memcpy(p->tgt_in + t + 1, tgt + tgt_off[i], T * sizeof *tgt);
        memcpy(p->tgt_out + t, tgt + tgt_off[i], T * sizeof *tgt);
        p->tgt_out[t + T] = (uint32_t)c->eos;
        s += S + end;
        t += T + 1;
        if (S + end > p->longest)
            p->longest = S + end;
        if (T + 1 > p->longest)
            p->longest = T + 1;
    }
    p->src_off[n] = s;
    p->tgt_off[n] = t;
    return 0;
}

/* Count the links of each row into off[row + 1]. */
static void count_links(struct tf_pairs *p, size_t end, const uint32_t *links, const uint32_t *off)
{
    for (size_t i = 0; i < p->n; i++) {
        for (uint32_t k = off[i]; k < off[i + 1]; k += 2)
            p->link_off[p->tgt_off[i] + links[k + 1] + 1]++;
        p->link_off[p->tgt_off[i + 1]] += end > 0;
    }
}

void tf_pairs_link(struct tf_pairs *p, const struct tf_config *c, const struct tf_guide *guide,
                   const uint32_t *links, const uint32_t *off)
{
    const size_t rows = p->tgt_off[p->n], end = c->source_eos;
    p->link_off = tf_xarray(p->link_off, rows + 2, sizeof *p->link_off);
    memset(p->link_off, 0, (rows + 2) * sizeof *p->link_off);
    count_links(p, end, links, off);
    for (size_t r = 0; r < rows; r++)
        p->link_off[r + 1] += p->link_off[r];
    p->link_at = tf_xarray(p->link_at, p->link_off[rows] + (size_t)1, sizeof *p->link_at);
    uint32_t *next = tf_xarray(NULL, rows + 1, sizeof *next);
    memcpy(next, p->link_off, rows * sizeof *next);
    for (size_t i = 0; i < p->n; i++) {
        for (uint32_t k = off[i]; k < off[i + 1]; k += 2)
            p->link_at[next[p->tgt_off[i] + links[k + 1]]++] = links[k];
        if (end > 0)
            p->link_at[next[p->tgt_off[i + 1] - 1]++] = p->src_off[i + 1] - p->src_off[i] - 1;
    }
    free(next);
    p->guide = *guide;
}

void tf_pairs_weigh(struct tf_pairs *p, const float *weights)
{
    p->weights = tf_xarray(p->weights, p->tgt_off[p->n], sizeof *p->weights);
    for (size_t i = 0; i < p->n; i++)
        for (uint32_t r = p->tgt_off[i]; r < p->tgt_off[i + 1]; r++)
            p->weights[r] = weights[i];
    p->weighted = true;
}

void tf_pairs_release(struct tf_pairs *p)
{
    free(p->src);
    free(p->src_off);
    free(p->tgt_in);
    free(p->tgt_out);
    free(p->tgt_off);
    free(p->link_off);
    free(p->link_at);
    free(p->weights);
    *p = (struct tf_pairs){0};
}

void tf_pairs_cut(size_t *cut, size_t parts, const struct tf_pairs *p)
{
    /* A target row costs about twice a source row: three sublayers and the projection. */
    uint64_t total = p->n ? (uint64_t)p->src_off[p->n] + 2 * (uint64_t)p->tgt_off[p->n] : 0;
    cut[0] = 0;
    for (size_t i = 1; i <= parts; i++) {
        size_t j = cut[i - 1];
        while (j < p->n &&
               (uint64_t)p->src_off[j] + 2 * (uint64_t)p->tgt_off[j] < total * i / parts)
            j++;
        cut[i] = i == parts ? p->n : j;
    }
}
