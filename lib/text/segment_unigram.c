/* segment_unigram.c - the path of the highest score through the pieces of a text. Sums are those of
 * the library, in the same order and precision: of paths with equal sums the first one stays. So
 * words can't be segmented one by one, since the sum before them rounds theirs. */
#include "base/memory.h"
#include "text/segment_private.h"

#include <math.h>
#include <string.h>

static void offer_path(struct tf_segment_path *to, double score, uint32_t from, uint32_t id)
{
    if (to->from == UINT32_MAX || score > (double)to->score)
        *to = (struct tf_segment_path){.score = (float)score, .from = from, .id = id};
}

/* Follow the pieces that begin at `from`, where a character of len bytes does. */
static void extend(const struct tf_segmenter *s, struct tf_segment_path *paths, const char *text,
                   size_t n, size_t from, size_t len)
{
    const float before = paths[from].score;
    bool single = false;
    uint32_t node = 0;
    for (size_t end = from; end < n;) {
        node = tf_piece_next(&s->pieces.all, node, (unsigned char)text[end]);
        if (node == 0)
            break;
        const struct tf_piece_node *piece = &s->pieces.all.v[node];
        end++;
        if (piece->id == TF_NO_PIECE)
            continue;
        double score = (double)piece->score;
        if (isnan(score)) /* user-defined: better than any other pieces */
            score = (double)((float)(end - from) * s->pieces.most) - 0.1;
        offer_path(&paths[end], score + (double)before, (uint32_t)from, piece->id);
        single |= end - from == len;
    }
    if (!single)
        offer_path(&paths[from + len], (double)(s->unknown_score + before), (uint32_t)from,
                   s->pieces.unk);
}

static void reverse(uint32_t *v, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const uint32_t x = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = x;
    }
}

void tf_segment_unigram(const struct tf_segmenter *s, struct tf_segment_room *room,
                        const char *text, size_t n, struct tf_ids *ids)
{
    if (room->n_paths < n + 1) {
        room->n_paths = n + 1;
        room->paths = tf_xarray(room->paths, room->n_paths, sizeof *room->paths);
    }
    struct tf_segment_path *paths = room->paths;
    memset(paths, 0xff, (n + 1) * sizeof *paths);
    paths[0].score = 0;
    for (size_t at = 0, len; at < n; at += len) {
        len = tf_pieces_char(text + at, n - at);
        extend(s, paths, text, n, at, len);
    }
    const size_t start = ids->n;
    for (size_t end = n, first; end > 0; end = paths[end].from) {
        if (paths[end].id != s->pieces.unk) {
            tf_ids_add(ids, &paths[end].id, 1);
            continue;
        }
        first = ids->n;
        tf_pieces_unknown(&s->pieces, text + paths[end].from, end - paths[end].from, ids);
        reverse(ids->v + first, ids->n - first);
    }
    reverse(ids->v + start, ids->n - start);
}
