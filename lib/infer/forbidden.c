/* forbidden.c - see forbidden_private.h. */
#include "infer/forbidden_private.h"
#include "base/order.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "ops/host_search.h"
#include "text/unicode.h"
#include "text/user_lines.h"

#include <stdlib.h>

enum { EXACT, LOWER };

/* ---- phrases and pieces ---- */

/* A phrase, and what its ends require. */
struct phrase {
    struct tf_text text;
    bool word_start, word_end; /* a letter or digit is there: an edge is needed */
};

/* Does s have an edge there for a phrase that needs one? */
static bool edge(bool needed, struct tf_text s, size_t at)
{
    return !needed || tf_is_word_edge(s.p, s.n, at);
}

static bool has_at(struct tf_text s, size_t at, struct tf_text part)
{
    return s.n - at >= part.n && memcmp(s.p + at, part.p, part.n) == 0;
}

static struct phrase phrase_of(struct tf_text text)
{
    return (struct phrase){text, tf_word_at(text.p, text.n, 0), tf_word_before(text.p, text.n)};
}

static void add_start(struct tf_forbidden_case *c, struct tf_arena *mem, const struct phrase *p,
                      size_t n, const uint32_t *ids, size_t n_ids)
{
    if (n_ids == 0)
        return;
    TF_GROW(c->starts, c->n, c->cap);
    uint32_t *copy = tf_arena_alloc(mem, n_ids * sizeof *copy);
    memcpy(copy, ids, n_ids * sizeof *copy);
    c->starts[c->n++] = (struct tf_forbidden_start){{p->text.p, n}, p->word_start, copy, n_ids};
    c->longest = n > c->longest ? n : c->longest;
}

/* A piece and its id, ordered by text. */
struct piece {
    struct tf_text text;
    uint32_t id;
};

/* Every start of the phrase, of `from` bytes or more, after which an id spells the rest. */
static void add_starts(struct tf_forbidden_case *c, struct tf_arena *mem, const struct phrase *p,
                       size_t from, const struct piece *sorted, uint32_t *ids)
{
    for (size_t n = from; n < p->text.n; n++) {
        const struct tf_text rest = {p->text.p + n, p->text.n - n};
        size_t i, found = 0;
        TF_FIRST(i, 0, c->spelling.n, tf_text_compare(&sorted[i].text, &rest) >= 0);
        for (; i < c->spelling.n && has_at(sorted[i].text, 0, rest); i++)
            if (!p->word_end || !tf_word_at(sorted[i].text.p, sorted[i].text.n, rest.n))
                ids[found++] = sorted[i].id;
        add_start(c, mem, p, n, ids, found);
    }
}

/* Phrases in lower case whose last character has another form, which bytes may spell: the starts
 * that end within it. */
static void add_cut_starts(struct tf_forbidden_case *c, struct tf_arena *mem,
                           const struct phrase *p, size_t n, const struct piece *sorted,
                           uint32_t *ids)
{
    struct tf_buf low = {0}, text = {0};
    for (uint32_t code = 0x80; code <= TF_UC_LAST_CASED; code++) {
        char s[4];
        const struct tf_text other = {s, tf_utf8_encode(s, code)};
        tf_buf_clear(&low);
        tf_lower_part(&low, other);
        for (size_t i = 0; i < n && !tf_text_same(other, (struct tf_text){low.p, low.len}); i++) {
            struct phrase q = p[i];
            const size_t before = q.text.n - low.len;
            if (low.len > q.text.n || memcmp(q.text.p + before, low.p, low.len) != 0)
                continue;
            tf_buf_clear(&text);
            tf_buf_add(&text, q.text.p, before);
            tf_buf_add(&text, other.p, other.n);
            q.text = (struct tf_text){tf_arena_strndup(mem, text.p, text.len), text.len};
            add_starts(c, mem, &q, before + 1, sorted, ids);
        }
    }
    tf_buf_release(&low);
    tf_buf_release(&text);
}

/* Is a phrase inside the piece, after its start? */
static bool is_inside(const struct phrase *p, size_t n, struct tf_text piece)
{
    for (size_t at = 1; at < piece.n; at++)
        for (size_t i = 0; i < n; i++)
            if (has_at(piece, at, p[i].text) && edge(p[i].word_start, piece, at) &&
                edge(p[i].word_end, piece, at + p[i].text.n))
                return true;
    return false;
}

static void index_phrases(struct tf_forbidden *f, struct tf_forbidden_case *c,
                          const struct phrase *p, size_t n)
{
    const size_t V = c->spelling.n;
    f->always = tf_xarray(f->always, f->n_always + V, sizeof *f->always);
    struct piece *sorted = tf_xarray(NULL, V + 1, sizeof *sorted);
    uint32_t *ids = tf_xarray(NULL, V + 1, sizeof *ids);
    for (size_t v = 0; v < V; v++) {
        sorted[v] = (struct piece){c->spelling.v[v], (uint32_t)v};
        if (is_inside(p, n, c->spelling.v[v]))
            f->always[f->n_always++] = (uint32_t)v;
    }
    qsort(sorted, V, sizeof *sorted, tf_text_compare);
    for (size_t i = 0; i < n; i++)
        add_starts(c, &f->mem, &p[i], 0, sorted, ids);
    if (c == &f->as[LOWER] && n > 0)
        add_cut_starts(c, &f->mem, p, n, sorted, ids);
    if (c->n > 0)
        qsort(c->starts, c->n, sizeof *c->starts, tf_text_compare);
    c->has_length = tf_arena_zalloc(&f->mem, c->longest + 1);
    for (size_t i = 0; i < c->n; i++)
        c->has_length[c->starts[i].start.n] = true;
    free(sorted);
    free(ids);
}

/* ---- reading ---- */

/* The phrases of the file by case. */
struct phrases {
    struct tf_arena *mem;
    struct phrase *v[2];
    size_t n[2], cap[2];
};

static int add_line(const struct tf_user_lines *l, struct tf_text line, struct tf_err *err)
{
    struct phrases *p = l->arg;
    struct tf_text text = tf_plain_phrase(p->mem, line.p, line.n);
    struct tf_buf low = {0};
    (void)err;
    if (text.n == 0)
        return 0;
    const int as = tf_is_lower(text) ? LOWER : EXACT;
    if (as == LOWER) {
        tf_lower_part(&low, text);
        text.p = tf_arena_strndup(p->mem, low.p, low.len);
    }
    tf_buf_release(&low);
    TF_GROW(p->v[as], p->n[as], p->cap[as]);
    p->v[as][p->n[as]++] = phrase_of(text);
    return 0;
}

int tf_forbidden_read(struct tf_forbidden *f, const char *path, struct tf_ensemble *m,
                      struct tf_err *err)
{
    struct phrases p = {.mem = &f->mem};
    struct tf_user_lines lines = {.add = add_line, .arg = &p, .longest = 1 << 16};
    static const struct tf_text unknown = {" \u2047 ", 5}; /* as in the text of an output */
    const int64_t unk = m->header.special.unk;
    if (m->vocab == NULL)
        return tf_fail(err, "--forbid: %s has no vocabulary (tf-convert --vocab adds one)",
                       m->name);
    int rc = tf_user_lines_read(&lines, path, err);
    if (rc == 0 && p.n[EXACT] + p.n[LOWER] == 0)
        rc = tf_fail(err, "%s: no words to forbid", path);
    for (int as = EXACT; rc == 0 && as <= LOWER; as++) {
        rc = tf_spelling_read(&f->as[as].spelling, &f->mem, m->target_vocab.p, m->target_vocab.n,
                              as == LOWER, err);
        if (rc == 0 && unk >= 0 && (size_t)unk < f->as[as].spelling.n)
            f->as[as].spelling.v[unk] = unknown;
        if (rc == 0)
            index_phrases(f, &f->as[as], p.v[as], p.n[as]);
    }
    free(p.v[EXACT]);
    free(p.v[LOWER]);
    if (rc != 0)
        return -1;
    tf_ensemble_add_input(m, "forbid", lines.sum);
    return 0;
}

void tf_forbidden_release(struct tf_forbidden *f)
{
    free(f->as[EXACT].starts);
    free(f->as[LOWER].starts);
    free(f->always);
    tf_arena_release(&f->mem);
    *f = (struct tf_forbidden){0};
}

/* ---- the search ---- */

/* The end of the text of live row r, of t ids: at least `need` bytes or all. A character has at
 * most three times the bytes of its lower case. */
static struct tf_text text_end(const struct tf_search *q, const struct tf_forbidden *f, int as,
                               size_t r, size_t t, size_t need, struct tf_buf *buf,
                               struct tf_buf *low)
{
    const struct tf_spelling *s = &f->as[as].spelling;
    size_t n = 0, first = t;
    while (first > 0 && n < 3 * need) {
        const uint32_t id = tf_search_token(q, r, --first);
        n += id < s->n ? s->v[id].n : 0;
    }
    tf_buf_clear(buf);
    for (size_t j = first; j < t; j++) {
        const uint32_t id = tf_search_token(q, r, j);
        if (id < s->n)
            tf_buf_add(buf, s->v[id].p, s->v[id].n);
    }
    if (as == EXACT)
        return (struct tf_text){buf->p, buf->len};
    tf_buf_clear(low);
    tf_lower_part(low, (struct tf_text){buf->p, buf->len});
    return (struct tf_text){low->p, low->len};
}

/* A row of lp, and the sentence that it is of. */
struct place {
    const struct tf_search *q;
    const struct tf_search_view *v;
    tf_mem *lp;
    size_t row;
};

static void forbid(const struct place *p, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t column = tf_search_column(p->v, ids[i]);
        if (column != SIZE_MAX)
            tf_search_exclude(p->q, p->lp, p->row * p->q->lp_ld + column);
    }
}

/* All starts that the text ends in. */
static void forbid_after(const struct tf_forbidden_case *c, struct tf_text text,
                         const struct place *p)
{
    for (size_t n = 0; n <= c->longest && n <= text.n; n++) {
        const struct tf_text end = {text.p + (text.n - n), n};
        size_t i;
        if (!c->has_length[n])
            continue;
        TF_FIRST(i, 0, c->n, tf_text_compare(&c->starts[i].start, &end) >= 0);
        for (; i < c->n && tf_text_same(c->starts[i].start, end); i++) {
            const struct tf_forbidden_start *s = &c->starts[i];
            if (!s->word || !tf_word_before(text.p, text.n - n))
                forbid(p, s->ids, s->n);
        }
    }
}

void tf_forbidden_mask(const struct tf_forbidden *f, const struct tf_search *q, tf_mem *lp)
{
    struct tf_buf buf = {0}, low = {0};
    for (size_t i = 0; i < q->S; i++) {
        const struct tf_search_view v = tf_search_view_of(q, i);
        for (size_t r = v.row0; r < v.row0 + v.live && !v.forced; r++) {
            const struct place p = {q, &v, lp, r};
            forbid(&p, f->always, f->n_always);
            for (int as = EXACT; as <= LOWER; as++) {
                const struct tf_forbidden_case *c = &f->as[as];
                if (c->n == 0)
                    continue;
                forbid_after(c, text_end(q, f, as, r, v.t, c->longest + 4, &buf, &low), &p);
            }
        }
    }
    tf_buf_release(&buf);
    tf_buf_release(&low);
}
