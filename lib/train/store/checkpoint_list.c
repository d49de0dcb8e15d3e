/* checkpoint_list.c - see checkpoint_list.h. */
#include "train/store/checkpoint_list.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *tf_rundir_file(const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    char *p = tf_xmalloc(n + m + 2);
    memcpy(p, dir, n);
    p[n] = '/';
    memcpy(p + n + 1, name, m + 1);
    return p;
}

enum { NAME = 40 };

static const char *regular_name(char name[NAME], uint64_t step)
{
    snprintf(name, NAME, "ckpt-%08llu.tfm", (unsigned long long)step);
    return name;
}

char *tf_rundir_regular_name(uint64_t step)
{
    char name[NAME];
    return tf_xstrdup(regular_name(name, step));
}

/* A number too large for 64 bits and superfluous zeros are in no name of ours. */
bool tf_rundir_regular_step(const char *name, uint64_t *step)
{
    char ours[NAME];
    uint64_t x = 0;
    if (strncmp(name, "ckpt-", 5) != 0)
        return false;
    for (const char *p = name + 5; *p >= '0' && *p <= '9'; p++)
        x = x * 10 + (uint64_t)(*p - '0');
    *step = x;
    return strcmp(name, regular_name(ours, x)) == 0;
}

static int by_step(const void *a, const void *b)
{
    const struct tf_checkpoint_file *x = a, *y = b;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* Would opening it wait, or act on a device? */
static bool is_special(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, 0) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int tf_next_entry(DIR *d, struct dirent **e)
{
    errno = 0;
    *e = readdir(d);
    return *e != NULL ? 1 : errno != 0 ? -1 : 0;
}

int tf_rundir_list_of(struct tf_checkpoint_list *l, DIR *d, const char *dir, struct tf_err *err)
{
    *l = (struct tf_checkpoint_list){0};
    if (d == NULL)
        return tf_fail_errno(err, "%s", dir);
    uint64_t step;
    struct dirent *e;
    int rc;
    while ((rc = tf_next_entry(d, &e)) > 0)
        if (tf_rundir_regular_step(e->d_name, &step)) {
            char *path = tf_rundir_file(dir, e->d_name);
            if (is_special(dirfd(d), e->d_name)) {
                tf_warn("%s: not a regular file; skipped", path);
                free(path);
                continue;
            }
            l->v = tf_xarray(l->v, l->n + 1, sizeof *l->v);
            l->v[l->n++] = (struct tf_checkpoint_file){.path = path, .step = step};
        }
    if (rc < 0) {
        tf_fail_errno(err, "%s", dir);
        tf_checkpoint_list_release(l);
    }
    closedir(d);
    if (l->n > 1)
        qsort(l->v, l->n, sizeof *l->v, by_step);
    return rc;
}

int tf_rundir_list(struct tf_checkpoint_list *l, const char *dir, struct tf_err *err)
{
    return tf_rundir_list_of(l, opendir(dir), dir, err);
}

int tf_checkpoint_check_step(const struct tf_checkpoint_file *f, uint64_t step, struct tf_err *err)
{
    if (step == f->step)
        return 0;
    return tf_fail(err,
                   "%s: the name is that of step %llu, but it contains step %llu; move it away",
                   f->path, (unsigned long long)f->step, (unsigned long long)step);
}

void tf_checkpoint_list_release(struct tf_checkpoint_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    free(l->v);
    *l = (struct tf_checkpoint_list){0};
}
