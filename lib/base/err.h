/* err.h - the error value of the library, and the few ways to give up.
 *
 * Three kinds of trouble, three answers. A bug: TF_BUG() aborts with file and line. A failure in
 * the library: the function returns -1 (or NULL), fills *err and prints nothing; callers add
 * context on the way up. A failure in a command: cmd/ prints err->msg once, as "tf-x: message", and
 * ends with err->status. */
#ifndef TF_BASE_ERR_H
#define TF_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

#define TF_MUST_CHECK __attribute__((warn_unused_result))
#define TF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Name of the tool in messages, "tf-x"; set at its start. */
extern const char *tf_progname;

/* Exit statuses, the same in every tool (see tf(7)). */
enum tf_status {
    TF_OK = 0,       /* done */
    TF_FAILED = 1,   /* failed: truncated, mismatched or malformed input included */
    TF_USAGE = 2,    /* wrong options or operands */
    TF_DIVERGED = 3, /* training diverged; the last good checkpoint is named */
    TF_PARTIAL = 4,  /* finished, but some records were bad; the output is complete */
    /* stopped on request, or the directory is in use: run the same command again */
    TF_AGAIN = 75,
};

/* --bad=mark|fail|ok: records, lines or trees that can't be processed end a run with TF_PARTIAL,
 * stop it at the first, or do not count against it. */
enum tf_on_bad { TF_ON_BAD_MARK, TF_ON_BAD_FAIL, TF_ON_BAD_OK };
extern const char *const tf_on_bad_words[]; /* ends with NULL */

/* An error: the exit status it asks for and one line of text: lower case, no full stop, no newline,
 * control bytes escaped. Zero-initialise; one without a message has msg[0] == 0. A plain value:
 * nothing to free. */
struct tf_err {
    int status;    /* enum tf_status; 0 while there is no error */
    int sys;       /* errno behind it, or 0 (lets a caller tell EPIPE from ENOSPC) */
    char msg[768];
};

/* Set *err (status TF_FAILED) from a printf format; return -1, so that `return tf_fail(err, ...)`
 * reads well. Bytes that are control characters or not UTF-8 come out as \xNN; the text is cut at
 * the size of msg. */
int tf_fail(struct tf_err *err, const char *fmt, ...) TF_PRINTF(2, 3);
/* The same with another exit status. */
int tf_fail_status(struct tf_err *err, int status, const char *fmt, ...) TF_PRINTF(3, 4);
/* The same with ": strerror(errno)" behind it and err->sys = errno. */
int tf_fail_errno(struct tf_err *err, const char *fmt, ...) TF_PRINTF(2, 3);
/* Put "text: " in front of the message; return -1. The status stays. */
int tf_context(struct tf_err *err, const char *fmt, ...) TF_PRINTF(2, 3);

/* A broken promise inside the program: print file, line and text, abort. Never for bad input. */
#define TF_BUG(...) tf_bug(__FILE__, __LINE__, __VA_ARGS__)
#define TF_ASSERT(cond) ((cond) ? (void)0 : tf_bug(__FILE__, __LINE__, "%s", #cond))
_Noreturn void tf_bug(const char *file, int line, const char *fmt, ...) TF_PRINTF(3, 4);

/* Allocation of sizes that we chose: never NULL; out of memory prints "tf-x: out of memory" and
 * ends with status 1. Sizes that come from input are checked against a limit first. tf_xarray
 * checks n * size for overflow. Free with free(). */
void *tf_xmalloc(size_t size);
void *tf_xcalloc(size_t n, size_t size);
void *tf_xarray(void *old, size_t n, size_t size); /* realloc to n elements */
_Noreturn void tf_out_of_memory(void);             /* says so, and ends the process */
char *tf_xstrdup(const char *s);
char *tf_xstrndup(const char *s, size_t n);
/* The same for sizes that come from input: NULL and an error when there is no memory. 64-byte
 * aligned, not cleared. */
void *tf_try_alloc(size_t size, struct tf_err *err) TF_MUST_CHECK;

/* Write s (n bytes) into dst (size bytes, always terminated) with control bytes and bytes that are
 * not UTF-8 as \xNN. Returns dst. */
char *tf_escape(char *dst, size_t size, const char *s, size_t n);

#endif
