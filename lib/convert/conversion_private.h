/* conversion_private.h - a model that is being converted: conversion_read.c reads ours,
 * conversion_foreign.c those of other programs; convert.c and export.c write it. */
#ifndef TF_MODEL_CONVERSION_PRIVATE_H
#define TF_MODEL_CONVERSION_PRIVATE_H

#include "convert/convert_opts.h"
#include "exchange/bundle.h"
#include "exchange/torch.h"
#include "model/load.h"
#include "stream/header.h"
#include "text/bpe_codes.h"

struct tf_model_dir; /* model_dir_private.h */

enum { TF_MAX_CONFIG = 1 << 20 /* bytes of a configuration in JSON */ };

/* A file of weights besides the input, of the same format. */
struct tf_part {
    char *bytes;
    size_t n;
    struct tf_bundle bundle;
    struct tf_torch torch;
};

struct tf_conversion {
    struct tf_arena arena;
    char *bytes; /* of the input, unless it is a .tfm */
    size_t n;
    struct tf_part *more;
    size_t n_more;
    struct tf_model_file own; /* of a .tfm */
    struct tf_bundle bundle;  /* of another format; with the tensors of all parts */
    struct tf_torch torch;    /* of a file of PyTorch */
    struct tf_header header;
    struct tf_config config;
    struct tf_params params;
    /* SentencePiece models; the target's is NULL where one serves both sides. They are the input's,
     * or in these buffers. */
    const uint8_t *vocab, *vocab_target;
    size_t vocab_n, vocab_target_n;
    struct tf_buf vocab_buf, vocab_target_buf;
    struct tf_bpe_codes codes; /* that split the text of those; lines NULL: none */
    const bool *added; /* by id, or NULL: tokens that were added to the pieces of a segmenter */
    const struct tf_tensor **v; /* input tensor of each parameter, in the order of params */
    const struct tf_tensor **v_amax; /* of those in 8 bits (int8.h); else NULL */
    struct tf_tensor *out, *out_amax; /* output tensors, names without "p/"; the latter's dims are 0
                                       * where out is not in 8 bits */
    enum tf_format from;
};

/* Read header, configuration, vocabularies and tensors. *input becomes the name of the file that
 * was read, for messages: of a directory the model in it. */
int tf_conversion_read(struct tf_conversion *m, const char **input,
                       const struct tf_convert_opts *o, struct tf_err *err) TF_MUST_CHECK;

/* Check a vocabulary from another format or --vocab; its hash, if config_name has one. */
int tf_conversion_check_vocab(const struct tf_conversion *m, const char *name,
                              const char *config_name, struct tf_err *err) TF_MUST_CHECK;

/* Models of other programs, whose file has been read: their tensors become ours, their vocabularies
 * SentencePiece models with the ids of the model. name: of the file; dir: what is beside it. */
int tf_conversion_read_marian(struct tf_conversion *m, const char *name,
                              const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                              struct tf_err *err) TF_MUST_CHECK;
int tf_conversion_read_hf(struct tf_conversion *m, const char *name,
                          const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                          struct tf_err *err) TF_MUST_CHECK;
int tf_conversion_read_ct2(struct tf_conversion *m, const char *name,
                           const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                           struct tf_err *err) TF_MUST_CHECK;
int tf_conversion_read_fsmt(struct tf_conversion *m, const char *name,
                            const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                            struct tf_err *err) TF_MUST_CHECK;
int tf_conversion_read_fairseq(struct tf_conversion *m, const char *name,
                               const struct tf_model_dir *dir, const struct tf_convert_opts *o,
                               struct tf_err *err) TF_MUST_CHECK;

#endif
