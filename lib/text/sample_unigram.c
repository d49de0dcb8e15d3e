/* sample_unigram.c - samples of a unigram model: forward filtering, backward sampling over a
 * lattice of pieces, or a choice among the n best. */
#include "base/memory.h"
#include "text/sample_pieces.h"
#include <math.h>
#include <stdlib.h>

/* There may be one for each pair of positions in a segment, so edges are small. */
struct edge {
    uint32_t from; /* offset of its first byte in the segment */
    uint32_t next; /* + 1: the next edge with the same end; 0: none */
    uint32_t id;   /* + 1; 0: unknown */
};

struct lattice {
    const struct tf_sampler *s;
    double alpha;
    struct edge *edges;
    size_t n, cap;
    uint32_t *into;  /* by offset: its last edge + 1 */
    double *forward; /* by offset: log of the sum over all paths that lead there */
    uint32_t *path;
};

static void add_edge(struct lattice *l, size_t from, size_t to, int64_t id)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->edges = tf_xarray(l->edges, l->cap, sizeof *l->edges);
    }
    l->edges[l->n++] =
        (struct edge){.from = (uint32_t)from, .next = l->into[to], .id = (uint32_t)(id + 1)};
    l->into[to] = (uint32_t)l->n;
}

/* Log of the sum over all paths that end with this edge. */
static double sum_of(const struct lattice *l, const struct edge *e)
{
    double score = e->id > 0 ? (double)l->s->score[e->id - 1] : l->s->unknown_score;
    return l->forward[e->from] + l->alpha * score;
}

/* Sum over the paths to `at`, once all edges to it are there. */
static void add_up(struct lattice *l, size_t at)
{
    double most = -INFINITY, sum = 0;
    uint32_t first = l->into[at];
    for (uint32_t e = first; e > 0; e = l->edges[e - 1].next)
        most = fmax(most, sum_of(l, &l->edges[e - 1]));
    if (l->edges[first - 1].next == 0) {
        l->forward[at] = most;
        return;
    }
    for (uint32_t e = first; e > 0; e = l->edges[e - 1].next)
        sum += exp(sum_of(l, &l->edges[e - 1]) - most);
    l->forward[at] = most + log(sum);
}

/* Draw a path backward from the end of the segment [start, end) and append it. */
static void draw(const struct tf_sampler *s, struct lattice *l, const char *text, size_t start,
                 size_t end, struct tf_rng *rng, struct tf_ids *ids, bool *after_unknown)
{
    size_t steps = 0;
    for (size_t at = end; at > start;) {
        double u = tf_rng_real(rng), sum = 0;
        uint32_t e = l->into[at];
        for (; l->edges[e - 1].next > 0; e = l->edges[e - 1].next) {
            sum += exp(sum_of(l, &l->edges[e - 1]) - l->forward[at]);
            if (u < sum)
                break;
        }
        l->path[steps++] = e;
        at = l->edges[e - 1].from;
    }
    while (steps > 0) {
        const struct edge *edge = &l->edges[l->path[--steps] - 1];
        size_t next = steps > 0 ? l->edges[l->path[steps - 1] - 1].from : end;
        tf_sample_put(s, ids, (int64_t)edge->id - 1, text + edge->from, next - edge->from,
                      after_unknown);
    }
}

void tf_sample_unigram(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                       struct tf_rng *rng, struct tf_ids *ids)
{
    struct lattice l = {.s = s, .alpha = alpha};
    l.into = tf_xcalloc(n + 1, sizeof *l.into);
    l.forward = tf_xarray(NULL, n + 1, sizeof *l.forward);
    l.path = tf_xarray(NULL, n + 1, sizeof *l.path);
    size_t start = 0, reach = 0;
    bool after_unknown = false;
    for (size_t at = 0; at < n;) {
        if (at > 0)
            add_up(&l, at);
        if (at == reach) { /* no piece crosses this point: sample the text before it */
            draw(s, &l, text, start, at, rng, ids, &after_unknown);
            l.n = 0;
            start = at;
            l.forward[at] = 0;
        }
        size_t one = tf_sample_char(text + at, n - at);
        bool single = false;
        uint64_t h = tf_sample_hash_start(s);
        for (size_t end = at; end < n;) {
            size_t len = tf_sample_char(text + end, n - end);
            h = tf_sample_hash(s, h, text + end, len);
            end += len;
            const struct tf_sample_slot *t = tf_sample_find(s, h, text + at, end - at);
            if (t->n == 0)
                break;
            if (t->id < 0)
                continue;
            single |= end - at == one;
            reach = end > reach ? end : reach;
            add_edge(&l, at, end, t->id);
        }
        if (!single) {
            add_edge(&l, at, at + one, -1);
            reach = at + one > reach ? at + one : reach;
        }
        at += one;
    }
    add_up(&l, n);
    draw(s, &l, text, start, n, rng, ids, &after_unknown);
    free(l.edges);
    free(l.into);
    free(l.forward);
    free(l.path);
}

int tf_sample_nbest(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
                    struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err)
{
    size_t *end = tf_xarray(NULL, (size_t)nbest, sizeof *end);
    float *score = tf_xarray(NULL, (size_t)nbest, sizeof *score);
    struct tf_ids all = {0};
    int count = tf_sp_nbest(s->sp, text, n, nbest, &all, end, score, err);
    if (count > 0) {
        double total = 0;
        for (int i = 0; i < count; i++)
            total += exp(alpha * ((double)score[i] - (double)score[0]));
        double u = tf_rng_real(rng) * total;
        int pick = 0;
        for (double sum = exp(0); pick < count - 1 && u >= sum; pick++)
            sum += exp(alpha * ((double)score[pick + 1] - (double)score[0]));
        size_t from = pick > 0 ? end[pick - 1] : 0;
        tf_ids_add(ids, all.v + from, end[pick] - from);
    }
    free(end);
    free(score);
    tf_ids_release(&all);
    return count < 0 ? -1 : 0;
}
