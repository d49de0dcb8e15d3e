/* tool.h - start and finish of a tool. A tool's main function is
 *
 *     return tf_tool_main(&tool, argc, argv, run);
 */
#ifndef TF_BASE_TOOL_H
#define TF_BASE_TOOL_H

#include "base/opt.h"

/* Start a tool: set tf_progname, reserve descriptors 0 to 2 if they are closed, ignore SIGXFSZ (a
 * full disk is an error of write(2)) and SIGPIPE, parse argv. Answers --help and its like on stdout
 * and exits with status 0, or 1 if stdout fails. Returns 0, or -1 with the message of tf_opt_parse.
 */
int tf_tool_start(const struct tf_tool *tool, int argc, char **argv, struct tf_args *args,
                  struct tf_err *err) TF_MUST_CHECK;

/* End a tool: print the summary of warnings, and "tf-x: MESSAGE" if rc < 0 or *err is set; flush
 * and close stdout ("write error: No space left on device"). Returns the exit status: err->status,
 * or a positive rc such as TF_PARTIAL; TF_FAILED if stdout failed. TF_PARTIAL without a message is
 * silent, as is TF_READER_LEFT, and TF_OK. */
int tf_tool_finish(int rc, struct tf_err *err);

/* Start, enter the sandbox (base/sandbox.h) with the files of the command line and what tool->widen
 * adds, run (returns 0, a status of enum tf_status, or -1 with *err), finish. Returns the exit
 * status. */
int tf_tool_main(const struct tf_tool *tool, int argc, char **argv,
                 int (*run)(const struct tf_args *args, struct tf_err *err));

#endif
