/* sample.c - see sample_private.h. */
#include "text/sample_private.h"
#include "base/memory.h"
#include "text/segment_private.h"
#include <math.h>
#include <stdlib.h>

#define UNKNOWN_PENALTY 10.0 /* as in SentencePiece: below the lowest piece */

/* Bounds what the n best segmentations of a line take: 120 kB of memory for each byte with n = 512,
 * and where many pieces begin with each other, time that grows with the square of their number. */
#define NBEST_BUDGET ((size_t)4 << 20)

/* The number of pieces that the text of n bytes at p begins with. */
static uint32_t count_beginnings(const struct tf_piece_trie *t, const char *p, size_t n)
{
    uint32_t node = 0, count = 0;
    for (size_t i = 0; i < n && (node = tf_piece_next(t, node, (unsigned char)p[i])) != 0; i++)
        count += t->v[node].id != TF_NO_PIECE;
    return count;
}

int tf_sampler_new(struct tf_sampler **out, const struct tf_sp *sp, const void *bytes, size_t n,
                   struct tf_err *err)
{
    const bool unigram = tf_sp_sampling(sp) == TF_SP_UNIGRAM;
    *out = NULL;
    if (tf_sp_sampling(sp) == TF_SP_NO_SAMPLING)
        return tf_fail(err, "the vocabulary is neither unigram nor BPE and can't be sampled");
    if (tf_sp_unk(sp) < 0)
        return tf_fail(err, "the vocabulary has no unknown piece and can't be sampled");
    struct tf_sampler *s = tf_xcalloc(1, sizeof *s);
    if (!tf_pieces_load(&s->pieces, sp, unigram)) {
        tf_sampler_free(s);
        return tf_fail(err, "the vocabulary's pieces take too much memory to be sampled");
    }
    tf_normal_read(&s->normal, bytes, n, &s->pieces.user);
    for (uint32_t id = 0; unigram && id < (uint64_t)tf_sp_all(sp); id++) {
        size_t len;
        const char *piece = tf_sp_piece(sp, id, &len);
        const uint32_t nested = count_beginnings(&s->pieces.all, piece, len);
        s->nested = nested > s->nested ? nested : s->nested;
    }
    s->unknown_score = fmin(0, (double)s->pieces.least) - UNKNOWN_PENALTY;
    *out = s;
    return 0;
}

void tf_sampler_free(struct tf_sampler *s)
{
    if (s != NULL)
        tf_pieces_release(&s->pieces);
    free(s);
}

/* Whether a line, as normalised, is short enough for its n best segmentations. */
static int check_nbest(const struct tf_sampler *s, size_t n, int nbest, struct tf_err *err)
{
    const size_t k = s->nested, most = NBEST_BUDGET / (64 + (size_t)nbest + k * k / 128);
    return n <= most
               ? 0
               : tf_fail(err, "too long for the %d best segmentations: %zu bytes, at most %zu",
                         nbest, n, most);
}

static void sample_bpe(const struct tf_sampler *s, const struct tf_buf *text, double alpha,
                       struct tf_rng *rng, struct tf_ids *ids)
{
    struct tf_segment_room *room = tf_segment_room_new();
    tf_segment_dropout(&s->pieces, room, text->p, text->len, alpha, rng, ids);
    tf_segment_room_free(room);
}

int tf_sample(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
              struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err)
{
    const bool unigram = s->pieces.unigram;
    if (n == 0)
        return 0;
    struct tf_buf normal = {0};
    const size_t start = ids->n;
    int rc = 0;
    tf_normalise(&s->normal, text, n, &normal);
    if (normal.len > 0) {
        if (unigram && nbest > 0)
            rc = check_nbest(s, normal.len, nbest, err) != 0
                     ? -1
                     : tf_sample_nbest(s, text, n, alpha, nbest, rng, ids, err);
        else if (normal.len > (size_t)64 << 20)
            rc = tf_fail(err, "too long to sample");
        else if (unigram)
            tf_sample_unigram(s, normal.p, normal.len, alpha, rng, ids);
        else
            sample_bpe(s, &normal, alpha, rng, ids);
        if (rc == 0 && !(unigram && nbest > 0))
            tf_sp_finish(s->pieces.sp, normal.p, normal.len, ids, start);
    }
    tf_buf_release(&normal);
    return rc;
}
