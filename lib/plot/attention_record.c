/* attention_record.c - see attention_record.h. */
#include "plot/attention_record.h"
#include "base/arena.h"
#include "base/parse.h"
#include "plot/attention_figure_private.h"
#include "stream/reader.h"
#include <stdio.h>
#include <string.h>

enum { MOST_HEADS = 65536 };

/* A copy of the record to draw. */
struct found {
    bool is;
    struct tf_arena mem;
    struct tf_attn t;
};

static bool fits(const struct tf_attention_record *a, const struct tf_record *r)
{
    return r->type == TF_REC_ATTN && (a->idx < 0 || r->idx == (uint64_t)a->idx) &&
           (a->kind == NULL || strcmp(a->kind, r->attn.kind) == 0) &&
           (!a->layer || r->attn.layer == (uint64_t)a->layer);
}

static const char *const *copy_texts(struct tf_arena *mem, const char *const *texts, size_t n)
{
    const char **v = tf_arena_alloc(mem, n * sizeof *v + 1);
    for (size_t i = 0; i < n; i++)
        v[i] = tf_arena_strndup(mem, texts[i], strlen(texts[i]));
    return v;
}

static void keep_record(struct found *f, const struct tf_record *r)
{
    const struct tf_attn *t = &r->attn;
    size_t n = t->n_heads * t->n_rows * t->n_cols;
    float *weights = tf_arena_alloc(&f->mem, n * sizeof *weights + 1);
    uint32_t *heads = tf_arena_alloc(&f->mem, t->n_heads * sizeof *heads + 1);
    f->is = true;
    f->t = *t;
    f->t.kind = tf_arena_strndup(&f->mem, t->kind, strlen(t->kind));
    f->t.rows = copy_texts(&f->mem, t->rows, t->n_rows);
    f->t.cols = copy_texts(&f->mem, t->cols, t->n_cols);
    f->t.weights = memcpy(weights, t->weights, n * sizeof *weights);
    f->t.heads = memcpy(heads, t->heads, t->n_heads * sizeof *heads);
}

static int search(struct found *f, const struct tf_attention_record *a, struct tf_in *in,
                  struct tf_err *err)
{
    static const char *const kinds[] = {"attention", NULL};
    struct tf_reader *r;
    struct tf_record rec;
    if (tf_reader_new(&r, in, kinds, 0, err) != 0)
        return -1;
    int rc;
    while ((rc = tf_reader_next(r, &rec, err)) > 0)
        if (!f->is && fits(a, &rec))
            keep_record(f, &rec);
    tf_reader_free(r);
    if (rc || f->is)
        return rc;
    struct tf_buf what = {0};
    if (a->kind != NULL)
        tf_buf_printf(&what, " of kind %s", a->kind);
    if (a->layer)
        tf_buf_printf(&what, " of layer %lld", (long long)a->layer);
    if (a->idx >= 0)
        tf_buf_printf(&what, " of sentence %lld", (long long)a->idx);
    rc = tf_fail(err, "%s: no attention%s", in->name, what.p != NULL ? what.p : "");
    tf_buf_release(&what);
    return rc;
}

/* What follows the piece in the text; NULL if the text does not begin with it. A piece has U+2581
 * for a space, which the text may leave out at its start. */
static const char *after_piece(const char *text, const char *piece, bool at_start)
{
    static const char space[] = "\xe2\x96\x81";
    size_t mark = strlen(space);
    if (strncmp(text, piece, strlen(piece)) == 0)
        return text + strlen(piece);
    if (strncmp(piece, space, mark) != 0 || (!at_start && *text != ' '))
        return NULL;
    text += *text == ' ';
    piece += mark;
    return strncmp(text, piece, strlen(piece)) != 0 ? NULL : text + strlen(piece);
}

static bool is_piece(const char *text, const char *piece)
{
    const char *rest = after_piece(text, piece, true);
    return rest != NULL && !*rest;
}

/* The error that no row is this text, with the rows that make it up if there are any. */
static int no_row(const struct tf_attn *t, const char *text, struct tf_err *err)
{
    for (size_t from = 0; from < t->n_rows; from++) {
        const char *rest = text;
        size_t i = from;
        while (rest != NULL && *rest && i < t->n_rows) {
            rest = after_piece(rest, t->rows[i], i == from);
            i++;
        }
        if (rest == NULL || *rest || i == from)
            continue;
        struct tf_buf pieces = {0};
        for (size_t k = from; k < i; k++)
            tf_buf_printf(&pieces, " --token '%s'", t->rows[k]);
        tf_fail(err, "no row is '%s', which is split:%s", text, pieces.p);
        tf_buf_release(&pieces);
        return -1;
    }
    return tf_fail(err, "no row is '%s'", text);
}

/* Set *only to mark the rows of a->tokens; NULL if there are none. */
static int choose_rows(bool **only, struct found *f, const struct tf_attention_record *a,
                       struct tf_err *err)
{
    *only = NULL;
    if (!a->tokens.n)
        return 0;
    *only = tf_arena_zalloc(&f->mem, f->t.n_rows * sizeof **only + 1);
    for (size_t k = 0; k < a->tokens.n; k++) {
        bool any = false;
        for (size_t i = 0; i < f->t.n_rows; i++)
            if (is_piece(a->tokens.v[k], f->t.rows[i]))
                (*only)[i] = any = true;
        if (!any)
            return no_row(&f->t, a->tokens.v[k], err);
    }
    return 0;
}

/* Keep only the heads of a->heads; their numbers go to `numbers`. */
static int choose_heads(int64_t *numbers, struct found *f, const struct tf_attention_record *a,
                        struct tf_err *err)
{
    struct tf_attn *t = &f->t;
    size_t cells = t->n_rows * t->n_cols, n = 0;
    bool *on = tf_arena_zalloc(&f->mem, MOST_HEADS * sizeof *on),
         *there = tf_arena_zalloc(&f->mem, MOST_HEADS * sizeof *there);
    if (tf_parse_list(on, MOST_HEADS, a->heads, err) != 0) {
        err->status = TF_USAGE;
        return tf_context(err, "--head");
    }
    for (size_t h = 0; h < t->n_heads; h++) {
        if (!t->heads[h] || t->heads[h] > MOST_HEADS)
            return tf_fail(err, "head %u: 1 to %d can be drawn", t->heads[h], MOST_HEADS);
        there[t->heads[h] - 1] = true;
    }
    for (size_t i = 0; strcmp(a->heads, "all") != 0 && i < MOST_HEADS; i++)
        if (on[i] && !there[i])
            return tf_fail(err, "no head %zu", i + 1);
    float *weights = tf_arena_alloc(&f->mem, t->n_heads * cells * sizeof *weights + 1);
    for (size_t h = 0; h < t->n_heads; h++)
        if (on[t->heads[h] - 1]) {
            memcpy(weights + n * cells, t->weights + h * cells, cells * sizeof *weights);
            numbers[n++] = t->heads[h];
        }
    t->n_heads = n;
    t->weights = weights;
    return 0;
}

static int draw_record(struct tf_buf *out, struct found *f, const struct tf_attention_record *a,
                       struct tf_err *err)
{
    bool *only;
    char title[96];
    int64_t *numbers = tf_arena_alloc(&f->mem, f->t.n_heads * sizeof *numbers + 1);
    if (choose_rows(&only, f, a, err) != 0 || choose_heads(numbers, f, a, err) != 0)
        return -1;
    const struct tf_attn *t = &f->t;
    snprintf(title, sizeof title, "%.32s attention, layer %llu", t->kind,
             (unsigned long long)t->layer);
    struct tf_attention_figure p = {.figure = a->figure,
                                    .rows = t->rows,
                                    .cols = t->cols,
                                    .n_rows = t->n_rows,
                                    .n_cols = t->n_cols,
                                    .weights = t->weights,
                                    .heads = numbers,
                                    .n_heads = t->n_heads,
                                    .only = only,
                                    .least = a->least};
    if (p.figure.title == NULL)
        p.figure.title = title;
    return a->heat ? tf_attention_heat(out, &p, err) : tf_attention_lines(out, &p, err);
}

int tf_attention_record_draw(struct tf_buf *out, const struct tf_attention_record *a,
                             const char *path, struct tf_err *err)
{
    struct tf_in in;
    struct found f = {0};
    if (tf_in_open(&in, path, err) != 0)
        return -1;
    int rc = search(&f, a, &in, err);
    if (!rc && draw_record(out, &f, a, err) != 0)
        rc = tf_context(err, "%s", in.name);
    tf_in_close(&in);
    tf_arena_release(&f.mem);
    return rc;
}
