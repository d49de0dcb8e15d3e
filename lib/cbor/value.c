/* value.c - CBOR values as trees in an arena: construction, look-up, encoding, decoding. */
#include "cbor/value.h"

#include "base/bits.h"
#include "base/order.h"
#include "base/memory.h"
#include "cbor/cursor.h"
#include "cbor/encode.h"
#include "cbor/head.h"
#include "cbor/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tf_value tf_value_null(void)
{
    return (struct tf_value){.kind = TF_NULL};
}

struct tf_value tf_value_bool(bool x)
{
    return (struct tf_value){.kind = TF_BOOL, .boolean = x};
}

struct tf_value tf_value_int(int64_t x)
{
    return (struct tf_value){.kind = TF_INT, .integer = x};
}

struct tf_value tf_value_real(double x)
{
    return (struct tf_value){.kind = TF_REAL, .real = x};
}

struct tf_value tf_value_str(struct tf_arena *a, const char *s)
{
    size_t n = strlen(s);
    return (struct tf_value){.kind = TF_TEXT, .text = tf_arena_strndup(a, s, n), .n = n};
}

struct tf_value tf_value_bytes(struct tf_arena *a, const void *p, size_t n)
{
    char *to = tf_arena_alloc(a, n + 1);
    if (n)
        memcpy(to, p, n);
    to[n] = 0;
    return (struct tf_value){.kind = TF_BYTES, .text = to, .n = n};
}

struct tf_value tf_value_array(void)
{
    return (struct tf_value){.kind = TF_ARRAY};
}

struct tf_value tf_value_map(void)
{
    return (struct tf_value){.kind = TF_MAP};
}

/* Move an array or map to new memory for so many values. */
static void set_room(struct tf_arena *a, struct tf_value *v, size_t room)
{
    struct tf_value *items = tf_arena_alloc(a, room * sizeof *items);
    if (v->n)
        memcpy(items, v->items, v->n * sizeof *items);
    v->items = items;
    if (v->kind == TF_MAP) {
        const char **keys = tf_arena_alloc(a, room * sizeof *keys);
        if (v->n)
            memcpy(keys, v->keys, v->n * sizeof *keys);
        v->keys = keys;
    }
    TF_ASSERT(room <= UINT32_MAX);
    v->room = (uint32_t)room;
}

static void make_room(struct tf_arena *a, struct tf_value *v)
{
    if (v->n == v->room)
        set_room(a, v, v->n ? 2 * v->n : 1);
}

int tf_key_order(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    return n != m ? (n < m ? -1 : 1) : memcmp(a, b, n);
}

/* Returns the index of a key, or the one at which to insert it. */
static size_t key_place(const struct tf_value *map, const char *key, bool *found)
{
    size_t i;
    TF_FIRST(i, 0, map->n, tf_key_order(map->keys[i], key) >= 0);
    *found = i < map->n && strcmp(map->keys[i], key) == 0;
    return i;
}

void tf_value_put(struct tf_arena *a, struct tf_value *map, const char *key, struct tf_value v)
{
    bool found;
    TF_ASSERT(map->kind == TF_MAP);
    size_t at = key_place(map, key, &found);
    if (found) {
        map->items[at] = v;
        return;
    }
    make_room(a, map);
    memmove(map->items + at + 1, map->items + at, (map->n - at) * sizeof *map->items);
    memmove(map->keys + at + 1, map->keys + at, (map->n - at) * sizeof *map->keys);
    map->items[at] = v;
    map->keys[at] = tf_arena_strndup(a, key, strlen(key));
    map->n++;
}

void tf_value_put_uint(struct tf_arena *a, struct tf_value *map, const char *key, uint64_t x)
{
    tf_value_put(a, map, key, tf_value_int((int64_t)x));
}

void tf_value_push(struct tf_arena *a, struct tf_value *array, struct tf_value v)
{
    TF_ASSERT(array->kind == TF_ARRAY);
    make_room(a, array);
    array->items[array->n++] = v;
}

static int pair_order(const void *x, const void *y)
{
    return tf_key_order(((const struct tf_value_pair *)x)->key,
                        ((const struct tf_value_pair *)y)->key);
}

const char *tf_value_from_pairs(struct tf_arena *a, struct tf_value *map,
                                struct tf_value_pair *pairs, size_t n)
{
    *map = tf_value_map();
    if (n == 0)
        return NULL;
    qsort(pairs, n, sizeof *pairs, pair_order);
    set_room(a, map, n);
    for (; map->n < n; map->n++) {
        if (map->n && strcmp(pairs[map->n].key, pairs[map->n - 1].key) == 0)
            return pairs[map->n].key;
        map->keys[map->n] = pairs[map->n].key;
        map->items[map->n] = pairs[map->n].value;
    }
    return NULL;
}

struct tf_value tf_value_from_items(struct tf_arena *a, const struct tf_value *items, size_t n)
{
    struct tf_value array = tf_value_array();
    if (n == 0)
        return array;
    set_room(a, &array, n);
    memcpy(array.items, items, n * sizeof *items);
    array.n = n;
    return array;
}

const struct tf_value *tf_value_get(const struct tf_value *map, const char *key)
{
    bool found;
    if (map == NULL || map->kind != TF_MAP)
        return NULL;
    size_t at = key_place(map, key, &found);
    return found ? &map->items[at] : NULL;
}

const struct tf_value *tf_value_find(const struct tf_value *map, const char *key,
                                     enum tf_value_kind kind)
{
    const struct tf_value *v = tf_value_get(map, key);
    return v != NULL && v->kind == kind ? v : NULL;
}

struct tf_value tf_value_clone(struct tf_arena *a, const struct tf_value *v)
{
    struct tf_value c = *v;
    switch (v->kind) {
    case TF_TEXT:
    case TF_BYTES:
        c.text = tf_value_bytes(a, v->text, v->n).text;
        break;
    case TF_ARRAY:
    case TF_MAP:
        c = (struct tf_value){.kind = v->kind};
        if (v->n == 0)
            break;
        set_room(a, &c, v->n);
        for (; c.n < v->n; c.n++) {
            c.items[c.n] = tf_value_clone(a, &v->items[c.n]);
            if (v->kind == TF_MAP)
                c.keys[c.n] = tf_arena_strndup(a, v->keys[c.n], strlen(v->keys[c.n]));
        }
        break;
    default:
        break;
    }
    return c;
}

bool tf_value_equal(const struct tf_value *a, const struct tf_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case TF_NULL:
        return true;
    case TF_BOOL:
        return a->boolean == b->boolean;
    case TF_INT:
        return a->integer == b->integer;
    case TF_REAL:
        return (isnan(a->real) && isnan(b->real)) || tf_load64(&a->real) == tf_load64(&b->real);
    case TF_TEXT:
    case TF_BYTES:
        return a->n == b->n && (a->n == 0 || memcmp(a->text, b->text, a->n) == 0);
    case TF_ARRAY:
    case TF_MAP:
        if (a->n != b->n)
            return false;
        for (size_t i = 0; i < a->n; i++)
            if ((a->kind == TF_MAP && strcmp(a->keys[i], b->keys[i]) != 0) ||
                !tf_value_equal(&a->items[i], &b->items[i]))
                return false;
        return true;
    }
    TF_BUG("kind %d", (int)a->kind);
}

/* ---- typed look-up ---- */

int tf_value_int_of(const struct tf_value *map, const char *key, int64_t lo, int64_t hi,
                    int64_t *out, struct tf_err *err)
{
    const struct tf_value *v = tf_value_get(map, key);
    if (v == NULL)
        return 1;
    if (v->kind != TF_INT)
        return tf_fail(err, "%s: not an integer", key);
    if (v->integer < lo)
        return tf_fail(err, "%s: %lld: too small, minimum %lld", key, (long long)v->integer,
                       (long long)lo);
    if (v->integer > hi)
        return tf_fail(err, "%s: %lld: too large, maximum %lld", key, (long long)v->integer,
                       (long long)hi);
    *out = v->integer;
    return 0;
}

int tf_value_real_of(const struct tf_value *map, const char *key, double lo, double hi, double *out,
                     struct tf_err *err)
{
    const struct tf_value *v = tf_value_get(map, key);
    if (v == NULL)
        return 1;
    if (v->kind != TF_REAL && v->kind != TF_INT)
        return tf_fail(err, "%s: not a number", key);
    double x = v->kind == TF_INT ? (double)v->integer : v->real;
    if (isnan(x))
        return tf_fail(err, "%s: not a number", key);
    if (x < lo)
        return tf_fail(err, "%s: %g: too small, minimum %g", key, x, lo);
    if (x > hi)
        return tf_fail(err, "%s: %g: too large, maximum %g", key, x, hi);
    *out = x;
    return 0;
}

int tf_value_bool_of(const struct tf_value *map, const char *key, bool *out, struct tf_err *err)
{
    const struct tf_value *v = tf_value_get(map, key);
    if (v == NULL)
        return 1;
    if (v->kind != TF_BOOL)
        return tf_fail(err, "%s: not true or false", key);
    *out = v->boolean;
    return 0;
}

int tf_value_text_of(const struct tf_value *map, const char *key, const char **out,
                     struct tf_err *err)
{
    const struct tf_value *v = tf_value_get(map, key);
    if (v == NULL)
        return 1;
    if (v->kind != TF_TEXT)
        return tf_fail(err, "%s: not text", key);
    *out = v->text;
    return 0;
}

int tf_value_sha_of(const struct tf_value *map, const char *key, uint8_t out[32],
                    struct tf_err *err)
{
    const struct tf_value *v = tf_value_get(map, key);
    if (v == NULL)
        return 1;
    if (v->kind != TF_BYTES || v->n != 32)
        return tf_fail(err, "%s: not a SHA-256", key);
    memcpy(out, v->text, 32);
    return 0;
}

/* ---- encoding ---- */

bool tf_value_is_hash_key(const char *parent, const char *key)
{
    size_t n = strlen(key);
    return (n >= 6 && strcmp(key + n - 6, "sha256") == 0) || strcmp(key, "vocab") == 0 ||
           strcmp(key, "model") == 0 || strcmp(key, "corpus") == 0 || strcmp(parent, "in") == 0;
}

static void encode(struct tf_buf *b, const struct tf_value *v, const char *parent, const char *key)
{
    switch (v->kind) {
    case TF_NULL:
        tf_cbor_null(b);
        break;
    case TF_BOOL:
        tf_cbor_bool(b, v->boolean);
        break;
    case TF_INT:
        tf_cbor_int(b, v->integer);
        break;
    case TF_REAL:
        tf_cbor_real(b, v->real);
        break;
    case TF_TEXT:
        tf_cbor_text(b, v->text, v->n);
        break;
    case TF_BYTES:
        if (v->n == 32 && tf_value_is_hash_key(parent, key))
            tf_cbor_tag(b, TF_TAG_SHA256);
        tf_cbor_bytes(b, v->text, v->n);
        break;
    case TF_ARRAY:
        tf_cbor_array(b, v->n);
        for (size_t i = 0; i < v->n; i++)
            encode(b, &v->items[i], key, "");
        break;
    case TF_MAP:
        tf_cbor_map(b, v->n);
        for (size_t i = 0; i < v->n; i++) {
            tf_cbor_str(b, v->keys[i]);
            encode(b, &v->items[i], key, v->keys[i]);
        }
        break;
    }
}

void tf_cbor_value(struct tf_buf *b, const struct tf_value *v)
{
    encode(b, v, "", "");
}

/* ---- decoding ---- */

struct parse {
    struct tf_cbor_cursor c;
    struct tf_arena *a;
    size_t nodes;
};

static const char *parse_value(struct parse *p, struct tf_value *v, int depth);

static const char *parse_array(struct parse *p, struct tf_value *v, uint64_t n, int depth)
{
    *v = tf_value_array();
    if (n == 0)
        return NULL;
    set_room(p->a, v, (size_t)n);
    for (; v->n < n; v->n++) {
        const char *why = parse_value(p, &v->items[v->n], depth);
        if (why != NULL)
            return why;
    }
    return NULL;
}

static const char *parse_pairs(struct parse *p, struct tf_value_pair *pairs, uint64_t n, int depth)
{
    for (uint64_t i = 0; i < n; i++) {
        const char *s;
        size_t len;
        const char *why = tf_cursor_text(&p->c, &s, &len);
        if (why != NULL)
            return "a map key that is not text";
        pairs[i].key = tf_arena_strndup(p->a, s, len);
        why = parse_value(p, &pairs[i].value, depth);
        if (why != NULL)
            return why;
    }
    return NULL;
}

static const char *parse_map(struct parse *p, struct tf_value *v, uint64_t n, int depth)
{
    struct tf_value_pair *pairs = tf_xarray(NULL, (size_t)n, sizeof *pairs);
    const char *why = parse_pairs(p, pairs, n, depth);
    if (why == NULL && tf_value_from_pairs(p->a, v, pairs, (size_t)n) != NULL)
        why = "a map key twice";
    free(pairs);
    return why;
}

static const char *parse_string(struct parse *p, struct tf_value *v, bool is_text)
{
    const char *text = NULL, *why;
    const uint8_t *bytes = NULL;
    size_t n;
    why = is_text ? tf_cursor_text(&p->c, &text, &n) : tf_cursor_bytes(&p->c, &bytes, &n);
    if (why != NULL)
        return why;
    *v = tf_value_bytes(p->a, is_text ? (const void *)text : bytes, n);
    v->kind = is_text ? TF_TEXT : TF_BYTES;
    return NULL;
}

/* Major type 7: a float, true, false or null. */
static const char *parse_simple(struct parse *p, struct tf_value *v, const struct tf_head *h)
{
    if (h->info >= 25) {
        double x = 0;
        const char *why = tf_cursor_real(&p->c, &x);
        *v = tf_value_real(x);
        return why;
    }
    if (h->info < 20 || h->info == 24)
        return "malformed";
    if (h->info == 23)
        return "a value of an unknown kind"; /* undefined */
    *v = h->info == 22 ? tf_value_null() : tf_value_bool(h->info == 21);
    p->c.p++;
    return NULL;
}

static const char *parse_value(struct parse *p, struct tf_value *v, int depth)
{
    struct tf_head h;
    int k = tf_head_read(p->c.p, (size_t)(p->c.end - p->c.p), &h);
    if (k == 0)
        return "cut short";
    if (k < 0)
        return tf_head_fault(*p->c.p);
    if (++p->nodes > TF_MAX_VALUES)
        return "too many values";
    if (h.major >= TF_MAJOR_ARRAY && h.major <= TF_MAJOR_TAG && depth == TF_CBOR_DEPTH)
        return "nested too deeply";
    switch (h.major) {
    case TF_MAJOR_UINT:
    case TF_MAJOR_NEGINT:
        if (h.val > (uint64_t)INT64_MAX)
            return "an integer beyond 64 bits with sign";
        *v = tf_value_int(h.major == TF_MAJOR_UINT ? (int64_t)h.val : -1 - (int64_t)h.val);
        p->c.p += k;
        return NULL;
    case TF_MAJOR_BYTES:
    case TF_MAJOR_TEXT:
        return parse_string(p, v, h.major == TF_MAJOR_TEXT);
    case TF_MAJOR_SIMPLE:
        return parse_simple(p, v, &h);
    default:
        break;
    }
    p->c.p += k;
    if (h.major == TF_MAJOR_TAG)
        return parse_value(p, v, depth + 1);
    uint64_t items = (uint64_t)(p->c.end - p->c.p) / (h.major == TF_MAJOR_MAP ? 2 : 1);
    if (h.val > items || h.val > TF_MAX_VALUES)
        return "more items than bytes or than the limit";
    return (h.major == TF_MAJOR_MAP ? parse_map : parse_array)(p, v, h.val, depth + 1);
}

int tf_cbor_parse(struct tf_value *v, struct tf_arena *a, const void *p, size_t n,
                  struct tf_err *err)
{
    struct parse s = {.c = {.p = p, .end = (const uint8_t *)p + n}, .a = a};
    const char *why = parse_value(&s, v, 0);
    if (why == NULL && s.c.p != s.c.end)
        why = "bytes after the value";
    if (why != NULL)
        return tf_fail(err, "malformed value at byte %zu: %s", (size_t)(s.c.p - (const uint8_t *)p),
                       why);
    return 0;
}
