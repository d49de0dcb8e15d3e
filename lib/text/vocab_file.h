/* vocab_file.h - the bytes of a vocabulary, from a SentencePiece .model file or from a model or
 * checkpoint of tf-train, which carries them. Needs no SentencePiece. */
#ifndef TF_TEXT_VOCAB_FILE_H
#define TF_TEXT_VOCAB_FILE_H

#include "base/buf.h"
#include "stream/header.h"

/* Read from a path, "-" or /dev/fd/N. The first bytes decide the format, not the name. The bytes
 * are on the heap, followed by a NUL that does not count; tf_sp_check has not seen them. target, or
 * NULL: gets at its end the model's own segmenter of targets, if it carries one. head: see vocab.h.
 * Errors name the path: reading, an empty file, a model that carries no vocabulary. */
int tf_vocab_file_read(char **bytes, size_t *n, struct tf_buf *target, const char *path, bool head,
                       struct tf_err *err) TF_MUST_CHECK;

/* Is it a SentencePiece model (sp_check.h)? The error names the format of another file, and no
 * path.
 */
int tf_vocab_file_check(const char *bytes, size_t n, struct tf_err *err) TF_MUST_CHECK;

/* Does a vocabulary belong to a model of so many ids with these special ones? Refuse more pieces
 * than ids, and a piece <pad>, <unk>, <s> or </s> that is not at its id (-1: not known). name: of
 * the file, for messages. few: warn where it has far fewer pieces. */
int tf_vocab_file_fits(const void *bytes, size_t n, const char *name, int64_t size, bool few,
                       const struct tf_special *special, struct tf_err *err) TF_MUST_CHECK;

/* Find the piece that a sentence begins with by its text, as it is or after a space: one of the
 * model's ids, and none that only the model adds (config's eos, pad and bos, and those of special).
 * A usage error where there is none; of: whose pieces they are. */
struct tf_begin {
    const void *vocab;
    size_t n;
    int64_t ids;
    int64_t added[7]; /* -1: none */
    const char *of;
};
int tf_begin_find(const struct tf_begin *b, const char *text, uint32_t *id,
                  struct tf_err *err) TF_MUST_CHECK;

#endif
