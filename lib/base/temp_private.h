/* temp_private.h - temporary files that become other files, or are removed. If the process ends by
 * exit() or by a signal that commonly ends processes (INT, TERM, HUP, QUIT, ALRM, PROF, VTALRM,
 * XCPU, USR1 and USR2), it removes those that it still has. A signal that has a handler or is
 * ignored when the first file is created is left alone. Thread-safe.
 *
 * The directory that a file is created in is held open: whatever other users of it or of those
 * above do to its name meanwhile, the file is renamed and removed there and nowhere else. */
#ifndef TF_BASE_TEMP_PRIVATE_H
#define TF_BASE_TEMP_PRIVATE_H

#include "base/err.h"
#include <stddef.h>
#include <sys/types.h>

struct tf_temp;

/* Create ".tf-NAME.tmp.PID" in the directory of path, whose last part is NAME; path is relative to
 * the directory of descriptor dir (AT_FDCWD: the current one). Returns a descriptor for writing, or
 * -1 with errno. End *temp with tf_temp_finish or tf_temp_remove. */
int tf_temp_create(struct tf_temp **temp, int dir, const char *path, mode_t mode);
/* The same with a directory, which is to hold only files of these n names; they outlive it. The
 * descriptor returned, of the directory, belongs to *temp. */
int tf_temp_create_dir(struct tf_temp **temp, const char *path, const char *const *names, size_t n);
/* Its name in its directory. */
const char *tf_temp_name(const struct tf_temp *temp);
/* Give it the name that path ends in, sync its directory and free temp; if it cannot be renamed,
 * remove it. A file replaces another, a directory nothing. shown: the path for messages. */
int tf_temp_finish(struct tf_temp *temp, const char *path, const char *shown,
                   struct tf_err *err) TF_MUST_CHECK;
/* Remove the file, or the directory and its files, and free temp. What cannot be removed is tried
 * again at exit. */
void tf_temp_remove(struct tf_temp *temp);
/* Remove all that the process still has. May be called in a signal handler. */
void tf_temp_remove_all(void);

#endif
