/* sp_check.c - checks of untrusted vocabularies. SentencePiece 0.1 crashes on a piece of a
 * megabyte, since it builds its trie recursively, and its tries end a piece at a NUL: "a" would
 * become the piece "a\0b". */
#include "text/sp_check.h"
#include "base/order.h"
#include "base/utf8.h"
#include "text/sp_charsmap_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int malformed(struct tf_err *err)
{
    return tf_fail(err, "not a SentencePiece model, or a damaged one");
}

/* Check that bytes are no more than most. */
static int check_size(const char *what, size_t n, size_t most, struct tf_err *err)
{
    return n <= most ? 0
                     : tf_fail(err, "SentencePiece model with %s of %zu bytes, at most %zu", what,
                               n, most);
}

/* Check a field of a message `of` ModelProto. */
static int check_field(uint64_t of, const struct tf_proto_field *f, struct tf_err *err)
{
    if (of == TF_PROTO_PIECE && f->number == TF_PROTO_TEXT) {
        if (f->body.n > 0 && memchr(f->body.p, 0, f->body.n) != NULL)
            return tf_fail(err, "SentencePiece model with a NUL in a piece");
        return check_size("a piece", f->body.n, TF_MAX_PIECE, err);
    }
    if (of == TF_PROTO_ADDED && f->number == TF_PROTO_TEXT) {
        if (f->body.n > 0 && tf_utf8_span((const char *)f->body.p, f->body.n) < f->body.n)
            return tf_fail(err, "SentencePiece model with an added token that is not UTF-8");
        return check_size("an added token", f->body.n, TF_MAX_PIECE, err);
    }
    if (of == TF_PROTO_PIECE && f->number == TF_PROTO_SCORE && !isfinite(f->real))
        return tf_fail(err, "SentencePiece model with a score that is not a finite number");
    if (of == TF_PROTO_TRAINER && f->number == TF_PROTO_UNK_SURFACE)
        return check_size("a text for unknown pieces", f->body.n, TF_MAX_PIECE, err);
    if ((of == TF_PROTO_NORMALIZER || of == TF_PROTO_DENORMALIZER) &&
        f->number == TF_PROTO_CHARSMAP)
        return tf_charsmap_check(f->body, err);
    return 0;
}

int tf_sp_check(const void *bytes, size_t n, struct tf_err *err)
{
    struct tf_span m = {bytes, n};
    struct tf_proto_field f, inner;
    size_t pieces = 0;
    while (m.n > 0) {
        if (!tf_proto_field(&m, &f))
            return malformed(err);
        if (f.number == TF_PROTO_UNLISTED)
            f.number = TF_PROTO_PIECE;
        if ((f.number == TF_PROTO_PIECE || f.number == TF_PROTO_ADDED) && ++pieces > TF_MAX_PIECES)
            return tf_fail(err, "SentencePiece model with more than %zu pieces", TF_MAX_PIECES);
        if (f.number != TF_PROTO_CODES && f.number != TF_PROTO_ADDED &&
            (f.number > TF_PROTO_DENORMALIZER || f.number == TF_PROTO_SELF_TEST))
            continue;
        size_t text = 0;
        for (struct tf_span body = f.body; body.n > 0;) {
            if (!tf_proto_field(&body, &inner))
                return malformed(err);
            if (check_field(f.number, &inner, err) != 0)
                return -1;
            if (inner.number == TF_PROTO_TEXT)
                text = inner.body.n;
        }
        if (f.number == TF_PROTO_PIECE && text == 0)
            return tf_fail(err, "SentencePiece model with a piece without text");
    }
    return 0;
}

int tf_sp_texts(struct tf_arena *a, const void *bytes, size_t n, const char *const **texts,
                size_t *n_texts, struct tf_err *err)
{
    const struct tf_span m = {bytes, n};
    struct tf_proto_piece piece;
    size_t pieces = 0, i = 0;
    if (tf_sp_check(bytes, n, err) != 0)
        return -1;
    for (struct tf_span left = m; tf_proto_piece(&left, &piece);)
        pieces++;
    const char **v = tf_arena_zalloc(a, pieces * sizeof *v + 1);
    for (struct tf_span left = m; tf_proto_piece(&left, &piece); i++)
        if (piece.text.p != NULL && tf_utf8_span(piece.text.p, piece.text.n) == piece.text.n)
            v[i] = tf_arena_strndup(a, piece.text.p, piece.text.n);
    *texts = v;
    *n_texts = pieces;
    return 0;
}

static int compare_entries(const void *x, const void *y)
{
    const struct tf_sp_entry *a = x, *b = y;
    const int order = tf_text_compare(&a->text, &b->text);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

int tf_sp_index(struct tf_sp_index *x, struct tf_arena *a, const void *bytes, size_t n,
                struct tf_err *err)
{
    const char *const *texts;
    if (tf_sp_texts(a, bytes, n, &texts, &x->n, err) != 0)
        return -1;
    x->v = tf_arena_alloc(a, (x->n + 1) * sizeof *x->v);
    for (size_t i = 0; i < x->n; i++) {
        const char *text = texts[i] != NULL ? texts[i] : "";
        x->v[i] = (struct tf_sp_entry){{text, strlen(text)}, (uint32_t)i};
    }
    qsort(x->v, x->n, sizeof *x->v, compare_entries);
    return 0;
}

int64_t tf_sp_find(const struct tf_sp_index *x, struct tf_text text)
{
    size_t i;
    TF_FIRST(i, 0, x->n, tf_text_compare(&x->v[i].text, &text) >= 0);
    return i < x->n && tf_text_same(x->v[i].text, text) ? (int64_t)x->v[i].id : -1;
}

int64_t tf_sp_id(const void *bytes, size_t n, const char *text)
{
    struct tf_proto_piece piece;
    int64_t id = 0;
    for (struct tf_span left = {bytes, n}; tf_proto_piece(&left, &piece); id++)
        if (tf_text_is(piece.text, text))
            return id;
    return -1;
}
