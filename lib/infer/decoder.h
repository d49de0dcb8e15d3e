/* decoder.h - sessions over threads: a window of sentences is sorted by length, cut into groups and
 * handed to the lanes. */
#ifndef TF_INFER_DECODER_H
#define TF_INFER_DECODER_H

#include "infer/session.h"

struct tf_decoder;
/* Up to `threads` lanes over the models, groups of at most `batch` sentences, fewer where memory
 * asks for it. NULL and err on failure. */
struct tf_decoder *tf_decoder_new(struct tf_model_set *m, const struct tf_search_opts *rule,
                                  int threads, size_t batch, struct tf_err *err);
void tf_decoder_free(struct tf_decoder *d);
/* Decode v[0 .. n): each gets its hypotheses, in whatever order the work is done. */
int tf_decoder_run(struct tf_decoder *d, struct tf_sentence **v, size_t n,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
