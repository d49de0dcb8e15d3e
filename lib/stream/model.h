/* model.h - models and checkpoints as files: one labelled sequence with configuration, vocabulary
 * bytes, state and tensors (formats/model.md). */
#ifndef TF_STREAM_MODEL_H
#define TF_STREAM_MODEL_H

#include "stream/stream.h"

enum tf_dtype { TF_F32, TF_F16, TF_BF16, TF_F64, TF_I8, TF_U8, TF_I32, TF_U32, TF_I64, TF_U64 };
size_t tf_dtype_size(enum tf_dtype t);
const char *tf_dtype_name(enum tf_dtype t);           /* "f32", ... */
bool tf_dtype_of(enum tf_dtype *t, const char *name); /* false when there is none of that name */

#define TF_MAX_RANK 8
#define TF_MAX_NAME 128                 /* bytes of a tensor's or state's name */
#define TF_MAX_TENSORS 65536            /* in one file */
#define TF_MAX_STATES 256               /* in one file */
#define TF_MAX_VOCAB ((size_t)48 << 20) /* bytes of a vocabulary */
#define TF_MAX_PAD 255                  /* bytes of a pad; ours are 24 to 87 */
#define TF_MAX_DIMS ((uint64_t)1 << 62) /* product of dims and element size */

bool tf_kind_is_model(const char *kind); /* "model" or "checkpoint" */

/* A tensor of a file: a view of the file's memory. */
struct tf_tensor {
    const char *name;
    enum tf_dtype dtype;
    int rank;
    uint64_t dims[TF_MAX_RANK];
    const void *data; /* little-endian, row-major, 64-byte aligned */
    size_t bytes;
    uint32_t crc; /* CRC-32C of data */
};

/* Bytes of a tensor; false where a dim is 0 or the product goes beyond TF_MAX_DIMS. */
bool tf_tensor_size(uint64_t *bytes, enum tf_dtype dtype, const uint64_t *dims, int rank);
/* An error names one whose name another has too. */
int tf_tensors_unique(const struct tf_tensor *t, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* no NaN, no infinity */
bool tf_tensor_finite(enum tf_dtype dtype, const void *data, size_t bytes);
/* The values of a tensor of f32, f16, bf16 or f64 as floats, to the nearest; its data need no
 * alignment. Other dtypes are an error. */
int tf_tensor_floats(float *dst, const struct tf_tensor *t, struct tf_err *err) TF_MUST_CHECK;
/* n floats as f32, f16 or bf16, to the nearest, ties to even. A finite value that only infinity is
 * near is an error. */
int tf_floats_as(void *dst, enum tf_dtype dtype, const float *src, size_t n,
                 struct tf_err *err) TF_MUST_CHECK;

/* A model or checkpoint in memory. Owns everything; tensors and values point into it. */
struct tf_model_file {
    struct tf_arena arena;
    struct tf_header header; /* kind "model" or "checkpoint"; config = the model's configuration */
    const uint8_t *vocab;    /* SentencePiece model bytes, or NULL */
    size_t vocab_n;
    struct tf_value state;     /* MAP: name -> value of the state records but "vocab" */
    struct tf_tensor *tensors; /* in file order, names unique */
    size_t n_tensors;
    void *map; /* mapped file, or NULL */
    size_t map_n;
    void **blocks; /* data of tensors that could not be used in place */
    size_t n_blocks;
};

enum {
    /* header, vocabulary and state only: stop at the first tensor, verify nothing behind it (header
     * and states are proved) */
    TF_MODEL_HEAD = 1,
    TF_MODEL_ALLOW_NAN = 2, /* do not refuse tensors that hold NaN or infinities */
    TF_MODEL_WEIGHTS = 4,   /* leave out tensors outside "p/" (moments are checked, not kept) */
};

/* Read from a path, "-" or /dev/fd/N. Regular files are mapped and tensors used in place when
 * aligned; pipes are read straight into place. Checks label, limits, dims products, CRCs, finite
 * values, unique names, the vocabulary's hash and the fingerprint against the header, the end
 * record and that nothing follows it. A vocabulary that the header does not name gets its hash
 * there. max_tensor bounds one tensor's bytes (0: TF_MAX_TENSOR on a pipe, and what a file holds).
 * Messages start with the file's name. After an error *m is released. */
int tf_model_read(struct tf_model_file *m, const char *path, unsigned flags, uint64_t max_tensor,
                  struct tf_err *err) TF_MUST_CHECK;
/* The same from an open input (borrowed), of which nothing has been taken. */
int tf_model_read_in(struct tf_model_file *m, struct tf_in *in, unsigned flags, uint64_t max_tensor,
                     struct tf_err *err) TF_MUST_CHECK;
/* The same from n bytes of memory that outlive *m; tensors are used in place when aligned. */
int tf_model_read_memory(struct tf_model_file *m, const void *p, size_t n, const char *name,
                         unsigned flags, struct tf_err *err) TF_MUST_CHECK;
void tf_model_release(struct tf_model_file *m);
/* or NULL */
const struct tf_tensor *tf_model_tensor(const struct tf_model_file *m, const char *name);
/* Fingerprint: SHA-256 of the deterministic encoding of [config, vocab hash or null, [[name, dtype,
 * dims, crc], ...]] over the "p/" tensors in file order. */
void tf_model_fingerprint(uint8_t out[32], const struct tf_value *config,
                          const uint8_t *vocab /* or NULL */, const struct tf_tensor *t, size_t n);

/* Writing: the caller lists all tensors (data in host memory, crc filled in here) and states;
 * header.model is set to the fingerprint. Order in the file: header, check, vocab, states,
 * check, tensors, end. h->has_vocab and h->vocab are set from the vocabulary when there is one.
 * Names must be unique and within limits, data finite or not is the caller's affair. */
struct tf_state {
    const char *name;
    struct tf_value value;
};
int tf_model_put(struct tf_out *out, struct tf_header *h, const void *vocab, size_t vocab_n,
                 const struct tf_state *states, size_t n_states, struct tf_tensor *tensors,
                 size_t n_tensors, struct tf_err *err) TF_MUST_CHECK;
/* The same as a whole file: temporary, fsync, rename (file.h); path "-" writes to stdout. */
int tf_model_write(const char *path, struct tf_header *h, const void *vocab, size_t vocab_n,
                   const struct tf_state *states, size_t n_states, struct tf_tensor *tensors,
                   size_t n_tensors, struct tf_err *err) TF_MUST_CHECK;

#endif
