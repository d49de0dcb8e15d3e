/* sample_unigram.c - samples of a unigram model: forward filtering, backward sampling over a
 * lattice of pieces, or a choice among the n best. */
#include "base/memory.h"
#include "text/sample_pieces_private.h"
#include "text/sample_private.h"
#include <math.h>
#include <stdlib.h>

struct edge {
    uint32_t from; /* offset of its first byte */
    uint32_t id;   /* + 1; 0: unknown */
};

/* A line, sampled by segments that no piece crosses. There may be an edge for each pair of
 * positions in a segment: only those to one position are kept, and found again when a path is
 * drawn. */
struct lattice {
    const struct tf_sampler *s;
    const char *text;
    double alpha;
    size_t start;       /* of the segment */
    double *forward;    /* by offset: log of the sum over all paths that lead there */
    struct edge *edges; /* to one position, the shortest first */
    size_t n, cap;
    struct edge *path;
};

static void add_edge(struct lattice *l, size_t from, int64_t id)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->edges = tf_xarray(l->edges, l->cap, sizeof *l->edges);
    }
    l->edges[l->n++] = (struct edge){.from = (uint32_t)from, .id = (uint32_t)(id + 1)};
}

/* Find the edges to `at`. A single character that is no piece is unknown. */
static void find_edges(struct lattice *l, size_t at)
{
    uint32_t node = TF_SAMPLE_ROOT;
    l->n = 0;
    for (size_t from = at; from > l->start;) {
        size_t len = tf_sample_char_before(l->text + l->start, from - l->start);
        from -= len;
        node = tf_sample_next(&l->s->suffixes, node, l->text + from, len);
        int64_t id = tf_sample_id(&l->s->suffixes, node);
        if (id >= 0 || at - from == len)
            add_edge(l, from, id);
        if (node == 0)
            break;
    }
}

/* Log of the sum over all paths that end with this edge. */
static double sum_of(const struct lattice *l, const struct edge *e)
{
    double score = e->id > 0 ? (double)l->s->score[e->id - 1] : l->s->unknown_score;
    return l->forward[e->from] + l->alpha * score;
}

/* Sum over the paths to `at`. */
static void add_up(struct lattice *l, size_t at)
{
    double most = -INFINITY, sum = 0;
    find_edges(l, at);
    for (size_t i = 0; i < l->n; i++)
        most = fmax(most, sum_of(l, &l->edges[i]));
    if (l->n == 1) {
        l->forward[at] = most;
        return;
    }
    for (size_t i = 0; i < l->n; i++)
        sum += exp(sum_of(l, &l->edges[i]) - most);
    l->forward[at] = most + log(sum);
}

/* Draw a path backward from the end of the segment and append it. */
static void draw(struct lattice *l, size_t end, struct tf_rng *rng, struct tf_ids *ids,
                 bool *after_unknown)
{
    size_t steps = 0;
    for (size_t at = end; at > l->start;) {
        double u = tf_rng_real(rng), sum = 0;
        size_t i = 0;
        for (find_edges(l, at); i + 1 < l->n; i++) {
            sum += exp(sum_of(l, &l->edges[i]) - l->forward[at]);
            if (u < sum)
                break;
        }
        l->path[steps++] = l->edges[i];
        at = l->edges[i].from;
    }
    while (steps > 0) {
        const struct edge *e = &l->path[--steps];
        size_t next = steps > 0 ? l->path[steps - 1].from : end;
        tf_sample_put(l->s, ids, (int64_t)e->id - 1, l->text + e->from, next - e->from,
                      after_unknown);
    }
}

/* The end of the longest piece that begins at `at`, or of its character. */
static size_t longest(const struct tf_sampler *s, const char *text, size_t n, size_t at)
{
    uint32_t node = TF_SAMPLE_ROOT;
    size_t reach = at + tf_sample_char(text + at, n - at);
    for (size_t end = at; end < n;) {
        size_t len = tf_sample_char(text + end, n - end);
        node = tf_sample_next(&s->prefixes, node, text + end, len);
        if (node == 0)
            break;
        end += len;
        if (tf_sample_id(&s->prefixes, node) >= 0)
            reach = end > reach ? end : reach;
    }
    return reach;
}

void tf_sample_unigram(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                       struct tf_rng *rng, struct tf_ids *ids)
{
    struct lattice l = {.s = s, .text = text, .alpha = alpha};
    l.forward = tf_xarray(NULL, n + 1, sizeof *l.forward);
    l.path = tf_xarray(NULL, n + 1, sizeof *l.path);
    size_t reach = 0;
    bool after_unknown = false;
    for (size_t at = 0; at < n;) {
        uint32_t id;
        const size_t user = tf_sample_user(s, text + at, n - at, &id);
        if (at > l.start)
            add_up(&l, at);
        if (at == reach || user > 0) { /* no piece crosses this point: sample the text before it */
            draw(&l, at, rng, ids, &after_unknown);
            l.start = at;
            l.forward[at] = 0;
        }
        if (user > 0) {
            tf_sample_put(s, ids, id, text + at, user, &after_unknown);
            l.start = reach = at += user;
            l.forward[at] = 0;
            continue;
        }
        size_t end = longest(s, text, n, at);
        reach = end > reach ? end : reach;
        at += tf_sample_char(text + at, n - at);
    }
    if (n > l.start)
        add_up(&l, n);
    draw(&l, n, rng, ids, &after_unknown);
    free(l.edges);
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
