/* stream_text.c - JSON Lines and diagnostic notation: NaN and infinities, tensors of every
 * dtype, and the messages for edited lines that are refused. */
#include "../harness/stream.h"
#include "stream/inspect.h"

static const struct tf_inspect how = {.max_bytes = SIZE_MAX};
static struct tf_out cbor, text;

static int from_json(const char *s, size_t n, struct tf_err *err)
{
    struct tf_in in = memory_in(s, n);
    cbor.len = 0;
    *err = (struct tf_err){0};
    int rc = tf_inspect_from_json(&in, &cbor, &how, err);
    memory_in_done(&in);
    return rc;
}

static int json(struct tf_err *err)
{
    struct tf_in in = memory_in(cbor.buf, cbor.len);
    text.len = 0;
    *err = (struct tf_err){0};
    int rc = tf_inspect_json(&in, &text, &how, err);
    text.buf[text.len] = 0;
    memory_in_done(&in);
    return rc;
}

static void header(struct tf_buf *b, const char *kind)
{
    tf_buf_clear(b);
    tf_buf_printf(b, "{\"type\":\"header\",\"header\":{\"v\":1,\"kind\":\"%s\"}}\n", kind);
}

/* ---- round trips ---- */

static const struct {
    const char *kind, *line;
} kept[] = {
    {"model",
     "{\"type\":\"tensor\",\"name\":\"p/"
     "f64\",\"dtype\":\"f64\",\"dims\":[6],\"data\":[0.1,-0,1e+300,\"nan\",\"inf\",\"-inf\"]}"},
    {"model", "{\"type\":\"tensor\",\"name\":\"p/"
              "f32\",\"dtype\":\"f32\",\"dims\":[2,3],\"data\":[0.1,3.4028235e+38,1.4013e-45,"
              "\"nan\",\"inf\",\"-inf\"]}"},
    {"model", "{\"type\":\"tensor\",\"name\":\"p/"
              "f16\",\"dtype\":\"f16\",\"dims\":[6],\"data\":[0.5,-65504,5.9604645e-08,\"nan\","
              "\"inf\",\"-inf\"]}"},
    {"model", "{\"type\":\"tensor\",\"name\":\"p/"
              "bf16\",\"dtype\":\"bf16\",\"dims\":[5],\"data\":[0.5,-1,\"nan\",\"inf\",\"-inf\"]}"},
    {"model",
     "{\"type\":\"tensor\",\"name\":\"p/i8\",\"dtype\":\"i8\",\"dims\":[3],\"data\":[-128,0,127]}"},
    {"model",
     "{\"type\":\"tensor\",\"name\":\"p/u8\",\"dtype\":\"u8\",\"dims\":[2],\"data\":[0,255]}"},
    {"model", "{\"type\":\"tensor\",\"name\":\"p/"
              "i32\",\"dtype\":\"i32\",\"dims\":[2],\"data\":[-2147483648,2147483647]}"},
    {"model", "{\"type\":\"tensor\",\"name\":\"p/"
              "u32\",\"dtype\":\"u32\",\"dims\":[2],\"data\":[0,4294967295]}"},
    {"model",
     "{\"type\":\"tensor\",\"name\":\"p/"
     "i64\",\"dtype\":\"i64\",\"dims\":[2],\"data\":[-9223372036854775808,9223372036854775807]}"},
    {"model", "{\"type\":\"tensor\",\"name\":\"p/"
              "u64\",\"dtype\":\"u64\",\"dims\":[2],\"data\":[0,18446744073709551615]}"},
    {"model", "{\"type\":\"state\",\"name\":\"x\",\"value\":[{\"$real\":\"nan\"},{\"$real\":"
              "\"inf\"},{\"$real\":\"-inf\"},1.0,-0.0,null,true,\"text\",{\"$hex\":\"00ff\"},{}]}"},
    {"scores",
     "{\"type\":\"score\",\"idx\":0,\"logp\":\"-inf\",\"token_logp\":[\"nan\",\"inf\",-1]}"},
    {"nbest", "{\"type\":\"nbest\",\"idx\":9223372036854775807,\"hyps\":[]}"},
    {"attention", "{\"type\":\"attention\",\"idx\":0,\"kind\":\"cross\",\"layer\":6,\"heads\":[1,"
                  "4294967295],\"rows\":[\"\",\"\\\"\\\\\u2581\"],\"columns\":[\"a\"],\"weights\":["
                  "1,0.1,\"nan\",\"-inf\"]}"},
    {"attention",
     "{\"type\":\"attention\",\"idx\":9223372036854775807,\"kind\":\"\",\"layer\":"
     "9223372036854775807,\"heads\":[1],\"rows\":[],\"columns\":[\"a\",\"b\"],\"weights\":[]}"},
};

static void round_trips(void)
{
    struct tf_buf b = {0};
    struct tf_err err;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        header(&b, kept[i].kind);
        tf_buf_printf(&b, "%s\n\n{\"type\":\"end\"}\n", kept[i].line);
        is_int(from_json(b.p, b.len, &err), 0, "%.48s %s", kept[i].line, err.msg);
        is_int(json(&err), 0, "and back %s", err.msg);
        const char *at = strstr((char *)text.buf, kept[i].line);
        if (!ok(at && at[strlen(kept[i].line)] == '\n', "the same line"))
            printf("# %s\n", (char *)text.buf);
    }
    tf_buf_release(&b);
}

/* 7.038531e-26, its first digits, is another f32 when it is rounded to a double first. */
static void rounded_twice(void)
{
    static const char line[] = "{\"type\":\"tensor\",\"name\":\"w\",\"dtype\":\"f32\",\"dims\":[1],"
                               "\"data\":[7.0385307e-26]}";
    struct tf_buf b = {0};
    struct tf_err err;
    header(&b, "model");
    tf_buf_printf(&b, "%s\n{\"type\":\"end\"}\n", line);
    is_int(from_json(b.p, b.len, &err), 0, "0x15ae43fd %s", err.msg);
    ok(memmem(cbor.buf, cbor.len, "\xfd\x43\xae\x15", 4) != NULL, "its bytes");
    is_int(json(&err), 0, "and back %s", err.msg);
    ok(strstr((char *)text.buf, line) != NULL, "digits that give it again: %s", (char *)text.buf);
    tf_buf_release(&b);
}

/* A tensor whose text is longer than the buffer. */
static void long_tensor(void)
{
    enum { N = 60000 };
    struct tf_buf b = {0};
    struct tf_err err;
    header(&b, "model");
    tf_buf_str(
        &b, "{\"type\":\"tensor\",\"name\":\"p/w\",\"dtype\":\"i32\",\"dims\":[60000],\"data\":[0");
    for (int i = 1; i < N; i++)
        tf_buf_printf(&b, ",%d", i);
    tf_buf_str(&b, "]}\n{\"type\":\"end\"}\n");
    is_int(from_json(b.p, b.len, &err), 0, "%d numbers %s", N, err.msg);
    is_int(json(&err), 0, "and back %s", err.msg);
    const char *line = memchr(b.p, '\n', b.len),
               *got = strstr((char *)text.buf, "{\"type\":\"tensor\"");
    size_t n = (size_t)((char *)memchr(line + 1, '\n', b.len) - line);
    if (ok(got != NULL, "the tensor"))
        is_mem(got, line + 1, n, "its line");
    tf_buf_release(&b);
}

/* More weights than a tree of values may have. */
static void long_attention(void)
{
    enum { HEADS = 2, ROWS = 300, N = HEADS * ROWS * ROWS };
    struct tf_buf b = {0};
    struct tf_err err;
    header(&b, "attention");
    tf_buf_str(&b, "{\"type\":\"attention\",\"idx\":1,\"kind\":\"encoder\",\"layer\":1,\"heads\":["
                   "1,2],\"rows\":[\"r0\"");
    for (int i = 1; i < ROWS; i++)
        tf_buf_printf(&b, ",\"r%d\"", i);
    tf_buf_str(&b, "],\"columns\":[\"c0\"");
    for (int i = 1; i < ROWS; i++)
        tf_buf_printf(&b, ",\"c%d\"", i);
    tf_buf_str(&b, "],\"weights\":[0");
    for (int i = 1; i < N; i++)
        tf_buf_printf(&b, ",%d", i);
    tf_buf_str(&b, "]}\n{\"type\":\"end\"}\n");
    is_int(from_json(b.p, b.len, &err), 0, "%d weights %s", N, err.msg);
    is_int(json(&err), 0, "and back %s", err.msg);
    const char *line = memchr(b.p, '\n', b.len),
               *got = strstr((char *)text.buf, "{\"type\":\"attention\"");
    size_t n = (size_t)((char *)memchr(line + 1, '\n', b.len) - line);
    if (ok(got != NULL, "the record"))
        is_mem(got, line + 1, n, "its line");
    tf_buf_release(&b);
}

/* ---- refused ---- */

#define TENSOR "{\"type\":\"tensor\",\"name\":\"p/w\","
#define BATCH_KEYS "\"type\":\"batch\",\"ordinal\":0,\"epoch\":0,\"record\":0,"
#define BATCH "{" BATCH_KEYS
#define ATTN "{\"type\":\"attention\",\"idx\":0,"

static const struct {
    const char *kind, *line, *why;
} refused[] = {
    {"tokens", "[1]", "not a JSON object"},
    {"tokens", "{\"type\":\"end\"} x", "text after the value"},
    {"tokens", "{\"idx\":0}", "type: missing"},
    {"tokens", "{\"type\":\"header\",\"header\":{\"v\":1,\"kind\":\"tokens\"}}",
     "a header before the end of the part"},
    {"tokens", "{\"type\":\"tokens\",\"ids\":[]}", "idx: missing"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":0}", "ids: not an array"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":0,\"ids\":[-1]}",
     "ids: an id that is not a 32-bit number"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":0,\"ids\":[4294967296]}",
     "ids: an id that is not a 32-bit number"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":0,\"ids\":[\"1\"]}",
     "ids: an id that is not a 32-bit number"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":0,\"idx\":0,\"ids\":[]}", "idx: twice"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":-1,\"ids\":[]}", "idx: -1: too small"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":9223372036854775808,\"ids\":[]}",
     "idx: an integer beyond 64 bits with sign"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":0,\"ids\":[],\"x\":{\"a\":1,\"a\":2}}", "a: twice"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":0,\"ids\":[],\"x\":\"a\\u0000b\"}", "text with NUL"},
    {"tokens", "{\"type\":\"tokens\",\"idx\":0,\"ids\":[],\"x\":{\"$hex\":\"0\"}}",
     "not lower-case hex digits in pairs"},
    {"tokens", "{\"type\":\"bad\",\"idx\":0,\"text\":\"x\"}", "code: missing"},
    {"tokens", "{\"type\":\"bad\",\"idx\":0,\"code\":1}", "text: missing"},
    {"tokens", "{\"type\":\"error\",\"code\":1}", "text: missing"},
    {"tokens", "{\"type\":\"none\"}", "unknown type 'none'"},
    {"tokens", "{\"type\":\"ancillary\"}", "hex: missing"},
    {"tokens", "{\"type\":\"ancillary\",\"hex\":\"8118\"}", "hex: not one record"},
    {"tokens", "{\"type\":\"ancillary\",\"hex\":\"8218400000\"}", "hex: not one record"},
    {"tokens", "{\"type\":\"ancillary\",\"hex\":\"830f00f6\"}", "hex: not one record"},
    {"tokens", "{\"type\":\"ancillary\",\"hex\":\"\"}", "hex: not one record"},
    {"stats", "{\"type\":\"stats\",\"idx\":0}", "counts: not an array"},
    {"pairs", "{\"type\":\"pair\",\"idx\":0,\"src\":[]}", "tgt: not an array"},
    {"scores", "{\"type\":\"score\",\"idx\":0}", "logp: missing"},
    {"scores", "{\"type\":\"score\",\"idx\":0,\"logp\":\"x\"}", "logp: not a number"},
    {"scores", "{\"type\":\"score\",\"idx\":0,\"logp\":true}", "logp: not a number"},
    {"scores", "{\"type\":\"score\",\"idx\":0,\"logp\":0,\"token_logp\":1}",
     "token_logp: not an array"},
    {"scores", "{\"type\":\"score\",\"idx\":0,\"logp\":0,\"token_logp\":[null]}",
     "token_logp: not a number"},
    {"nbest", "{\"type\":\"nbest\",\"idx\":0,\"hyps\":1}", "hyps: not an array"},
    {"nbest", "{\"type\":\"nbest\",\"idx\":0,\"hyps\":[{\"ids\":[1],\"score\":0}]}",
     "hyps 0: logp: missing"},
    {"nbest",
     "{\"type\":\"nbest\",\"idx\":0,\"hyps\":[{\"ids\":[1],\"score\":0,\"logp\":0,\"token_logp\":["
     "0]}]}",
     "hyps 0: token_logp: 1 numbers, expected 2"},
    {"attention",
     "{\"type\":\"attention\",\"kind\":\"cross\",\"layer\":1,\"heads\":[],\"rows\":[],\"columns\":["
     "],\"weights\":[]}",
     "idx: missing"},
    {"attention", ATTN "\"layer\":1,\"heads\":[],\"rows\":[],\"columns\":[],\"weights\":[]}",
     "kind: missing"},
    {"attention",
     ATTN "\"kind\":1,\"layer\":1,\"heads\":[],\"rows\":[],\"columns\":[],\"weights\":[]}",
     "kind: not text"},
    {"attention", ATTN "\"kind\":\"cross\",\"heads\":[],\"rows\":[],\"columns\":[],\"weights\":[]}",
     "layer: missing"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":-1,\"heads\":[],\"rows\":[],\"columns\":[],\"weights\":[]}",
     "layer: -1: too small"},
    {"attention",
     ATTN
     "\"kind\":\"cross\",\"layer\":0.5,\"heads\":[],\"rows\":[],\"columns\":[],\"weights\":[]}",
     "layer: not an integer"},
    {"attention", ATTN "\"kind\":\"cross\",\"layer\":1,\"rows\":[],\"columns\":[],\"weights\":[]}",
     "heads: not an array"},
    {"attention",
     ATTN
     "\"kind\":\"cross\",\"layer\":1,\"heads\":[-1],\"rows\":[],\"columns\":[],\"weights\":[]}",
     "heads: an id that is not a 32-bit number"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"columns\":[\"b\"],\"weights\":[]}",
     "rows: not an array"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"rows\":\"a\",\"columns\":[\"b\"],"
          "\"weights\":[1]}",
     "rows: not an array"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"rows\":[1],\"columns\":[\"b\"],"
          "\"weights\":[1]}",
     "rows: not an array of text"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"rows\":[{\"$hex\":\"61\"}],\"columns\":["
          "\"b\"],\"weights\":[1]}",
     "rows: not an array of text"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"rows\":[\"a\\u0000\"],\"columns\":[\"b\"]"
          ",\"weights\":[1]}",
     "text with NUL"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"rows\":[\"a\"],\"columns\":[\"b\",null],"
          "\"weights\":[1]}",
     "columns: not an array of text"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"rows\":[\"a\"],\"columns\":[\"b\"]}",
     "weights: 0 numbers, expected 1"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1,2],\"rows\":[\"a\"],\"columns\":[\"b\","
          "\"c\"],\"weights\":[1,2,3]}",
     "weights: 3 numbers, expected 4"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[],\"rows\":[\"a\"],\"columns\":[\"b\"],"
          "\"weights\":[1]}",
     "weights: 1 numbers, expected 0"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"rows\":[\"a\"],\"columns\":[\"b\"],"
          "\"weights\":1}",
     "weights: not an array"},
    {"attention",
     ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[1],\"rows\":[\"a\"],\"columns\":[\"b\"],"
          "\"weights\":[null]}",
     "weights: not a number"},
    {"batch", "{\"weights\":[1000.5]," BATCH_KEYS "\"idx\":[0],\"src\":[[]],\"tgt\":[[]]}",
     "weights: 0: 1000.5 is not from 0 to 1000"},
    {"batch", BATCH "\"weights\":[1000.5],\"idx\":[0],\"src\":[[]],\"tgt\":[[]]}",
     "weights: 0: 1000.5 is not from 0 to 1000"},
    {"batch", BATCH "\"idx\":[0],\"src\":[],\"tgt\":[]}", "src: 0 sentences for 1 idx"},
    {"batch", BATCH "\"idx\":[0],\"src\":[[]],\"tgt\":[1]}", "tgt: not arrays of ids"},
    {"batch", BATCH "\"idx\":[0],\"src\":[[0.5]],\"tgt\":[[]]}",
     "src: an id that is not a 32-bit number"},
    {"batch", BATCH "\"idx\":[0],\"src\":[[]],\"tgt\":[[]],\"corpus\":\"00\"}", "corpus: "},
    {"batch", "{\"type\":\"batch\",\"ordinal\":0,\"record\":0,\"idx\":[],\"src\":[],\"tgt\":[]}",
     "epoch: missing"},
    {"model", "{\"type\":\"state\",\"name\":\"x\"}", "value: missing"},
    {"model", "{\"type\":\"state\",\"value\":1}", "name: missing"},
    {"model", "{\"type\":\"state\",\"name\":\"x\",\"value\":[[[[[[[[[1]]]]]]]]]}",
     "nested too deeply"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[1]}", "data: missing"},
    {"model", TENSOR "\"data\":[1],\"dtype\":\"u8\",\"dims\":[2]}", "data: 1 bytes, dims need 2"},
    {"model", TENSOR "\"dtype\":\"u7\",\"data\":[1]}", "dtype: missing or unknown"},
    {"model", TENSOR "\"data\":[1]}", "dtype: missing or unknown"},
    {"model", TENSOR "\"data\":[1],\"dtype\":\"u8\",\"data\":[1]}", "data: twice"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[1],\"data\":1}", "data: not an array"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[1],\"data\":[true]}", "data: not a number"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[1],\"data\":[\"nan\"]}", "data: not a number"},
    {"model", TENSOR "\"dtype\":\"f32\",\"dims\":[1],\"data\":[\"x\"]}", "data: not a number"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[1],\"data\":[0.5]}",
     "data: a fraction in a tensor of integers"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[1],\"data\":[256]}",
     "data: a number that u8 can't hold"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[1],\"data\":[-1]}",
     "data: a number that u8 can't hold"},
    {"model", TENSOR "\"dtype\":\"i32\",\"dims\":[1],\"data\":[-2147483649]}",
     "data: a number that i32 can't hold"},
    {"model", TENSOR "\"dtype\":\"u64\",\"dims\":[1],\"data\":[18446744073709551616]}",
     "data: a number that u64 can't hold"},
    {"model", "{\"type\":\"state\",\"name\":\"x\",\"value\":18446744073709551615}",
     "value: an integer beyond 64 bits with sign"},
    {"model", "{\"type\":\"state\",\"name\":\"x\",\"value\":[18446744073709551616]}",
     ": an integer beyond 64 bits with sign"},
    {"model", "{\"type\":\"state\",\"name\":\"x\",\"value\":-99999999999999999999}",
     "value: an integer beyond 64 bits with sign"},
    {"model", TENSOR "\"dtype\":\"bf16\",\"dims\":[1],\"data\":[0.1]}",
     "data: a number that bf16 can't hold"},
    {"model", TENSOR "\"dtype\":\"f16\",\"dims\":[1],\"data\":[65520]}",
     "data: a number that f16 can't hold"},
    {"model", TENSOR "\"dtype\":\"u8\",\"data\":[1]}", "dims: not an array"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[0],\"data\":[]}",
     "dims: not positive, or too large"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[4294967296,4294967296],\"data\":[]}",
     "dims: not positive, or too large"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[2],\"data\":[1]}", "data: 1 bytes, dims need 2"},
    {"model", TENSOR "\"dtype\":\"u8\",\"dims\":[1,1,1,1,1,1,1,1,1],\"data\":[1]}",
     "dims: more than 8"},
    {"model", "{\"type\":\"tensor\",\"name\":\"\",\"dtype\":\"u8\",\"dims\":[1],\"data\":[1]}",
     "name: 1 to"},
    {"model", "{\"dtype\":\"u8\",\"data\":[1],\"weights\":[1]}", "type: missing"},
    {"attention", "{\"weights\":[1],\"dtype\":\"u8\",\"data\":[1]}", "type: missing"},
    {"attention", "{\"weights\":[1],\"data\":[1,\"type\":\"attention\"}", "json: byte"},
};

static void refuse(void)
{
    struct tf_buf b = {0};
    struct tf_err err;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        header(&b, refused[i].kind);
        tf_buf_printf(&b, "%s\n", refused[i].line);
        bool good = from_json(b.p, b.len, &err) == -1 &&
                    strncmp(err.msg, "mem: line 2: ", 13) == 0 && strstr(err.msg, refused[i].why);
        ok(good, "%s: %s", refused[i].line, refused[i].why);
        if (!good)
            printf("# %s\n", err.msg);
    }
    static const struct {
        const char *lines, *why;
    } whole[] = {
        {"", "mem: truncated: no stream"},
        {"\n\n", "mem: truncated: no stream"},
        {"{\"type\":\"tokens\"}\n", "mem: line 1: tokens outside of a part: a header comes first"},
        {"{\"type\":\"header\"}\n", "mem: line 1: header: missing"},
        {"{\"type\":\"header\",\"header\":{\"v\":1,\"kind\":\"tokens\"}}", "mem: no end line"},
        {"{\"type\":\"header\",\"header\":{\"v\":1,\"kind\":\"tokens\",\"made\":[{\"prog\":\"x\","
         "\"opts\":{\"a\":[[[1]]]}}]}}",
         "mem: no end line"},
        {"{\"type\":\"header\",\"header\":{\"v\":1,\"kind\":\"tokens\",\"made\":[{\"prog\":\"x\","
         "\"opts\":{\"a\":[[[[1]]]]}}]}}",
         "mem: line 1: header: nested too deeply"},
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        is_int(from_json(whole[i].lines, strlen(whole[i].lines), &err), -1,
               "lines %zu are no stream", i);
        is_str(err.msg, whole[i].why, "are distinguished");
    }
    /* A list beyond the limit of one record. */
    header(&b, "batch");
    tf_buf_str(&b, BATCH "\"idx\":[0],\"tgt\":[[]],\"src\":[[1");
    char *ones = tf_buf_grow(&b, 2 * TF_MAX_IDS);
    for (size_t i = 0; i < TF_MAX_IDS; i++)
        memcpy(ones + 2 * i, ",1", 2);
    b.len += 2 * TF_MAX_IDS;
    tf_buf_str(&b, "]]}\n");
    is_int(from_json(b.p, b.len, &err), -1, "2^20 + 1 ids in a batch");
    ok(strstr(err.msg, "at most 65536 values") || strstr(err.msg, "more than 1048576 ids"),
       "are too many: %s", err.msg);
    static const char *const sides[] = {"\"columns\":[],\"rows\":[\"\"",
                                        "\"rows\":[],\"columns\":[\"\""};
    for (int i = 0; i < 2; i++) {
        header(&b, "attention");
        tf_buf_printf(&b, ATTN "\"kind\":\"cross\",\"layer\":1,\"heads\":[],\"weights\":[],%s",
                      sides[i]);
        for (int k = 0; k < TF_MAX_TEXTS; k++)
            tf_buf_str(&b, ",\"\"");
        tf_buf_str(&b, "]}\n");
        is_int(from_json(b.p, b.len, &err), -1, "2^16 + 1 %s in an attention record",
               i ? "columns" : "rows");
        is_str(err.msg,
               i ? "mem: line 2: columns: 65537 in one record, at most 65536"
                 : "mem: line 2: rows: 65537 in one record, at most 65536",
               "are too many");
    }
    tf_buf_release(&b);
}

/* `begin`, n times `item` with its number, and `end`, after the header of a model. */
static void refuse_many(const char *begin, const char *item, size_t n, const char *end,
                        const char *why)
{
    struct tf_buf b = {0};
    struct tf_err err = {0};
    char one[120];
    header(&b, "model");
    tf_buf_str(&b, begin);
    for (size_t i = 0; i < n; i++) {
        const char *number = strchr(item, '#');
        if (number == NULL) {
            tf_buf_str(&b, item);
            continue;
        }
        int len = snprintf(one, sizeof one, "%.*s%zu%s", (int)(number - item), item, i, number + 1);
        tf_buf_add(&b, one, (size_t)len);
    }
    tf_buf_str(&b, end);
    ok(from_json(b.p, b.len, &err) == -1 && strstr(err.msg, why) != NULL, "%s: %s", why, err.msg);
    tf_buf_release(&b);
}

static void limits(void)
{
    refuse_many("{\"type\":\"state\"", ",\"#\":0", TF_MAX_VALUES, "}\n", ": more than 65536 keys");
    refuse_many("{\"type\":\"state\",\"name\":\"x\",\"value\":{\"\":0", ",\"#\":0", TF_MAX_VALUES,
                "}}\n", "value: more than 65536 keys");
    refuse_many("{\"type\":\"state\",\"name\":\"x\",\"value\":[0", ",0", 5 * TF_MAX_IDS + 65536,
                "]}\n", ": more than 5308416 values");
    refuse_many("",
                "{\"type\":\"tensor\",\"name\":\"#\",\"dtype\":\"u8\",\"dims\":[1],\"data\":[0]}\n",
                TF_MAX_TENSORS + 1, "", "line 65538: more than 65536 tensors");
}

/* The vocabulary is not one of the 256 states. */
static void most_states(void)
{
    struct tf_buf b = {0};
    struct tf_err err;
    for (int states = TF_MAX_STATES; states <= TF_MAX_STATES + 1; states++) {
        header(&b, "model");
        tf_buf_str(&b, "{\"type\":\"state\",\"name\":\"vocab\",\"value\":{\"$hex\":\"00\"}}\n");
        for (int i = 0; i < states; i++)
            tf_buf_printf(&b, "{\"type\":\"state\",\"name\":\"s%d\",\"value\":0}\n", i);
        tf_buf_str(&b, "{\"type\":\"end\"}\n");
        int rc = from_json(b.p, b.len, &err);
        if (states == TF_MAX_STATES)
            is_int(rc, 0, "256 states and a vocabulary %s", err.msg);
        else
            is_str(err.msg, "mem: line 259: more than 256 states", "257 are too many");
    }
    tf_buf_release(&b);
}

/* ---- diagnostic notation ---- */

static void diag(void)
{
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *want;
    } items[] = {
        {"NaN", "\xf9\x7e\x00", 3, "NaN\n"},
        {"wide NaN", "\xfb\x7f\xf8\0\0\0\0\0\0", 9, "NaN_3\n"},
        {"infinity", "\xf9\x7c\x00", 3, "Infinity\n"},
        {"-infinity", "\xfa\xff\x80\x00\x00", 5, "-Infinity_2\n"},
        {"the least integer", "\x3b\xff\xff\xff\xff\xff\xff\xff\xff", 9, "-18446744073709551616\n"},
        {"long heads", "\x99\x00\x02\x18\x01\x20", 6, "[_1 1_0, -1]\n"},
        {"a long map", "\xb8\x01\x61\x61\xf7", 5, "{_0 \"a\": undefined}\n"},
        {"simple values", "\x83\xe0\xf8\xff\xf4", 5, "[simple(0), simple(255), false]\n"},
        {"text that is none", "\x61\xff", 2, "/ not UTF-8 / h'ff'\n"},
    };
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        struct tf_in in = memory_in(items[i].bytes, items[i].n);
        struct tf_err err = {0};
        text.len = 0;
        is_int(tf_inspect_diag(&in, &text, &how, &err), 0, "%s %s", items[i].name, err.msg);
        text.buf[text.len] = 0;
        is_str((char *)text.buf, items[i].want, "%s: its notation", items[i].name);
        memory_in_done(&in);
    }
}

int main(void)
{
    cbor = memory_out(8 << 20);
    text = memory_out(8 << 20);
    round_trips();
    rounded_twice();
    long_tensor();
    long_attention();
    refuse();
    limits();
    most_states();
    diag();
    memory_out_done(&cbor);
    memory_out_done(&text);
    return done();
}
