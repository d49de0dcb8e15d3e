/* package.c - see package.h. */
#include "exchange/package.h"
#include "base/fd.h"
#include "base/input.h"
#include "exchange/zip_private.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Packages have data of other programs, too, of which some find sentences. */
enum { MOST_MEMBERS = 100000, MOST_RATIO = 10, MOST_BYTES = 64 << 20 };

struct unpacking {
    struct tf_package *p;
    struct tf_arena *a;
    const char *folder; /* of metadata.json, with its slash; NULL: not yet found */
    size_t folder_n;
    uint64_t room; /* for what is unpacked */
};

/* Members without data are folders. */
static int find_folder(struct unpacking *u, const struct tf_zip_member *m, struct tf_err *err)
{
    static const char settings[] = "/metadata.json";
    const char *slash = strchr(m->name, '/');
    if (slash == NULL || slash == m->name || strcmp(slash, settings) != 0)
        return 0;
    if (u->folder != NULL)
        return tf_fail(err, "several packages: %s, too", m->name);
    u->folder_n = (size_t)(slash - m->name) + 1;
    u->folder = tf_arena_strndup(u->a, m->name, u->folder_n);
    return 0;
}

static const char *name_of(const struct unpacking *u, const struct tf_zip_member *m)
{
    static const char model[] = "model/";
    if (strncmp(m->name, u->folder, u->folder_n) != 0 || tf_ends_with(m->name, "/"))
        return NULL;
    const char *name = m->name + u->folder_n;
    const size_t inner = strncmp(name, model, sizeof model - 1) == 0 ? sizeof model - 1 : 0;
    return strchr(name + inner, '/') == NULL ? tf_arena_strndup(u->a, name, strlen(name)) : NULL;
}

static int put_file(struct unpacking *u, const char *name, const void *data, size_t n,
                    struct tf_err *err)
{
    struct tf_package *p = u->p;
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return tf_fail(err, "%s: twice in the archive", name);
    if (p->n == TF_PACKAGE_FILES)
        return tf_fail(err, "more than %d files", TF_PACKAGE_FILES);
    const int fd = memfd_create("package", MFD_CLOEXEC);
    if (fd < 0)
        return tf_fail_errno(err, "%s: memory for it", name);
    p->v[p->n++] = (struct tf_package_file){name, fd};
    return tf_fd_write(fd, name, data, n, err);
}

static int unpack(struct unpacking *u, const struct tf_zip_member *m, struct tf_err *err)
{
    const char *name = name_of(u, m);
    void *data = NULL;
    if (name == NULL)
        return 0;
    if (m->size > u->room)
        return tf_fail(err, "%s: unpacked far more bytes than the archive has", name);
    u->room -= m->size;
    if (m->deflated && tf_zip_inflate(m, &data, err) != 0)
        return -1;
    const int rc = put_file(u, name, m->deflated ? data : m->data, (size_t)m->size, err);
    free(data);
    return rc;
}

static int each_member(struct unpacking *u, const void *archive, size_t n,
                       int (*use)(struct unpacking *, const struct tf_zip_member *,
                                  struct tf_err *),
                       struct tf_err *err)
{
    struct tf_zip z;
    struct tf_zip_member m;
    int rc;
    if (tf_zip_open(&z, archive, n, MOST_MEMBERS, err) != 0)
        return -1;
    z.deflate = true;
    while ((rc = tf_zip_next(&z, &m, err)) > 0)
        if (use(u, &m, err) != 0)
            return -1;
    return rc;
}

int tf_package_read(struct tf_package *p, struct tf_arena *a, const char *path, struct tf_err *err)
{
    struct unpacking u = {.p = p, .a = a};
    char *archive;
    size_t n;
    p->n = 0;
    if (tf_read_file(&archive, &n, path, SIZE_MAX / 2, err) != 0)
        return -1;
    u.room = MOST_BYTES > n * MOST_RATIO ? MOST_BYTES : n * MOST_RATIO;
    int rc = each_member(&u, archive, n, find_folder, err);
    if (rc == 0 && u.folder == NULL)
        rc = tf_fail(err, "not a package of Argos: no metadata.json in a folder");
    if (rc == 0)
        rc = each_member(&u, archive, n, unpack, err);
    free(archive);
    if (rc != 0)
        tf_package_release(p);
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

void tf_package_release(struct tf_package *p)
{
    while (p->n > 0)
        close(p->v[--p->n].fd);
}
