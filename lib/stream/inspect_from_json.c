/* inspect_from_json.c - records from JSON Lines, as inspect_to_json.c writes them, by their
 * schema. Lines may have been edited, removed or added; counts, checks and CRCs are computed
 * again. */
#include "base/bits.h"
#include "cbor/encode.h"
#include "cbor/json.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "stream/decode_private.h"
#include "stream/encode_private.h"
#include "stream/inspect.h"
#include "stream/writer.h"
#include "stream/writer_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 1 << 30 };

/* Values in a line besides data and weights: what the largest batch has, an index, two sentences
 * and the ids of both. */
static const size_t max_values = 5 * TF_MAX_IDS + TF_MAX_VALUES;

enum { NO_TYPE = -2 };
/* One line being read: its top-level keys; the data of a tensor and the weights of attention apart,
 * because they may be many. */
struct line {
    struct tf_json_reader r;
    struct tf_arena a;
    struct tf_json_values values;
    struct tf_value v;
    int type; /* of the record; NO_TYPE before the key was read, -1 for none of ours */
    struct tf_buf data;
    enum tf_dtype dtype;
    bool has_dtype, has_data, has_weights;
    bool early; /* data or weights came before a key that says how to read them */
};

struct from_json {
    struct tf_writer w;
    struct tf_out *out;
    const struct tf_inspect *how;
    struct tf_header h;
    struct tf_arena header_mem; /* also of the names */
    struct tf_value states;     /* MAP: the names of the part so far */
    struct tf_tensor *tensors;  /* of these only the names */
    size_t n_tensors;
    bool open;  /* between header and end */
    char *kind; /* of the first part; NULL: there was no header */
};

/* ---- tensors ---- */

static int cannot_hold(const struct line *l, struct tf_err *err)
{
    return tf_fail(err, "a number that %s can't hold", tf_dtype_name(l->dtype));
}

static int put_int(struct line *l, bool negative, uint64_t mag, struct tf_err *err)
{
    static const struct {
        uint64_t below, above; /* largest magnitudes */
    } range[] = {
        [TF_I8] = {128, 127},
        [TF_U8] = {0, 255},
        [TF_I32] = {(uint64_t)1 << 31, INT32_MAX},
        [TF_U32] = {0, UINT32_MAX},
        [TF_I64] = {(uint64_t)1 << 63, INT64_MAX},
        [TF_U64] = {0, UINT64_MAX},
    };
    if (mag > (negative ? range[l->dtype].below : range[l->dtype].above))
        return cannot_hold(l, err);
    uint64_t x = negative ? 0 - mag : mag;
    tf_buf_add(&l->data, &x, tf_dtype_size(l->dtype)); /* little-endian: the low bytes come first */
    return 0;
}

static int put_number(struct line *l, double x, struct tf_err *err)
{
    float f;
    uint16_t h;
    if (!tf_to_float(x, &f) && l->dtype != TF_F64)
        return cannot_hold(l, err);
    switch (l->dtype) {
    case TF_F64:
        tf_buf_add(&l->data, &x, 8);
        return 0;
    case TF_F32:
        tf_buf_add(&l->data, &f, 4);
        return 0;
    case TF_BF16:
        h = isnan(f) ? 0x7fc0 : (uint16_t)(tf_load32(&f) >> 16);
        if (!isnan(f) && (tf_load32(&f) & 0xffff))
            return cannot_hold(l, err);
        tf_buf_add(&l->data, &h, 2);
        return 0;
    case TF_F16:
        h = 0x7e00;
        if (!isnan(f) && !tf_half_exact(f, &h))
            return cannot_hold(l, err);
        tf_buf_add(&l->data, &h, 2);
        return 0;
    default:
        return tf_fail(err, "a fraction in a tensor of integers");
    }
}

/* Read an array of numbers of l->dtype, at most `most` bytes, into l->data. */
static int read_numbers(struct line *l, size_t most, struct tf_err *err)
{
    enum tf_json_kind k;
    double x;
    int rc;
    bool floats =
        l->dtype == TF_F32 || l->dtype == TF_F16 || l->dtype == TF_BF16 || l->dtype == TF_F64;
    if (tf_json_expect(&l->r, TF_JSON_ARRAY, "not an array", err) != 0)
        return -1;
    tf_buf_clear(&l->data);
    while ((rc = tf_json_more(&l->r, &k, err)) > 0) {
        if (l->data.len >= most)
            return tf_fail(err, "more than %zu bytes", most);
        if (k == TF_JSON_NUMBER && !floats && l->r.is_int) {
            if (put_int(l, l->r.negative, l->r.uint, err) != 0)
                return -1;
        } else if (k == TF_JSON_NUMBER && !floats && l->r.whole) {
            return cannot_hold(l, err);
        } else if (k == TF_JSON_NUMBER) {
            if (put_number(l, l->r.real, err) != 0)
                return -1;
        } else if (k == TF_JSON_STRING && floats && tf_special_real(l->r.text.p, &x)) {
            if (put_number(l, x, err) != 0)
                return -1;
        } else {
            return tf_fail(err, "not a number");
        }
    }
    return rc;
}

static int read_data(struct line *l, struct tf_err *err)
{
    l->has_data = true;
    return read_numbers(l, SIZE_MAX, err) != 0 ? tf_context(err, "data") : 0;
}

static int read_weights(struct line *l, struct tf_err *err)
{
    l->dtype = TF_F32;
    l->has_weights = true;
    return read_numbers(l, TF_MAX_RECORD, err) != 0 ? tf_context(err, "weights") : 0;
}

/* ---- fields ---- */

static int missing(const char *key, struct tf_err *err)
{
    return tf_fail(err, "%s: missing", key);
}

static int field_text(struct line *l, const char *key, const char **x, struct tf_err *err)
{
    int rc = tf_value_text_of(&l->v, key, x, err);
    return rc > 0 ? missing(key, err) : rc;
}

static int field_array(const struct tf_value *map, const char *key, const struct tf_value **x,
                       struct tf_err *err)
{
    *x = tf_value_find(map, key, TF_ARRAY);
    return *x != NULL ? 0 : tf_fail(err, "%s: not an array", key);
}

static int to_id(const struct tf_value *v, uint32_t *id, struct tf_err *err)
{
    if (v->kind != TF_INT || v->integer < 0 || v->integer > UINT32_MAX)
        return tf_fail(err, "an id that is not a 32-bit number");
    *id = (uint32_t)v->integer;
    return 0;
}

static int to_float(const struct tf_value *v, float *x, struct tf_err *err)
{
    double d = 0;
    if (v->kind == TF_INT)
        d = (double)v->integer;
    else if (v->kind == TF_REAL)
        d = v->real;
    else if (v->kind != TF_TEXT || !tf_special_real(v->text, &d))
        return tf_fail(err, "not a number");
    return tf_to_float(d, x) ? 0 : tf_fail(err, "a number that f32 can't hold");
}

/* Set a field of the struct at base from the map `from`. */
struct field {
    struct line *l;
    const struct tf_field *f;
    const struct tf_value *from;
    void *base;
};

static int get_fields(struct line *l, const struct tf_field *f, const struct tf_value *from,
                      void *base, struct tf_err *err);

static int get_ids(const struct field *x, struct tf_err *err)
{
    const struct tf_value *v;
    if (field_array(x->from, x->f->name, &v, err) != 0)
        return -1;
    uint32_t *ids = tf_arena_alloc(&x->l->a, 4 * v->n + 4);
    for (size_t i = 0; i < v->n; i++)
        if (to_id(&v->items[i], ids + i, err) != 0)
            return tf_context(err, "%s", x->f->name);
    *TF_MEMBER(const uint32_t *, x->base, x->f->at) = ids;
    *TF_MEMBER(size_t, x->base, x->f->n_at) = v->n;
    return 0;
}

/* Join lists of ids into one, with offsets. An earlier field has the number of sentences. */
static int get_packed(const struct field *x, struct tf_err *err)
{
    const struct tf_value *v;
    const char *name = x->f->name;
    size_t n = tf_field_count(x->f, x->base), total = 0;
    if (field_array(x->from, name, &v, err) != 0)
        return -1;
    if (v->n != n)
        return tf_fail(err, "%s: %zu sentences for %zu idx", name, v->n, n);
    for (size_t i = 0; i < n; i++) {
        if (v->items[i].kind != TF_ARRAY)
            return tf_fail(err, "%s: not arrays of ids", name);
        total += v->items[i].n;
    }
    if (total > x->f->max)
        return tf_fail(err, "%s: more than %zu ids", name, x->f->max);
    uint32_t *to = tf_arena_alloc(&x->l->a, 4 * total + 4);
    uint32_t *off = tf_arena_alloc(&x->l->a, 4 * n + 4);
    *TF_MEMBER(const uint32_t *, x->base, x->f->at) = to;
    *TF_MEMBER(const uint32_t *, x->base, x->f->flag_at) = off;
    off[0] = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < v->items[i].n; k++)
            if (to_id(&v->items[i].items[k], to++, err) != 0)
                return tf_context(err, "%s", name);
        off[i + 1] = off[i] + (uint32_t)v->items[i].n;
    }
    return 0;
}

static int get_floats(const struct field *x, struct tf_err *err)
{
    const struct tf_field *f = x->f;
    const struct tf_value *v;
    float *to;
    size_t n;
    if (f->flags & TF_BULK) {
        to = (float *)(void *)x->l->data.p;
        n = x->l->has_weights ? x->l->data.len / sizeof *to : 0;
    } else {
        if (field_array(x->from, f->name, &v, err) != 0)
            return -1;
        n = v->n;
        to = tf_arena_alloc(&x->l->a, 4 * n + 4);
        for (size_t i = 0; i < n; i++)
            if (to_float(&v->items[i], to + i, err) != 0)
                return tf_context(err, "%s", f->name);
    }
    *TF_MEMBER(const float *, x->base, f->at) = to;
    if (f->count == NULL)
        *TF_MEMBER(size_t, x->base, f->n_at) = n;
    return tf_field_check_floats(f, n, x->base, err);
}

static int get_texts(const struct field *x, struct tf_err *err)
{
    const struct tf_value *v;
    if (field_array(x->from, x->f->name, &v, err) != 0)
        return -1;
    const char **to = tf_arena_alloc(&x->l->a, v->n * sizeof *to + 1);
    for (size_t i = 0; i < v->n; i++) {
        if (v->items[i].kind != TF_TEXT)
            return tf_fail(err, "%s: not an array of text", x->f->name);
        to[i] = v->items[i].text;
    }
    *TF_MEMBER(const char *const *, x->base, x->f->at) = to;
    *TF_MEMBER(size_t, x->base, x->f->n_at) = v->n;
    return v->n > x->f->max
               ? tf_fail(err, "%s: %zu in one record, at most %zu", x->f->name, v->n, x->f->max)
               : 0;
}

static int get_structs(const struct field *x, struct tf_err *err)
{
    const struct tf_value *v;
    if (field_array(x->from, x->f->name, &v, err) != 0)
        return -1;
    char *to = tf_arena_zalloc(&x->l->a, v->n * x->f->size + 1);
    for (size_t i = 0; i < v->n; i++)
        if (get_fields(x->l, x->f->fields, &v->items[i], to + i * x->f->size, err) != 0)
            return tf_context(err, "%s %zu", x->f->name, i);
    *TF_MEMBER(const void *, x->base, x->f->at) = to;
    *TF_MEMBER(size_t, x->base, x->f->n_at) = v->n;
    return 0;
}

static int get_field(const struct field *x, struct tf_err *err)
{
    const struct tf_field *f = x->f;
    const struct tf_value *v = tf_value_get(x->from, f->name);
    int64_t n = 0;
    int rc;
    switch (f->type) {
    case TF_FIELD_UINT:
    case TF_FIELD_CODE:
        rc = f->type == TF_FIELD_CODE ? tf_value_int_of(x->from, f->name, 1, INT32_MAX, &n, err)
                                      : tf_value_int_of(x->from, f->name, 0, INT64_MAX, &n, err);
        if (f->type == TF_FIELD_CODE)
            *TF_MEMBER(int, x->base, f->at) = (int)n;
        else
            *TF_MEMBER(uint64_t, x->base, f->at) = (uint64_t)n;
        if (f->flags & TF_OPTIONAL)
            *TF_MEMBER(bool, x->base, f->flag_at) = rc == 0;
        return rc > 0 ? missing(f->name, err) : rc;
    case TF_FIELD_TEXT:
        rc = tf_value_text_of(x->from, f->name, TF_MEMBER(const char *, x->base, f->at), err);
        return rc > 0 ? missing(f->name, err) : rc;
    case TF_FIELD_FLOAT:
        if (v == NULL)
            return missing(f->name, err);
        return to_float(v, TF_MEMBER(float, x->base, f->at), err) != 0
                   ? tf_context(err, "%s", f->name)
                   : 0;
    case TF_FIELD_SHA256:
        *TF_MEMBER(bool, x->base, f->flag_at) = true;
        return tf_value_sha_of(x->from, f->name, TF_MEMBER(uint8_t, x->base, f->at), err);
    case TF_FIELD_IDS:
        return get_ids(x, err);
    case TF_FIELD_PACKED:
        return get_packed(x, err);
    case TF_FIELD_FLOATS:
        return get_floats(x, err);
    case TF_FIELD_TEXTS:
        return get_texts(x, err);
    case TF_FIELD_STRUCTS:
        return get_structs(x, err);
    case TF_FIELD_MAP:
        return get_fields(x->l, f->fields, x->from, x->base, err);
    case TF_FIELD_VALUE:
        *TF_MEMBER(const struct tf_value *, x->base, f->at) = v;
        return v != NULL ? 0 : missing(f->name, err);
    default: /* offsets are set with their ids; CRCs are computed */
        return 0;
    }
}

static int get_fields(struct line *l, const struct tf_field *f, const struct tf_value *from,
                      void *base, struct tf_err *err)
{
    for (; f->name != NULL; f++) {
        const struct tf_value *v = tf_value_get(from, f->name);
        if ((f->flags & TF_OPTIONAL) && (v == NULL || v->kind == TF_NULL))
            continue;
        if (get_field(&(struct field){l, f, from, base}, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- records ---- */

/* Refuse a state whose value a reader would not accept. */
static int check_state(struct line *l, const struct tf_record *rec, struct tf_err *err)
{
    struct tf_buf b = {0};
    struct tf_value parsed;
    struct tf_scan s = {.why = ""};
    tf_cbor_value(&b, rec->state.value);
    int rc = tf_cbor_parse(&parsed, &l->a, b.p, b.len, err);
    tf_buf_clear(&b);
    tf_record_encode(&b, 0, rec);
    if (!rc && tf_scan_item(&s, (const uint8_t *)b.p, b.len, b.len) != 1)
        rc = tf_fail(err, "value: %s", s.why);
    tf_buf_release(&b);
    return rc;
}

static int check_name(const char *name, struct tf_err *err)
{
    return name[0] && strlen(name) <= TF_MAX_NAME
               ? 0
               : tf_fail(err, "name: 1 to %d bytes", TF_MAX_NAME);
}

/* States come first, each name once. The vocabulary does not count, as in readers. */
static int claim_state(struct from_json *u, const char *name, struct tf_err *err)
{
    if (check_name(name, err) != 0)
        return -1;
    if (u->n_tensors > 0)
        return tf_fail(err, "state %s comes after a tensor", name);
    if (tf_value_get(&u->states, name) != NULL)
        return tf_fail(err, "state %s: twice", name);
    const size_t n = u->states.n - (tf_value_get(&u->states, "vocab") != NULL);
    if (n == TF_MAX_STATES && strcmp(name, "vocab") != 0)
        return tf_fail(err, "more than %d states", TF_MAX_STATES);
    tf_value_put(&u->header_mem, &u->states, name, tf_value_null());
    return 0;
}

/* The end of the part finds names that are used twice. */
static int claim_tensor(struct from_json *u, const char *name, struct tf_err *err)
{
    if (check_name(name, err) != 0)
        return -1;
    if (u->n_tensors == TF_MAX_TENSORS)
        return tf_fail(err, "more than %d tensors", TF_MAX_TENSORS);
    if ((u->n_tensors & (u->n_tensors + 1)) == 0) /* room for twice as many and one */
        u->tensors = tf_xarray(u->tensors, 2 * u->n_tensors + 1, sizeof *u->tensors);
    u->tensors[u->n_tensors++] =
        (struct tf_tensor){.name = tf_arena_strndup(&u->header_mem, name, strlen(name))};
    return 0;
}

static int put_tensor(struct from_json *u, struct line *l, struct tf_err *err)
{
    struct tf_tensor t = {0};
    const struct tf_value *dims;
    if (field_text(l, "name", &t.name, err) != 0 || field_array(&l->v, "dims", &dims, err) != 0)
        return -1;
    if (!l->has_data)
        return tf_fail(err, "data: missing");
    if (claim_tensor(u, t.name, err) != 0)
        return -1;
    if (dims->n > TF_MAX_RANK)
        return tf_fail(err, "dims: more than %d", TF_MAX_RANK);
    uint64_t bytes;
    t.rank = (int)dims->n;
    for (size_t i = 0; i < dims->n; i++) {
        const struct tf_value *d = &dims->items[i];
        t.dims[i] = d->kind == TF_INT && d->integer > 0 ? (uint64_t)d->integer : 0;
    }
    if (!tf_tensor_size(&bytes, l->dtype, t.dims, t.rank))
        return tf_fail(err, "dims: not positive, or too large");
    if (bytes != l->data.len)
        return tf_fail(err, "data: %zu bytes, dims need %llu", l->data.len,
                       (unsigned long long)bytes);
    t.dtype = l->dtype;
    t.data = l->data.p;
    t.bytes = l->data.len;
    t.crc = tf_crc32c(0, t.data, t.bytes);
    return tf_writer_tensor(&u->w, &t, err);
}

/* Are these bytes one ancillary record? */
static bool is_other(const uint8_t *p, size_t n)
{
    struct tf_scan s = {0};
    return n > 0 && tf_scan_item(&s, p, n, n) == 1 && s.pos == n &&
           tf_record_type(p, n) >= TF_REC_ANCILLARY;
}

/* Encode the value that `record` had for a record of these bytes. Converting it to JSON and back
 * first loses what JSON cannot express. */
static void encode_shown(struct tf_buf *b, const void *bytes, size_t n)
{
    struct line l = {.has_data = false};
    l.values = (struct tf_json_values){.r = &l.r, .a = &l.a, .max = max_values};
    struct tf_value v;
    struct tf_buf text = {0};
    struct tf_err quiet = {0};
    enum tf_json_kind k;
    if (tf_cbor_parse(&v, &l.a, bytes, n, &quiet) == 0) {
        tf_value_to_json(&(struct tf_json){.out = &text}, &v, TF_JSON_EXACT);
        tf_json_read(&l.r, text.p, text.len);
        if (tf_json_next(&l.r, &k, &quiet) == 0 &&
            tf_value_from_json(&l.values, k, "record", &v, &quiet) == 0)
            tf_cbor_value(b, &v);
        tf_json_read_release(&l.r);
    }
    tf_buf_release(&text);
    tf_arena_release(&l.a);
}

/* Use the bytes in `hex`, unless `record` has been edited since. */
static int put_other(struct from_json *u, struct line *l, struct tf_err *err)
{
    const char *hex;
    const struct tf_value *record = tf_value_get(&l->v, "record");
    struct tf_value v;
    struct tf_buf now = {0}, then = {0};
    if (field_text(l, "hex", &hex, err) != 0)
        return -1;
    if (tf_value_from_hex(&v, &l->a, hex, strlen(hex), err) != 0)
        return tf_context(err, "hex");
    if (!is_other((const uint8_t *)v.text, v.n))
        return tf_fail(err, "hex: not one record of type %d or higher", TF_REC_ANCILLARY);
    if (record != NULL)
        tf_cbor_value(&now, record);
    if (record != NULL)
        encode_shown(&then, v.text, v.n);
    bool edited = now.len != then.len || (now.len && memcmp(now.p, then.p, now.len) != 0);
    int rc;
    if (edited && !is_other((const uint8_t *)now.p, now.len))
        rc = tf_fail(err, "record: not one of type %d or higher", TF_REC_ANCILLARY);
    else
        rc = edited ? tf_writer_raw(&u->w, now.p, now.len, err)
                    : tf_writer_raw(&u->w, v.text, v.n, err);
    tf_buf_release(&now);
    tf_buf_release(&then);
    return rc;
}

/* Append the stage to the `made` of a header's map. */
static void put_stage(struct tf_value *map, struct tf_arena *a, const struct tf_value *stage)
{
    const struct tf_value *before = tf_value_get(map, "made");
    struct tf_value made = before != NULL ? *before : tf_value_array();
    if (made.kind != TF_ARRAY)
        return; /* decoding the header reports it */
    tf_value_push(a, &made, *stage);
    tf_value_put(a, map, "made", made);
}

/* Let the caller change the `config` of a model. */
static void change_config(const struct from_json *u, struct tf_value *map, struct tf_arena *a)
{
    const struct tf_value *kind = tf_value_find(map, "kind", TF_TEXT),
                          *before = tf_value_find(map, "config", TF_MAP);
    if (u->how->config == NULL || kind == NULL || before == NULL ||
        !tf_kind_has(tf_kind_of(kind->text), TF_REC_TENSOR))
        return;
    struct tf_value config = *before;
    u->how->config(&config);
    tf_value_put(a, map, "config", config);
}

static int begin_stream(struct from_json *u, struct line *l, struct tf_err *err)
{
    const struct tf_value *v = tf_value_get(&l->v, "header");
    struct tf_buf b = {0};
    if (u->open)
        return tf_fail(err, "a header before the end of the part");
    if (v == NULL)
        return tf_fail(err, "header: missing");
    struct tf_value header = *v;
    if (header.kind == TF_MAP) {
        if (u->how->stage != NULL)
            put_stage(&header, &l->a, u->how->stage);
        change_config(u, &header, &l->a);
    }
    tf_cbor_array(&b, 2);
    tf_cbor_uint(&b, TF_REC_HEADER);
    tf_cbor_value(&b, &header);
    tf_arena_clear(&u->header_mem);
    int rc = tf_header_decode(&u->h, &u->header_mem, b.p, b.len, err);
    if (!rc && u->kind != NULL && strcmp(u->kind, u->h.kind) != 0)
        rc = tf_fail(err, "a part of kind %s after one of kind %s", u->h.kind, u->kind);
    else if (!rc && u->kind != NULL && tf_kind_is_model(u->kind))
        rc = tf_fail(err, "a second header: a %s has one part", u->kind);
    if (!rc) {
        tf_writer_release(&u->w);
        rc = tf_writer_begin_raw(&u->w, u->out, &u->h, b.p, b.len, err);
        u->open = !rc;
        u->states = tf_value_map();
        u->n_tensors = 0;
        u->kind = u->kind != NULL ? u->kind : tf_xstrdup(u->h.kind);
    }
    tf_buf_release(&b);
    return rc;
}

static int put_line(struct from_json *u, struct line *l, struct tf_err *err)
{
    const char *name;
    if (field_text(l, "type", &name, err) != 0)
        return -1;
    struct tf_record rec = {.type = tf_schema_type(name)};
    if (rec.type == TF_REC_HEADER)
        return begin_stream(u, l, err);
    if (!u->open)
        return tf_fail(err, "%s outside of a part: a header comes first", name);
    if (rec.type < 0 && strcmp(name, tf_record_name(TF_REC_ANCILLARY)) != 0)
        return tf_fail(err, "unknown type '%s'", name);
    if (rec.type < 0)
        return put_other(u, l, err);
    if (!tf_kind_has(tf_kind_of(u->h.kind), rec.type))
        return tf_fail(err, "%s in a stream of kind %s", name, u->h.kind);
    if (rec.type == TF_REC_CHECK)
        return u->w.dirty ? tf_writer_check(&u->w, err) : 0;
    if (rec.type == TF_REC_END) {
        u->open = false;
        return tf_tensors_unique(u->tensors, u->n_tensors, err) != 0 ? -1
                                                                     : tf_writer_end(&u->w, err);
    }
    if (rec.type == TF_REC_TENSOR)
        return put_tensor(u, l, err);
    if (get_fields(l, tf_schema_of(rec.type)->fields, &l->v, &rec, err) != 0)
        return -1;
    if (rec.type == TF_REC_ERROR) {
        struct tf_err later = {0};
        tf_fail(err, "upstream failed: %s", rec.fault.text);
        if (tf_writer_error(&u->w, rec.fault.code, rec.fault.text, &later) != 0)
            tf_fail_later(err, &later);
        return -1;
    }
    if (rec.type == TF_REC_STATE &&
        (check_state(l, &rec, err) != 0 || claim_state(u, rec.state.name, err) != 0))
        return -1;
    if (rec.type == TF_REC_BATCH && rec.batch.n == 0)
        return tf_fail(err, "batch %llu is empty", (unsigned long long)rec.batch.ordinal);
    return tf_writer_record(&u->w, &rec, err);
}

/* The value after a key, of which data and weights are read apart. They are keys of a user's own
 * in lines of other types. */
static int read_member(struct line *l, const char *key, struct tf_value *x, struct tf_err *err)
{
    enum tf_json_kind k;
    const bool data = strcmp(key, "data") == 0, weights = strcmp(key, "weights") == 0;
    if (((data || weights) && l->type == NO_TYPE) ||
        (data && l->type == TF_REC_TENSOR && !l->has_dtype)) {
        l->early = true;
        return tf_json_skip(&l->r, err);
    }
    if (data && l->type == TF_REC_TENSOR)
        return read_data(l, err);
    if (weights && l->type == TF_REC_ATTN)
        return read_weights(l, err);
    if (tf_json_next(&l->r, &k, err) != 0 || tf_value_from_json(&l->values, k, key, x, err) != 0)
        return -1;
    if (strcmp(key, "type") == 0 && x->kind == TF_TEXT)
        l->type = tf_schema_type(x->text);
    if (strcmp(key, "dtype") == 0 && x->kind == TF_TEXT)
        l->has_dtype = tf_dtype_of(&l->dtype, x->text);
    return 0;
}

/* The pairs of a line's object, up to its end; *pairs is from malloc, n is their number. */
static int read_members(struct line *l, struct tf_value_pair **pairs, size_t *n, struct tf_err *err)
{
    enum tf_json_kind k;
    int rc;
    while ((rc = tf_json_more(&l->r, &k, err)) > 0) {
        const char *key = tf_json_text(&l->r, &l->a);
        if (*n == TF_MAX_VALUES)
            return tf_fail(err, "more than %d keys", TF_MAX_VALUES);
        if ((*n & (*n + 1)) == 0) /* room for twice as many and one */
            *pairs = tf_xarray(*pairs, 2 * *n + 1, sizeof **pairs);
        struct tf_value_pair *p = &(*pairs)[(*n)++];
        *p = (struct tf_value_pair){key, tf_value_null()};
        if (read_member(l, key, &p->value, err) != 0)
            return -1;
    }
    return rc < 0 ? -1 : tf_json_next(&l->r, &k, err); /* the end, or an error */
}

static int read_object(struct line *l, const char *s, size_t n, struct tf_err *err)
{
    struct tf_value_pair *pairs = NULL;
    size_t n_pairs = 0;
    tf_json_read_release(&l->r);
    tf_json_read(&l->r, s, n);
    tf_arena_clear(&l->a);
    l->values = (struct tf_json_values){.r = &l->r, .a = &l->a, .max = max_values};
    l->has_data = l->has_weights = l->early = false;
    if (tf_json_expect(&l->r, TF_JSON_OBJECT, "not a JSON object", err) != 0)
        return -1;
    int rc = read_members(l, &pairs, &n_pairs, err);
    const char *twice = rc == 0 ? tf_value_from_pairs(&l->a, &l->v, pairs, n_pairs) : NULL;
    free(pairs);
    return twice != NULL ? tf_fail(err, "%s: twice", twice) : rc;
}

/* A line is read again with its type and dtype known if data or weights came before them. */
static int read_line(struct line *l, const char *s, size_t n, struct tf_err *err)
{
    l->type = NO_TYPE;
    l->has_dtype = false;
    int rc = read_object(l, s, n, err);
    if (rc != 0 || !l->early)
        return rc;
    if (l->type == TF_REC_TENSOR && !l->has_dtype)
        return tf_fail(err, "dtype: missing or unknown");
    return read_object(l, s, n, err);
}

/* Refuse a stage that readers of a header would refuse, such as one that is nested too deeply. */
static int check_stage(const struct tf_value *stage, struct tf_arena *a, struct tf_err *err)
{
    struct tf_buf b = {0};
    struct tf_value map = tf_value_map(), record = tf_value_array();
    struct tf_scan s = {.why = ""};
    put_stage(&map, a, stage);
    tf_value_push(a, &record, map);
    tf_cbor_value(&b, &record);
    int rc = tf_scan_item(&s, (const uint8_t *)b.p, b.len, b.len);
    tf_buf_release(&b);
    return rc == 1 ? 0 : tf_fail(err, "%s", s.why);
}

int tf_inspect_stage(struct tf_value *stage, struct tf_arena *a, const char *text,
                     struct tf_err *err)
{
    const char *prog;
    *stage = tf_value_map();
    if (!tf_utf8_valid((const uint8_t *)text, strlen(text)))
        return tf_fail(err, "not UTF-8");
    if (text[0] != '{')
        tf_value_put(a, stage, "prog", tf_value_str(a, text));
    else if (tf_value_from_json_text(stage, a, text, strlen(text), TF_JSON_EXACT, "stage", err) !=
             0)
        return -1;
    int rc = tf_value_text_of(stage, "prog", &prog, err);
    if (rc > 0 || (rc == 0 && prog[0] == 0))
        return tf_fail(err, "prog: missing");
    static const char *const maps[] = {"opts", "in"};
    for (size_t i = 0; rc == 0 && i < 2; i++) {
        const struct tf_value *v = tf_value_get(stage, maps[i]);
        if (v != NULL && v->kind != TF_MAP)
            return tf_fail(err, "%s: not an object", maps[i]);
    }
    return rc == 0 ? check_stage(stage, a, err) : -1;
}

static bool is_blank(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (s[i] == ' ' || s[i] == '\t' || s[i] == '\r'))
        i++;
    return i == n;
}

int tf_inspect_from_json(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                         struct tf_err *err)
{
    struct from_json u = {.out = out, .how = how};
    struct line l = {.has_data = false};
    const char *s;
    size_t n;
    uint64_t number = 1;
    int rc;
    bool of_line = false; /* is the error in a line? */
    for (;; number++) {
        bool waits = u.w.out != NULL && !tf_in_line_ready(in, MAX_LINE);
        rc = waits ? tf_writer_flush(&u.w, err) : 0;
        if (rc || (rc = tf_in_line(in, &s, &n, MAX_LINE, err)) != 1)
            break;
        if (is_blank(s, n))
            continue;
        rc = read_line(&l, s, n, err) != 0 || put_line(&u, &l, err) != 0 ? -1 : 0;
        if (rc) {
            of_line = true;
            break;
        }
    }
    if (rc == 2) {
        rc = tf_fail(err, "longer than %d bytes", MAX_LINE);
        of_line = true;
    }
    if (of_line)
        tf_context(err, "%s: line %llu", in->name, (unsigned long long)number);
    else if (rc == 0 && u.kind == NULL)
        rc = tf_fail(err, "%s: truncated: no stream", in->name);
    else if (rc == 0 && u.open)
        rc = tf_fail(err, "%s: no end line", in->name);
    tf_writer_release(&u.w);
    free(u.kind);
    free(u.tensors);
    tf_arena_release(&u.header_mem);
    tf_arena_release(&l.a);
    tf_json_read_release(&l.r);
    tf_buf_release(&l.data);
    return rc;
}
