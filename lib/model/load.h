/* load.h - a model file as configuration and flat host parameters. */
#ifndef TF_MODEL_LOAD_H
#define TF_MODEL_LOAD_H

#include "model/params.h"
#include "stream/stored.h"

/* From a file read by tf_model_read: its configuration, and its tensors with this prefix ("p/" for
 * parameters, "e/" for their moving averages) as one flat block in the order of the table. Every
 * parameter must be present with its shape, in f32, f16 or bf16, or in 8 bits. The caller
 * frees *flat. flat NULL: the configuration only. */
int tf_model_load(const struct tf_model_file *m, struct tf_config *c, float **flat,
                  const char *prefix, struct tf_err *err) TF_MUST_CHECK;
/* Fail if the configuration of a file is a Transformer's, which has a key of ours, and no model of
 * this program, or if the file's parameters are not those of it. Data may be missing. */
int tf_model_check(const struct tf_model_file *m, struct tf_err *err) TF_MUST_CHECK;
/* Find the tensor of a parameter in a file: it must be as tf_model_load requires. One without data
 * was found before. */
int tf_stored_find(struct tf_stored *s, const struct tf_model_file *m, const struct tf_param *p,
                   const char *prefix, struct tf_err *err) TF_MUST_CHECK;
/* Fail if a file has a parameter that is none of a table: with it the model would be another. */
int tf_model_only(const struct tf_model_file *m, const struct tf_params *p,
                  struct tf_err *err) TF_MUST_CHECK;
/* Fail if the tensors of a file cannot be the parameters of a table, before there is memory for
 * those: sizes come from the file. */
int tf_model_check_size(const struct tf_model_file *m, const struct tf_params *p,
                        struct tf_err *err) TF_MUST_CHECK;
/* Views of a flat block as the tensors of a file, their names with the prefix; memory from the
 * arena. Returns p->n tensors. */
struct tf_tensor *tf_model_tensors(struct tf_arena *a, const struct tf_params *p, const float *flat,
                                   const char *prefix);

#endif
