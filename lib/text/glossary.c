/* glossary.c - see glossary.h. */
#include "text/glossary.h"
#include "base/arena.h"
#include "base/memory.h"
#include "text/spelling.h"
#include "text/text_table_private.h"
#include "text/unicode.h"
#include "text/user_lines.h"

#include <stdlib.h>

enum { EXACT, LOWER, MAX_LINE = 1 << 20 };

struct tf_glossary {
    struct tf_arena mem;
    struct tf_text_table terms[2]; /* as they are, and in lower case: numbers of translations */
    struct tf_text *translations;
    size_t n, cap, longest; /* longest: bytes of a term */
};

int tf_glossary_add(struct tf_glossary **out, struct tf_text source, struct tf_text target,
                    struct tf_err *err)
{
    struct tf_glossary *g = *out = *out != NULL ? *out : tf_xcalloc(1, sizeof **out);
    const struct tf_text term = tf_plain_phrase(&g->mem, source.p, source.n),
                         is = tf_plain_phrase(&g->mem, target.p, target.n);
    if (term.n == 0 || is.n == 0)
        return tf_fail(err, "no source term, a tab and its target");
    struct tf_text_table *t = &g->terms[tf_is_lower(term) ? LOWER : EXACT];
    if (tf_text_table_find(t, term.p, term.n) != TF_NO_TEXT)
        return tf_fail(err, "a line before has this source term, too");
    TF_GROW(g->translations, g->n, g->cap);
    tf_text_table_add(t, term.p, term.n, (uint32_t)g->n);
    g->translations[g->n++] = is;
    g->longest = term.n > g->longest ? term.n : g->longest;
    return 0;
}

static int add_line(const struct tf_user_lines *l, struct tf_text line, struct tf_err *err)
{
    struct tf_glossary *g = l->arg;
    const char *tab = memchr(line.p, '\t', line.n), *end = line.p + line.n;
    if (line.n == 0)
        return 0;
    const char *to = tab != NULL ? tab + 1 : end, *more = memchr(to, '\t', (size_t)(end - to));
    const struct tf_text term = {line.p, (size_t)(to - line.p) - (tab != NULL)},
                         is = {to, (size_t)((more != NULL ? more : end) - to)};
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
    for (int as = 0; as < 2; as++)
        tf_text_table_release(&g->terms[as]);
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
    return g->longest;
}

size_t tf_glossary_find(const struct tf_glossary *g, struct tf_text s, size_t at,
                        struct tf_glossary_term *term)
{
    struct tf_buf low = {0};
    uint32_t found = TF_NO_TEXT;
    bool as_is = false;
    if (s.p[at] == ' ' || !tf_is_word_edge(s.p, s.n, at))
        return 0;
    /* Lower case may have up to three times the bytes, or a third. */
    size_t n = s.n - at < 3 * g->longest ? s.n - at : 3 * g->longest;
    for (; n > 0; n--) {
        if (((unsigned char)s.p[at + n] & 0xc0) == 0x80 || !tf_is_word_edge(s.p, s.n, at + n))
            continue;
        found = tf_text_table_find(&g->terms[EXACT], s.p + at, n);
        as_is = found != TF_NO_TEXT;
        if (as_is)
            break;
        tf_buf_clear(&low);
        tf_uc_lower(&low, s.p + at, n);
        found = tf_text_table_find(&g->terms[LOWER], low.p, low.len);
        if (found != TF_NO_TEXT)
            break;
    }
    tf_buf_release(&low);
    if (n > 0)
        *term = (struct tf_glossary_term){g->translations[found], as_is};
    return n;
}
