/* export_private.h - a model as the directory of files that another program reads. */
#ifndef TF_CONVERT_EXPORT_PRIVATE_H
#define TF_CONVERT_EXPORT_PRIVATE_H

#include "convert/conversion_private.h"
#include "convert/foreign_private.h"

/* Write a directory of a format from m->out, which appears complete or not at all; name is the
 * format's. Errors: something is there; what the format cannot express, all of it by name. */
int tf_export(struct tf_conversion *m, const char *output, const struct tf_export_format *f,
              const char *name, struct tf_err *err) TF_MUST_CHECK;

#endif
