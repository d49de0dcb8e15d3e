/* start_model.h - the model that a run starts from (--init). It defines the run's
 * architecture, dialect, special ids and vocabulary; options may repeat what it says, not
 * contradict it. */
#ifndef TF_TRAIN_RUN_START_MODEL_H
#define TF_TRAIN_RUN_START_MODEL_H

#include "model/config.h"
#include "stream/model.h"

struct tf_start_model {
    const char *path;
    struct tf_model_file file; /* with the weights */
    struct tf_config config;
};

/* Read and check the model. A pipe is read once, here. */
int tf_start_model_open(struct tf_start_model *i, const char *path,
                        struct tf_err *err) TF_MUST_CHECK;
void tf_start_model_release(struct tf_start_model *i); /* safe on a zeroed struct */

/* Let the header of a stream name what only the model does: vocabulary, languages, size and special
 * ids. Those of one vocabulary become the model's, and so does bos where the model starts its
 * decoder with something of its own. The two must not differ in their vocabulary, nor without
 * `force` in their languages. */
int tf_start_model_complete(const struct tf_start_model *i, struct tf_header *stream, bool force,
                            struct tf_err *err) TF_MUST_CHECK;

/* Refuse a run whose model differs from this one, except in what only training uses: dropout and
 * label smoothing. The message names each field. force: where the weights fit, the differences are
 * warnings. */
int tf_start_model_compare(const struct tf_start_model *i, const struct tf_config *run, bool force,
                           struct tf_err *err) TF_MUST_CHECK;

/* 0 when models of both configurations have the same parameters. The message names the first that
 * differs; path: of the file of `theirs`. */
int tf_same_shapes(const struct tf_config *ours, const struct tf_config *theirs, const char *path,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
