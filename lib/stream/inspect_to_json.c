/* inspect_to_json.c - records as JSON Lines. Numbers have the fewest digits that read back to the
 * same value; hashes are hex digits, other byte strings {"$hex": ...}; NaN and infinities are the
 * strings nan, inf and -inf. */
#include "base/bits.h"
#include "cbor/cursor.h"
#include "cbor/json.h"
#include "stream/inspect.h"
#include "stream/schema_private.h"
#include "stream/tensor_record_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FULL = 64 << 10 }; /* bytes of text to write at a time */

struct lines {
    struct tf_buf b;
    struct tf_json j;
    struct tf_out *out;
};

/* Write the text so far if it has at least that many bytes, since arrays may be long. */
static int spill(struct lines *l, size_t least, struct tf_err *err)
{
    if (l->b.len < least)
        return 0;
    int rc = tf_out_write(l->out, l->b.p, l->b.len, err);
    tf_buf_clear(&l->b);
    return rc;
}

static void put_float(struct tf_json *j, float x)
{
    char s[32];
    if (!isfinite(x)) {
        tf_json_str(j, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, (double)x);
        if ((float)strtod(s, NULL) == x) /* as readers of JSON round: to a double first */
            break;
    }
    tf_json_raw(j, s);
}

/* ---- fields, by their schema ---- */

static void put_floats(struct tf_json *j, const float *x, size_t n)
{
    tf_json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        put_float(j, x[i]);
    tf_json_close(j, ']');
}

/* Write one array for each sentence. */
static void put_packed(struct tf_json *j, const uint32_t *ids, const uint32_t *off, size_t n)
{
    tf_json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        tf_json_ids(j, ids + off[i], off[i + 1] - off[i]);
    tf_json_close(j, ']');
}

static int put_encoded(struct tf_json *j, const uint8_t *p, size_t n, struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_value v;
    int rc = tf_cbor_parse(&v, &a, p, n, err);
    if (!rc)
        tf_value_to_json(j, &v, TF_JSON_EXACT);
    tf_arena_release(&a);
    return rc;
}

static int put_fields(struct tf_json *j, const struct tf_field *f, const void *base,
                      struct tf_err *err);

static int put_structs(struct tf_json *j, const struct tf_field *f, const void *base,
                       struct tf_err *err)
{
    const char *item = *TF_MEMBER(const char *const, base, f->at);
    size_t n = tf_field_count(f, base);
    tf_json_open(j, '[');
    for (size_t i = 0; i < n; i++, item += f->size) {
        tf_json_open(j, '{');
        if (put_fields(j, f->fields, item, err) != 0)
            return -1;
        tf_json_close(j, '}');
    }
    tf_json_close(j, ']');
    return 0;
}

static int put_field(struct tf_json *j, const struct tf_field *f, const void *base,
                     struct tf_err *err)
{
    switch (f->type) {
    case TF_FIELD_UINT:
        tf_json_uint(j, *TF_MEMBER(const uint64_t, base, f->at));
        break;
    case TF_FIELD_CODE:
        tf_json_int(j, *TF_MEMBER(const int, base, f->at));
        break;
    case TF_FIELD_TEXT:
        tf_json_str(j, *TF_MEMBER(const char *const, base, f->at));
        break;
    case TF_FIELD_FLOAT:
        put_float(j, *TF_MEMBER(const float, base, f->at));
        break;
    case TF_FIELD_SHA256:
        tf_json_hex(j, TF_MEMBER(const uint8_t, base, f->at), 32);
        break;
    case TF_FIELD_IDS:
        tf_json_ids(j, *TF_MEMBER(const uint32_t *const, base, f->at), tf_field_count(f, base));
        break;
    case TF_FIELD_PACKED:
        put_packed(j, *TF_MEMBER(const uint32_t *const, base, f->at),
                   *TF_MEMBER(const uint32_t *const, base, f->flag_at), tf_field_count(f, base));
        break;
    case TF_FIELD_FLOATS:
        put_floats(j, *TF_MEMBER(const float *const, base, f->at), tf_field_count(f, base));
        break;
    case TF_FIELD_TEXTS:
        tf_json_strs(j, *TF_MEMBER(const char *const *const, base, f->at), tf_field_count(f, base));
        break;
    case TF_FIELD_STRUCTS:
        return put_structs(j, f, base, err);
    case TF_FIELD_VALUE:
        return put_encoded(j, *TF_MEMBER(const uint8_t *const, base, f->flag_at),
                           *TF_MEMBER(const size_t, base, f->n_at), err);
    case TF_FIELD_PART_CRC:
        if (*TF_MEMBER(const bool, base, f->flag_at))
            tf_json_uint(j, *TF_MEMBER(const uint32_t, base, f->at));
        else
            tf_json_null(j);
        break;
    default:
        TF_BUG("field %s", f->name);
    }
    return 0;
}

static int put_fields(struct tf_json *j, const struct tf_field *f, const void *base,
                      struct tf_err *err)
{
    for (; f->name != NULL; f++) {
        if (f->type == TF_FIELD_MAP && put_fields(j, f->fields, base, err) != 0)
            return -1;
        if (f->type == TF_FIELD_MAP || f->type == TF_FIELD_OFFSETS || f->type == TF_FIELD_OWN_CRC ||
            !tf_field_present(f, base))
            continue;
        tf_json_key(j, f->name);
        if (put_field(j, f, base, err) != 0)
            return tf_context(err, "%s", f->name);
    }
    return 0;
}

/* ---- tensors ---- */

static void put_element(struct tf_json *j, enum tf_dtype t, const uint8_t *p)
{
    uint16_t h;
    double d;
    float f;
    switch (t) {
    case TF_F32:
        memcpy(&f, p, 4);
        put_float(j, f);
        break;
    case TF_F16:
        memcpy(&h, p, 2);
        put_float(j, tf_half_to_float(h));
        break;
    case TF_BF16:
        memcpy(&h, p, 2);
        put_float(j, tf_bf16_to_float(h));
        break;
    case TF_F64:
        memcpy(&d, p, 8);
        if (isfinite(d))
            tf_json_real(j, d);
        else
            put_float(j, (float)d);
        break;
    case TF_I8:
        tf_json_int(j, (int8_t)*p);
        break;
    case TF_U8:
        tf_json_uint(j, *p);
        break;
    case TF_I32:
        tf_json_int(j, (int32_t)tf_load32(p));
        break;
    case TF_U32:
        tf_json_uint(j, tf_load32(p));
        break;
    case TF_I64:
        tf_json_int(j, (int64_t)tf_load64(p));
        break;
    case TF_U64:
        tf_json_uint(j, tf_load64(p));
        break;
    }
}

static int put_tensor(struct lines *l, const struct tf_record *rec, struct tf_err *err)
{
    struct tf_tensor_head h;
    struct tf_json *j = &l->j;
    if (tf_tensor_record_decode(&h, rec, err) != 0)
        return -1;
    tf_json_put_str(j, "name", h.name);
    tf_json_put_str(j, "dtype", tf_dtype_name(h.t.dtype));
    tf_json_put_open(j, "dims", '[');
    for (int i = 0; i < h.t.rank; i++)
        tf_json_uint(j, h.t.dims[i]);
    tf_json_close(j, ']');
    tf_json_put_open(j, "data", '[');
    const uint8_t *p = h.t.data;
    size_t size = tf_dtype_size(h.t.dtype);
    for (size_t i = 0; i < h.t.bytes; i += size) {
        put_element(j, h.t.dtype, p + i);
        if (spill(l, FULL, err) != 0)
            return -1;
    }
    tf_json_close(j, ']');
    return 0;
}

/* Records of unknown types: their bytes and, if they decode to a value, that value. */
static void put_other(struct tf_json *j, const struct tf_record *rec)
{
    struct tf_arena a = {0};
    struct tf_value v;
    struct tf_err quiet = {0};
    tf_json_key(j, "hex");
    tf_json_hex(j, rec->raw, rec->raw_n);
    if (tf_cbor_parse(&v, &a, rec->raw, rec->raw_n, &quiet) == 0)
        tf_json_put_value(j, "record", &v, TF_JSON_EXACT);
    tf_arena_release(&a);
}

/* ---- records ---- */

static int put_record(struct lines *l, const struct tf_record *rec, struct tf_err *err)
{
    struct tf_json *j = &l->j;
    const struct tf_schema *s = tf_schema_of(rec->type);
    int rc = 0;
    tf_json_open(j, '{');
    tf_json_put_str(j, "type", tf_record_name(rec->type));
    if (rec->type == TF_REC_TENSOR)
        rc = put_tensor(l, rec, err);
    else if (s != NULL)
        rc = put_fields(j, s->fields, rec, err);
    else
        put_other(j, rec);
    if (rc)
        return -1;
    tf_json_close(j, '}');
    tf_buf_byte(&l->b, '\n');
    l->j.comma = false;
    return spill(l, 1, err);
}

static int put_header(struct lines *l, const struct tf_reader *r, struct tf_err *err)
{
    size_t n;
    const uint8_t *p = tf_reader_header_raw(r, &n);
    struct tf_cbor_cursor c = {p, p + n};
    struct tf_arena a = {0};
    struct tf_value v;
    uint64_t x;
    const uint8_t *start = NULL;
    bool good = tf_cursor_array(&c, &x) == NULL && tf_cursor_uint(&c, &x) == NULL &&
                (start = c.p) != NULL && tf_cursor_skip(&c) == NULL;
    TF_ASSERT(good); /* the reader has decoded it */
    int rc = tf_cbor_parse(&v, &a, start, (size_t)(c.p - start), err);
    if (!rc) {
        tf_json_open(&l->j, '{');
        tf_json_put_str(&l->j, "type", "header");
        tf_json_put_value(&l->j, "header", &v, TF_JSON_EXACT);
        tf_json_close(&l->j, '}');
        tf_buf_byte(&l->b, '\n');
        l->j.comma = false;
        rc = spill(l, 1, err);
    }
    tf_arena_release(&a);
    return rc;
}

int tf_inspect_json(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                    struct tf_err *err)
{
    struct tf_reader *r;
    struct tf_record rec = {.type = -1};
    struct lines l = {.out = out};
    if (tf_reader_new(&r, in, NULL, TF_READ_RAW | TF_READ_TENSORS, err) != 0)
        return -1;
    if (how->max_tensor)
        tf_reader_max_tensor(r, how->max_tensor);
    l.j.out = &l.b;
    int rc = put_header(&l, r, err) != 0 ? -1 : 1;
    while (rc > 0) {
        if (!tf_reader_ready(r) && tf_out_flush(out, err) != 0)
            rc = -1;
        else if ((rc = tf_reader_next(r, &rec, err)) > 0 &&
                 (rec.type == TF_REC_HEADER ? put_header(&l, r, err) : put_record(&l, &rec, err)))
            rc = -1;
    }
    if (rc < 0 && rec.type == TF_REC_ERROR) {
        struct tf_err more = {0};
        if (put_record(&l, &rec, &more) != 0)
            tf_fail_later(err, &more);
    }
    tf_reader_free(r);
    tf_buf_release(&l.b);
    return rc;
}
