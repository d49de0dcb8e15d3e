/* convert_opts.h - the formats of models, and the options of a conversion. */
#ifndef TF_MODEL_CONVERT_OPTS_H
#define TF_MODEL_CONVERT_OPTS_H

#include "base/opt.h"

enum tf_format {
    TF_FORMAT_AUTO,
    TF_FORMAT_TFM,
    TF_FORMAT_SAFETENSORS,
    TF_FORMAT_NPZ,
    TF_FORMAT_MARIAN, /* these three: a directory */
    TF_FORMAT_HF,
    TF_FORMAT_CT2,
    TF_FORMAT_MARIAN_BIN, /* only read */
    TF_FORMAT_CT2_BIN,    /* in a directory */
    TF_FORMAT_TORCH,      /* the same */
};

struct tf_convert_opts {
    /* enum tf_format; AUTO: safetensors from a .tfm, else a .tfm */
    int to;
    /* of the output: index into tf_convert_dtypes */
    int dtype;
    /* paths, or NULL: a configuration in JSON and a SentencePiece model, used instead of those in
     * the input */
    const char *config, *vocab;
    /* or NULL, of another program's model: the pieces of vocab by the ids of the model
     * (text/piece_list.h); the SentencePiece model of the target, if it is not the source's */
    const char *pieces, *vocab_target;
    /* or NULL: of targets, where they have ids of their own */
    const char *pieces_target;
    /* or NULL: a file of transformers with the tags of languages; of FSMT tokenizer_config.json */
    const char *tokens;
    /* or NULL: tokenizer.json of transformers, in place of vocab */
    const char *tokenizer;
    /* or NULL: of transformers (convert/added_tokens_private.h) */
    const char *added_tokens, *tokenizer_config;
    /* or NULL: codes that split words (text/bpe_codes.h) */
    const char *codes;
    /* or NULL: the token with which a package of Argos begins targets */
    const char *begin;
    bool argos; /* such a package */
    /* or NULL: how Marian's decoder runs (decoder.yml) */
    const char *settings;
    /* settings of the search to store or drop, KEY=VALUE, or "none": drop all before the rest */
    struct tf_strs search;
    /* of a model that began as Marian's: enum tf_stored_positions */
    int positions;
};

#endif
