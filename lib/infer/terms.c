/* terms.c - see terms_private.h. */
#include "infer/terms_private.h"
#include "base/memory.h"
#include "ops/host_search.h"
#include "text/sp_check.h"
#include "text/sp_piece.h"
#include "text/unicode.h"
#include "text/user_lines.h"

#include <inttypes.h>
#include <stdlib.h>

enum { EXACT, LOWER, MAX_LINE = 1 << 20 };

/* What reading needs. */
struct reading {
    struct tf_terms *t;
    const struct tf_search_opts *opts;
    struct tf_sp_index pieces;
};

/* The id of a piece, as it is or after a space, as the tokens of words are. */
static int find_piece(const struct reading *r, struct tf_text text, uint32_t *id,
                      struct tf_err *err)
{
    int64_t found = tf_sp_find(&r->pieces, text);
    if (found < 0) {
        struct tf_buf spaced = {0};
        tf_buf_str(&spaced, TF_SPACE);
        tf_buf_add(&spaced, text.p, text.n);
        found = tf_sp_find(&r->pieces, (struct tf_text){spaced.p, spaced.len});
        tf_buf_release(&spaced);
    }
    if (found < 0)
        return tf_fail(err,
                       "'%.*s' is no piece of the vocabulary (tf-tokenize --pieces --phrases makes "
                       "pieces of words)",
                       (int)(text.n < 80 ? text.n : 80), text.p);
    *id = (uint32_t)found;
    if (*id == r->opts->eos || *id >= r->opts->V || tf_search_banned(r->opts, *id))
        return tf_fail(err, "no output has the piece '%.*s'", (int)(text.n < 80 ? text.n : 80),
                       text.p);
    return 0;
}

/* ---- lines ---- */

/* Cut the next part of *s off, up to a mark; false: there is none. */
static bool cut(struct tf_text *s, char mark, struct tf_text *part)
{
    if (s->p == NULL)
        return false;
    const char *end = s->n > 0 ? memchr(s->p, mark, s->n) : NULL;
    *part = (struct tf_text){s->p, end != NULL ? (size_t)(end - s->p) : s->n};
    *s = end != NULL ? (struct tf_text){end + 1, s->n - part->n - 1} : (struct tf_text){NULL, 0};
    return true;
}

static int read_phrase(struct reading *r, struct tf_text field, struct tf_wanted_phrase *p,
                       struct tf_err *err)
{
    struct tf_terms *t = r->t;
    struct tf_text piece;
    uint32_t *ids = tf_arena_alloc(&t->mem, (field.n + 1) * sizeof *ids);
    *p = (struct tf_wanted_phrase){.ids = ids};
    for (struct tf_text rest = field; cut(&rest, ' ', &piece);)
        if (piece.n > 0 && find_piece(r, piece, &ids[p->n++], err) != 0)
            return -1;
    if (p->n == 0)
        return 0;
    if (ids[0] < t->continues.n && t->continues.v[ids[0]])
        return tf_fail(err, "'%.*s' continues a word, and a phrase begins one",
                       (int)(field.n < 80 ? field.n : 80), field.p);
    const struct tf_text last = t->target.v[ids[p->n - 1]];
    p->ends_word = !t->target.spaces_follow && tf_word_before(last.p, last.n);
    return 0;
}

/* The phrases of a line, those without pieces left out. one: all are the targets of one term. */
static int read_phrases(struct reading *r, struct tf_text line, bool one, struct tf_wanted *w,
                        struct tf_err *err)
{
    size_t fields = 1, n = 0, total = 0;
    struct tf_text field;
    for (size_t i = 0; i < line.n; i++)
        fields += line.p[i] == '\t';
    struct tf_wanted_phrase *p = tf_arena_alloc(&r->t->mem, fields * sizeof *p);
    struct tf_wanted_term *v = tf_arena_zalloc(&r->t->mem, fields * sizeof *v);
    while (cut(&line, '\t', &field)) {
        if (read_phrase(r, field, &p[n], err) != 0)
            return -1;
        total += p[n].n;
        n += p[n].n > 0;
    }
    if (total > TF_TERMS_MOST)
        return tf_fail(err, "phrases of %zu pieces, at most %zu", total, TF_TERMS_MOST);
    *w = (struct tf_wanted){v, one ? n > 0 : n};
    for (size_t i = 0; i < n; i++) {
        struct tf_wanted_term *to = &v[one ? 0 : i];
        if (to->n++ == 0)
            *to = (struct tf_wanted_term){&p[i], 1, p[i].n};
        to->shortest = p[i].n < to->shortest ? p[i].n : to->shortest;
    }
    return 0;
}

static int add_constraints(const struct tf_user_lines *l, struct tf_text line, struct tf_err *err)
{
    struct reading *r = l->arg;
    struct tf_terms *t = r->t;
    TF_GROW(t->lines, t->n_lines, t->cap_lines);
    return read_phrases(r, line, false, &t->lines[t->n_lines++], err);
}

static int add_term(const struct tf_user_lines *l, struct tf_text line, struct tf_err *err)
{
    struct reading *r = l->arg;
    struct tf_terms *t = r->t;
    struct tf_text source = {0};
    struct tf_wanted w;
    cut(&line, '\t', &source);
    struct tf_term term = {tf_plain_phrase(&t->mem, source.p, source.n), {0}, l->n};
    if (term.source.n == 0 && line.n == 0)
        return 0;
    if (read_phrases(r, line, true, &w, err) != 0)
        return -1;
    if (term.source.n == 0 || w.n == 0)
        return tf_fail(err, "no source term, a tab and its target");
    term.target = w.v[0];
    const int as = tf_is_lower(term.source) ? LOWER : EXACT;
    TF_GROW(t->terms[as], t->n_terms[as], t->cap_terms[as]);
    t->terms[as][t->n_terms[as]++] = term;
    t->longest = term.source.n > t->longest ? term.source.n : t->longest;
    return 0;
}

static int compare_terms(const void *x, const void *y)
{
    const struct tf_term *a = x, *b = y;
    const int c = tf_text_compare(&a->source, &b->source);
    return c != 0 ? c : (a->line > b->line) - (a->line < b->line);
}

static int sort_terms(struct tf_term *v, size_t n, const char *path, struct tf_err *err)
{
    if (n > 0)
        qsort(v, n, sizeof *v, compare_terms);
    for (size_t i = 1; i < n; i++)
        if (tf_text_same(v[i].source, v[i - 1].source))
            return tf_fail(err,
                           "%s: line %" PRIu64 ": line %" PRIu64
                           " has this source term, too (targets of a term are fields of one line)",
                           path, v[i].line, v[i - 1].line);
    return 0;
}

static void list_continuing(struct tf_terms *t)
{
    bool *v = tf_arena_zalloc(&t->mem, t->target.n + 1);
    for (size_t i = 0; i < t->target.n && !t->target.spaces_follow; i++)
        v[i] = tf_word_at(t->target.v[i].p, t->target.v[i].n, 0);
    t->continues = (struct tf_continues){v, t->target.n};
}

static int read_constraints(struct reading *r, const char *path, struct tf_ensemble *m,
                            struct tf_err *err)
{
    struct tf_user_lines lines = {.add = add_constraints, .arg = r, .longest = MAX_LINE};
    if (tf_user_lines_read(&lines, path, err) != 0)
        return -1;
    tf_ensemble_add_input(m, "constraints", lines.sum);
    return 0;
}

static int read_terms(struct reading *r, const char *path, const char *name, struct tf_ensemble *m,
                      struct tf_err *err)
{
    struct tf_terms *t = r->t;
    struct tf_user_lines lines = {.add = add_term,
                                  .arg = r,
                                  .longest = MAX_LINE,
                                  .name = name != NULL ? name : path};
    if (tf_user_lines_read(&lines, path, err) != 0)
        return -1;
    tf_ensemble_add_input(m, "terms", lines.sum);
    if (t->n_terms[EXACT] + t->n_terms[LOWER] == 0)
        return tf_fail(err, "%s: no terms", lines.name);
    return sort_terms(t->terms[EXACT], t->n_terms[EXACT], lines.name, err) != 0
               ? -1
               : sort_terms(t->terms[LOWER], t->n_terms[LOWER], lines.name, err);
}

int tf_terms_read(struct tf_terms *t, const char *constraints, const char *terms,
                  const char *terms_name, struct tf_ensemble *m, const struct tf_search_opts *opts,
                  struct tf_err *err)
{
    struct reading r = {.t = t, .opts = opts};
    struct tf_arena texts = {0};
    const struct tf_text target = m->target_vocab;
    if (m->vocab == NULL)
        return tf_fail(err, "--%s: %s has no vocabulary (tf-convert --vocab adds one)",
                       terms != NULL ? "terms" : "constraints", m->name);
    if (tf_spelling_read(&t->target, &t->mem, target.p, target.n, false, err) != 0 ||
        tf_spelling_read(&t->source, &t->mem, m->vocab, m->vocab_n, false, err) != 0)
        return -1;
    list_continuing(t);
    t->unk = m->header.special.unk;
    int rc = tf_sp_index(&r.pieces, &texts, target.p, target.n, err);
    if (rc == 0 && constraints != NULL)
        rc = read_constraints(&r, constraints, m, err);
    if (rc == 0 && terms != NULL)
        rc = read_terms(&r, terms, terms_name, m, err);
    tf_arena_release(&texts);
    return rc;
}

void tf_terms_release(struct tf_terms *t)
{
    free(t->lines);
    free(t->terms[EXACT]);
    free(t->terms[LOWER]);
    tf_arena_release(&t->mem);
    *t = (struct tf_terms){0};
}

/* ---- a source ---- */

static const struct tf_term *find_term(const struct tf_terms *t, struct tf_text text,
                                       struct tf_buf *low)
{
    const struct tf_term key = {.source = text}, *found = NULL;
    if (t->n_terms[EXACT] > 0)
        found =
            bsearch(&key.source, t->terms[EXACT], t->n_terms[EXACT], sizeof key, tf_text_compare);
    if (found != NULL || t->n_terms[LOWER] == 0)
        return found;
    tf_buf_clear(low);
    tf_uc_lower(low, text.p, text.n);
    const struct tf_text key_low = {low->p, low->len};
    return bsearch(&key_low, t->terms[LOWER], t->n_terms[LOWER], sizeof key, tf_text_compare);
}

/* The longest term at this place, which is an edge of words. *end: after it. */
static const struct tf_term *longest_term(const struct tf_terms *t, struct tf_text text, size_t at,
                                          struct tf_buf *low, size_t *end)
{
    /* Lower case may have up to three times the bytes, or a third. */
    const size_t most = text.n - at < 3 * t->longest ? text.n - at : 3 * t->longest;
    for (size_t n = most; n > 0; n--) {
        if (((unsigned char)text.p[at + n] & 0xc0) == 0x80 ||
            !tf_is_word_edge(text.p, text.n, at + n))
            continue;
        const struct tf_term *found = find_term(t, (struct tf_text){text.p + at, n}, low);
        *end = at + n;
        if (found != NULL)
            return found;
    }
    return NULL;
}

static void add_wanted(struct tf_wanted *w, struct tf_wanted_term *v,
                       const struct tf_wanted_term *t)
{
    for (size_t i = 0; i < w->n; i++)
        if (v[i].v == t->v)
            return;
    v[w->n++] = *t;
}

/* The terms of a text, at most as many as it has bytes. */
static void find_terms(const struct tf_terms *t, struct tf_text text, struct tf_wanted *w,
                       struct tf_wanted_term *v)
{
    struct tf_buf low = {0};
    for (size_t at = 0; at < text.n;) {
        size_t end = at + 1;
        const bool begins = ((unsigned char)text.p[at] & 0xc0) != 0x80 && text.p[at] != ' ' &&
                            tf_is_word_edge(text.p, text.n, at);
        const struct tf_term *found = begins ? longest_term(t, text, at, &low, &end) : NULL;
        if (found != NULL)
            add_wanted(w, v, &found->target);
        at = found != NULL ? end : at + 1;
    }
    tf_buf_release(&low);
}

int tf_terms_of(const struct tf_terms *t, struct tf_arena *mem, uint64_t number,
                const uint32_t *source, size_t n, struct tf_wanted *wanted)
{
    struct tf_buf text = {0};
    static const struct tf_wanted none;
    const struct tf_wanted *line = &none;
    if (t->lines != NULL && number >= t->n_lines)
        return -1;
    if (t->lines != NULL)
        line = &t->lines[number];
    for (size_t i = 0; i < n && t->n_terms[EXACT] + t->n_terms[LOWER] > 0; i++) {
        if (source[i] == t->unk)
            tf_buf_byte(&text, 1); /* a character that no term has */
        else if (source[i] < t->source.n)
            tf_buf_add(&text, t->source.v[source[i]].p, t->source.v[source[i]].n);
    }
    struct tf_wanted_term *v = tf_arena_alloc(mem, (line->n + text.len + 1) * sizeof *v);
    *wanted = (struct tf_wanted){v, line->n};
    memcpy(v, line->v != NULL ? line->v : v, line->n * sizeof *v);
    /* A NUL follows the bytes. */
    if (text.len > 0 && tf_utf8_span(text.p, text.len) == text.len)
        find_terms(t, (struct tf_text){text.p, text.len}, wanted, v);
    tf_buf_release(&text);
    return 0;
}
