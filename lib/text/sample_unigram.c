/* sample_unigram.c - samples of a unigram model: forward filtering, backward sampling over a
 * lattice of pieces, or a choice among the n best. */
#include "base/memory.h"
#include "base/utf8.h"
#include "text/sample_private.h"
#include <math.h>
#include <stdlib.h>

struct edge {
    uint32_t from; /* offset of its first byte */
    uint32_t id;   /* TF_NO_PIECE: unknown */
    float score;
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

static void add_edge(struct lattice *l, size_t from, const struct tf_piece_node *node)
{
    TF_GROW(l->edges, l->n, l->cap);
    l->edges[l->n++] = (struct edge){.from = (uint32_t)from, .id = node->id, .score = node->score};
}

/* The length of the character that ends before p[n]. */
static size_t char_before(const char *p, size_t n)
{
    size_t len = 1;
    while (len < 4 && len < n && ((unsigned char)p[n - len] & 0xc0) == 0x80)
        len++;
    return tf_utf8_at(p + n - len, len) == len ? len : 1;
}

/* Find the edges to `at`. A single character that is no piece is unknown. */
static void find_edges(struct lattice *l, size_t at)
{
    const struct tf_piece_trie *back = &l->s->pieces.back;
    uint32_t node = 0;
    l->n = 0;
    for (size_t from = at; from > l->start && (node != 0 || from == at);) {
        const size_t first = from - char_before(l->text + l->start, from - l->start);
        const bool single = from == at;
        do
            node = tf_piece_next(back, node, (unsigned char)l->text[--from]);
        while (from > first && node != 0);
        from = first;
        if (back->v[node].id != TF_NO_PIECE || single)
            add_edge(l, from, &back->v[node]);
    }
}

/* Log of the sum over all paths that end with this edge. */
static double sum_of(const struct lattice *l, const struct edge *e)
{
    const double score = e->id != TF_NO_PIECE ? (double)e->score : l->s->unknown_score;
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
static void draw_path(struct lattice *l, size_t end, struct tf_rng *rng, struct tf_ids *ids)
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
        if (e->id != TF_NO_PIECE)
            tf_ids_add(ids, &e->id, 1);
        else
            tf_pieces_unknown(&l->s->pieces, l->text + e->from, next - e->from, ids);
    }
}

void tf_sample_unigram(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                       struct tf_rng *rng, struct tf_ids *ids)
{
    struct lattice l = {.s = s, .text = text, .alpha = alpha};
    l.forward = tf_xarray(NULL, n + 1, sizeof *l.forward);
    l.path = tf_xarray(NULL, n + 1, sizeof *l.path);
    size_t reach = 0;
    for (size_t at = 0; at < n;) {
        uint32_t id;
        const size_t user = tf_pieces_user(&s->pieces, text + at, n - at, &id);
        if (at > l.start)
            add_up(&l, at);
        if (at == reach || user > 0) { /* no piece crosses this point: sample the text before it */
            draw_path(&l, at, rng, ids);
            l.start = at;
            l.forward[at] = 0;
        }
        if (user > 0) {
            tf_ids_add(ids, &id, 1);
            l.start = reach = at += user;
            l.forward[at] = 0;
            continue;
        }
        const size_t len = tf_pieces_char(text + at, n - at);
        const size_t piece = tf_piece_longest(&s->pieces.all, text + at, n - at, &id);
        const size_t end = at + (piece > len ? piece : len);
        reach = end > reach ? end : reach;
        at += len;
    }
    if (n > l.start)
        add_up(&l, n);
    draw_path(&l, n, rng, ids);
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
    int count = tf_sp_nbest(s->pieces.sp, text, n, nbest, &all, end, score, err);
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
