/* path.h - paths as the user gives them: "-" is a standard stream. */
#ifndef TF_BASE_PATH_H
#define TF_BASE_PATH_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

/* Is path a standard stream ("-" or NULL)? */
bool tf_is_std(const char *path);
/* Is path a standard stream of the process that opens it, also as /dev/stdin or /dev/fd/0? Another
 * process, such as a tool of a pipe, opens its own by that name. */
bool tf_is_own_std(const char *path);
/* The number of paths that are "-". NULL is an option that was not given and does not count. */
size_t tf_count_std(const char *const *paths, size_t n);
/* Is input the same regular file (device and inode) as output? False if either does not exist. "-"
 * is stdin or stdout. */
bool tf_same_file(const char *input, const char *output);
/* The file that opening path for writing would make or change: links are followed, and the last
 * part may be missing. No link is left in the result, which the caller frees; NULL with errno if
 * the path leads nowhere. */
char *tf_path_target(const char *path);
/* What follows the last slash of a path. */
const char *tf_path_name(const char *path);
/* Set the error "name: is a directory", with sys EISDIR. Returns -1. */
int tf_fail_directory(struct tf_err *err, const char *name);

#endif
