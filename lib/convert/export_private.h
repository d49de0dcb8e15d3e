/* export_private.h - a model as the directory of files that another program reads. */
#ifndef TF_MODEL_EXPORT_PRIVATE_H
#define TF_MODEL_EXPORT_PRIVATE_H

#include "convert/conversion_private.h"
#include "convert/foreign_private.h"

/* The format, or NULL if it is not one of another program's that we write. */
const struct tf_export_format *tf_export_format(enum tf_format to);

/* Write a directory of such a format from m->out, which appears complete or not at all; format is
 * its name. Errors: something is there; what the format cannot express, all of it by name. */
int tf_export(struct tf_conversion *m, const char *output, enum tf_format to, const char *format,
              struct tf_err *err) TF_MUST_CHECK;

#endif
