/* sample_pieces.h - a vocabulary prepared for sampling: pieces by text. Shared by the files of
 * sample.h. */
#ifndef TF_TEXT_SAMPLE_PIECES_H
#define TF_TEXT_SAMPLE_PIECES_H

#include "base/rng.h"
#include "base/table_hash.h"
#include "base/utf8.h"
#include "text/sp.h"

/* A piece or a part of one, in a hash table. */
struct tf_sample_slot {
    const char *p; /* in the vocabulary */
    uint32_t n;    /* 0: free */
    uint32_t tag;  /* of the hash */
    int64_t id;    /* -1: only a part */
};
struct tf_sample_table {
    struct tf_sample_slot *slots;
    size_t mask;
};

struct tf_sampler {
    const struct tf_sp *sp;
    struct tf_sample_table prefixes; /* pieces and their prefixes */
    struct tf_sample_table suffixes; /* pieces and their suffixes, for unigram models */
    struct tf_table_key key;
    float *score; /* by id */
    double unknown_score;
    uint32_t unk;
    bool has_bytes, has_user; /* has byte pieces for all bytes; has user-defined symbols */
    uint32_t byte_id[256];
};

/* A hash that can be continued: of a prefix by the next character, of a suffix by the one before
 * it. */
static inline uint64_t tf_sample_hash_start(const struct tf_sampler *s)
{
    return s->key.plus;
}
static inline uint64_t tf_sample_hash(const struct tf_sampler *s, uint64_t h, const char *p,
                                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = tf_table_mix(s->key, h, (unsigned char)p[i]);
    return h;
}

/* The slot of p, whose hash is h, or the free slot where it belongs. */
struct tf_sample_slot *tf_sample_find(const struct tf_sample_table *t, uint64_t h, const char *p,
                                      size_t n);
/* Add a piece, its prefixes and, if there is a table of them, its suffixes. The tables have room.
 */
void tf_sample_add(struct tf_sampler *s, uint32_t id, const char *p, size_t n);

/* The length of the character at p. A byte that begins none, which can only follow byte pieces,
 * counts as one. */
static inline size_t tf_sample_char(const char *p, size_t n)
{
    size_t len = tf_utf8_at(p, n);
    return len > 0 ? len : 1;
}

/* The length of the character that ends before p[n]. */
static inline size_t tf_sample_char_before(const char *p, size_t n)
{
    size_t len = 1;
    while (len < 4 && len < n && ((unsigned char)p[n - len] & 0xc0) == 0x80)
        len++;
    return tf_utf8_at(p + n - len, len) == len ? len : 1;
}

/* Append a piece to ids. id -1: unknown text p, which becomes its bytes if the vocabulary has byte
 * pieces, else joins the unknown piece before it. *after_unknown: whether the last piece was
 * unknown. */
void tf_sample_put(const struct tf_sampler *s, struct tf_ids *ids, int64_t id, const char *p,
                   size_t n, bool *after_unknown);

/* ---- the ways to sample ---- */

/* Unigram, from all segmentations. text is normalised, at most 64 MB. */
void tf_sample_unigram(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                       struct tf_rng *rng, struct tf_ids *ids);
/* Unigram, from the nbest most probable ones. text is not normalised. */
int tf_sample_nbest(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
                    struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err) TF_MUST_CHECK;
/* BPE with dropout. text is normalised, at most 64 MB. */
void tf_sample_bpe(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                   struct tf_rng *rng, struct tf_ids *ids);

#endif
