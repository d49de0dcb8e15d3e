/* decode.c - decode records by their schema. */
#include "base/bits.h"
#include "base/hash.h"
#include "stream/decode_private.h"
#include "stream/record.h"

#include <string.h>

/* Make the reason that a getter returned an error that begins with the name of the field. */
#define TRY(what, call)                                  \
    do {                                                 \
        const char *why_ = (call);                       \
        if (why_)                                        \
            return tf_fail(err, "%s: %s", (what), why_); \
    } while (0)

static int get_fields(struct tf_decoder *d, const struct tf_field *f, uint64_t before,
                      uint64_t items, void *base, struct tf_err *err);

/* Read the beginning of a record: *items of its array, and *type. Returns the bytes read; -1 if it
 * is not an array that begins with an unsigned integer; -2 if n bytes are too few to tell. */
static int begin_record(const uint8_t *p, size_t n, uint64_t *items, uint64_t *type)
{
    struct tf_head h;
    if (tf_record_is_short(p, n)) {
        *items = p[0] & 31;
        *type = p[1];
        return 2;
    }
    int k = tf_head_read(p, n, &h);
    if (k == 0)
        return -2;
    if (k < 0 || h.major != TF_MAJOR_ARRAY || h.val == 0)
        return -1;
    *items = h.val;
    int m = tf_head_read(p + k, n - (size_t)k, &h);
    if (m == 0)
        return -2;
    if (m < 0 || h.major != TF_MAJOR_UINT || h.val > INT32_MAX)
        return -1;
    *type = h.val;
    return k + m;
}

int tf_record_long_type(const uint8_t *p, size_t n)
{
    uint64_t items, type;
    int k = begin_record(p, n, &items, &type);
    return k < 0 ? k : (int)type;
}

int tf_ids_known(int64_t size, const char *what, const uint32_t *ids, size_t n, struct tf_err *err)
{
    if (size <= 0)
        return 0;
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = ids[i] > most ? ids[i] : most;
    if (n && most >= size)
        return tf_fail(err, "%s: id %u in a vocabulary of %lld", what, most, (long long)size);
    return 0;
}

int tf_field_check_floats(const struct tf_field *f, size_t n, const void *base, struct tf_err *err)
{
    if (f->count != NULL && n != f->count(base))
        return tf_fail(err, "%s: %zu numbers, expected %zu", f->name, n, f->count(base));
    const float *v = *TF_MEMBER(const float *const, base, f->at);
    for (size_t i = 0; f->most > 0 && i < n; i++)
        if (!(v[i] >= 0 && v[i] <= f->most))
            return tf_fail(err, "%s: %zu: %g is not from 0 to %g", f->name, i, (double)v[i],
                           f->most);
    return 0;
}

static TF_NOINLINE int get_texts(struct tf_decoder *d, const struct tf_field *f, void *base,
                                 struct tf_err *err)
{
    uint64_t items;
    TRY(f->name, tf_cursor_array(&d->c, &items));
    if (items > f->max)
        return tf_fail(err, "%s: more than %zu", f->name, f->max);
    const char **v = tf_arena_alloc(d->arena, (size_t)items * sizeof *v + 1);
    for (uint64_t i = 0; i < items; i++) {
        const char *s;
        size_t len;
        TRY(f->name, tf_cursor_text(&d->c, &s, &len));
        v[i] = tf_arena_strndup(d->arena, s, len);
    }
    *TF_MEMBER(const char *const *, base, f->at) = v;
    *TF_MEMBER(size_t, base, f->n_at) = (size_t)items;
    return 0;
}

size_t tf_structs_ids(const struct tf_field *f, const void *item)
{
    size_t n = 0;
    for (const struct tf_field *g = f->fields; g->name != NULL; g++)
        n += g->type == TF_FIELD_IDS ? tf_field_count(g, item) : 0;
    return n;
}

static TF_NOINLINE int get_structs(struct tf_decoder *d, const struct tf_field *f, void *base,
                                   struct tf_err *err)
{
    uint64_t n, items;
    size_t ids = 0;
    TRY(f->name, tf_cursor_array(&d->c, &n));
    if (n > f->max)
        return tf_fail(err, "%s: more than %zu", f->name, f->max);
    char *v = tf_arena_zalloc(d->arena, (size_t)n * f->size + 1), *item = v;
    for (uint64_t i = 0; i < n; i++, item += f->size) {
        TRY(f->name, tf_cursor_array(&d->c, &items));
        if (get_fields(d, f->fields, 0, items, item, err) != 0)
            return tf_context(err, "%s %llu", f->name, (unsigned long long)i);
        ids += tf_structs_ids(f, item);
        if (ids > TF_MAX_IDS)
            return tf_fail(err, "%s: too many ids", f->name);
    }
    *TF_MEMBER(const void *, base, f->at) = v;
    *TF_MEMBER(size_t, base, f->n_at) = (size_t)n;
    return 0;
}

/* Offsets must begin with 0, not decrease, and end with the number of ids. */
static int check_offsets(const struct tf_field *f, size_t n_off, size_t ids, const void *base,
                         struct tf_err *err)
{
    const uint32_t *off = *TF_MEMBER(const uint32_t *const, base, f->at);
    size_t n = tf_field_count(f, base);
    if (n_off != n + 1 || off[0] != 0 || off[n] != ids)
        return tf_fail(err, "%s: does not run from 0 to %zu in %zu steps", f->name, ids, n);
    for (size_t i = 0; i < n; i++)
        if (off[i] > off[i + 1])
            return tf_fail(err, "%s: falls at %zu", f->name, i);
    return 0;
}

/* Decode one field. d->n becomes the number of items of a list. */
static int get_field(struct tf_decoder *d, const struct tf_field *f, void *base,
                     struct tf_err *err);
static int get_floats(struct tf_decoder *d, const struct tf_field *f, void *base,
                      struct tf_err *err);

/* Decode a map, whose keys may be in any order. Skip unknown keys. */
static TF_NOINLINE int get_map(struct tf_decoder *d, const struct tf_field *fields,
                               const char *what, void *base, struct tf_err *err)
{
    enum { MOST = 16 };
    size_t n_fields = 0, counts[MOST] = {0};
    bool seen[MOST] = {false};
    uint64_t pairs;
    while (fields[n_fields].name != NULL)
        n_fields++;
    TF_ASSERT(n_fields <= MOST);
    TRY(what, tf_cursor_map(&d->c, &pairs));
    for (uint64_t i = 0; i < pairs; i++) {
        const char *key;
        size_t n, k = 0;
        TRY("key", tf_cursor_text(&d->c, &key, &n));
        while (k < n_fields && (strlen(fields[k].name) != n || memcmp(fields[k].name, key, n) != 0))
            k++;
        if (k == n_fields) {
            TRY("field", tf_cursor_skip(&d->c));
            continue;
        }
        if (seen[k])
            return tf_fail(err, "%s: twice", fields[k].name);
        seen[k] = true;
        /* The count that floats must have may come after them. */
        if ((fields[k].type == TF_FIELD_FLOATS ? get_floats(d, &fields[k], base, err)
                                               : get_field(d, &fields[k], base, err)) != 0)
            return -1;
        counts[k] = d->n;
    }
    for (size_t k = 0; k < n_fields; k++)
        if (!seen[k] && !(fields[k].flags & TF_OPTIONAL))
            return tf_fail(err, "%s: missing", fields[k].name);
    for (size_t k = 0; k < n_fields; k++)
        if (seen[k] && fields[k].type == TF_FIELD_FLOATS &&
            tf_field_check_floats(&fields[k], counts[k], base, err) != 0)
            return -1;
    for (size_t k = 0; k < n_fields; k++) {
        const struct tf_field *f = &fields[k];
        size_t o = 0;
        if (f->type != TF_FIELD_PACKED ||
            (!seen[k] && *TF_MEMBER(const void *const, base, f->flag_at) == NULL))
            continue;
        while (o < n_fields && (fields[o].type != TF_FIELD_OFFSETS || fields[o].at != f->flag_at))
            o++;
        TF_ASSERT(o < n_fields);
        if (!seen[k] || !seen[o])
            return tf_fail(err, "%s: missing", fields[seen[k] ? o : k].name);
        if (check_offsets(&fields[o], counts[o], counts[k], base, err) != 0)
            return -1;
        if ((f->flags & TF_KNOWN) &&
            tf_ids_known(d->header->size, f->name, *TF_MEMBER(const uint32_t *const, base, f->at),
                         counts[k], err) != 0)
            return -1;
    }
    return 0;
}

static TF_NOINLINE int get_text(struct tf_decoder *d, const struct tf_field *f, void *base,
                                struct tf_err *err)
{
    const char *s;
    size_t n;
    TRY(f->name, tf_cursor_text(&d->c, &s, &n));
    *TF_MEMBER(const char *, base, f->at) = tf_arena_strndup(d->arena, s, n);
    return 0;
}

static int get_ids(struct tf_decoder *d, const struct tf_field *f, void *base, struct tf_err *err)
{
    const uint32_t **ids = TF_MEMBER(const uint32_t *, base, f->at);
    TRY(f->name, tf_cursor_ids(&d->c, d->arena, f->max, ids, &d->n));
    if (f->type != TF_FIELD_IDS)
        return 0; /* the count is in another field */
    *TF_MEMBER(size_t, base, f->n_at) = d->n;
    return f->flags & TF_KNOWN ? tf_ids_known(d->header->size, f->name, *ids, d->n, err) : 0;
}

static int get_floats(struct tf_decoder *d, const struct tf_field *f, void *base,
                      struct tf_err *err)
{
    TRY(f->name,
        tf_cursor_reals(&d->c, d->arena, f->max, TF_MEMBER(const float *, base, f->at), &d->n));
    if (f->count == NULL)
        *TF_MEMBER(size_t, base, f->n_at) = d->n;
    return 0;
}

static int get_field(struct tf_decoder *d, const struct tf_field *f, void *base, struct tf_err *err)
{
    const char *why;
    switch (f->type) {
    case TF_FIELD_UINT:
        TRY(f->name, tf_cursor_uint(&d->c, TF_MEMBER(uint64_t, base, f->at)));
        if (f->flags & TF_OPTIONAL)
            *TF_MEMBER(bool, base, f->flag_at) = true;
        return 0;
    case TF_FIELD_CODE:
        TRY(f->name, tf_cursor_uint(&d->c, &d->x));
        if (d->x < 1 || d->x > INT32_MAX)
            return tf_fail(err, "%s: too %s", f->name, d->x < 1 ? "small" : "large");
        *TF_MEMBER(int, base, f->at) = (int)d->x;
        return 0;
    case TF_FIELD_TEXT:
        return get_text(d, f, base, err);
    case TF_FIELD_FLOAT:
        TRY(f->name, tf_cursor_real(&d->c, &d->real));
        return tf_to_float(d->real, TF_MEMBER(float, base, f->at))
                   ? 0
                   : tf_fail(err, "%s: a number that f32 can't hold", f->name);
    case TF_FIELD_SHA256:
        TRY(f->name, tf_cursor_sha256(&d->c, TF_MEMBER(uint8_t, base, f->at)));
        *TF_MEMBER(bool, base, f->flag_at) = true;
        return 0;
    case TF_FIELD_IDS:
    case TF_FIELD_PACKED:
    case TF_FIELD_OFFSETS:
        return get_ids(d, f, base, err);
    case TF_FIELD_FLOATS:
        return get_floats(d, f, base, err) == 0 ? tf_field_check_floats(f, d->n, base, err) : -1;
    case TF_FIELD_TEXTS:
        return get_texts(d, f, base, err);
    case TF_FIELD_STRUCTS:
        return get_structs(d, f, base, err);
    case TF_FIELD_MAP:
        return get_map(d, f->fields, f->name, base, err);
    case TF_FIELD_VALUE:
        *TF_MEMBER(const uint8_t *, base, f->flag_at) = d->c.p;
        TRY(f->name, tf_cursor_skip(&d->c));
        *TF_MEMBER(size_t, base, f->n_at) =
            (size_t)(d->c.p - *TF_MEMBER(const uint8_t *, base, f->flag_at));
        return 0;
    case TF_FIELD_PART_CRC:
        why = tf_cursor_crc(&d->c, TF_MEMBER(bool, base, f->flag_at),
                            TF_MEMBER(uint32_t, base, f->at));
        return why != NULL ? tf_fail(err, "%s", why) : 0;
    case TF_FIELD_OWN_CRC: /* checked before all else */
        return 0;
    default:
        TF_BUG("field %s", f->name);
    }
}

/* An array may end before field f if f is optional. */
static int too_few(const struct tf_field *f, uint64_t before, struct tf_err *err)
{
    if (f->flags & TF_OPTIONAL)
        return 0;
    for (; f->name != NULL && !(f->flags & TF_OPTIONAL); f++)
        before++;
    return tf_fail(err, "fewer than %llu items", (unsigned long long)before);
}

/* The fields of an array of so many items, `before` of which are done. Items after the fields that
 * are known come from a newer version. */
static int get_fields(struct tf_decoder *d, const struct tf_field *f, uint64_t before,
                      uint64_t items, void *base, struct tf_err *err)
{
    bool newer = before == 0; /* within a record: the cursor moves past them */
    for (; f->name != NULL; f++, before++) {
        if (before >= items)
            return too_few(f, before, err);
        if ((f->flags & TF_OPTIONAL) && tf_cursor_is_null(&d->c))
            d->c.p++;
        else if (get_field(d, f, base, err) != 0)
            return -1;
    }
    if (!newer)
        return 0;
    for (; before < items; before++)
        TRY("item", tf_cursor_skip(&d->c));
    return 0;
}

/* Check the CRC at the end of a record, which is of all bytes before it. */
static TF_NOINLINE int check_own_crc(const struct tf_record *rec, size_t at, struct tf_err *err)
{
    bool has;
    uint32_t crc;
    struct tf_cbor_cursor c = {.p = rec->raw + at, .end = rec->raw + rec->raw_n};
    TRY("record", tf_cursor_crc(&c, &has, &crc));
    uint32_t want = tf_crc32c(0, rec->raw, at);
    if (has && crc != want)
        return tf_fail(err, "damaged: crc32c is %08x, the record says %08x", want, crc);
    return 0;
}

int tf_record_decode(struct tf_record *rec, struct tf_decoder *d, const uint8_t *p, size_t n,
                     struct tf_err *err)
{
    memset(rec, 0, sizeof *rec);
    rec->raw = p;
    rec->raw_n = n;
    int k = begin_record(p, n, &d->items, &d->x);
    if (k < 0)
        return tf_fail(err, "not an array that begins with a type");
    d->c = (struct tf_cbor_cursor){.p = p + k, .end = p + n};
    rec->type = (int)d->x;
    const uint64_t items = d->items;
    const struct tf_schema *s = tf_schema_of(rec->type);
    if (s == NULL)
        return 0;
    if (s->apart)
        return items <= tf_schema_fields(s)
                   ? tf_fail(err, "fewer than %zu items", 1 + tf_schema_fields(s))
                   : 0;
    if (s->closed && items > 1 + tf_schema_fields(s))
        return tf_fail(err, "more than %zu items", 1 + tf_schema_fields(s));
    if (s->own_crc) {
        size_t at = tf_record_crc_at(rec->type, p, n);
        if (at == 0)
            return tf_fail(err, "fewer than %zu items", 1 + tf_schema_fields(s));
        if (check_own_crc(rec, at, err))
            return -1;
    }
    return get_fields(d, s->fields, 1, items, rec, err);
}

size_t tf_record_crc_at(int type, const uint8_t *p, size_t n)
{
    const struct tf_schema *s = tf_schema_of(type);
    struct tf_cbor_cursor c = {.p = p, .end = p + n};
    uint64_t items, before = 1;
    if (s == NULL || !s->own_crc)
        return 0;
    for (const struct tf_field *f = s->fields; f[1].name != NULL; f++)
        before++;
    if (tf_cursor_array(&c, &items) != NULL || items <= before)
        return 0;
    for (uint64_t i = 0; i < before; i++)
        if (tf_cursor_skip(&c) != NULL)
            return 0;
    return (size_t)(c.p - p);
}
