/* temp.c - temporary files: see temp.h. */
#include "temp.h"
#include "tap.h"
#include "base/input.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 30, MAX_PATHS = 256 };

static char dir[] = "/tmp/tf-test-XXXXXX";
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* A child that calls exit() leaves the directory alone. */
static void remove_dir(void)
{
    if (getpid() == owner)
        nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *temp_path(const char *name)
{
    static char *paths[MAX_PATHS];
    char path[sizeof dir + 256];
    if (owner == 0) {
        if (mkdtemp(dir) == NULL)
            bail_out("%s: %s", dir, strerror(errno));
        owner = getpid();
        atexit(remove_dir);
    }
    snprintf(path, sizeof path, "%s%s%s", dir, *name != 0 ? "/" : "", name);
    for (int i = 0; i < MAX_PATHS; i++) {
        if (paths[i] == NULL)
            paths[i] = tf_xstrdup(path);
        if (strcmp(paths[i], path) == 0)
            return paths[i];
    }
    bail_out("more than %d temporary files", MAX_PATHS);
}

static void put_file(const char *path, const char *mode, const void *data, size_t n)
{
    FILE *f = fopen(path, mode);
    if (f == NULL || (n > 0 && fwrite(data, 1, n, f) != n) || fclose(f) != 0)
        bail_out("%s: %s", path, strerror(errno));
}

void write_file(const char *path, const void *data, size_t n)
{
    put_file(path, "wb", data, n);
}

void append_file(const char *path, const void *data, size_t n)
{
    put_file(path, "ab", data, n);
}

char *read_file(const char *path, size_t *n)
{
    struct tf_err err = {0};
    char *data;
    size_t size;
    must(tf_read_file(&data, &size, path, MAX_FILE, &err), &err);
    if (n != NULL)
        *n = size;
    return data;
}

bool same_files(const char *a, const char *b)
{
    size_t na, nb;
    char *pa = read_file(a, &na), *pb = read_file(b, &nb);
    bool same = na == nb && memcmp(pa, pb, na) == 0;
    free(pa);
    free(pb);
    return same;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int count_entries(const char *path)
{
    DIR *d = opendir(path);
    if (d == NULL)
        bail_out("%s: %s", path, strerror(errno));
    int n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}
