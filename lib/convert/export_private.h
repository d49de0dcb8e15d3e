/* export_private.h - a model as the directory of files that another program reads. */
#ifndef TF_MODEL_EXPORT_PRIVATE_H
#define TF_MODEL_EXPORT_PRIVATE_H

#include "convert/conversion_private.h"

/* Write a directory that appears complete or not at all: TF_FORMAT_MARIAN, HF or CT2, from m->out;
 * format: its name. Errors: something is there; what the format cannot express, all of it by name.
 */
int tf_export(struct tf_conversion *m, const char *output, enum tf_format to, const char *format,
              struct tf_err *err) TF_MUST_CHECK;

#endif
