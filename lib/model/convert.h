/* convert.h - convert models between .tfm, safetensors, npz and the formats of other programs: the
 * work of tf-convert.
 *
 * It is in model/, not in exchange/, because it checks tensors against the parameters that a
 * configuration requires; exchange/ only reads and writes the files. */
#ifndef TF_MODEL_CONVERT_H
#define TF_MODEL_CONVERT_H

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
/* of those that are written: "auto", "tfm", ..., "ctranslate2"; NULL at the end */
extern const char *const tf_format_names[];
extern const char *const tf_stored_position_words[]; /* "auto", "t2t", "halves"; NULL at the end */
extern const char *const tf_convert_dtypes[]; /* "same", "f32", "f16", "bf16"; NULL at the end */

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
    /* or NULL: a file of transformers with the tags of languages */
    const char *tokens;
    /* of a model that began as Marian's: enum tf_stored_positions */
    int positions;
};

/* Is a format a directory of files? */
bool tf_format_is_dir(int format);

/* Read a model or checkpoint, whose format is detected from its first bytes (of what a gzip file
 * contains; of a directory, from its files), and write its parameters as a model. Paths may be "-",
 * but for a directory. prog and opts are recorded in the header of a .tfm.
 *
 * The input must have exactly the parameters of its configuration, with their shapes, in f32, f16,
 * bf16 or f64. Their names begin with "p/" in a .tfm and have no prefix in other formats. Errors
 * also: values that are not finite, or beyond the range of the requested dtype. */
int tf_convert(const char *input, const char *output, const struct tf_convert_opts *o,
               const char *prog, const struct tf_opt *opts, struct tf_err *err) TF_MUST_CHECK;

#endif
