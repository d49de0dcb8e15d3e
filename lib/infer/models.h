/* models.h - the models that a decoding or scoring tool works with: one, or several of one
 * vocabulary whose probabilities are averaged. */
#ifndef TF_INFER_MODELS_H
#define TF_INFER_MODELS_H

#include "base/log.h"
#include "base/opt.h"
#include "model/transformer.h"
#include "stream/stream.h"

struct tf_model_set {
    const struct tf_backend *be;
    struct tf_ctx *ctx;   /* the weights' lane */
    struct tf_weights *v; /* n models */
    size_t n;
    char *name;              /* of the first file, for messages */
    struct tf_header header; /* of the first: vocabulary, special ids, ... */
    struct tf_value inputs;  /* MAP: role -> fingerprint, for provenance */
    char *vocab;             /* SentencePiece model bytes that the first file carries, or NULL */
    size_t vocab_n;
    /* of the model; of several, the SHA-256 of their fingerprints in order */
    uint8_t fingerprint[32];
    struct tf_arena arena;
    /* why the device is not the GPU; its status is 0 where it is, or that was not asked for */
    struct tf_err no_gpu;
};

/* Find the device with that precision (NULL: its own for decoding), read every file ("-" and
 * /dev/fd/N too) and put its weights there, for decoding laid out for that. Models of an ensemble
 * must share the vocabulary, its size and eos (the hash is not looked at with force_vocab); the
 * rest may differ. */
int tf_models_open(struct tf_model_set *s, const struct tf_strs *paths, const char *device,
                   const char *precision, int threads, enum tf_use use, bool force_vocab,
                   struct tf_err *err) TF_MUST_CHECK;
void tf_models_close(struct tf_model_set *s);
/* Where progress is shown, say why this is not on the GPU if there is a plugin for one. */
void tf_models_told(const struct tf_model_set *s, const struct tf_progress *p);
/* How many lanes a run with so many threads should have on this device. */
int tf_models_lanes(const struct tf_model_set *s, int threads);
/* How many sentences are taken together, and read ahead, where that was not asked for (0): a GPU
 * does thousands at once. */
size_t tf_models_batch(const struct tf_model_set *s, int64_t asked);
size_t tf_models_window(const struct tf_model_set *s, int64_t asked);
/* Refuse a stream of another vocabulary: hash or size. */
int tf_models_fit(const struct tf_model_set *s, const struct tf_header *h, const char *name,
                  bool force_vocab, struct tf_err *err) TF_MUST_CHECK;
/* The header of a stream that this model makes from that one, or from two (else from[1] is NULL):
 * kind, vocabulary and ids of the model, provenance of both with one more stage. */
struct tf_header tf_models_header(struct tf_model_set *s, struct tf_arena *a,
                                  const struct tf_header *const from[2], const char *kind,
                                  const struct tf_opt *opts);
/* Positions 0 .. n - 1 exist in every model. Not while lanes run. */
int tf_models_positions(struct tf_model_set *s, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* The most positions that all models have; SIZE_MAX where there is no limit. */
size_t tf_models_reach(const struct tf_model_set *s);

#endif
