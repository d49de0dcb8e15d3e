/* utility.c - see utility_private.h. The n-grams of a list are numbered in one table: an n-gram is
 * the number of its first n - 1 symbols and its last symbol. */
#include "metrics/utility_private.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    KINDS = 2, /* of symbols: characters or tokens; words */
    MOST_ORDERS = 6,
};

/* An n-gram and how often a text has it. */
struct gram {
    uint32_t number, count;
};

/* One of the different texts of a list. */
struct text {
    struct tf_chrf_side side; /* chrF */
    struct tf_tokens tokens;  /* BLEU */
    size_t length[KINDS];               /* symbols */
    size_t end[KINDS][MOST_ORDERS + 1]; /* in grams: those of order k are end[k - 1] .. end[k] */
    struct gram *grams;
    size_t n, cap;
    double weight, utility;
};

struct tf_utility {
    enum tf_metric_kind kind;
    struct tf_metric_opts o;
    size_t orders[KINDS];
    struct tf_intern texts, words;
    uint32_t *which; /* of each hypothesis: its text */
    size_t which_cap;
    struct text *v;
    size_t n, cap;
    struct tf_gram_table table;
    uint32_t grams; /* numbers so far */
    /* By number: the text that has last had it and where; the count in the text at hand. */
    uint32_t *owner, *place, *count;
    size_t gram_cap;
};

struct tf_utility *tf_utility_new(enum tf_metric_kind kind, const struct tf_metric_opts *o)
{
    struct tf_utility *u = tf_xcalloc(1, sizeof *u);
    u->kind = kind;
    u->o = *o;
    u->o.bleu.effective_order = true;
    u->orders[0] = kind == TF_BLEU ? TF_NGRAM_MAX : (size_t)o->chrf.chars;
    u->orders[1] = kind == TF_BLEU ? 0 : (size_t)o->chrf.words;
    TF_ASSERT(kind != TF_TER && u->orders[0] <= MOST_ORDERS && u->orders[1] <= MOST_ORDERS);
    return u;
}

void tf_utility_free(struct tf_utility *u)
{
    for (size_t i = 0; u != NULL && i < u->cap; i++) {
        tf_chrf_side_release(&u->v[i].side);
        tf_tokens_release(&u->v[i].tokens);
        free(u->v[i].grams);
    }
    if (u == NULL)
        return;
    tf_intern_release(&u->texts);
    tf_intern_release(&u->words);
    free(u->which);
    free(u->v);
    free(u->table.slot);
    free(u->owner);
    free(u->place);
    free(u->count);
    free(u);
}

/* Room for one more text, whose memory is that of an earlier list. */
static void add_text(struct tf_utility *u)
{
    if (u->n == u->cap) {
        const size_t cap = u->cap > 0 ? 2 * u->cap : 64;
        u->v = tf_xarray(u->v, cap, sizeof *u->v);
        memset(u->v + u->cap, 0, (cap - u->cap) * sizeof *u->v);
        u->cap = cap;
    }
    u->v[u->n].n = 0;
    u->v[u->n].weight = u->v[u->n].utility = 0;
    u->n++;
}

/* Find the different texts of a list, and the weight of each. */
static int find_texts(struct tf_utility *u, const struct tf_text *hyps, const double *weight,
                      size_t n, struct tf_err *err)
{
    size_t bytes = 0;
    u->n = 0;
    if (n > u->which_cap) {
        u->which_cap = 2 * n;
        u->which = tf_xarray(u->which, u->which_cap, sizeof *u->which);
    }
    tf_intern_start(&u->texts, n);
    for (size_t i = 0; i < n; i++) {
        u->which[i] = tf_intern(&u->texts, hyps[i]);
        if (u->which[i] == u->n) {
            add_text(u);
            bytes += hyps[i].n;
        }
        u->v[u->which[i]].weight += weight[i];
    }
    return bytes <= TF_UTILITY_BYTES
               ? 0
               : tf_fail(err, "a list of %zu bytes of text, maximum %d", bytes, TF_UTILITY_BYTES);
}

static struct tf_tokens *words_of(const struct tf_utility *u, struct text *t)
{
    return u->kind == TF_BLEU ? &t->tokens : &t->side.words;
}

/* The symbols of all texts. */
static void cut_texts(struct tf_utility *u)
{
    size_t words = 0;
    for (size_t i = 0; i < u->n; i++) {
        struct text *t = &u->v[i];
        if (u->kind == TF_BLEU)
            tf_bleu_tokens(&t->tokens, u->texts.text[i], &u->o.bleu);
        else
            tf_chrf_cut(&t->side, u->texts.text[i], &u->o.chrf);
        t->length[0] = u->kind == TF_BLEU ? t->tokens.n : t->side.nchars;
        t->length[1] = u->kind == TF_BLEU ? 0 : t->side.words.n;
        words += words_of(u, t)->n;
    }
    tf_intern_start(&u->words, words);
    for (size_t i = 0; i < u->n; i++)
        tf_tokens_number(words_of(u, &u->v[i]), &u->words);
}

/* Begin to number the n-grams of a list. The first numbers are the empty beginnings. */
static void start_grams(struct tf_utility *u)
{
    size_t most = KINDS;
    for (size_t i = 0; i < u->n; i++)
        for (size_t kind = 0; kind < KINDS; kind++)
            most += u->orders[kind] * u->v[i].length[kind];
    if (most > u->gram_cap) {
        u->gram_cap = 2 * most;
        u->owner = tf_xarray(u->owner, u->gram_cap, sizeof *u->owner);
        u->place = tf_xarray(u->place, u->gram_cap, sizeof *u->place);
        u->count = tf_xarray(u->count, u->gram_cap, sizeof *u->count);
    }
    tf_gram_table_start(&u->table, most);
    u->grams = KINDS;
}

static uint32_t number_of(struct tf_utility *u, uint32_t begin, uint32_t symbol)
{
    const uint64_t key = tf_gram_key(begin, symbol);
    struct tf_gram_slot *s = tf_gram_find(&u->table, key);
    if (s->gram)
        return s->gram;
    *s = (struct tf_gram_slot){key, u->grams};
    u->owner[u->grams] = UINT32_MAX;
    u->count[u->grams] = 0;
    return u->grams++;
}

/* Count the n-grams of text number i in one kind of symbols; begin has room for all. */
static void count_kind(struct tf_utility *u, uint32_t i, size_t kind, const uint32_t *symbols,
                       uint32_t *begin)
{
    struct text *t = &u->v[i];
    const size_t n = t->length[kind];
    for (size_t p = 0; p < n; p++)
        begin[p] = (uint32_t)kind;
    t->end[kind][0] = t->n;
    for (size_t k = 1; k <= u->orders[kind]; k++) {
        for (size_t p = 0; p + k <= n; p++) {
            const uint32_t g = number_of(u, begin[p], symbols[p + k - 1]);
            begin[p] = g;
            if (u->owner[g] != i) {
                u->owner[g] = i;
                u->place[g] = (uint32_t)t->n;
                t->grams[t->n++] = (struct gram){g, 0};
            }
            t->grams[u->place[g]].count++;
        }
        t->end[kind][k] = t->n;
    }
}

static void count_texts(struct tf_utility *u)
{
    uint32_t *begin = NULL;
    start_grams(u);
    for (size_t i = 0; i < u->n; i++) {
        struct text *t = &u->v[i];
        const size_t longest = t->length[0] > t->length[1] ? t->length[0] : t->length[1],
                     most = u->orders[0] * t->length[0] + u->orders[1] * t->length[1] + 1;
        begin = tf_xarray(begin, longest + 1, sizeof *begin);
        if (most > t->cap) {
            t->cap = 2 * most;
            t->grams = tf_xarray(t->grams, t->cap, sizeof *t->grams);
        }
        count_kind(u, (uint32_t)i, 0, u->kind == TF_BLEU ? t->tokens.number : t->side.chars, begin);
        count_kind(u, (uint32_t)i, 1, t->side.words.number, begin);
    }
    free(begin);
}

static double bleu(const struct tf_utility *u, const struct text *hyp, const struct text *ref,
                   const uint32_t *matches)
{
    double sums[TF_BLEU_WIDTH] = {(double)hyp->length[0], (double)ref->length[0]};
    for (size_t k = 0; k < TF_NGRAM_MAX; k++) {
        sums[2 + k] = matches[k];
        sums[2 + TF_NGRAM_MAX + k] = hyp->length[0] > k ? (double)(hyp->length[0] - k) : 0;
    }
    return tf_bleu_score(sums, &u->o.bleu).score;
}

static double chrf(const struct tf_utility *u, const struct text *hyp, const struct text *ref,
                   const uint32_t *matches)
{
    uint32_t counts[TF_CHRF_COUNTS * KINDS * MOST_ORDERS];
    double sums[TF_CHRF_COUNTS * KINDS * MOST_ORDERS];
    const size_t chars = u->orders[0], words = u->orders[1];
    tf_chrf_counts(counts, matches, hyp->length[0], ref->length[0], chars);
    tf_chrf_counts(counts + TF_CHRF_COUNTS * chars, matches + chars, hyp->length[1],
                   ref->length[1], words);
    for (size_t i = 0; i < TF_CHRF_COUNTS * (chars + words); i++)
        sums[i] = counts[i];
    return tf_chrf_score(sums, &u->o.chrf);
}

static double score_pair(const struct tf_utility *u, const struct text *hyp,
                         const struct text *ref, const uint32_t *matches)
{
    return u->kind == TF_BLEU ? bleu(u, hyp, ref, matches) : chrf(u, hyp, ref, matches);
}

/* Of text a, whose counts are in u->count, and b: the sums of the lesser counts, by order. */
static void match_text(const struct tf_utility *u, const struct text *b, uint32_t *matches)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t k = 1; k <= u->orders[kind]; k++, matches++) {
            uint32_t sum = 0;
            for (size_t i = b->end[kind][k - 1]; i < b->end[kind][k]; i++) {
                const uint32_t mine = u->count[b->grams[i].number], theirs = b->grams[i].count;
                sum += mine < theirs ? mine : theirs;
            }
            *matches = sum;
        }
}

/* Matches are those of both directions. */
static void compare_texts(struct tf_utility *u)
{
    for (size_t i = 0; i < u->n; i++) {
        struct text *a = &u->v[i];
        for (size_t g = 0; g < a->n; g++)
            u->count[a->grams[g].number] = a->grams[g].count;
        for (size_t j = i; j < u->n; j++) {
            struct text *b = &u->v[j];
            uint32_t matches[KINDS * MOST_ORDERS];
            match_text(u, b, matches);
            a->utility += b->weight * score_pair(u, a, b, matches);
            if (j > i)
                b->utility += a->weight * score_pair(u, b, a, matches);
        }
        for (size_t g = 0; g < a->n; g++)
            u->count[a->grams[g].number] = 0;
    }
}

int tf_utility_of(struct tf_utility *u, double *utility, const struct tf_text *hyps,
                  const double *weight, size_t n, struct tf_err *err)
{
    if (find_texts(u, hyps, weight, n, err) != 0)
        return -1;
    cut_texts(u);
    count_texts(u);
    compare_texts(u);
    for (size_t i = 0; i < n; i++)
        utility[i] = u->v[u->which[i]].utility;
    return 0;
}
