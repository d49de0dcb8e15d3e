/* shell.h - a shell command that a process runs again and again although it is in a sandbox:
 * another process, started before the sandbox is entered, runs it outside. It takes nothing from
 * the first but a number for the command's environment, so that a fault in the first cannot make it
 * run anything else. */
#ifndef TF_BASE_SHELL_H
#define TF_BASE_SHELL_H

#include "base/err.h"
#include "base/measure_private.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Zero-initialised: not started. */
struct tf_shell {
    pid_t pid;         /* of the other process; 0: none */
    int to, from;      /* pipes */
    struct tf_err err; /* why starting failed */
};

enum { TF_SHELL_TEXT = 3072 };

struct tf_shell_result {
    bool exited;     /* it ended on its own, with this status: 0 .. 255 */
    int status;      /* else: the signal that ended it, or 0 when it could not be started */
    bool has_number; /* tf_measure_of its output */
    double number;
    char why[TF_MEASURE_WHY]; /* there is none */
    char text[TF_SHELL_TEXT]; /* the beginning of its output: the lines before the last one, if they
                                 fit, else those that do; UTF-8 */
};

/* Start the process that will run `sh -c command` with variable=value in its environment, stdin
 * from /dev/null and our stderr. Its stdout is read for a number and not shown. Call it before
 * threads and before tf_sandbox_enter. A failure is kept for tf_shell_begin. */
void tf_shell_start(struct tf_shell *s, const char *command, const char *variable,
                    const char *value);
/* Run the command, with TF_STEP=step. tf_shell_wait must return 1 before the next one. */
int tf_shell_begin(struct tf_shell *s, uint64_t step, struct tf_err *err) TF_MUST_CHECK;
/* Wait so many ms for its end: 1 with *r; 0: it still runs; -1 */
int tf_shell_wait(struct tf_shell *s, int ms, struct tf_shell_result *r,
                  struct tf_err *err) TF_MUST_CHECK;
/* End the process and the command, which gets SIGTERM and after 5 s SIGKILL, as does all that it
 * started in its process group. The same happens when this process ends in whatever way. Does not
 * wait; only tf_shell_close may follow. */
void tf_shell_stop(struct tf_shell *s);
/* The same, and wait for it. */
void tf_shell_close(struct tf_shell *s);

#endif
