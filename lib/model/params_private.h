/* params_private.h - adding parameters to the table. */
#ifndef TF_MODEL_PARAMS_PRIVATE_H
#define TF_MODEL_PARAMS_PRIVATE_H

#include "model/params.h"

/* Each appends "NAME.PART" (NAME alone if the part is "") and returns its index. cols 0: a vector.
 */
int tf_add_param(struct tf_params *p, int64_t rows, int64_t cols, enum tf_init init, double scale,
                 const char *name, const char *part);
/* Queries or keys (n_k of them) and values (n_v) side by side, for so many layers. */
int tf_add_fused(struct tf_params *p, const struct tf_config *c, int64_t n_k, int64_t n_v,
                 int64_t layers, const char *name, const char *part);
/* The matrix [rows, D] that ends a sublayer. */
int tf_add_output(struct tf_params *p, const struct tf_config *c, int64_t rows, bool decoder,
                  const char *name, const char *part);
/* Glorot and Bengio 2010: uniform with limit sqrt(6 / (fan in + fan out)). */
double tf_glorot(int64_t in, int64_t out);

#endif
