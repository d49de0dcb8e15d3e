/* convert.h - convert models between .tfm, safetensors, npz and the formats of other programs: the
 * work of tf-convert. */
#ifndef TF_CONVERT_CONVERT_H
#define TF_CONVERT_CONVERT_H

#include "base/opt.h"
#include "convert/convert_opts.h"

/* Formats that are written: "auto", "tfm", ..., "ctranslate2"; NULL at the end. */
extern const char *const tf_format_names[];
extern const char *const tf_stored_position_words[]; /* "auto", "t2t", "halves"; NULL at the end */
extern const char *const tf_convert_dtypes[]; /* "same", "f32", "f16", "bf16", "i8" */

/* Is a format a directory of files? */
bool tf_format_is_dir(int format);
/* May other files of its directory belong to this input, by the end of its name? */
bool tf_convert_reads_beside(const char *input);

/* Read a model or checkpoint, whose format is detected from its first bytes (of what a gzip file
 * contains; of a directory, from its files), and write its parameters as a model. Paths may be "-",
 * but for a directory. prog and opts are recorded in the header of a .tfm.
 *
 * The input must have exactly the parameters of its configuration, with their shapes, in f32, f16,
 * bf16 or f64, or in a .tfm in 8 bits (stored.h). Their names begin with "p/" in a .tfm and have no
 * prefix in other formats. Errors also: values that are not finite, or beyond the range of the
 * requested dtype. */
int tf_convert(const char *input, const char *output, const struct tf_convert_opts *o,
               const char *prog, const struct tf_opt *opts, struct tf_err *err) TF_MUST_CHECK;

#endif
