/* sp_renumber.c - see sp_renumber.h. */
#include "text/sp_renumber.h"
#include "base/memory.h"
#include "text/piece_list.h"
#include "text/sp_check.h"
#include "text/sp_proto_private.h"
#include "text/tags.h"

#include <stdlib.h>
#include <string.h>

/* Fields of trainer_spec that we write. */
enum { VOCAB_SIZE = 4, UNK_ID = 40, BOS_ID = 41, EOS_ID = 42, PAD_ID = 43 };

struct known {
    struct tf_text text;
    float score;
    int type;
    bool listed;
};

struct list {
    struct known *v; /* pieces that text becomes, by text */
    size_t n;
    float least;         /* score of a normal one */
    bool bytes;          /* those of bytes are kept: all are in the list of texts */
    struct known *texts; /* the list, by text */
    size_t n_texts;
};

static struct tf_text text_of(const char *text)
{
    return (struct tf_text){text, strlen(text)};
}

static void list_pieces(struct list *l, struct tf_span model)
{
    struct tf_proto_piece piece;
    size_t pieces = 0;
    for (struct tf_span left = model, more = model;
         tf_proto_piece(&left, &piece) || tf_proto_unlisted(&more, &piece);)
        pieces++;
    l->v = tf_xcalloc(pieces + 1, sizeof *l->v);
    for (struct tf_span left = model, more = model;
         tf_proto_piece(&left, &piece) || tf_proto_unlisted(&more, &piece);) {
        if (piece.type != TF_PIECE_NORMAL && piece.type != TF_PIECE_USER_DEFINED &&
            piece.type != TF_PIECE_BYTE)
            continue;
        l->v[l->n++] = (struct known){piece.text, piece.score, (int)piece.type, false};
        if (piece.type == TF_PIECE_NORMAL)
            l->least = piece.score < l->least ? piece.score : l->least;
    }
    qsort(l->v, l->n, sizeof *l->v, tf_text_compare);
}

static struct known *find_known(const struct list *l, const char *text)
{
    const struct known key = {.text = text_of(text)};
    return bsearch(&key, l->v, l->n, sizeof *l->v, tf_text_compare);
}

static bool has_bytes(const struct list *l, const char *const *texts, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const struct known *own = find_known(l, texts[i]);
        bytes += own != NULL && own->type == TF_PIECE_BYTE;
    }
    return bytes == 256;
}

/* ---- writing ---- */

static void put_piece(struct tf_buf *out, struct tf_buf *work, const char *prefix, const char *text,
                      float score, int type)
{
    const struct tf_proto_piece p = {.text = text_of(text),
                                     .score = score,
                                     .type = type};
    tf_proto_put_piece(out, work, TF_PROTO_PIECE, prefix, &p);
}

/* A piece that has a meaning of its own. */
static bool put_special(struct tf_buf *out, struct tf_buf *work, const char *text)
{
    const bool unknown = strcmp(text, "<unk>") == 0;
    if (!unknown && strcmp(text, "</s>") != 0 && strcmp(text, "<s>") != 0 &&
        strcmp(text, "<pad>") != 0)
        return false;
    put_piece(out, work, "", text, 0, unknown ? TF_PIECE_UNKNOWN : TF_PIECE_CONTROL);
    return true;
}

/* Does another program begin targets with it, so that it is not of their text? */
static bool begins(const struct tf_sp_side *side, const char *text)
{
    return side->target && ((*text != '>' && tf_is_tag(text)) ||
                            (side->begin != NULL && strcmp(text, side->begin) == 0));
}

/* A symbol with a space before it, or without where the list has a piece of that text. The model's
 * own piece of that text is no longer one. */
static void put_after_space(struct tf_buf *out, struct tf_buf *work, const struct list *l,
                            const char *text, int type)
{
    tf_buf_clear(work);
    tf_buf_str(work, TF_SPACE);
    tf_buf_str(work, text);
    struct known *own = find_known(l, work->p);
    const struct known key = {.text = {work->p, work->len}};
    const bool twice =
        bsearch(&key, l->texts, l->n_texts, sizeof *l->texts, tf_text_compare) != NULL;
    if (own != NULL && !twice)
        own->listed = true;
    put_piece(out, work, twice ? "" : TF_SPACE, text, 0, type);
}

/* A tag with which text begins; elsewhere it is what the model makes of such text. */
static void put_first(struct tf_buf *out, struct tf_buf *work, const struct list *l,
                      const struct known *own, const char *text, size_t id)
{
    if (own != NULL)
        put_piece(out, work, "", text, own->score, own->type);
    else
        put_after_space(out, work, l, text, TF_PIECE_UNUSED);
    tf_proto_put_added(out, work,
                       &(struct tf_proto_added){text_of(text), (int64_t)id,
                                                TF_ADDED | TF_ADDED_SPACED | TF_ADDED_FIRST});
}

/* A token, which is no longer in the text that is segmented. Its spaces are those of pieces. */
static void put_added(struct tf_buf *out, struct tf_buf *work, const struct list *l,
                      const char *token, size_t id, unsigned flags)
{
    struct tf_buf text = {0};
    for (const char *p = token; *p != 0; p++)
        if (*p == ' ')
            tf_buf_str(&text, TF_SPACE);
        else
            tf_buf_byte(&text, (unsigned char)*p);
    struct known *own = find_known(l, text.p);
    if (own != NULL)
        own->listed = true;
    if (own != NULL && own->type == TF_PIECE_NORMAL && (flags & TF_ADDED_WORD))
        put_piece(out, work, "", text.p, own->score, own->type); /* within words it is a piece */
    else if (flags & TF_ADDED_SPACED)
        put_after_space(out, work, l, text.p, TF_PIECE_UNUSED);
    else
        put_piece(out, work, "", text.p, 0, TF_PIECE_UNUSED);
    tf_proto_put_added(out, work,
                       &(struct tf_proto_added){text_of(token), (int64_t)id, flags});
    tf_buf_release(&text);
}

/* Pieces that text becomes and that are not in the list. */
static void put_unlisted(struct tf_buf *out, struct tf_buf *work, const struct list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct known *k = &l->v[i];
        if (!k->listed && k->type != TF_PIECE_BYTE)
            tf_proto_put_piece(out, work, TF_PROTO_UNLISTED, "",
                               &(struct tf_proto_piece){k->text, k->score, k->type, -1});
    }
}

static void put_known(struct tf_buf *out, struct tf_buf *work, const struct list *l,
                      const char *text, size_t id, const struct tf_sp_side *side)
{
    struct known *own = find_known(l, text);
    if (own != NULL)
        own->listed = true;
    if (own != NULL && own->type == TF_PIECE_BYTE && !l->bytes)
        own = NULL;
    if (put_special(out, work, text))
        return;
    if (*text == '>' && tf_is_tag(text))
        put_first(out, work, l, own, text, id);
    else if (own == NULL && tf_is_tag(text))
        put_after_space(out, work, l, text,
                        begins(side, text) ? TF_PIECE_CONTROL : TF_PIECE_USER_DEFINED);
    else if (begins(side, text))
        put_piece(out, work, "", text, 0, TF_PIECE_CONTROL);
    else if (own != NULL)
        put_piece(out, work, "", text, own->score, own->type);
    else
        put_piece(out, work, "", text, l->least - 10, TF_PIECE_UNUSED);
}

static int64_t id_of(const char *const *texts, size_t n, const char *text)
{
    return tf_piece_list_id(&(struct tf_piece_list){texts, n}, text);
}

/* Append a trainer_spec to another, but for what is about ids. bytes: it may ask for pieces of
 * bytes. */
static void add_trainer(struct tf_buf *work, struct tf_span spec, bool bytes)
{
    struct tf_proto_field f;
    for (struct tf_span left = spec; tf_proto_field(&left, &f);)
        if (f.number != VOCAB_SIZE && (f.number < UNK_ID || f.number > PAD_ID) &&
            (bytes || f.number != TF_PROTO_BYTE_FALLBACK))
            tf_buf_add(work, f.all.p, f.all.n);
}

/* trainer_spec with the ids and the number of the new pieces. */
static void put_trainer(struct tf_buf *out, struct tf_buf *work, const char *const *texts, size_t n)
{
    tf_proto_put_number(work, VOCAB_SIZE, n);
    tf_proto_put_number(work, UNK_ID, (uint64_t)id_of(texts, n, "<unk>"));
    tf_proto_put_number(work, BOS_ID, (uint64_t)id_of(texts, n, "<s>"));
    tf_proto_put_number(work, EOS_ID, (uint64_t)id_of(texts, n, "</s>"));
    tf_proto_put_number(work, PAD_ID, (uint64_t)id_of(texts, n, "<pad>"));
    tf_proto_put_bytes(out, TF_PROTO_TRAINER, work->p, work->len);
}

/* *sorted = the texts, on the heap. */
static int sort_texts(struct known **sorted, const char *const *texts, size_t n, struct tf_err *err)
{
    if (id_of(texts, n, "<unk>") < 0)
        return tf_fail(err, "no piece <unk>");
    struct known *v = tf_xcalloc(n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i].text = text_of(texts[i]);
    qsort(v, n, sizeof *v, tf_text_compare);
    const bool empty = v[0].text.n == 0;
    const char *twice = NULL;
    for (size_t i = 1; i < n && twice == NULL; i++)
        if (tf_text_compare(&v[i - 1], &v[i]) == 0)
            twice = v[i].text.p;
    *sorted = v;
    if (twice == NULL && !empty)
        return 0;
    free(v);
    return empty ? tf_fail(err, "a piece without text")
                 : tf_fail(err, "piece '%s' is there twice", twice);
}

int tf_sp_renumber(struct tf_buf *out, const void *bytes, size_t n,
                   const struct tf_piece_list *list, const uint8_t *added,
                   const struct tf_sp_side *side, struct tf_err *err)
{
    const struct tf_span model = {bytes, n};
    struct list l = {.n_texts = list->n};
    struct tf_buf work = {0};
    struct tf_proto_field f;
    if (tf_sp_check(bytes, n, err) != 0 || sort_texts(&l.texts, list->v, list->n, err) != 0)
        return -1;
    list_pieces(&l, model);
    l.bytes = has_bytes(&l, list->v, list->n);
    for (size_t i = 0; i < list->n; i++)
        if (added != NULL && added[i] && (side->own_tags || !tf_is_tag(list->v[i])))
            put_added(out, &work, &l, list->v[i], i, added[i]);
        else
            put_known(out, &work, &l, list->v[i], i, side);
    put_unlisted(out, &work, &l);
    tf_proto_put_number(out, TF_PROTO_RENUMBERED, 1);
    tf_buf_clear(&work);
    for (struct tf_span left = model; tf_proto_field(&left, &f);)
        if (f.number == TF_PROTO_TRAINER) /* one or several, which are one */
            add_trainer(&work, f.body, l.bytes);
        else if (f.number != TF_PROTO_PIECE && f.number != TF_PROTO_SELF_TEST &&
                 (f.number < TF_PROTO_CODES || f.number >= TF_PROTO_ENDS))
            tf_buf_add(out, f.all.p, f.all.n);
    put_trainer(out, &work, list->v, list->n);
    tf_buf_release(&work);
    free(l.texts);
    free(l.v);
    return 0;
}

static void put_codes(struct tf_buf *out, struct tf_buf *work, const struct tf_bpe_codes *codes)
{
    tf_buf_clear(work);
    tf_proto_put_bytes(work, TF_PROTO_CODES_LINES, codes->lines, codes->n);
    tf_proto_put_number(work, TF_PROTO_CODES_END_ALONE, codes->end_alone);
    tf_proto_put_number(work, TF_PROTO_CODES_END_IN_PIECES, codes->end_in_pieces);
    tf_proto_put_bytes(out, TF_PROTO_CODES, work->p, work->len);
}

int tf_sp_words(struct tf_buf *out, const char *const *texts, size_t n_texts,
                const struct tf_bpe_codes *codes, const struct tf_sp_side *side, struct tf_err *err)
{
    struct tf_buf work = {0};
    struct known *sorted;
    if (sort_texts(&sorted, texts, n_texts, err) != 0)
        return -1;
    free(sorted);
    for (size_t i = 0; i < n_texts; i++)
        if (codes == NULL && strstr(texts[i], TF_SPACE) != NULL)
            return tf_fail(err, "'%s': a piece of a SentencePiece model, which is needed",
                           texts[i]);
    for (size_t i = 0; i < n_texts; i++)
        if (!put_special(out, &work, texts[i]))
            put_piece(out, &work, TF_SPACE, texts[i], 0,
                      begins(side, texts[i]) ? TF_PIECE_CONTROL : TF_PIECE_NORMAL);
    tf_buf_clear(&work);
    tf_proto_put_number(&work, TF_PROTO_MODEL_TYPE, TF_TYPE_WORD);
    put_trainer(out, &work, texts, n_texts);
    if (codes != NULL)
        put_codes(out, &work, codes);
    else
        tf_proto_put_number(out, TF_PROTO_WORDS, 1);
    tf_buf_release(&work);
    return 0;
}

int tf_sp_foreign_texts(struct tf_arena *a, const void *bytes, size_t n, const char *const **texts,
                        size_t *n_texts, struct tf_err *err)
{
    const struct tf_span model = {bytes, n};
    struct tf_proto_piece piece;
    if (tf_sp_texts(a, bytes, n, texts, n_texts, err) != 0)
        return -1;
    const char **v = tf_arena_alloc(a, (*n_texts + 1) * sizeof *v);
    size_t i = 0;
    for (struct tf_span left = model; tf_proto_piece(&left, &piece); i++) {
        const bool symbol = piece.type == TF_PIECE_USER_DEFINED ||
                            piece.type == TF_PIECE_CONTROL || piece.type == TF_PIECE_UNUSED;
        v[i] = (*texts)[i];
        if (v[i] != NULL && symbol && strncmp(v[i], TF_SPACE, sizeof TF_SPACE - 1) == 0 &&
            tf_is_tag(v[i] + sizeof TF_SPACE - 1))
            v[i] += sizeof TF_SPACE - 1;
    }
    *texts = v;
    return 0;
}

void tf_sp_put_foreign(struct tf_buf *out, const void *bytes, size_t n)
{
    const struct tf_span model = {bytes, n};
    struct tf_buf more = {0}, work = {0};
    struct tf_proto_piece piece;
    struct tf_proto_field f;
    for (struct tf_span left = model; tf_proto_unlisted(&left, &piece);)
        if (piece.stands_for < 0)
            tf_proto_put_piece(&more, &work, TF_PROTO_PIECE, "", &piece);
    for (struct tf_span left = model; tf_proto_field(&left, &f);)
        if (more.len == 0 || (f.number != TF_PROTO_UNLISTED && f.number != TF_PROTO_RENUMBERED))
            tf_buf_add(out, f.all.p, f.all.n);
    if (more.len > 0)
        tf_buf_add(out, more.p, more.len);
    tf_buf_release(&more);
    tf_buf_release(&work);
}

/* Text of a piece, with its spaces. */
static const char *token_of(struct tf_arena *a, struct tf_text piece)
{
    char *text = tf_arena_strndup(a, piece.p, piece.n), *to = text;
    for (const char *p = text; *p != 0;) {
        const bool space = strncmp(p, TF_SPACE, sizeof TF_SPACE - 1) == 0;
        *to++ = space ? ' ' : *p;
        p += space ? sizeof TF_SPACE - 1 : 1;
    }
    *to = 0;
    return text;
}

struct tf_sp_token *tf_sp_added(struct tf_arena *a, const void *bytes, size_t n, size_t *n_tokens)
{
    const struct tf_span model = {bytes, n};
    struct tf_proto_added t;
    struct tf_proto_piece piece;
    *n_tokens = 0;
    for (struct tf_span left = model; tf_proto_unlisted(&left, &piece);)
        *n_tokens += piece.stands_for >= 0;
    for (struct tf_span left = model; tf_proto_added(&left, &t);)
        *n_tokens += (t.flags & TF_ADDED_FIRST) == 0;
    struct tf_sp_token *v = tf_arena_alloc(a, (*n_tokens + 1) * sizeof *v), *to = v;
    for (struct tf_span left = model; tf_proto_added(&left, &t);)
        if ((t.flags & TF_ADDED_FIRST) == 0)
            *to++ = (struct tf_sp_token){tf_arena_strndup(a, t.text.p, t.text.n), t.id, t.flags};
    for (struct tf_span left = model; tf_proto_unlisted(&left, &piece);)
        if (piece.stands_for >= 0)
            *to++ = (struct tf_sp_token){token_of(a, piece.text), piece.stands_for, TF_ADDED};
    return v;
}
