/* spm.h - SentencePiece pieces as tokens. A tf-tokenize in a child process makes them, so that a
 * scorer without a model starts without the SentencePiece library. */
#ifndef TF_METRICS_SPM_H
#define TF_METRICS_SPM_H

#include "metrics/tokenizers_private.h"

/* The tokenizer of that name; NULL is spm with a model and 13a without. Errors (TF_USAGE): an
 * unknown name, one that needs MeCab, a model that is missing or not used. */
int tf_spm_choose(enum tf_tokenizer *out, const char *name, bool has_model,
                  struct tf_err *err) TF_MUST_CHECK;

/* Start `tf-tokenize --pieces -m MODEL`, at most one at a time: the program in the directory of
 * this one, or else the one in PATH. The model may be a pipe; "-" is stdin. hash: SHA-256 of the
 * model. tf_tokenize_spm then passes lines through it. Call tf_spm_close also if this fails. */
int tf_spm_open(const char *model, uint8_t hash[32], struct tf_err *err) TF_MUST_CHECK;
/* End it. Returns -1 if it has failed; the tokens of tf_tokenize_spm are then invalid. Does nothing
 * without tf_spm_open. */
int tf_spm_close(struct tf_err *err) TF_MUST_CHECK;

/* Warn unless this is the SHA-256 of the model that sacreBLEU takes for the tokenizer: the
 * signature has its name alone. Nothing for spm, whose signature has the hash. */
void tf_spm_warn(enum tf_tokenizer tokenizer, const uint8_t hash[32]);

#endif
