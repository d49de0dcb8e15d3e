/* conversion_private.h - a model that is being converted: conversion_read.c reads it, convert.c and
 * export.c write it. */
#ifndef TF_CONVERT_CONVERSION_PRIVATE_H
#define TF_CONVERT_CONVERSION_PRIVATE_H

#include "convert/import_private.h"
#include "model/load.h"

/* A file of weights. */
struct tf_part {
    char *bytes;
    size_t n;
    struct tf_bundle bundle; /* but of the first, whose are those of struct tf_import */
    struct tf_torch torch;
};

struct tf_conversion {
    struct tf_arena arena;
    struct tf_import in;      /* what was read */
    struct tf_model_file own; /* of a .tfm */
    struct tf_part *parts;    /* of another format */
    size_t n_parts;
    struct tf_params params;
    const struct tf_tensor **v;      /* input tensor of each parameter, in the order of params */
    const struct tf_tensor **v_amax; /* of those in 8 bits (stored.h); else NULL */
    struct tf_tensor *out, *out_amax; /* output tensors, names without "p/"; the latter's dims are 0
                                       * where out is not in 8 bits */
};

/* Read header, configuration, vocabularies and tensors. *input becomes the name of the file that
 * was read, for messages: of a directory the model in it. */
int tf_conversion_read(struct tf_conversion *m, const char **input,
                       const struct tf_convert_opts *o, struct tf_err *err) TF_MUST_CHECK;

#endif
