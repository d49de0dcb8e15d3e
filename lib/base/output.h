/* output.h - buffered output to files and standard output. A regular file appears complete or not
 * at all. */
#ifndef TF_BASE_OUTPUT_H
#define TF_BASE_OUTPUT_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tf_out {
    int fd;
    char *name;      /* for messages: the path, or "stdout" */
    int dir;         /* what path is relative to: AT_FDCWD, or of tf_out_open_at */
    char *path;      /* where temp is renamed to; NULL if written in place (stdout, FIFO, device) */
    struct tf_temp *temp; /* see temp_private.h; NULL if written in place */
    char *part;           /* the temporary file of TF_OUT_PART */
    bool adopted;         /* that had the name of the path */
    uint8_t *buf;
    size_t len, cap;
    uint64_t offset; /* bytes written so far, including those in buf */
    bool failed;
};

/* When the reader of a pipe has closed it, a write fails with status TF_READER_LEFT. A tool with a
 * second output, which is then incomplete, makes that TF_FAILED. */

enum {
    TF_OUT_BINARY = 1,   /* refuse to write to a terminal */
    TF_OUT_IN_PLACE = 2, /* a regular file is written in place too: others can read what is there */
    TF_OUT_PART = 4,     /* the temporary file is PATH.part, and stays when the output is aborted */
    /* With PART: keep what that file has already, and write after it. If there is none, a regular
     * file that has the path, such as one of a redirection, gets its name. */
    TF_OUT_CONTINUE = 8,
};

/* Open a path for writing.
 * - "-" or NULL: stdout. /dev/stdout, /dev/fd/N and the like: that descriptor, at its offset.
 * - A FIFO or a device is written in place.
 * - A regular file, or a path where nothing is: a temporary file in the same directory, which is
 *   renamed at commit. A symbolic link is followed. The new file gets the group and the
 *   permissions of a file that it replaces (tf_rights_copy), if we own that file. With
 *   TF_OUT_IN_PLACE: that file, emptied. With TF_OUT_PART: a file in use by another process, which
 *   holds a lock on it, is an error with TF_AGAIN.
 * - A directory is an error. */
int tf_out_open(struct tf_out *out, const char *path, unsigned flags,
                struct tf_err *err) TF_MUST_CHECK;
/* Open a file of our own, `base` in the directory of descriptor dir, wherever that is by now; dir
 * stays open until the output has ended. As above, but a symbolic link is replaced, not followed,
 * and a FIFO or a device is an error. path: for messages. */
int tf_out_open_at(struct tf_out *out, int dir, const char *base, const char *path,
                   struct tf_err *err) TF_MUST_CHECK;
/* The name of its temporary file, in the directory of its path; NULL if it is written in place. */
const char *tf_out_temp_name(const struct tf_out *out);
/* Give a file that TF_OUT_CONTINUE took its name again. */
void tf_out_return(struct tf_out *out);
/* Is it, or does it become, a regular file? */
bool tf_out_is_file(const struct tf_out *out);
int tf_out_write(struct tf_out *out, const void *p, size_t n, struct tf_err *err) TF_MUST_CHECK;
int tf_out_printf(struct tf_out *out, struct tf_err *err, const char *fmt, ...) TF_MUST_CHECK
    TF_PRINTF(3, 4);
int tf_out_flush(struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;

/* End the output. Each of these three releases the struct, whatever it returns. */

/* Flush; unless it is stdout, also fsync, close, rename, and fsync the directory. */
int tf_out_commit(struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;
/* Discard what is buffered; close, and remove the temporary file. Safe after the other two and on a
 * zeroed struct. */
void tf_out_abort(struct tf_out *out);
/* Commit if rc is 0. Otherwise flush what is written in place, and abort; if that flush fails and
 * *err has no errno, the flush's error replaces *err, unless it is TF_READER_LEFT. Returns rc, or
 * -1. */
int tf_out_finish(struct tf_out *out, int rc, struct tf_err *err) TF_MUST_CHECK;

#endif
