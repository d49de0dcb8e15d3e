/* exchange_npz.c - npz: round trips of all types and names; variants of ZIP and .npy that other
 * programs write; damage, false fields and limits. */
#include "base/memory.h"
#include "exchange/npz.h"
#include "../harness/stream.h"

#include <time.h>

enum { CAP = 1 << 20 };

/* The reader sees a block of exactly n bytes, so that a sanitizer sees it leave them. */
static int read_copy(struct tf_bundle *b, void **copy, const void *p, size_t n, struct tf_err *err)
{
    *copy = tf_xmalloc(n + !n);
    if (n)
        memcpy(*copy, p, n);
    *b = (struct tf_bundle){0};
    *err = (struct tf_err){0};
    return tf_npz_read(b, *copy, n, err);
}

static bool same_tensor(const struct tf_tensor *x, const struct tf_tensor *y)
{
    return strcmp(x->name, y->name) == 0 && x->dtype == y->dtype && x->rank == y->rank &&
           memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) == 0 &&
           x->bytes == y->bytes && memcmp(x->data, y->data, x->bytes) == 0;
}

static bool same_blob(const void *x, size_t x_n, const void *y, size_t y_n)
{
    return x_n == y_n && (x_n == 0 || memcmp(x, y, x_n) == 0);
}

static bool same_bundle(const struct tf_bundle *x, const struct tf_bundle *y)
{
    bool same = x->n == y->n && same_blob(x->config, x->config_n, y->config, y->config_n) &&
                same_blob(x->vocab, x->vocab_n, y->vocab, y->vocab_n);
    for (size_t i = 0; same && i < x->n; i++)
        same = same_tensor(&x->tensors[i], &y->tensors[i]);
    return same;
}

/* ---- round trips ---- */

static uint8_t some[512]; /* data of every tensor */

static struct tf_tensor tensor(const char *name, enum tf_dtype dtype, int rank,
                               const uint64_t *dims)
{
    struct tf_tensor t = {.name = name, .dtype = dtype, .rank = rank, .data = some};
    t.bytes = tf_dtype_size(dtype);
    for (int i = 0; i < rank; i++) {
        t.dims[i] = dims[i];
        t.bytes *= dims[i];
    }
    return t;
}

#define DIMS(...)                                       \
    sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]) \
    {                                                   \
        __VA_ARGS__                                     \
    }

static char longest[TF_MAX_NAME + 1];

static struct tf_bundle sample_bundle(void)
{
    static struct tf_tensor t[16];
    memset(longest, 'n', TF_MAX_NAME);
    size_t n = 0;
    t[n++] = tensor("p/enc.0.w", TF_F32, DIMS(3, 4));
    t[n++] = tensor("half", TF_F16, DIMS(5));
    t[n++] = tensor("double", TF_F64, DIMS(2, 1, 3));
    t[n++] = tensor("i8", TF_I8, DIMS(7));
    t[n++] = tensor("u8", TF_U8, DIMS(1, 9));
    t[n++] = tensor("i32", TF_I32, DIMS(3));
    t[n++] = tensor("u32", TF_U32, DIMS(1));
    t[n++] = tensor("i64", TF_I64, DIMS(2, 2));
    t[n++] = tensor("u64", TF_U64, DIMS(4));
    t[n++] = tensor("scalar", TF_F32, 0, NULL);
    t[n++] = tensor("eight", TF_I8, DIMS(2, 1, 2, 1, 2, 1, 2, 1));
    t[n++] = tensor("Gewicht/\xc3\xbc.\xe2\x96\x81.npy", TF_F32, DIMS(2));
    t[n++] = tensor("../a b'\"%s\\", TF_F32, DIMS(2));
    t[n++] = tensor(longest, TF_U8, DIMS(1));
    return (struct tf_bundle){.tensors = t,
                              .n = n,
                              .config = "{\"d_model\": 512}",
                              .config_n = 16,
                              .vocab = sample_vocab,
                              .vocab_n = SAMPLE_VOCAB_N};
}

static struct tf_bundle small_bundle(void)
{
    static struct tf_tensor t[2];
    t[0] = tensor("p/w", TF_F32, DIMS(2, 3));
    t[1] = tensor("p/\xc3\xa9", TF_F16, DIMS(3));
    return (struct tf_bundle){.tensors = t, .n = 2, .config = "{}", .config_n = 2};
}

static void test_round_trip(void)
{
    struct tf_err err = {0};
    struct tf_bundle b = sample_bundle(), r = {0}, none = {0};
    struct tf_out out = memory_out(CAP), again = memory_out(CAP);
    must(tf_npz_write(&out, &b, &err), &err);
    if (ok(tf_npz_read(&r, out.buf, out.len, &err) == 0, "read back %s", err.msg)) {
        is_int(r.n, b.n, "as many tensors");
        for (size_t i = 0; i < b.n && i < r.n; i++)
            ok(same_tensor(&b.tensors[i], &r.tensors[i]) &&
                   ((const uint8_t *)r.tensors[i].data - out.buf) % 64 == 0,
               "%s is the same, and its data begin at a multiple of 64", b.tensors[i].name);
        ok(same_bundle(&b, &r), "configuration and vocabulary are the same");
        must(tf_npz_write(&again, &r, &err), &err);
        ok(again.len == out.len && memcmp(again.buf, out.buf, out.len) == 0,
           "the same bytes again");
    }
    tf_bundle_release(&r);
    tf_bundle_release(&r);
    out.len = 0;
    out.offset = 0;
    must(tf_out_write(&out, "before", 6, &err), &err);
    must(tf_npz_write(&out, &b, &err), &err);
    ok(out.len == again.len + 6 && memcmp(out.buf + 6, again.buf, again.len) == 0,
       "offsets count from where the archive begins");
    out.len = 0;
    must(tf_npz_write(&out, &none, &err), &err);
    is_int(out.len, 22, "an empty archive is an end record");
    ok(tf_npz_read(&r, out.buf, out.len, &err) == 0 && r.n == 0 && !r.config && !r.vocab,
       "and is read");
    tf_bundle_release(&r);
    memory_out_done(&out);
    memory_out_done(&again);
}

static void test_refused_writing(void)
{
    struct tf_err err = {0};
    struct tf_out out = memory_out(CAP);
    struct tf_tensor t[2] = {tensor("p/w", TF_F32, DIMS(2)), tensor("p/b", TF_BF16, DIMS(2))};
    struct tf_bundle b = {.tensors = t, .n = 2};
    is_int(tf_npz_write(&out, &b, &err), -1, "bf16");
    is_str(err.msg, "numpy has no bf16: p/b", "is named");
    t[1] = tensor("vocab", TF_U8, DIMS(2));
    is_int(tf_npz_write(&out, &b, &err), -1, "a tensor named vocab");
    ok(strstr(err.msg, "vocab: a tensor's name") != NULL, "is named: %s", err.msg);
    is_int(out.len, 0, "nothing was written");
    t[1] = tensor("p/b", TF_F64, DIMS(64));
    out.cap = 256;
    is_int(tf_npz_write(&out, &b, &err), -1, "an output that fails");
    memory_out_done(&out);
}

/* ---- damage ---- */

static void test_prefixes(void)
{
    struct tf_err err = {0};
    struct tf_bundle b = small_bundle(), r;
    struct tf_out out = memory_out(CAP);
    must(tf_npz_write(&out, &b, &err), &err);
    size_t refused = 0;
    void *copy;
    for (size_t n = 0; n < out.len; n++) {
        int rc = read_copy(&r, &copy, out.buf, n, &err);
        refused += rc == -1 && err.msg[0] && !r.tensors && !r.arena.head;
        tf_bundle_release(&r);
        free(copy);
    }
    is_int(refused, out.len, "every prefix is refused");
    memory_out_done(&out);
}

static void test_flips(void)
{
    struct tf_err err = {0};
    struct tf_bundle b = small_bundle(), r;
    struct tf_out out = memory_out(CAP);
    must(tf_npz_write(&out, &b, &err), &err);
    size_t refused = 0, same = 0, other = 0;
    void *copy;
    for (size_t i = 0; i < 8 * out.len; i++) {
        out.buf[i / 8] ^= (uint8_t)(1u << i % 8);
        int rc = read_copy(&r, &copy, out.buf, out.len, &err);
        refused += rc == -1;
        same += rc == 0 && same_bundle(&b, &r);
        other += rc == 0 && !same_bundle(&b, &r);
        tf_bundle_release(&r);
        free(copy);
        out.buf[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    is_int(other, 0, "no flip of a bit changes the bundle: of %zu, %zu are refused, %zu harmless",
           8 * out.len, refused, same);
    ok(refused > 3 * same, "most are refused");
    memory_out_done(&out);
}

/* ---- archives made by hand ---- */

enum {
    LOCAL64 = 1,    /* sizes in an extra field, as numpy always writes */
    CENTRAL64 = 2,  /* sizes and offset in an extra field */
    END64 = 4,      /* ZIP64 end records, only 0xff in the old one */
    DESCRIBED = 8,  /* CRC and sizes after the data */
    PADDED = 16,    /* other extra fields and padding */
    COMMENTED = 32, /* on members */
};

struct made {
    struct tf_buf zip, dir;
    uint64_t count;
};

static void le(struct tf_buf *b, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        tf_buf_byte(b, (unsigned char)(x >> 8 * i));
}

static void put_le(char *p, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (char)(x >> 8 * i);
}

/* CRC-32 bit by bit, as defined. */
static uint32_t crc32(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < 8 * n; i++)
        crc = (crc >> 1) ^ (((crc ^ (uint32_t)p[i / 8] >> i % 8) & 1) ? 0xedb88320 : 0);
    return ~crc;
}

static void add_fields(struct tf_buf *b, const char *name, unsigned how, uint32_t crc, uint64_t n,
                       const struct tf_buf *extra, bool zip64)
{
    le(b, zip64 ? 45 : 10, 2);
    le(b, how & DESCRIBED ? 8 : 0, 2);
    le(b, 0, 2);
    le(b, 0x57216d42, 4);
    le(b, crc, 4);
    le(b, zip64 ? 0xffffffff : n, 4);
    le(b, zip64 ? 0xffffffff : n, 4);
    le(b, strlen(name), 2);
    le(b, extra->len, 2);
}

static void add(struct made *m, unsigned how, const char *name, const void *data, size_t n)
{
    struct tf_buf extra = {0};
    uint64_t at = m->zip.len;
    uint32_t crc = crc32(data, n);
    bool after = how & DESCRIBED;
    if (how & PADDED) {
        le(&extra, 0x5455, 2);
        le(&extra, 5, 2);
        tf_buf_add(&extra, "\3abcd", 5);
    }
    if (how & LOCAL64) {
        le(&extra, 1, 2);
        le(&extra, 16, 2);
        le(&extra, after ? 0 : n, 8);
        le(&extra, after ? 0 : n, 8);
    }
    if (how & PADDED)
        tf_buf_add(&extra, "\0\0\0", 3);
    le(&m->zip, 0x04034b50, 4);
    add_fields(&m->zip, name, how, after ? 0 : crc, after ? 0 : n, &extra, how & LOCAL64);
    tf_buf_str(&m->zip, name);
    tf_buf_add(&m->zip, extra.p, extra.len);
    tf_buf_add(&m->zip, data, n);
    if (after) {
        le(&m->zip, 0x08074b50, 4);
        le(&m->zip, crc, 4);
        le(&m->zip, n, how & LOCAL64 ? 8 : 4);
        le(&m->zip, n, how & LOCAL64 ? 8 : 4);
    }
    tf_buf_clear(&extra);
    if (how & PADDED) {
        le(&extra, 0x7875, 2);
        le(&extra, 0, 2);
    }
    if (how & CENTRAL64) {
        le(&extra, 1, 2);
        le(&extra, 24, 2);
        le(&extra, n, 8);
        le(&extra, n, 8);
        le(&extra, at, 8);
    }
    le(&m->dir, 0x02014b50, 4);
    le(&m->dir, 0x031e, 2);
    add_fields(&m->dir, name, how, crc, n, &extra, how & CENTRAL64);
    le(&m->dir, how & COMMENTED ? 5 : 0, 2);
    le(&m->dir, 0, 4);
    le(&m->dir, 0x81800000, 4);
    le(&m->dir, how & CENTRAL64 ? 0xffffffff : at, 4);
    tf_buf_str(&m->dir, name);
    tf_buf_add(&m->dir, extra.p, extra.len);
    if (how & COMMENTED)
        tf_buf_str(&m->dir, "hello");
    tf_buf_release(&extra);
    m->count++;
}

static void end(struct made *m, unsigned how, size_t comment)
{
    uint64_t at = m->zip.len, n = m->dir.len, after = at + n;
    bool wide = how & END64;
    tf_buf_add(&m->zip, m->dir.p, n);
    if (wide) {
        le(&m->zip, 0x06064b50, 4);
        le(&m->zip, 44 + 7, 8);
        le(&m->zip, 45 | 45 << 16, 4);
        le(&m->zip, 0, 8);
        le(&m->zip, m->count, 8);
        le(&m->zip, m->count, 8);
        le(&m->zip, n, 8);
        le(&m->zip, at, 8);
        tf_buf_str(&m->zip, "sector7");
        le(&m->zip, 0x07064b50, 4);
        le(&m->zip, 0, 4);
        le(&m->zip, after, 8);
        le(&m->zip, 1, 4);
    }
    le(&m->zip, 0x06054b50, 4);
    le(&m->zip, 0, 4);
    le(&m->zip, wide ? 0xffff : m->count, 2);
    le(&m->zip, wide ? 0xffff : m->count, 2);
    le(&m->zip, wide ? 0xffffffff : n, 4);
    le(&m->zip, wide ? 0xffffffff : at, 4);
    le(&m->zip, comment, 2);
    for (size_t i = 0; i < comment; i++)
        tf_buf_byte(&m->zip, "PK\5\6"[i % 4]);
}

static void made_release(struct made *m)
{
    tf_buf_release(&m->zip);
    tf_buf_release(&m->dir);
    *m = (struct made){0};
}

/* A .npy of that version, its header as it is, with n bytes of data. */
static struct tf_buf npy(int version, const char *head, size_t n)
{
    struct tf_buf b = {0};
    tf_buf_add(&b, "\x93NUMPY", 6);
    le(&b, (uint64_t)version, 2);
    le(&b, strlen(head), version == 1 ? 2 : 4);
    tf_buf_str(&b, head);
    tf_buf_add(&b, some, n);
    return b;
}

#define F32_3 "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n"

/* Must be refused with a message that contains `why`, or accepted if that is NULL. */
static void judge(const struct made *m, const char *why, const char *what)
{
    struct tf_bundle r;
    struct tf_err err;
    void *copy;
    int rc = read_copy(&r, &copy, m->zip.p, m->zip.len, &err);
    if (!why)
        ok(rc == 0, "%s: accepted %s", what, err.msg);
    else if (ok(rc == -1, "%s: refused", what))
        ok(strstr(err.msg, why) != NULL, "%s: %s", what, err.msg);
    tf_bundle_release(&r);
    free(copy);
}

static void test_forms(void)
{
    struct tf_err err;
    struct tf_bundle r;
    struct tf_buf w = npy(1, F32_3, 12), v = npy(2, F32_3, 12);
    void *copy;
    int good = 0, all = 0, prefixes = 0;
    is_int(crc32("123456789", 9), 0xcbf43926, "the CRC-32 of ZIP");
    for (unsigned how = 0; how < 64; how++)
        for (size_t c = 0; c < 3; c++) {
            struct made m = {0};
            size_t comment = (const size_t[]){0, 7, 65535}[c];
            add(&m, how, "a.npy", w.p, w.len);
            add(&m, how, "b/c.d.npy", v.p, v.len);
            end(&m, how, comment);
            int rc = read_copy(&r, &copy, m.zip.p, m.zip.len, &err);
            bool same = rc == 0 && r.n == 2 && strcmp(r.tensors[0].name, "a") == 0 &&
                        strcmp(r.tensors[1].name, "b/c.d") == 0;
            for (size_t i = 0; same && i < 2; i++)
                same = r.tensors[i].dtype == TF_F32 && r.tensors[i].rank == 1 &&
                       r.tensors[i].dims[0] == 3 && memcmp(r.tensors[i].data, some, 12) == 0;
            all++;
            good += same;
            if (!same)
                printf("# how %u, comment %zu: %s\n", how, comment, err.msg);
            tf_bundle_release(&r);
            free(copy);
            for (size_t n = 0; c == 1 && n < m.zip.len; n++) {
                prefixes += read_copy(&r, &copy, m.zip.p, n, &err) == 0;
                tf_bundle_release(&r);
                free(copy);
            }
            made_release(&m);
        }
    is_int(good, all, "%d archives of every form are read", all);
    is_int(prefixes, 0, "no prefix of one is, comments included");
    tf_buf_release(&w);
    tf_buf_release(&v);
}

static const struct {
    int version;
    const char *head;
    size_t n;
    const char *why;
} heads[] = {
    {1, F32_3, 12, NULL},
    {2, F32_3, 12, NULL},
    {3, F32_3, 12, NULL},
    {1, "{\"shape\":(3),\"descr\":'<f4'}", 12, "not a tuple"},
    {1, "{\"shape\":(3,),\"fortran_order\":False,\"descr\":'<f4'}", 12, NULL},
    {1, " {\n'shape' : ( 1 ,3 ) , 'fortran_order' :False,'descr':\t\"<f4\"} \n \n", 12, NULL},
    {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }", 12, NULL},
    {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (), }", 4, NULL},
    {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3), }", 12,
     "w: in Fortran order; convert it with numpy.ascontiguousarray"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,3), }", 12, NULL},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,3), }", 12,
     "w: too many dims"},
    /* versions and lengths */
    {0, F32_3, 12, "version 0.0"},
    {4, F32_3, 12, "version 4.0"},
    {257, F32_3, 12, "version 1.1"},
    {1, "", 0, "not a .npy"},
    {1, "{}", 0, "without descr"},
    {1, F32_3, 11, "w: 11 bytes of data, its shape needs 12"},
    {1, F32_3, 13, "13 bytes of data, its shape needs 12"},
    {1, F32_3, 0, "0 bytes of data"},
    /* the dict */
    {1, "", 20, "not a dict"},
    {1, "[]", 12, "not a dict"},
    {1, "{", 12, "not a dict"},
    {1, "{,}", 12, "not a dict"},
    {1, "{'descr'}", 12, "not a dict"},
    {1, "{'descr' '<f4'}", 12, "not a dict"},
    {1, "{'descr': '<f4' 'shape': ()}", 12, "not a dict"},
    {1, "{'descr': '<f4',, 'shape': ()}", 12, "not a dict"},
    {1, "{'descr", 12, "not a dict"},
    {1, "{'descr': '<f4", 12, "structured"},
    {1, "{'descr': '<f4\", 'fortran_order': False, 'shape': (3,)}", 12, "not a dict"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", 12, "text after the dict"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", 12, "not a dict"},
    {1, "{'descr': '<f4', 'fortran_order': False}", 12, "without descr, fortran_order or shape"},
    {1, "{'descr': '<f4', 'shape': (3,)}", 12, "without"},
    {1, "{'fortran_order': False, 'shape': (3,)}", 12, "without"},
    {1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 12, "twice"},
    {1, "{'more': 1, 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 12, "unknown"},
    {1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", 12, "neither True nor False"},
    {1, "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (3,)}", 12, "not a dict"},
    /* shapes */
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': 3}", 12, "not a tuple"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': [3]}", 12, "not a tuple"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", 12, "not a tuple"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", 12, "not a tuple of numbers"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,,)}", 12, "not a tuple of numbers"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3 1)}", 12, "not a tuple of numbers"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", 12, "not a tuple of numbers"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3.,)}", 12, "not a tuple of numbers"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}", 12, "not a tuple of numbers"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,", 12, "not a tuple of numbers"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3", 12, "not a tuple of numbers"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", 0, "dim that is not positive"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,0)}", 0, "dim that is not positive"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (03,)}", 12, "not positive"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 12,
     "a dim that is too large"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846977,)}", 4,
     "product is too large"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2147483648, 2147483648)}", 0,
     "product is too large"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,)}", 4,
     "its shape needs 4611686018427387904"},
    /* dtypes */
    {1, "{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", 12,
     "w: dtype >f4: big-endian; convert it with numpy.ndarray.astype"},
    {1, "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", 12, "w: dtype |O: none of <f2"},
    {1, "{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}", 12, "dtype <U3: none of"},
    {1, "{'descr': '|S12', 'fortran_order': False, 'shape': ()}", 12, "dtype |S12: none of"},
    {1, "{'descr': '|b1', 'fortran_order': False, 'shape': (12,)}", 12, "dtype |b1: none of"},
    {1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8, "dtype <c8: none of"},
    {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (6,)}", 12, "dtype <i2: none of"},
    {1, "{'descr': '|V2', 'fortran_order': False, 'shape': (6,)}", 12, "dtype |V2: none of"},
    {1, "{'descr': '', 'fortran_order': False, 'shape': (3,)}", 12, "dtype : none of"},
    {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", 12, "structured"},
    {1, "{'descr': ('<f4', (3,)), 'fortran_order': False, 'shape': ()}", 12, "structured"},
};

static void test_heads(void)
{
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct made m = {0};
        struct tf_buf b = npy(heads[i].version, heads[i].head, heads[i].n);
        add(&m, 0, "w.npy", b.p, b.len);
        end(&m, 0, 0);
        char what[64];
        snprintf(what, sizeof what, "header %zu", i);
        judge(&m, heads[i].why, what);
        made_release(&m);
        tf_buf_release(&b);
    }
    /* Every bit of a header flipped, with a correct CRC, and every prefix of the .npy. */
    struct tf_buf b = npy(1, F32_3, 12);
    int rc = 0;
    for (size_t i = 0; i < 8 * (b.len - 12) + b.len; i++) {
        struct made m = {0};
        struct tf_bundle r;
        struct tf_err err;
        void *copy;
        bool flip = i < 8 * (b.len - 12);
        if (flip)
            b.p[i / 8] ^= (char)(1u << i % 8);
        add(&m, 0, "w.npy", b.p, flip ? b.len : i - 8 * (b.len - 12));
        end(&m, 0, 0);
        if (read_copy(&r, &copy, m.zip.p, m.zip.len, &err) == 0) {
            size_t bytes = r.n == 1 ? tf_dtype_size(r.tensors[0].dtype) : 0;
            for (int d = 0; r.n == 1 && d < r.tensors[0].rank; d++)
                bytes *= (size_t)r.tensors[0].dims[d];
            rc += !flip || r.n != 1 || r.tensors[0].bytes != 12 || bytes != 12;
        }
        tf_bundle_release(&r);
        free(copy);
        made_release(&m);
        if (flip)
            b.p[i / 8] ^= (char)(1u << i % 8);
    }
    is_int(rc, 0, "bits flipped in a header, and every prefix of a .npy: refused, or 12 bytes");
    /* A header length larger than memory. */
    struct made m = {0};
    memcpy(b.p + 6, "\2\0\377\377\377\377", 6);
    add(&m, 0, "w.npy", b.p, b.len);
    end(&m, 0, 0);
    judge(&m, "w: a header that is longer than the file", "4 GiB of header");
    made_release(&m);
    tf_buf_release(&b);
}

/* ---- false fields ---- */

enum { LOCAL, CENTRAL, END, END_OF_64, LOCATOR };
static const struct {
    int where, at, bytes; /* of a field */
    uint64_t x;           /* put there */
    const char *why;      /* NULL: accepted */
} lies[] = {
    {LOCAL, 0, 4, 0x04034b51, "w.npy: damaged: not where the directory says"},
    {LOCAL, 6, 2, 1, "w.npy: damaged: its header and the directory disagree"},
    {LOCAL, 6, 2, 0x40, "disagree"},
    {LOCAL, 6, 2, 8, NULL},
    {LOCAL, 8, 2, 8, "disagree"},
    {LOCAL, 10, 4, 0, NULL},
    {LOCAL, 14, 4, 0, "disagree"},
    {LOCAL, 18, 4, 0, "disagree"},
    {LOCAL, 22, 4, 0xffffffff, "disagree"},
    {LOCAL, 26, 2, 4, "disagree"},
    {LOCAL, 26, 2, 0xffff, "runs into the directory"},
    {LOCAL, 28, 2, 1, "runs into the directory"},
    {LOCAL, 28, 2, 0xffff, "runs into the directory"},
    {LOCAL, 30, 1, 'v', "disagree"},
    {CENTRAL, 0, 4, 0, "directory: damaged"},
    {CENTRAL, 4, 4, 0, NULL},
    {CENTRAL, 8, 2, 1, "w.npy: encrypted"},
    {CENTRAL, 8, 2, 0x2000, "w.npy: encrypted"},
    {CENTRAL, 10, 2, 8, "w.npy: compressed: write it with numpy.savez, not savez_compressed"},
    {CENTRAL, 10, 2, 99, "compressed"},
    {CENTRAL, 16, 4, 0, "disagree"},
    {CENTRAL, 20, 4, 0, "more or fewer"},
    {CENTRAL, 20, 8, 0x7fffffff7fffffff, "runs into the directory"},
    {CENTRAL, 20, 8, 0xffffffffffffffff, "runs into the directory"},
    {CENTRAL, 20, 8, 0, "disagree"},
    {CENTRAL, 28, 2, 0, "disagree"},
    {CENTRAL, 28, 2, 4, "disagree"},
    {CENTRAL, 28, 2, 0xffff, "directory: damaged"},
    {CENTRAL, 30, 2, 0xffff, "directory: damaged"},
    {CENTRAL, 30, 2, 1, "directory: damaged"},
    {CENTRAL, 32, 2, 0xffff, "directory: damaged"},
    {CENTRAL, 32, 2, 1, "directory: damaged"},
    {CENTRAL, 34, 2, 1, "in another part of the archive"},
    {CENTRAL, 36, 6, 0xffffffffffff, NULL},
    {CENTRAL, 42, 4, 1, "not where the directory says"},
    {CENTRAL, 42, 4, 0xfffffffe, "not where the directory says"},
    {CENTRAL, 42, 4, 0xffffffff, "not where the directory says"},
    {CENTRAL, 46, 1, 0, "not UTF-8"},
    {CENTRAL, 46, 1, 0xff, "not UTF-8"},
    {CENTRAL, 46, 1, 'x', "disagree"},
    {CENTRAL, 50, 1, 'x', "w.npx: damaged: its header and the directory disagree"},
    {END, 0, 4, 0, "no end record of a zip archive"},
    {END, 4, 2, 1, "several"},
    {END, 6, 2, 1, "several"},
    {END, 8, 2, 2, "several"},
    {END, 8, 4, 0, "continues after"},
    {END, 8, 4, 0x00020002, "does not match the end record"},
    {END, 8, 4, 0xffffffff, "does not match the end record"},
    {END, 12, 4, 0, "does not match the end record"},
    {END, 12, 4, 0xffffffff, "does not match the end record"},
    {END, 16, 4, 0, "does not match the end record"},
    {END, 16, 4, 0xffffffff, "does not match the end record"},
    {END, 20, 2, 1, "no end record of a zip archive"},
};
static const struct {
    int where, at, bytes;
    uint64_t x;
    const char *why;
} wide_lies[] = {
    {LOCAL, 35, 1, 0, "disagree"}, /* 0xffffffff without the extra field */
    {LOCAL, 37, 2, 15, "disagree"},
    {LOCAL, 39, 8, 0, "disagree"},
    {CENTRAL, 51, 2, 9, "not where the directory says"},
    {CENTRAL, 53, 2, 23, "extra fields"},
    {CENTRAL, 53, 2, 25, "extra fields"},
    {CENTRAL, 53, 2, 0xffff, "extra fields"},
    {CENTRAL, 55, 8, 0, "more or fewer"},
    {CENTRAL, 71, 8, 0xffffffffffffffff, "not where the directory says"},
    {CENTRAL, 71, 8, 0x7fffffffffffffff, "not where the directory says"},
    {END_OF_64, 0, 4, 0, "no ZIP64 end record"},
    {END_OF_64, 4, 8, 0, "no ZIP64 end record"},
    {END_OF_64, 4, 8, 0xffffffffffffffff, "no ZIP64 end record"},
    {END_OF_64, 16, 4, 1, "several"},
    {END_OF_64, 20, 4, 1, "several"},
    {END_OF_64, 24, 8, 2, "several"},
    {END_OF_64, 32, 8, 0xffffffffffffffff, "several"},
    {END_OF_64, 40, 8, 0xffffffffffffffff, "does not match the end record"},
    {END_OF_64, 48, 8, 0xffffffffffffffff, "does not match the end record"},
    {LOCATOR, 0, 4, 0, "does not match the end record"},
    {LOCATOR, 4, 4, 1, "several"},
    {LOCATOR, 8, 8, 0, "no ZIP64 end record"},
    {LOCATOR, 8, 8, 0xffffffffffffffff, "no ZIP64 end record"},
    {LOCATOR, 16, 4, 2, "several"},
};

static void lie(struct made *m, unsigned how, int where, int at, int bytes, uint64_t x)
{
    struct tf_buf w = npy(1, F32_3, 12);
    add(m, how, "w.npy", w.p, w.len);
    end(m, how, 0);
    size_t base[] = {[LOCAL] = 0,
                     [CENTRAL] = m->zip.len - m->dir.len - 22 - (how & END64 ? 83 : 0),
                     [END] = m->zip.len - 22,
                     [END_OF_64] = m->zip.len - 22 - 83,
                     [LOCATOR] = m->zip.len - 22 - 20};
    put_le(m->zip.p + base[where] + at, x, bytes);
    tf_buf_release(&w);
}

static void test_lies(void)
{
    struct made m = {0};
    char what[64];
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        lie(&m, 0, lies[i].where, lies[i].at, lies[i].bytes, lies[i].x);
        snprintf(what, sizeof what, "lie %zu", i);
        judge(&m, lies[i].why, what);
        made_release(&m);
    }
    for (size_t i = 0; i < sizeof wide_lies / sizeof *wide_lies; i++) {
        lie(&m, LOCAL64 | CENTRAL64 | END64, wide_lies[i].where, wide_lies[i].at,
            wide_lies[i].bytes, wide_lies[i].x);
        snprintf(what, sizeof what, "ZIP64's lie %zu", i);
        judge(&m, wide_lies[i].why, what);
        made_release(&m);
    }
}

static void add_npy(struct made *m, const char *name, const char *head, size_t n)
{
    struct tf_buf b = npy(1, head, n);
    add(m, 0, name, b.p, b.len);
    tf_buf_release(&b);
}

static void judge_done(struct made *m, const char *why, const char *what)
{
    end(m, 0, 0);
    judge(m, why, what);
    made_release(m);
}

static void test_members(void)
{
    struct made m = {0};
    add(&m, 0, "readme.txt", "hello", 5);
    judge_done(&m, "readme.txt: not an array (NAME.npy)", "another suffix");
    add(&m, 0, ".npy", "hello", 5);
    judge_done(&m, ".npy: not an array", "no name");
    add(&m, 0, "dir/", "", 0);
    judge_done(&m, "dir/: not an array", "a directory");
    add(&m, 0, "w.npy", "", 0);
    judge_done(&m, "w: not a .npy file", "no bytes");
    add(&m, 0, "w.npy", "\x93NUMPX\1\0\0\0{}", 12);
    judge_done(&m, "w: not a .npy file", "no magic");
    add_npy(&m, "w.npy", F32_3, 12);
    add_npy(&m, "v.npy", F32_3, 12);
    add_npy(&m, "w.npy", F32_3, 12);
    judge_done(&m, "tensor w: twice", "a name twice");
    char name[TF_MAX_NAME + 6];
    memset(name, 'n', sizeof name);
    memcpy(name + TF_MAX_NAME + 1, ".npy", 5);
    add_npy(&m, name + 1, F32_3, 12);
    judge_done(&m, NULL, "a name of 128 bytes");
    add_npy(&m, name, F32_3, 12);
    judge_done(&m, "a name that is too long", "a name of 129 bytes");
    char longer[300];
    memset(longer, 'n', sizeof longer);
    memcpy(longer + 252, ".npy", 5);
    add_npy(&m, longer, F32_3, 12);
    judge_done(&m, "a member's name is too long",
               "a name of 252 bytes, beyond what a member's may be");
    add_npy(&m, "\xc3\xa9\xf0\x9f\x98\x80.npy", F32_3, 12);
    judge_done(&m, NULL, "a name in UTF-8");
    add_npy(&m, "\xe9.npy", F32_3, 12);
    judge_done(&m, "\\xe9.npy: a name that is not UTF-8", "a name in Latin-1");
    /* blobs */
    add_npy(&m, "config.npy", F32_3, 12);
    judge_done(&m, "config: not bytes", "a configuration of floats");
    add_npy(&m, "vocab.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4)}", 12);
    judge_done(&m, "vocab: not bytes", "a vocabulary in two dimensions");
    add_npy(&m, "vocab.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}", 4);
    add_npy(&m, "vocab.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}", 4);
    judge_done(&m, "tensor vocab: twice", "two vocabularies");
    /* A member within the data of another, both with correct CRCs. */
    struct made in = {0};
    char head[80];
    add_npy(&in, "b.npy", F32_3, 12);
    snprintf(head, sizeof head, "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu,)}",
             in.zip.len);
    struct tf_buf outer = npy(1, head, 0);
    put_le(in.dir.p + 42, 30 + 5 + outer.len, 4);
    tf_buf_add(&outer, in.zip.p, in.zip.len);
    add(&m, 0, "a.npy", outer.p, outer.len);
    tf_buf_add(&m.dir, in.dir.p, in.dir.len);
    m.count++;
    judge_done(&m, "b.npy: members overlap", "a member in another's data");
    tf_buf_release(&outer);
    made_release(&in);
    /* The directory in reverse order. */
    add_npy(&m, "a.npy", F32_3, 12);
    tf_buf_add(&in.dir, m.dir.p, m.dir.len);
    tf_buf_clear(&m.dir);
    add_npy(&m, "b.npy", F32_3, 12);
    tf_buf_add(&m.dir, in.dir.p, in.dir.len);
    judge_done(&m, "a.npy: members overlap, or are not in order", "members out of order");
    made_release(&in);
}

/* ---- many ---- */

static void test_many(void)
{
    struct tf_err err = {0};
    size_t n = TF_MAX_TENSORS;
    struct tf_tensor *t = tf_xarray(NULL, n + 1, sizeof *t);
    char(*names)[TF_MAX_NAME + 1] = tf_xarray(NULL, n + 1, sizeof *names);
    for (size_t i = 0; i <= n; i++) {
        snprintf(names[i], sizeof names[i], "p/%zu", i);
        t[i] = tensor(names[i], TF_U8, DIMS(1));
    }
    struct tf_bundle b = {.tensors = t, .n = n, .config = "{}", .config_n = 2}, r = {0};
    struct tf_out out = memory_out((size_t)64 << 20);
    clock_t begin = clock();
    must(tf_npz_write(&out, &b, &err), &err);
    const char *end64 = (const char *)out.buf + out.len - 22 - 20 - 56;
    ok(memcmp(end64, "PK\6\6", 4) == 0 && memcmp(end64 + 56, "PK\6\7", 4) == 0,
       "more members than 16 bits count: ZIP64's end");
    ok(memcmp(out.buf + out.len - 14, "\xff\xff\xff\xff", 4) == 0, "the old one says so");
    ok(tf_npz_read(&r, out.buf, out.len, &err) == 0 && same_bundle(&b, &r), "%zu tensors %s", n,
       err.msg);
    tf_bundle_release(&r);
    out.len = out.offset = 0;
    memcpy(names[n - 1], "p/77", 5);
    must(tf_npz_write(&out, &b, &err), &err);
    is_int(tf_npz_read(&r, out.buf, out.len, &err), -1, "one of them twice");
    is_str(err.msg, "tensor p/77: twice", "is named");
    b.n = n + 1;
    is_int(tf_npz_write(&out, &b, &err), -1, "one too many is not written");
    /* and not read: what would have been the configuration is a tensor then */
    out.len = out.offset = 0;
    b.n = n;
    snprintf(names[n - 1], sizeof names[n - 1], "p/%zu", n - 1);
    must(tf_npz_write(&out, &b, &err), &err);
    uint64_t dir;
    memcpy(&dir, out.buf + out.len - 22 - 20 - 8, 8);
    ok(memcmp(out.buf + 30, "config", 6) == 0 && memcmp(out.buf + dir + 46, "config", 6) == 0,
       "the configuration is first");
    memcpy(out.buf + 30, "konfig", 6);
    memcpy(out.buf + dir + 46, "konfig", 6);
    is_int(tf_npz_read(&r, out.buf, out.len, &err), -1, "one too many is not read");
    is_str(err.msg, "65537 tensors: too many", "with the number");
    b.n = 65534;
    b.config_n = 0;
    out.len = out.offset = 0;
    must(tf_npz_write(&out, &b, &err), &err);
    ok(memcmp(out.buf + out.len - 22 - 20, "PK\6\7", 4) != 0 &&
           tf_npz_read(&r, out.buf, out.len, &err) == 0 && same_bundle(&b, &r),
       "65534 members do without ZIP64 %s", err.msg);
    tf_bundle_release(&r);
    printf("# %.2f s\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    memory_out_done(&out);
    free(names);
    free(t);
}

int main(void)
{
    for (size_t i = 0; i < sizeof some; i++)
        some[i] = (uint8_t)(i * 37 + 11);
    test_round_trip();
    test_refused_writing();
    test_prefixes();
    test_flips();
    test_forms();
    test_heads();
    test_lies();
    test_members();
    test_many();
    return done();
}
