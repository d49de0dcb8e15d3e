/* sample.c - see sample.h. The text is normalised by the vocabulary, then cut here: a hash table
 * gives the ids of pieces, a lattice (unigram) or a heap of merges (BPE) the segmentation. */
#include "text/sample.h"
#include "base/utf8.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* As SentencePiece has them: below the lowest score; the score of any user-defined symbol. */
#define UNKNOWN_PENALTY 10.0
#define USER_SCORE -0.1f

/* A piece or the beginning of one. */
struct slot {
    const char *p; /* the vocabulary's */
    uint32_t n;    /* 0: free */
    uint32_t tag;  /* of the hash */
    int64_t id;    /* -1: only a beginning */
};

struct tf_sampler {
    const struct tf_sp *sp;
    struct slot *slots;
    size_t mask;
    float *score; /* per id */
    double unknown_score;
    uint32_t unk;
    bool has_bytes, has_user;
    uint32_t byte_id[256];
};

static const uint64_t hash_start = 0xcbf29ce484222325u;

static uint64_t hash_add(uint64_t h, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return h;
}

/* The slot of p, whose hash is h: taken, or the free one where it belongs. */
static struct slot *find(const struct tf_sampler *s, uint64_t h, const char *p, size_t n)
{
    h = tf_mix64(h);
    for (size_t i = h & s->mask;; i = (i + 1) & s->mask) {
        struct slot *t = &s->slots[i];
        if (t->n == 0 || (t->n == n && t->tag == h >> 32 && memcmp(t->p, p, n) == 0))
            return t;
    }
}

/* The id of a piece, or -1. */
static int64_t find_id(const struct tf_sampler *s, const char *p, size_t n)
{
    const struct slot *t = find(s, hash_add(hash_start, p, n), p, n);
    return t->n > 0 ? t->id : -1;
}

static size_t char_at(const char *p, size_t n);

/* Enter a piece and all that it begins with. */
static void enter(struct tf_sampler *s, uint32_t id, const char *p, size_t n)
{
    uint64_t h = hash_start;
    for (size_t end = 0; end < n;) {
        size_t len = char_at(p + end, n - end);
        h = hash_add(h, p + end, len);
        end += len;
        struct slot *t = find(s, h, p, end);
        if (t->n == 0)
            *t = (struct slot){.p = p,
                               .n = (uint32_t)end,
                               .tag = (uint32_t)(tf_mix64(h) >> 32),
                               .id = -1};
        if (end == n && t->id < 0)
            t->id = id;
    }
}

int tf_sampler_new(struct tf_sampler **out, const struct tf_sp *sp, struct tf_err *err)
{
    *out = NULL;
    if (tf_sp_sampling(sp) == TF_SP_NO_SAMPLING)
        return tf_fail(err, "the vocabulary is neither unigram nor BPE and can't be sampled");
    if (tf_sp_unk(sp) < 0)
        return tf_fail(err, "the vocabulary has no unknown piece and can't be sampled");
    struct tf_sampler *s = tf_xcalloc(1, sizeof *s);
    size_t size = (size_t)tf_sp_size(sp), slots = 64, bytes = 0, total = 0, n;
    for (uint32_t id = 0; id < size; id++) {
        tf_sp_piece(sp, id, &n);
        total += n;
    }
    while (slots < total + total / 2)
        slots *= 2;
    s->sp = sp;
    s->slots = tf_xcalloc(slots, sizeof *s->slots);
    s->mask = slots - 1;
    s->score = tf_xarray(NULL, size, sizeof *s->score);
    s->unk = (uint32_t)tf_sp_unk(sp);
    double lowest = 0;
    for (uint32_t id = 0; id < size; id++) {
        const char *piece = tf_sp_piece(sp, id, &n);
        enum tf_sp_kind kind = tf_sp_kind(sp, id);
        s->score[id] = tf_sp_score(sp, id);
        if (kind == TF_SP_BYTE && n == 6) {
            s->byte_id[strtoul(piece + 3, NULL, 16) & 255] = id;
            bytes++;
        } else if (kind == TF_SP_NORMAL) {
            enter(s, id, piece, n);
            lowest = fmin(lowest, (double)s->score[id]);
        } else if (kind == TF_SP_USER) {
            enter(s, id, piece, n);
            s->score[id] = USER_SCORE;
            s->has_user = true;
        }
    }
    s->has_bytes = bytes == 256;
    s->unknown_score = lowest - UNKNOWN_PENALTY;
    *out = s;
    return 0;
}

void tf_sampler_free(struct tf_sampler *s)
{
    if (s == NULL)
        return;
    free(s->slots);
    free(s->score);
    free(s);
}

/* Character at p; a byte that begins none (only possible after byte pieces) counts as one. */
static size_t char_at(const char *p, size_t n)
{
    size_t len = tf_utf8_at(p, n);
    return len > 0 ? len : 1;
}

/* Append a piece; an unknown character becomes its bytes where the vocabulary has them, else joins
 * the unknown before it. */
static void put(const struct tf_sampler *s, struct tf_ids *ids, int64_t id, const char *p, size_t n,
                bool *after_unknown)
{
    if (id >= 0) {
        tf_ids_add(ids, &(uint32_t){(uint32_t)id}, 1);
    } else if (s->has_bytes) {
        for (size_t i = 0; i < n; i++)
            tf_ids_add(ids, &s->byte_id[(unsigned char)p[i]], 1);
    } else if (!*after_unknown) {
        tf_ids_add(ids, &s->unk, 1);
    }
    *after_unknown = id < 0;
}

/* ---- unigram ---- */

struct edge {
    uint32_t from; /* offset of its first byte in the segment */
    uint32_t next; /* + 1: another edge to the same end */
    int64_t id;
    double sum; /* log of the sum over paths that end with this edge */
};

struct lattice {
    struct edge *edges;
    size_t n, cap;
    uint32_t *into;  /* per offset: edge + 1 */
    double *forward; /* per offset: log of the sum over paths that lead there */
    uint32_t *path;
};

static void add_edge(struct lattice *l, uint32_t from, uint32_t to, int64_t id, double weight)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->edges = tf_xarray(l->edges, l->cap, sizeof *l->edges);
    }
    l->edges[l->n++] = (struct edge){.from = from,
                                     .next = l->into[to],
                                     .id = id,
                                     .sum = l->forward[from] + weight};
    l->into[to] = (uint32_t)l->n;
}

/* All edges into `at` are there: add up the paths. */
static void settle(struct lattice *l, size_t at)
{
    double most = -INFINITY, sum = 0;
    uint32_t first = l->into[at];
    for (uint32_t e = first; e > 0; e = l->edges[e - 1].next)
        most = fmax(most, l->edges[e - 1].sum);
    if (l->edges[first - 1].next == 0) {
        l->forward[at] = most;
        return;
    }
    for (uint32_t e = first; e > 0; e = l->edges[e - 1].next)
        sum += exp(l->edges[e - 1].sum - most);
    l->forward[at] = most + log(sum);
}

/* Draw a path backwards from the end of the segment [start, end) and append it. */
static void draw(const struct tf_sampler *s, struct lattice *l, const char *text, size_t start,
                 size_t end, struct tf_rng *rng, struct tf_ids *ids, bool *after_unknown)
{
    size_t steps = 0;
    for (size_t at = end; at > start;) {
        double u = tf_rng_real(rng), sum = 0;
        uint32_t e = l->into[at];
        for (; l->edges[e - 1].next > 0; e = l->edges[e - 1].next) {
            sum += exp(l->edges[e - 1].sum - l->forward[at]);
            if (u < sum)
                break;
        }
        l->path[steps++] = e;
        at = l->edges[e - 1].from;
    }
    while (steps > 0) {
        const struct edge *edge = &l->edges[l->path[--steps] - 1];
        size_t next = steps > 0 ? l->edges[l->path[steps - 1] - 1].from : end;
        put(s, ids, edge->id, text + edge->from, next - edge->from, after_unknown);
    }
}

static void sample_unigram(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                           struct tf_rng *rng, struct tf_ids *ids)
{
    struct lattice l = {0};
    l.into = tf_xcalloc(n + 1, sizeof *l.into);
    l.forward = tf_xarray(NULL, n + 1, sizeof *l.forward);
    l.path = tf_xarray(NULL, n + 1, sizeof *l.path);
    size_t start = 0, reach = 0;
    bool after_unknown = false;
    for (size_t at = 0; at < n;) {
        if (at > 0)
            settle(&l, at);
        if (at == reach) { /* no piece crosses this point: what lies before it is settled */
            draw(s, &l, text, start, at, rng, ids, &after_unknown);
            l.n = 0;
            start = at;
            l.forward[at] = 0;
        }
        size_t one = char_at(text + at, n - at);
        bool single = false;
        uint64_t h = hash_start;
        for (size_t end = at; end < n;) {
            size_t len = char_at(text + end, n - end);
            h = hash_add(h, text + end, len);
            end += len;
            const struct slot *t = find(s, h, text + at, end - at);
            if (t->n == 0)
                break;
            if (t->id < 0)
                continue;
            single |= end - at == one;
            reach = end > reach ? end : reach;
            add_edge(&l, (uint32_t)at, (uint32_t)end, t->id, alpha * (double)s->score[t->id]);
        }
        if (!single) {
            add_edge(&l, (uint32_t)at, (uint32_t)(at + one), -1, alpha * s->unknown_score);
            reach = at + one > reach ? at + one : reach;
        }
        at += one;
    }
    settle(&l, n);
    draw(s, &l, text, start, n, rng, ids, &after_unknown);
    free(l.edges);
    free(l.into);
    free(l.forward);
    free(l.path);
}

static int sample_nbest(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                        int nbest, struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err)
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

/* ---- BPE ---- */

struct symbol {
    uint32_t at, n;      /* bytes; n = 0: merged into the one before */
    uint32_t prev, next; /* + 1 */
    int64_t id;
    bool user; /* a user-defined symbol: merges with nothing */
};

struct merge {
    float score;
    uint32_t left, right, n; /* n: bytes of the two when this was found */
    uint32_t id;
};

struct heap {
    struct merge *v;
    size_t n, cap;
};

static bool before(const struct merge *a, const struct merge *b)
{
    return a->score > b->score || (!(a->score < b->score) && a->left < b->left);
}

static void heap_push(struct heap *h, struct merge m)
{
    if (h->n == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 256;
        h->v = tf_xarray(h->v, h->cap, sizeof *h->v);
    }
    size_t i = h->n++;
    for (; i > 0 && before(&m, &h->v[(i - 1) / 2]); i = (i - 1) / 2)
        h->v[i] = h->v[(i - 1) / 2];
    h->v[i] = m;
}

static struct merge heap_pop(struct heap *h)
{
    struct merge top = h->v[0], last = h->v[--h->n];
    size_t i = 0;
    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= h->n)
            break;
        if (k + 1 < h->n && before(&h->v[k + 1], &h->v[k]))
            k++;
        if (!before(&h->v[k], &last))
            break;
        h->v[i] = h->v[k];
        i = k;
    }
    h->v[i] = last;
    return top;
}

static void offer(const struct tf_sampler *s, struct heap *h, const char *text,
                  const struct symbol *sym, uint32_t left, uint32_t right)
{
    if (sym[left].user || sym[right].user)
        return;
    uint32_t n = sym[left].n + sym[right].n;
    int64_t id = find_id(s, text + sym[left].at, n);
    if (id >= 0)
        heap_push(h, (struct merge){.score = s->score[id],
                                    .left = left,
                                    .right = right,
                                    .n = n,
                                    .id = (uint32_t)id});
}

/* The length of the longest user-defined symbol that the text begins with, or 0. */
static size_t user_at(const struct tf_sampler *s, const char *text, size_t n)
{
    size_t longest = 0;
    uint64_t h = hash_start;
    for (size_t end = 0; s->has_user && end < n;) {
        size_t len = char_at(text + end, n - end);
        h = hash_add(h, text + end, len);
        end += len;
        const struct slot *t = find(s, h, text, end);
        if (t->n == 0)
            break;
        if (t->id >= 0 && tf_sp_kind(s->sp, (uint32_t)t->id) == TF_SP_USER)
            longest = end;
    }
    return longest;
}

static void sample_bpe(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                       struct tf_rng *rng, struct tf_ids *ids)
{
    struct symbol *sym = tf_xarray(NULL, n + 1, sizeof *sym);
    uint32_t count = 0;
    for (size_t at = 0; at < n; count++) {
        size_t user = user_at(s, text + at, n - at);
        size_t len = user > 0 ? user : char_at(text + at, n - at);
        sym[count] = (struct symbol){.at = (uint32_t)at,
                                     .n = (uint32_t)len,
                                     .prev = count,
                                     .next = count + 2,
                                     .user = user > 0};
        sym[count].id = find_id(s, text + at, len);
        at += len;
    }
    if (count > 0)
        sym[count - 1].next = 0;
    struct heap h = {0};
    for (uint32_t i = 0; i + 1 < count; i++)
        offer(s, &h, text, sym, i, i + 1);
    while (h.n > 0) {
        struct merge m = heap_pop(&h);
        struct symbol *left = &sym[m.left], *right = &sym[m.right];
        if (left->n == 0 || right->n == 0 || left->n + right->n != m.n)
            continue;
        if (alpha > 0 && tf_rng_real(rng) < alpha)
            continue;
        left->n = m.n;
        left->id = m.id;
        left->next = right->next;
        right->n = 0;
        if (left->next > 0)
            sym[left->next - 1].prev = m.left + 1;
        if (left->prev > 0)
            offer(s, &h, text, sym, left->prev - 1, m.left);
        if (left->next > 0)
            offer(s, &h, text, sym, m.left, left->next - 1);
    }
    bool after_unknown = false;
    for (uint32_t i = 0; i < count; i++)
        if (sym[i].n > 0)
            put(s, ids, sym[i].id, text + sym[i].at, sym[i].n, &after_unknown);
    free(h.v);
    free(sym);
}

int tf_sample(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
              struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err)
{
    bool unigram = tf_sp_sampling(s->sp) == TF_SP_UNIGRAM;
    if (n == 0)
        return 0;
    if (unigram && nbest > 0)
        return sample_nbest(s, text, n, alpha, nbest, rng, ids, err);
    struct tf_buf normal = {0};
    int rc = tf_sp_normalize(s->sp, text, n, &normal, err);
    if (rc == 0 && normal.len > 0) {
        if (normal.len > (size_t)64 << 20)
            rc = tf_fail(err, "too long to sample");
        else if (unigram)
            sample_unigram(s, normal.p, normal.len, alpha, rng, ids);
        else
            sample_bpe(s, normal.p, normal.len, alpha, rng, ids);
    }
    tf_buf_release(&normal);
    return rc;
}
