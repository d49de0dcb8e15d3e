/* segment.c - see segment_private.h. */
#include "text/segment_private.h"
#include "base/memory.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define SPACE "\xe2\x96\x81"   /* U+2581 */
#define UNKNOWN_PENALTY 10.0f  /* kUnkPenalty */
enum { KEEP_BYTES = 1 << 16 }; /* a larger room is freed after a line */

/* ---- loading ---- */

struct lists {
    struct tf_trie_piece *all, *user;
    size_t n_all, n_user;
};

static bool has_inner_space(const char *p, size_t n)
{
    const size_t space = sizeof SPACE - 1;
    for (size_t i = 1; i + space <= n; i++)
        if (memcmp(p + i, SPACE, space) == 0)
            return true;
    return false;
}

static void add_normal(struct tf_segmenter *s, float *least, const struct tf_trie_piece *piece)
{
    *least = piece->score < *least ? piece->score : *least;
    s->most = piece->score > s->most ? piece->score : s->most;
    s->words &= !has_inner_space(piece->p, piece->n);
}

/* Fill the lists. False: the pieces need the library. */
static bool list_pieces(struct tf_segmenter *s, const struct tf_sp *sp, struct lists *l)
{
    float least = FLT_MAX;
    s->most = FLT_MIN; /* as the library begins */
    for (uint32_t id = 0; id < (uint64_t)tf_sp_all(sp); id++) {
        struct tf_trie_piece piece = {.id = id, .score = tf_sp_score(sp, id)};
        piece.p = tf_sp_piece(sp, id, &piece.n);
        const enum tf_sp_kind kind = tf_sp_kind(sp, id);
        if (kind == TF_SP_NORMAL || kind == TF_SP_USER) {
            l->all[l->n_all++] = piece;
            s->is_user[id] = kind == TF_SP_USER;
            if (kind == TF_SP_USER)
                l->user[l->n_user++] = piece;
            else
                add_normal(s, &least, &piece);
        } else if (kind == TF_SP_BYTE) {
            s->byte_id[strtoul(piece.p + strlen("<0x"), NULL, 16) & 0xff] = id;
        } else if (kind == TF_SP_UNUSED && !s->unigram && !tf_sp_renumbered(sp)) {
            return false;
        }
    }
    s->unknown_score = least - UNKNOWN_PENALTY;
    return true;
}

/* Whether text never becomes a control piece, the unknown one or a byte piece: the library's BPE
 * looks for these first, and refuses a line with a control piece. */
static bool reserved_apart(const struct tf_segmenter *s, const struct tf_sp *sp)
{
    for (uint32_t id = 0; !s->unigram && id < (uint64_t)tf_sp_all(sp); id++) {
        const enum tf_sp_kind kind = tf_sp_kind(sp, id);
        size_t n;
        uint32_t other;
        const char *p = tf_sp_piece(sp, id, &n);
        if (kind != TF_SP_NORMAL && kind != TF_SP_USER && kind != TF_SP_UNUSED &&
            (n <= tf_segment_char(p, SIZE_MAX) || tf_piece_longest(&s->all, p, n, &other) == n))
            return false;
    }
    return true;
}

static bool load(struct tf_segmenter *s, const struct tf_sp *sp, struct lists *l)
{
    s->unigram = tf_sp_sampling(sp) == TF_SP_UNIGRAM;
    s->joins_unknown = tf_sp_joins_unknown(sp);
    s->unk = (uint32_t)tf_sp_unk(sp);
    s->words = true;
    if (s->unigram && FLT_EVAL_METHOD != 0) /* the compiler chose how the library's sums round */
        return false;
    if (tf_sp_sampling(sp) == TF_SP_NO_SAMPLING || tf_sp_unk(sp) < 0 || !list_pieces(s, sp, l))
        return false;
    s->has_user = l->n_user > 0;
    return tf_piece_trie_build(&s->all, l->all, l->n_all) &&
           (!s->has_user || tf_piece_trie_build(&s->user, l->user, l->n_user)) &&
           reserved_apart(s, sp);
}

struct tf_segmenter *tf_segmenter_new(const struct tf_sp *sp, const void *bytes, size_t n)
{
    const size_t size = (size_t)tf_sp_all(sp);
    struct tf_segmenter *s = tf_xcalloc(1, sizeof *s);
    struct lists l = {.all = tf_xarray(NULL, size, sizeof *l.all),
                      .user = tf_xarray(NULL, size, sizeof *l.user)};
    s->is_user = tf_xcalloc(size, sizeof *s->is_user);
    s->sp = sp;
    const bool loaded = load(s, sp, &l);
    free(l.all);
    free(l.user);
    if (!loaded) {
        tf_segmenter_free(s);
        return NULL;
    }
    tf_normal_read(&s->normal, bytes, n, &s->user);
    return s;
}

void tf_segmenter_free(struct tf_segmenter *s)
{
    if (s == NULL)
        return;
    tf_piece_trie_release(&s->all);
    tf_piece_trie_release(&s->user);
    free(s->is_user);
    free(s);
}

/* ---- use ---- */

struct tf_segment_room *tf_segment_room_new(void)
{
    return tf_xcalloc(1, sizeof(struct tf_segment_room));
}

/* Free what grows with a line. */
static void empty(struct tf_segment_room *room)
{
    struct tf_segment_word *words = room->words;
    tf_buf_release(&room->text);
    free(room->paths);
    free(room->symbols);
    free(room->merges.v);
    *room = (struct tf_segment_room){.words = words};
}

void tf_segment_room_free(struct tf_segment_room *room)
{
    if (room == NULL)
        return;
    empty(room);
    free(room->words);
    free(room);
}

void tf_segment_unknown(const struct tf_segmenter *s, const char *p, size_t n, struct tf_ids *ids)
{
    if (s->joins_unknown)
        tf_ids_add(ids, &s->unk, 1);
    for (size_t i = 0; i < n && !s->joins_unknown; i++)
        tf_ids_add(ids, &s->byte_id[(unsigned char)p[i]], 1);
}

/* Make one of adjacent unknown ids. */
static void join_unknown(const struct tf_segmenter *s, struct tf_ids *ids, size_t start)
{
    size_t n = start;
    for (size_t i = start; i < ids->n; i++)
        if (i == start || ids->v[i] != s->unk || ids->v[i - 1] != s->unk)
            ids->v[n++] = ids->v[i];
    ids->n = n;
}

void tf_segment(const struct tf_segmenter *s, struct tf_segment_room *room, const char *text,
                size_t n, struct tf_ids *ids)
{
    const size_t start = ids->n;
    tf_buf_clear(&room->text);
    tf_normalise(&s->normal, text, n, &room->text);
    if (room->text.len == 0)
        return;
    (s->unigram ? tf_segment_unigram : tf_segment_bpe)(s, room, room->text.p, room->text.len, ids);
    if (tf_sp_renumbered(s->sp))
        tf_sp_finish(s->sp, room->text.p, room->text.len, ids, start);
    else if (s->joins_unknown)
        join_unknown(s, ids, start);
    if (room->text.len > KEEP_BYTES)
        empty(room);
}
