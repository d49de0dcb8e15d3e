/* err.h - the error value of the library, and bugs.
 *
 * - A failure in the library: the function fills *err, prints nothing and returns -1 (or NULL);
 *   callers may add context.
 * - A failure in a tool: tf_tool_finish prints err->msg once, as "tf-x: message", and the tool
 *   exits with err->status.
 * - A bug: TF_BUG aborts with file and line. */
#ifndef TF_BASE_ERR_H
#define TF_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

#define TF_MUST_CHECK __attribute__((warn_unused_result))
#define TF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
/* A function that stays out of its caller, which runs for every record. Inlined, its arrays, and
 * variables whose address it takes, would cost each record a stack canary. */
#define TF_NOINLINE __attribute__((noinline))

/* Name of the tool in messages, "tf-x"; set at its start. */
extern const char *tf_progname;

/* Exit statuses, the same in every tool (see tf(7)). */
enum tf_status {
    TF_OK = 0,       /* done */
    TF_FAILED = 1,   /* failed: truncated, mismatched or malformed input included */
    TF_USAGE = 2,    /* wrong options or operands */
    TF_DIVERGED = 3, /* training diverged or collapsed; the last good checkpoint is named */
    TF_PARTIAL = 4,  /* finished, but some records were bad; the output is complete */
    TF_AGAIN = 75,   /* stopped on request, or the directory is in use: run it again later */
    /* Not an exit status: the reader of the output has closed it, with all that it needs. The
     * tool stops and exits with TF_OK (tf_tool_finish). */
    TF_READER_LEFT = 256,
};

/* An error: an exit status and one line of text that starts with what failed ("file: reason") and
 * has no full stop; control bytes are escaped. Zero-initialise; without an error msg[0] is 0. A
 * plain value: nothing to free. */
struct tf_err {
    int status; /* enum tf_status; 0 while there is no error */
    int sys;    /* errno of a failed system call (EPIPE, ENOSPC), else 0 */
    char msg[768];
};

/* Set *err, with status TF_FAILED, from a printf format. Returns -1, so that a function can
 * `return tf_fail(err, ...)`. The text goes through tf_escape and is cut at the size of msg. */
int tf_fail(struct tf_err *err, const char *fmt, ...) TF_PRINTF(2, 3);
/* The same with another exit status. */
int tf_fail_status(struct tf_err *err, int status, const char *fmt, ...) TF_PRINTF(3, 4);
/* The same, followed by ": " and strerror(errno); err->sys is set to errno. */
int tf_fail_errno(struct tf_err *err, const char *fmt, ...) TF_PRINTF(2, 3);
/* Put "text: " before the message; keeps status and sys. Returns -1. */
int tf_context(struct tf_err *err, const char *fmt, ...) TF_PRINTF(2, 3);

/* *err failed first, and then writing the rest, or a report of it: *later. Keep *err, unless *later
 * says more: *err has no errno, and the output's reader has not just left. */
void tf_fail_later(struct tf_err *err, const struct tf_err *later);

/* A bug in the program: print file, line and text, and abort. Never for bad input. */
#define TF_BUG(...) tf_bug(__FILE__, __LINE__, __VA_ARGS__)
#define TF_ASSERT(cond) ((cond) ? (void)0 : tf_bug(__FILE__, __LINE__, "%s", #cond))
_Noreturn void tf_bug(const char *file, int line, const char *fmt, ...) TF_PRINTF(3, 4);

/* Copy n bytes of s to dst (size bytes, always terminated) as text that a terminal shows as it is:
 * the bytes of unsafe characters (tf_utf8_unsafe), and those that are not UTF-8, as \xNN. Names,
 * and text from input, go through it before they are printed. Returns dst. */
char *tf_escape(char *dst, size_t size, const char *s, size_t n);

#endif
