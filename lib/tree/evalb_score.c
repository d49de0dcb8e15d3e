/* evalb_score.c - see evalb_score_private.h. EVALB compares every pair of brackets; here matches
 * are found by sorting and crossing brackets by range queries, so that the time is O(n log n). */
#include "tree/evalb_score_private.h"
#include "base/memory.h"
#include "base/order.h"
#include "tree/evalb_quotes_private.h"
#include <stdlib.h>

/* The label without function tags: its part before the first - or =, which may be empty. */
static struct tf_text base_label(struct tf_text l)
{
    size_t n = 0;
    while (n < l.n && l.p[n] != '-' && l.p[n] != '=')
        n++;
    return (struct tf_text){l.p, n};
}

int64_t tf_evalb_kept(const struct tf_evalb_params *p, const struct tf_evalb_sentence *s)
{
    int64_t kept = 0;
    for (size_t i = 0; i < s->nbrackets; i++) {
        const struct tf_evalb_bracket *b = &s->brackets[i];
        /* One that was never closed spans the words up to the end of the line. */
        size_t end = b->end < 0 ? s->nwords : (size_t)b->end;
        kept += (size_t)b->start != end &&
                !tf_evalb_listed(&p->deleted_equal, base_label(tf_evalb_label(s, b)));
    }
    return kept;
}

/* Mark the brackets that do not count and cut the labels of the others. Returns the number that
 * count. */
static int64_t mark_deleted(const struct tf_evalb_params *p, struct tf_evalb_sentence *s)
{
    int64_t kept = 0;
    for (size_t i = 0; i < s->nbrackets; i++) {
        struct tf_evalb_bracket *b = &s->brackets[i];
        b->counts = false;
        if (b->start == b->end)
            continue;
        struct tf_text base = base_label(tf_evalb_label(s, b));
        b->label_len = (uint32_t)base.n;
        b->counts = !tf_evalb_listed(&p->deleted_equal, base);
        kept += b->counts;
    }
    return kept;
}

/* Brackets in the order of span, label (if labels count), position. */
struct key {
    struct tf_text label;
    int32_t start, end;
    uint32_t index; /* of the bracket */
    /* In the first of a run of equal keys: */
    uint32_t head; /* the next one that is free */
    uint32_t end_of_run;
};

static struct key key_of(const struct tf_evalb_sentence *s, size_t i, bool labeled)
{
    const struct tf_evalb_bracket *b = &s->brackets[i];
    return (struct key){.label = {s->line.p + b->label, labeled ? b->label_len : 0},
                        .start = b->start,
                        .end = b->end,
                        .index = (uint32_t)i};
}

/* By span and label. */
static int compare_spans(const struct key *a, const struct key *b)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return tf_text_compare(&a->label, &b->label);
}

static int compare_keys(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    int c = compare_spans(a, b);
    return c ? c : a->index < b->index ? -1 : a->index > b->index;
}

static bool is_span(const struct key *a, const struct key *b)
{
    return a->start == b->start && a->end == b->end;
}

/* The first of the sorted keys from lo on that is not before `want`, or hi. */
static size_t lower_bound(const struct key *keys, size_t lo, size_t hi, const struct key *want)
{
    size_t i;
    TF_FIRST(i, lo, hi, compare_spans(&keys[i], want) >= 0);
    return i;
}

/* The earlier in the test sentence of `best`, a run with a free key or n, and the run of equal keys
 * that starts at `run`. */
static size_t earlier(const struct key *keys, size_t n, size_t best, size_t run)
{
    size_t head = keys[run].head;
    bool is_free = head < n && compare_spans(&keys[head], &keys[run]) == 0;
    return is_free && (best == n || keys[head].index < keys[keys[best].head].index) ? run : best;
}

/* Find the first free test bracket with the span of `want` and with its label or one that EQ_LABEL
 * makes equal to it. Returns the start of its run of keys, or n. */
static size_t first_fit(const struct tf_evalb_params *p, const struct key *keys, size_t n,
                        struct key want)
{
    const struct tf_text own = want.label;
    size_t best = n, run = lower_bound(keys, 0, n, &want), npairs = 0;
    if (run < n && compare_spans(&keys[run], &want) == 0)
        best = earlier(keys, n, best, run);
    const struct tf_text *pairs =
        p->labeled ? tf_evalb_partners(&p->eq_labels, own, &npairs) : NULL;
    if (npairs == 0)
        return best;
    /* All labels of the span, or all partners of the label, whichever are fewer. */
    want.label.n = 0;
    size_t from = lower_bound(keys, 0, n, &want), to = from, labels = 0;
    for (; to < n && is_span(&keys[to], &want) && labels < npairs; to = keys[to].end_of_run)
        labels++;
    if (labels < npairs) {
        for (run = from; run < to; run = keys[run].end_of_run)
            if (tf_evalb_equal(&p->eq_labels, own, keys[run].label))
                best = earlier(keys, n, best, run);
        return best;
    }
    for (size_t i = 0; i < npairs; i++) {
        want.label = pairs[2 * i + 1];
        run = lower_bound(keys, from, n, &want);
        if (run < n && compare_spans(&keys[run], &want) == 0)
            best = earlier(keys, n, best, run);
    }
    return best;
}

/* Match gold brackets with test brackets, one to one. Returns the number of pairs. */
static int64_t match(const struct tf_evalb_params *p, const struct tf_evalb_sentence *g,
                     const struct tf_evalb_sentence *t)
{
    struct key *keys = tf_xarray(NULL, t->nbrackets + 1, sizeof *keys);
    size_t n = 0;
    int64_t matched = 0;
    for (size_t j = 0; j < t->nbrackets; j++)
        if (t->brackets[j].counts)
            keys[n++] = key_of(t, j, p->labeled);
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t k = n; k-- > 0;) {
        bool last = k + 1 == n || compare_spans(&keys[k], &keys[k + 1]) != 0;
        keys[k].head = (uint32_t)k;
        keys[k].end_of_run = last ? (uint32_t)k + 1 : keys[k + 1].end_of_run;
    }
    for (size_t i = 0; i < g->nbrackets; i++) {
        size_t run = g->brackets[i].counts ? first_fit(p, keys, n, key_of(g, i, p->labeled)) : n;
        if (run == n)
            continue;
        keys[run].head++;
        matched++;
    }
    free(keys);
    return matched;
}

/* For a position: the smallest start of the gold brackets that end there, and the largest end of
 * those that start there. Kept in a segment tree with its leaves at [size, 2 size). */
struct extent {
    int32_t start, end;
};

static struct extent unite(struct extent a, struct extent b)
{
    return (struct extent){a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
}

static struct extent query(const struct extent *tree, size_t size, size_t from, size_t to)
{
    struct extent e = {INT32_MAX, -1};
    for (from += size, to += size; from < to; from /= 2, to /= 2) {
        if (from & 1)
            e = unite(e, tree[from++]);
        if (to & 1)
            e = unite(e, tree[--to]);
    }
    return e;
}

/* The number of test brackets that contain exactly one end of some gold bracket. */
static int64_t crossing(const struct tf_evalb_sentence *g, const struct tf_evalb_sentence *t)
{
    /* enough for damaged lines, too: a bracket that was never closed ends at -1 or 0 */
    size_t size = g->nwords + 2;
    struct extent *tree = tf_xarray(NULL, 2 * size, sizeof *tree);
    for (size_t i = 0; i < 2 * size; i++)
        tree[i] = (struct extent){INT32_MAX, -1};
    for (size_t i = 0; i < g->nbrackets; i++) {
        const struct tf_evalb_bracket *b = &g->brackets[i];
        if (!b->counts || b->start >= b->end)
            continue;
        struct extent *leaves = tree + size;
        leaves[b->end] = unite(leaves[b->end], (struct extent){b->start, -1});
        leaves[b->start] = unite(leaves[b->start], (struct extent){INT32_MAX, b->end});
    }
    for (size_t i = size - 1; i > 0; i--)
        tree[i] = unite(tree[2 * i], tree[2 * i + 1]);
    int64_t count = 0;
    for (size_t j = 0; j < t->nbrackets; j++) {
        const struct tf_evalb_bracket *b = &t->brackets[j];
        if (!b->counts || b->start + 1 >= b->end)
            continue;
        struct extent e = query(tree, size, (size_t)b->start + 1, (size_t)b->end);
        count += e.start < b->start || e.end > b->end;
    }
    free(tree);
    return count;
}

static bool comparable(struct tf_evalb_context *c, struct tf_evalb_sentence *g,
                       struct tf_evalb_sentence *t)
{
    if (t->nwords == 0) {
        c->status = TF_EVALB_SKIP;
        return false;
    }
    if (g->nwords != t->nwords)
        tf_evalb_fix_quotes(c, g, t);
    if (g->nwords != t->nwords) {
        tf_evalb_error(c, "%zu words in gold, %zu in test", g->nwords, t->nwords);
        return false;
    }
    for (size_t i = 0; i < g->nwords; i++) {
        struct tf_text a = g->words[i].word, b = t->words[i].word;
        if (!tf_evalb_equal(&c->p->eq_words, a, b)) {
            char x[128], y[128];
            tf_evalb_error(c, "word %zu is %s in gold, %s in test", i + 1,
                           tf_escape(x, sizeof x, a.p, a.n), tf_escape(y, sizeof y, b.p, b.n));
            return false;
        }
    }
    return true;
}

void tf_evalb_compare(struct tf_evalb_context *c, struct tf_evalb_sentence *g,
                      struct tf_evalb_sentence *t, struct tf_evalb_row *row)
{
    *row = (struct tf_evalb_row){.length = g->length};
    if (comparable(c, g, t)) {
        row->gold = mark_deleted(c->p, g);
        row->test = mark_deleted(c->p, t);
        row->matched = match(c->p, g, t);
        row->crossing = crossing(g, t);
        row->words = (int64_t)g->nwords;
        for (size_t i = 0; i < g->nwords; i++)
            row->tags += tf_evalb_equal(&c->p->eq_labels, g->words[i].tag, t->words[i].tag);
    }
    row->status = c->status;
}
