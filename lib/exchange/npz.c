/* npz.c - read and write models as .npz files of numpy: uncompressed ZIP archives of .npy files
 * (numpy/lib/format.py). */
#include "exchange/npz.h"
#include "base/bits.h"
#include "exchange/zip_private.h"

#include <stdio.h>
#include <string.h>

enum { BLOBS = 3 /* arrays that are not tensors: config and vocabularies */ };
static const char suffix[] = ".npy";
enum { SUFFIX_N = sizeof suffix - 1 };

static const char *const descrs[] = {
    [TF_F32] = "<f4", [TF_F16] = "<f2", [TF_BF16] = NULL, [TF_F64] = "<f8", [TF_I8] = "|i1",
    [TF_U8] = "|u1",  [TF_I32] = "<i4", [TF_U32] = "<u4", [TF_I64] = "<i8", [TF_U64] = "<u8",
};
enum { N_DESCRS = sizeof descrs / sizeof *descrs };

/* ---- reading ---- */

/* The header of a .npy file is a Python dict literal. Only the forms that numpy writes are parsed.
 */
struct text {
    const char *p, *end;
};

/* Skip white space and then `word`, if it is next. */
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
    if (end == NULL)
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

/* Parse the header of a .npy file. Returns NULL, or why it is refused. x->rank is 0 before. */
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
        if (why != NULL)
            return why;
    }
    eat(&t, "");
    return t.p != t.end             ? "text after the dict of its header"
           : seen != 7              ? "a header without descr, fortran_order or shape"
           : fortran && x->rank > 1 ? "in Fortran order; convert it with numpy.ascontiguousarray"
                                    : NULL;
}

/* Set all members of *t but its name from a .npy file of n bytes. */
static int read_npy(struct tf_tensor *t, const uint8_t *p, size_t n, struct tf_err *err)
{
    if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0)
        return tf_fail(err, "%s: not a .npy file", t->name);
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return tf_fail(err, "%s: .npy version %d.%d, want 1.0, 2.0 or 3.0", t->name, p[6], p[7]);
    size_t at = p[6] == 1 ? 10 : 12, head = p[6] == 1 ? tf_load16(p + 8) : tf_load32(p + 8);
    const char *text = (const char *)p + at, *descr = NULL;
    const char *why = "a header that is longer than the file";
    size_t descr_n = 0;
    if (head <= n - at)
        why = read_dict(t, &descr, &descr_n, (struct text){text, text + head});
    if (why != NULL)
        return tf_fail(err, "%s: %s", t->name, why);
    int dtype = 0;
    if (descr_n == 3 && (memcmp(descr, "<i1", 3) == 0 || memcmp(descr, "<u1", 3) == 0))
        descr = descr[1] == 'i' ? descrs[TF_I8] : descrs[TF_U8]; /* as Marian writes bytes */
    while (dtype < N_DESCRS && (descrs[dtype] == NULL || descr_n != strlen(descrs[dtype]) ||
                                memcmp(descrs[dtype], descr, descr_n) != 0))
        dtype++;
    if (dtype == N_DESCRS)
        return tf_fail(err, "%s: dtype %.*s: %s", t->name, descr_n < 32 ? (int)descr_n : 32, descr,
                       descr_n > 0 && *descr == '>'
                           ? "big-endian; convert it with numpy.ndarray.astype"
                           : "none of <f2 <f4 <f8 |i1 |u1 <i4 <u4 <i8 <u8");
    t->dtype = (enum tf_dtype)dtype;
    uint64_t bytes;
    if (!tf_tensor_size(&bytes, t->dtype, t->dims, t->rank))
        return tf_fail(err, "%s: dims whose product is too large", t->name);
    if (bytes != n - at - head)
        return tf_fail(err, "%s: %zu bytes of data, its shape needs %llu", t->name, n - at - head,
                       (unsigned long long)bytes);
    t->data = p + at + head;
    t->bytes = (size_t)bytes;
    return 0;
}

static bool is_blob(const char *name)
{
    return strcmp(name, "config") == 0 || strcmp(name, "vocab") == 0 ||
           strcmp(name, "vocab_target") == 0;
}

static int read_members(struct tf_bundle *b, struct tf_zip *z, struct tf_err *err)
{
    struct tf_tensor *t = tf_arena_zalloc(&b->arena, (size_t)(z->count + 1) * sizeof *t);
    struct tf_zip_member m;
    size_t n = 0;
    int rc;
    for (; (rc = tf_zip_next(z, &m, err)) > 0; n++) {
        const size_t name_n = strlen(m.name);
        if (name_n <= SUFFIX_N || strcmp(m.name + name_n - SUFFIX_N, suffix) != 0)
            return tf_fail(err, "%s: not an array (NAME.npy)", m.name);
        if (name_n > TF_MAX_NAME + SUFFIX_N)
            return tf_fail(err, "%s: a name that is too long", m.name);
        t[n].name = tf_arena_strndup(&b->arena, m.name, name_n - SUFFIX_N);
        if (read_npy(&t[n], m.data, (size_t)m.size, err) != 0)
            return -1;
    }
    if (rc < 0 || tf_tensors_unique(t, n, err) != 0)
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
        } else if (strcmp(t[i].name, "vocab_target") == 0) {
            b->vocab_target = t[i].data;
            b->vocab_target_n = t[i].bytes;
        } else {
            b->vocab = t[i].data;
            b->vocab_n = t[i].bytes;
        }
    }
    return b->n > TF_MAX_TENSORS ? tf_fail(err, "%zu tensors: too many", b->n) : 0;
}

int tf_npz_read(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err)
{
    struct tf_zip z;
    if (tf_zip_open(&z, p, n, TF_MAX_TENSORS + BLOBS, err) != 0 || read_members(b, &z, err) != 0) {
        tf_bundle_release(b);
        return -1;
    }
    return 0;
}

/* ---- writing ---- */

static void put_npy_head(struct tf_buf *b, const struct tf_tensor *t)
{
    tf_buf_add(b, "\x93NUMPY\1\0\0\0", 10);
    tf_buf_printf(b, "{'descr': '%s', 'fortran_order': False, 'shape': (", descrs[t->dtype]);
    for (int i = 0; i < t->rank; i++)
        tf_buf_printf(b, "%s%llu", i ? ", " : "", (unsigned long long)t->dims[i]);
    tf_buf_str(b, t->rank == 1 ? ",), }" : "), }");
    while ((b->len + 1) % TF_ZIP_ALIGN)
        tf_buf_byte(b, ' ');
    tf_buf_byte(b, '\n');
    const uint16_t n = (uint16_t)(b->len - 10);
    memcpy(b->p + 8, &n, sizeof n);
}

static int put_array(struct tf_zip_writer *w, struct tf_buf *head, const struct tf_tensor *t,
                     struct tf_err *err)
{
    char name[TF_MAX_NAME + SUFFIX_N + 1];
    tf_tensor_assert(t);
    snprintf(name, sizeof name, "%s%s", t->name, suffix);
    tf_buf_clear(head);
    put_npy_head(head, t);
    return tf_zip_put(w, name, head->p, head->len, t->data, t->bytes, err);
}

int tf_npz_write(struct tf_out *out, const struct tf_bundle *b, struct tf_err *err)
{
    struct tf_zip_writer w = {.out = out, .start = out->offset};
    struct tf_buf head = {0};
    const struct tf_tensor blobs[BLOBS] = {
        {"config", TF_U8, 1, {b->config_n}, b->config, b->config_n, 0},
        {"vocab", TF_U8, 1, {b->vocab_n}, b->vocab, b->vocab_n, 0},
        {"vocab_target", TF_U8, 1, {b->vocab_target_n}, b->vocab_target, b->vocab_target_n, 0},
    };
    if (b->n > TF_MAX_TENSORS)
        return tf_fail(err, "%zu tensors: too many", b->n);
    for (size_t i = 0; i < b->n; i++) {
        if (b->tensors[i].dtype == TF_BF16)
            return tf_fail(err, "numpy has no bf16: %s", b->tensors[i].name);
        if (is_blob(b->tensors[i].name))
            return tf_fail(err, "%s: a tensor's name that npz files reserve", b->tensors[i].name);
    }
    int rc = 0;
    for (int i = 0; i < BLOBS && !rc; i++)
        if (blobs[i].bytes)
            rc = put_array(&w, &head, &blobs[i], err);
    for (size_t i = 0; i < b->n && !rc; i++)
        rc = put_array(&w, &head, &b->tensors[i], err);
    if (!rc)
        rc = tf_zip_end(&w, err);
    tf_zip_writer_release(&w);
    tf_buf_release(&head);
    return rc;
}
