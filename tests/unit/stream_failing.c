/* stream_failing.c - reads and writes that fail at every byte: every function returns an error with
 * the reason, and none takes the failure for the end of the data. */
#include "../harness/stream.h"
#include "../harness/temp.h"
#include "base/sanitize_private.h"
#include "stream/inspect.h"
#include "stream/reader_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#if TF_ASAN
enum { STRIDE = 11 };
#else
enum { STRIDE = 1 };
#endif

static const struct tf_inspect how = {.max_bytes = SIZE_MAX, .records = UINT64_MAX};

/* ---- reads ---- */

/* The first n bytes, then EBADF. */
static struct tf_in failing_in(const struct sample *s, size_t n)
{
    struct tf_in in = memory_in(s->p, n);
    in.eof = false;
    return in;
}

static bool reported(int rc, const struct tf_err *err)
{
    return rc == -1 && strstr(err->msg, strerror(EBADF)) && !strstr(err->msg, "truncated");
}

static bool read_stream(const struct sample *s, size_t n, unsigned flags)
{
    struct tf_in in = failing_in(s, n);
    struct tf_err err = {0};
    struct tf_reader *r;
    struct tf_record rec;
    bool ready = true;
    int rc = tf_reader_new(&r, &in, NULL, flags, &err);
    if (rc == 0) {
        while ((rc = tf_reader_next(r, &rec, &err)) > 0)
            continue;
        ready = tf_reader_ready(
            r); /* a caller that waits for a dead reader must return with its error */
        tf_reader_free(r);
    }
    memory_in_done(&in);
    return reported(rc, &err) && ready;
}

static bool read_model(const struct sample *s, size_t n, unsigned flags)
{
    struct tf_in in = failing_in(s, n);
    struct tf_err err = {0};
    struct tf_model_file m;
    int rc = tf_model_read_in(&m, &in, flags, 0, &err);
    if (rc == 0)
        tf_model_release(&m);
    memory_in_done(&in);
    return reported(rc, &err);
}

typedef int show_fn(struct tf_in *, struct tf_out *, const struct tf_inspect *, struct tf_err *);

static int show_check(struct tf_in *in, struct tf_out *out, const struct tf_inspect *h,
                      struct tf_err *err)
{
    (void)out;
    return tf_inspect_check(in, h, err);
}

static int from_json(struct tf_in *in, struct tf_out *out, const struct tf_inspect *h,
                     struct tf_err *err)
{
    return tf_inspect_from_json(in, out, h, err);
}

static const struct {
    const char *name;
    show_fn *fn;
} shows[] = {{"diag", tf_inspect_diag},
             {"json", tf_inspect_json},
             {"count", tf_inspect_count},
             {"seal", tf_inspect_seal},
             {"check", show_check}};
enum { N_SHOWS = sizeof shows / sizeof *shows };

static bool read_show(show_fn *fn, const struct sample *s, size_t n)
{
    struct tf_in in = failing_in(s, n);
    struct tf_out out = memory_out(1 << 20);
    struct tf_err err = {0};
    int rc = fn(&in, &out, &how, &err);
    memory_in_done(&in);
    memory_out_done(&out);
    return reported(rc, &err);
}

static void reads(const struct sample *s)
{
    long silent = 0, silent_show[N_SHOWS] = {0};
    bool model = strcmp(s->name, "model") == 0 || strcmp(s->name, "checkpoint") == 0;
    /* A stream with an error record is not read beyond it. */
    size_t end = strcmp(s->name, "error") == 0 ? s->n - 1 : s->n;
    for (size_t n = 0; n <= end; n += STRIDE) {
        silent += !read_stream(s, n, TF_READ_RAW | TF_READ_TENSORS);
        silent += model ? !read_model(s, n, 0) + !read_model(s, n, TF_MODEL_WEIGHTS)
                        : !read_stream(s, n, 0);
        for (int i = 0; i < N_SHOWS; i++)
            silent_show[i] += !read_show(shows[i].fn, s, n);
    }
    is_int(silent, 0, "%s: readers report a read that fails at any byte", s->name);
    for (int i = 0; i < N_SHOWS; i++)
        is_int(silent_show[i], 0, "%s: so does %s", s->name, shows[i].name);
}

/* ---- writes ---- */

/* The result of a function whose output has room for only cap bytes. */
static int with_room(show_fn *fn, const void *p, size_t n, size_t cap, int fd, struct tf_err *err)
{
    struct tf_in in = memory_in(p, n);
    struct tf_out out = memory_out(cap);
    out.fd = fd;
    *err = (struct tf_err){0};
    int rc = fn(&in, &out, &how, err);
    memory_in_done(&in);
    memory_out_done(&out);
    return rc;
}

static void writes_of(const char *what, const char *name, show_fn *fn, const void *p, size_t n,
                      int full)
{
    struct tf_in in = memory_in(p, n);
    struct tf_out out = memory_out(1 << 20);
    struct tf_err err = {0};
    must(fn(&in, &out, &how, &err), &err);
    size_t all = out.len;
    memory_in_done(&in);
    memory_out_done(&out);
    long silent = 0;
    for (size_t cap = 1; cap < all; cap += STRIDE)
        silent += with_room(fn, p, n, cap, full, &err) != -1 || !strstr(err.msg, strerror(ENOSPC));
    is_int(silent, 0, "%s: %s reports a full disk after any byte", name, what);
    is_int(with_room(fn, p, n, all + 1, full, &err), 0, "%s: %s with room enough", name, what);
}

static void writes(const struct sample *s, int full)
{
    for (int i = 0; i < N_SHOWS; i++)
        if (shows[i].fn != show_check)
            writes_of(shows[i].name, s->name, shows[i].fn, s->p, s->n, full);
    struct tf_in in = memory_in(s->p, s->n);
    struct tf_out text = memory_out(1 << 20);
    struct tf_err err = {0};
    must(tf_inspect_json(&in, &text, &how, &err), &err);
    writes_of("unjson", s->name, from_json, text.buf, text.len, full);
    memory_in_done(&in);
    memory_out_done(&text);
}

/* A failure to write the error record is reported, too. */
static void error_record(int full)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_header h = sample_header(&a, "tokens", 4096);
    for (int records = 0; records < 2; records++) {
        struct tf_out out = memory_out(1 << 20);
        struct tf_writer w;
        out.fd = full;
        must(tf_writer_begin(&w, &out, &h, &err), &err);
        if (records)
            must(tf_writer_tokens(&w, 0, ids_b, 2, &err), &err);
        is_int(tf_writer_error(&w, 1, "tf-example: why", &err), -1,
               "an error record on a full disk");
        ok(strstr(err.msg, strerror(ENOSPC)) != NULL, "is reported: %s", err.msg);
        is_int(tf_writer_flush(&w, &err), -1, "and so is the next flush");
        tf_writer_release(&w);
        memory_out_done(&out);
    }
    tf_arena_release(&a);
}

static void model_file(void)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    const char *dir = temp_path(""), *path = temp_path("m.tfm");
    struct tf_header h = sample_header(&a, "checkpoint", 4096);
    static float w[30000];
    struct tf_state st[] = {{"step", tf_value_int(7)}};
    struct tf_tensor t[] = {
        {.name = "p/w", .dtype = TF_F32, .rank = 1, .dims = {30000}, .data = w, .bytes = sizeof w},
        {.name = "m/w", .dtype = TF_F32, .rank = 1, .dims = {30000}, .data = w, .bytes = sizeof w},
    };
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    long silent = 0, left = 0, tries = 0;
    for (rlim_t size = 0; size < 2 * sizeof w; size += 4099) {
        limit = (struct rlimit){size, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        err = (struct tf_err){0};
        int rc = write_model(path, &h, sample_vocab, SAMPLE_VOCAB_N, st, 1, t, 2, &err);
        setrlimit(RLIMIT_FSIZE, &old);
        silent += rc != -1 || !strstr(err.msg, strerror(EFBIG));
        left += count_entries(dir);
        tries++;
    }
    is_int(silent, 0, "a checkpoint reports each of %ld limits on its file", tries);
    is_int(left, 0, "and leaves nothing in the directory");
    must(write_model(path, &h, sample_vocab, SAMPLE_VOCAB_N, st, 1, t, 2, &err), &err);
    ok(unlink(path) == 0 && count_entries(dir) == 0, "without a limit it is there");
    h.has_vocab = false;
    size_t many = (size_t)TF_MAX_TENSORS + 1;
    is_int(write_model("/dev/null", &h, NULL, 0, NULL, 0, t, many, &err), -1, "too many tensors");
    ok(strstr(err.msg, "too many tensors") != NULL, "are refused before they are looked at: %s",
       err.msg);
    tf_arena_release(&a);
}

/* A length that comes from the input is compared with what the file has left, also when it has
 * grown since it was opened and was read further than its first size. */
static void grown_file(void)
{
    const char *path = temp_path("grown");
    struct tf_in in;
    struct tf_err err = {0};
    char more[100] = {0};
    write_file(path, more, 10);
    must(tf_in_open(&in, path, &err), &err);
    tf_in_may_grow(&in);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    ok(fd >= 0 && write(fd, more, sizeof more) == sizeof more, "a file grows");
    close(fd);
    is_int(tf_in_left(&in), 10, "what it had");
    is_int(tf_in_fill(&in, 50, &err), 110, "all of it is read");
    in.pos += 50;
    is_int(tf_in_left(&in), 60, "what is in the buffer");
    is_int(tf_in_have(&in, (size_t)1 << 30, &err), 60, "a false length");
    ok(in.cap < (size_t)1 << 30, "takes no memory");
    tf_in_close(&in);
}

int main(void)
{
    struct sample samples[N_SAMPLES];
    make_samples(samples);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (!ok(full >= 0, "/dev/full"))
        return done();
    for (int i = 0; i < N_SAMPLES; i++) {
        reads(&samples[i]);
        if (strcmp(samples[i].name, "error") != 0)
            writes(&samples[i], full);
    }
    error_record(full);
    model_file();
    grown_file();
    close(full);
    free_samples(samples);
    return done();
}
