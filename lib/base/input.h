/* input.h - buffered input from files and standard input, by bytes and by lines. */
#ifndef TF_BASE_INPUT_H
#define TF_BASE_INPUT_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum { TF_LINE_HEAD = 64 /* bytes that are kept of a line that is too long */ };

/* Read at most n > 0 bytes to dst. Returns their number, 0 at the end, -1 on error. */
typedef ssize_t tf_in_source(void *arg, void *dst, size_t n, struct tf_err *err);

/* Look at the bytes that are in the buffer, the first of the input, before the caller sees them:
 * 1 when they are accepted or a filter was inserted (then it may set a new check), 0 to look again
 * when there are more, -1 to refuse them. Not 0 when eof is set or a line is complete. */
struct tf_in;
typedef int tf_in_check(struct tf_in *in, struct tf_err *err);

/* Zero-initialise, or set with one of the first two functions. */
struct tf_in {
    int fd;
    char *name;       /* for messages: the path, or "stdin" */
    uint8_t *buf;     /* bytes [pos, len) are unread */
    size_t pos, len, cap;
    uint64_t offset;  /* of buf[0] in the input */
    int64_t size;     /* of a regular file, when it was opened; -1 for pipes and terminals */
    struct timespec modified; /* that file's time of modification then */
    bool grows;       /* see tf_in_may_grow; then there is a CRC-32C of what was read */
    uint64_t taken;   /* bytes that were read */
    uint32_t crc;
    bool eof;         /* a read has returned 0 */
    tf_in_check *check;   /* until it has said 1; set after opening, or NULL */
    tf_in_source *source; /* NULL: read(2) of fd */
    void *source_arg;
    void (*source_free)(void *arg);
    struct tf_in *raw; /* what the source reads; closed and freed with it */
    char head[TF_LINE_HEAD]; /* start of a line that is too long */
};

/* Open a path for reading; "-" is stdin. A directory is an error. */
int tf_in_open(struct tf_in *in, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* Fail with TF_USAGE if `in` reads a terminal, for input that nobody types: without a message the
 * tool would seem to hang. what: the input that is required. */
int tf_in_refuse_terminal(const struct tf_in *in, const char *what,
                          struct tf_err *err) TF_MUST_CHECK;
/* Read from a descriptor, which `in` then owns. name: for messages. */
void tf_in_from_fd(struct tf_in *in, int fd, const char *name);
/* Free the memory and close the descriptor, except stdin. Safe after tf_in_open failed and on a
 * zeroed struct. */
void tf_in_close(struct tf_in *in);
/* Insert a filter: move `in`, of which nothing was taken, to a new struct on the heap, and let `in`
 * read from source. Returns what the source reads. tf_in_close frees arg and closes both. */
struct tf_in *tf_in_interpose(struct tf_in *in, tf_in_source *source, void *arg,
                              void (*source_free)(void *arg));

/* At the end of a regular file, size and time of modification must be those that it had when it was
 * opened: otherwise what was read may be a mixture of old and new contents. After this call, before
 * the first read, others may append to the file, as to a log: if it has changed, it is read again
 * and must begin with what was read before. */
void tf_in_may_grow(struct tf_in *in);
/* The check that is made at the end, for readers that map the file or stop earlier. */
int tf_in_unchanged(const struct tf_in *in, struct tf_err *err) TF_MUST_CHECK;

/* Make at least `need` unread bytes available. Returns the number available, which is less than
 * `need` only at the end of the input; -1 on error. Grows the buffer to `need`: callers limit it.
 */
ssize_t tf_in_fill(struct tf_in *in, size_t need, struct tf_err *err) TF_MUST_CHECK;
/* Copy n bytes to dst; large reads bypass the buffer. Returns n, less at the end of the input, or
 * -1 on error. */
ssize_t tf_in_read(struct tf_in *in, void *dst, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* Will the next read return without waiting? Filters flush their output before one that may not. */
bool tf_in_ready(struct tf_in *in);
/* The rest of the input, at most max bytes, in memory that the caller frees, followed by a NUL that
 * does not count. */
int tf_in_all(struct tf_in *in, char **data, size_t *n, size_t max,
              struct tf_err *err) TF_MUST_CHECK;
/* tf_in_all of a file; "-" is stdin. */
int tf_read_file(char **data, size_t *n, const char *path, size_t max,
                 struct tf_err *err) TF_MUST_CHECK;

/* The next line, without its LF, valid until the next call. Only LF ends a line; the last line need
 * not have one. Returns 1; 0 at the end; -1 on error; 2 for a line of more than max bytes, which is
 * skipped: *n is its length, *line its first bytes (at most TF_LINE_HEAD). */
int tf_in_line(struct tf_in *in, const char **line, size_t *n, size_t max,
               struct tf_err *err) TF_MUST_CHECK;
/* Will a read of more than is buffered return without waiting? */
bool tf_in_more_ready(struct tf_in *in);
/* Will tf_in_line return without waiting? */
bool tf_in_line_ready(struct tf_in *in, size_t max);

#endif
