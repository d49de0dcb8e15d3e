/* convert.h - models to and from the files of others. */
#ifndef TF_MODEL_CONVERT_H
#define TF_MODEL_CONVERT_H

#include "base/opt.h"

enum tf_format { TF_FORMAT_AUTO, TF_FORMAT_TFM, TF_FORMAT_SAFETENSORS, TF_FORMAT_NPZ };
/* "auto", "tfm", "safetensors", "npz"; NULL at the end */
extern const char *const tf_format_names[];
extern const char *const tf_convert_dtypes[]; /* "same", "f32", "f16", "bf16"; NULL at the end */

struct tf_convert_opts {
    /* enum tf_format; AUTO: safetensors from a model of ours, else a model of ours */
    int to;
    /* index into tf_convert_dtypes: of the parameters that are written */
    int dtype;
    /* paths, or NULL: JSON of the configuration and SentencePiece model in place of what the input
     * carries */
    const char *config, *vocab;
};

/* Read a model, whose format its first bytes show, and write it. Of a checkpoint, the parameters
 * are converted.
 * Every parameter of the configuration must be there once with its shape, in f32, f16, bf16 or f64,
 * and nothing else; what is no model of ours has names without "p/". Paths may be "-". */
int tf_convert(const char *input, const char *output, const struct tf_convert_opts *o,
               const char *prog, const struct tf_opt *opts, struct tf_err *err) TF_MUST_CHECK;

#endif
