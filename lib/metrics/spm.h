/* spm.h - SentencePiece pieces as tokens, cut by a tf-tokenize that runs beside the scorer, so that
 * the scorer itself starts without the library. */
#ifndef TF_METRICS_SPM_H
#define TF_METRICS_SPM_H

#include "metrics/tokenizers.h"

/* The tokenizer of a name (NULL: 13a, or spm with a model). Mistakes of usage: an unknown name, one
 * that needs MeCab, a model too many or too few. */
int tf_spm_choose(enum tf_tokenizer *out, const char *name, bool has_model,
                  struct tf_err *err) TF_MUST_CHECK;

/* Start `tf-tokenize --pieces` with a model, which may be a pipe; the program beside this one, or
 * the one in PATH. One at a time. hash: SHA-256 of the model. */
int tf_spm_open(const char *model, uint8_t hash[32], struct tf_err *err) TF_MUST_CHECK;
/* Ends it, also where it failed to start. -1 when it failed on the way; what it cut since counts
 * for nothing then. Nothing happens without tf_spm_open. */
int tf_spm_close(struct tf_err *err) TF_MUST_CHECK;

#endif
