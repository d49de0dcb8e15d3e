/* temp_private.h - temporary files that become other files, or are removed. If the process ends by
 * exit() or by a signal that commonly ends processes (INT, TERM, HUP, QUIT, ALRM, PROF, VTALRM,
 * XCPU, USR1 and USR2), it removes those that it still has. A signal that has a handler or is
 * ignored when the first file is created is left alone. Thread-safe.
 *
 * All paths are relative to the directory of descriptor dir (AT_FDCWD: the current one), which
 * stays open as long as the file is temporary. */
#ifndef TF_BASE_TEMP_PRIVATE_H
#define TF_BASE_TEMP_PRIVATE_H

#include <stddef.h>
#include <sys/types.h>

/* Create ".tf-NAME.tmp.PID" in the directory of path, whose last part is NAME. Returns a descriptor
 * for writing, or -1 with errno. *temp: its path; end it with tf_temp_rename or tf_temp_remove. */
int tf_temp_create(char **temp, int dir, const char *path, mode_t mode);
/* The same with a directory, which is to hold only files of these n names; they outlive it. Returns
 * a descriptor of the directory. End it with tf_temp_rename or tf_temp_remove_dir. */
int tf_temp_create_dir(char **temp, const char *path, const char *const *names, size_t n);
/* Rename to path and free temp; -1 with errno if the rename fails, and temp stays. */
int tf_temp_rename(char *temp, int dir, const char *path);
/* Remove the file and free temp. If a file in the current directory cannot be removed, it is tried
 * again at exit. */
void tf_temp_remove(char *temp, int dir);
/* Remove the directory and its files, and free temp. */
void tf_temp_remove_dir(char *temp);
/* Remove all that the process still has. May be called in a signal handler. */
void tf_temp_remove_all(void);

#endif
