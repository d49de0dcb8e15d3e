/* The JSON writer; the reader with text that RFC 8259 allows and text that it does not. */
#include "../harness/tap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"

/* Read text and write its tokens as compact JSON; NULL on error. */
static const char *again(const char *text, size_t n, struct tf_err *err)
{
    static struct tf_buf out;
    struct tf_json_reader r;
    struct tf_json j = {.out = &out};
    tf_buf_clear(&out);
    /* A copy of exactly this length, so that the sanitizers see a read past the end. */
    char *copy = malloc(n != 0 ? n : 1);
    memcpy(copy, text, n);
    tf_json_read(&r, copy, n);
    r.nul = true;
    enum tf_json_kind kind = TF_JSON_NULL;
    int rc = 0;
    while (kind != TF_JSON_END && (rc = tf_json_next(&r, &kind, err)) == 0) {
        switch (kind) {
        case TF_JSON_OBJECT:
            tf_json_open(&j, '{');
            break;
        case TF_JSON_OBJECT_END:
            tf_json_close(&j, '}');
            break;
        case TF_JSON_ARRAY:
            tf_json_open(&j, '[');
            break;
        case TF_JSON_ARRAY_END:
            tf_json_close(&j, ']');
            break;
        case TF_JSON_KEY:
            tf_json_key(&j, r.text.p);
            break;
        case TF_JSON_STRING:
            tf_json_strn(&j, r.text.p, r.text.len);
            break;
        case TF_JSON_NUMBER:
            if (r.is_int && r.negative && r.uint <= INT64_MAX)
                tf_json_int(&j, -(int64_t)r.uint);
            else if (r.is_int && !r.negative)
                tf_json_uint(&j, r.uint);
            else
                tf_json_real(&j, r.real);
            break;
        case TF_JSON_BOOL:
            tf_json_bool(&j, r.boolean);
            break;
        case TF_JSON_NULL:
            tf_json_null(&j);
            break;
        case TF_JSON_END:
            break;
        }
    }
    tf_json_read_release(&r);
    free(copy);
    return rc == 0 ? out.p : NULL;
}

static void round_trip(void)
{
    static const char *const cases[][2] = {
        {"0", NULL},
        {"-0", "0"},
        {" \t\r\n1 ", "1"},
        {"-1", NULL},
        {"18446744073709551615", NULL},
        {"18446744073709551616", "1.8446744073709552e+19"},
        {"-9223372036854775807", NULL},
        {"1.5", NULL},
        {"1e3", "1000"},
        {"1E-9", "1e-09"},
        {"0.1e+1", "1"},
        {"true", NULL},
        {"false", NULL},
        {"null", NULL},
        {"\"\"", NULL},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"a\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {"\"\\u0000\\u001f\"", NULL},
        {"\"\\u00e4\\u20AC\"", "\"\xc3\xa4\xe2\x82\xac\""},
        {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
        {"\"\x7f\"", "\"\\u007f\""},
        {"\"\xc2\x80\xc2\x9f\xc2\xa0\"", "\"\\u0080\\u009f\xc2\xa0\""},
        {"\"\xe2\x80\xae"
         "a\xd8\x9c\"",
         "\"\\u202ea\\u061c\""},
        {"[]", NULL},
        {"{}", NULL},
        {"[ ]", "[]"},
        {"{ }", "{}"},
        {"[1,[2,[]],{}]", NULL},
        {"[[],[]]", NULL},
        {"{\"a\":1,\"b\":[true,null],\"\":{\"c\":{}}}", NULL},
        {" { \"a\" : [ 1 , 2 ] } ", "{\"a\":[1,2]}"},
        {"{\"a\":1,\"a\":2}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tf_err err = {0};
        is_str(again(cases[i][0], strlen(cases[i][0]), &err),
               cases[i][1] != NULL ? cases[i][1] : cases[i][0], "%s %s", cases[i][0], err.msg);
    }
    char deep[200];
    struct tf_err err = {0};
    memset(deep, '[', 64);
    memset(deep + 64, ']', 64);
    ok(again(deep, 128, &err) != NULL, "64 levels");
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    ok(again(deep, 130, &err) == NULL, "65 levels are refused");
    is_str(err.msg, "json: byte 65: nested too deeply", "the offset in its message");
}

/* Every character that a message escapes, and no other but quote and backslash. */
static void escapes(void)
{
    int wrong = 0;
    for (uint32_t c = 0; c < 0x10000; c++) {
        char text[8] = "\"", shown[8];
        struct tf_err err = {0};
        size_t n = tf_utf8_encode(text + 1, c);
        text[n + 1] = '"';
        if ((c >= 0xd800 && c < 0xe000) || c == '"' || c == '\\')
            continue;
        bool unsafe = tf_escape(shown, sizeof shown, text + 1, n)[0] == '\\';
        struct tf_buf b = {0};
        struct tf_json j = {.out = &b};
        tf_json_strn(&j, text + 1, n);
        if ((b.p[1] == '\\') != unsafe || again(b.p, b.len, &err) == NULL ||
            strcmp(again(b.p, b.len, &err), b.p) != 0) {
            printf("# U+%04X: %s\n", c, b.p);
            wrong++;
        }
        tf_buf_release(&b);
    }
    is_int(wrong, 0, "each character of the basic plane");
}

/* Text that RFC 8259 does not allow: the n_ cases of JSONTestSuite. */
static void refused(void)
{
    static const char *const cases[] = {
        "",
        " ",
        "[",
        "]",
        "{",
        "}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[,]",
        "[1,,2]",
        "[1 2]",
        "[1}",
        "{]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1,,\"b\":2}",
        "{a:1}",
        "{1:1}",
        "{\"a\":1",
        "{'a':1}",
        "{\"a\"::1}",
        "{null:1}",
        "[\"a\":1]",
        "1 2",
        "[] []",
        "[]x",
        "{}}",
        "[]]",
        "nul",
        "nulll",
        "True",
        "tru",
        "truth",
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "nan",
        "inf",
        "+1",
        "01",
        "-01",
        "00",
        "-",
        "--1",
        "1.",
        ".1",
        "-.1",
        "1.e1",
        "1e",
        "1e+",
        "1E-",
        "1.5.5",
        "0x1",
        "1_000",
        "1e1.5",
        "- 1",
        "1e999",
        "0e",
        "1eE2",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x41\"",
        "\"\\a\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\U0041\"",
        "\"\\",
        "\"\\u\"",
        "\"\t\"",
        "\"\n\"",
        "\"\x1f\"",
        "'a'",
        "a",
        "\"\\ud83d\"",
        "\"\\ude00\"",
        "\"\\ud83dx\"",
        "\"\\ud83d\\u0041\"",
        "\"\\ud83d\\",
        "\"\\ud83d\\ude0",
        "\"\xff\"",
        "\"\xc3\"",
        "\"\xed\xa0\x80\"",
        "\"\xc0\x80\"",
        "\xef\xbb\xbf[]",
        "\x0b[]",
        "[1]\x0c",
        "\xc2\xa0[]",
        "// c\n1",
        "[1]/**/",
        "#",
        "*",
        "<1>",
        "[\"a\",\n4\n,1,",
        "[-]",
        "[1.]",
        "{\"\xf0\x28\":1}",
        "\\u0022a\"",
        "[\\n1]",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tf_err err = {0};
        ok(again(cases[i], strlen(cases[i]), &err) == NULL &&
               strncmp(err.msg, "json: byte ", 11) == 0,
           "refused, case %zu (%s)", i, err.msg);
    }
    struct tf_err err = {0};
    ok(again("\"\0\"", 3, &err) == NULL, "NUL in a string");
    ok(again("1\0", 2, &err) == NULL, "NUL after a value");
    ok(again("\"\\\0\"", 4, &err) == NULL, "NUL in an escape");
    static const char text[] = "{\"key\":[1.5e3,\"\\ud83d\\ude00\xc3\xa4\",true,null]}";
    bool all = true;
    for (size_t n = 0; n < sizeof text - 1; n++)
        all &= again(text, n, &err) == NULL;
    ok(all, "truncated at every byte");
    again("[1,\n x]", 7, &err);
    is_str(err.msg, "json: byte 6: not a value", "a message with its offset");
}

static void writer(void)
{
    struct tf_buf out = {0};
    struct tf_json j = {.out = &out};
    tf_json_open(&j, '{');
    tf_json_key(&j, "a\n");
    tf_json_real(&j, NAN);
    tf_json_key(&j, "b");
    tf_json_open(&j, '[');
    tf_json_real(&j, -INFINITY);
    tf_json_real(&j, 0.1);
    tf_json_int(&j, INT64_MIN);
    tf_json_uint(&j, UINT64_MAX);
    tf_json_raw(&j, "{\"x\":1}");
    tf_json_strn(&j,
                 "\xff"
                 "a\0",
                 3);
    tf_json_close(&j, ']');
    tf_json_key(&j, "c");
    tf_json_open(&j, '{');
    tf_json_close(&j, '}');
    tf_json_close(&j, '}');
    is_str(out.p,
           "{\"a\\n\":null,\"b\":[null,0.1,-9223372036854775808,18446744073709551615,{\"x\":1},"
           "\"\xef\xbf\xbd"
           "a\\u0000\"],\"c\":{}}",
           "the writer");
    struct tf_err err = {0};
    tf_buf_byte(&out, ' ');
    char *copy = tf_xstrdup(out.p);
    ok(again(copy, strlen(copy), &err) != NULL, "the reader accepts it");
    free(copy);
    tf_buf_release(&out);
}

static void skipping(void)
{
    static const char text[] = "{\"a\":{\"x\":[1,2,{}]},\"b\":7,\"c\":[]}";
    struct tf_json_reader r;
    struct tf_err err = {0};
    enum tf_json_kind kind;
    tf_json_read(&r, text, sizeof text - 1);
    ok(tf_json_next(&r, &kind, &err) == 0 && kind == TF_JSON_OBJECT, "open");
    ok(tf_json_next(&r, &kind, &err) == 0 && kind == TF_JSON_KEY, "key");
    ok(tf_json_skip(&r, &err) == 0, "skip an object");
    ok(tf_json_next(&r, &kind, &err) == 0 && kind == TF_JSON_KEY && strcmp(r.text.p, "b") == 0,
       "the next key");
    ok(tf_json_skip(&r, &err) == 0, "skip a number");
    ok(tf_json_next(&r, &kind, &err) == 0 && kind == TF_JSON_KEY && strcmp(r.text.p, "c") == 0,
       "the last key");
    ok(tf_json_skip(&r, &err) == 0 && tf_json_next(&r, &kind, &err) == 0 &&
           kind == TF_JSON_OBJECT_END,
       "skip an empty array, close");
    ok(tf_json_next(&r, &kind, &err) == 0 && kind == TF_JSON_END, "end");
    ok(tf_json_next(&r, &kind, &err) == 0 && kind == TF_JSON_END, "the end again");
    tf_json_read_release(&r);
}

/* Text of which a C string would be a part. */
static void nul(void)
{
    static const char text[] = "{\"a\":\"b\\u0000c\"}", key[] = "{\"a\\u0000b\":1}";
    struct tf_json_reader r;
    struct tf_err err = {0};
    enum tf_json_kind kind;
    tf_json_read(&r, text, sizeof text - 1);
    ok(tf_json_next(&r, &kind, &err) == 0 && tf_json_next(&r, &kind, &err) == 0, "before a NUL");
    ok(tf_json_next(&r, &kind, &err) != 0, "a NUL is refused");
    is_str(err.msg, "json: byte 9: text with NUL", "its message");
    tf_json_read_release(&r);
    tf_json_read(&r, text, sizeof text - 1);
    ok(tf_json_next(&r, &kind, &err) == 0 && tf_json_next(&r, &kind, &err) == 0 &&
           tf_json_skip(&r, &err) == 0,
       "unless it is skipped");
    tf_json_read_release(&r);
    ok(again(text, sizeof text - 1, &err) != NULL, "or the reader takes it");
    ok(again(key, sizeof key - 1, &err) == NULL, "but never in a key");
}

int main(void)
{
    round_trip();
    nul();
    escapes();
    refused();
    writer();
    skipping();
    return done();
}
