/* file.h - buffered input and output that check every call, "-" for the standard streams, and
 * output files that appear whole or not at all. */
#ifndef TF_BASE_FILE_H
#define TF_BASE_FILE_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- input ---- */

/* Reads at most n bytes, n > 0: their number, 0 at the end, -1 on error. */
typedef ssize_t tf_in_source(void *arg, void *dst, size_t n, struct tf_err *err);

struct tf_in {
    int fd;
    char *name;       /* for messages: the path, or "stdin" */
    uint8_t *buf;     /* bytes [pos, len) are unread */
    size_t pos, len, cap;
    uint64_t offset;  /* of buf[0] in the input */
    int64_t size;     /* of a regular file; -1 for pipes and terminals */
    bool eof;         /* a read has returned 0 */
    tf_in_source *source; /* NULL: read(2) of fd */
    void *source_arg;
};

/* Open a path for reading; "-" is stdin; refuses directories ("is a directory"). Retries EINTR,
 * takes short reads. The struct owns fd and memory. */
int tf_in_open(struct tf_in *in, const char *path, struct tf_err *err) TF_MUST_CHECK;
void tf_in_close(struct tf_in *in);
/* Put a source between `in`, which has not been read, and its file: the open file moves to *raw,
 * and `in` reads from the source. Close both. */
void tf_in_interpose(struct tf_in *in, struct tf_in *raw, tf_in_source *source, void *arg);
/* Make at least `need` unread bytes available, unless the input ends first. Returns the count
 * available (may be less than need only at the end), -1 on error. Grows the buffer to hold `need`;
 * callers bound it. */
ssize_t tf_in_fill(struct tf_in *in, size_t need, struct tf_err *err) TF_MUST_CHECK;
/* Copy exactly n bytes to dst, large reads straight into place. Returns n; fewer at the end of
 * input; -1 on error. */
ssize_t tf_in_read(struct tf_in *in, void *dst, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* True when the next read would not block: unread bytes in the buffer, data or end of file waiting
 * on fd. Filters flush their output before a read that would block. */
bool tf_in_ready(struct tf_in *in);

/* The next line, without its LF, valid until the next call. Only LF ends a line; a last line
 * without LF counts. Returns 1; 0 at the end; -1 on error; 2 for a line longer than max bytes: it
 * was read past, *line holds its first bytes (at most 64), *n its full length. */
int tf_in_line(struct tf_in *in, const char **line, size_t *n, size_t max,
               struct tf_err *err) TF_MUST_CHECK;
/* True when tf_in_line will answer without waiting: a whole line, the end, or more than max bytes
 * are there. Filters of lines flush their output where it is false. */
bool tf_in_line_ready(struct tf_in *in, size_t max);

/* What is left of the input (at most max bytes) into memory owned by the caller, with a NUL behind
 * it that does not count. */
int tf_in_all(struct tf_in *in, char **data, size_t *n, size_t max,
              struct tf_err *err) TF_MUST_CHECK;

/* ---- output ---- */

struct tf_out {
    int fd;
    char *name;      /* for messages: the path, or "stdout" */
    char *path;      /* NULL for stdout and for files written in place (FIFOs, devices) */
    char *temp;      /* temporary in the same directory, ".tf-NAME.tmp.PID", while open */
    uint8_t *buf;
    size_t len, cap;
    uint64_t offset; /* bytes given to write(2) or waiting in buf */
    bool failed;
};

enum { TF_OUT_BINARY = 1 /* refuse a terminal as stdout */ };

/* Open for writing: "-" (or NULL) is stdout; a regular file is written to a temporary beside it and
 * appears at commit; FIFOs, devices and names under /dev and /proc are written directly; a symbolic
 * link is followed, and its target replaced. A directory is refused. A replaced file keeps its
 * permissions (0777, never set-id bits) if it is ours; otherwise they are the umask's default. */
int tf_out_open(struct tf_out *out, const char *path, unsigned flags,
                struct tf_err *err) TF_MUST_CHECK;
int tf_out_write(struct tf_out *out, const void *p, size_t n, struct tf_err *err) TF_MUST_CHECK;
int tf_out_printf(struct tf_out *out, struct tf_err *err, const char *fmt, ...) TF_MUST_CHECK
    TF_PRINTF(3, 4);
int tf_out_flush(struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;
/* Flush; for a file: fsync, close (checked), rename, fsync of the directory; for stdout: flush only
 * (tf_tool_finish closes it). Ends the struct either way. */
int tf_out_commit(struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;
/* The end of a filter's output. rc 0: commit. Else drop it, but what went to stdout or into a file
 * in place still goes there; a failure of that is told where *err is not the system's own. Returns
 * rc, or -1. */
int tf_out_finish(struct tf_out *out, int rc, struct tf_err *err) TF_MUST_CHECK;
/* Drop it: close, unlink the temporary. Nothing reaches the path. Safe after a commit and on a
 * zeroed struct. */
void tf_out_abort(struct tf_out *out);

/* ---- small ones ---- */

/* All of n bytes to a descriptor: what is interrupted or short goes on, what would block waits. */
int tf_write_fd(int fd, const char *name, const void *data, size_t n,
                struct tf_err *err) TF_MUST_CHECK;
/* tf_in_all of a file; "-" allowed. */
int tf_read_file(char **data, size_t *n, const char *path, size_t max,
                 struct tf_err *err) TF_MUST_CHECK;
/* fsync of the directory that holds path. */
int tf_sync_dir(const char *path, struct tf_err *err) TF_MUST_CHECK;
/* True when both are the same regular file (device and inode); false when either can't be told. For
 * "input is the output" checks: a "-" is stdin as `a`, stdout as `b`. */
bool tf_same_file(const char *a, const char *b);
/* How many of the paths are stdin; one at most can be. NULL is none. */
size_t tf_count_stdin(const char *const *paths, size_t n);

#endif
