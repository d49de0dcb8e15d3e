/* json.c - values to JSON and back. */
#include "cbor/json.h"
#include "base/memory.h"

#include "base/hash.h"
#include "base/parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- to JSON ---- */

void tf_json_hex(struct tf_json *j, const void *p, size_t n)
{
    char *s = tf_xmalloc(2 * n + 1);
    tf_json_str(j, tf_hex(s, p, n));
    free(s);
}

/* With TF_JSON_EXACT a real has a point or an exponent: 1.0, not 1. */
static void put_real(struct tf_json *j, double x, enum tf_json_style style)
{
    char s[40];
    if (style == TF_JSON_PLAIN) {
        tf_json_real(j, x);
        return;
    }
    if (!isfinite(x)) {
        tf_json_open(j, '{');
        tf_json_put_str(j, "$real", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        tf_json_close(j, '}');
        return;
    }
    char digits[32];
    tf_format_real(digits, x);
    snprintf(s, sizeof s, "%s%s", digits, strpbrk(digits, ".e") != NULL ? "" : ".0");
    tf_json_raw(j, s);
}

static void put_value(struct tf_json *j, const struct tf_value *v, enum tf_json_style style,
                      const char *parent, const char *key)
{
    switch (v->kind) {
    case TF_NULL:
        tf_json_null(j);
        break;
    case TF_BOOL:
        tf_json_bool(j, v->boolean);
        break;
    case TF_INT:
        tf_json_int(j, v->integer);
        break;
    case TF_REAL:
        put_real(j, v->real, style);
        break;
    case TF_TEXT:
        tf_json_strn(j, v->text, v->n);
        break;
    case TF_BYTES:
        if (style == TF_JSON_PLAIN || (v->n == 32 && tf_value_is_hash_key(parent, key))) {
            tf_json_hex(j, v->text, v->n);
            break;
        }
        tf_json_open(j, '{');
        tf_json_key(j, "$hex");
        tf_json_hex(j, v->text, v->n);
        tf_json_close(j, '}');
        break;
    case TF_ARRAY:
        tf_json_open(j, '[');
        for (size_t i = 0; i < v->n; i++)
            put_value(j, &v->items[i], style, key, "");
        tf_json_close(j, ']');
        break;
    case TF_MAP:
        tf_json_open(j, '{');
        for (size_t i = 0; i < v->n; i++) {
            tf_json_key(j, v->keys[i]);
            put_value(j, &v->items[i], style, key, v->keys[i]);
        }
        tf_json_close(j, '}');
        break;
    }
}

void tf_value_to_json(struct tf_json *j, const struct tf_value *v, enum tf_json_style style)
{
    put_value(j, v, style, "", "");
}

void tf_json_put_value(struct tf_json *j, const char *key, const struct tf_value *v,
                       enum tf_json_style style)
{
    tf_json_key(j, key);
    tf_value_to_json(j, v, style);
}

/* ---- from JSON ---- */

bool tf_special_real(const char *s, double *x)
{
    *x = strcmp(s, "nan") == 0 ? NAN : strcmp(s, "inf") == 0 ? INFINITY : -INFINITY;
    return isnan(*x) || *x > 0 || strcmp(s, "-inf") == 0;
}

int tf_value_from_hex(struct tf_value *v, struct tf_arena *a, const char *s, size_t n,
                      struct tf_err *err)
{
    static const char digits[] = "0123456789abcdef";
    char *p = tf_arena_alloc(a, n / 2 + 1);
    for (size_t i = 0; i < n; i++) {
        const char *d = memchr(digits, s[i], 16);
        if (d == NULL || n % 2)
            return tf_fail(err, "not lower-case hex digits in pairs");
        p[i / 2] = (char)(i % 2 ? (p[i / 2] | (d - digits)) : (d - digits) << 4);
    }
    *v = tf_value_bytes(a, p, n / 2);
    return 0;
}

static int read_value(struct tf_json_values *l, enum tf_json_kind k, struct tf_value *v,
                      const char *parent, const char *key, struct tf_err *err);

char *tf_json_text(const struct tf_json_reader *r, struct tf_arena *a)
{
    return tf_arena_strndup(a, r->text.p, r->text.len);
}

/* The pairs of one object, in the order of the text. */
struct pairs {
    struct tf_value_pair *v;
    size_t n, cap;
};

static int read_pairs(struct tf_json_values *l, struct pairs *p, const char *key,
                      struct tf_err *err)
{
    enum tf_json_kind k;
    int rc;
    while ((rc = tf_json_more(l->r, &k, err)) > 0) {
        const char *name = tf_json_text(l->r, l->a);
        struct tf_value x;
        if (tf_json_next(l->r, &k, err) != 0 || read_value(l, k, &x, key, name, err) != 0)
            return -1;
        if (p->n == TF_MAX_VALUES)
            return tf_fail(err, "%s: more than %d keys", key, TF_MAX_VALUES);
        TF_GROW(p->v, p->n, p->cap);
        p->v[p->n++] = (struct tf_value_pair){name, x};
    }
    return rc;
}

/* An object: a map or, with TF_JSON_EXACT, one of {"$hex": ...} and {"$real": ...}. */
static TF_NOINLINE int read_object(struct tf_json_values *l, struct tf_value *v, const char *key,
                                   struct tf_err *err)
{
    struct pairs p = {0};
    int rc = read_pairs(l, &p, key, err);
    const char *twice = rc == 0 ? tf_value_from_pairs(l->a, v, p.v, p.n) : NULL;
    free(p.v);
    if (twice != NULL)
        return tf_fail(err, "%s: twice", twice);
    if (rc || l->style == TF_JSON_PLAIN || v->n != 1 || v->items[0].kind != TF_TEXT)
        return rc;
    const char *text = v->items[0].text;
    if (strcmp(v->keys[0], "$hex") == 0)
        return tf_value_from_hex(v, l->a, text, v->items[0].n, err);
    double d;
    if (strcmp(v->keys[0], "$real") == 0 && tf_special_real(text, &d))
        *v = tf_value_real(d);
    return 0;
}

/* -0 is a real with TF_JSON_EXACT: no integer has a sign of zero. */
static int read_number(const struct tf_json_values *l, struct tf_value *v, const char *key,
                       struct tf_err *err)
{
    const struct tf_json_reader *r = l->r;
    bool fits = r->is_int && r->uint <= (uint64_t)INT64_MAX + r->negative;
    if (l->style == TF_JSON_EXACT && r->whole) {
        if (!fits)
            return tf_fail(err, "%s: an integer beyond 64 bits with sign", key);
        fits = !r->negative || r->uint > 0;
    }
    *v = fits ? (struct tf_value){.kind = TF_INT,
                                  .integer = (int64_t)(r->negative ? 0 - r->uint : r->uint)}
              : (struct tf_value){.kind = TF_REAL, .real = r->real};
    return 0;
}

/* Not inlined, as the two for arrays and objects, so that a number costs no canary. */
static TF_NOINLINE void read_string(struct tf_json_values *l, struct tf_value *v,
                                    const char *parent, const char *key)
{
    if (l->style == TF_JSON_EXACT && l->r->text.len == 64 && tf_value_is_hash_key(parent, key) &&
        strcmp(key, "$hex") != 0) {
        struct tf_err quiet = {0};
        if (tf_value_from_hex(v, l->a, l->r->text.p, l->r->text.len, &quiet) == 0)
            return;
    }
    *v = (struct tf_value){.kind = TF_TEXT, .n = l->r->text.len, .text = tf_json_text(l->r, l->a)};
}

/* The values of one array. */
struct items {
    struct tf_value *v;
    size_t n, cap;
};

static int read_items(struct tf_json_values *l, struct items *items, const char *key,
                      struct tf_err *err)
{
    enum tf_json_kind k; /* here, not in the loop, so that the compiler's hardening */
    struct tf_value x;   /* zeroes them once, not for each element */
    int rc;
    while ((rc = tf_json_more(l->r, &k, err)) > 0) {
        if (read_value(l, k, &x, key, "", err) != 0)
            return -1;
        TF_GROW(items->v, items->n, items->cap);
        items->v[items->n++] = x;
    }
    return rc;
}

static TF_NOINLINE int read_array(struct tf_json_values *l, struct tf_value *v, const char *key,
                                  struct tf_err *err)
{
    struct items items = {0};
    int rc = read_items(l, &items, key, err);
    if (rc == 0)
        *v = tf_value_from_items(l->a, items.v, items.n);
    free(items.v);
    return rc;
}

static int read_value(struct tf_json_values *l, enum tf_json_kind k, struct tf_value *v,
                      const char *parent, const char *key, struct tf_err *err)
{
    if (++l->n > l->max)
        return tf_fail(err, "%s: more than %zu values", key, l->max);
    switch (k) {
    case TF_JSON_NULL:
        *v = (struct tf_value){.kind = TF_NULL};
        return 0;
    case TF_JSON_BOOL:
        *v = (struct tf_value){.kind = TF_BOOL, .boolean = l->r->boolean};
        return 0;
    case TF_JSON_NUMBER:
        return read_number(l, v, key, err);
    case TF_JSON_STRING:
        read_string(l, v, parent, key);
        return 0;
    case TF_JSON_ARRAY:
        return read_array(l, v, key, err);
    case TF_JSON_OBJECT:
        return read_object(l, v, key, err);
    default:
        return tf_fail(err, "%s: not a value", key);
    }
}

int tf_value_from_json(struct tf_json_values *l, enum tf_json_kind first, const char *key,
                       struct tf_value *v, struct tf_err *err)
{
    return read_value(l, first, v, "", key, err);
}

int tf_value_from_json_text(struct tf_value *v, struct tf_arena *a, const char *text, size_t n,
                            enum tf_json_style style, const char *what, struct tf_err *err)
{
    struct tf_json_reader r;
    struct tf_json_values l = {.r = &r, .a = a, .max = TF_MAX_VALUES, .style = style};
    enum tf_json_kind k;
    tf_json_read(&r, text, n);
    int rc = tf_json_next(&r, &k, err) != 0 || tf_value_from_json(&l, k, what, v, err) != 0 ||
                     tf_json_next(&r, &k, err) != 0 /* nothing may follow */
                 ? -1
                 : 0;
    tf_json_read_release(&r);
    return rc;
}
