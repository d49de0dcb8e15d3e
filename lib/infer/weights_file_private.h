/* weights_file_private.h - the weights of a model, to the memory of a backend while its file is
 * read, in the form in which decoding or passes forward use them. */
#ifndef TF_INFER_WEIGHTS_FILE_PRIVATE_H
#define TF_INFER_WEIGHTS_FILE_PRIVATE_H

#include "model/load.h"
#include "model/weights.h"

/* The parameters of a file m: begin, take tensors of it as they are read, and end when all of it
 * has been. c: its configuration. Fails if m cannot have so many: of a pipe that is known when it
 * has been read. There is no copy of all of them but the backend's. */
enum tf_weights_use {
    TF_WEIGHTS_FORWARD,
    TF_WEIGHTS_DECODING,  /* those for decoding alone, packed */
    TF_WEIGHTS_SELECTING, /* the same, with tf_outputs for every decoding step (incremental.h) */
};
int tf_weights_begin(struct tf_weights *w, const struct tf_backend *be, struct tf_ctx *ctx,
                     const struct tf_config *c, const struct tf_model_file *m,
                     enum tf_weights_use use, struct tf_err *err) TF_MUST_CHECK;
/* Load what tensor t of m completes; what is wrong is left to the end. */
int tf_weights_take(struct tf_weights *w, const struct tf_model_file *m, const struct tf_tensor *t,
                    struct tf_err *err) TF_MUST_CHECK;
/* Once all that load m have taken t: free the data of what it completed. w: one of them. */
void tf_weights_taken(const struct tf_weights *w, struct tf_model_file *m,
                      const struct tf_tensor *t);
/* Load the others. */
int tf_weights_end(struct tf_weights *w, const struct tf_model_file *m,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
