/* sample.c - see sample_private.h. */
#include "text/sample_private.h"
#include "base/memory.h"
#include "text/sample_pieces_private.h"
#include <math.h>
#include <stdlib.h>

/* As in SentencePiece: how far unknown characters score below the lowest piece, and the score of
 * user-defined symbols. */
#define UNKNOWN_PENALTY 10.0
#define USER_SCORE -0.1f

/* Bounds what the n best segmentations of a line take: 120 kB of memory for each byte with n = 512,
 * and where many pieces begin with each other, time that grows with the square of their number. */
#define NBEST_BUDGET ((size_t)4 << 20)

/* The number of pieces that the text of n bytes at p begins with. */
static uint32_t count_beginnings(const struct tf_sample_trie *t, const char *p, size_t n)
{
    uint32_t node = TF_SAMPLE_ROOT, count = 0;
    for (size_t done = 0, len; node != 0 && done < n; done += len) {
        len = tf_sample_char(p + done, n - done);
        node = tf_sample_next(t, node, p + done, len);
        count += tf_sample_id(t, node) >= 0;
    }
    return count;
}

size_t tf_sample_user(const struct tf_sampler *s, const char *text, size_t n, uint32_t *id)
{
    size_t longest = 0;
    uint32_t node = TF_SAMPLE_ROOT;
    for (size_t end = 0; s->has_user && end < n;) {
        size_t len = tf_sample_char(text + end, n - end);
        node = tf_sample_next(&s->prefixes, node, text + end, len);
        if (node == 0)
            break;
        end += len;
        int64_t piece = tf_sample_id(&s->prefixes, node);
        if (piece >= 0 && tf_sp_kind(s->sp, (uint32_t)piece) == TF_SP_USER) {
            *id = (uint32_t)piece;
            longest = end;
        }
    }
    return longest;
}

int tf_sampler_new(struct tf_sampler **out, const struct tf_sp *sp, struct tf_err *err)
{
    *out = NULL;
    if (tf_sp_sampling(sp) == TF_SP_NO_SAMPLING)
        return tf_fail(err, "the vocabulary is neither unigram nor BPE and can't be sampled");
    if (tf_sp_unk(sp) < 0)
        return tf_fail(err, "the vocabulary has no unknown piece and can't be sampled");
    struct tf_sampler *s = tf_xcalloc(1, sizeof *s);
    const bool unigram = tf_sp_sampling(sp) == TF_SP_UNIGRAM;
    size_t size = (size_t)tf_sp_all(sp), bytes = 0, total = 0, n;
    for (uint32_t id = 0; id < size; id++) {
        tf_sp_piece(sp, id, &n);
        total += n;
    }
    s->sp = sp;
    tf_sample_trie_new(&s->prefixes, total);
    if (unigram)
        tf_sample_trie_new(&s->suffixes, total);
    s->score = tf_xarray(NULL, size, sizeof *s->score);
    s->unk = (uint32_t)tf_sp_unk(sp);
    double lowest = 0;
    for (uint32_t id = 0; id < size; id++) {
        const char *piece = tf_sp_piece(sp, id, &n);
        enum tf_sp_kind kind = tf_sp_kind(sp, id);
        s->score[id] = tf_sp_score(sp, id);
        if (kind == TF_SP_BYTE && n == 6) {
            s->byte_id[strtoul(piece + 3, NULL, 16) & 255] = id;
            bytes++;
        } else if (kind == TF_SP_NORMAL || kind == TF_SP_USER) {
            tf_sample_add(&s->prefixes, id, piece, n, false);
            if (unigram)
                tf_sample_add(&s->suffixes, id, piece, n, true);
            if (kind == TF_SP_NORMAL) {
                lowest = fmin(lowest, (double)s->score[id]);
            } else {
                s->score[id] = USER_SCORE;
                s->has_user = true;
            }
        }
    }
    for (uint32_t id = 0; unigram && id < size; id++) {
        const char *piece = tf_sp_piece(sp, id, &n);
        uint32_t nested = count_beginnings(&s->prefixes, piece, n);
        s->nested = nested > s->nested ? nested : s->nested;
    }
    s->has_bytes = bytes == 256;
    s->renumbered = tf_sp_renumbered(sp);
    s->unknown_score = lowest - UNKNOWN_PENALTY;
    *out = s;
    return 0;
}

void tf_sampler_free(struct tf_sampler *s)
{
    if (s == NULL)
        return;
    free(s->prefixes.nodes);
    free(s->suffixes.nodes);
    free(s->score);
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

int tf_sample(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
              struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err)
{
    bool unigram = tf_sp_sampling(s->sp) == TF_SP_UNIGRAM;
    if (n == 0)
        return 0;
    struct tf_buf normal = {0};
    const size_t start = ids->n;
    int rc = tf_sp_normalize(s->sp, text, n, &normal, err);
    if (rc == 0 && normal.len > 0) {
        if (unigram && nbest > 0)
            rc = check_nbest(s, normal.len, nbest, err) != 0
                     ? -1
                     : tf_sample_nbest(s, text, n, alpha, nbest, rng, ids, err);
        else if (normal.len > (size_t)64 << 20)
            rc = tf_fail(err, "too long to sample");
        else if (unigram)
            tf_sample_unigram(s, normal.p, normal.len, alpha, rng, ids);
        else
            tf_sample_bpe(s, normal.p, normal.len, alpha, rng, ids);
        if (rc == 0 && s->renumbered && !(unigram && nbest > 0))
            tf_sp_finish(s->sp, normal.p, normal.len, ids, start);
    }
    tf_buf_release(&normal);
    return rc;
}
