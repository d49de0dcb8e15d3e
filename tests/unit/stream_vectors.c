/* stream_vectors.c - the writers produce the bytes of formats/vectors, and tf-cbor the diagnostic
 * notation in the files next to them. TF_UPDATE=1 writes them again. Runs in the
 * root of the source tree. */
#include "../harness/stream.h"
#include "stream/inspect.h"

#include <unistd.h>

static void vector_path(char *path, size_t size, const struct sample *s, const char *suffix)
{
    snprintf(path, size, "formats/vectors/%s.%s", s->name, suffix);
}

static struct tf_out diag_of(const struct sample *s)
{
    struct tf_err err = {0};
    struct tf_in in = memory_in(s->p, s->n);
    struct tf_out out = memory_out(1 << 20);
    const struct tf_inspect how = {.max_bytes = SIZE_MAX};
    ok(tf_inspect_diag(&in, &out, &how, &err) == 0, "%s: diagnostic notation %s", s->name, err.msg);
    memory_in_done(&in);
    return out;
}

static void write_vector(const struct sample *s, const char *suffix, const void *p, size_t n)
{
    struct tf_err err = {0};
    struct tf_out out;
    char path[256];
    vector_path(path, sizeof path, s, suffix);
    must(tf_out_open(&out, path, 0, &err), &err);
    must(tf_out_write(&out, p, n, &err), &err);
    must(tf_out_commit(&out, &err), &err);
}

static void compare(const struct sample *s, const char *suffix, const void *p, size_t n)
{
    struct tf_err err = {0};
    char path[256], *want;
    size_t want_n;
    vector_path(path, sizeof path, s, suffix);
    if (!ok(tf_read_file(&want, &want_n, path, 1 << 20, &err) == 0, "%s %s", path, err.msg))
        return;
    if (is_int(n, want_n, "%s: length", path))
        is_mem(p, want, n, "%s: bytes", path);
    free(want);
}

/* Conversion to text and back gives the same bytes. */
static void round_trip(const struct sample *s)
{
    struct tf_err err = {0};
    struct tf_in in = memory_in(s->p, s->n);
    struct tf_out text = memory_out(1 << 20), back = memory_out(1 << 20);
    const struct tf_inspect how = {.max_bytes = 0};
    bool error = !strcmp(s->name, "error");
    is_int(tf_inspect_json(&in, &text, &how, &err), error ? -1 : 0, "%s: to JSON Lines %s", s->name,
           err.msg);
    memory_in_done(&in);
    in = memory_in(text.buf, text.len);
    err = (struct tf_err){0};
    if (error) { /* its writer flushes: give that a place */
        int fd[2];
        must(pipe(fd), &err);
        back.fd = fd[1];
        is_int(tf_inspect_from_json(&in, &back, &err), 0, "%s: from JSON Lines %s", s->name,
               err.msg);
        back.len = (size_t)read(fd[0], back.buf, back.cap);
        close(fd[0]);
        close(fd[1]);
    } else {
        is_int(tf_inspect_from_json(&in, &back, &err), 0, "%s: from JSON Lines %s", s->name,
               err.msg);
    }
    if (is_int(back.len, s->n, "%s: length after a round trip", s->name))
        is_mem(back.buf, s->p, s->n, "%s: bytes after a round trip", s->name);
    memory_in_done(&in);
    memory_out_done(&text);
    memory_out_done(&back);
}

int main(void)
{
    struct sample samples[N_SAMPLES];
    const char *renew = getenv("TF_UPDATE");
    make_samples(samples);
    for (int i = 0; i < N_SAMPLES; i++) {
        const struct sample *s = &samples[i];
        struct tf_out diag = diag_of(s);
        if (renew && *renew) {
            write_vector(s, "cbor", s->p, s->n);
            write_vector(s, "diag", diag.buf, diag.len);
        }
        compare(s, "cbor", s->p, s->n);
        compare(s, "diag", diag.buf, diag.len);
        round_trip(s);
        memory_out_done(&diag);
    }
    free_samples(samples);
    return done();
}
