/* inspect_diag.c - CBOR as diagnostic notation (RFC 8949, section 8). It only requires well-formed
 * items, so a damaged stream is printed up to the damage. */
#include "base/hash.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "cbor/cursor.h"
#include "cbor/encode.h"
#include "cbor/scan.h"
#include "stream/reader_private.h"
#include "stream/inspect.h"

#include <math.h>
#include <string.h>

struct diag {
    struct tf_cbor_cursor c;
    struct tf_buf *b;
    size_t max_bytes;
};

/* Does a shorter head exist for this argument? */
static bool long_head(struct tf_head h)
{
    static const uint64_t least[] = {24, 256, 65536, (uint64_t)1 << 32};
    return h.info >= 24 && h.val < least[h.info - 24];
}

static void indicator(struct diag *d, struct tf_head h)
{
    if (long_head(h))
        tf_buf_printf(d->b, "_%u", h.info - 24);
}

static void put_bytes(struct diag *d, const uint8_t *p, size_t n)
{
    size_t shown = n <= d->max_bytes ? n : d->max_bytes;
    tf_buf_byte(d->b, 'h');
    tf_buf_byte(d->b, '\'');
    tf_hex(tf_buf_grow(d->b, 2 * shown), p, shown);
    d->b->len += 2 * shown;
    tf_buf_byte(d->b, '\'');
    if (shown < n)
        tf_buf_printf(d->b, " / and %zu more bytes /", n - shown);
}

static TF_NOINLINE void put_text(struct diag *d, const uint8_t *p, size_t n)
{
    if (tf_utf8_span((const char *)p, n) < n) {
        tf_buf_str(d->b, "/ not UTF-8 / ");
        put_bytes(d, p, n);
        return;
    }
    struct tf_json j = {.out = d->b};
    tf_json_strn(&j, (const char *)p, n);
}

/* The real that starts at p. */
static TF_NOINLINE void put_real(struct diag *d, struct tf_head h, const uint8_t *p)
{
    char buf[32];
    double x;
    struct tf_buf shortest = {0};
    const char *why = tf_cursor_real(&(struct tf_cbor_cursor){p, d->c.end}, &x);
    TF_ASSERT(why == NULL);
    if (isnan(x)) {
        tf_buf_str(d->b, "NaN");
    } else if (isinf(x)) {
        tf_buf_str(d->b, x < 0 ? "-Infinity" : "Infinity");
    } else {
        tf_format_real(buf, x);
        tf_buf_str(d->b, buf);
        if (strpbrk(buf, ".en") == NULL)
            tf_buf_str(d->b, ".0");
    }
    tf_cbor_real(&shortest, x);
    if (((unsigned char)shortest.p[0] & 31) != h.info)
        tf_buf_printf(d->b, "_%u", h.info - 24);
    tf_buf_release(&shortest);
}

/* Print one item, which tf_scan_item has found complete and at most TF_CBOR_DEPTH deep.
 * put_text and put_real are apart because their arrays would cost every item a stack canary. */
static void put_item(struct diag *d)
{
    struct tf_head h = {0};
    const uint8_t *start = d->c.p;
    d->c.p += tf_head_read(d->c.p, (size_t)(d->c.end - d->c.p), &h);
    switch (h.major) {
    case TF_MAJOR_UINT:
        tf_buf_uint(d->b, h.val);
        indicator(d, h);
        break;
    case TF_MAJOR_NEGINT:
        if (h.val == UINT64_MAX)
            tf_buf_str(d->b, "-18446744073709551616");
        else
            tf_buf_printf(d->b, "-%llu", (unsigned long long)h.val + 1);
        indicator(d, h);
        break;
    case TF_MAJOR_BYTES:
    case TF_MAJOR_TEXT:
        (h.major == TF_MAJOR_BYTES ? put_bytes : put_text)(d, d->c.p, (size_t)h.val);
        indicator(d, h);
        d->c.p += h.val;
        break;
    case TF_MAJOR_ARRAY:
    case TF_MAJOR_MAP:
        tf_buf_byte(d->b, h.major == TF_MAJOR_ARRAY ? '[' : '{');
        indicator(d, h);
        if (long_head(h))
            tf_buf_byte(d->b, ' ');
        for (uint64_t i = 0; i < h.val; i++) {
            if (i) {
                tf_buf_byte(d->b, ',');
                tf_buf_byte(d->b, ' ');
            }
            put_item(d);
            if (h.major == TF_MAJOR_MAP) {
                tf_buf_str(d->b, ": ");
                put_item(d);
            }
        }
        tf_buf_byte(d->b, h.major == TF_MAJOR_ARRAY ? ']' : '}');
        break;
    case TF_MAJOR_TAG:
        tf_buf_uint(d->b, h.val);
        indicator(d, h);
        tf_buf_byte(d->b, '(');
        put_item(d);
        tf_buf_byte(d->b, ')');
        break;
    default:
        if (h.info >= 25) {
            put_real(d, h, start);
        } else if (h.val >= 20 && h.val <= 23) {
            static const char *const simple[] = {"false", "true", "null", "undefined"};
            tf_buf_str(d->b, simple[h.val - 20]);
        } else {
            tf_buf_printf(d->b, "simple(%llu)", (unsigned long long)h.val);
        }
        break;
    }
}

int tf_inspect_diag(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                    struct tf_err *err)
{
    struct tf_buf b = {0};
    size_t limit = (size_t)(how->max_tensor ? how->max_tensor : TF_MAX_TENSOR) + TF_TENSOR_HEAD_MAX;
    int rc = 0;
    while (!rc) {
        struct tf_scan s = {0};
        size_t need = 1, have = 0;
        int found = 0;
        while (!rc && found == 0) {
            /* flush before a read that may wait */
            rc = in->len - in->pos < need && !in->eof ? tf_out_flush(out, err) : 0;
            ssize_t got = rc ? -1 : tf_in_have(in, need, err);
            if (got < 0) {
                rc = -1;
                break;
            }
            have = (size_t)got;
            if (have < need) {
                rc = have == 0 && need == 1
                         ? 1
                         : tf_fail(err, "%s: truncated in the item at byte %llu", in->name,
                                   (unsigned long long)(in->offset + in->pos));
                break;
            }
            found = tf_scan_item(&s, in->buf + in->pos, have, limit);
            if (found < 0 && s.longer)
                rc = tf_fail(err, "%s: item at byte %llu: larger than --max-tensor allows",
                             in->name, (unsigned long long)(in->offset + in->pos));
            else if (found < 0)
                rc = tf_fail(err, "%s: malformed item at byte %llu: %s", in->name,
                             (unsigned long long)(in->offset + in->pos + s.pos), s.why);
            need = s.need;
        }
        if (rc)
            break;
        struct diag d = {.c = {in->buf + in->pos, in->buf + in->pos + s.pos},
                         .b = &b,
                         .max_bytes = how->max_bytes};
        tf_buf_clear(&b);
        put_item(&d);
        tf_buf_byte(&b, '\n');
        in->pos += s.pos;
        rc = tf_out_write(out, b.p, b.len, err);
    }
    tf_buf_release(&b);
    return rc < 0 ? -1 : 0;
}
