/* segment.c - see segment_private.h. */
#include "text/segment_private.h"
#include "base/memory.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_PENALTY 10.0f  /* kUnkPenalty */
enum { KEEP_BYTES = 1 << 16 }; /* a larger room is freed after a line */

/* ---- loading ---- */

static bool has_inner_space(const char *p, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (tf_piece_space(p + i, n - i) > 0)
            return true;
    return false;
}

/* Whether the library's rules for these pieces are here. Its BPE looks for a control piece, the
 * unknown one or a byte piece first, and refuses a line with a control piece: text must not become
 * these. Notes whether words are apart. */
static bool check_pieces(struct tf_segmenter *s)
{
    const struct tf_sp *sp = s->pieces.sp;
    s->words = true;
    for (uint32_t id = 0; !s->pieces.unigram && id < (uint64_t)tf_sp_all(sp); id++) {
        const enum tf_sp_kind kind = tf_sp_kind(sp, id);
        size_t n;
        uint32_t other;
        const char *p = tf_sp_piece(sp, id, &n);
        if (kind == TF_SP_NORMAL)
            s->words &= !has_inner_space(p, n);
        else if (kind == TF_SP_UNUSED && !tf_sp_renumbered(sp))
            return false;
        else if (kind != TF_SP_USER && kind != TF_SP_UNUSED &&
                 (n <= tf_pieces_char(p, SIZE_MAX) ||
                  tf_piece_longest(&s->pieces.all, p, n, &other) == n))
            return false;
    }
    return true;
}

struct tf_segmenter *tf_segmenter_new(const struct tf_sp *sp, const void *bytes, size_t n)
{
    /* The compiler chose how the library's sums round. */
    const bool excess = FLT_EVAL_METHOD != 0 && tf_sp_sampling(sp) == TF_SP_UNIGRAM;
    if (excess || tf_sp_sampling(sp) == TF_SP_NO_SAMPLING || tf_sp_unk(sp) < 0)
        return NULL;
    struct tf_segmenter *s = tf_xcalloc(1, sizeof *s);
    if (!tf_pieces_load(&s->pieces, sp, false) || !check_pieces(s)) {
        tf_segmenter_free(s);
        return NULL;
    }
    s->unknown_score = s->pieces.least - UNKNOWN_PENALTY;
    tf_normal_read(&s->normal, bytes, n, &s->pieces.user);
    return s;
}

void tf_segmenter_free(struct tf_segmenter *s)
{
    if (s == NULL)
        return;
    tf_pieces_release(&s->pieces);
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

void tf_segment(const struct tf_segmenter *s, struct tf_segment_room *room, const char *text,
                size_t n, struct tf_ids *ids)
{
    const size_t start = ids->n;
    tf_buf_clear(&room->text);
    tf_normalise(&s->normal, text, n, &room->text);
    if (room->text.len == 0)
        return;
    const char *normal = room->text.p;
    (s->pieces.unigram ? tf_segment_unigram : tf_segment_bpe)(s, room, normal, room->text.len, ids);
    tf_sp_finish(s->pieces.sp, normal, room->text.len, ids, start);
    if (room->text.len > KEEP_BYTES)
        empty(room);
}
