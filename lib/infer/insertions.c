/* insertions.c - see insertions_private.h. */
#include "infer/insertions_private.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/memory.h"
#include "infer/input_private.h"
#include "ops/host_search.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct tf_insertion *x = a, *y = b;
    for (size_t i = 0; i < x->n && i < y->n; i++)
        if (x->ids[i] != y->ids[i])
            return x->ids[i] < y->ids[i] ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

/* Order them, each once. */
static void sort_insertions(struct tf_insertions *s)
{
    size_t n = 0;
    if (s->n > 0)
        qsort(s->v, s->n, sizeof *s->v, compare);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || compare(&s->v[i], &s->v[n - 1]) != 0)
            s->v[n++] = s->v[i];
    s->n = n;
}

static void add_insertion(struct tf_insertions *s, const uint32_t *ids, size_t n,
                          const struct tf_search_opts *opts)
{
    uint32_t *copy = tf_arena_alloc(&s->mem, (n + 1) * sizeof *copy);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (ids[i] != opts->eos && !tf_search_banned(opts, ids[i]))
            copy[kept++] = ids[i];
    if (kept == 0)
        return;
    TF_GROW(s->v, s->n, s->cap);
    s->v[s->n++] = (struct tf_insertion){copy, kept};
}

static int add_window(struct tf_insertions *s, const struct tf_input *in,
                      const struct tf_search_opts *opts, struct tf_err *err)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct tf_item *it = &in->items[i];
        if (it->code != 0)
            return tf_fail(err, "%s: record %llu is bad: %s", in->name, (unsigned long long)it->idx,
                           it->text);
        add_insertion(s, it->source, it->n_source, opts);
    }
    return 0;
}

static void add_sum(const struct tf_insertions *s, struct tf_ensemble *m)
{
    struct tf_buf b = {0};
    uint8_t sum[32];
    for (size_t i = 0; i < s->n; i++) {
        const uint32_t n = (uint32_t)s->v[i].n;
        tf_buf_add(&b, &n, sizeof n);
        tf_buf_add(&b, s->v[i].ids, n * sizeof n);
    }
    tf_sha256_of(sum, b.p, b.len);
    tf_ensemble_add_input(m, "insert", sum);
    tf_buf_release(&b);
}

int tf_insertions_read(struct tf_insertions *s, const char *path, struct tf_ensemble *m,
                       const struct tf_search_opts *opts, struct tf_force force, struct tf_err *err)
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
        rc = event == TF_INPUT_FAILED   ? -1
             : event == TF_INPUT_WINDOW ? add_window(s, &in, opts, err)
                                        : 0;
    }
    tf_input_close(&in);
    if (rc < 0)
        return -1;
    if (s->n == 0)
        return tf_fail(err, "%s: no tokens to insert", path);
    sort_insertions(s);
    add_sum(s, m);
    return m->vocab == NULL
               ? 0
               : tf_spelling_read(&s->spelling, &s->mem, m->vocab, m->vocab_n, false, err);
}

void tf_insertions_release(struct tf_insertions *s)
{
    free(s->v);
    tf_arena_release(&s->mem);
    *s = (struct tf_insertions){0};
}

void tf_insertion_progress_release(struct tf_insertion_progress *p)
{
    free(p->of);
    free(p->keep);
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

/* Is there the edge of a word before id p of the n of a source? */
static bool is_edge(const struct tf_insertions *s, const uint32_t *src, uint32_t n, uint32_t p)
{
    const struct tf_text *text = s->spelling.v;
    if (p == 0 || p == n || s->spelling.n == 0)
        return true;
    if (!s->spelling.spaces_follow)
        return text[src[p]].n > 0 && text[src[p]].p[0] == ' ';
    while (p > 0 && text[src[p - 1]].n == 0)
        p--;
    return p == 0 || text[src[p - 1]].p[text[src[p - 1]].n - 1] == ' ';
}

/* Is an insertion complete, or none begun? */
static bool is_whole(const struct tf_insertions *s, const struct tf_copied *c)
{
    return c->part == 0 || s->v[c->from].n == c->part;
}

/* Of the insertions from to end - 1, which begin with the same `part` ids, those that id follows:
 * false if what is left of none of them has room. */
static bool narrow(const struct tf_insertions *s, struct tf_copied *c, uint32_t id, size_t room)
{
    uint32_t from = c->from, end;
    bool fits = false;
    while (from < c->end && (s->v[from].n == c->part || s->v[from].ids[c->part] != id))
        from++;
    for (end = from; end < c->end && s->v[end].ids[c->part] == id; end++)
        fits |= s->v[end].n - c->part <= room;
    if (!fits)
        return false;
    *c = (struct tf_copied){c->n, c->inserted, from, end, c->part + 1};
    return true;
}

/* Ids that may still be inserted where the limit leaves so many. */
static size_t room_of(const struct tf_search *q, const uint32_t *src, uint32_t n,
                      const struct tf_copied *c, size_t left)
{
    const size_t rest = to_copy(q, src, n, c->n);
    return left > rest ? left - rest : 0;
}

/* left: ids that the limit left before this one. */
static struct tf_copied follow(const struct tf_insertions *s, const struct tf_search *q,
                               const uint32_t *src, uint32_t n, struct tf_copied c, uint32_t id,
                               size_t left)
{
    const size_t room = room_of(q, src, n, &c, left);
    if (is_whole(s, &c) && c.n < n && id == src[c.n])
        return (struct tf_copied){.n = skip_banned(q, src, n, c.n + 1)};
    if (c.part > 0 && narrow(s, &c, id, room))
        return c;
    c = (struct tf_copied){.n = c.n, .inserted = c.inserted + 1, .end = (uint32_t)s->n};
    (void)narrow(s, &c, id, room);
    return c;
}

/* Follow the last step: each live row continues one of the step before by an id. */
static void follow_step(const struct tf_insertions *s, struct tf_insertion_progress *progress,
                        const struct tf_search *q, const uint32_t *src, const uint32_t *off)
{
    if (progress->cap < q->slots) {
        progress->cap = q->slots;
        progress->of = tf_xarray(progress->of, progress->cap, sizeof *progress->of);
    }
    for (size_t i = 0; i < q->S; i++) {
        const uint32_t *mine = src + off[i], n = off[i + 1] - off[i];
        for (size_t r = q->row0[i]; r < q->row0[i] + q->live[i]; r++)
            progress->of[q->slot[r]] =
                q->step[i] == 0
                    ? (struct tf_copied){.n = skip_banned(q, mine, n, 0)}
                    : follow(s, q, mine, n, progress->of[q->hist_parent[q->slot[r]]], q->ids[r],
                             q->limit[i] + 1 - q->step[i]);
    }
}

/* Keep the ids that follow `part` ids of insertions from to end - 1, if what is left of one of
 * those has room. */
static void keep_next(const struct tf_insertions *s, bool *keep, uint32_t from, uint32_t end,
                      uint32_t part, size_t room)
{
    for (uint32_t k = from; k < end; k++)
        if (s->v[k].n > part && s->v[k].n - part <= room)
            keep[s->v[k].ids[part]] = true;
}

static void keep_ids(const struct tf_insertions *s, bool *keep, const struct tf_search *q,
                     const uint32_t *src, uint32_t n, struct tf_copied c, size_t left)
{
    const size_t room = room_of(q, src, n, &c, left);
    memset(keep, 0, q->opts.V * sizeof *keep);
    if (c.part > 0)
        keep_next(s, keep, c.from, c.end, c.part, room);
    if (!is_whole(s, &c))
        return;
    keep[c.n < n ? src[c.n] : q->opts.eos] = true;
    if (is_edge(s, src, n, c.n) && (s->most == 0 || c.inserted < s->most))
        keep_next(s, keep, 0, (uint32_t)s->n, 0, room);
}

void tf_insertions_mask(const struct tf_insertions *s, struct tf_insertion_progress *progress,
                        const struct tf_search *q, const uint32_t *src, const uint32_t *off,
                        tf_mem *lp)
{
    const size_t V = q->opts.V;
    follow_step(s, progress, q, src, off);
    if (progress->keep == NULL)
        progress->keep = tf_xarray(NULL, V, sizeof *progress->keep);
    for (size_t i = 0; i < q->S; i++) {
        const size_t limit = q->limit[i], t = q->step[i];
        for (size_t r = q->row0[i]; r < q->row0[i] + q->live[i] && t < limit; r++) {
            keep_ids(s, progress->keep, q, src + off[i], off[i + 1] - off[i],
                     progress->of[q->slot[r]], limit - t);
            for (size_t v = 0; v < V; v++)
                if (!progress->keep[v])
                    tf_search_exclude(q, lp, r * V + v);
        }
    }
}
