/* evalb_parse.c - EVALB's rules, which do not require a well-formed tree: "(LABEL word)" with the
 * ")" right after the word is a word, and any other "(" opens a bracket before the next word. All
 * quirks are kept except the endless loop at a word without brackets. */
#include "tree/evalb_parse_private.h"
#include "base/order.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

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
    return word.n == 1 && memchr("'\"/", word.p[0], 3) != NULL && tf_evalb_listed(&p->quotes, tag);
}

static void add_word(struct tf_evalb_sentence *s, struct tf_text tag, struct tf_text word)
{
    TF_GROW(s->words, s->nwords, s->words_cap);
    s->words[s->nwords++] = (struct tf_evalb_word){word, tag};
}

static void insert_words(struct tf_evalb_sentence *s, const struct tf_evalb_insertion *v, size_t n)
{
    size_t from = s->nwords, to = from + n; /* words [from, to) of the result are done */
    if (to > s->words_cap) {
        s->words_cap = to + to / 2;
        s->words = tf_xarray(s->words, s->words_cap, sizeof *s->words);
    }
    s->nwords = to;
    while (n-- > 0) {
        size_t at = v[n].place, after = to - at - 1;
        from -= after;
        memmove(s->words + at + 1, s->words + from, after * sizeof *s->words);
        s->words[at] = (struct tf_evalb_word){v[n].quote->word, v[n].quote->tag};
        to = at;
    }
}

/* How many of v are before byte `at` of the line. */
static size_t insertions_before(const struct tf_evalb_insertion *v, size_t n, size_t at)
{
    size_t i;
    TF_FIRST(i, 0, n, v[i].quote->at >= at);
    return i;
}

void tf_evalb_insert(struct tf_evalb_sentence *s, const struct tf_evalb_insertion *v, size_t n)
{
    size_t before = 0;
    if (n == 0)
        return;
    insert_words(s, v, n);
    for (size_t k = 0; k < s->nbrackets; k++) {
        struct tf_evalb_bracket *b = &s->brackets[k];
        while (before < n && v[before].quote->bracket <= k)
            before++;
        size_t until = insertions_before(v, n, b->to);
        b->start += (int32_t)before;
        b->end += (int32_t)(until > before ? until : before);
    }
}

static void open_bracket(struct tf_evalb_sentence *s, size_t label, size_t n)
{
    TF_GROW(s->brackets, s->nbrackets, s->brackets_cap);
    TF_GROW(s->stack, s->depth, s->stack_cap);
    s->brackets[s->nbrackets] = (struct tf_evalb_bracket){.start = (int32_t)s->nwords,
                                                          .end = -1,
                                                          .to = (uint32_t)s->line.n,
                                                          .label = (uint32_t)label,
                                                          .label_len = (uint32_t)n};
    s->stack[s->depth++] = (uint32_t)s->nbrackets++;
}

/* Parse the "(" at i, which begins a word or a bracket. Returns the position after what was
 * parsed. */
static size_t parse_open(struct tf_evalb_context *c, struct tf_evalb_sentence *s, size_t i)
{
    const struct tf_text *l = &s->line;
    size_t p = token(l, i + 1), q = blanks(l, p);
    struct tf_text label = {l->p + i + 1, p - i - 1};
    if (q > p) {
        size_t e = token(l, q);
        struct tf_text word = {l->p + q, e - q};
        bool closed = e < l->n && l->p[e] == ')';
        if (closed && !tf_evalb_listed(&c->p->deleted_length, label))
            s->length++;
        if (closed && is_quote(c->p, label, word)) {
            TF_GROW(s->quotes, s->nquotes, s->quotes_cap);
            s->quotes[s->nquotes++] =
                (struct tf_evalb_quote){word, label, (int64_t)s->nwords, s->nbrackets, i};
        }
        if (closed) {
            if (!tf_evalb_listed(&c->p->deleted, label))
                add_word(s, label, word);
            return e + 1;
        }
        if (e < l->n && l->p[e] != '(')
            tf_evalb_error(c, "more than two elements in a bracket");
    }
    open_bracket(s, i + 1, label.n);
    return p;
}

void tf_evalb_parse(struct tf_evalb_context *c, struct tf_evalb_sentence *s, struct tf_text line)
{
    TF_ASSERT(line.n <= TF_EVALB_MAX_LINE);
    int64_t level = 0; /* nesting depth; negative after a ")" too many, as EVALB's stack index */
    bool stray = false;
    s->line = line;
    s->nwords = s->nbrackets = s->nquotes = s->depth = 0;
    s->length = 0;
    for (size_t i = 0; i < line.n && !c->stop;) {
        if (tf_ascii_space(line.p[i])) {
            i++;
        } else if (line.p[i] == '(') {
            size_t before = s->nbrackets;
            i = parse_open(c, s, i);
            level += s->nbrackets > before;
        } else if (line.p[i] == ')') {
            if (level-- < 0)
                tf_evalb_error(c, "a closing bracket too many");
            if (s->depth > 0) {
                struct tf_evalb_bracket *b = &s->brackets[s->stack[--s->depth]];
                b->end = (int32_t)s->nwords;
                b->to = (uint32_t)i;
            }
            i++;
        } else {
            if (!stray)
                tf_evalb_error(c, "a word stands alone at byte %zu", i + 1);
            stray = true;
            i = token(&line, i);
        }
    }
    if (level != 0)
        tf_evalb_error(c, "brackets are not balanced");
}

void tf_evalb_sentence_release(struct tf_evalb_sentence *s)
{
    free(s->words);
    free(s->brackets);
    free(s->quotes);
    free(s->stack);
    *s = (struct tf_evalb_sentence){0};
}
