/* evalb_parse.c - a line to words and brackets by EVALB's rules, which know no grammar of trees:
 * "(LABEL word)" with the ")" right behind the word is a word, any other "(" opens a bracket where
 * the next word would stand. Its quirks are kept, its loop over a word that stands alone is not. */
#include "tree/evalb_parts.h"
#include <stdlib.h>
#include <string.h>

#define ROOM(array, n, cap)                                          \
    do {                                                             \
        if ((n) == (cap)) {                                          \
            (cap) = (cap) ? (cap) * 2 : 64;                          \
            (array) = tf_xarray((array), (cap), sizeof *(array));    \
        }                                                            \
    } while (0)

static size_t token(const struct tf_text *l, size_t i)
{
    while (i < l->n && l->p[i] != '(' && l->p[i] != ')' && !tf_ascii_space(l->p[i]))
        i++;
    return i;
}

static size_t blanks(const struct tf_text *l, size_t i)
{
    while (i < l->n && tf_ascii_space(l->p[i]))
        i++;
    return i;
}

static bool is_quote(const struct tf_evalb_params *p, struct tf_text tag, struct tf_text word)
{
    return word.n == 1 && memchr("'\"/", word.p[0], 3) && tf_evalb_listed(&p->quotes, tag);
}

static void add_word(struct tf_evalb_sentence *s, size_t at, struct tf_text tag,
                     struct tf_text word)
{
    ROOM(s->words, s->nwords, s->words_cap);
    memmove(s->words + at + 1, s->words + at, (s->nwords - at) * sizeof *s->words);
    s->words[at] = (struct tf_evalb_word){word, tag, TF_EVALB_OPEN};
    s->nwords++;
}

static void open_bracket(struct tf_evalb_sentence *s, size_t from, struct tf_text label)
{
    ROOM(s->brackets, s->nbrackets, s->brackets_cap);
    ROOM(s->stack, s->depth, s->stack_cap);
    s->brackets[s->nbrackets] =
        (struct tf_evalb_bracket){(int64_t)s->nwords, -1, from, s->line.n, label, TF_EVALB_OPEN};
    s->stack[s->depth++] = s->nbrackets++;
}

/* A "(" at i: a word, or the beginning of a bracket. Returns where to go on. */
static size_t opened(struct tf_evalb_run *r, struct tf_evalb_sentence *s, size_t i)
{
    const struct tf_text *l = &s->line;
    size_t p = token(l, i + 1), q = blanks(l, p);
    struct tf_text label = {l->p + i + 1, p - i - 1};
    if (q > p) {
        size_t e = token(l, q);
        struct tf_text word = {l->p + q, e - q};
        bool closed = e < l->n && l->p[e] == ')';
        if (closed && !tf_evalb_listed(&r->p->deleted_length, label))
            s->length++;
        if (r->aloud) {
            tf_buf_str(&r->out, "label=");
            tf_buf_add(&r->out, label.p, label.n);
            tf_buf_str(&r->out, ", word=");
            tf_buf_add(&r->out, word.p, word.n);
            tf_buf_printf(&r->out, ", wid=%zu\n", s->nwords);
        }
        if (closed && is_quote(r->p, label, word)) {
            ROOM(s->quotes, s->nquotes, s->quotes_cap);
            s->quotes[s->nquotes++] =
                (struct tf_evalb_quote){word, label, (int64_t)s->nwords, s->nbrackets, i};
        }
        if (closed) {
            if (!tf_evalb_listed(&r->p->deleted, label))
                add_word(s, s->nwords, label, word);
            return e + 1;
        }
        if (e < l->n && l->p[e] != '(')
            tf_evalb_error(r, "more than two elements in a bracket");
    }
    open_bracket(s, p, label);
    return p;
}

void tf_evalb_parse(struct tf_evalb_run *r, struct tf_evalb_sentence *s, struct tf_text line)
{
    int64_t level = 0; /* below 0 behind a ")" too many, where EVALB's stack would be */
    bool stray = false;
    s->line = line;
    s->nwords = s->nbrackets = s->nquotes = s->depth = 0;
    s->length = 0;
    for (size_t i = 0; i < line.n && !r->stop;) {
        if (tf_ascii_space(line.p[i])) {
            i++;
        } else if (line.p[i] == '(') {
            size_t before = s->nbrackets;
            i = opened(r, s, i);
            level += s->nbrackets > before;
        } else if (line.p[i] == ')') {
            if (level-- < 0)
                tf_evalb_error(r, "a closing bracket too many");
            if (s->depth > 0) {
                struct tf_evalb_bracket *b = &s->brackets[s->stack[--s->depth]];
                b->end = (int64_t)s->nwords;
                b->to = i;
            }
            i++;
        } else {
            if (!stray)
                tf_evalb_error(r, "a word stands alone at byte %zu", i + 1);
            stray = true;
            i = token(&line, i);
        }
    }
    if (level != 0)
        tf_evalb_error(r, "brackets are not balanced");
}

void tf_evalb_sentence_release(struct tf_evalb_sentence *s)
{
    free(s->words);
    free(s->brackets);
    free(s->quotes);
    free(s->stack);
    *s = (struct tf_evalb_sentence){0};
}

/* The quote's word comes back: brackets behind it move, brackets around it grow. */
static void reinsert(struct tf_evalb_run *r, struct tf_evalb_sentence *s,
                     const struct tf_evalb_quote *q)
{
    size_t around = 0;
    add_word(s, (size_t)q->index, q->tag, q->word);
    if (r->aloud)
        tf_buf_printf(&r->out, "bra=%zu, ind=%lld\n", q->bracket, (long long)q->index);
    for (size_t k = 0; k < s->nbrackets; k++) {
        struct tf_evalb_bracket *b = &s->brackets[k];
        if (r->aloud)
            tf_buf_printf(&r->out, "bracket[%zu]={%lld,%lld}\n", k, (long long)b->start,
                          (long long)b->end);
        if (k >= q->bracket) {
            b->start++;
            b->end++;
        } else if (b->to > q->at) {
            b->end++;
            around++;
        }
    }
    if (r->aloud)
        tf_buf_printf(&r->out, "endslen=%zu\n", around);
}

static void moved(struct tf_evalb_sentence *s, size_t from)
{
    for (size_t k = from; k < s->nquotes; k++)
        s->quotes[k].index++;
}

static void list_quotes(struct tf_evalb_run *r)
{
    for (size_t i = 0; i < r->gold.nquotes || i < r->test.nquotes; i++)
        for (int side = 0; side < 2; side++) {
            const struct tf_evalb_sentence *s = side ? &r->test : &r->gold;
            if (i >= s->nquotes)
                continue;
            const struct tf_evalb_quote *q = &s->quotes[i];
            tf_buf_printf(&r->out, "%lld: %.*s - %.*s\n", (long long)q->index, (int)q->tag.n,
                          q->tag.p, (int)q->word.n, q->word.p);
        }
}

/* As EVALB does it, down to the index of a quote that was put back, which moves on with those
 * behind it. Indices rise on both sides, so one pass over gold will do. */
void tf_evalb_fix_quotes(struct tf_evalb_run *r)
{
    struct tf_evalb_sentence *g = &r->gold, *t = &r->test;
    if (r->aloud)
        list_quotes(r);
    for (size_t i = 0, from = 0; i < t->nquotes; i++) {
        int64_t at = t->quotes[i].index;
        bool deleted = tf_evalb_listed(&r->p->deleted, t->quotes[i].tag);
        while (from < g->nquotes && g->quotes[from].index < at)
            from++;
        for (size_t k = from; k < g->nquotes && g->quotes[k].index == at; k++) {
            bool gold_deleted = tf_evalb_listed(&r->p->deleted, g->quotes[k].tag);
            if (gold_deleted == deleted || tf_text_same(g->quotes[k].tag, t->quotes[i].tag))
                continue;
            if (gold_deleted) {
                reinsert(r, g, &g->quotes[k]);
                moved(g, k);
            } else {
                reinsert(r, t, &t->quotes[i]);
                moved(t, i);
            }
        }
    }
}
