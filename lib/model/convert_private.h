/* convert_private.h - a model that is being converted, between convert_read.c and convert.c. */
#ifndef TF_MODEL_CONVERT_PRIVATE_H
#define TF_MODEL_CONVERT_PRIVATE_H

#include "exchange/bundle.h"
#include "model/convert.h"
#include "model/load.h"
#include "stream/header.h"

struct tf_conversion {
    struct tf_arena arena;
    char *bytes; /* of the input, unless it is a .tfm */
    size_t n;
    struct tf_model_file own; /* of a .tfm */
    struct tf_bundle bundle;  /* of another format */
    struct tf_header header;
    struct tf_config config;
    struct tf_params params;
    /* SentencePiece models; the target's is NULL where one serves both sides. They are the input's,
     * or in these buffers. */
    const uint8_t *vocab, *vocab_target;
    size_t vocab_n, vocab_target_n;
    struct tf_buf vocab_buf, vocab_target_buf;
    const struct tf_tensor **v; /* input tensor of each parameter, in the order of params */
    struct tf_tensor *out;      /* output tensors, names without "p/" */
    enum tf_format from;
};

/* Read header, configuration, vocabularies and tensors. *input becomes the name of the file that
 * was read, for messages: of a directory the model in it. */
int tf_conversion_read(struct tf_conversion *m, const char **input,
                       const struct tf_convert_opts *o, struct tf_err *err) TF_MUST_CHECK;

#endif
