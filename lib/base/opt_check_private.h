/* opt_check_private.h - the rules between options: modes, what excludes or needs what, files that
 * must differ. For opt_parse.c. */
#ifndef TF_BASE_OPT_CHECK_PRIVATE_H
#define TF_BASE_OPT_CHECK_PRIVATE_H

#include "base/opt.h"

/* Find the selected mode, mark the rows that this run does not use, and check the options that were
 * given against each other and against the operands. A word that selects a mode is taken off args.
 * 0, or -1 with status TF_USAGE. */
int tf_opt_check(const struct tf_tool *tool, struct tf_args *args,
                 struct tf_err *err) TF_MUST_CHECK;

/* Sort the files of the command line, operands and options that this run uses, into those that are
 * read, outputs, and directories of outputs. "-" is in none. Appends to the lists. */
void tf_opt_files(const struct tf_tool *tool, const struct tf_args *args, struct tf_strs *read,
                  struct tf_strs *write, struct tf_strs *dirs);

#endif
