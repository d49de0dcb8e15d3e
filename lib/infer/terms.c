/* terms.c - see terms_private.h. */
#include "infer/terms_private.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "ops/host_search.h"
#include "text/sp_check.h"
#include "text/sp_piece.h"
#include "text/user_lines.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_LINE = 1 << 20, NO_TERM = 1 /* a character that no term has */ };

/* What reading needs. */
struct reading {
    struct tf_terms *t;
    const struct tf_search_opts *opts;
    struct tf_sp_index pieces;
    struct tf_text vocab; /* of sources */
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
                       "'%.*s' is no piece of the vocabulary: it lacks a character, or these are "
                       "words (tf-tokenize --pieces --phrases makes pieces of them)",
                       (int)(text.n < 80 ? text.n : 80), text.p);
    *id = (uint32_t)found;
    if (*id == r->opts->eos || *id >= r->opts->V || tf_search_banned(r->opts, *id))
        return tf_fail(err, "no output has the piece '%.*s'", (int)(text.n < 80 ? text.n : 80),
                       text.p);
    return 0;
}

/* ---- lines ---- */

static int read_phrase(struct reading *r, struct tf_text field, struct tf_wanted_phrase *p,
                       struct tf_err *err)
{
    struct tf_terms *t = r->t;
    struct tf_text piece;
    uint32_t *ids = tf_arena_alloc(&t->mem, (field.n + 1) * sizeof *ids);
    *p = (struct tf_wanted_phrase){.ids = ids};
    for (struct tf_text rest = field; tf_text_cut(&rest, ' ', &piece);)
        if (piece.n > 0 && find_piece(r, piece, &ids[p->n++], err) != 0)
            return -1;
    if (p->n == 0)
        return 0;
    const bool after = t->continues.after;
    const uint32_t first = ids[0], last = ids[p->n - 1], outer = after ? last : first;
    if (outer < t->continues.n && t->continues.v[outer])
        return tf_fail(err, "'%.*s' %s", (int)(field.n < 80 ? field.n : 80), field.p,
                       after ? "ends within a word, and a phrase ends one"
                             : "continues a word, and a phrase begins one");
    struct tf_buf text = {0};
    for (size_t i = 0; i < p->n; i++)
        tf_buf_add(&text, t->target.v[ids[i]].p, t->target.v[ids[i]].n);
    p->edge = after ? tf_word_at(text.p, text.len, 0) : tf_word_before(text.p, text.len);
    tf_buf_release(&text);
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
    while (tf_text_cut(&line, '\t', &field)) {
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

/* A source term as sources have it. */
static struct tf_text spelled(const struct reading *r, struct tf_text term)
{
    struct tf_buf text = {0};
    tf_spell_text(&text, r->vocab.p, r->vocab.n, term);
    const struct tf_text plain =
        tf_plain_phrase(&r->t->mem, text.len > 0 ? text.p : "", text.len);
    tf_buf_release(&text);
    return plain;
}

static int add_term(const struct tf_user_lines *l, struct tf_text line, struct tf_err *err)
{
    struct reading *r = l->arg;
    struct tf_terms *t = r->t;
    struct tf_text source = {0};
    struct tf_wanted w;
    (void)tf_text_cut(&line, '\t', &source);
    const struct tf_text term = tf_plain_phrase(&t->mem, source.p, source.n),
                         seen = spelled(r, term);
    if (term.n == 0 && line.n == 0)
        return 0;
    if (read_phrases(r, line, true, &w, err) != 0)
        return -1;
    if (seen.n == 0 || w.n == 0)
        return tf_fail(err, "no source term, a tab and its target");
    const int64_t had = tf_term_set_add(&t->sources, seen, (uint32_t)t->n_terms);
    if (had >= 0 && !tf_text_same(t->terms[had].source, term))
        return 0; /* of those that sources have alike the first counts */
    if (had >= 0)
        return tf_fail(err,
                       "line %" PRIu64 " has this source term, too (targets of a term are fields "
                       "of one line)",
                       t->terms[had].line);
    TF_GROW(t->terms, t->n_terms, t->cap_terms);
    t->terms[t->n_terms++] = (struct tf_term){w.v[0], term, l->n};
    return 0;
}

static void list_continuing(struct tf_terms *t)
{
    const bool after = t->target.spaces_follow;
    bool *v = tf_arena_zalloc(&t->mem, t->target.n + 1);
    for (size_t i = 0; i < t->target.n; i++) {
        const struct tf_text s = t->target.v[i];
        v[i] = after ? tf_word_before(s.p, s.n) : tf_word_at(s.p, s.n, 0);
    }
    t->continues = (struct tf_continues){v, t->target.n, after};
}

static int read_constraints(struct reading *r, const char *path, struct tf_ensemble *m,
                            struct tf_err *err)
{
    struct tf_user_lines lines = {.add = add_constraints, .arg = r, .longest = MAX_LINE};
    r->t->constrained = true;
    if (tf_user_lines_read(&lines, path, err) != 0)
        return -1;
    tf_ensemble_add_input(m, "constraints", lines.sum);
    return 0;
}

static int read_terms(struct reading *r, const char *path, const char *name, struct tf_ensemble *m,
                      struct tf_err *err)
{
    struct tf_user_lines lines = {
        .add = add_term, .arg = r, .longest = MAX_LINE, .name = name != NULL ? name : path};
    if (tf_user_lines_read(&lines, path, err) != 0)
        return -1;
    tf_ensemble_add_input(m, "terms", lines.sum);
    return r->t->n_terms > 0 ? 0 : tf_fail(err, "%s: no terms", lines.name);
}

int tf_terms_read(struct tf_terms *t, const char *constraints, const char *terms,
                  const char *terms_name, struct tf_ensemble *m, const struct tf_search_opts *opts,
                  struct tf_err *err)
{
    struct reading r = {.t = t, .opts = opts, .vocab = {m->vocab, m->vocab_n}};
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
    free(t->terms);
    tf_term_set_release(&t->sources);
    tf_arena_release(&t->mem);
    *t = (struct tf_terms){0};
}

/* ---- a source ---- */

static void add_wanted(struct tf_wanted *w, struct tf_wanted_term *v,
                       const struct tf_wanted_term *t)
{
    for (size_t i = 0; i < w->n; i++)
        if (v[i].v == t->v)
            return;
    v[w->n++] = *t;
}

/* Put a character that no term has in place of bytes that are not UTF-8, such as those of a
 * character that --truncate has cut. */
static void replace_bad(struct tf_buf *text)
{
    for (size_t at = 0; at < text->len; at++) {
        at += tf_utf8_span(text->p + at, text->len - at);
        if (at < text->len)
            text->p[at] = NO_TERM;
    }
}

/* The terms of a text, at most as many as it has bytes. */
static void find_terms(const struct tf_terms *t, struct tf_text text, struct tf_wanted *w,
                       struct tf_wanted_term *v)
{
    for (size_t at = 0; at < text.n;) {
        uint32_t number;
        bool as_is;
        const bool begins = ((unsigned char)text.p[at] & 0xc0) != 0x80;
        const size_t n = begins ? tf_term_set_find(&t->sources, text, at, &number, &as_is) : 0;
        if (n > 0)
            add_wanted(w, v, &t->terms[number].target);
        at += n > 0 ? n : 1;
    }
}

int tf_terms_of(const struct tf_terms *t, struct tf_arena *mem, uint64_t number,
                const uint32_t *source, size_t n, struct tf_wanted *wanted)
{
    struct tf_buf text = {0};
    static const struct tf_wanted none;
    if (t->constrained && number >= t->n_lines)
        return -1;
    const struct tf_wanted *line = t->constrained ? &t->lines[number] : &none;
    for (size_t i = 0; i < n && t->n_terms > 0; i++) {
        if (source[i] == t->unk)
            tf_buf_byte(&text, NO_TERM);
        if (source[i] < t->source.n)
            tf_buf_add(&text, t->source.v[source[i]].p, t->source.v[source[i]].n);
    }
    struct tf_wanted_term *v = tf_arena_alloc(mem, (line->n + text.len + 1) * sizeof *v);
    *wanted = (struct tf_wanted){v, line->n};
    memcpy(v, line->v != NULL ? line->v : v, line->n * sizeof *v);
    replace_bad(&text);
    find_terms(t, (struct tf_text){text.p, text.len}, wanted, v);
    tf_buf_release(&text);
    return 0;
}
