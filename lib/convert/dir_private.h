/* dir_private.h - the files of a directory that a model may be in. Each may be compressed with
 * gzip, NAME.gz, and is then found by NAME; where there are both, NAME.gz is no file of the model.
 */
#ifndef TF_CONVERT_DIR_PRIVATE_H
#define TF_CONVERT_DIR_PRIVATE_H

#include "base/arena.h"
#include "base/err.h"
#include "exchange/package.h"

#include <stddef.h>

struct tf_dir {
    struct tf_arena *a; /* of all texts and paths */
    const char *path;
    struct tf_package *package; /* whose files these are, or NULL */
    const struct tf_dir_entry {
        const char *name, *file; /* the second with .gz if that is its name */
        const char *path;        /* where that is not below d->path, or NULL */
    } * v;                       /* files and directories, in the order of the bytes of names */
    size_t n;
};

/* List a directory. Pipes, devices and names that begin with a dot do not count. Errors: a
 * directory that cannot be read, or has 1,000 files and more. */
int tf_dir_list(struct tf_dir *d, struct tf_arena *a, const char *path,
                struct tf_err *err) TF_MUST_CHECK;
/* The same of a package (exchange/package.h), which is unpacked to *package. */
int tf_dir_unpack(struct tf_dir *d, struct tf_arena *a, const char *path,
                  struct tf_package *package, struct tf_err *err) TF_MUST_CHECK;
/* The same of a directory in one that is listed. */
int tf_dir_inner(struct tf_dir *inner, const struct tf_dir *d, const char *name,
                 struct tf_err *err) TF_MUST_CHECK;
/* How a path is shown to users: a file of a package by its name there. The same in a message. */
const char *tf_dir_shown(const struct tf_dir *d, const char *path);
void tf_dir_show(const struct tf_dir *d, struct tf_err *err);
/* The path of a file, whether it is there or not; of a file that is there, or NULL. */
const char *tf_dir_path(const struct tf_dir *d, const char *name);
const char *tf_dir_has(const struct tf_dir *d, const char *name);
/* The path of the first of these names that is there, or NULL; the last name is NULL. */
const char *tf_dir_first(const struct tf_dir *d, const char *const *names);
/* How many names match a pattern; *path is the first of them, if there is one. */
size_t tf_dir_match(const struct tf_dir *d, const char *pattern, const char **path);
/* Set *path, unless it is set already, to the only file that matches. advice: what a user does
 * about several, which are an error. */
int tf_dir_only(const struct tf_dir *d, const char *pattern, const char *advice, const char **path,
                struct tf_err *err) TF_MUST_CHECK;
/* Set *path to a file that belongs to the class of that name, without which there is no model. */
int tf_dir_require(const struct tf_dir *d, const char **path, const char *name, const char *class,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
