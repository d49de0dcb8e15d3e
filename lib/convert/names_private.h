/* names_private.h - the parameters of another program's model: which of its tensors are one of
 * ours. A format is a table of names. */
#ifndef TF_CONVERT_NAMES_PRIVATE_H
#define TF_CONVERT_NAMES_PRIVATE_H

#include "model/params.h"

struct tf_import; /* import_private.h */
struct tf_export; /* foreign_private.h */

enum {
    TF_FOREIGN_NAME = 96, /* bytes of a name, with its NUL */
    TF_MAX_SHARED = 16    /* bytes of parameters for each of a file */
};

/* A name of ours, and theirs, separated by spaces. */
struct tf_names_row {
    const char *ours, *theirs;
};

struct tf_names {
    /* Tensors of a layer. Ours is what follows "enc.N." or "dec.N."; theirs are its columns, one
     * tensor after the other, each by what follows the name of the layer. "a|b" is "a" where norms
     * come after sublayers, and "b" where they come before. "cross.kv.w" and ".b" are those of one
     * layer of "dec.cross.kv.w" and ".b". A decoder with recurrent units has "ssru.norm.g" and ".b"
     * for "self.norm.g" and ".b". The last row is NULL. */
    const struct tf_names_row *layers;
    /* Tensors of the whole model. Theirs are copies of one matrix, of which at least one is in a
     * file. After a name, ' says that it is transposed. */
    const struct tf_names_row *model;
    const char *layer[2], *after; /* before and after the number of a layer of each stack */
    int64_t first_layer;          /* its number */
    const int64_t *tied_layers;   /* by number: whose parameters a decoder's has; NULL: its own */
    bool pre_norm;
    bool transposed;       /* matrices of layers are [outputs, inputs] */
    bool vectors_are_rows; /* in what we write: [1, N] */
    bool (*is_extra)(const char *name); /* a file may have it, and no parameter needs it */
};

/* What models of other programs have unless their files differ: t2t's sinusoids, biases in
 * attention, a source that ends with eos, a start with bos, epsilon 1e-5. Where their files have
 * lost how they were trained, training from them begins with dropout of 0.1 and without label
 * smoothing, which would begin by undoing their confidence. */
struct tf_config tf_names_config(void);

/* Set d_ff of m->config for m->ff, the widths of both stacks' inner layers. The function is the
 * same with further units whose weights are zero: a narrower stack gets them. False: one is more
 * than 8 times the other. */
bool tf_names_ff(struct tf_import *m);
/* Set heads, d_k and d_v of m->config for m->heads, the heads of both stacks, which share d_model:
 * as many and as wide as the most and the widest, where zeros take the place of what a stack lacks.
 * Such heads attend to all alike and add nothing. Errors: heads that do not divide d_model, which
 * `width` names; one more than 8 times the other. */
int tf_names_heads(struct tf_import *m, const char *width, struct tf_err *err) TF_MUST_CHECK;

/* Replace the tensors of m->bundle by the parameters of m->config, under our names, in our layout;
 * data that can be used as they are stay where they are, others are in the bundle's arena. Tensors
 * are f32, f16 or bf16, a vector [N] or [1, N]. Errors: a tensor that is missing, of another shape
 * or left over; copies of a matrix that differ; parameters that take more than TF_MAX_SHARED times
 * the bytes of the file, of which many have the same data. */
int tf_names_import(const struct tf_names *f, struct tf_import *m,
                    struct tf_err *err) TF_MUST_CHECK;
/* The reverse: e->theirs, which is empty, gets their tensors of the parameters e->ours; of copies
 * the first alone. Data are copied only where a part of them or transposed ones are needed. room:
 * further tensors that the caller will add. The format must have all parameters of e->config. */
void tf_names_export(const struct tf_names *f, struct tf_export *e, size_t room);

#endif
