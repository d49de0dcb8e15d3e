/* evalb_quotes.c - see evalb_quotes.h. */
#include "tree/evalb_quotes.h"

/* Put the word of a quote back: brackets after it move, brackets around it grow. */
static void reinsert(struct tf_evalb_context *c, struct tf_evalb_sentence *s,
                     const struct tf_evalb_quote *q)
{
    size_t around = 0;
    tf_evalb_insert_word(s, (size_t)q->index, q->tag, q->word);
    if (c->trace)
        tf_buf_printf(&c->out, "bra=%zu, ind=%lld\n", q->bracket, (long long)q->index);
    for (size_t k = 0; k < s->nbrackets; k++) {
        struct tf_evalb_bracket *b = &s->brackets[k];
        if (c->trace)
            tf_buf_printf(&c->out, "bracket[%zu]={%lld,%lld}\n", k, (long long)b->start,
                          (long long)b->end);
        if (k >= q->bracket) {
            b->start++;
            b->end++;
        } else if (b->to > q->at) {
            b->end++;
            around++;
        }
    }
    if (c->trace)
        tf_buf_printf(&c->out, "endslen=%zu\n", around);
}

static void shift_indices(struct tf_evalb_sentence *s, size_t from)
{
    for (size_t k = from; k < s->nquotes; k++)
        s->quotes[k].index++;
}

static void list_quotes(struct tf_evalb_context *c, const struct tf_evalb_sentence *gold,
                        const struct tf_evalb_sentence *test)
{
    for (size_t i = 0; i < gold->nquotes || i < test->nquotes; i++)
        for (int side = 0; side < 2; side++) {
            const struct tf_evalb_sentence *s = side ? test : gold;
            if (i >= s->nquotes)
                continue;
            const struct tf_evalb_quote *q = &s->quotes[i];
            tf_buf_printf(&c->out, "%lld: %.*s - %.*s\n", (long long)q->index, (int)q->tag.n,
                          q->tag.p, (int)q->word.n, q->word.p);
        }
}

/* As in EVALB, the index of a quote that was put back grows with those of the quotes after it.
 * Indices are in ascending order on both sides, so one pass over gold is enough. */
void tf_evalb_fix_quotes(struct tf_evalb_context *c, struct tf_evalb_sentence *g,
                         struct tf_evalb_sentence *t)
{
    if (c->trace)
        list_quotes(c, g, t);
    for (size_t i = 0, from = 0; i < t->nquotes; i++) {
        int64_t at = t->quotes[i].index;
        bool deleted = tf_evalb_listed(&c->p->deleted, t->quotes[i].tag);
        while (from < g->nquotes && g->quotes[from].index < at)
            from++;
        for (size_t k = from; k < g->nquotes && g->quotes[k].index == at; k++) {
            bool gold_deleted = tf_evalb_listed(&c->p->deleted, g->quotes[k].tag);
            if (gold_deleted == deleted || tf_text_same(g->quotes[k].tag, t->quotes[i].tag))
                continue;
            if (gold_deleted) {
                reinsert(c, g, &g->quotes[k]);
                shift_indices(g, k);
            } else {
                reinsert(c, t, &t->quotes[i]);
                shift_indices(t, i);
            }
        }
    }
}
