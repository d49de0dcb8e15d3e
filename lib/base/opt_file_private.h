/* opt_file_private.h - options from a file, a line each. */
#ifndef TF_BASE_OPT_FILE_PRIVATE_H
#define TF_BASE_OPT_FILE_PRIVATE_H

#include "base/opt.h"

/* Put the options that are in the files of tool->settings, which has been parsed, before those of
 * *argv, whose later words take precedence when it is parsed again. A line is the name of an option
 * of the table and its value, with a blank, = or : between; _ in a name is -, a flag may have the
 * value true or false, or no value; a line that begins with # is a comment. An error, also in a
 * value, names the line. *argv is then a list on the heap, which is never freed, as argv is not. */
int tf_opt_file_expand(int *argc, char ***argv, const struct tf_tool *tool,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
