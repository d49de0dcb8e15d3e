/* replay.c - a fuzz target as an ordinary test: every file of tests/fuzz/corpus/NAME as it is, cut
 * short, and with single bytes changed. The changes come from a counter, so that a failure comes
 * back; the sanitizers say what went wrong.
 *
 * With TF_FUZZ_SECONDS=S it instead feeds random changes of those files for S seconds of CPU. They
 * depend on TF_FUZZ_SEED (default 1) alone. TF_FUZZ_DIR, a directory that exists: the input at hand
 * is kept there in NAME, and stays when the program ends early. */
#include "../harness/tap.h"
#include "base/buf.h"
#include "base/input.h"
#include "base/rng.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <time.h>
#include <unistd.h>

enum { CUTS = 300, CHANGES = 300, MAX_FILE = 1 << 20, MAX_FILES = 1 << 12, LONGEST = 1 << 16 };

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
    const size_t cuts = cases(CUTS), changes = cases(CHANGES);
    for (size_t i = 0; i < cuts && i < n; i++)
        feed(data, n <= cuts ? i : tf_rng_below(&r, n));
    for (size_t i = 0; i < changes && n > 0; i++) {
        size_t at = n <= changes ? i % n : tf_rng_below(&r, n);
        char old = data[at];
        data[at] = (char)(i % 3 == 0 ? old ^ 1 << tf_rng_below(&r, 8) : (int)tf_rng_below(&r, 256));
        feed(data, n);
        data[at] = old;
    }
    free(data);
}

/* ---- random changes ---- */

static struct {
    char *data[MAX_FILES];
    size_t size[MAX_FILES], n;
} corpus;

static void keep(const char *path)
{
    struct tf_err err = {0};
    if (corpus.n < MAX_FILES)
        must(tf_read_file(&corpus.data[corpus.n], &corpus.size[corpus.n], path, MAX_FILE, &err),
             &err);
    corpus.n += corpus.n < MAX_FILES;
}

/* Replace `old` bytes at `at` by `new` ones, as far as there is room. */
static void replace(struct tf_buf *b, size_t at, size_t old, const char *new, size_t n)
{
    if (b->len - old + n > LONGEST)
        return;
    size_t tail = b->len - at - old;
    char *copy = malloc(n + tail + 1);
    memcpy(copy, new, n);
    memcpy(copy + n, b->p + at + old, tail);
    b->len = at;
    tf_buf_add(b, copy, n + tail);
    free(copy);
}

/* One change: bits, a byte, a number, a piece that goes, comes twice, or is another file's. */
static void change(struct tf_buf *b, struct tf_rng *r)
{
    static const int64_t numbers[] = {0,          1,         -1,        INT8_MAX,  INT8_MIN,
                                      INT16_MAX,  INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
                                      UINT32_MAX, 1 << 16,   1 << 24,   0x0100,    0x01000000,
                                      ' ',        '"',       '('};
    size_t at = tf_rng_below(r, b->len + 1), rest = b->len - at,
           n = tf_rng_below(r, 2 + (rest < 64 ? rest : 64)), other = tf_rng_below(r, corpus.n);
    n = n < rest ? n : rest;
    char x[8], byte = (char)tf_rng_below(r, 256);
    switch (tf_rng_below(r, 7)) {
    case 0:
        if (rest > 0)
            b->p[at] = (char)(b->p[at] ^ 1 << tf_rng_below(r, 8));
        break;
    case 1:
        replace(b, at, rest > 0, &byte, 1);
        break;
    case 2:
        memcpy(x, &numbers[tf_rng_below(r, sizeof numbers / sizeof *numbers)], sizeof x);
        n = (size_t)1 << tf_rng_below(r, 4);
        replace(b, at, n < rest ? n : rest, x, n);
        break;
    case 3:
        replace(b, at, n, "", 0);
        break;
    case 4: {
        char *piece = malloc(n + 1);
        memcpy(piece, b->p + at, n);
        replace(b, tf_rng_below(r, b->len + 1), 0, piece, n);
        free(piece);
        break;
    }
    case 5:
        replace(b, at, 0, &byte, 1);
        break;
    default: {
        size_t size = corpus.size[other], from = tf_rng_below(r, size + 1),
               most = size - from < 256 ? size - from : 256;
        replace(b, at, n, corpus.data[other] + from, tf_rng_below(r, most + 1));
    }
    }
}

static void fuzz(const char *name, double seconds, uint64_t seed)
{
    const char *dir = getenv("TF_FUZZ_DIR");
    char path[1024] = "";
    int fd = -1;
    if (dir != NULL) {
        snprintf(path, sizeof path, "%s/%s", dir, name);
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
        if (fd < 0)
            bail_out("TF_FUZZ_DIR is no directory that can be written to");
    }
    uint64_t i = 0;
    for (clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end; i++) {
        struct tf_rng r = tf_rng_new(seed, i);
        struct tf_buf b = {0};
        size_t from = tf_rng_below(&r, corpus.n);
        tf_buf_add(&b, corpus.data[from], corpus.size[from]);
        for (size_t k = 1 + tf_rng_below(&r, 6); k > 0; k--)
            change(&b, &r);
        if (fd >= 0 && (ftruncate(fd, 0) != 0 || pwrite(fd, b.p, b.len, 0) != (ssize_t)b.len))
            bail_out("%s cannot be written", path);
        feed(b.p, b.len);
        tf_buf_release(&b);
    }
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    ok(i > 0, "%s: %llu inputs, seed %llu", name, (unsigned long long)i, (unsigned long long)seed);
}

int main(int argc, char **argv)
{
    (void)argc;
    char dir[512], name[128];
    char *self = basename(argv[0]);
    const char *seconds = getenv("TF_FUZZ_SECONDS"), *seed = getenv("TF_FUZZ_SEED");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(self, "."), self);
    snprintf(dir, sizeof dir, "tests/fuzz/corpus/%s", name);
    feed("", 0);
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            if (seconds != NULL)
                keep(path);
            else
                replay(path, entries[i]->d_name);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    if (seconds != NULL && corpus.n > 0)
        fuzz(name, strtod(seconds, NULL), seed != NULL ? strtoull(seed, NULL, 10) : 1);
    for (size_t i = 0; i < corpus.n; i++)
        free(corpus.data[i]);
    ok(results() > 0, "%s holds something", dir);
    return done();
}
