/* programs_private.h - the table of programs whose models are read and written. */
#ifndef TF_CONVERT_PROGRAMS_PRIVATE_H
#define TF_CONVERT_PROGRAMS_PRIVATE_H

#include "convert/program_private.h"

/* The program whose model it is: of the directory if no file has been read (m->from is
 * TF_FORMAT_AUTO), else of the file. The only place that decides it. */
const struct tf_program *tf_program_of(const struct tf_import *m);
/* The program whose own reader takes files that begin so: that of the directory, or the first;
 * NULL: none. */
const struct tf_program *tf_program_of_bytes(const struct tf_import *m, const void *p, size_t n);
/* The program that reads other files beside this one; m: of whose directory m->dir it is one, or
 * NULL where that does not matter. NULL: none. */
const struct tf_program *tf_program_beside(const struct tf_import *m, const char *path);
/* How a model is written in that format; NULL if it is no directory. c: its configuration, or NULL
 * where that does not matter. */
const struct tf_export_format *tf_export_format(enum tf_format to, const struct tf_config *c);

#endif
