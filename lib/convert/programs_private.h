/* programs_private.h - the table of programs whose models are read and written. */
#ifndef TF_CONVERT_PROGRAMS_PRIVATE_H
#define TF_CONVERT_PROGRAMS_PRIVATE_H

#include "convert/program_private.h"

/* The program whose model it is: of the directory if no file has been read (m->from is
 * TF_FORMAT_AUTO), else of the file. The only place that decides it. */
const struct tf_program *tf_program_of(const struct tf_import *m);
/* The program to whose directories a file belongs by the end of its name, or NULL. */
const struct tf_program *tf_program_beside(const char *path);
/* How a model is written in that format; NULL if it is no directory. c: its configuration, or NULL
 * where that does not matter. */
const struct tf_export_format *tf_export_format(enum tf_format to, const struct tf_config *c);

#endif
