/* fd.h - system calls on file descriptors: repeated after EINTR, short writes continued. */
#ifndef TF_BASE_FD_H
#define TF_BASE_FD_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* open(2) with O_CLOEXEC: a descriptor, or -1 with errno. */
int tf_fd_open(const char *path, int flags, mode_t mode) TF_MUST_CHECK;
/* The same with a path relative to the directory of descriptor dir. */
int tf_fd_open_at(int dir, const char *path, int flags, mode_t mode) TF_MUST_CHECK;
/* Is there data, or the end of the input, to read without waiting? */
bool tf_fd_readable(int fd);
/* Write all n bytes; waits if fd is non-blocking and full. name: for messages. */
int tf_fd_write(int fd, const char *name, const void *data, size_t n,
                struct tf_err *err) TF_MUST_CHECK;
/* fsync the directory that contains path, if the user may read it: without that right it cannot be
 * opened for fsync, although files can be made in it. */
int tf_sync_dir(const char *path, struct tf_err *err) TF_MUST_CHECK;
/* fsync the directory of descriptor dir, after a change of the file that messages call path. */
int tf_sync_dir_at(int dir, const char *path, struct tf_err *err) TF_MUST_CHECK;

#endif
