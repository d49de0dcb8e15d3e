/* dir.c - see dir_private.h. */
#include "convert/dir_private.h"
#include "base/buf.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILES = 1000 };

/* NAME before NAME.gz. */
static int compare_entries(const void *a, const void *b)
{
    const struct tf_dir_entry *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->file, y->file);
}

/* Opening a pipe would wait for its writer. */
static bool is_counted(int dir, const char *name)
{
    struct stat st;
    return *name != '.' && fstatat(dir, name, &st, 0) == 0 &&
           (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static struct tf_dir_entry make_entry(struct tf_arena *a, const char *file)
{
    const size_t n = strlen(file);
    file = tf_arena_strndup(a, file, n);
    return (struct tf_dir_entry){
        .name = tf_ends_with(file, ".gz") ? tf_arena_strndup(a, file, n - 3) : file, .file = file};
}

/* Sort them, and drop the second of each name. */
static size_t sort_entries(struct tf_dir_entry *v, size_t n)
{
    size_t k = 0;
    qsort(v, n, sizeof *v, compare_entries);
    for (size_t i = 0; i < n; i++)
        if (k == 0 || strcmp(v[i].name, v[k - 1].name) != 0)
            v[k++] = v[i];
    return k;
}

int tf_dir_list(struct tf_dir *d, struct tf_arena *a, const char *path, struct tf_err *err)
{
    DIR *open = opendir(path);
    struct dirent *e;
    if (open == NULL)
        return tf_fail_errno(err, "%s", path);
    struct tf_dir_entry *v = tf_arena_alloc(a, MAX_FILES * sizeof *v);
    *d = (struct tf_dir){.a = a, .path = path, .v = v};
    for (errno = 0; d->n < MAX_FILES && (e = readdir(open)) != NULL; errno = 0)
        if (is_counted(dirfd(open), e->d_name))
            v[d->n++] = make_entry(a, e->d_name);
    const int failed = errno;
    closedir(open);
    errno = failed;
    if (failed != 0)
        return tf_fail_errno(err, "%s", path);
    if (d->n == MAX_FILES)
        return tf_fail(err, "%s: more than %d files", path, MAX_FILES - 1);
    d->n = sort_entries(v, d->n);
    return 0;
}

static const char *join(const struct tf_dir *d, const char *file)
{
    const size_t n = strlen(d->path) + strlen(file) + 2;
    char *path = tf_arena_alloc(d->a, n);
    snprintf(path, n, "%s/%s", d->path, file);
    return path;
}

static const char *path_of(const struct tf_dir *d, const struct tf_dir_entry *e)
{
    return e->path != NULL ? e->path : join(d, e->file);
}

/* ---- packages ---- */

#define IN_MEMORY "/proc/self/fd/"
#define DIGITS "0123456789"

/* The files whose names begin so, and with `folder`, if that is not NULL, a directory. */
static void list_package(struct tf_dir *d, const char *begin, const char *folder)
{
    const struct tf_package *p = d->package;
    struct tf_dir_entry *v = tf_arena_alloc(d->a, (p->n + 1) * sizeof *v);
    const size_t begin_n = strlen(begin);
    for (size_t i = 0; i < p->n; i++) {
        const char *name = p->v[i].name;
        char path[32];
        if (strncmp(name, begin, begin_n) != 0 || strchr(name + begin_n, '/') != NULL)
            continue;
        const int n = snprintf(path, sizeof path, IN_MEMORY "%d", p->v[i].fd);
        v[d->n] = make_entry(d->a, name + begin_n);
        v[d->n++].path = tf_arena_strndup(d->a, path, (size_t)n);
    }
    if (folder != NULL)
        v[d->n++] = make_entry(d->a, folder);
    d->v = v;
    d->n = sort_entries(v, d->n);
}

int tf_dir_unpack(struct tf_dir *d, struct tf_arena *a, const char *path,
                  struct tf_package *package, struct tf_err *err)
{
    if (tf_package_read(package, a, path, err) != 0)
        return -1;
    *d = (struct tf_dir){.a = a, .path = path, .package = package};
    list_package(d, "", "model");
    return 0;
}

int tf_dir_inner(struct tf_dir *inner, const struct tf_dir *d, const char *name, struct tf_err *err)
{
    const char *path = tf_dir_path(d, name);
    if (d->package == NULL)
        return tf_dir_list(inner, d->a, path, err);
    *inner = (struct tf_dir){.a = d->a, .path = path, .package = d->package};
    char begin[32];
    snprintf(begin, sizeof begin, "%s/", name);
    list_package(inner, begin, NULL);
    return 0;
}

const char *tf_dir_shown(const struct tf_dir *d, const char *path)
{
    for (size_t i = 0; d != NULL && d->package != NULL && i < d->package->n; i++) {
        const struct tf_package_file *f = &d->package->v[i];
        char in_memory[32];
        const int n = snprintf(in_memory, sizeof in_memory, IN_MEMORY "%d", f->fd);
        if (strncmp(path, in_memory, (size_t)n) == 0 && (path[n] < '0' || path[n] > '9'))
            return join(d, f->name);
    }
    return path;
}

void tf_dir_show(const struct tf_dir *d, struct tf_err *err)
{
    const char *at;
    while (d->package != NULL && (at = strstr(err->msg, IN_MEMORY)) != NULL) {
        const char *shown = tf_dir_shown(d, at),
                   *rest = at + sizeof IN_MEMORY - 1 + strspn(at + sizeof IN_MEMORY - 1, DIGITS);
        struct tf_err now = *err;
        if (shown == at)
            return;
        snprintf(now.msg, sizeof now.msg, "%.*s%s%s", (int)(at - err->msg), err->msg, shown, rest);
        *err = now;
    }
}

const char *tf_dir_has(const struct tf_dir *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->v[i].name, name) == 0 || strcmp(d->v[i].file, name) == 0)
            return path_of(d, &d->v[i]);
    return NULL;
}

const char *tf_dir_path(const struct tf_dir *d, const char *name)
{
    const char *path = tf_dir_has(d, name);
    return path != NULL ? path : join(d, name);
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
        if (fnmatch(pattern, d->v[i].name, 0) == 0 && n++ == 0)
            *path = path_of(d, &d->v[i]);
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
