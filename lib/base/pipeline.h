/* pipeline.h - run other tools of this build in a pipe, as a shell does. */
#ifndef TF_BASE_PIPELINE_H
#define TF_BASE_PIPELINE_H

#include "base/opt.h"
#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

enum { TF_TOOL_PATH = PATH_MAX + 32 };

/* The tool of that name in the directory of this program; if there is none, the name, which is
 * searched in PATH. */
const char *tf_tool_path(char path[TF_TOOL_PATH], const char *name);

/* Refuse a standard stream (tf_is_own_std) as the value of those options, which name files that
 * tools of a pipe read or write: their stdin and stdout are not the user's (status TF_USAGE). */
int tf_pipeline_refuse_std(struct tf_opt *opts, const char *const *names,
                           struct tf_err *err) TF_MUST_CHECK;

struct tf_pipeline;

/* Start n commands, each argv[i] ending with NULL, in a pipe: *to is the write end of the first
 * one's stdin, *from the read end of the last one's stdout, both ours to close. stderr of all is
 * ours. They ignore SIGINT: Ctrl-C reaches all processes of a terminal, and this one decides. When
 * this process dies, so do the commands. -1 and err: a command could not be started. */
int tf_pipeline_start(struct tf_pipeline **p, const char *const *const *argv, size_t n, int *to,
                      int *from, struct tf_err *err) TF_MUST_CHECK;
/* Start n commands that make copies of themselves, and for each request on stdin a pipe of those,
 * until nobody asks any more. A command that is there twice, as the same pointer, is started once,
 * and its copies have two places. They wait for the first request (tf_copies_await), which they get
 * when the process `check` of tf_sandboxed_begin has ended: where that failed, it is the result,
 * and none of them has said a word. -1 and err: a command does not start, or one has ended. */
int tf_pipeline_copies(const char *const *const *argv, size_t n, pid_t check,
                       struct tf_err *err) TF_MUST_CHECK;
/* Wait for all. Returns the exit status: TF_OK; TF_PARTIAL if a command ended with it
 * and none failed; else that of the command that failed first, whose message is on stderr. -1 and
 * err: a signal ended it.
 *
 * When a command fails, the others are ended; those after it have not seen the end of their input,
 * so none of them complains about it or finishes an output. In any thread, once. */
int tf_pipeline_wait(struct tf_pipeline *p, struct tf_err *err) TF_MUST_CHECK;
/* End all commands that run; also after tf_pipeline_wait. */
void tf_pipeline_end(struct tf_pipeline *p);
/* When no thread uses it. */
void tf_pipeline_free(struct tf_pipeline *p);

/* Is this process a command that tf_pipeline_start has started? */
bool tf_in_pipeline(void);
/* A command that has read that the one before it failed calls this before it says so. One that
 * tf_pipeline started waits here for its end, since the other's message is the one that counts, and
 * a copy ends (base/copies.h); elsewhere it returns at once. */
void tf_pipeline_await_end(void);

/* Start a process that is a copy of this one and takes requests for pipes of copies (base/copies.h)
 * on stdin by f, which calls tf_pipeline_copies; *asks is our end of the socket. It is in a process
 * group of its own and has no other files than the standard streams. When this process dies, it
 * gets SIGTERM. Call it while this process has one thread. */
int tf_pipeline_open_copies(int (*f)(void *arg, struct tf_err *err), void *arg, pid_t *pid,
                            int *asks, struct tf_err *err) TF_MUST_CHECK;
/* Ask for such a pipe, and return our ends of the pipes that are its stdin and stdout, which do not
 * block. *pid is a child of ours that ends when all copies have, which are in its process group:
 * end that with kill(). They end by themselves when this process dies, since their input does.
 * Call it while this process has one thread. */
int tf_pipeline_ask(int asks, pid_t *pid, int *in, int *out, struct tf_err *err) TF_MUST_CHECK;

/* So many bytes, zeroed, that processes which are started later share with this one, until it ends;
 * NULL and err if there are none. */
void *tf_shared(size_t n, struct tf_err *err) TF_MUST_CHECK;

/* What is done in a process of its own: to `to`, if that is tf_shared, this one sees it. */
typedef int tf_sandboxed_fn(void *to, const struct tf_strs *files, struct tf_err *err);
/* Run f in a process of its own, in a sandbox that may read those files: where this process must
 * not enter one, because what it starts would inherit it. Returns 0, or the exit status of a
 * failure, whose message is printed. -1 and err: no process could be started, or a signal ended
 * it. */
int tf_run_sandboxed(tf_sandboxed_fn *f, void *to, const struct tf_strs *files,
                     struct tf_err *err) TF_MUST_CHECK;
/* Begin the same, for tf_pipeline_copies. Returns the process, or -1 and err. */
pid_t tf_sandboxed_begin(tf_sandboxed_fn *f, void *to, const struct tf_strs *files,
                         struct tf_err *err) TF_MUST_CHECK;

#endif
