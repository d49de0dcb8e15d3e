/* pieces.c - see pieces_private.h. */
#include "text/pieces_private.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_piece(struct tf_pieces *v, enum tf_sp_kind kind, struct tf_trie_piece piece,
                      struct tf_trie_piece *all, size_t *n_all)
{
    if (kind == TF_SP_BYTE)
        v->byte_id[strtoul(piece.text.p + strlen("<0x"), NULL, 16) & 0xff] = piece.id;
    if (kind == TF_SP_NORMAL) {
        v->least = fminf(v->least, piece.score);
        v->most = fmaxf(v->most, piece.score);
    }
    if (kind == TF_SP_USER)
        piece.score = NAN;
    if (kind == TF_SP_NORMAL || kind == TF_SP_USER)
        all[(*n_all)++] = piece;
}

static bool build_user(struct tf_pieces *v, const struct tf_trie_piece *all, size_t n_all,
                       struct tf_trie_piece *room)
{
    size_t n = 0;
    for (size_t i = 0; i < n_all; i++)
        if (isnan(all[i].score))
            room[n++] = all[i];
    v->has_user = n > 0;
    return n == 0 || tf_piece_trie_build(&v->user, room, n);
}

static bool build_back(struct tf_pieces *v, struct tf_trie_piece *all, size_t n)
{
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += all[i].text.n;
    char *text = tf_xmalloc(bytes), *to = text;
    for (size_t i = 0; i < n; i++, to += all[i - 1].text.n) {
        for (size_t k = 0; k < all[i].text.n; k++)
            to[k] = all[i].text.p[all[i].text.n - 1 - k];
        all[i].text.p = to;
    }
    const bool built = tf_piece_trie_build(&v->back, all, n);
    free(text);
    return built;
}

bool tf_pieces_load(struct tf_pieces *v, const struct tf_sp *sp, bool back)
{
    const size_t size = (size_t)tf_sp_all(sp);
    struct tf_trie_piece *all = tf_xarray(NULL, 2 * size, sizeof *all);
    size_t n = 0;
    *v = (struct tf_pieces){.sp = sp,
                            .unigram = tf_sp_sampling(sp) == TF_SP_UNIGRAM,
                            .joins_unknown = tf_sp_joins_unknown(sp),
                            .least = FLT_MAX,
                            .most = FLT_MIN, /* as the library begins */
                            .unk = (uint32_t)tf_sp_unk(sp)};
    for (uint32_t id = 0; id < size; id++) {
        struct tf_trie_piece piece = {.id = id, .score = tf_sp_score(sp, id)};
        piece.text.p = tf_sp_piece(sp, id, &piece.text.n);
        add_piece(v, tf_sp_kind(sp, id), piece, all, &n);
    }
    const bool built = build_user(v, all, n, all + size) && tf_piece_trie_build(&v->all, all, n) &&
                       (!back || build_back(v, all, n));
    free(all);
    return built;
}

void tf_pieces_release(struct tf_pieces *v)
{
    tf_piece_trie_release(&v->user);
    tf_piece_trie_release(&v->all);
    tf_piece_trie_release(&v->back);
}

void tf_pieces_unknown(const struct tf_pieces *v, const char *p, size_t n, struct tf_ids *ids)
{
    if (v->joins_unknown)
        tf_ids_add(ids, &v->unk, 1);
    for (size_t i = 0; i < n && !v->joins_unknown; i++)
        tf_ids_add(ids, &v->byte_id[(unsigned char)p[i]], 1);
}
