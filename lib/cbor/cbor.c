/* cbor.c - the writer of CBOR items, the scanner and the cursor. Heads are encoded by libcbor;
 * strings are measured here, because libcbor reports the need of a 2^64-1 byte string modulo 2^64.
 */
#include "base/utf8.h"
#include "cbor/item.h"

#include <cbor.h>
#include <float.h>
#include <math.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "hosts are little-endian"
#endif

/* ---- writer ---- */

enum { HEAD_MAX = 9 };

#define HEAD(b, encode, x)                                                \
    do {                                                                  \
        unsigned char *at_ = (unsigned char *)tf_buf_grow((b), HEAD_MAX); \
        (b)->len += encode((x), at_, HEAD_MAX);                           \
    } while (0)

void tf_cbor_uint(struct tf_buf *b, uint64_t x)
{
    HEAD(b, cbor_encode_uint, x);
}

void tf_cbor_int(struct tf_buf *b, int64_t x)
{
    if (x >= 0)
        HEAD(b, cbor_encode_uint, (uint64_t)x);
    else
        HEAD(b, cbor_encode_negint, ~(uint64_t)x);
}

void tf_cbor_bytes_head(struct tf_buf *b, uint64_t n)
{
    HEAD(b, cbor_encode_bytestring_start, n);
}

void tf_cbor_bytes(struct tf_buf *b, const void *p, size_t n)
{
    HEAD(b, cbor_encode_bytestring_start, n);
    tf_buf_add(b, p, n);
}

void tf_cbor_text(struct tf_buf *b, const char *s, size_t n)
{
    HEAD(b, cbor_encode_string_start, n);
    tf_buf_add(b, s, n);
}

void tf_cbor_str(struct tf_buf *b, const char *s)
{
    tf_cbor_text(b, s, strlen(s));
}

void tf_cbor_array(struct tf_buf *b, uint64_t n)
{
    HEAD(b, cbor_encode_array_start, n);
}

void tf_cbor_map(struct tf_buf *b, uint64_t n)
{
    HEAD(b, cbor_encode_map_start, n);
}

void tf_cbor_tag(struct tf_buf *b, uint64_t tag)
{
    HEAD(b, cbor_encode_tag, tag);
}

void tf_cbor_bool(struct tf_buf *b, bool x)
{
    HEAD(b, cbor_encode_bool, x);
}

void tf_cbor_null(struct tf_buf *b)
{
    tf_buf_byte(b, 0xf6);
}

void tf_cbor_f32(struct tf_buf *b, float x)
{
    if (isnan(x))
        tf_buf_add(b, "\xfa\x7f\xc0\x00\x00", 5); /* one NaN only */
    else
        HEAD(b, cbor_encode_single, x);
}

void tf_cbor_real(struct tf_buf *b, double x)
{
    uint16_t h;
    if (isnan(x)) {
        tf_buf_add(b, "\xf9\x7e\x00", 3);
        return;
    }
    bool fits = isinf(x) || fabs(x) <= (double)FLT_MAX;
    if (fits && (double)(float)x == x) {
        if (tf_half_exact((float)x, &h)) {
            unsigned char s[3] = {0xf9, (unsigned char)(h >> 8), (unsigned char)h};
            tf_buf_add(b, s, 3);
        } else {
            HEAD(b, cbor_encode_single, (float)x);
        }
    } else {
        HEAD(b, cbor_encode_double, x);
    }
}

void tf_cbor_sha256(struct tf_buf *b, const uint8_t sha[32])
{
    tf_cbor_tag(b, TF_TAG_SHA256);
    tf_cbor_bytes(b, sha, 32);
}

void tf_put_u16s(struct tf_buf *b, const uint32_t *x, size_t n)
{
    tf_cbor_tag(b, TF_TAG_U16);
    tf_cbor_bytes_head(b, 2 * n);
    char *to = tf_buf_grow(b, 2 * n);
    for (size_t i = 0; i < n; i++) {
        uint16_t v = (uint16_t)x[i];
        memcpy(to + 2 * i, &v, 2);
    }
    b->len += 2 * n;
}

void tf_put_u32s(struct tf_buf *b, const uint32_t *x, size_t n)
{
    tf_cbor_tag(b, TF_TAG_U32);
    tf_cbor_bytes_head(b, 4 * n);
    if (n)
        tf_buf_add(b, x, 4 * n);
}

void tf_put_f32s(struct tf_buf *b, const float *x, size_t n)
{
    tf_cbor_tag(b, TF_TAG_F32);
    tf_cbor_bytes_head(b, 4 * n);
    if (n)
        tf_buf_add(b, x, 4 * n);
}

/* ---- numbers ---- */

uint32_t tf_load32(const void *p)
{
    uint32_t x;
    memcpy(&x, p, 4);
    return x;
}

uint64_t tf_load64(const void *p)
{
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

float tf_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, u;
    if (e == 0) { /* zero and subnormals: m * 2^-24 */
        float f = (float)m * 0x1p-24f;
        return sign ? -f : f;
    }
    u = e == 31 ? sign | 0x7f800000 | m << 13 : sign | (e + 112) << 23 | m << 13;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

bool tf_half_exact(float x, uint16_t *h)
{
    uint32_t u = tf_load32(&x), m = u & 0x7fffff;
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    int e = (int)(u >> 23 & 255) - 127;
    if (e == 128 || (u & 0x7fffffff) == 0) { /* infinity, zero */
        *h = (uint16_t)(sign | (e == 128 ? 0x7c00 : 0));
        return true;
    }
    if (e > 15 || e < -24)
        return false;
    int drop = e >= -14 ? 13 : -1 - e; /* mantissa bits that a half has no room for */
    uint32_t full = e >= -14 ? m : m | 0x800000;
    if (full & ((1u << drop) - 1))
        return false;
    *h = (uint16_t)(sign | (e >= -14 ? (uint32_t)(e + 15) << 10 : 0) | full >> drop);
    return true;
}

bool tf_utf8_valid(const uint8_t *p, size_t n)
{
    return tf_utf8_span((const char *)p, n) == n && (n == 0 || memchr(p, 0, n) == NULL);
}

/* ---- scanner ---- */

int tf_scan_item(struct tf_scan *s, const uint8_t *p, size_t n, size_t limit, const char **why)
{
    if (!s->begun) {
        s->begun = true;
        s->left[0] = 1;
    }
    size_t pos = s->pos;
    int depth = s->depth, rc = 1;
    while (s->left[depth] || depth) {
        if (!s->left[depth]) {
            depth--;
            continue;
        }
        struct tf_head h;
        s->pos = pos;
        if (pos >= limit) {
            *why = "too large";
            return -1;
        }
        int k = tf_head_read(p + pos, n - pos, &h);
        if (k < 0) {
            *why = (p[pos] & 31) == 31 ? "indefinite length" : "reserved head";
            return -1;
        }
        if (k == 0) {
            unsigned info = n > pos ? p[pos] & 31 : 0;
            s->need = pos + 1 + (info >= 24 ? (size_t)1 << (info - 24) : 0);
            rc = 0;
            if (s->need > limit) {
                *why = "too large";
                rc = -1;
            }
            break;
        }
        size_t at = pos + (size_t)k;
        uint64_t inner = 0;
        if (at > limit) {
            *why = "too large";
            return -1;
        }
        switch (h.major) {
        case TF_MAJOR_BYTES:
        case TF_MAJOR_TEXT:
            if (h.val > limit - at) {
                *why = "a string longer than the limit";
                return -1;
            }
            if (h.val > n - at) {
                s->need = at + (size_t)h.val;
                rc = 0;
            } else {
                at += (size_t)h.val;
            }
            break;
        case TF_MAJOR_ARRAY:
        case TF_MAJOR_MAP:
            if (h.val > (limit - at) / (h.major == TF_MAJOR_MAP ? 2 : 1)) {
                *why = "more items than the limit";
                return -1;
            }
            inner = h.val * (h.major == TF_MAJOR_MAP ? 2 : 1);
            break;
        case TF_MAJOR_TAG:
            inner = 1;
            break;
        case TF_MAJOR_SIMPLE:
            if (h.info == 24 && h.val < 32) {
                *why = "reserved simple value";
                return -1;
            }
            break;
        default:
            break;
        }
        if (rc == 0)
            break;
        s->left[depth]--;
        pos = at;
        if (h.major >= TF_MAJOR_ARRAY && h.major <= TF_MAJOR_TAG) {
            if (depth == TF_CBOR_DEPTH) {
                *why = "nested too deeply";
                return -1;
            }
            s->left[++depth] = inner;
        }
    }
    s->pos = pos;
    s->depth = depth;
    return rc;
}

/* ---- cursor ---- */

static const char *take(struct tf_cur *c, unsigned major, struct tf_head *h, const char *why)
{
    int k = tf_head_read(c->p, (size_t)(c->end - c->p), h);
    if (k <= 0 || h->major != major)
        return why;
    c->p += k;
    return NULL;
}

const char *tf_cur_uint(struct tf_cur *c, uint64_t *x)
{
    struct tf_head h;
    const char *why = take(c, TF_MAJOR_UINT, &h, "not an unsigned integer");
    if (!why)
        *x = h.val;
    return why;
}

static const char *collection(struct tf_cur *c, unsigned major, uint64_t each, uint64_t *n,
                              const char *what)
{
    struct tf_head h;
    const uint8_t *start = c->p;
    const char *why = take(c, major, &h, what);
    if (why)
        return why;
    if (h.val > (uint64_t)(c->end - c->p) / each) {
        c->p = start;
        return "more items than bytes";
    }
    *n = h.val;
    return NULL;
}

const char *tf_cur_array(struct tf_cur *c, uint64_t *n)
{
    return collection(c, TF_MAJOR_ARRAY, 1, n, "not an array");
}

const char *tf_cur_map(struct tf_cur *c, uint64_t *n)
{
    return collection(c, TF_MAJOR_MAP, 2, n, "not a map");
}

const char *tf_cur_tag(struct tf_cur *c, uint64_t *tag)
{
    struct tf_head h;
    const char *why = take(c, TF_MAJOR_TAG, &h, "not a tag");
    if (!why)
        *tag = h.val;
    return why;
}

static const char *string(struct tf_cur *c, unsigned major, const uint8_t **p, size_t *n,
                          const char *what)
{
    struct tf_head h;
    const uint8_t *start = c->p;
    const char *why = take(c, major, &h, what);
    if (why)
        return why;
    if (h.val > (uint64_t)(c->end - c->p)) {
        c->p = start;
        return "a string longer than its record";
    }
    *p = c->p;
    *n = (size_t)h.val;
    c->p += h.val;
    return NULL;
}

const char *tf_cur_bytes(struct tf_cur *c, const uint8_t **p, size_t *n)
{
    return string(c, TF_MAJOR_BYTES, p, n, "not a byte string");
}

const char *tf_cur_text(struct tf_cur *c, const char **s, size_t *n)
{
    const uint8_t *p, *start = c->p;
    const char *why = string(c, TF_MAJOR_TEXT, &p, n, "not text");
    if (why)
        return why;
    if (!tf_utf8_valid(p, *n)) {
        c->p = start;
        return "text that is not UTF-8 without NUL";
    }
    *s = (const char *)p;
    return NULL;
}

const char *tf_cur_real(struct tf_cur *c, double *x)
{
    struct tf_head h;
    int k = tf_head_read(c->p, (size_t)(c->end - c->p), &h);
    if (k <= 0)
        return "not a number";
    if (h.major == TF_MAJOR_UINT) {
        *x = (double)h.val;
    } else if (h.major == TF_MAJOR_NEGINT) {
        *x = -1.0 - (double)h.val;
    } else if (h.major == TF_MAJOR_SIMPLE && h.info == 25) {
        *x = (double)tf_half_to_float((uint16_t)h.val);
    } else if (h.major == TF_MAJOR_SIMPLE && h.info == 26) {
        uint32_t u = (uint32_t)h.val;
        float f;
        memcpy(&f, &u, 4);
        *x = (double)f;
    } else if (h.major == TF_MAJOR_SIMPLE && h.info == 27) {
        memcpy(x, &h.val, 8);
    } else {
        return "not a number";
    }
    c->p += k;
    return NULL;
}

const char *tf_cur_sha256(struct tf_cur *c, uint8_t out[32])
{
    struct tf_cur at = *c;
    uint64_t tag;
    const uint8_t *p;
    size_t n;
    if (!tf_cur_tag(&at, &tag) && tag != TF_TAG_SHA256)
        return "not a SHA-256";
    if (tf_cur_bytes(&at, &p, &n) || n != 32)
        return "not a SHA-256";
    memcpy(out, p, 32);
    *c = at;
    return NULL;
}

bool tf_cur_is_null(const struct tf_cur *c)
{
    return c->p < c->end && *c->p == 0xf6;
}

const char *tf_cur_crc(struct tf_cur *c, bool *has, uint32_t *crc)
{
    struct tf_cur at = *c;
    uint64_t x = 0;
    *has = !tf_cur_is_null(&at);
    if (!*has)
        at.p++;
    else if (tf_cur_uint(&at, &x) || x > UINT32_MAX)
        return "crc: not a 32-bit number or null";
    *crc = (uint32_t)x;
    *c = at;
    return NULL;
}

const char *tf_cur_skip(struct tf_cur *c)
{
    struct tf_scan s = {0};
    const char *why = NULL;
    size_t n = (size_t)(c->end - c->p);
    int rc = tf_scan_item(&s, c->p, n, n ? n : 1, &why);
    if (rc <= 0)
        return why ? why : "cut short";
    c->p += s.pos;
    return NULL;
}

/* What can be wrong with a list, said of its kind of elements. */
struct list_faults {
    const char *kind, *tag, *rest, *count;
};

/* Into a list: at its first element of a plain array (*width 0), or past a typed one whose n
 * elements of `width` bytes lie at *p. */
static const char *list_enter(struct tf_cur *c, size_t (*width_of)(uint64_t tag), size_t max,
                              const struct list_faults *f, const uint8_t **p, size_t *width,
                              size_t *n)
{
    uint64_t tag, count;
    size_t bytes;
    *width = 0;
    if (tf_cur_tag(c, &tag)) {
        if (tf_cur_array(c, &count))
            return f->kind;
    } else {
        *width = width_of(tag);
        if (!*width)
            return f->tag;
        if (tf_cur_bytes(c, p, &bytes))
            return f->kind;
        if (bytes % *width)
            return f->rest;
        count = bytes / *width;
    }
    if (count > max)
        return f->count;
    *n = (size_t)count;
    return NULL;
}

static size_t id_width(uint64_t tag)
{
    return tag == TF_TAG_U8    ? 1
           : tag == TF_TAG_U16 ? 2
           : tag == TF_TAG_U32 ? 4
           : tag == TF_TAG_U64 ? 8
                               : 0;
}

const char *tf_cur_ids(struct tf_cur *c, struct tf_arena *a, size_t max, const uint32_t **ids,
                       size_t *n)
{
    static const struct list_faults faults = {"not a list of ids", "ids under an unknown tag",
                                              "ids: bytes left over", "too many ids"};
    struct tf_cur at = *c;
    const uint8_t *p = NULL;
    size_t width, count;
    const char *why = list_enter(&at, id_width, max, &faults, &p, &width, &count);
    if (why)
        return why;
    uint32_t *to = tf_arena_alloc(a, 4 * count + 4);
    if (width == 4) {
        memcpy(to, p, 4 * count);
    } else if (width == 2) {
        for (size_t i = 0; i < count; i++) {
            uint16_t v;
            memcpy(&v, p + 2 * i, 2);
            to[i] = v;
        }
    } else if (width == 1) {
        for (size_t i = 0; i < count; i++)
            to[i] = p[i];
    } else {
        for (size_t i = 0; i < count; i++) {
            uint64_t x;
            if (width == 8)
                x = tf_load64(p + 8 * i);
            else if (tf_cur_uint(&at, &x))
                x = UINT64_MAX;
            if (x > UINT32_MAX)
                return "an id that is not a 32-bit number";
            to[i] = (uint32_t)x;
        }
    }
    *ids = to;
    *n = count;
    *c = at;
    return NULL;
}

static size_t real_width(uint64_t tag)
{
    return tag == TF_TAG_F16 ? 2 : tag == TF_TAG_F32 ? 4 : tag == TF_TAG_F64 ? 8 : 0;
}

const char *tf_cur_reals(struct tf_cur *c, struct tf_arena *a, size_t max, const float **x,
                         size_t *n)
{
    static const struct list_faults faults = {"not a list of numbers",
                                              "numbers under an unknown tag",
                                              "numbers: bytes left over", "too many numbers"};
    struct tf_cur at = *c;
    const uint8_t *p = NULL;
    size_t width, count;
    const char *why = list_enter(&at, real_width, max, &faults, &p, &width, &count);
    if (why)
        return why;
    float *to = tf_arena_alloc(a, 4 * count + 4);
    for (size_t i = 0; i < count; i++) {
        double d;
        if (width == 2) {
            uint16_t h;
            memcpy(&h, p + 2 * i, 2);
            to[i] = tf_half_to_float(h);
        } else if (width == 4) {
            memcpy(&to[i], p + 4 * i, 4);
        } else {
            if (width == 8)
                memcpy(&d, p + 8 * i, 8);
            else if (tf_cur_real(&at, &d))
                return "not a number";
            to[i] = (float)d;
        }
    }
    *x = to;
    *n = count;
    *c = at;
    return NULL;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *tf_cbor_library(void)
{
    return TEXT(CBOR_MAJOR_VERSION) "." TEXT(CBOR_MINOR_VERSION) "." TEXT(CBOR_PATCH_VERSION);
}
