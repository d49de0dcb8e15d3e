/* vocab_file.h - the bytes of a vocabulary, from a SentencePiece .model file or from a model or
 * checkpoint of tf-train, which carries them. Needs no SentencePiece. */
#ifndef TF_TEXT_VOCAB_FILE_H
#define TF_TEXT_VOCAB_FILE_H

#include "base/buf.h"
#include "stream/header.h"

/* Read from a path, "-" or /dev/fd/N. The first bytes decide the format, not the name. The bytes
 * are on the heap, followed by a NUL that does not count; tf_sp_check has not seen them. Errors
 * name the path: reading, an empty file, a model that carries no vocabulary. */
int tf_vocab_file_read(char **bytes, size_t *n, const char *path, struct tf_err *err) TF_MUST_CHECK;

/* The same, and the model's own segmenter of targets, if it carries one, at the end of *target. */
int tf_vocab_file_read_both(char **bytes, size_t *n, struct tf_buf *target, const char *path,
                            struct tf_err *err) TF_MUST_CHECK;

/* The same with the SHA-256 of the vocabulary. target: for the text of targets, the model's own
 * segmenter of those, if it carries one; its ids, and so the hash, are the vocabulary's. */
int tf_vocab_file_read_side(char **bytes, size_t *n, uint8_t hash[32], const char *path,
                            bool target, struct tf_err *err) TF_MUST_CHECK;

/* Is it a SentencePiece model (sp_check.h)? The error names the format of another file, and no
 * path.
 */
int tf_vocab_file_check(const char *bytes, size_t n, struct tf_err *err) TF_MUST_CHECK;

/* Does a vocabulary belong to a model of so many ids with these special ones? Refuse more pieces
 * than ids, and a piece <pad>, <unk>, <s> or </s> that is not at its id (-1: not known). name: of
 * the file, for messages. */
int tf_vocab_file_fits(const void *bytes, size_t n, const char *name, int64_t size,
                       const struct tf_special *special, struct tf_err *err) TF_MUST_CHECK;

#endif
