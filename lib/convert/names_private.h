/* names_private.h - the parameters of another program's model: which of its tensors are one of
 * ours. A format is a table of names. */
#ifndef TF_MODEL_NAMES_PRIVATE_H
#define TF_MODEL_NAMES_PRIVATE_H

#include "exchange/bundle.h"
#include "model/params.h"

enum {
    TF_FOREIGN_NAME = 96, /* bytes of a name, with its NUL */
    TF_MAX_SHARED = 16    /* bytes of parameters for each of a file */
};

/* A name of ours, and theirs, separated by spaces. */
struct tf_names_row {
    const char *ours, *theirs;
};

struct tf_names {
    /* Tensors of a layer: ours after "enc.N." or "dec.N."; theirs are its columns in turn, and what
     * of_layer() makes whole names of. "dec.cross.kv.w" and ".b" are there as "cross.kv.w" and
     * ".b": those of one layer. A decoder with recurrent units has "ssru.norm.g" and ".b" for
     * "self.norm.g" and ".b". The last row is NULL. */
    const struct tf_names_row *of_layers;
    /* Tensors of the whole model. Theirs are copies of one matrix, of which at least one is in a
     * file. After a name, ' says that it is transposed. */
    const struct tf_names_row *of_model;
    /* to [TF_FOREIGN_NAME] = the name of `word` [n] in a layer, counted from 0 */
    void (*of_layer)(const struct tf_names *f, char *to, bool decoder, int64_t layer,
                     const char *word, size_t n);
    const void *arg; /* of of_layer */
    bool transposed;       /* matrices of layers are [outputs, inputs] */
    bool vectors_are_rows; /* in what we write: [1, N] */
    /* Widths of the inner layers of the encoder and of the decoder; 0: d_ff. The function is the
     * same with further units whose weights are zero: a narrower stack gets them. */
    int64_t ff[2];
    /* Tensors that a file may have and no parameter needs. */
    bool (*is_extra)(const char *name);
};

/* What models of other programs have unless their files differ: t2t's sinusoids, biases in
 * attention, a source that ends with eos, a start with bos, epsilon 1e-5. Where their files have
 * lost how they were trained, training from them begins with dropout of 0.1 and without label
 * smoothing, which would begin by undoing their confidence. */
struct tf_config tf_names_config(void);

/* d_ff for the widths of both stacks' inner layers. False: one is more than 8 times the other. */
bool tf_names_ff(struct tf_config *c, const int64_t ff[2]);

/* Replace the tensors of *b by the parameters of the configuration, under our names, in our
 * layout; data that can be used as they are stay where they are, others are in the arena. Tensors
 * are f32, f16 or bf16, a vector [N] or [1, N]. Errors: a tensor that is missing, of another shape
 * or left over; copies of a matrix that differ; parameters that take more than TF_MAX_SHARED times
 * the bytes of the file, of which many have the same data. */
int tf_names_import(const struct tf_names *f, struct tf_bundle *b, const struct tf_config *c,
                    struct tf_err *err) TF_MUST_CHECK;
/* The reverse: *b, which is empty, gets their tensors of the parameters ours[i] of p->v[i]; of
 * copies the first alone. Data are copied, to the arena, only where a part of them or transposed
 * ones are needed. room: further tensors that the caller will add. The format must have all
 * parameters of the configuration. */
void tf_names_export(const struct tf_names *f, struct tf_bundle *b, const struct tf_config *c,
                     const struct tf_params *p, const struct tf_tensor *ours, size_t room);

#endif
