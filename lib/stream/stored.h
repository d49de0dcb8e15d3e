/* stored.h - the parameters of a model file (formats/model.md): tensors of f32, f16 or bf16, and
 * matrices in 8 bits, q beside amax [outputs], the tensor NAME.amax. A matrix is [inputs, outputs],
 * or [outputs, inputs] as the output matrix dec.project and the tables of embeddings are, where
 * "output" means piece.
 *
 * For each output amax = max |w| and q = round(w * (127 / amax)), ties to even, or 0 where amax is
 * at most 1e-30; w = (q / 127) * amax, each operation in fp32. These are the q of decoding in int8
 * (ops/cpu/int8.c), and since 127 / 127 is 1 the w that a file stands for have the same amax and q:
 * quantised once or again, decoding in int8 reads the same numbers. */
#ifndef TF_STREAM_STORED_H
#define TF_STREAM_STORED_H

#include "stream/model.h"

/* A parameter as it is in a file. */
struct tf_stored {
    const struct tf_tensor *t, *amax; /* amax: of one in 8 bits, else NULL */
    int outputs; /* which of the dims of t are the outputs; -1 of what is never in 8 bits */
};

/* Fail unless tensor t has this shape. */
int tf_check_shape(const struct tf_tensor *t, const int64_t *dims, int rank,
                   struct tf_err *err) TF_MUST_CHECK;
/* Find the amax of s->t in file m; s->t has 8 bits, and the shape that it should have. Fails if it
 * may not be in 8 bits, if amax is missing, misshapen, negative or not finite, and if a q is -128;
 * without data the last three are not looked at. */
int tf_stored_find_amax(struct tf_stored *s, const struct tf_model_file *m,
                        struct tf_err *err) TF_MUST_CHECK;
/* All values. */
void tf_stored_floats(float *dst, const struct tf_stored *s);
/* Rows first .. first + n of the first dim. */
void tf_stored_rows(float *dst, const struct tf_stored *s, size_t first, size_t n);
/* Of a matrix, outputs first .. first + n: [inputs, n], or [n, inputs] where outputs come first. */
void tf_stored_outputs(float *dst, const struct tf_stored *s, size_t first, size_t n);
/* The same of one in binary16, as it is. */
void tf_stored_halves(uint16_t *dst, const struct tf_stored *s, size_t first, size_t n);

/* q, of the shape of t, and amax [outputs] from w, which are finite. */
void tf_int8_quantise(int8_t *q, float *amax, const float *w, const struct tf_tensor *t,
                      int outputs);
/* Is a parameter of this file in 8 bits? */
bool tf_model_is_int8(const struct tf_model_file *m);

#endif
