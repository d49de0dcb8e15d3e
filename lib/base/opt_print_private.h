/* opt_print_private.h - print an option table to stdout. For tool.c. */
#ifndef TF_BASE_OPT_PRINT_PRIVATE_H
#define TF_BASE_OPT_PRINT_PRIVATE_H

#include "base/opt.h"

void tf_opt_print_help(const struct tf_tool *tool);
/* One line per row with its spellings, separated by spaces: "-s --shuffle --no-shuffle". */
void tf_opt_print_list(const struct tf_tool *tool);
/* A completion script for bash, zsh or fish; -1 for another shell. */
int tf_opt_print_completion(const struct tf_tool *tool, const char *shell) TF_MUST_CHECK;

#endif
