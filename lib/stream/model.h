/* model.h - models and checkpoints as files: one labelled sequence with configuration, vocabulary
 * bytes, state and tensors (formats/model.md). */
#ifndef TF_STREAM_MODEL_H
#define TF_STREAM_MODEL_H

#include "base/output.h"
#include "stream/reader.h"
#include "stream/tensor.h"

#define TF_MAX_TENSORS 65536            /* in one file */
#define TF_MAX_STATES 256               /* in one file */
#define TF_MAX_VOCAB ((size_t)48 << 20) /* bytes of a vocabulary */
#define TF_INT8_AMAX ".amax" /* after the name of a tensor in 8 bits: its largest magnitudes */

bool tf_kind_is_model(const char *kind); /* "model" or "checkpoint" */

/* Memory of the data of one or more tensors. */
struct tf_tensor_block {
    uint8_t *p;
    size_t n, tensors; /* bytes; tensors whose data are needed */
};

/* A model or checkpoint in memory. Owns everything; tensors and values point into it. */
struct tf_model_file {
    struct tf_arena arena;
    struct tf_header header; /* kind "model" or "checkpoint"; config = the model's configuration */
    const uint8_t *vocab;    /* SentencePiece model bytes, or NULL */
    size_t vocab_n;
    struct tf_value state;     /* MAP: name -> value of the state records but "vocab" */
    struct tf_tensor *tensors; /* in file order, names unique */
    size_t n_tensors;
    uint64_t
        tensor_bytes; /* of all; while they are read, the most that they can have, of a pipe 0 */
    const char *not_finite; /* TF_MODEL_ALLOW_NAN: the first tensor with NaN or infinities; NULL */
    struct tf_tensor_block *blocks; /* the tensors' data */
    size_t n_blocks;
};

enum {
    /* header, vocabulary and state only: stop at the first tensor, verify nothing after it (header
     * and states are verified) */
    TF_MODEL_HEAD = 1,
    TF_MODEL_ALLOW_NAN = 2, /* accept NaN and infinities in tensors */
    TF_MODEL_WEIGHTS = 4,   /* leave out tensors outside "p/" (moments are checked, not kept) */
    /* verify everything, keep data of tensors in 8 bits only: those of others are NULL */
    TF_MODEL_CHECK = 8,
};

/* What takes tensors while a file is read. take is called after each of them, the last one of
 * m->tensors, whose checks have passed, and may free data; nothing is known yet of what follows in
 * the file. Its errors end the reading. */
struct tf_model_taker {
    int (*take)(void *to, struct tf_model_file *m, struct tf_err *err);
    void *to;
};
/* Read from a path, "-" or /dev/fd/N, once, into memory. Checks label, limits, dims products, CRCs,
 * finite values, unique names, the vocabulary's hash and the fingerprint against the header, the
 * end record and that nothing follows it. A vocabulary that the header does not name gets its hash
 * there, and so does the fingerprint, but not with TF_MODEL_HEAD. A tensor is limited to
 * TF_MAX_TENSOR on a pipe, else to the size of the file. taker may be NULL. Messages start with the
 * file's name. After an error *m is released. */
int tf_model_read(struct tf_model_file *m, const char *path, unsigned flags,
                  const struct tf_model_taker *taker, struct tf_err *err) TF_MUST_CHECK;
/* tf_in_open for a file that should have a model. Of a directory, which may be that of a run, the
 * message says what to use. */
int tf_model_open(struct tf_in *in, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* tf_model_read from an open input (borrowed), of which nothing has been read, without a taker.
 * max_tensor bounds one tensor's bytes; 0: as there. */
int tf_model_read_in(struct tf_model_file *m, struct tf_in *in, unsigned flags, uint64_t max_tensor,
                     struct tf_err *err) TF_MUST_CHECK;
/* The same from a reader of the input, opened with TF_READ_MODEL, that has just read the header of
 * a model; taker may be NULL. Afterwards the reader can only be freed. */
int tf_model_read_part(struct tf_model_file *m, struct tf_reader *r, const struct tf_in *in,
                       unsigned flags, uint64_t max_tensor, const struct tf_model_taker *taker,
                       struct tf_err *err) TF_MUST_CHECK;
void tf_model_free_tensors(struct tf_model_file *m); /* the rest remains */
/* The data of this tensor of m are not needed any more: NULL. Frees the memory that it shares with
 * others when none of them is needed. */
void tf_model_free_data(struct tf_model_file *m, const struct tf_tensor *t);
void tf_model_release(struct tf_model_file *m);
/* The tensor of that name, or NULL. */
const struct tf_tensor *tf_model_tensor(const struct tf_model_file *m, const char *name);
/* Fingerprint: SHA-256 of the deterministic encoding of [config, vocab hash or null, [[name, dtype,
 * dims, crc], ...]] over the "p/" tensors in file order. */
void tf_model_fingerprint(uint8_t out[32], const struct tf_value *config,
                          const uint8_t *vocab /* or NULL */, const struct tf_tensor *t, size_t n);

/* Writing: the caller lists all tensors (data in host memory, crc filled in here) and states;
 * header.model is set to the fingerprint. Order in the file: header, check, vocab, states,
 * check, tensors, end. h->has_vocab and h->vocab are set from the vocabulary when there is one.
 * Names must be unique and within limits; data may be infinite or NaN. */
struct tf_state {
    const char *name;
    struct tf_value value;
};
int tf_model_put(struct tf_out *out, struct tf_header *h, const void *vocab, size_t vocab_n,
                 const struct tf_state *states, size_t n_states, struct tf_tensor *tensors,
                 size_t n_tensors, struct tf_err *err) TF_MUST_CHECK;

#endif
