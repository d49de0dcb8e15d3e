/* sp.h - a C interface to SentencePiece: load a vocabulary, convert text to ids and back,
 * train. The files sp*.cc are the only C++ code for the CPU. A loaded vocabulary is read-only and
 * may be shared between threads. */
#ifndef TF_TEXT_SP_H
#define TF_TEXT_SP_H

#include "base/buf.h"
#include "text/ids.h"
#include <stdbool.h>
#include <stdint.h>

struct tf_sp;

#define TF_MAX_TEXT ((size_t)16 << 20) /* bytes of the text of a record, see tf_sp_text_bytes */

enum tf_sp_kind {
    TF_SP_NORMAL,
    TF_SP_UNKNOWN,
    TF_SP_CONTROL,
    TF_SP_UNUSED,
    TF_SP_BYTE,
    TF_SP_USER /* user-defined symbol: matched before segmentation */
};
/* how the vocabulary can be sampled */
enum tf_sp_sampling { TF_SP_NO_SAMPLING, TF_SP_UNIGRAM, TF_SP_BPE };

/* From the bytes of a SentencePiece .model file, which the functions that take a text borrow. */
int tf_sp_load(struct tf_sp **sp, const void *bytes, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* The same without what segments a text, which takes most of the time: the functions that take a
 * text are not for it. */
int tf_sp_load_pieces(struct tf_sp **sp, const void *bytes, size_t n,
                      struct tf_err *err) TF_MUST_CHECK;
void tf_sp_free(struct tf_sp *sp);

int64_t tf_sp_size(const struct tf_sp *sp); /* pieces with an id */
/* The pieces that text becomes besides have numbers from the size on, up to this, and become the
 * unknown id, or the one that they stand for (sp_proto_private.h). */
int64_t tf_sp_all(const struct tf_sp *sp);
/* Has the vocabulary the ids of another list (sp_renumber.h)? Of these vocabularies unused pieces
 * take no part in it. */
bool tf_sp_renumbered(const struct tf_sp *sp);
/* Finish a segmentation of a normalised text, numbers from `start` on, an unknown one for each
 * character: a run of those becomes one unknown id, or, renumbered, the unused piece of its
 * text. */
void tf_sp_finish(const struct tf_sp *sp, const char *text, size_t n, struct tf_ids *ids,
                  size_t start);
int64_t tf_sp_pad(const struct tf_sp *sp); /* -1: none; likewise the next three */
int64_t tf_sp_unk(const struct tf_sp *sp);
int64_t tf_sp_bos(const struct tf_sp *sp);
int64_t tf_sp_eos(const struct tf_sp *sp);
enum tf_sp_sampling tf_sp_sampling(const struct tf_sp *sp);
/* Whether adjacent unknown characters become one unknown piece; else they become byte pieces. */
bool tf_sp_joins_unknown(const struct tf_sp *sp);

/* The piece of an id (UTF-8, not terminated, valid as long as sp), its score and its kind. The id
 * must be below tf_sp_all. */
const char *tf_sp_piece(const struct tf_sp *sp, uint32_t id, size_t *n);
float tf_sp_score(const struct tf_sp *sp, uint32_t id);
enum tf_sp_kind tf_sp_kind(const struct tf_sp *sp, uint32_t id);

/* Append the ids of the best segmentation of text (valid UTF-8, may contain NUL). */
int tf_sp_encode(const struct tf_sp *sp, const char *text, size_t n, struct tf_ids *ids,
                 struct tf_err *err) TF_MUST_CHECK;
/* Append the pieces of the same segmentation, separated by spaces. Unknown text is a piece that
 * reads like the text. */
int tf_sp_pieces(const struct tf_sp *sp, const char *text, size_t n, struct tf_buf *out,
                 struct tf_err *err) TF_MUST_CHECK;
/* Append the ids of the `size` (1 to 512) best segmentations, best first; TF_SP_UNIGRAM only.
 * Segmentation i ends at ids[end[i]], counted from the first id appended; score[i] is its
 * log-probability. end and score have room for `size`. Returns their number, -1 on error. */
int tf_sp_nbest(const struct tf_sp *sp, const char *text, size_t n, int size, struct tf_ids *ids,
                size_t *end, float *score, struct tf_err *err) TF_MUST_CHECK;
/* Append the text of ids. Control pieces have no text; the unknown piece becomes the vocabulary's
 * mark for it. An id that is not below the size is an error, and so is more than TF_MAX_TEXT. */
int tf_sp_decode(const struct tf_sp *sp, const uint32_t *ids, size_t n, struct tf_buf *out,
                 struct tf_err *err) TF_MUST_CHECK;

/* The most bytes that the text of ids can have: those of their pieces, control pieces included, and
 * more if the vocabulary replaces parts of what it decodes. An id that is not below the size counts
 * as none. */
size_t tf_sp_text_bytes(const struct tf_sp *sp, const uint32_t *ids, size_t n);

struct tf_sp_train {
    int64_t size;    /* requested number of pieces, including special ones */
    bool bpe;        /* else unigram */
    double coverage; /* share of characters in the text that get a piece */
    bool split_digits, byte_fallback, keep_spaces, mixed_scripts;
    const char *const *symbols; /* text that is always one piece; from id 4 */
    size_t n_symbols;
    const char *normalization; /* "nmt_nfkc", "nmt_nfkc_cf", "nfkc", "nfkc_cf", "identity" */
    int64_t max_bytes;         /* of a sentence */
    bool verbose;              /* show the trainer's log on stderr */
    /* The next sentence (valid until the next call): 1; 0 at the end; -1 on error. */
    int (*next)(void *arg, const char **text, size_t *n, struct tf_err *err);
    void *arg;
};
/* Train and append the bytes of the .model file to out. They depend only on the sentences and the
 * options. The vocabulary may be smaller than requested if the text has too few pieces. */
int tf_sp_train(const struct tf_sp_train *t, struct tf_buf *out, struct tf_err *err) TF_MUST_CHECK;

#endif
