/* npz.c - numpy's .npz: a ZIP archive (PKWARE's APPNOTE) of .npy files (numpy/lib/format.py), none
 * of them compressed. Reading follows the directory; the local headers must agree with it. */
#include "base/hash.h"
#include "wire/foreign.h"
#include "wire/item.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOCAL_SIG = 0x04034b50,
    CENTRAL_SIG = 0x02014b50,
    END_SIG = 0x06054b50,
    END64_SIG = 0x06064b50,
    LOCATOR_SIG = 0x07064b50,
    LOCAL_N = 30, /* bytes without name, extra fields and comment */
    CENTRAL_N = 46,
    END_N = 22,
    END64_N = 56,
    LOCATOR_N = 20,
    ENCRYPTED = 0x2041, /* bits of the flags: encrypted, strongly, and the directory with it */
    DESCRIPTOR = 8,     /* CRC and sizes are behind the data, not in the local header */
    UTF8 = 0x800,       /* the name's encoding */
    ZIP64_ID = 1,       /* extra fields */
    ALIGN_ID = 0xd935,  /* Android's zipalign: the alignment, then zeros */
    ALIGN = 64,
    BLOBS = 2, /* arrays that are no tensors */
};
static const uint32_t wide32 = 0xffffffff; /* what stands in a field whose value is elsewhere */
static const char suffix[] = ".npy";
enum { SUFFIX_N = sizeof suffix - 1 };

static const char *const descrs[] = {
    [TF_F32] = "<f4", [TF_F16] = "<f2", [TF_BF16] = NULL, [TF_F64] = "<f8", [TF_I8] = "|i1",
    [TF_U8] = "|u1",  [TF_I32] = "<i4", [TF_U32] = "<u4", [TF_I64] = "<i8", [TF_U64] = "<u8",
};
enum { N_DESCRS = sizeof descrs / sizeof *descrs };

/* ---- reading: the archive ---- */

struct zip {
    const uint8_t *p;
    size_t n;
    uint64_t count, dir, dir_end; /* members; where their directory is */
    uint64_t free;                /* where the next member may begin */
};

/* A member as the directory has it; then also its data. */
struct member {
    const char *name; /* with the suffix; not terminated */
    size_t name_n;
    uint64_t at, size; /* of the local header; of the data */
    uint32_t crc;
    const uint8_t *data;
};

static unsigned load16(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static int find_directory(struct zip *z, struct tf_err *err)
{
    const uint8_t *e = NULL;
    for (size_t k = 0; !e && k <= 0xffff && k + END_N <= z->n; k++) {
        const uint8_t *p = z->p + z->n - END_N - k;
        if (tf_load32(p) == END_SIG && load16(p + 20) == k)
            e = p;
    }
    if (!e)
        return tf_fail(err, "no end of a zip archive: truncated, or not npz at all");
    uint64_t disks = load16(e + 4) | load16(e + 6), here = load16(e + 8), size = tf_load32(e + 12);
    z->count = load16(e + 10);
    z->dir = tf_load32(e + 16);
    z->dir_end = (uint64_t)(e - z->p);
    if (z->dir_end >= LOCATOR_N && tf_load32(e - LOCATOR_N) == LOCATOR_SIG) {
        const uint8_t *l = e - LOCATOR_N, *r = z->p;
        uint64_t end = z->dir_end - LOCATOR_N, at = tf_load64(l + 8);
        if (end < END64_N || at > end - END64_N || tf_load32(r + at) != END64_SIG ||
            tf_load64(r + at + 4) != end - at - 12)
            return tf_fail(err, "damaged: no ZIP64 end record where its locator points to");
        r += at;
        disks |= tf_load32(l + 4) | (tf_load32(l + 16) > 1) | tf_load32(r + 16) | tf_load32(r + 20);
        here = tf_load64(r + 24);
        z->count = tf_load64(r + 32);
        size = tf_load64(r + 40);
        z->dir = tf_load64(r + 48);
        z->dir_end = at;
    }
    if (disks != 0 || here != z->count)
        return tf_fail(err, "one part of an archive of several");
    if (z->dir > z->dir_end || size != z->dir_end - z->dir || z->count > size / CENTRAL_N)
        return tf_fail(err, "damaged: the directory is not what the end record says");
    if (z->count > TF_MAX_TENSORS + BLOBS)
        return tf_fail(err, "%llu members: too many", (unsigned long long)z->count);
    return 0;
}

/* Where a value is the sign that it is elsewhere, that is in the extra field of ZIP64. */
static bool widen(uint64_t *const v[], int n_v, const uint8_t *p, size_t n)
{
    while (n >= 4) { /* fewer bytes are padding */
        size_t len = load16(p + 2);
        if (len > n - 4)
            return false;
        const uint8_t *f = p + 4, *end = f + len;
        for (int i = 0; load16(p) == ZIP64_ID && i < n_v; i++) {
            if (*v[i] != wide32)
                continue;
            if (end - f < 8)
                return false;
            *v[i] = tf_load64(f);
            f += 8;
        }
        p = end;
        n -= 4 + len;
    }
    return true;
}

/* The member at *c in the directory; *c moves on. NULL, or a reason. */
static const char *read_entry(struct member *m, const struct zip *z, const uint8_t **c)
{
    const uint8_t *p = *c;
    size_t left = (size_t)(z->p + z->dir_end - p);
    *m = (struct member){.name = "directory", .name_n = 9};
    if (left < CENTRAL_N || tf_load32(p) != CENTRAL_SIG)
        return "damaged";
    size_t name_n = load16(p + 28), extra_n = load16(p + 30), comment_n = load16(p + 32);
    if (left - CENTRAL_N < name_n + extra_n + comment_n)
        return "damaged";
    if (name_n > TF_MAX_NAME + SUFFIX_N)
        return "a member's name is too long";
    uint64_t packed = tf_load32(p + 20);
    m->name = (const char *)p + CENTRAL_N;
    m->name_n = name_n;
    m->crc = tf_load32(p + 16);
    m->size = tf_load32(p + 24);
    m->at = tf_load32(p + 42);
    *c = p + CENTRAL_N + name_n + extra_n + comment_n;
    if (!tf_utf8_valid((const uint8_t *)m->name, name_n))
        return "a name that is not UTF-8";
    if (name_n <= SUFFIX_N || memcmp(m->name + name_n - SUFFIX_N, suffix, SUFFIX_N) != 0)
        return "not named as an array is (NAME.npy)";
    if (load16(p + 8) & ENCRYPTED)
        return "encrypted";
    if (load16(p + 10) != 0)
        return "compressed: write it with numpy.savez, not savez_compressed";
    if (load16(p + 34) != 0)
        return "in another part of the archive";
    if (!widen((uint64_t *const[]){&m->size, &packed, &m->at}, 3, p + CENTRAL_N + name_n, extra_n))
        return "damaged: its extra fields";
    return m->size != packed ? "damaged: stored in more or fewer bytes than it has" : NULL;
}

/* NULL, or a reason. Members lie in the directory's order and apart, so that no byte is summed
 * twice. */
static const char *read_local(struct member *m, struct zip *z)
{
    const uint8_t *p = z->p;
    if (m->at < z->free)
        return "members overlap, or are not in order";
    if (z->dir < LOCAL_N || m->at > z->dir - LOCAL_N || tf_load32(p + m->at) != LOCAL_SIG)
        return "damaged: not where the directory says";
    p += m->at;
    size_t name_n = load16(p + 26), extra_n = load16(p + 28);
    uint64_t room = z->dir - m->at - LOCAL_N, size = tf_load32(p + 22), packed = tf_load32(p + 18);
    if (name_n + extra_n > room || m->size > room - name_n - extra_n)
        return "damaged: it runs into the directory";
    const uint8_t *extra = p + LOCAL_N + name_n;
    bool same = widen((uint64_t *const[]){&size, &packed}, 2, extra, extra_n);
    if (!(load16(p + 6) & DESCRIPTOR))
        same = same && size == m->size && packed == m->size && tf_load32(p + 14) == m->crc;
    if (!same || load16(p + 8) != 0 || (load16(p + 6) & ENCRYPTED) || name_n != m->name_n ||
        memcmp(p + LOCAL_N, m->name, name_n) != 0)
        return "damaged: its header and the directory disagree";
    m->data = extra + extra_n;
    z->free = (uint64_t)(m->data - z->p) + m->size;
    return tf_crc32(0, m->data, (size_t)m->size) != m->crc ? "damaged: its crc32 is not right"
                                                           : NULL;
}

/* ---- reading: an array ---- */

/* The header of a .npy is a literal of Python, of which only what numpy writes is known. */
struct text {
    const char *p, *end;
};

/* After blanks. */
static bool eat(struct text *t, const char *word)
{
    size_t n = strlen(word);
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t' || *t->p == '\r'))
        t->p++;
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
        return false;
    t->p += n;
    return true;
}

static bool eat_string(struct text *t, const char **s, size_t *n)
{
    int quote = eat(t, "'") ? '\'' : eat(t, "\"") ? '"' : 0;
    const char *end = quote ? memchr(t->p, quote, (size_t)(t->end - t->p)) : NULL;
    if (!end)
        return false;
    *s = t->p;
    *n = (size_t)(end - t->p);
    t->p = end + 1;
    return true;
}

static const char *eat_shape(struct text *t, struct tf_tensor *x)
{
    bool comma = true;
    if (!eat(t, "("))
        return "a shape that is not a tuple";
    for (; !eat(t, ")"); comma = eat(t, ",")) {
        uint64_t dim = 0;
        if (!comma || t->p == t->end || *t->p < '0' || *t->p > '9')
            return "a shape that is not a tuple of numbers";
        if (*t->p == '0')
            return "a dim that is not positive";
        for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
            if (dim > TF_MAX_DIMS / 10)
                return "a dim that is too large";
            dim = 10 * dim + (uint64_t)(*t->p - '0');
        }
        if (x->rank == TF_MAX_RANK)
            return "too many dims";
        x->dims[x->rank++] = dim;
    }
    return x->rank == 1 && !comma ? "a shape that is not a tuple" : NULL;
}

/* NULL, or a reason. Rank and dims go to x, which has none. */
static const char *read_dict(struct tf_tensor *x, const char **descr, size_t *descr_n,
                             struct text t)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    bool comma = true, fortran = false;
    if (!eat(&t, "{"))
        return "a header that is not a dict";
    for (; !eat(&t, "}"); comma = eat(&t, ",")) {
        const char *key, *why = NULL;
        size_t key_n;
        int k = 0;
        if (!comma || !eat_string(&t, &key, &key_n) || !eat(&t, ":"))
            return "a header that is not a dict";
        while (k < 3 && (strlen(keys[k]) != key_n || memcmp(keys[k], key, key_n) != 0))
            k++;
        if (k == 3 || (seen & 1u << k))
            return "a header with a key that is unknown or there twice";
        seen |= 1u << k;
        if (k == 0 && !eat_string(&t, descr, descr_n))
            why = "a structured dtype";
        else if (k == 1 && !(fortran = eat(&t, "True")) && !eat(&t, "False"))
            why = "a fortran_order that is neither True nor False";
        else if (k == 2)
            why = eat_shape(&t, x);
        if (why)
            return why;
    }
    eat(&t, "");
    return t.p != t.end             ? "something behind the dict of its header"
           : seen != 7              ? "a header without descr, fortran_order or shape"
           : fortran && x->rank > 1 ? "in Fortran order: numpy.ascontiguousarray"
                                    : NULL;
}

/* All of t but its name, which is there. */
static int read_npy(struct tf_tensor *t, const uint8_t *p, size_t n, struct tf_err *err)
{
    if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0)
        return tf_fail(err, "%s: not a .npy file", t->name);
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return tf_fail(err, "%s: a .npy of version %d.%d, which is none of 1.0, 2.0 and 3.0",
                       t->name, p[6], p[7]);
    size_t at = p[6] == 1 ? 10 : 12, head = p[6] == 1 ? load16(p + 8) : tf_load32(p + 8);
    const char *text = (const char *)p + at, *descr = NULL;
    const char *why = "a header that is longer than the file";
    size_t descr_n = 0;
    if (head <= n - at)
        why = read_dict(t, &descr, &descr_n, (struct text){text, text + head});
    if (why)
        return tf_fail(err, "%s: %s", t->name, why);
    int dtype = 0;
    while (dtype < N_DESCRS && (!descrs[dtype] || descr_n != strlen(descrs[dtype]) ||
                                memcmp(descrs[dtype], descr, descr_n) != 0))
        dtype++;
    if (dtype == N_DESCRS)
        return tf_fail(err, "%s: dtype %.*s: %s", t->name, descr_n < 32 ? (int)descr_n : 32, descr,
                       descr_n > 0 && *descr == '>'
                           ? "big-endian: numpy.ndarray.astype"
                           : "none of <f2 <f4 <f8 |i1 |u1 <i4 <u4 <i8 <u8");
    t->dtype = (enum tf_dtype)dtype;
    uint64_t bytes = tf_dtype_size(t->dtype);
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] > TF_MAX_DIMS / bytes)
            return tf_fail(err, "%s: dims whose product is too large", t->name);
        bytes *= t->dims[i];
    }
    if (bytes != n - at - head)
        return tf_fail(err, "%s: %zu bytes of data, but its dims ask for %llu", t->name,
                       n - at - head, (unsigned long long)bytes);
    t->data = p + at + head;
    t->bytes = (size_t)bytes;
    return 0;
}

static int name_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int unique_names(const struct tf_tensor *t, size_t n, struct tf_err *err)
{
    const char **names = tf_xarray(NULL, n + 1, sizeof *names);
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        names[i] = t[i].name;
    qsort(names, n, sizeof *names, name_order);
    for (size_t i = 1; i < n && !rc; i++)
        if (!strcmp(names[i], names[i - 1]))
            rc = tf_fail(err, "%s: twice", names[i]);
    free(names);
    return rc;
}

static bool is_blob(const char *name)
{
    return !strcmp(name, "config") || !strcmp(name, "vocab");
}

static int read_members(struct tf_bundle *b, struct zip *z, struct tf_err *err)
{
    const uint8_t *c = z->p + z->dir;
    size_t n = (size_t)z->count;
    struct tf_tensor *t = tf_arena_zalloc(&b->arena, (n + 1) * sizeof *t);
    for (size_t i = 0; i < n; i++) {
        struct member m;
        const char *why = read_entry(&m, z, &c);
        if (!why)
            why = read_local(&m, z);
        if (why)
            return tf_fail(err, "%.*s: %s", (int)m.name_n, m.name, why);
        t[i].name = tf_arena_strndup(&b->arena, m.name, m.name_n - SUFFIX_N);
        if (read_npy(&t[i], m.data, (size_t)m.size, err))
            return -1;
    }
    if (c != z->p + z->dir_end)
        return tf_fail(err, "damaged: the directory goes on behind its last member");
    if (unique_names(t, n, err))
        return -1;
    b->tensors = t;
    for (size_t i = 0; i < n; i++) {
        if (!is_blob(t[i].name)) {
            t[b->n++] = t[i];
        } else if (t[i].dtype != TF_U8 || t[i].rank != 1) {
            return tf_fail(err, "%s: not bytes (uint8) in one dimension", t[i].name);
        } else if (*t[i].name == 'c') {
            b->config = t[i].data;
            b->config_n = t[i].bytes;
        } else {
            b->vocab = t[i].data;
            b->vocab_n = t[i].bytes;
        }
    }
    return b->n > TF_MAX_TENSORS ? tf_fail(err, "%zu tensors: too many", b->n) : 0;
}

int tf_npz_read(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err)
{
    struct zip z = {.p = p, .n = n};
    if (find_directory(&z, err) || read_members(b, &z, err)) {
        tf_bundle_release(b);
        return -1;
    }
    return 0;
}

/* ---- writing ---- */

struct put {
    struct tf_out *out;
    uint64_t start; /* of the archive in the output */
    uint64_t count;
    struct tf_buf dir, head, npy; /* the directory so far; headers of the member at hand */
};

static void put_le(struct tf_buf *b, uint64_t x, size_t bytes)
{
    tf_buf_add(b, &x, bytes);
}

static bool is_ascii(const char *s)
{
    while (*s && (unsigned char)*s < 0x80)
        s++;
    return !*s;
}

static void put_npy_head(struct tf_buf *b, const struct tf_tensor *t)
{
    tf_buf_add(b, "\x93NUMPY\1\0\0\0", 10);
    tf_buf_printf(b, "{'descr': '%s', 'fortran_order': False, 'shape': (", descrs[t->dtype]);
    for (int i = 0; i < t->rank; i++)
        tf_buf_printf(b, "%s%llu", i ? ", " : "", (unsigned long long)t->dims[i]);
    tf_buf_str(b, t->rank == 1 ? ",), }" : "), }");
    while ((b->len + 1) % ALIGN)
        tf_buf_byte(b, ' ');
    tf_buf_byte(b, '\n');
    size_t n = b->len - 10;
    b->p[8] = (char)(n & 255);
    b->p[9] = (char)(n >> 8);
}

/* The local header of a member, or its entry in the directory. Extra fields have the values that
 * do not fit, and let the local header end at a multiple of ALIGN. */
static void put_header(struct tf_buf *b, const struct tf_tensor *t, uint64_t at, uint64_t size,
                       uint32_t crc, bool local)
{
    bool wide = size >= wide32 || at >= wide32;
    size_t wide_n = !wide ? 0 : local ? 16 : 24, name_n = strlen(t->name) + SUFFIX_N;
    size_t extra_n = wide ? 4 + wide_n : 0, pad = 0;
    if (local) {
        extra_n += 6;
        pad = (size_t)(ALIGN - (at + LOCAL_N + name_n + extra_n) % ALIGN) % ALIGN;
    }
    put_le(b, local ? LOCAL_SIG : CENTRAL_SIG, 4);
    if (!local)
        put_le(b, 3 << 8 | 45, 2); /* Unix, version that wrote it */
    put_le(b, wide ? 45 : 20, 2);  /* version that reads it */
    put_le(b, is_ascii(t->name) ? 0 : UTF8, 2);
    put_le(b, 0, 4);    /* stored; 00:00:00 */
    put_le(b, 0x21, 2); /* 1980-01-01 */
    put_le(b, crc, 4);
    put_le(b, wide ? wide32 : size, 4);
    put_le(b, wide ? wide32 : size, 4);
    put_le(b, name_n, 2);
    put_le(b, extra_n + pad, 2);
    if (!local) {
        put_le(b, 0, 6);          /* no comment, first disk, not text */
        put_le(b, 0x81a40000, 4); /* a file, rw-r--r-- */
        put_le(b, wide ? wide32 : at, 4);
    }
    tf_buf_printf(b, "%s%s", t->name, suffix);
    if (wide) {
        put_le(b, ZIP64_ID | wide_n << 16, 4);
        put_le(b, size, 8);
        put_le(b, size, 8);
        put_le(b, at, wide_n - 16);
    }
    if (local)
        put_le(b, ALIGN_ID | (uint64_t)(2 + pad) << 16 | (uint64_t)ALIGN << 32, 6);
    while (pad-- > 0)
        tf_buf_byte(b, 0);
}

static int put_member(struct put *w, const struct tf_tensor *t, struct tf_err *err)
{
    struct tf_buf *h = &w->head, *npy = &w->npy;
    uint64_t at = w->out->offset - w->start, bytes = tf_dtype_size(t->dtype);
    TF_ASSERT(t->name && t->name[0] && strlen(t->name) <= TF_MAX_NAME && t->rank >= 0 &&
              t->rank <= TF_MAX_RANK);
    for (int i = 0; i < t->rank; i++)
        bytes *= t->dims[i];
    TF_ASSERT(bytes == t->bytes && bytes > 0);
    tf_buf_clear(h);
    tf_buf_clear(npy);
    put_npy_head(npy, t);
    uint32_t crc = tf_crc32(tf_crc32(0, npy->p, npy->len), t->data, t->bytes);
    put_header(h, t, at, npy->len + bytes, crc, true);
    put_header(&w->dir, t, at, npy->len + bytes, crc, false);
    w->count++;
    if (tf_out_write(w->out, h->p, h->len, err) || tf_out_write(w->out, npy->p, npy->len, err))
        return -1;
    return tf_out_write(w->out, t->data, t->bytes, err);
}

static int put_directory(struct put *w, struct tf_err *err)
{
    struct tf_buf *d = &w->dir;
    uint64_t at = w->out->offset - w->start, size = d->len, count = w->count;
    if (count >= 0xffff || size >= wide32 || at >= wide32) {
        put_le(d, END64_SIG, 4);
        put_le(d, END64_N - 12, 8);
        put_le(d, 45 | 45 << 16, 4);
        put_le(d, 0, 8); /* disks */
        put_le(d, count, 8);
        put_le(d, count, 8);
        put_le(d, size, 8);
        put_le(d, at, 8);
        put_le(d, LOCATOR_SIG, 4);
        put_le(d, 0, 4);
        put_le(d, at + size, 8);
        put_le(d, 1, 4); /* of one disk */
    }
    put_le(d, END_SIG, 4);
    put_le(d, 0, 4); /* disks */
    put_le(d, count < 0xffff ? count : 0xffff, 2);
    put_le(d, count < 0xffff ? count : 0xffff, 2);
    put_le(d, size < wide32 ? size : wide32, 4);
    put_le(d, at < wide32 ? at : wide32, 4);
    put_le(d, 0, 2); /* comment */
    return tf_out_write(w->out, d->p, d->len, err);
}

int tf_npz_write(struct tf_out *out, const struct tf_bundle *b, struct tf_err *err)
{
    struct put w = {.out = out, .start = out->offset};
    const struct tf_tensor blobs[BLOBS] = {
        {"config", TF_U8, 1, {b->config_n}, b->config, b->config_n, 0},
        {"vocab", TF_U8, 1, {b->vocab_n}, b->vocab, b->vocab_n, 0},
    };
    if (b->n > TF_MAX_TENSORS)
        return tf_fail(err, "%zu tensors: too many", b->n);
    for (size_t i = 0; i < b->n; i++) {
        if (b->tensors[i].dtype == TF_BF16)
            return tf_fail(err, "numpy has no bf16: %s", b->tensors[i].name);
        if (is_blob(b->tensors[i].name))
            return tf_fail(err, "%s: a tensor's name that npz has another use for",
                           b->tensors[i].name);
    }
    int rc = 0;
    for (int i = 0; i < BLOBS && !rc; i++)
        if (blobs[i].bytes)
            rc = put_member(&w, &blobs[i], err);
    for (size_t i = 0; i < b->n && !rc; i++)
        rc = put_member(&w, &b->tensors[i], err);
    if (!rc)
        rc = put_directory(&w, err);
    tf_buf_release(&w.dir);
    tf_buf_release(&w.head);
    tf_buf_release(&w.npy);
    return rc;
}
