/* ensemble_private.h - the models of one run: one model, or several that share a vocabulary and
 * whose probabilities are averaged: p(v) = sum of w_i p_i(v) / sum of w_i, with the w_i that
 * the user gave, or equal ones. Files are read once, and the weights stay on the device, or on each
 * of several. */
#ifndef TF_INFER_ENSEMBLE_PRIVATE_H
#define TF_INFER_ENSEMBLE_PRIVATE_H

#include "base/log.h"
#include "base/opt.h"
#include "model/transformer.h"
#include "stream/header.h"
#include "text/shortlist.h"
#include "text/text.h"

/* What may differ between models and streams: hashes of vocabularies, labels of languages. */
struct tf_force {
    bool vocab, lang;
};

/* The models on one device. */
struct tf_replica {
    struct tf_ctx *ctx;       /* the weights are uploaded through this context */
    struct tf_weights *model; /* n models */
    bool lost;                /* it failed, and is left out from then on */
};

struct tf_ensemble {
    const struct tf_backend *be;
    struct tf_replica *replica; /* one per device */
    size_t replicas;
    struct tf_weights *model; /* n models: those of the first replica that was loaded */
    size_t n;
    /* [n]: w_i / (w_0 + ... + w_i), the share of model i in the mean of those up to it */
    double *share;
    struct tf_value weights; /* ARRAY of the w_i, or NULL if they are equal */
    char *name;              /* the first file, for messages */
    struct tf_header header; /* of the first file: vocabulary, special ids, provenance */
    /* of the vocabulary, as targets and as sources; models may have more rows of embeddings
     * (--vocab-size) */
    int64_t ids, source_ids;
    struct tf_value inputs; /* MAP: role -> fingerprint, for provenance */
    char *vocab;            /* SentencePiece model inside the first file, or NULL; vocab_n bytes */
    size_t vocab_n;
    struct tf_text target_vocab;  /* the same for targets; where they have no other, vocab */
    bool listed;                  /* decoding has a shortlist, and weights are loaded for it */
    struct tf_value shortlist;    /* with it, its state in the first file; TF_NULL: none */
    /* Of one model its own; of several, SHA-256 over theirs in order, and then over the shares
     * (binary64, little-endian) unless weights are equal. */
    uint8_t fingerprint[32];
    struct tf_arena arena;   /* owns header, inputs and vocab */
    struct tf_err no_gpu;    /* why --device auto chose the CPU; status 0: no GPU plugin failed */
};

/* Choose the device and precision (NULL: the device's default for decoding; with own_precision on
 * the CPU that of "search" in the first model's header, if it is there), read every file ("-"
 * and /dev/fd/N included) and upload its weights, packed for decoding if `use` is decoding. Fails
 * when the models differ in vocabulary or languages (but for what is forced), size, end-of-sentence
 * id or whether sources end with it; everything else may differ. */
int tf_ensemble_open(struct tf_ensemble *m, const struct tf_strs *paths, const char *device,
                     const char *precision, bool own_precision, int threads, enum tf_use use,
                     enum tf_list_use list, struct tf_force force,
                     struct tf_err *err) TF_MUST_CHECK;
void tf_ensemble_close(struct tf_ensemble *m);
/* Device i has failed: leave it out, and warn. Not for the last one. */
void tf_ensemble_lose(struct tf_ensemble *m, size_t i, const struct tf_err *why);

/* Sentences computed together, and sentences read ahead. requested 0: the device's default. */
size_t tf_ensemble_batch(const struct tf_ensemble *m, int64_t requested);
size_t tf_ensemble_window(const struct tf_ensemble *m, int64_t requested);

/* Fail when a stream has another vocabulary or language (but for what is forced), or more ids than
 * the models' vocabulary. name: of the stream. target: its text is that of the target. */
int tf_ensemble_accepts(const struct tf_ensemble *m, const struct tf_header *h, const char *name,
                        bool target, struct tf_force force, struct tf_err *err) TF_MUST_CHECK;
/* Add what was read besides the models and streams to the provenance. role is not copied. sum: its
 * SHA-256. */
void tf_ensemble_add_input(struct tf_ensemble *m, const char *role, const uint8_t sum[32]);
/* Header of an output stream of that kind: the models' vocabulary and ids, the provenance of both
 * inputs (from[1] may be NULL), then this program's stage with its semantic options. Values live in
 * a. */
struct tf_header tf_ensemble_header(const struct tf_ensemble *m, struct tf_arena *a,
                                    const struct tf_header *const from[2], const char *kind,
                                    const struct tf_opt *opts);

/* Make positions 0 .. n - 1 available in every model. No lane may be running. */
int tf_ensemble_positions(struct tf_ensemble *m, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* The number of positions that every model has; SIZE_MAX when none has learned positions. */
size_t tf_ensemble_max_positions(const struct tf_ensemble *m);

#endif
