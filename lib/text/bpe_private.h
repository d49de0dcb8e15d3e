/* bpe_private.h - text to ids and back with a vocabulary of words between spaces: tokens of a
 * dictionary, or split into such, as subword-nmt splits them, by the codes of byte-pair encoding
 * that the vocabulary carries (bpe_codes.h).
 *
 * A BPE model of SentencePiece can't: it merges any two neighbours whose text is a piece, and these
 * codes only two whose merge is listed (with the merges b c, a b, ab c they split abcd into a, bc
 * and d, and it does not); all that it makes on the way needs a piece and so an id, and a
 * dictionary has only what is left at the end; and a run of unknown characters is one id to it. */
#ifndef TF_TEXT_BPE_PRIVATE_H
#define TF_TEXT_BPE_PRIVATE_H

#include "text/sp.h"

struct tf_bpe; /* read-only once created; may be shared between threads */

/* From the bytes of a vocabulary, and the same as SentencePiece loads it; both have to stay.
 * *bpe = NULL if it is another. Errors: codes that tf_bpe_codes_check refuses. */
int tf_bpe_load(struct tf_bpe **bpe, const void *bytes, size_t n, const struct tf_sp *sp,
                struct tf_err *err) TF_MUST_CHECK;
void tf_bpe_free(struct tf_bpe *bpe);

/* Append the ids of text (valid UTF-8): of a piece that is no token of the dictionary the unknown
 * one, for each such piece. Takes time in n log n, and 120 bytes for each of the longest word. */
void tf_bpe_encode(const struct tf_bpe *bpe, const char *text, size_t n, struct tf_ids *ids);
/* Append the same pieces, separated by spaces; before words that no codes split is U+2581. */
void tf_bpe_pieces(const struct tf_bpe *bpe, const char *text, size_t n, struct tf_buf *out);
/* Does a word end with this id, which is below the size? With the unknown one it does. */
bool tf_bpe_ends_word(const struct tf_bpe *bpe, uint32_t id);
/* Append the words of ids, separated by spaces. Errors as tf_sp_decode. */
int tf_bpe_decode(const struct tf_bpe *bpe, const uint32_t *ids, size_t n, struct tf_buf *out,
                  struct tf_err *err) TF_MUST_CHECK;

#endif
