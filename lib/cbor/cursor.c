/* cursor.c - decode typed fields of a record. */
#include "cbor/cursor.h"

#include "base/bits.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cbor/head.h"
#include "cbor/scan.h"

#include <string.h>

static const char *take_head(struct tf_cbor_cursor *c, unsigned major, struct tf_head *h,
                             const char *why)
{
    int k = tf_head_read(c->p, (size_t)(c->end - c->p), h);
    if (k <= 0 || h->major != major)
        return why;
    c->p += k;
    return NULL;
}

const char *tf_cursor_uint(struct tf_cbor_cursor *c, uint64_t *x)
{
    struct tf_head h;
    const char *why = take_head(c, TF_MAJOR_UINT, &h, "not an unsigned integer");
    if (why == NULL)
        *x = h.val;
    return why;
}

static const char *collection(struct tf_cbor_cursor *c, unsigned major, uint64_t each, uint64_t *n,
                              const char *what)
{
    struct tf_head h;
    const uint8_t *start = c->p;
    const char *why = take_head(c, major, &h, what);
    if (why != NULL)
        return why;
    if (h.val > (uint64_t)(c->end - c->p) / each) {
        c->p = start;
        return "more items than bytes";
    }
    *n = h.val;
    return NULL;
}

const char *tf_cursor_array(struct tf_cbor_cursor *c, uint64_t *n)
{
    return collection(c, TF_MAJOR_ARRAY, 1, n, "not an array");
}

const char *tf_cursor_map(struct tf_cbor_cursor *c, uint64_t *n)
{
    return collection(c, TF_MAJOR_MAP, 2, n, "not a map");
}

const char *tf_cursor_tag(struct tf_cbor_cursor *c, uint64_t *tag)
{
    struct tf_head h;
    const char *why = take_head(c, TF_MAJOR_TAG, &h, "not a tag");
    if (why == NULL)
        *tag = h.val;
    return why;
}

static const char *string(struct tf_cbor_cursor *c, unsigned major, const uint8_t **p, size_t *n,
                          const char *what)
{
    struct tf_head h;
    const uint8_t *start = c->p;
    const char *why = take_head(c, major, &h, what);
    if (why != NULL)
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

const char *tf_cursor_bytes(struct tf_cbor_cursor *c, const uint8_t **p, size_t *n)
{
    return string(c, TF_MAJOR_BYTES, p, n, "not a byte string");
}

const char *tf_cursor_text(struct tf_cbor_cursor *c, const char **s, size_t *n)
{
    const uint8_t *p, *start = c->p;
    const char *why = string(c, TF_MAJOR_TEXT, &p, n, "not text");
    if (why != NULL)
        return why;
    if (!tf_utf8_valid(p, *n)) {
        c->p = start;
        return "text that is not UTF-8 without NUL";
    }
    *s = (const char *)p;
    return NULL;
}

const char *tf_cursor_real(struct tf_cbor_cursor *c, double *x)
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

const char *tf_cursor_sha256(struct tf_cbor_cursor *c, uint8_t out[32])
{
    struct tf_cbor_cursor at = *c;
    uint64_t tag;
    const uint8_t *p;
    size_t n;
    if (tf_cursor_tag(&at, &tag) == NULL && tag != TF_TAG_SHA256)
        return "not a SHA-256";
    if (tf_cursor_bytes(&at, &p, &n) != NULL || n != 32)
        return "not a SHA-256";
    memcpy(out, p, 32);
    *c = at;
    return NULL;
}

bool tf_cursor_is_null(const struct tf_cbor_cursor *c)
{
    return c->p < c->end && *c->p == 0xf6;
}

const char *tf_cursor_crc(struct tf_cbor_cursor *c, bool *has, uint32_t *crc)
{
    struct tf_cbor_cursor at = *c;
    uint64_t x = 0;
    *has = !tf_cursor_is_null(&at);
    if (!*has)
        at.p++;
    else if (tf_cursor_uint(&at, &x) != NULL || x > UINT32_MAX)
        return "crc: not a 32-bit number or null";
    *crc = (uint32_t)x;
    *c = at;
    return NULL;
}

const char *tf_cursor_skip(struct tf_cbor_cursor *c)
{
    struct tf_scan s = {0};
    size_t n = (size_t)(c->end - c->p);
    int rc = tf_scan_item(&s, c->p, n, n ? n : 1);
    if (rc <= 0)
        return rc < 0 ? s.why : "cut short";
    c->p += s.pos;
    return NULL;
}

/* Messages for a list, by the kind of its elements. */
struct list_faults {
    const char *kind, *tag, *rest, *count;
};

/* A list that is being read. Of a plain array, width is 0 and the cursor is at its first element;
 * of a typed array, p has n elements of so many bytes and the cursor is after it. */
struct list {
    struct tf_cbor_cursor at;
    const uint8_t *p;
    size_t width, bytes;
    uint64_t tag, n;
};

static const char *list_enter(struct list *l, size_t (*width_of)(uint64_t tag), size_t max,
                              const struct list_faults *f)
{
    if (tf_cursor_tag(&l->at, &l->tag) != NULL) {
        l->width = 0;
        if (tf_cursor_array(&l->at, &l->n) != NULL)
            return f->kind;
    } else {
        l->width = width_of(l->tag);
        if (!l->width)
            return f->tag;
        if (tf_cursor_bytes(&l->at, &l->p, &l->bytes) != NULL)
            return f->kind;
        if (l->bytes % l->width)
            return f->rest;
        l->n = l->bytes / l->width;
    }
    return l->n > max ? f->count : NULL;
}

/* The bytes of an id under this tag; 0: no tag of ids. */
static size_t id_width(uint64_t tag)
{
    return tag == TF_TAG_U8    ? 1
           : tag == TF_TAG_U16 ? 2
           : tag == TF_TAG_U32 ? 4
           : tag == TF_TAG_U64 ? 8
                               : 0;
}

/* tf_cursor_ids for a list of any form. */
static TF_NOINLINE const char *any_ids(struct tf_cbor_cursor *c, struct tf_arena *a, size_t max,
                                       const uint32_t **ids, size_t *n)
{
    static const struct list_faults faults = {"not a list of ids", "ids under an unknown tag",
                                              "bytes left over", "too many ids"};
    struct list l;
    l.at = *c;
    const char *why = list_enter(&l, id_width, max, &faults);
    if (why != NULL)
        return why;
    const uint8_t *p = l.p;
    const size_t width = l.width, count = (size_t)l.n;
    uint32_t *to = tf_arena_alloc(a, 4 * count + 4);
    for (size_t i = 0; i < count; i++) {
        uint64_t x = 0;
        if (width > 0)
            memcpy(&x, p + width * i, width); /* little-endian, as this machine */
        else if (tf_cursor_uint(&l.at, &x) != NULL)
            x = UINT64_MAX;
        if (x > UINT32_MAX)
            return "an id that is not a 32-bit number";
        to[i] = (uint32_t)x;
    }
    *ids = to;
    *n = count;
    *c = l.at;
    return NULL;
}

const char *tf_cursor_ids(struct tf_cbor_cursor *c, struct tf_arena *a, size_t max,
                          const uint32_t **ids, size_t *n)
{
    const struct tf_usual_ids u = tf_usual_ids(c->p, c->end);
    if (u.width == 0 || u.n > max)
        return any_ids(c, a, max, ids, n);
    uint32_t *to = tf_arena_alloc(a, 4 * u.n + 4);
    tf_usual_ids_copy(to, u.p, u.n, u.width);
    *ids = to;
    *n = u.n;
    c->p = u.p + u.n * u.width;
    return NULL;
}

static size_t real_width(uint64_t tag)
{
    return tag == TF_TAG_F16 ? 2 : tag == TF_TAG_F32 ? 4 : tag == TF_TAG_F64 ? 8 : 0;
}

const char *tf_cursor_reals(struct tf_cbor_cursor *c, struct tf_arena *a, size_t max,
                            const float **x, size_t *n)
{
    static const struct list_faults faults = {"not a list of numbers",
                                              "numbers under an unknown tag",
                                              "bytes left over", "too many numbers"};
    struct list l;
    l.at = *c;
    const char *why = list_enter(&l, real_width, max, &faults);
    if (why != NULL)
        return why;
    const uint8_t *p = l.p;
    const size_t width = l.width, count = (size_t)l.n;
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
            else if (tf_cursor_real(&l.at, &d) != NULL)
                return "not a number";
            if (!tf_to_float(d, &to[i]))
                return "a number that f32 can't hold";
        }
    }
    *x = to;
    *n = count;
    *c = l.at;
    return NULL;
}
