/* encode.c - encode records by their schema, and check them before. */
#include "base/hash.h"
#include "base/utf8.h"
#include "cbor/encode.h"
#include "stream/decode_private.h"
#include "stream/encode_private.h"
#include "stream/record.h"

#include <string.h>

struct encode {
    struct tf_buf *b;
    size_t start; /* of the record in *b */
    int64_t size; /* of the vocabulary */
};

static void put_items(const struct encode *e, const struct tf_field *f, unsigned n,
                      const void *base);

/* Fields of an array: up to the last that is present. */
static unsigned count_items(const struct tf_field *f, const void *base)
{
    unsigned n = 0;
    for (unsigned i = 1; f->name != NULL; f++, i++)
        if (tf_field_present(f, base))
            n = i;
    return n;
}

/* Pairs of a map. */
static unsigned count_present(const struct tf_field *f, const void *base)
{
    unsigned n = 0;
    for (; f->name != NULL; f++)
        n += tf_field_present(f, base);
    return n;
}

/* Ids of a vocabulary of at most 65536 have 16 bits. */
static void put_ids(const struct encode *e, const struct tf_field *f, const uint32_t *ids, size_t n)
{
    if ((f->flags & TF_VOCAB) && e->size > 0 && e->size <= 65536)
        tf_cbor_u16s(e->b, ids, n);
    else
        tf_cbor_u32s(e->b, ids, n);
}

static void put_structs(const struct encode *e, const struct tf_field *f, const void *base)
{
    const char *item = *TF_MEMBER(const char *const, base, f->at);
    size_t n = tf_field_count(f, base);
    tf_cbor_array(e->b, n);
    for (size_t i = 0; i < n; i++, item += f->size) {
        unsigned items = count_items(f->fields, item);
        tf_cbor_array(e->b, items);
        put_items(e, f->fields, items, item);
    }
}

static void put_map(const struct encode *e, const struct tf_field *fields, const void *base);

static void put_field(const struct encode *e, const struct tf_field *f, const void *base)
{
    struct tf_buf *b = e->b;
    const uint32_t *ids;
    switch (f->type) {
    case TF_FIELD_UINT:
        tf_cbor_uint(b, *TF_MEMBER(const uint64_t, base, f->at));
        break;
    case TF_FIELD_CODE:
        tf_cbor_uint(b, (uint64_t)*TF_MEMBER(const int, base, f->at));
        break;
    case TF_FIELD_TEXT:
        tf_cbor_str(b, *TF_MEMBER(const char *const, base, f->at));
        break;
    case TF_FIELD_FLOAT:
        tf_cbor_f32(b, *TF_MEMBER(const float, base, f->at));
        break;
    case TF_FIELD_SHA256:
        tf_cbor_sha256(b, TF_MEMBER(const uint8_t, base, f->at));
        break;
    case TF_FIELD_IDS:
    case TF_FIELD_PACKED:
    case TF_FIELD_OFFSETS:
        ids = *TF_MEMBER(const uint32_t *const, base, f->at);
        put_ids(e, f, ids, tf_field_ids(f, base));
        break;
    case TF_FIELD_FLOATS:
        tf_cbor_f32s(b, *TF_MEMBER(const float *const, base, f->at), tf_field_count(f, base));
        break;
    case TF_FIELD_TEXTS:
        tf_cbor_array(b, tf_field_count(f, base));
        for (size_t i = 0; i < tf_field_count(f, base); i++)
            tf_cbor_str(b, (*TF_MEMBER(const char *const *const, base, f->at))[i]);
        break;
    case TF_FIELD_STRUCTS:
        put_structs(e, f, base);
        break;
    case TF_FIELD_MAP:
        tf_cbor_map(b, count_present(f->fields, base));
        put_map(e, f->fields, base);
        break;
    case TF_FIELD_VALUE:
        tf_cbor_value(b, *TF_MEMBER(const struct tf_value *const, base, f->at));
        break;
    case TF_FIELD_PART_CRC:
        tf_cbor_uint(b, *TF_MEMBER(const uint32_t, base, f->at));
        break;
    case TF_FIELD_OWN_CRC:
        tf_cbor_uint(b, tf_crc32c(0, b->p + e->start, b->len - e->start));
        break;
    default:
        TF_BUG("field %s", f->name);
    }
}

/* n items of an array: an absent field before a present one is null. */
static void put_items(const struct encode *e, const struct tf_field *f, unsigned n,
                      const void *base)
{
    for (unsigned i = 0; i < n; i++, f++)
        if (tf_field_present(f, base))
            put_field(e, f, base);
        else
            tf_cbor_null(e->b);
}

/* Pairs in the order of RFC 8949, 4.2.1: keys by length, then bytes. */
static void put_map(const struct encode *e, const struct tf_field *fields, const void *base)
{
    enum { MOST = 16 };
    const struct tf_field *sorted[MOST];
    size_t n = 0;
    for (const struct tf_field *f = fields; f->name != NULL; f++) {
        if (!tf_field_present(f, base))
            continue;
        size_t k = n++;
        TF_ASSERT(n <= MOST);
        for (; k > 0 && tf_key_order(f->name, sorted[k - 1]->name) < 0; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = f;
    }
    for (size_t i = 0; i < n; i++) {
        tf_cbor_str(e->b, sorted[i]->name);
        put_field(e, sorted[i], base);
    }
}

void tf_record_encode(struct tf_buf *b, int64_t size, const struct tf_record *rec)
{
    const struct tf_schema *s = tf_schema_of(rec->type);
    const struct encode e = {b, b->len, size};
    TF_ASSERT(s && !s->apart);
    unsigned items = count_items(s->fields, rec);
    tf_cbor_array(b, 1 + items);
    tf_cbor_uint(b, (uint64_t)rec->type);
    put_items(&e, s->fields, items, rec);
}

/* ---- what may be written ---- */

/* The counts of all fields first: pointers are followed only if the counts are possible. */
enum check { COUNTS, CONTENTS };

static int check_fields(const struct tf_field *f, const void *base, enum check what, int64_t size,
                        struct tf_err *err);

static int check_count(const struct tf_field *f, size_t n, struct tf_err *err)
{
    return n > f->max ? tf_fail(err, "%s: %zu in one record, at most %zu", f->name, n, f->max) : 0;
}

static int check_texts(const struct tf_field *f, const char *const *texts, size_t n,
                       struct tf_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!tf_utf8_valid((const uint8_t *)texts[i], strlen(texts[i])))
            return tf_fail(err, "%s: text that is not UTF-8", f->name);
    return 0;
}

static int check_structs(const struct tf_field *f, const void *base, enum check what, int64_t size,
                         struct tf_err *err)
{
    const char *item = *TF_MEMBER(const char *const, base, f->at);
    size_t n = tf_field_count(f, base), ids = 0;
    if (check_count(f, n, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++, item += f->size) {
        if (check_fields(f->fields, item, what, size, err) != 0)
            return -1;
        ids += tf_structs_ids(f, item);
    }
    if (ids > TF_MAX_IDS)
        return tf_fail(err, "%s: %zu ids in one record, at most %zu", f->name, ids, TF_MAX_IDS);
    return 0;
}

static int check_field(const struct tf_field *f, const void *base, enum check what, int64_t size,
                       struct tf_err *err)
{
    switch (f->type) {
    case TF_FIELD_TEXT:
        return what == CONTENTS ? check_texts(f, TF_MEMBER(const char *const, base, f->at), 1, err)
                                : 0;
    case TF_FIELD_IDS:
    case TF_FIELD_PACKED:
    case TF_FIELD_OFFSETS:
        if (what == COUNTS)
            return check_count(f, tf_field_ids(f, base), err);
        return f->flags & TF_VOCAB
                   ? tf_ids_known(size, f->name, *TF_MEMBER(const uint32_t *const, base, f->at),
                                  tf_field_ids(f, base), err)
                   : 0;
    case TF_FIELD_FLOATS:
        return what == COUNTS ? check_count(f, tf_field_count(f, base), err) : 0;
    case TF_FIELD_TEXTS:
        return what == COUNTS ? check_count(f, tf_field_count(f, base), err)
                              : check_texts(f, *TF_MEMBER(const char *const *const, base, f->at),
                                            tf_field_count(f, base), err);
    case TF_FIELD_STRUCTS:
        return check_structs(f, base, what, size, err);
    case TF_FIELD_MAP:
        return check_fields(f->fields, base, what, size, err);
    default:
        return 0;
    }
}

static int check_fields(const struct tf_field *f, const void *base, enum check what, int64_t size,
                        struct tf_err *err)
{
    for (; f->name != NULL; f++)
        if (tf_field_present(f, base) && check_field(f, base, what, size, err) != 0)
            return -1;
    return 0;
}

int tf_record_check(const struct tf_record *rec, int64_t size, struct tf_err *err)
{
    const struct tf_field *f = tf_schema_of(rec->type)->fields;
    return check_fields(f, rec, COUNTS, size, err) != 0 ||
                   check_fields(f, rec, CONTENTS, size, err) != 0
               ? -1
               : 0;
}
