/* replay.c - a fuzz target as an ordinary test: every file of tests/fuzz/corpus/NAME as it is, cut
 * short, and with single bytes changed. The changes come from a counter, so that a failure comes
 * back; the sanitizers say what went wrong. */
#include "../harness/tap.h"
#include "base/buf.h"
#include "base/input.h"
#include "base/rng.h"

#include <dirent.h>
#include <libgen.h>

enum { CUTS = 300, CHANGES = 300, MAX_FILE = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A copy of exactly n bytes, so that a read past the end is seen. */
static void feed(const char *data, size_t n)
{
    uint8_t *copy = malloc(n != 0 ? n : 1);
    memcpy(copy, data, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static void replay(const char *path, const char *name)
{
    struct tf_err err = {0};
    char *data;
    size_t n;
    if (!ok(tf_read_file(&data, &n, path, MAX_FILE, &err) == 0, "%s %s", name, err.msg))
        return;
    feed(data, n);
    struct tf_rng r = tf_rng_new(0, n);
    for (size_t i = 0; i < CUTS && n > 0; i++)
        feed(data, n <= CUTS ? i % n : tf_rng_below(&r, n));
    for (size_t i = 0; i < CHANGES && n > 0; i++) {
        size_t at = n <= CHANGES ? i % n : tf_rng_below(&r, n);
        char old = data[at];
        data[at] = (char)(i % 3 == 0 ? old ^ 1 << tf_rng_below(&r, 8) : (int)tf_rng_below(&r, 256));
        feed(data, n);
        data[at] = old;
    }
    free(data);
}

int main(int argc, char **argv)
{
    (void)argc;
    char dir[512];
    char *self = basename(argv[0]);
    snprintf(dir, sizeof dir, "tests/fuzz/corpus/%.*s", (int)strcspn(self, "."), self);
    feed("", 0);
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            replay(path, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    ok(results() > 0, "%s holds something", dir);
    return done();
}
