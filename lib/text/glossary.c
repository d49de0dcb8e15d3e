/* glossary.c - see glossary.h. */
#include "text/glossary.h"
#include "base/arena.h"
#include "base/memory.h"
#include "text/spelling.h"
#include "text/unicode.h"
#include "text/user_lines.h"

#include <stdlib.h>

enum { EXACT, LOWER, MAX_LINE = 1 << 20 };

/* ---- terms ---- */

int64_t tf_term_set_add(struct tf_term_set *s, struct tf_text term, uint32_t number)
{
    struct tf_text_table *t = &s->as[tf_is_lower(term) ? LOWER : EXACT];
    const uint32_t had = tf_text_table_find(t, term.p, term.n);
    if (had != TF_NO_TEXT)
        return had;
    tf_text_table_add(t, term.p, term.n, number);
    s->longest = term.n > s->longest ? term.n : s->longest;
    return -1;
}

/* Append the characters of s in lower case, as far as a term may have them so or as they are.
 * Returns their bytes in s. */
static size_t bytes_of_terms(const struct tf_term_set *t, struct tf_text s, struct tf_buf *low)
{
    size_t n = 0;
    int len;
    while (n < s.n) {
        (void)tf_utf8_get(s.p + n, &len);
        tf_uc_lower(low, s.p + n, (size_t)len);
        if (n + (size_t)len > t->longest && low->len > t->longest)
            break;
        n += (size_t)len;
    }
    return n;
}

size_t tf_term_set_find(const struct tf_term_set *s, struct tf_text text, size_t at,
                        uint32_t *number, bool *as_is)
{
    struct tf_buf low = {0};
    if (text.p[at] == ' ' || !tf_is_word_edge(text.p, text.n, at))
        return 0;
    size_t n = bytes_of_terms(s, (struct tf_text){text.p + at, text.n - at}, &low);
    for (; n > 0; n--) {
        if (((unsigned char)text.p[at + n] & 0xc0) == 0x80 ||
            !tf_is_word_edge(text.p, text.n, at + n))
            continue;
        *number = tf_text_table_find(&s->as[EXACT], text.p + at, n);
        *as_is = *number != TF_NO_TEXT;
        if (*as_is)
            break;
        tf_buf_clear(&low);
        tf_uc_lower(&low, text.p + at, n);
        *number = tf_text_table_find(&s->as[LOWER], low.p, low.len);
        if (*number != TF_NO_TEXT)
            break;
    }
    tf_buf_release(&low);
    return n;
}

void tf_term_set_release(struct tf_term_set *s)
{
    tf_text_table_release(&s->as[EXACT]);
    tf_text_table_release(&s->as[LOWER]);
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

size_t tf_glossary_longest(const struct tf_glossary *g)
{
    return g->terms.longest;
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
