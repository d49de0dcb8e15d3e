/* stream_model.c - models and checkpoints: written, mapped, read from a pipe and from memory at any
 * alignment; flags; the fingerprint. */
#include "../harness/child.h"
#include "../harness/stream.h"
#include "../harness/temp.h"
#include "base/hash.h"
#include "base/memory.h"
#include "stream/model.h"

#include <unistd.h>

enum { BIG = 3 << 20 /* floats: more than any buffer */, STEP = 10007 /* bytes a write */ };

static float *big;

static void write_big(const char *path, float poison)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_header h = sample_header(&a, "checkpoint", 4096);
    static float small[5] = {1, 2, 3, 4, 5};
    struct tf_tensor t[] = {
#define F32(n) .dtype = TF_F32, .bytes = 4 * (size_t)(n)
        {.name = "p/small", .rank = 1, .dims = {5}, .data = small, F32(5)},
        {.name = "p/big", .rank = 3, .dims = {3, 1024, 1024}, .data = big, F32(BIG)},
        {.name = "m/big", .rank = 1, .dims = {BIG}, .data = big, F32(BIG)},
        {.name = "m/small", .rank = 1, .dims = {5}, .data = small, F32(5)},
#undef F32
    };
    struct tf_state s[] = {{"step", tf_value_int(77)}, {"rng", tf_value_map()}};
    tf_value_put(&a, &s[1].value, "seed", tf_value_int(5));
    small[3] = poison;
    tf_value_put(&a, &h.config, "d", tf_value_int(512));
    must(write_model(path, &h, sample_vocab, SAMPLE_VOCAB_N, s, 2, t, 4, &err), &err);
    small[3] = 4;
    tf_arena_release(&a);
}

static void judge(const struct tf_model_file *m, const char *how, bool weights)
{
    is_str(m->header.kind, "checkpoint", "%s: kind", how);
    is_int(m->n_tensors, weights ? 2 : 4, "%s: tensors", how);
    ok(m->vocab_n == SAMPLE_VOCAB_N && memcmp(m->vocab, sample_vocab, SAMPLE_VOCAB_N) == 0,
       "%s: vocabulary", how);
    int64_t x = 0;
    struct tf_err err = {0};
    ok(tf_value_int_of(&m->state, "step", 0, 100, &x, &err) == 0 && x == 77, "%s: step", how);
    is_int(tf_value_get(&m->state, "rng")
               ? tf_value_get(tf_value_get(&m->state, "rng"), "seed")->integer
               : 0,
           5, "%s: seed", how);
    is_int(m->state.n, 2, "%s: the vocabulary is no state", how);
    ok(tf_value_int_of(&m->header.config, "d", 0, 1000, &x, &err) == 0 && x == 512,
       "%s: configuration", how);
    const struct tf_tensor *t = tf_model_tensor(m, "p/big");
    if (ok(t && t->rank == 3 && t->dims[0] == 3 && t->dims[2] == 1024 && t->dtype == TF_F32 &&
               t->bytes == 4 * (size_t)BIG,
           "%s: tensor", how)) {
        ok((uintptr_t)t->data % 64 == 0, "%s: aligned", how);
        is_mem(t->data, big, t->bytes, "%s: its data", how);
        is_int(t->crc, tf_crc32c(0, big, t->bytes), "%s: its crc", how);
    }
    ok((tf_model_tensor(m, "m/small") != NULL) == !weights && !tf_model_tensor(m, "none"),
       "%s: moments", how);
    ok(m->header.has_model && m->header.has_vocab, "%s: hashes", how);
}

static void test_ways(void)
{
    struct tf_model_file m;
    struct tf_err err = {0};
    const char *path = temp_path("ckpt.tfm");
    write_big(path, 4);
    size_t n;
    char *data = read_file(path, &n);
    if (ok(tf_model_read(&m, path, 0, NULL, &err) == 0, "file %s", err.msg)) {
        /* Verified bytes are not read again: what happens to the file changes nothing. */
        ok(truncate(path, 0) == 0, "file: emptied");
        judge(&m, "file", false);
        tf_model_free_tensors(&m);
        ok(m.n_tensors == 0 && m.vocab_n == SAMPLE_VOCAB_N, "only the tensors are freed");
        tf_model_release(&m);
    }
    write_file(path, data, n);
    if (ok(tf_model_read(&m, path, TF_MODEL_CHECK, NULL, &err) == 0, "check %s", err.msg)) {
        const struct tf_tensor *t = tf_model_tensor(&m, "p/big");
        is_int(m.n_tensors, 4, "check: all tensors");
        ok(t && !t->data && t->crc == tf_crc32c(0, big, t->bytes), "check: verified, not kept");
        tf_model_release(&m);
    }
    if (ok(tf_model_read(&m, path, TF_MODEL_WEIGHTS, NULL, &err) == 0, "weights %s", err.msg)) {
        judge(&m, "weights", true);
        tf_model_release(&m);
    }
    if (ok(tf_model_read(&m, path, TF_MODEL_HEAD, NULL, &err) == 0, "head %s", err.msg)) {
        ok(m.n_tensors == 0 && m.vocab_n == SAMPLE_VOCAB_N && m.state.n == 2,
           "head: vocabulary and states, no tensors");
        tf_model_release(&m);
    }
    for (int weights = 0; weights < 2; weights++) {
        if (ok(tf_model_read(&m, piped(data, n, STEP), weights ? TF_MODEL_WEIGHTS : 0, NULL,
                             &err) == 0,
               "pipe %s", err.msg)) {
            judge(&m, "pipe", weights);
            tf_model_release(&m);
        }
    }
    err = (struct tf_err){0};
    struct tf_in in;
    must(tf_in_open(&in, piped(data, n, STEP), &err), &err);
    ok(tf_model_read_in(&m, &in, 0, 1 << 20, &err) == -1 &&
           strstr(err.msg, "tensor p/big: 12582912 bytes: more than the 1048576 of --max-tensor"),
       "a bound on tensors: %s", err.msg);
    tf_in_close(&in);

    free(data);
    write_big(temp_path("again.tfm"), 4);
    ok(same_files(path, temp_path("again.tfm")), "written twice: the same bytes");
}

static void test_finite(void)
{
    struct tf_model_file m;
    struct tf_err err = {0};
    const char *path = temp_path("nan.tfm");
    write_big(path, NAN);
    is_int(tf_model_read(&m, path, 0, NULL, &err), -1, "NaN");
    ok(strstr(err.msg, "nan.tfm: tensor p/small: contains values that are not finite") != NULL,
       "is named: %s", err.msg);
    ok(tf_model_read(&m, path, TF_MODEL_ALLOW_NAN, NULL, &err) == 0, "or allowed");
    tf_model_release(&m);
}

static void test_fingerprint(void)
{
    struct tf_arena a = {0};
    struct tf_value config = tf_value_map();
    tf_value_put(&a, &config, "d", tf_value_int(1));
    struct tf_tensor t[] = {
        {.name = "p/a", .dtype = TF_F32, .rank = 1, .dims = {1}, .crc = 1},
        {.name = "m/a", .dtype = TF_F32, .rank = 1, .dims = {1}, .crc = 2},
        {.name = "p/b", .dtype = TF_F32, .rank = 2, .dims = {1, 1}, .crc = 3},
    };
    uint8_t x[32], y[32], vocab[32] = {9};
    char hex[65];
    tf_model_fingerprint(x, &config, vocab, t, 3);
    is_str(tf_hex(hex, x, 32), "7688474ee1dbc5cd1eeb11f0c7804f2c8e7649ea87ad98824371747de4b8236a",
           "the fingerprint of formats/model.md");
    t[1].crc = 7;
    tf_model_fingerprint(y, &config, vocab, t, 3);
    ok(memcmp(x, y, 32) == 0, "moments are not in it");
    t[2].crc = 7;
    tf_model_fingerprint(y, &config, vocab, t, 3);
    ok(memcmp(x, y, 32) != 0, "weights are");
    t[2].crc = 3;
    tf_model_fingerprint(y, &config, NULL, t, 3);
    ok(memcmp(x, y, 32) != 0, "the vocabulary is");
    tf_value_put(&a, &config, "d", tf_value_int(2));
    tf_model_fingerprint(y, &config, vocab, t, 3);
    ok(memcmp(x, y, 32) != 0, "the configuration is");
    tf_arena_release(&a);
}

static void test_failures(void)
{
    struct tf_model_file m;
    struct tf_err err = {0};
    is_int(tf_model_read(&m, temp_path("none.tfm"), 0, NULL, &err), -1, "no such file");
    ok(strstr(err.msg, "none.tfm: No such file") != NULL, "says so: %s", err.msg);
    is_int(tf_model_read(&m, temp_path(""), 0, NULL, &err), -1, "a directory");
    struct tf_arena a = {0};
    struct tf_header h = sample_header(&a, "model", 4096);
    static float w[1] = {1};
    struct tf_tensor t = {
        .name = "p/w", .dtype = TF_F32, .rank = 1, .dims = {1}, .data = w, .bytes = 4};
    err = (struct tf_err){0};
    is_int(write_model("/dev/full", &h, NULL, 0, NULL, 0, &t, 1, &err), -1, "no space");
    ok(strstr(err.msg, "/dev/full: write: No space left on device") != NULL, "says so: %s",
       err.msg);
    is_int(write_model("/no/such/dir/x.tfm", &h, NULL, 0, NULL, 0, &t, 1, &err), -1,
           "no such directory");
    ok(access("/no/such/dir/x.tfm", F_OK) != 0, "nothing there");
    h.has_vocab = false;
    ok(write_model(temp_path("bare.tfm"), &h, NULL, 0, NULL, 0, &t, 1, &err) == 0,
       "a model without a vocabulary %s", err.msg);
    ok(tf_model_read(&m, temp_path("bare.tfm"), 0, NULL, &err) == 0 && !m.vocab && m.n_tensors == 1,
       "is read back %s", err.msg);
    tf_model_release(&m);
    tf_arena_release(&a);
}

/* A pipe that ends, or breaks, within the data of a tensor, far from a record's head. */
static void test_broken_pipe(void)
{
    struct tf_model_file m;
    size_t n;
    write_big(temp_path("ckpt.tfm"), 4);
    char *data = read_file(temp_path("ckpt.tfm"), &n);
    for (int fails = 0; fails < 2; fails++) {
        struct tf_err err = {0};
        struct tf_in in = memory_in(data, n / 2);
        in.eof = !fails; /* reading on is EBADF */
        is_int(tf_model_read_in(&m, &in, 0, 0, &err), -1, "half of a model");
        ok(strstr(err.msg, fails ? "Bad file descriptor" : "truncated after record") != NULL,
           "says why: %s", err.msg);
        memory_in_done(&in);
    }
    free(data);
}

/* The vocabulary of targets is a state, and held to the limit of a vocabulary. */
static void test_long_target(void)
{
    struct tf_err err = {0};
    struct tf_arena a = {0};
    struct tf_header h = sample_header(&a, "model", 4096);
    struct tf_model_file m;
    static float one = 1;
    struct tf_tensor t = {
        .name = "p/a", .dtype = TF_F32, .rank = 1, .dims = {1}, .data = &one, .bytes = 4};
    char *target = tf_xcalloc(TF_MAX_VOCAB + 1, 1);
    for (size_t more = 0; more < 2; more++) {
        const struct tf_state s = {"vocab_target",
                                   {.kind = TF_BYTES, .text = target, .n = TF_MAX_VOCAB + more}};
        must(write_model(temp_path("target"), &h, sample_vocab, SAMPLE_VOCAB_N, &s, 1, &t, 1, &err),
             &err);
        is_int(tf_model_read(&m, temp_path("target"), TF_MODEL_CHECK, NULL, &err),
               more == 0 ? 0 : -1, "a vocabulary of targets of 48 MiB and %zu bytes: %s", more,
               err.msg);
        if (more == 0)
            tf_model_release(&m);
    }
    ok(strstr(err.msg, "state vocab_target: a vocabulary of 50331649 bytes: 1 to") != NULL,
       "the message");
    free(target);
    tf_arena_release(&a);
}

int main(void)
{
    big = tf_xarray(NULL, BIG, sizeof *big);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (float)(i % 8191) * 0.25f - 1000.0f;
    test_ways();
    test_finite();
    test_fingerprint();
    test_failures();
    test_broken_pipe();
    is_int(count_entries(temp_path("")), 4, "no temporary file is left");
    free(big);
    test_long_target();
    return done();
}
