/* stream_vectors.c - the writers produce the bytes of formats/vectors, and tf-cbor the diagnostic
 * notation and the JSON Lines in the files next to them, which it converts back to the same bytes.
 * TF_UPDATE=1 writes them again. Runs in the root of the source tree. */
#include "../harness/stream.h"
#include "../harness/temp.h"
#include "stream/inspect.h"
#include "stream/schema_private.h"

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

/* The sample as JSON Lines. */
static struct tf_out jsonl_of(const struct sample *s)
{
    struct tf_err err = {0};
    struct tf_in in = memory_in(s->p, s->n);
    struct tf_out out = memory_out(1 << 20);
    const struct tf_inspect how = {.max_bytes = 0};
    is_int(tf_inspect_json(&in, &out, &how, &err), strcmp(s->name, "error") != 0 ? 0 : -1,
           "%s: to JSON Lines %s", s->name, err.msg);
    memory_in_done(&in);
    return out;
}

/* The file with JSON Lines gives the bytes of the sample. */
static void from_jsonl(const struct sample *s)
{
    struct tf_err err = {0};
    struct tf_in in;
    struct tf_out out;
    char path[256], *is;
    size_t n;
    vector_path(path, sizeof path, s, "jsonl");
    const char *made = temp_path("made.cbor");
    must(tf_in_open(&in, path, &err), &err);
    must(tf_out_open(&out, made, 0, &err), &err);
    is_int(tf_inspect_from_json(&in, &out, &(struct tf_inspect){0}, &err),
           strcmp(s->name, "error") != 0 ? 0 : -1, "from %s %s", path, err.msg);
    must(tf_out_commit(&out, &err), &err);
    tf_in_close(&in);
    must(tf_read_file(&is, &n, made, 1 << 20, &err), &err);
    if (is_int(n, s->n, "from %s: length", path))
        is_mem(is, s->p, s->n, "from %s: bytes", path);
    free(is);
}

/* Note the types of the sample's lines in seen. */
static void note_types(bool seen[TF_REC_END + 1], const struct tf_out *jsonl)
{
    char key[64];
    for (int type = 0; type <= TF_REC_END; type++)
        if (tf_schema_of(type)) {
            int n = snprintf(key, sizeof key, "{\"type\":\"%s\",", tf_record_name(type));
            seen[type] |= memmem(jsonl->buf, jsonl->len, key, (size_t)n) != NULL;
        }
}

int main(void)
{
    struct sample samples[N_SAMPLES];
    bool seen[TF_REC_END + 1] = {false};
    const char *renew = getenv("TF_UPDATE");
    make_samples(samples);
    for (int i = 0; i < N_SAMPLES; i++) {
        const struct sample *s = &samples[i];
        struct tf_out diag = diag_of(s), jsonl = jsonl_of(s);
        if (renew && *renew) {
            write_vector(s, "cbor", s->p, s->n);
            write_vector(s, "diag", diag.buf, diag.len);
            write_vector(s, "jsonl", jsonl.buf, jsonl.len);
        }
        compare(s, "cbor", s->p, s->n);
        compare(s, "diag", diag.buf, diag.len);
        compare(s, "jsonl", jsonl.buf, jsonl.len);
        from_jsonl(s);
        note_types(seen, &jsonl);
        memory_out_done(&diag);
        memory_out_done(&jsonl);
    }
    for (int type = 0; type <= TF_REC_END; type++)
        if (tf_schema_of(type))
            ok(seen[type], "a vector has a record of type %s", tf_record_name(type));
    free_samples(samples);
    return done();
}
