/* convert_opts.h - the formats of models, and the options of a conversion. */
#ifndef TF_CONVERT_CONVERT_OPTS_H
#define TF_CONVERT_CONVERT_OPTS_H

#include "base/opt.h"

enum tf_format {
    TF_FORMAT_AUTO,
    TF_FORMAT_TFM,
    TF_FORMAT_SAFETENSORS,
    TF_FORMAT_NPZ,
    /* directories, which are written */
    TF_FORMAT_MARIAN,
    TF_FORMAT_HF,
    TF_FORMAT_CT2,
    /* files, which are only read */
    TF_FORMAT_TORCH,
    TF_FORMAT_OTHER, /* its program has its own reader */
};

/* Which table of positions a model has that began as Marian's (positions_private.h). */
enum tf_stored_positions { TF_STORED_AUTO, TF_STORED_T2T, TF_STORED_HALVES };

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
    const char *list;      /* or NULL: a shortlist in place of the input's; "none": no list */
    const char *new_vocab; /* or NULL, of a model of ours: a vocabulary that it is to have */
    /* settings of the search to store or drop, KEY=VALUE, or "none": drop all before the rest */
    struct tf_strs search;
    const char *lang[2]; /* labels of source and target, in place of the input's, or NULL */
    int positions; /* enum tf_stored_positions */
};

#endif
