/* exchange_safetensors.c - safetensors: round trips, every prefix, every bit flipped, and invalid
 * headers. */
#include "../harness/stream.h"
#include "../harness/temp.h"
#include "base/memory.h"
#include "exchange/safetensors.h"

static const float six[6] = {1, -2, 3.5f, 0, 5, 6};
static const uint16_t halves[3] = {0x3c00, 0xc000, 0x7bff};
static const double pi = 3.25;
static const uint8_t words[] = "model bytes";

/* Returns the bytes of a file of this bundle; the caller frees them. */
static char *file_of(const struct tf_bundle *b, size_t *n)
{
    struct tf_err err = {0};
    struct tf_out out;
    const char *path = temp_path("x.safetensors");
    must(tf_out_open(&out, path, 0, &err), &err);
    must(tf_safetensors_write(&out, b, &err), &err);
    must(tf_out_commit(&out, &err), &err);
    return read_file(path, n);
}

static const struct tf_tensor sample[] = {
    {.name = "b/half", .dtype = TF_F16, .rank = 1, .dims = {3}, .data = halves, .bytes = 6},
    {.name = "a \"quoted\" \xc3\xa4",
     .dtype = TF_F32,
     .rank = 2,
     .dims = {2, 3},
     .data = six,
     .bytes = 24},
    {.name = "scalar", .dtype = TF_F64, .rank = 0, .data = &pi, .bytes = 8},
    {.name = "bf", .dtype = TF_BF16, .rank = 3, .dims = {1, 1, 3}, .data = halves, .bytes = 6},
};
enum { SAMPLES = sizeof sample / sizeof *sample };

static const struct tf_tensor *find(const struct tf_bundle *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->tensors[i].name, name) == 0)
            return &b->tensors[i];
    return NULL;
}

static bool is_sample(const struct tf_bundle *b)
{
    bool same = b->n == SAMPLES && b->config_n == 7 && memcmp(b->config, "{\"x\":1}", 7) == 0 &&
                b->vocab_n == sizeof words && memcmp(b->vocab, words, sizeof words) == 0;
    for (int i = 0; i < SAMPLES && same; i++) {
        const struct tf_tensor *t = find(b, sample[i].name);
        same = t && t->dtype == sample[i].dtype && t->rank == sample[i].rank &&
               memcmp(t->dims, sample[i].dims, (size_t)t->rank * sizeof *t->dims) == 0 &&
               t->bytes == sample[i].bytes && memcmp(t->data, sample[i].data, t->bytes) == 0;
    }
    return same;
}

static void round_trip(void)
{
    struct tf_bundle b = {.tensors = (struct tf_tensor *)(void *)sample,
                          .n = SAMPLES,
                          .config = "{\"x\":1}",
                          .config_n = 7,
                          .vocab = words,
                          .vocab_n = sizeof words},
                     got = {0};
    struct tf_err err = {0};
    size_t n, again_n;
    char *data = file_of(&b, &n), *again = file_of(&b, &again_n);
    ok(n == again_n && memcmp(data, again, n) == 0, "the same bytes twice");
    free(again);
    is_int(tf_safetensors_read(&got, data, n, &err), 0, "read back %s", err.msg);
    ok(is_sample(&got), "everything as it was");
    uint64_t head = 0;
    memcpy(&head, data, sizeof head);
    is_int((int64_t)((head + 8) % 64), 0, "data begin at a multiple of 64");
    ok(got.n > 0 && got.tensors[0].dtype == TF_F64,
       "the widest elements come first, so that all are aligned");
    tf_bundle_release(&got);

    int taken = 0, other = 0;
    for (size_t k = 0; k < n; k++) { /* exactly k bytes, for the sanitizer */
        char *cut = tf_xmalloc(k + 1);
        memcpy(cut, data, k);
        err = (struct tf_err){0};
        taken += tf_safetensors_read(&got, cut, k, &err) == 0;
        tf_bundle_release(&got);
        free(cut);
    }
    is_int(taken, 0, "no prefix of %zu bytes is taken", n);
    for (size_t k = 0; k < 8 * (size_t)(8 + head);
         k++) { /* no checksum detects a flip in the data */
        data[k / 8] ^= (char)(1 << k % 8);
        err = (struct tf_err){0};
        if (tf_safetensors_read(&got, data, n, &err) == 0 && !is_sample(&got))
            other++;
        tf_bundle_release(&got);
        data[k / 8] ^= (char)(1 << k % 8);
    }
    ok(other > 0 && other < 800,
       "%d of %d flips in the header are read as something else: names, kinds, values of texts",
       other, (int)(8 * (8 + head)));
    free(data);

    b = (struct tf_bundle){0};
    data = file_of(&b, &n);
    is_int(tf_safetensors_read(&got, data, n, &err), 0, "round trip of an empty bundle");
    ok(got.n == 0 && !got.config && !got.vocab, "is nothing");
    tf_bundle_release(&got);
    free(data);
}

/* Read a header of this text, with so many bytes of data. */
static int read_header(const char *text, size_t data, struct tf_bundle *b, struct tf_err *err)
{
    size_t n = strlen(text);
    uint8_t *p = tf_xcalloc(8 + n + data, 1);
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(n >> 8 * i);
    memcpy(p + 8, text, n);
    *err = (struct tf_err){0};
    int rc = tf_safetensors_read(b, p, 8 + n + data, err);
    if (rc == 0)
        is_str(b->n > 0 ? b->tensors[0].name : "", "x", "taken: %s", text);
    tf_bundle_release(b);
    free(p);
    return rc;
}

#define X(dtype, shape, at) \
    "{\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" at "}}"

static const struct {
    const char *text;
    size_t data;
    const char *why; /* NULL: taken */
} headers[] = {
    {X("F32", "[2]", "[0,8]"), 8, NULL},
    {X("F32", "[]", "[0,4]") "   \n", 4, NULL},
    {"{\"x\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"I8\"},\"__metadata__\":{\"a\":\"b\"}"
     "}",
     1, NULL},
    {"[]", 0, "header: not a JSON object"},
    {"{", 0, "ends within"},
    {"{} x", 0, "text after the value"},
    {"{\"x\":1}", 0, "x: not an object"},
    {"{\"x\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype: not a string"},
    {X("F32", "1", "[0,4]"), 4, "shape: not an array"},
    {"{\"x\":{}}", 0, "without dtype, shape or data_offsets"},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "without dtype"},
    {"{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "dtype: twice"},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"z\":1}}", 4,
     "z: not a field of the format"},
    {X("F8_E4M3", "[1]", "[0,1]"), 1, "unknown dtype 'F8_E4M3'"},
    {X("BOOL", "[1]", "[0,1]"), 1, "unknown dtype 'BOOL'"},
    {X("F32", "[0]", "[0,0]"), 0, "a dim that is 0"},
    {X("F32", "[-1]", "[0,4]"), 4, "shape: not a whole number"},
    {X("F32", "[1.5]", "[0,6]"), 6, "shape: not a whole number"},
    {X("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "shape: more than 8 numbers"},
    {X("F32", "[4294967296,4294967296,4]", "[0,0]"), 0, "too many elements"},
    {X("F32", "[4611686018427387904]", "[0,0]"), 0, "too many elements"},
    {X("F32", "[2]", "[0,4]"), 8, "not the 8 bytes of its shape"},
    {X("F32", "[2]", "[8,0]"), 8, "not the 8 bytes of its shape"},
    {X("F32", "[2]", "[0,8,9]"), 8, "data_offsets: more than 2 numbers"},
    {X("F32", "[2]", "[8]"), 8, "data_offsets: not two numbers"},
    {X("F32", "[2]", "[18446744073709551608,18446744073709551616]"), 8, "not a whole number"},
    {X("F32", "[2]", "[4,12]"), 12, "do not follow"},
    {X("F32", "[2]", "[0,8]"), 7, "truncated: 7 bytes of data, and x ends at byte 8"},
    {X("F32", "[2]", "[0,8]"), 9, "1 bytes after the last tensor"},
    {"{\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"y\":{\"dtype\":\"U8\","
     "\"shape\":[2],\"data_offsets\":[1,3]}}",
     3, "do not follow"},
    {"{\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"x\":{\"dtype\":\"U8\","
     "\"shape\":[1],\"data_offsets\":[2,3]}}",
     3, "x: twice"},
    {"{\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "a name of 0 bytes"},
    {"{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "text with NUL"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: a: not a string"},
    {"{\"__metadata__\":\"a\"}", 0, "__metadata__: not an object"},
    {"{\"__metadata__\":{},\"__metadata__\":{\"a\":\"b\"}}", 0, "__metadata__: twice"},
};

static void invalid_headers(void)
{
    struct tf_bundle b = {0};
    struct tf_err err;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        int rc = read_header(headers[i].text, headers[i].data, &b, &err);
        if (headers[i].why)
            ok(rc < 0 && strstr(err.msg, headers[i].why), "%s: %s", headers[i].text, err.msg);
        else
            is_int(rc, 0, "%s %s", headers[i].text, err.msg);
    }
    static const uint8_t huge[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}'};
    ok(tf_safetensors_read(&b, huge, sizeof huge, &err) < 0 && strstr(err.msg, "cut short"),
       "a header of 2^64 bytes: %s", err.msg);

    /* Time for many names must not be quadratic. */
    struct tf_buf text = {0};
    tf_buf_byte(&text, '{');
    for (int i = 0; i <= TF_MAX_TENSORS; i++)
        tf_buf_printf(&text, "%s\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                      i ? "," : "", i, i, i + 1);
    tf_buf_str(&text, "}");
    ok(read_header(text.p, TF_MAX_TENSORS + 1, &b, &err) < 0 &&
           strstr(err.msg, "more than 65536 tensors"),
       "65,537 tensors: %s", err.msg);
    tf_buf_release(&text);
}

int main(void)
{
    round_trip();
    invalid_headers();
    return done();
}
