/* opt_print.h - what an option table says about itself on stdout. For opt.c alone. */
#ifndef TF_BASE_OPT_PRINT_H
#define TF_BASE_OPT_PRINT_H

#include "base/opt.h"

void tf_opt_print_help(const struct tf_tool *tool);
/* One row a line: every spelling in the form it has in the manual ("-b --beam", "--tok",
 * "--no-shuffle"), words separated by a space. */
void tf_opt_print_list(const struct tf_tool *tool);
/* A completion script for bash, zsh or fish; -1 for another name. */
int tf_opt_print_completion(const struct tf_tool *tool, const char *shell) TF_MUST_CHECK;

#endif
