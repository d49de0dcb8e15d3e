/* tree_vote.c - see tree_vote_private.h. */
#include "tree/tree_vote_private.h"
#include "base/memory.h"
#include "base/order.h"

#include <stdlib.h>

struct tf_tree_ballot {
    size_t begin, end; /* words */
    struct tf_text label;
    size_t tree;
    size_t depth;          /* constituents of the same words around it */
    size_t again;          /* those of them with its label */
    double weight, depths; /* of all trees together; depths weighed */
};

static size_t words_of(const struct tf_tree_node *v)
{
    struct tf_text rest = v->word, word;
    size_t n = 0;
    if (v->kind == TF_TREE_LEAF)
        while (tf_text_word(&rest, &word))
            n++;
    return n;
}

/* By node, and after the last one: how many words precede it. An array to free. */
static size_t *count_words(const struct tf_tree *t)
{
    size_t *before = tf_xarray(NULL, t->n + 1, sizeof *before);
    before[0] = 0;
    for (size_t i = 0; i < t->n; i++)
        before[i + 1] = before[i] + words_of(&t->v[i]);
    return before;
}

void tf_tree_vote_add(struct tf_tree_vote *v, const struct tf_tree *t, double weight)
{
    size_t *before = count_words(t);
    for (size_t i = 0; i < t->n; i++) {
        const struct tf_tree_node *node = &t->v[i];
        if (node->kind != TF_TREE_OPEN)
            continue;
        const bool inner =
            i > 0 && node[-1].kind == TF_TREE_OPEN && before[node[-1].mate] == before[node->mate];
        TF_GROW(v->v, v->n, v->cap);
        v->v[v->n] = (struct tf_tree_ballot){.begin = before[i],
                                             .end = before[node->mate],
                                             .label = node->label,
                                             .tree = v->trees,
                                             .depth = inner ? v->v[v->n - 1].depth + 1 : 0,
                                             .weight = weight};
        v->v[v->n].depths = weight * (double)v->v[v->n].depth;
        v->n++;
    }
    v->trees++;
    v->total += weight;
    free(before);
}

static int compare(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int by_constituent(const struct tf_tree_ballot *a, const struct tf_tree_ballot *b)
{
    int c = compare(a->begin, b->begin);
    c = c ? c : compare(a->end, b->end);
    return c ? c : tf_text_compare(&a->label, &b->label);
}

static int by_tree(const void *x, const void *y)
{
    const struct tf_tree_ballot *a = x, *b = y;
    int c = by_constituent(a, b);
    c = c ? c : compare(a->tree, b->tree);
    return c ? c : compare(a->depth, b->depth);
}

static int by_repetition(const void *x, const void *y)
{
    const struct tf_tree_ballot *a = x, *b = y;
    int c = by_constituent(a, b);
    c = c ? c : compare(a->again, b->again);
    return c ? c : compare(a->tree, b->tree);
}

/* The order of openings. */
static int by_place(const void *x, const void *y)
{
    const struct tf_tree_ballot *a = x, *b = y;
    const double da = a->depths / a->weight, db = b->depths / b->weight;
    int c = compare(a->begin, b->begin);
    c = c ? c : compare(b->end, a->end);
    c = c ? c : (da > db) - (da < db);
    c = c ? c : tf_text_compare(&a->label, &b->label);
    return c ? c : compare(a->again, b->again);
}

/* Join equal constituents, and keep those of more than half of the weight. */
static void elect(struct tf_tree_vote *v)
{
    /* Two disjoint halves are not both more, however their sums are rounded. */
    const double half = v->total / 2 * (1 + 1e-9);
    size_t kept = 0;
    qsort(v->v, v->n, sizeof *v->v, by_tree);
    for (size_t i = 1; i < v->n; i++)
        if (v->v[i].tree == v->v[i - 1].tree && by_constituent(&v->v[i], &v->v[i - 1]) == 0)
            v->v[i].again = v->v[i - 1].again + 1;
    qsort(v->v, v->n, sizeof *v->v, by_repetition);
    for (size_t i = 0, next; i < v->n; i = next) {
        struct tf_tree_ballot sum = v->v[i];
        for (next = i + 1;
             next < v->n && v->v[next].again == sum.again && by_constituent(&v->v[next], &sum) == 0;
             next++) {
            sum.weight += v->v[next].weight;
            sum.depths += v->v[next].depths;
        }
        if (sum.weight > half)
            v->v[kept++] = sum;
    }
    v->n = kept;
    qsort(v->v, v->n, sizeof *v->v, by_place);
}

void tf_tree_vote_count(struct tf_tree_vote *v, const struct tf_tree *leaves, struct tf_tree *t)
{
    size_t *before = count_words(leaves), words = before[leaves->n], next = 0, depth = 0;
    bool *edge = tf_xcalloc(words + 1, sizeof *edge);
    for (size_t i = 0; i <= leaves->n; i++)
        edge[before[i]] = true;
    elect(v);
    size_t *ends = tf_xarray(NULL, v->n + 1, sizeof *ends);
    t->n = 0;
    for (size_t i = 0; i <= leaves->n; i++) {
        for (; depth > 0 && ends[depth - 1] == before[i] && before[i] > 0; depth--)
            tf_tree_add(t, TF_TREE_CLOSE, (struct tf_text){0}, (struct tf_text){0});
        for (; next < v->n && v->v[next].begin <= before[i]; next++) {
            if (!edge[v->v[next].begin] || !edge[v->v[next].end])
                continue;
            tf_tree_add(t, TF_TREE_OPEN, v->v[next].label, (struct tf_text){0});
            ends[depth++] = v->v[next].end;
        }
        if (i < leaves->n && leaves->v[i].kind == TF_TREE_LEAF)
            tf_tree_add(t, TF_TREE_LEAF, leaves->v[i].label, leaves->v[i].word);
    }
    for (; depth > 0; depth--)
        tf_tree_add(t, TF_TREE_CLOSE, (struct tf_text){0}, (struct tf_text){0});
    tf_tree_set_mates(t);
    v->n = v->trees = 0;
    v->total = 0;
    free(before);
    free(edge);
    free(ends);
}

void tf_tree_vote_release(struct tf_tree_vote *v)
{
    free(v->v);
    *v = (struct tf_tree_vote){0};
}
