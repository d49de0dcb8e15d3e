/* cbor_codec.c - items and values: the examples of RFC 8949, every half, deterministic maps, what
 * the decoder refuses, JSON. */
#include "../harness/stream.h"
#include "base/bits.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cbor/cursor.h"
#include "cbor/encode.h"
#include "cbor/json.h"
#include "cbor/scan.h"
#include "cbor/value.h"

#include <math.h>

#define SHA_DIGITS "0000000000000000000000000000000000000000000000000000000000000000"

static struct tf_buf b;

static void is_hex(const char *want, const char *name)
{
    char *got = tf_xmalloc(2 * b.len + 1);
    is_str(tf_hex(got, (const uint8_t *)b.p, b.len), want, "%s", name);
    free(got);
    tf_buf_clear(&b);
}

/* Appendix A of RFC 8949. */
static void test_examples(void)
{
    static const struct {
        uint64_t x;
        const char *hex;
    } uints[] = {{0, "00"},
                 {10, "0a"},
                 {23, "17"},
                 {24, "1818"},
                 {255, "18ff"},
                 {256, "190100"},
                 {1000, "1903e8"},
                 {65535, "19ffff"},
                 {65536, "1a00010000"},
                 {1000000, "1a000f4240"},
                 {1000000000000, "1b000000e8d4a51000"},
                 {UINT64_MAX, "1bffffffffffffffff"}};
    static const struct {
        double x;
        const char *hex;
    } reals[] = {{0.0, "f90000"},
                 {-0.0, "f98000"},
                 {1.0, "f93c00"},
                 {1.1, "fb3ff199999999999a"},
                 {1.5, "f93e00"},
                 {65504.0, "f97bff"},
                 {100000.0, "fa47c35000"},
                 {3.4028234663852886e+38, "fa7f7fffff"},
                 {1.0e+300, "fb7e37e43c8800759c"},
                 {5.960464477539063e-8, "f90001"},
                 {0.00006103515625, "f90400"},
                 {-4.0, "f9c400"},
                 {-4.1, "fbc010666666666666"},
                 {INFINITY, "f97c00"},
                 {-INFINITY, "f9fc00"},
                 {NAN, "f97e00"}};
    for (size_t i = 0; i < sizeof uints / sizeof *uints; i++) {
        tf_cbor_uint(&b, uints[i].x);
        is_hex(uints[i].hex, "unsigned");
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        tf_cbor_real(&b, reals[i].x);
        is_hex(reals[i].hex, "real");
    }
    tf_cbor_int(&b, -1);
    is_hex("20", "-1");
    tf_cbor_int(&b, -1000);
    is_hex("3903e7", "-1000");
    tf_cbor_int(&b, INT64_MIN);
    is_hex("3b7fffffffffffffff", "INT64_MIN");
    tf_cbor_f32(&b, 1.5f);
    is_hex("fa3fc00000", "a score keeps its width");
    tf_cbor_f32(&b, NAN);
    is_hex("fa7fc00000", "one NaN");
    tf_cbor_bytes(&b, "\1\2\3\4", 4);
    is_hex("4401020304", "bytes");
    tf_cbor_str(&b, "IETF");
    is_hex("6449455446", "text");
    tf_cbor_array(&b, 3);
    tf_cbor_bool(&b, true);
    tf_cbor_bool(&b, false);
    tf_cbor_null(&b);
    is_hex("83f5f4f6", "simple values");
    tf_cbor_u16s(&b, (const uint32_t[]){1, 65535}, 2);
    is_hex("d845440100ffff", "tag 69");
    tf_cbor_u32s(&b, (const uint32_t[]){1, 65536}, 2);
    is_hex("d846480100000000000100", "tag 70");
}

static void test_halves(void)
{
    long wrong = 0;
    struct tf_arena a = {0};
    struct tf_err err = {0};
    for (uint32_t h = 0; h < 65536; h++) {
        uint8_t p[3] = {0xf9, (uint8_t)(h >> 8), (uint8_t)h};
        struct tf_value v;
        uint16_t back;
        float f = tf_half_to_float((uint16_t)h);
        bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
        tf_arena_clear(&a);
        if (tf_cbor_parse(&v, &a, p, 3, &err) != 0 || v.kind != TF_REAL ||
            nan != (bool)isnan(v.real) || nan != (bool)isnan(f)) {
            wrong++;
        } else if (!nan) {
            tf_cbor_real(&b, v.real);
            wrong += v.real != (double)f || !tf_half_exact(f, &back) || back != h || b.len != 3 ||
                     memcmp(b.p, p, 3) != 0;
            tf_buf_clear(&b);
        }
    }
    is_int(wrong, 0, "round trip of 65536 halves");
    uint16_t h;
    ok(!tf_half_exact(65520.0f, &h) && !tf_half_exact(2.98e-8f, &h) &&
           !tf_half_exact(1.0f + 0x1p-11f, &h),
       "floats between the halves");
    tf_arena_release(&a);
}

static void test_values(void)
{
    struct tf_arena a = {0};
    struct tf_err err = {0};
    struct tf_value m = tf_value_map(), list = tf_value_array(), back;
    uint8_t sha[32] = {1}, got[32];
    for (int i = 0; i < 100; i++)
        tf_value_push(&a, &list, tf_value_int(i - 50));
    tf_value_put(&a, &m, "zz", tf_value_real(0.5));
    tf_value_put(&a, &m, "a", tf_value_str(&a, "text"));
    tf_value_put(&a, &m, "list", list);
    tf_value_put(&a, &m, "b", tf_value_bool(true));
    tf_value_put(&a, &m, "vocab", tf_value_bytes(&a, sha, 32));
    tf_value_put(&a, &m, "raw", tf_value_bytes(&a, sha, 32));
    tf_value_put(&a, &m, "none", tf_value_null());
    tf_value_put(&a, &m, "a", tf_value_str(&a, "again"));
    is_int(m.n, 7, "a key put twice is there once");
    is_str(tf_value_get(&m, "a")->text, "again", "with the later value");
    ok(tf_value_get(&m, "c") == NULL && tf_value_get(&list, "c") == NULL, "no such key");
    const char *order[] = {"a", "b", "zz", "raw", "list", "none", "vocab"};
    for (int i = 0; i < 7; i++)
        is_str(m.keys[i], order[i], "keys by length, then bytes");
    tf_cbor_value(&b, &m);
    ok(tf_cbor_parse(&back, &a, b.p, b.len, &err) == 0, "reads back %s", err.msg);
    ok(tf_value_equal(&m, &back), "equal");
    struct tf_value copy = tf_value_clone(&a, &back);
    ok(tf_value_equal(&m, &copy), "a clone is equal");
    tf_value_put(&a, &copy, "k", tf_value_int(1));
    ok(!tf_value_equal(&m, &copy) && back.n == 7, "and independent of the first");
    struct tf_buf again = {0};
    tf_cbor_value(&again, &back);
    ok(again.len == b.len && memcmp(again.p, b.p, b.len) == 0, "encodes to the same bytes");
    tf_buf_release(&again);
    char *hex = tf_xmalloc(2 * b.len + 1);
    tf_hex(hex, (const uint8_t *)b.p, b.len);
    ok(strstr(hex, "65766f636162d9486c5820") != NULL, "the vocabulary's hash has its tag");
    ok(strstr(hex, "637261775820") != NULL, "other bytes have none");
    free(hex);
    tf_buf_clear(&b);

    int64_t x = 0;
    double d = 0;
    bool yes = false;
    const char *s = NULL;
    tf_value_put(&a, &m, "n", tf_value_int(7));
    ok(tf_value_int_of(&m, "n", 0, 10, &x, &err) == 0 && x == 7, "integer");
    is_int(tf_value_int_of(&m, "n", 8, 10, &x, &err), -1, "out of range");
    is_str(err.msg, "n: 7: too small, minimum 8", "says so");
    is_int(tf_value_int_of(&m, "zz", 8, 10, &x, &err), -1, "not an integer");
    is_int(tf_value_int_of(&m, "absent", 8, 10, &x, &err), 1, "absent");
    ok(tf_value_real_of(&m, "n", 0, 10, &d, &err) == 0 && d == 7, "an integer is a number");
    ok(tf_value_real_of(&m, "zz", 0, 10, &d, &err) == 0 && d == 0.5, "real");
    is_int(tf_value_real_of(&m, "a", 0, 10, &d, &err), -1, "text is none");
    ok(tf_value_bool_of(&m, "b", &yes, &err) == 0 && yes, "bool");
    ok(tf_value_text_of(&m, "a", &s, &err) == 0 && strcmp(s, "again") == 0, "text");
    ok(tf_value_sha_of(&m, "vocab", got, &err) == 0 && memcmp(sha, got, 32) == 0, "hash");
    is_int(tf_value_sha_of(&m, "a", got, &err), -1, "text is no hash");
    tf_value_put(&a, &m, "nan", tf_value_real(NAN));
    is_int(tf_value_real_of(&m, "nan", -INFINITY, INFINITY, &d, &err), -1, "NaN is no number");
    is_str(err.msg, "nan: not a number", "by name");
    is_int(tf_value_real_of(&m, "zz", 1, 2, &d, &err), -1, "a real below its range");
    is_str(err.msg, "zz: 0.5: too small, minimum 1", "says so");
    is_int(tf_value_real_of(&m, "zz", 0, 0.25, &d, &err), -1, "a real above it");
    is_str(err.msg, "zz: 0.5: too large, maximum 0.25", "says so");
    is_int(tf_value_real_of(&m, "absent", 0, 1, &d, &err) +
               tf_value_bool_of(&m, "absent", &yes, &err),
           2, "absent");
    is_int(tf_value_bool_of(&m, "n", &yes, &err), -1, "a number is no bool");
    is_str(err.msg, "n: not true or false", "says so");
    struct tf_value kinds[] = {tf_value_null(),
                               tf_value_bool(true),
                               tf_value_bool(false),
                               tf_value_int(0),
                               tf_value_int(1),
                               tf_value_real(0.0),
                               tf_value_real(-0.0),
                               tf_value_real(NAN),
                               tf_value_str(&a, ""),
                               tf_value_str(&a, "x"),
                               tf_value_bytes(&a, "x", 1),
                               tf_value_array(),
                               list,
                               tf_value_map(),
                               m};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (tf_value_equal(&kinds[i], &kinds[k]) != (i == k))
                ok(false, "values %zu and %zu", i, k);
    tf_arena_release(&a);
}

static void test_refused(void)
{
    static const struct {
        const char *hex, *why;
    } bad[] = {
        {"", "cut short"},
        {"18", "cut short"},
        {"62c328", "not UTF-8"},
        {"63edA080", "not UTF-8"},
        {"6100", "not UTF-8"},
        {"9f00ff", "indefinite"},
        {"5f40ff", "indefinite"},
        {"bfff", "indefinite"},
        {"ff", "indefinite"},
        {"1c", "reserved"},
        {"fc", "reserved"},
        {"a2616101616102", "twice"},
        {"a10102", "not text"},
        {"0000", "after"},
        {"1b8000000000000000", "64 bits"},
        {"3b8000000000000000", "64 bits"},
        {"8181818181818181818100", "deep"},
        {"c1c1c1c1c1c1c1c1c100", "deep"},
        {"9bffffffffffffffff", "more items"},
        {"9a00100000", "more items"},
        {"bbffffffffffffffff", "more items"},
        {"5bffffffffffffffff", "longer"},
        {"7bffffffffffffffff", "longer"},
        {"f7", "unknown kind"},
        {"f0", "malformed"},
        {"f818", "malformed"},
        {"a161", "more items"},
    };
    uint8_t p[64];
    struct tf_arena a = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tf_err err = {0};
        struct tf_value v;
        size_t n = unhex(p, bad[i].hex);
        bool refused = tf_cbor_parse(&v, &a, p, n, &err) == -1;
        ok(refused && strstr(err.msg, bad[i].why), "%s refused: %s", bad[i].hex, err.msg);
    }
    struct tf_err err = {0};
    struct tf_value v;
    tf_cbor_array(&b, TF_MAX_VALUES);
    for (int i = 0; i < TF_MAX_VALUES; i++)
        tf_cbor_null(&b);
    is_int(tf_cbor_parse(&v, &a, b.p, b.len, &err), -1, "too many values");
    b.p[2] = (char)0xff; /* one item less */
    b.p[1] = 0;
    tf_buf_clear(&b);
    size_t n = unhex(p, "c6c7d4d81863616263");
    ok(tf_cbor_parse(&v, &a, p, n, &err) == 0 && v.kind == TF_TEXT,
       "tags of any number are dropped");
    n = unhex(p, "8818000019000a1a00000001f900003800fa3f800000fb3ff000000000000000");
    ok(tf_cbor_parse(&v, &a, p, n, &err) == 0 || n, "longer heads than need be");
    tf_arena_release(&a);
}

/* The scanner accepts items in pieces of any size. */
static void test_scan(void)
{
    uint8_t p[64];
    size_t n = unhex(p, "8401d9486c5820000000000000000000000000000000000000000000000000000000000000"
                        "00006161fb3ff199999999999a");
    struct tf_scan s = {0};
    bool good = true;
    for (size_t have = 0; have < n; have++) {
        good = good && tf_scan_item(&s, p, have, 1000) == 0 && s.need > have && s.need <= n;
    }
    ok(good, "byte by byte, never asks beyond the end");
    ok(tf_scan_item(&s, p, n, 1000) == 1 && s.pos == n, "the whole");
    s = (struct tf_scan){0};
    is_int(tf_scan_item(&s, p, n, 20), -1, "a limit");
    for (size_t limit = 1; limit < n; limit++) {
        s = (struct tf_scan){0};
        good = good && tf_scan_item(&s, p, n, limit) == -1;
    }
    ok(good, "every smaller limit");
}

/* What is beyond a limit is too large, whatever it is, and however little of it is there. */
static void test_scan_limits(void)
{
    static const struct {
        const char *hex;
        size_t limit;
    } large[] = {{"c11c", 1}, {"c1", 1}, {"1b", 4}, {"19", 1}, {"8200190000", 4}};
    uint8_t p[64];
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        size_t n = unhex(p, large[i].hex);
        struct tf_scan s = {0};
        int rc = tf_scan_item(&s, p, n, large[i].limit);
        ok(rc == -1 && strstr(s.why, "too large"), "%s, limit %zu: %s", large[i].hex,
           large[i].limit, s.why);
    }
}

/* Each getter refuses what is not its own, and stays where it is. */
static void test_cursor(void)
{
    enum { REAL, SHA, CRC, SKIP, IDS, REALS };
    static const struct {
        int get;
        const char *hex, *why;
    } bad[] = {
        {REAL, "", "not a number"},
        {REAL, "fb40", "not a number"},
        {REAL, "1c", "not a number"},
        {REAL, "6161", "not a number"},
        {SHA, "d863", "not a SHA-256"},
        {SHA, "d8635820" SHA_DIGITS, "not a SHA-256"},
        {SHA, "581f" SHA_DIGITS, "not a SHA-256"},
        {SHA, "7820" SHA_DIGITS, "not a SHA-256"},
        {CRC, "20", "crc"},
        {CRC, "1b0000000100000000", "crc"},
        {SKIP, "", "cut short"},
        {SKIP, "8201", "limit"},
        {SKIP, "fc", "reserved"},
        {IDS, "83010203", "too many"},
        {IDS, "d84043010203", "too many"},
        {IDS, "d85543010203", "unknown tag"},
        {IDS, "d84543010203", "left over"},
        {IDS, "d84080", "not a list"},
        {IDS, "01", "not a list"},
        {IDS, "8120", "32-bit"},
        {IDS, "811b0000000100000000", "32-bit"},
        {IDS, "d847480000000001000000", "32-bit"},
        {REALS, "83010203", "too many"},
        {REALS, "d85443010203", "left over"},
        {REALS, "d84043010203", "unknown tag"},
        {REALS, "816161", "not a number"},
        {REALS, "6161", "not a list"},
    };
    uint8_t p[64], sha[32];
    struct tf_arena a = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const uint32_t *ids;
        const float *reals;
        double x;
        bool has;
        uint32_t crc;
        size_t n = unhex(p, bad[i].hex), got;
        struct tf_cbor_cursor c = {p, p + n};
        const char *why = bad[i].get == REAL   ? tf_cursor_real(&c, &x)
                          : bad[i].get == SHA  ? tf_cursor_sha256(&c, sha)
                          : bad[i].get == CRC  ? tf_cursor_crc(&c, &has, &crc)
                          : bad[i].get == SKIP ? tf_cursor_skip(&c)
                          : bad[i].get == IDS  ? tf_cursor_ids(&c, &a, 2, &ids, &got)
                                               : tf_cursor_reals(&c, &a, 2, &reals, &got);
        ok(why != NULL && strstr(why, bad[i].why) && c.p == p, "cursor at %s: %s", bad[i].hex,
           why != NULL ? why : "accepted");
    }
    tf_arena_release(&a);
}

/* Maps and arrays are equal when all of them is. */
static void test_equal(void)
{
    static const char *const items[] = {"a0",       "a16161f5",
                                        "a16162f5", "a16161f4",
                                        "80",       "81f5",
                                        "81f4",     "8101",
                                        "82f5f5",   "6161",
                                        "6162",     "626161",
                                        "4161",     "01",
                                        "02",       "fb3ff8000000000000",
                                        "f6",       "a16161a16162f5"};
    enum { N = sizeof items / sizeof *items };
    struct tf_arena a = {0};
    struct tf_err err = {0};
    struct tf_value v[N], w[N];
    uint8_t p[64];
    for (int i = 0; i < N; i++) {
        size_t n = unhex(p, items[i]);
        must(tf_cbor_parse(&v[i], &a, p, n, &err), &err);
        must(tf_cbor_parse(&w[i], &a, p, n, &err), &err);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (tf_value_equal(&v[i], &w[j]) != (i == j) && strlen(items[i]) == strlen(items[j]))
                ok(false, "%s and %s", items[i], items[j]);
    ok(!tf_value_equal(&v[1], &v[2]) && !tf_value_equal(&v[1], &v[3]) &&
           !tf_value_equal(&v[5], &v[6]) && !tf_value_equal(&v[5], &v[8]) &&
           tf_value_equal(&v[17], &w[17]),
       "values are compared by kind, keys and items");
    tf_arena_release(&a);
}

static void from_json(const char *text, enum tf_json_style style, const char *want)
{
    struct tf_arena a = {0};
    struct tf_err err = {0};
    struct tf_value v;
    struct tf_buf got = {0};
    if (tf_value_from_json_text(&v, &a, text, strlen(text), style, "value", &err) == 0)
        tf_value_to_json(&(struct tf_json){.out = &got}, &v, style);
    else
        tf_buf_str(&got, err.msg);
    is_str(got.p, want, "style %d of %s", (int)style, text);
    tf_buf_release(&got);
    tf_arena_release(&a);
}

static void test_json(void)
{
    static const struct {
        const char *text, *exact, *plain;
    } rows[] = {
        {" [1, 1.0, -0, true, null, \"a\"] ", "[1,1.0,-0.0,true,null,\"a\"]",
         "[1,1,0,true,null,\"a\"]"},
        {"{\"bb\":1,\"c\":2,\"a\":3}", "{\"a\":3,\"c\":2,\"bb\":1}", "{\"a\":3,\"c\":2,\"bb\":1}"},
        {"{\"$hex\":\"0aff\"}", "{\"$hex\":\"0aff\"}", "{\"$hex\":\"0aff\"}"},
        {"{\"$hex\":\"0\"}", "not lower-case hex digits in pairs", "{\"$hex\":\"0\"}"},
        {"{\"$real\":\"-inf\"}", "{\"$real\":\"-inf\"}", "{\"$real\":\"-inf\"}"},
        {"[-9223372036854775808]", "[-9223372036854775808]", "[-9223372036854775808]"},
        {"9223372036854775808", "value: an integer beyond 64 bits with sign",
         "9.223372036854776e+18"},
        {"{\"a\":{\"k\":1,\"j\":2,\"k\":1}}", "k: twice", "k: twice"},
        {"[1]]", "json: byte 4: text after the value", "json: byte 4: text after the value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        from_json(rows[i].text, TF_JSON_EXACT, rows[i].exact);
        from_json(rows[i].text, TF_JSON_PLAIN, rows[i].plain);
    }
    /* Time for many keys, longest first, must not be quadratic. */
    struct tf_buf text = {0};
    for (int i = TF_MAX_VALUES - 1; i > 0; i--)
        tf_buf_printf(&text, "%c\"%d\":0", text.len ? ',' : '{', i);
    tf_buf_str(&text, "}");
    struct tf_arena a = {0};
    struct tf_err err = {0};
    struct tf_value v = tf_value_null();
    is_int(tf_value_from_json_text(&v, &a, text.p, text.len, TF_JSON_PLAIN, "value", &err), 0,
           "65,535 keys %s", err.msg);
    ok(v.n == TF_MAX_VALUES - 1 && strcmp(v.keys[0], "1") == 0, "in the order of encoded keys");
    struct tf_value bytes = tf_value_bytes(&a, "\x0a\xff", 2);
    tf_buf_clear(&text);
    tf_value_to_json(&(struct tf_json){.out = &text}, &bytes, TF_JSON_PLAIN);
    is_str(text.p, "\"0aff\"", "plain bytes are digits");
    tf_buf_release(&text);
    tf_arena_release(&a);
}

int main(void)
{
    test_examples();
    test_halves();
    test_values();
    test_refused();
    test_json();
    test_scan();
    test_scan_limits();
    test_cursor();
    test_equal();
    tf_buf_release(&b);
    return done();
}
