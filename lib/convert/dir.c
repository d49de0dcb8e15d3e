/* dir.c - see dir_private.h. */
#include "convert/dir_private.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILES = 1000 };

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Opening a pipe would wait for its writer. */
static bool is_counted(int dir, const char *name)
{
    struct stat st;
    return *name != '.' && fstatat(dir, name, &st, 0) == 0 &&
           (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

int tf_dir_list(struct tf_dir *d, struct tf_arena *a, const char *path, struct tf_err *err)
{
    DIR *open = opendir(path);
    struct dirent *e;
    if (open == NULL)
        return tf_fail_errno(err, "%s", path);
    const char **name = tf_arena_alloc(a, MAX_FILES * sizeof *name);
    *d = (struct tf_dir){.a = a, .path = path, .name = name};
    for (errno = 0; d->n < MAX_FILES && (e = readdir(open)) != NULL; errno = 0)
        if (is_counted(dirfd(open), e->d_name))
            name[d->n++] = tf_arena_strndup(a, e->d_name, strlen(e->d_name));
    const int failed = errno;
    closedir(open);
    errno = failed;
    if (failed != 0)
        return tf_fail_errno(err, "%s", path);
    qsort(name, d->n, sizeof *name, compare_names);
    return d->n < MAX_FILES ? 0 : tf_fail(err, "%s: more than %d files", path, MAX_FILES - 1);
}

const char *tf_dir_path(const struct tf_dir *d, const char *name)
{
    const size_t n = strlen(d->path) + strlen(name) + 2;
    char *path = tf_arena_alloc(d->a, n);
    snprintf(path, n, "%s/%s", d->path, name);
    return path;
}

const char *tf_dir_has(const struct tf_dir *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->name[i], name) == 0)
            return tf_dir_path(d, name);
    return NULL;
}

const char *tf_dir_first(const struct tf_dir *d, const char *const *names)
{
    const char *path = NULL;
    while (path == NULL && *names != NULL)
        path = tf_dir_has(d, *names++);
    return path;
}

size_t tf_dir_match(const struct tf_dir *d, const char *pattern, const char **path)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (fnmatch(pattern, d->name[i], 0) == 0 && n++ == 0)
            *path = tf_dir_path(d, d->name[i]);
    return n;
}

int tf_dir_only(const struct tf_dir *d, const char *pattern, const char *advice, const char **path,
                struct tf_err *err)
{
    const char *found = NULL;
    const size_t n = tf_dir_match(d, pattern, &found);
    if (n > 1 && *path == NULL)
        return tf_fail(err, "%s: %zu files %s: %s", d->path, n, pattern, advice);
    *path = *path != NULL ? *path : found;
    return 0;
}

int tf_dir_require(const struct tf_dir *d, const char **path, const char *name, const char *class,
                   struct tf_err *err)
{
    *path = tf_dir_has(d, name);
    return *path != NULL ? 0
                         : tf_fail(err,
                                   "%s: no %s, a file of %s: copy it from the model that this one "
                                   "comes from",
                                   d->path, name, class);
}
