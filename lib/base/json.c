/* json.c - writer and reader of JSON (RFC 8259). */
#include "base/json.h"
#include "base/parse.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writer ---- */

/* Start a value or a key; comma_after: a comma goes before the next one. */
static struct tf_buf *item(struct tf_json *j, bool comma_after)
{
    if (j->comma)
        tf_buf_byte(j->out, ',');
    j->comma = comma_after;
    return j->out;
}

void tf_json_open(struct tf_json *j, char bracket)
{
    tf_buf_byte(item(j, false), (unsigned char)bracket);
}

void tf_json_close(struct tf_json *j, char bracket)
{
    tf_buf_byte(j->out, (unsigned char)bracket);
    j->comma = true;
}

/* Write what cannot stand in a string as it is: the n >= 1 bytes at s begin with it. Returns its
 * length. */
static size_t escape(struct tf_buf *b, const char *s, size_t n)
{
    static const char special[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *at = *s != 0 ? strchr(special, *s) : NULL;
    int len = 1;
    if (at != NULL)
        tf_buf_printf(b, "\\%c", letter[at - special]);
    else if (tf_utf8_at(s, n) != 0)
        tf_buf_printf(b, "\\u%04x", tf_utf8_get(s, &len));
    else
        tf_buf_str(b, "\xef\xbf\xbd");
    return (size_t)len;
}

static void quote(struct tf_buf *b, const char *s, size_t n)
{
    size_t from = 0; /* what is written as it is, up to i */
    tf_buf_byte(b, '"');
    for (size_t i = 0; i < n;) {
        size_t len = tf_utf8_at(s + i, n - i);
        if (len != 0 && s[i] != '"' && s[i] != '\\' && !tf_utf8_unsafe(s + i)) {
            i += len;
            continue;
        }
        tf_buf_add(b, s + from, i - from);
        i += escape(b, s + i, n - i);
        from = i;
    }
    tf_buf_add(b, s + from, n - from);
    tf_buf_byte(b, '"');
}

void tf_json_key(struct tf_json *j, const char *key)
{
    quote(item(j, false), key, strlen(key));
    tf_buf_byte(j->out, ':');
}

void tf_json_str(struct tf_json *j, const char *s)
{
    tf_json_strn(j, s, strlen(s));
}

void tf_json_strn(struct tf_json *j, const char *s, size_t n)
{
    quote(item(j, true), s, n);
}

void tf_json_int(struct tf_json *j, int64_t x)
{
    tf_buf_printf(item(j, true), "%" PRId64, x);
}

void tf_json_uint(struct tf_json *j, uint64_t x)
{
    tf_buf_uint(item(j, true), x);
}

void tf_json_ids(struct tf_json *j, const uint32_t *ids, size_t n)
{
    tf_json_open(j, '[');
    tf_buf_ids(j->out, ids, n);
    tf_json_close(j, ']');
}

void tf_json_strs(struct tf_json *j, const char *const *v, size_t n)
{
    tf_json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        tf_json_str(j, v[i]);
    tf_json_close(j, ']');
}

void tf_json_real(struct tf_json *j, double x)
{
    char buf[32];
    tf_buf_str(item(j, true), isfinite(x) ? tf_format_real(buf, x) : "null");
}

void tf_json_bool(struct tf_json *j, bool x)
{
    tf_buf_str(item(j, true), x ? "true" : "false");
}

void tf_json_null(struct tf_json *j)
{
    tf_buf_str(item(j, true), "null");
}

void tf_json_raw(struct tf_json *j, const char *text)
{
    tf_buf_str(item(j, true), text);
}

void tf_json_put_str(struct tf_json *j, const char *key, const char *s)
{
    tf_json_key(j, key);
    tf_json_str(j, s);
}

void tf_json_put_strn(struct tf_json *j, const char *key, const char *s, size_t n)
{
    tf_json_key(j, key);
    tf_json_strn(j, s, n);
}

void tf_json_put_open(struct tf_json *j, const char *key, char bracket)
{
    tf_json_key(j, key);
    tf_json_open(j, bracket);
}

void tf_json_put_int(struct tf_json *j, const char *key, int64_t x)
{
    tf_json_key(j, key);
    tf_json_int(j, x);
}

void tf_json_put_uint(struct tf_json *j, const char *key, uint64_t x)
{
    tf_json_key(j, key);
    tf_json_uint(j, x);
}

void tf_json_put_real(struct tf_json *j, const char *key, double x)
{
    tf_json_key(j, key);
    tf_json_real(j, x);
}

void tf_json_put_bool(struct tf_json *j, const char *key, bool x)
{
    tf_json_key(j, key);
    tf_json_bool(j, x);
}

/* ---- reader ---- */

enum state {
    VALUE,       /* expect a value */
    FIRST_VALUE, /* a value, or the end of the array */
    KEY,         /* expect a key */
    FIRST_KEY,   /* a key, or the end of the object */
    AFTER,       /* a comma or a closing bracket; at depth 0 the end */
};

void tf_json_read(struct tf_json_reader *r, const char *text, size_t n)
{
    *r = (struct tf_json_reader){.p = text, .start = text, .end = text + n, .state = VALUE};
}

void tf_json_read_release(struct tf_json_reader *r)
{
    tf_buf_release(&r->text);
}

static int bad(struct tf_json_reader *r, struct tf_err *err, const char *what)
{
    return tf_fail(err, "json: byte %td: %s", r->p - r->start + 1, what);
}

static int hex4(const char *p, const char *end)
{
    int x = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        x = x * 16 + d;
    }
    return x;
}

/* Read the escape at r->p, after its backslash. */
static int read_escape(struct tf_json_reader *r, struct tf_err *err)
{
    static const char letter[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    if (r->p == r->end)
        return bad(r, err, "the text ends within a string");
    const char *at = *r->p != 0 ? strchr(letter, *r->p) : NULL;
    if (at != NULL) {
        tf_buf_byte(&r->text, (unsigned char)plain[at - letter]);
        r->p++;
        return 0;
    }
    int u = *r->p == 'u' ? hex4(r->p + 1, r->end) : -1;
    if (u < 0)
        return bad(r, err, "unknown escape");
    if (u >= 0xd800 && u < 0xe000) {
        int low = u < 0xdc00 && r->end - r->p >= 11 && r->p[5] == '\\' && r->p[6] == 'u'
                      ? hex4(r->p + 7, r->end)
                      : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return bad(r, err, "half a surrogate pair");
        u = 0x10000 + (u - 0xd800) * 0x400 + (low - 0xdc00);
        r->p += 6;
    }
    if (u == 0 && !(r->nul && r->state == AFTER))
        return bad(r, err, "text with NUL");
    r->p += 5;
    tf_buf_char(&r->text, (uint32_t)u);
    return 0;
}

static int read_string(struct tf_json_reader *r, struct tf_err *err)
{
    r->p++;
    for (;;) {
        const char *run = r->p;
        size_t len = 0;
        while (r->p < r->end && (unsigned char)*r->p >= 0x20 && *r->p != '"' && *r->p != '\\' &&
               (len = tf_utf8_at(r->p, (size_t)(r->end - r->p))) > 0)
            r->p += len;
        tf_buf_add(&r->text, run, (size_t)(r->p - run));
        if (r->p == r->end)
            return bad(r, err, "the text ends within a string");
        if (*r->p == '"') {
            r->p++;
            return 0;
        }
        if ((unsigned char)*r->p < 0x20)
            return bad(r, err, "control character in a string");
        if (*r->p != '\\')
            return bad(r, err, "not UTF-8");
        r->p++;
        if (read_escape(r, err) != 0)
            return -1;
    }
}

static size_t read_digits(struct tf_json_reader *r)
{
    const char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return (size_t)(r->p - from);
}

static int read_number(struct tf_json_reader *r, struct tf_err *err)
{
    const char *from = r->p;
    r->negative = *r->p == '-';
    r->p += r->negative;
    bool zero = r->p < r->end && *r->p == '0';
    size_t n = read_digits(r);
    if (n == 0 || (zero && n > 1))
        return bad(r, err, n == 0 ? "not a number" : "number with a leading zero");
    r->whole = r->is_int = true;
    r->uint = 0;
    for (const char *p = from + r->negative; p < r->p; p++)
        if (__builtin_mul_overflow(r->uint, 10, &r->uint) ||
            __builtin_add_overflow(r->uint, (uint64_t)(*p - '0'), &r->uint))
            r->is_int = false;
    if (r->p < r->end && *r->p == '.') {
        r->p++;
        r->whole = false;
        if (read_digits(r) == 0)
            return bad(r, err, "no digit after the point");
    }
    if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        r->p++;
        r->whole = false;
        r->p += r->p < r->end && (*r->p == '+' || *r->p == '-');
        if (read_digits(r) == 0)
            return bad(r, err, "no digit in the exponent");
    }
    tf_buf_add(&r->text, from, (size_t)(r->p - from));
    r->real = strtod(r->text.p, NULL);
    r->is_int = r->is_int && r->whole;
    if (!r->is_int)
        r->uint = 0;
    return isfinite(r->real) ? 0 : bad(r, err, "number too large");
}

static bool word(struct tf_json_reader *r, const char *s)
{
    size_t n = strlen(s);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, s, n) != 0)
        return false;
    r->p += n;
    return true;
}

static void skip_space(struct tf_json_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

static int read_value(struct tf_json_reader *r, enum tf_json_kind *kind, struct tf_err *err)
{
    char c = *r->p;
    if (c == '{' || c == '[') {
        if (r->depth == (int)sizeof r->stack)
            return bad(r, err, "nested too deeply");
        r->stack[r->depth++] = c;
        r->p++;
        r->state = c == '{' ? FIRST_KEY : FIRST_VALUE;
        *kind = c == '{' ? TF_JSON_OBJECT : TF_JSON_ARRAY;
        return 0;
    }
    r->state = AFTER;
    if (c == '"') {
        *kind = TF_JSON_STRING;
        return read_string(r, err);
    }
    if (r->not_finite && word(r, "NaN")) {
        *kind = TF_JSON_NULL;
        return 0;
    }
    if (r->not_finite && (word(r, "Infinity") || word(r, "-Infinity"))) {
        *kind = TF_JSON_NUMBER;
        r->real = c == '-' ? -INFINITY : INFINITY;
        r->whole = r->is_int = false;
        tf_buf_str(&r->text, c == '-' ? "-Infinity" : "Infinity");
        return 0;
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        *kind = TF_JSON_NUMBER;
        return read_number(r, err);
    }
    *kind = TF_JSON_BOOL;
    if ((r->boolean = word(r, "true")) || word(r, "false"))
        return 0;
    *kind = TF_JSON_NULL;
    return word(r, "null") ? 0 : bad(r, err, "not a value");
}

static int read_key(struct tf_json_reader *r, enum tf_json_kind *kind, struct tf_err *err)
{
    if (*r->p != '"')
        return bad(r, err, "not a key");
    if (read_string(r, err) != 0)
        return -1;
    skip_space(r);
    if (r->p == r->end || *r->p != ':')
        return bad(r, err, "no colon after the key");
    r->p++;
    r->state = VALUE;
    *kind = TF_JSON_KEY;
    return 0;
}

int tf_json_next(struct tf_json_reader *r, enum tf_json_kind *kind, struct tf_err *err)
{
    tf_buf_clear(&r->text);
    skip_space(r);
    if (r->state == AFTER && r->depth == 0) {
        *kind = TF_JSON_END;
        return r->p == r->end ? 0 : bad(r, err, "text after the value");
    }
    if (r->p == r->end)
        return bad(r, err, "the text ends within a value");
    bool object = r->depth > 0 && r->stack[r->depth - 1] == '{';
    if (r->state == AFTER && *r->p == ',') {
        r->p++;
        skip_space(r);
        if (r->p == r->end)
            return bad(r, err, "the text ends within a value");
        r->state = object ? KEY : VALUE;
    } else if (r->state == AFTER || r->state == FIRST_KEY || r->state == FIRST_VALUE) {
        if (*r->p == (object ? '}' : ']')) {
            r->p++;
            r->depth--;
            r->state = AFTER;
            *kind = object ? TF_JSON_OBJECT_END : TF_JSON_ARRAY_END;
            return 0;
        }
        if (r->state == AFTER)
            return bad(r, err, "neither a comma nor a closing bracket");
    }
    return r->state == KEY || r->state == FIRST_KEY ? read_key(r, kind, err)
                                                    : read_value(r, kind, err);
}

int tf_json_more(struct tf_json_reader *r, enum tf_json_kind *kind, struct tf_err *err)
{
    if (tf_json_next(r, kind, err) != 0)
        return -1;
    return *kind != TF_JSON_ARRAY_END && *kind != TF_JSON_OBJECT_END;
}

int tf_json_expect(struct tf_json_reader *r, enum tf_json_kind kind, const char *what,
                   struct tf_err *err)
{
    enum tf_json_kind is;
    if (tf_json_next(r, &is, err) != 0)
        return -1;
    return is == kind ? 0 : tf_fail(err, "%s", what);
}

int tf_json_skip(struct tf_json_reader *r, struct tf_err *err)
{
    enum tf_json_kind kind;
    const int depth = r->depth;
    const bool nul = r->nul;
    int rc;
    r->nul = true;
    do
        rc = tf_json_next(r, &kind, err);
    while (rc == 0 && r->depth > depth);
    r->nul = nul;
    return rc;
}
