/* glossary.c - see glossary.h. */
#include "text/glossary.h"
#include "base/arena.h"
#include "base/memory.h"
#include "text/spelling.h"
#include "text/user_lines.h"

#include <stdlib.h>

enum { EXACT, LOWER, MAX_LINE = 1 << 20 };

/* ---- terms ---- */

/* The end of the part of s that begins at `at`: a place where a word can begin or end, but none
 * between a space and what follows it. */
static size_t part_end(struct tf_text s, size_t at)
{
    size_t end = at + 1;
    while (end < s.n && (s.p[end - 1] == ' ' || ((unsigned char)s.p[end] & 0xc0) == 0x80 ||
                         !tf_is_word_edge(s.p, s.n, end)))
        end++;
    return end;
}

/* What leads from a node by a part of a text: the node's number and the part; of LOWER in lower
 * case. */
static struct tf_text step_of(struct tf_buf *b, uint32_t node, bool lower, struct tf_text part)
{
    tf_buf_clear(b);
    tf_buf_add(b, &node, sizeof node);
    if (!lower)
        tf_buf_add(b, part.p, part.n);
    else
        tf_lower_part(b, part);
    return (struct tf_text){b->p, b->len};
}

static uint32_t add_node(struct tf_term_set *s)
{
    TF_GROW(s->number, s->n, s->cap);
    s->number[s->n] = TF_NO_TEXT;
    return (uint32_t)s->n++;
}

int64_t tf_term_set_add(struct tf_term_set *s, struct tf_text term, uint32_t number)
{
    const bool lower = tf_is_lower(term);
    uint32_t node = lower ? LOWER : EXACT;
    struct tf_buf b = {0};
    while (s->n <= LOWER)
        (void)add_node(s);
    for (size_t at = 0, end; at < term.n; at = end) {
        end = part_end(term, at);
        const struct tf_text part = {term.p + at, end - at}, step = step_of(&b, node, lower, part);
        node = tf_text_table_find(&s->steps, step.p, step.n);
        if (node != TF_NO_TEXT)
            continue;
        node = add_node(s);
        tf_text_table_add(&s->steps, tf_arena_strndup(&s->mem, step.p, step.n), step.n, node);
    }
    tf_buf_release(&b);
    if (s->number[node] != TF_NO_TEXT)
        return s->number[node];
    s->number[node] = number;
    return -1;
}

size_t tf_term_set_find(const struct tf_term_set *s, struct tf_text text, size_t at,
                        uint32_t *number, bool *as_is)
{
    struct tf_buf b = {0};
    size_t n = 0;
    if (text.p[at] == ' ' || !tf_is_word_edge(text.p, text.n, at))
        return 0;
    for (uint32_t as = EXACT; as <= LOWER; as++) {
        uint32_t node = as;
        for (size_t from = at, end; from < text.n; from = end) {
            end = part_end(text, from);
            const struct tf_text part = {text.p + from, end - from},
                                 step = step_of(&b, node, as == LOWER, part);
            node = tf_text_table_find(&s->steps, step.p, step.n);
            if (node == TF_NO_TEXT)
                break;
            if (s->number[node] == TF_NO_TEXT || end - at <= n)
                continue;
            n = end - at;
            *number = s->number[node];
            *as_is = as == EXACT;
        }
    }
    tf_buf_release(&b);
    return n;
}

void tf_term_set_release(struct tf_term_set *s)
{
    tf_text_table_release(&s->steps);
    free(s->number);
    tf_arena_release(&s->mem);
}

/* ---- and their translations ---- */

struct tf_glossary {
    struct tf_arena mem;
    struct tf_term_set terms; /* numbers of translations */
    struct tf_text *translations;
    size_t n, cap;
};

int tf_glossary_add(struct tf_glossary **out, struct tf_text source, struct tf_text target,
                    struct tf_err *err)
{
    struct tf_glossary *g = *out = *out != NULL ? *out : tf_xcalloc(1, sizeof **out);
    const struct tf_text term = tf_plain_phrase(&g->mem, source.p, source.n),
                         is = tf_plain_phrase(&g->mem, target.p, target.n);
    if (term.n == 0 || is.n == 0)
        return tf_fail(err, "no source term, a tab and its target");
    if (tf_term_set_add(&g->terms, term, (uint32_t)g->n) >= 0)
        return tf_fail(err, "a line before has this source term, too");
    TF_GROW(g->translations, g->n, g->cap);
    g->translations[g->n++] = is;
    return 0;
}

static int add_line(const struct tf_user_lines *l, struct tf_text line, struct tf_err *err)
{
    struct tf_glossary *g = l->arg;
    struct tf_text term = {0}, is = {0};
    if (line.n == 0)
        return 0;
    if (tf_text_cut(&line, '\t', &term))
        (void)tf_text_cut(&line, '\t', &is);
    return tf_glossary_add(&g, term, is, err);
}

int tf_glossary_read(struct tf_glossary **out, const char *path, struct tf_err *err)
{
    struct tf_glossary *g = *out = tf_xcalloc(1, sizeof *g);
    struct tf_user_lines lines = {.add = add_line, .arg = g, .longest = MAX_LINE};
    int rc = tf_user_lines_read(&lines, path, err);
    if (rc == 0 && g->n == 0)
        rc = tf_fail(err, "%s: no terms", path);
    if (rc == 0)
        return 0;
    tf_glossary_free(g);
    *out = NULL;
    return -1;
}

void tf_glossary_free(struct tf_glossary *g)
{
    if (g == NULL)
        return;
    tf_term_set_release(&g->terms);
    free(g->translations);
    tf_arena_release(&g->mem);
    free(g);
}

size_t tf_glossary_terms(const struct tf_glossary *g)
{
    return g->n;
}

size_t tf_glossary_find(const struct tf_glossary *g, struct tf_text s, size_t at,
                        struct tf_glossary_term *term)
{
    uint32_t number;
    bool as_is;
    const size_t n = tf_term_set_find(&g->terms, s, at, &number, &as_is);
    if (n > 0)
        *term = (struct tf_glossary_term){g->translations[number], as_is};
    return n;
}
