/* insertions.c - see insertions_private.h. */
#include "infer/insertions_private.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/order.h"
#include "infer/input_private.h"
#include "ops/host_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void sort_ids(struct tf_insertions *s)
{
    size_t n = 0;
    if (s->n > 0)
        qsort(s->ids, s->n, sizeof *s->ids, tf_order_u32);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || s->ids[i] != s->ids[n - 1])
            s->ids[n++] = s->ids[i];
    s->n = n;
}

static int add_window(struct tf_insertions *s, const struct tf_input *in, struct tf_err *err)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct tf_item *it = &in->items[i];
        if (it->code != 0)
            return tf_fail(err, "%s: record %llu is bad: %s", in->name, (unsigned long long)it->idx,
                           it->text);
        s->ids = tf_xarray(s->ids, s->n + it->n_source, sizeof *s->ids);
        for (size_t k = 0; k < it->n_source; k++)
            s->ids[s->n + k] = it->source[k];
        s->n += it->n_source;
    }
    sort_ids(s);
    return 0;
}

int tf_insertions_read(struct tf_insertions *s, const char *path, struct tf_ensemble *m,
                       struct tf_force force, struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL};
    const struct tf_input_spec spec = {.paths = &path, .n = 1, .single = tokens};
    struct tf_input in;
    enum tf_input_event event = TF_INPUT_IDLE;
    if (m->model[0].config.source_vocab_size > 0)
        return tf_fail(err, "%s: the model's sources and targets have different ids", path);
    int rc = tf_input_open(&in, m, &spec, err);
    in.window = 4096;
    in.force = (struct tf_force){.vocab = force.vocab, .lang = true}; /* no text of a language */
    in.side[0] = (struct tf_input_side){"insertion", TF_MAX_IDS, "a record holds"};
    while (rc == 0 && event != TF_INPUT_END) {
        event = tf_input_next(&in, err);
        rc = event == TF_INPUT_FAILED ? -1 : event == TF_INPUT_WINDOW ? add_window(s, &in, err) : 0;
    }
    tf_input_close(&in);
    if (rc < 0)
        return -1;
    if (s->n == 0)
        return tf_fail(err, "%s: no tokens to insert", path);
    uint8_t sum[32];
    tf_sha256_of(sum, s->ids, s->n * sizeof *s->ids);
    tf_ensemble_add_input(m, "insert", sum);
    return 0;
}

void tf_insertions_release(struct tf_insertions *s)
{
    free(s->ids);
    *s = (struct tf_insertions){0};
}

void tf_insertion_progress_release(struct tf_insertion_progress *p)
{
    free(p->of);
    *p = (struct tf_insertion_progress){0};
}

static uint32_t skip_banned(const struct tf_search *q, const uint32_t *src, uint32_t n, uint32_t p)
{
    while (p < n && tf_search_banned(&q->opts, src[p]))
        p++;
    return p;
}

/* Ids of the source that an output which has copied the first p still copies. */
static size_t to_copy(const struct tf_search *q, const uint32_t *src, uint32_t n, uint32_t p)
{
    size_t left = 0;
    for (; p < n; p++)
        left += !tf_search_banned(&q->opts, src[p]);
    return left;
}

/* Follow the last step: each live row continues one of the step before by an id. */
static void follow_step(struct tf_insertion_progress *progress, const struct tf_search *q,
                        const uint32_t *src, const uint32_t *off)
{
    if (progress->cap < q->slots) {
        progress->cap = q->slots;
        progress->of = tf_xarray(progress->of, progress->cap, sizeof *progress->of);
    }
    for (size_t i = 0; i < q->S; i++) {
        const uint32_t *mine = src + off[i], n = off[i + 1] - off[i];
        for (size_t r = q->row0[i]; r < q->row0[i] + q->live[i]; r++) {
            struct tf_copied *c = &progress->of[q->slot[r]];
            *c = (struct tf_copied){.n = skip_banned(q, mine, n, 0)};
            if (q->step[i] == 0)
                continue;
            *c = progress->of[q->hist_parent[q->slot[r]]];
            if (c->n < n && q->ids[r] == mine[c->n])
                *c = (struct tf_copied){.n = skip_banned(q, mine, n, c->n + 1)};
            else
                c->inserted++;
        }
    }
}

/* Exclude all of a row but the n ids in keep (sorted, each once) and one more. */
static void keep_ids(const struct tf_search *q, tf_mem *lp, size_t row, const uint32_t *keep,
                     size_t n, uint32_t one_more)
{
    for (size_t v = 0, k = 0; v < q->opts.V; v++)
        if (k < n && keep[k] == v)
            k++;
        else if (v != one_more)
            tf_search_exclude(q, lp, row * q->opts.V + v);
}

void tf_insertions_mask(const struct tf_insertions *s, struct tf_insertion_progress *progress,
                        const struct tf_search *q, const uint32_t *src, const uint32_t *off,
                        tf_mem *lp)
{
    follow_step(progress, q, src, off);
    for (size_t i = 0; i < q->S; i++) {
        const uint32_t *mine = src + off[i];
        uint32_t n = off[i + 1] - off[i];
        size_t limit = q->limit[i], t = q->step[i];
        for (size_t r = q->row0[i]; r < q->row0[i] + q->live[i] && t < limit; r++) {
            struct tf_copied c = progress->of[q->slot[r]];
            bool more =
                (s->most == 0 || c.inserted < s->most) && t + to_copy(q, mine, n, c.n) < limit;
            uint32_t next = c.n < n ? mine[c.n] : q->opts.eos;
            keep_ids(q, lp, r, s->ids, more ? s->n : 0, next);
        }
    }
}
