/* opt_parse_private.h - parse a command line with a table of options. For tool.c. */
#ifndef TF_BASE_OPT_PARSE_PRIVATE_H
#define TF_BASE_OPT_PARSE_PRIVATE_H

#include "base/opt.h"

/* Parse argv: `--name=value`, `--name value`, `-xvalue`, clusters of flags, unambiguous prefixes of
 * long names, `--` to end options, `-` as an operand, options and operands in any order.
 * Checks modes, needs and excludes, that at most one input is stdin, and that no output file is
 * also an input or another output.
 * Returns 0; 1 after --help, --version, --complete=SHELL or --list-options (args->ask is set; the
 * rest of the line is not read); -1 with status TF_USAGE and a message such as "--beam 0: too
 * small, minimum 1". */
int tf_opt_parse(const struct tf_tool *tool, int argc, char **argv, struct tf_args *args,
                 struct tf_err *err) TF_MUST_CHECK;

#endif
