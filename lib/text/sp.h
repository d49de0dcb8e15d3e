/* sp.h - SentencePiece behind a C interface: load a vocabulary, text to ids and back, train. The
 * body (sp.cc) is the only C++ of the host side; no exception and no message of the library's own
 * leaves it. A loaded vocabulary is read-only and may be shared between threads. */
#ifndef TF_TEXT_SP_H
#define TF_TEXT_SP_H

#include "base/buf.h"
#include "text/ids.h"
#include <stdbool.h>
#include <stdint.h>

struct tf_sp;

enum tf_sp_kind {
    TF_SP_NORMAL,
    TF_SP_UNKNOWN,
    TF_SP_CONTROL,
    TF_SP_UNUSED,
    TF_SP_BYTE,
    TF_SP_USER /* found in the text before it is cut: a user-defined symbol */
};
/* what the vocabulary's model can be sampled as */
enum tf_sp_sampling { TF_SP_NO_SAMPLING, TF_SP_UNIGRAM, TF_SP_BPE };

/* From the bytes of a SentencePiece .model file. */
int tf_sp_load(struct tf_sp **sp, const void *bytes, size_t n, struct tf_err *err) TF_MUST_CHECK;
void tf_sp_free(struct tf_sp *sp);

int64_t tf_sp_size(const struct tf_sp *sp);
int64_t tf_sp_pad(const struct tf_sp *sp); /* -1: none; likewise the next three */
int64_t tf_sp_unk(const struct tf_sp *sp);
int64_t tf_sp_bos(const struct tf_sp *sp);
int64_t tf_sp_eos(const struct tf_sp *sp);
enum tf_sp_sampling tf_sp_sampling(const struct tf_sp *sp);

/* Of an id below the size: its piece (UTF-8, not terminated by contract, valid as long as sp),
 * score and kind. Other ids are a bug of the caller. */
const char *tf_sp_piece(const struct tf_sp *sp, uint32_t id, size_t *n);
float tf_sp_score(const struct tf_sp *sp, uint32_t id);
enum tf_sp_kind tf_sp_kind(const struct tf_sp *sp, uint32_t id);

/* Best segmentation of text (valid UTF-8; NUL allowed): ids are appended. */
int tf_sp_encode(const struct tf_sp *sp, const char *text, size_t n, struct tf_ids *ids,
                 struct tf_err *err) TF_MUST_CHECK;
/* The same segmentation as text, a space between the pieces, appended to out. What is unknown is a
 * piece that reads as the text does. */
int tf_sp_pieces(const struct tf_sp *sp, const char *text, size_t n, struct tf_buf *out,
                 struct tf_err *err) TF_MUST_CHECK;
/* The text as the vocabulary's normaliser leaves it, spaces as U+2581, appended to out: what the
 * pieces are cut from. */
int tf_sp_normalize(const struct tf_sp *sp, const char *text, size_t n, struct tf_buf *out,
                    struct tf_err *err) TF_MUST_CHECK;
/* The best `size` (1 to 512) segmentations, best first; TF_SP_UNIGRAM only. ids holds them one
 * after the other, of end[i] ids each counted from the start; score is the log-probability. Returns
 * how many there are, -1 on error. end and score have room for `size`. Appends to ids. */
int tf_sp_nbest(const struct tf_sp *sp, const char *text, size_t n, int size, struct tf_ids *ids,
                size_t *end, float *score, struct tf_err *err) TF_MUST_CHECK;
/* Ids back to text, appended to out. Ids from the size on are an error. Control pieces leave
 * nothing; an unknown piece leaves the vocabulary's mark for it. */
int tf_sp_decode(const struct tf_sp *sp, const uint32_t *ids, size_t n, struct tf_buf *out,
                 struct tf_err *err) TF_MUST_CHECK;

struct tf_sp_train {
    int64_t size;             /* pieces wanted, special ones included */
    bool bpe;                 /* else unigram */
    double coverage;          /* share of the characters that get a piece of their own */
    bool split_digits, byte_fallback, keep_spaces;
    const char *normalization; /* "nmt_nfkc", "nmt_nfkc_cf", "nfkc", "nfkc_cf", "identity" */
    int64_t max_bytes;        /* of a sentence */
    bool verbose;             /* the trainer's own log on stderr */
    /* The next sentence (valid until the next call): 1; 0 at the end; -1 on error. */
    int (*next)(void *arg, const char **text, size_t *n, struct tf_err *err);
    void *arg;
};
/* Train; the .model bytes are appended to out. They depend on the sentences and the options alone.
 * The vocabulary may come out smaller than asked when the text has no more to give. */
int tf_sp_train(const struct tf_sp_train *t, struct tf_buf *out, struct tf_err *err) TF_MUST_CHECK;

#endif
