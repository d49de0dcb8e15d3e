/* evalb_quotes.c - see evalb_quotes_private.h. */
#include "tree/evalb_quotes_private.h"
#include "base/order.h"
#include "base/memory.h"
#include <stdlib.h>

/* One sentence, and the words to put back, which are inserted together: each on its own would move
 * all words and brackets after it. */
struct side {
    struct tf_evalb_sentence *s;
    struct tf_evalb_insertion *v;
    size_t n;
};

/* Put back the word of quote i, before which there are `place` words now. Calls are in the order of
 * quotes. */
static void reinsert(struct side *side, size_t i, int64_t place)
{
    side->v[side->n++] = (struct tf_evalb_insertion){&side->s->quotes[i], (size_t)place};
}

/* As in EVALB, the index of a quote grows with each quote before it that was put back, and with
 * itself. */
static int64_t index_of(const struct side *side, size_t i)
{
    const struct tf_evalb_quote *q = &side->s->quotes[i];
    size_t before;
    TF_FIRST(before, 0, side->n, side->v[before].quote > q);
    return q->index + (int64_t)before;
}

/* The first quote from `from` on whose index is greater. A search, since each word put back may
 * move a long run of quotes to the next index. */
static size_t first_above(const struct side *side, size_t from, int64_t index)
{
    size_t i;
    TF_FIRST(i, from, side->s->nquotes, index_of(side, i) > index);
    return i;
}

static bool is_deleted(const struct tf_evalb_context *c, const struct tf_evalb_quote *q)
{
    return tf_evalb_listed(&c->p->deleted, q->tag);
}

/* Indices are in ascending order on both sides. A deleted quote has the index of the next word, so
 * those of a run of equal indices were all deleted but for the last one, which may be a word: test
 * quotes that were deleted need only look at the last, and no two that were kept share a run. */
static void pair_quotes(struct tf_evalb_context *c, struct side *gold, struct side *test)
{
    const struct tf_evalb_quote *g = gold->s->quotes, *t = test->s->quotes;
    const size_t nt = test->s->nquotes;
    size_t from = 0, to = 0; /* gold quotes with index `at` */
    int64_t at = -1;
    for (size_t i = 0; i < nt; i++) {
        bool deleted = is_deleted(c, &t[i]);
        if (index_of(test, i) != at) {
            at = index_of(test, i);
            from = first_above(gold, from, at - 1);
            to = first_above(gold, from, at);
        }
        for (size_t k = deleted && to > from ? to - 1 : from; k < to; k++) {
            if (is_deleted(c, &g[k]) == deleted || tf_text_same(g[k].tag, t[i].tag))
                continue;
            if (deleted) {
                reinsert(test, i, at);
            } else { /* k and those after it now have another index */
                reinsert(gold, k, at);
                to = k;
            }
        }
    }
}

void tf_evalb_fix_quotes(struct tf_evalb_context *c, struct tf_evalb_sentence *g,
                         struct tf_evalb_sentence *t)
{
    struct side gold = {.s = g}, test = {.s = t};
    if (g->nquotes == 0 || t->nquotes == 0)
        return;
    /* A quote is put back at most once for each of the other side. */
    gold.v = tf_xarray(NULL, t->nquotes, sizeof *gold.v);
    test.v = tf_xarray(NULL, t->nquotes, sizeof *test.v);
    pair_quotes(c, &gold, &test);
    tf_evalb_insert(g, gold.v, gold.n);
    tf_evalb_insert(t, test.v, test.n);
    free(gold.v);
    free(test.v);
}
