/* load.h - a model file as configuration and flat host parameters. */
#ifndef TF_MODEL_LOAD_H
#define TF_MODEL_LOAD_H

#include "model/params.h"
#include "stream/model.h"

/* From a file read by tf_model_read: its configuration, and its "p/" tensors (or those under
 * another prefix, "e/") as one flat block by the table of parameters. Every parameter must be there
 * once with its shape, in f32, f16 or bf16; *flat is the caller's to free(). flat may be NULL: the
 * configuration only. */
int tf_model_load(const struct tf_model_file *m, struct tf_config *c, float **flat,
                  const char *prefix, struct tf_err *err) TF_MUST_CHECK;
/* Views of a flat block as the tensors of a file, names with the prefix; memory from the arena.
 * Returns p->n tensors. */
struct tf_tensor *tf_model_tensors(struct tf_arena *a, const struct tf_params *p, const float *flat,
                                   const char *prefix);

#endif
