/* json.c - CBOR values as JSON and back. */
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

/* A real that stays one: 1.0, not 1. */
static void put_double(struct tf_json *j, double x)
{
    char s[40];
    if (!isfinite(x)) {
        tf_json_open(j, '{');
        tf_json_put_str(j, "$real", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        tf_json_close(j, '}');
        return;
    }
    char digits[32];
    tf_format_real(digits, x);
    snprintf(s, sizeof s, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
    tf_json_raw(j, s);
}

static void put_value(struct tf_json *j, const struct tf_value *v, const char *parent,
                      const char *key)
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
        put_double(j, v->real);
        break;
    case TF_TEXT:
        tf_json_strn(j, v->text, v->n);
        break;
    case TF_BYTES:
        if (v->n == 32 && tf_value_is_hash_key(parent, key)) {
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
            put_value(j, &v->items[i], key, "");
        tf_json_close(j, ']');
        break;
    case TF_MAP:
        tf_json_open(j, '{');
        for (size_t i = 0; i < v->n; i++) {
            tf_json_key(j, v->keys[i]);
            put_value(j, &v->items[i], key, v->keys[i]);
        }
        tf_json_close(j, '}');
        break;
    }
}

void tf_value_to_json(struct tf_json *j, const struct tf_value *v)
{
    put_value(j, v, "", "");
}

/* ---- from JSON ---- */

bool tf_special_real(const char *s, double *x)
{
    *x = !strcmp(s, "nan") ? NAN : !strcmp(s, "inf") ? INFINITY : -INFINITY;
    return isnan(*x) || *x > 0 || !strcmp(s, "-inf");
}

int tf_value_from_hex(struct tf_value *v, struct tf_arena *a, const char *s, struct tf_err *err)
{
    size_t n = strlen(s);
    char *p = tf_arena_alloc(a, n / 2 + 1);
    for (size_t i = 0; i < n; i++) {
        const char *digits = "0123456789abcdef", *d = strchr(digits, s[i]);
        if (!d || n % 2)
            return tf_fail(err, "not lower-case hex digits in pairs");
        p[i / 2] = (char)(i % 2 ? (p[i / 2] | (d - digits)) : (d - digits) << 4);
    }
    *v = tf_value_bytes(a, p, n / 2);
    return 0;
}

static int read_value(struct tf_json_values *l, enum tf_json_kind k, struct tf_value *v,
                      const char *parent, const char *key, struct tf_err *err);

int tf_json_text(const struct tf_json_values *l, char **s, struct tf_err *err)
{
    *s = tf_arena_strndup(l->a, l->r->text.p, l->r->text.len);
    return memchr(*s, 0, l->r->text.len) ? tf_fail(err, "text with NUL") : 0;
}

/* An object: a map, or one of the wrappers {"$hex": ...} and {"$real": ...}. */
static int read_object(struct tf_json_values *l, struct tf_value *v, const char *key,
                       struct tf_err *err)
{
    enum tf_json_kind k;
    *v = tf_value_map();
    for (;;) {
        if (tf_json_next(l->r, &k, err))
            return -1;
        if (k == TF_JSON_OBJECT_END)
            break;
        char *name;
        struct tf_value x;
        if (tf_json_text(l, &name, err) || tf_json_next(l->r, &k, err) ||
            read_value(l, k, &x, key, name, err))
            return -1;
        if (tf_value_get(v, name))
            return tf_fail(err, "%s: twice", name);
        if (v->n == TF_MAX_VALUES)
            return tf_fail(err, "%s: more than %d keys", key, TF_MAX_VALUES);
        tf_value_put(l->a, v, name, x);
    }
    if (v->n != 1 || v->items[0].kind != TF_TEXT)
        return 0;
    const char *text = v->items[0].text;
    if (!strcmp(v->keys[0], "$hex"))
        return tf_value_from_hex(v, l->a, text, err);
    double d;
    if (!strcmp(v->keys[0], "$real") && tf_special_real(text, &d))
        *v = tf_value_real(d);
    return 0;
}

static int read_value(struct tf_json_values *l, enum tf_json_kind k, struct tf_value *v,
                      const char *parent, const char *key, struct tf_err *err)
{
    if (++l->n > l->max)
        return tf_fail(err, "%s: more than %zu values in a line", key, l->max);
    switch (k) {
    case TF_JSON_NULL:
        *v = tf_value_null();
        return 0;
    case TF_JSON_BOOL:
        *v = tf_value_bool(l->r->boolean);
        return 0;
    case TF_JSON_NUMBER:
        if (l->r->is_int && !(l->r->negative && l->r->uint == 0)) {
            if (l->r->uint > (uint64_t)INT64_MAX + l->r->negative)
                return tf_fail(err, "%s: an integer beyond 64 bits with sign", key);
            *v = tf_value_int((int64_t)(l->r->negative ? 0 - l->r->uint : l->r->uint));
        } else {
            *v = tf_value_real(l->r->real);
        }
        return 0;
    case TF_JSON_STRING: {
        char *text;
        if (l->r->text.len == 64 && tf_value_is_hash_key(parent, key)) {
            struct tf_err quiet = {0};
            if (!tf_value_from_hex(v, l->a, l->r->text.p, &quiet))
                return 0;
        }
        if (tf_json_text(l, &text, err))
            return -1;
        *v = (struct tf_value){.kind = TF_TEXT, .n = l->r->text.len, .text = text};
        return 0;
    }
    case TF_JSON_ARRAY:
        *v = tf_value_array();
        for (;;) {
            struct tf_value x;
            if (tf_json_next(l->r, &k, err))
                return -1;
            if (k == TF_JSON_ARRAY_END)
                return 0;
            if (read_value(l, k, &x, key, "", err))
                return -1;
            tf_value_push(l->a, v, x);
        }
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
