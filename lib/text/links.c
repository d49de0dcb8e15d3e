/* links.c - see links.h. */
#include "text/links.h"
#include "base/memory.h"
#include "base/parse.h"
#include "stream/sentence.h"
#include "text/sp_piece.h"

#include <stdlib.h>
#include <string.h>

enum { NO_WORD = UINT32_MAX, SPACES = UINT32_MAX - 1 };

int tf_links_parse(struct tf_links *l, const char *word, struct tf_err *err)
{
    struct tf_err ignored = {0};
    l->soft = strcmp(word, "soft") == 0;
    l->above = 1;
    if (l->soft || strcmp(word, "hard") == 0 || tf_parse_real(&l->above, word, 0, 1, &ignored) == 0)
        return 0;
    return tf_fail_status(err, TF_USAGE,
                          "--alignment %.40s: neither hard, soft nor a number from "
                          "0 to 1",
                          word);
}

/* ---- words ---- */

struct words {
    uint32_t *of; /* of each piece, from 0; NO_WORD */
    size_t n;
};

/* The word of one more piece whose text this is; SPACES if it has only these. */
static uint32_t add_text(struct words *w, bool *within, const char *p, size_t n)
{
    uint32_t word = SPACES;
    for (const char *end = p + n; p < end;) {
        const size_t space = tf_piece_space(p, (size_t)(end - p));
        w->n += space == 0 && !*within;
        *within = space == 0;
        if (space == 0 && word == SPACES)
            word = (uint32_t)w->n - 1;
        p += space > 0 ? space : 1;
    }
    return word;
}

/* The same for a byte: a line feed is printed as a space. */
static uint32_t add_byte(struct words *w, bool *within, const char *piece)
{
    const bool is_space = strncmp(piece, "<0x20>", 6) == 0 || strncmp(piece, "<0x0A>", 6) == 0;
    return add_text(w, within, is_space ? TF_SPACE : "x", is_space ? sizeof TF_SPACE - 1 : 1);
}

static uint32_t add_piece(struct words *w, bool *within, const struct tf_sp *sp, uint32_t id,
                          bool target)
{
    size_t n;
    const char *piece = tf_sp_piece(sp, id, &n);
    switch (tf_sp_kind(sp, id)) {
    case TF_SP_CONTROL:
        return NO_WORD;
    case TF_SP_UNKNOWN:
        *within = *within && !target;
        n = add_text(w, within, "x", 1);
        *within = !target;
        return (uint32_t)n;
    case TF_SP_BYTE:
        return add_byte(w, within, piece);
    default:
        return add_text(w, within, piece, n);
    }
}

static struct words words_of(const struct tf_vocab *v, const uint32_t *ids, size_t n, bool target)
{
    struct words w = {.of = tf_xarray(NULL, n + 1, sizeof *w.of)};
    bool within = false;
    for (size_t i = 0; i < n; i++)
        if (v->bpe == NULL) {
            w.of[i] = add_piece(&w, &within, v->sp, ids[i], target);
        } else if (tf_sp_kind(v->sp, ids[i]) == TF_SP_CONTROL) {
            w.of[i] = NO_WORD;
        } else {
            w.n += !within;
            w.of[i] = (uint32_t)w.n - 1;
            within = !tf_bpe_ends_word(v->bpe, ids[i]);
        }
    w.of[n] = NO_WORD; /* the end */
    uint32_t next = NO_WORD;
    for (size_t i = n; i-- > 0;)
        if (w.of[i] == SPACES)
            w.of[i] = next;
        else if (w.of[i] != NO_WORD)
            next = w.of[i];
    return w;
}

/* ---- weights ---- */

struct matrix {
    float *w;
    size_t rows, cols; /* of the last column the end, if has_end */
    bool has_end;
};

/* From pieces to words, which the end follows as one more column. */
static struct matrix mean(const struct tf_aligned *a, size_t cols, struct words t, struct words s)
{
    struct matrix m = {.rows = t.n, .cols = s.n + 1, .has_end = true};
    double *sum = tf_xcalloc(m.rows * m.cols + 1, sizeof *sum);
    size_t *pieces = tf_xcalloc(t.n + 1, sizeof *pieces);
    for (size_t i = 0; i < a->n; i++) {
        if (t.of[i] == NO_WORD)
            continue;
        pieces[t.of[i]]++;
        for (size_t k = 0; k < cols; k++)
            if (k == a->n_source || s.of[k] != NO_WORD)
                sum[t.of[i] * m.cols + (k == a->n_source ? s.n : s.of[k])] +=
                    (double)a->weights[i * cols + k];
    }
    m.w = tf_xarray(NULL, m.rows * m.cols + 1, sizeof *m.w);
    for (size_t i = 0; i < m.rows * m.cols; i++)
        m.w[i] = (float)(pieces[i / m.cols] > 0 ? sum[i] / (double)pieces[i / m.cols] : 0);
    free(sum);
    free(pieces);
    return m;
}

/* A piece may have many words. */
static int by_words(struct matrix *m, const struct tf_vocab *v, const struct tf_aligned *a,
                    size_t cols, struct tf_err *err)
{
    struct words t = words_of(v, a->ids, a->n, true),
                 s = words_of(v->source != NULL ? v->source : v, a->source, a->n_source, false);
    const size_t most = TF_MAX_RECORD / sizeof *m->w;
    const bool fits = t.n <= most / (s.n + 1);
    if (fits)
        *m = mean(a, cols, t, s);
    free(t.of);
    free(s.of);
    return fits ? 0
                : tf_fail(err, "an alignment of %zu words and %zu: at most %zu weights", t.n, s.n,
                          most);
}

/* ---- text ---- */

static void put_soft(struct tf_buf *out, const struct matrix *m)
{
    const size_t cols = m->cols - m->has_end;
    for (size_t i = 0; i < m->rows; i++) {
        if (i > 0)
            tf_buf_byte(out, ' ');
        for (size_t k = 0; k < cols; k++)
            tf_buf_printf(out, "%s%g", k > 0 ? "," : "", (double)m->w[i * m->cols + k]);
    }
}

static size_t largest(const float *w, size_t n)
{
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
        if (w[k] > w[best])
            best = k;
    return best;
}

/* In the order of sources, then of targets. */
static void put_hard(struct tf_buf *out, const struct matrix *m, double above)
{
    const size_t cols = m->cols - m->has_end;
    size_t *most = tf_xarray(NULL, m->rows + 1, sizeof *most);
    const char *between = "";
    for (size_t i = 0; i < m->rows; i++)
        most[i] = largest(m->w + i * m->cols, m->cols);
    for (size_t k = 0; k < cols; k++)
        for (size_t i = 0; i < m->rows; i++) {
            const float w = m->w[i * m->cols + k];
            if (above < 1 ? w <= (float)above : most[i] != k || w <= 0)
                continue;
            tf_buf_printf(out, "%s%zu-%zu", between, k, i);
            between = " ";
        }
    free(most);
}

/* Append a source piece's text without its spaces. */
static void add_unspaced(struct tf_buf *out, const struct tf_sp *sp, uint32_t id)
{
    size_t n;
    const char *p = tf_sp_piece(sp, id, &n), *end = p + n;
    while (p < end) {
        const size_t space = tf_piece_space(p, (size_t)(end - p));
        tf_buf_add(out, p, space == 0 && *p != ' ');
        p += space > 0 ? space : 1;
    }
}

/* The source words with unknown pieces. With codes of subword-nmt such a piece is a whole word. */
static void put_unknown(struct tf_buf *out, const struct tf_vocab *v, const uint32_t *ids, size_t n)
{
    struct words w = words_of(v, ids, n, false);
    struct tf_buf known = {0}, between = {0};
    for (size_t i = 0, end; i < n; i = end) {
        size_t before = 0;
        bool any = false;
        tf_buf_clear(&known);
        tf_buf_clear(&between);
        for (end = i; end < n && w.of[end] == w.of[i]; end++)
            if (w.of[i] != NO_WORD && tf_sp_kind(v->sp, ids[end]) == TF_SP_UNKNOWN) {
                if (!any) {
                    before = known.len;
                } else if (known.len > 0) {
                    tf_buf_str(&between, " =");
                    tf_buf_add(&between, known.p, known.len);
                }
                any = true;
                tf_buf_clear(&known);
            } else if (v->bpe == NULL) {
                add_unspaced(&known, v->sp, ids[end]);
            }
        if (any) {
            tf_buf_printf(out, " ?%lu:%zu:%zu", (unsigned long)w.of[i], before, known.len);
            tf_buf_add(out, between.p, between.len);
        }
    }
    tf_buf_release(&known);
    tf_buf_release(&between);
    free(w.of);
}

static int check(const struct tf_vocab *v, const struct tf_aligned *a, struct tf_err *err)
{
    const struct tf_sp *sp = v->source != NULL ? v->source->sp : v->sp;
    if (tf_alignment_check(a->n, a->n_source, a->weights, a->n_weights, err) != 0)
        return -1;
    for (size_t i = 0; i < a->n_source; i++)
        if (a->source[i] >= (uint64_t)tf_sp_size(sp))
            return tf_fail(err, "source: id %lu: the vocabulary has %lld",
                           (unsigned long)a->source[i], (long long)tf_sp_size(sp));
    return 0;
}

int tf_links_put(struct tf_buf *out, const struct tf_links *l, const struct tf_vocab *v,
                 const struct tf_aligned *a, struct tf_err *err)
{
    if (check(v, a, err) != 0)
        return -1;
    if (a->n_weights == 0)
        return 0;
    const size_t cols = a->n_weights / (a->n + 1);
    struct matrix m = {(float *)(uintptr_t)a->weights, a->n + 1, cols, false};
    if (!l->pieces && by_words(&m, v, a, cols, err) != 0)
        return -1;
    if (l->soft)
        put_soft(out, &m);
    else
        put_hard(out, &m, l->above);
    if (!l->pieces)
        free(m.w);
    if (l->unknown)
        put_unknown(out, v->source != NULL ? v->source : v, a->source, a->n_source);
    return 0;
}
