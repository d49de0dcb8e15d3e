/* newest.c - see newest.h. */
#include "train/store/newest.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

struct candidate {
    struct tf_checkpoint_file file;
    int rank; /* for equal steps, the lowest first; 0: regular */
};

static int newest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->file.step != y->file.step ? (x->file.step > y->file.step ? -1 : 1)
                                        : x->rank - y->rank;
}

bool tf_rundir_peek(struct tf_checkpoint_file *f, const struct tf_rundir *d, const char *name,
                    struct tf_err *why)
{
    struct tf_model_file m;
    struct stat st;
    *why = (struct tf_err){0};
    *f = (struct tf_checkpoint_file){0};
    if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return false;
    f->path = tf_rundir_file(d->path, name);
    if (tf_rundir_read(d, name, &m, TF_MODEL_HEAD, why) == 0) {
        if (tf_state_step(&f->step, &m, why) != 0)
            tf_context(why, "%s", f->path);
        tf_model_release(&m);
    }
    return true;
}

/* Read all of it. */
static int read_checkpoint(struct tf_model_file *m, struct tf_run_state *s,
                           const struct tf_rundir *d, const char *path, struct tf_err *err)
{
    if (tf_rundir_read(d, tf_path_name(path), m, 0, err) != 0)
        return -1;
    if (tf_state_read(s, m, err) == 0)
        return 0;
    tf_model_release(m);
    return tf_context(err, "%s", path);
}

/* Only what is in a file is damage, or a directory under its name. A file that cannot be read now,
 * because of its mode, a missing disk or memory, may be whole: an older one would lose its updates.
 */
static int check_damaged(const struct tf_err *why, struct tf_err *err)
{
    if (why->sys == 0 || why->sys == EISDIR)
        return 0;
    return tf_fail(err, "%s; to resume from an older checkpoint, move it away", why->msg);
}

struct candidates {
    struct candidate *v;
    size_t n, torn; /* torn: those that are not among them, because they have no step */
};

static int find_candidates(struct candidates *c, const struct tf_rundir *d, struct tf_err *err)
{
    static const char *const others[] = {TF_RUN_RESUME, TF_RUN_BEST};
    enum { OTHERS = sizeof others / sizeof *others };
    struct tf_checkpoint_list l;
    *c = (struct candidates){0};
    if (tf_rundir_list_of(&l, tf_rundir_entries(d), d->path, err) != 0)
        return -1;
    c->v = tf_xcalloc(l.n + OTHERS, sizeof *c->v);
    for (; c->n < l.n; c->n++)
        c->v[c->n].file = l.v[c->n];
    free(l.v);
    int rc = 0;
    for (int i = 0; i < OTHERS && rc == 0; i++) {
        struct candidate *new = &c->v[c->n];
        struct tf_err why;
        if (!tf_rundir_peek(&new->file, d, others[i], &why))
            continue;
        new->rank = i + 1;
        if (why.status == 0) {
            c->n++;
            continue;
        }
        free(new->file.path);
        c->torn++;
        if ((rc = check_damaged(&why, err)) == 0)
            tf_warn("%s; skipped", why.msg);
    }
    qsort(c->v, c->n, sizeof *c->v, newest_first);
    return rc;
}

static int read_newest(const struct candidates *c, const struct tf_rundir *d,
                       struct tf_model_file *m, struct tf_run_state *s, char **path,
                       struct tf_err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct tf_checkpoint_file *f = &c->v[i].file;
        struct tf_err why = {0};
        if (read_checkpoint(m, s, d, f->path, &why) == 0) {
            if (c->v[i].rank == 0 && tf_checkpoint_check_step(f, s->step, err) != 0) {
                tf_model_release(m);
                return -1;
            }
            *path = tf_xstrdup(f->path);
            return 1;
        }
        if (check_damaged(&why, err) != 0)
            return -1;
        tf_warn("%s%s", why.msg, i + 1 < c->n ? "; trying the checkpoint before it" : "");
    }
    if (c->n + c->torn == 0)
        return 0;
    return tf_fail(err, "%s: none of its %zu checkpoints can be read", d->path, c->n + c->torn);
}

int tf_rundir_newest(const struct tf_rundir *d, struct tf_model_file *m, struct tf_run_state *s,
                     char **path, struct tf_err *err)
{
    struct candidates c;
    *path = NULL;
    int rc = find_candidates(&c, d, err);
    if (rc == 0)
        rc = read_newest(&c, d, m, s, path, err);
    for (size_t i = 0; i < c.n; i++)
        free(c.v[i].file.path);
    free(c.v);
    return rc;
}
