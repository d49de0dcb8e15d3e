/* stream_refused.c - what the decoders of records, headers and tensors refuse, each for its own
 * reason, and the conversions of tensors at the ends of their ranges. */
#include "../harness/stream.h"
#include "cbor/encode.h"
#include "stream/decode_private.h"
#include "stream/model.h"
#include "stream/tensor_record_private.h"

#include <math.h>

enum { MOST = 600 };

static bool says(const char *why, const char *want)
{
    return why != NULL && strstr(why, want) != NULL;
}

static void test_types(void)
{
    uint8_t p[MOST];
    static const struct {
        const char *hex;
        int type;
    } some[] = {{"", -2},        {"82", -2}, {"98", -2}, {"8219", -2}, {"821a0000", -2},
                {"8218ff", 255}, {"01", -1}, {"80", -1}, {"8161", -1}, {"811b0000000080000000", -1},
                {"a10101", -1},  {"8101", 1}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        size_t n = unhex(p, some[i].hex);
        is_int(tf_record_type(p, n), some[i].type, "the type of '%s'", some[i].hex);
    }
    struct tf_record rec;
    struct tf_arena a = {0};
    struct tf_err err = {0};
    struct tf_header h = sample_header(&a, "tokens", 10);
    struct tf_decoder d = {.arena = &a, .header = &h};
    is_int(tf_record_decode(&rec, &d, p, unhex(p, "01"), &err), -1, "no record");
    ok(says(err.msg, "not an array that begins with a type"), "says so: %s", err.msg);
    tf_arena_release(&a);
}

static void test_headers(void)
{
    /* {"v": 1, "kind": "x", ...} and what is wrong with it */
    static const struct {
        const char *hex, *why;
    } bad[] = {
        {"82000100", "not a map"},
        {"8200", "no header where one must be"},
        {"8200a1", "limit"},
        {"8207a0", "no header where one must be"},
        {"8300a000", "no header where one must be"},
        {"8200a0", "v: missing"},
        {"8200a16176f5", "v"},
        {"8200a1617602", "newer than this program"},
        {"8200a1617601", "kind: missing"},
        {"8200a2617601646b696e6460", "kind: missing"},
        {"8200a2617601646b696e6401", "kind"},
        {"8200a3617601646b696e64617865766f63616201", "vocab"},
        {"8200a3617601646b696e646178656d6f64656c01", "model"},
        {"8200a3617601646b696e6461786473697a6520", "size"},
        {"8200a3617601646b696e64617867737065636961"
         "6c01",
         "special: not a map"},
        {"8200a3617601646b696e64617867737065636961"
         "6ca163656f7320",
         "special"},
        {"8200a3617601646b696e64617866636f6e66696701", "config: not a map"},
        {"8200a3617601646b696e646178646d61646501", "made: not an array"},
    };
    uint8_t p[MOST];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tf_arena a = {0};
        struct tf_err err = {0};
        struct tf_header h;
        size_t n = unhex(p, bad[i].hex);
        int rc = tf_header_decode(&h, &a, p, n, &err);
        ok(rc == -1 && says(err.msg, bad[i].why), "header %s: %s", bad[i].hex, err.msg);
        tf_arena_release(&a);
    }
}

/* A tensor "a" of f32, shape [1], whose parts can be others. */
struct parts {
    const char *name, *dtype, *pad, *dims, *data, *crc, *why;
};

static size_t tensor_of(uint8_t *p, const struct parts *t)
{
    char hex[2 * MOST + 1];
    int n = snprintf(hex, sizeof hex, "8606%s%s%s%s%s%s", t->name ? t->name : "6161",
                     t->dtype ? t->dtype : "63663332", t->pad ? t->pad : "40",
                     t->dims ? t->dims : "d828828101", t->data ? t->data : "d855440000803f",
                     t->crc ? t->crc : "f6");
    TF_ASSERT(n > 0 && (size_t)n < sizeof hex);
    return unhex(p, hex);
}

static void test_tensors(void)
{
    static char name[2 * 131 + 1], pad[2 * 259 + 1], dtype[2 * 202 + 1];
    memset(name, '6', sizeof name - 1); /* of letters "f" */
    memset(pad, '0', sizeof pad - 1);
    memset(dtype, '6', sizeof dtype - 1);
    memcpy(name, "7881", 4);  /* 129 bytes */
    memcpy(pad, "590100", 6); /* 256 bytes */
    memcpy(dtype, "78c8", 4); /* 200 bytes */
    const struct parts bad[] = {
        {.name = "60", .why = "a name of no or too many bytes"},
        {.name = name, .why = "a name of no or too many bytes"},
        {.name = "01", .why = "not text"},
        {.dtype = "63663939", .why = "unknown dtype"},
        {.dtype = dtype, .why = "unknown dtype"},
        {.pad = pad, .why = "a pad that is too long"},
        {.pad = "60", .why = "not a byte string"},
        {.dims = "d829828101", .why = "tag 40"},
        {.dims = "d828838101", .why = "tag 40"},
        {.dims = "d8288289010101010101010101", .why = "too many dims"},
        {.dims = "d828828100", .why = "a dim that is not positive"},
        {.dims = "d828828120", .why = "a dim that is not positive"},
        {.dims = "d82882821b00000001000000001b0000000100000000", .why = "product is too large"},
        {.data = "d854440000803f", .why = "a tag that is not the dtype's"},
        {.data = "d8556161", .why = "data that are not a byte string"},
        {.data = "d855430000803f", .why = "dims that do not fit"},
        {.crc = "20", .why = "crc: not a 32-bit number or null"},
        {.crc = "01", .why = "damaged"},
    };
    uint8_t p[MOST];
    struct tf_tensor_head h;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tf_err err = {0};
        struct tf_record rec = {.raw = p};
        rec.raw_n = tensor_of(p, &bad[i]);
        const char *why = tf_tensor_head_decode(&h, p, rec.raw_n);
        int rc = tf_tensor_record_decode(&h, &rec, &err);
        ok(rc == -1 && says(err.msg, bad[i].why) &&
               (bad[i].crc != NULL ? why == NULL : says(why, bad[i].why)),
           "tensor %zu: %s", i, err.msg);
    }
    const struct parts good = {0};
    struct tf_err err = {0};
    struct tf_record rec = {.raw = p};
    rec.raw_n = tensor_of(p, &good);
    ok(tf_tensor_record_decode(&h, &rec, &err) == 0 && h.t.bytes == 4, "a tensor %s", err.msg);
    rec.raw_n -= 3;
    ok(tf_tensor_record_decode(&h, &rec, &err) == -1 && says(err.msg, "longer than their record"),
       "cut: %s", err.msg);
}

static void test_ranges(void)
{
    static const struct {
        float x;
        uint16_t f16;
    } halves[] = {{NAN, 0x7e00},   {INFINITY, 0x7c00}, {-INFINITY, 0xfc00}, {65504, 0x7bff},
                  {65519, 0x7bff}, {0x1p-24f, 1},      {-0x1p-24f, 0x8001}, {0x1p-14f, 0x0400},
                  {0x1.8p-24f, 2}, {0x1p-25f, 0},      {1.0f, 0x3c00},      {-0.0f, 0x8000}};
    struct tf_err err = {0};
    uint16_t got;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        int rc = tf_floats_as(&got, TF_F16, &halves[i].x, 1, &err);
        ok(rc == 0 && got == halves[i].f16, "%g as f16: %04x", (double)halves[i].x, got);
    }
    const float large[] = {65520, -65520, 65536, 1e30f};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        ok(tf_floats_as(&got, TF_F16, &large[i], 1, &err) == -1 && says(err.msg, "range of f16"),
           "%g: %s", (double)large[i], err.msg);
    const float most = 3.4e38f;
    ok(tf_floats_as(&got, TF_BF16, &most, 1, &err) == -1 && says(err.msg, "range of bf16"), "%s",
       err.msg);
    float out;
    const double wide[] = {1e300, -1e300, 1e39};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        const struct tf_tensor t = {.name = "w", .dtype = TF_F64, .data = &wide[i], .bytes = 8};
        ok(tf_tensor_floats(&out, &t, &err) == -1 && says(err.msg, "range of f32"), "%g: %s",
           wide[i], err.msg);
    }
    const double none = NAN;
    const struct tf_tensor t = {.name = "w", .dtype = TF_F64, .data = &none, .bytes = 8},
                           i8 = {.name = "w", .dtype = TF_I8, .data = "", .bytes = 1};
    ok(tf_tensor_floats(&out, &t, &err) == 0 && isnan(out), "NaN stays");
    ok(tf_tensor_floats(&out, &i8, &err) == -1 && says(err.msg, "dtype"), "%s", err.msg);
}

/* A model that begins as it should and continues with `more`. */
static int read_model(const struct tf_buf *more, struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_header h = sample_header(&a, "model", 4096);
    struct tf_out out = memory_out(1 << 16);
    struct tf_writer w;
    struct tf_model_file m;
    struct tf_buf all = {0};
    *err = (struct tf_err){0};
    must(tf_writer_begin(&w, &out, &h, err), err);
    tf_buf_add(&all, out.buf, out.len);
    tf_buf_add(&all, more->p, more->len);
    struct tf_in in = memory_in(all.p, all.len);
    int rc = tf_model_read_in(&m, &in, 0, 0, err);
    if (rc == 0)
        tf_model_release(&m);
    memory_in_done(&in);
    tf_buf_release(&all);
    tf_writer_release(&w);
    memory_out_done(&out);
    tf_arena_release(&a);
    return rc;
}

static void end_model(struct tf_buf *b, uint64_t records)
{
    tf_cbor_array(b, 3);
    tf_cbor_uint(b, TF_REC_END);
    tf_cbor_uint(b, records);
    tf_cbor_null(b);
}

static void test_models(void)
{
    static const struct {
        const char *hex, *why;
    } bad[] = {
        {"820701", "fewer than 4 items"},
        {"84070101f6", "state record"},
        {"84076001f6", "a name of no or too many bytes"},
        {"8400", "truncated"},
        {"8407616101f6"
         "8407616101f6",
         "twice"},
        {"84076161a1616101f6"
         "840765766f63616201f6",
         "not a byte string"},
        {"8606616163663332"
         "40d82882821b00000000400000000"
         "4d8555b0000000400000000",
         "a pipe is limited"},
    };
    uint8_t p[MOST];
    struct tf_err err;
    struct tf_buf b = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tf_buf_clear(&b);
        tf_buf_add(&b, p, unhex(p, bad[i].hex));
        ok(read_model(&b, &err) == -1 && says(err.msg, bad[i].why), "model with %s: %s", bad[i].hex,
           err.msg);
    }
    for (int states = TF_MAX_STATES; states <= TF_MAX_STATES + 1; states++) {
        char name[16];
        tf_buf_clear(&b);
        for (int i = 0; i < states; i++) {
            snprintf(name, sizeof name, "s%d", i);
            tf_cbor_array(&b, 4);
            tf_cbor_uint(&b, TF_REC_STATE);
            tf_cbor_text(&b, name, strlen(name));
            tf_cbor_uint(&b, 1);
            tf_cbor_null(&b);
        }
        end_model(&b, (uint64_t)states);
        int rc = read_model(&b, &err);
        ok(states == TF_MAX_STATES ? rc == 0 : rc == -1 && says(err.msg, "more than 256 states"),
           "%d states: %s", states, err.msg);
    }
    for (int tensors = TF_MAX_TENSORS; tensors <= TF_MAX_TENSORS + 1; tensors++) {
        char name[16];
        tf_buf_clear(&b);
        for (int i = 0; i < tensors; i++) {
            snprintf(name, sizeof name, "t%d", i);
            tf_cbor_array(&b, 6);
            tf_cbor_uint(&b, TF_REC_TENSOR);
            tf_cbor_text(&b, name, strlen(name));
            tf_buf_add(&b, p,
                       unhex(p, "627538"
                                "40"
                                "d828828101"
                                "d8404100"
                                "f6"));
        }
        end_model(&b, (uint64_t)tensors);
        int rc = read_model(&b, &err);
        ok(tensors == TF_MAX_TENSORS ? rc == 0 : rc == -1 && says(err.msg, "more than 65536"),
           "%d tensors: %s", tensors, err.msg);
    }
    tf_buf_release(&b);
}

int main(void)
{
    test_types();
    test_headers();
    test_tensors();
    test_ranges();
    test_models();
    return done();
}
