/* int8.h - matrices in 8 bits in a file: q [inputs, outputs] (of the output matrix dec.project and
 * of tables of embeddings [pieces, width]: there "output" means piece) beside amax [outputs], the
 * tensor NAME.amax.
 *
 * For each output amax = max |w| and q = round(w * (127 / amax)), ties to even, or 0 where amax is
 * at most 1e-30; w = (q / 127) * amax, each operation in fp32. These are the q of decoding in int8
 * (ops/cpu/int8.c), and since 127 / 127 is 1 the w that a file stands for have the same amax and q:
 * quantised once or again, decoding in int8 reads the same numbers. */
#ifndef TF_MODEL_INT8_H
#define TF_MODEL_INT8_H

#include "model/params.h"
#include "stream/model.h"

/* Is a parameter of this file in 8 bits? */
bool tf_model_is_int8(const struct tf_model_file *m);
#define TF_INT8_AMAX ".amax" /* after the name of the tensor */

/* The amax of tensor t of the file, which is parameter p in 8 bits. Sets *amax; fails if p may not
 * be in 8 bits, if amax is missing, misshapen, negative or not finite, and if a q is -128. */
int tf_int8_find(const struct tf_tensor **amax, const struct tf_model_file *m,
                 const struct tf_tensor *t, const struct tf_param *p,
                 struct tf_err *err) TF_MUST_CHECK;
/* w of outputs first .. first + n, all of them or some, from q and amax of the whole, both checked:
 * [inputs, n], or [n, inputs] where outputs come first. */
void tf_int8_floats(float *w, const int8_t *q, const float *amax, const struct tf_param *p,
                    size_t first, size_t n);
/* q [p->n] and amax [outputs] from w [p->n], which are finite. */
void tf_int8_quantise(int8_t *q, float *amax, const float *w, const struct tf_param *p);

#endif
