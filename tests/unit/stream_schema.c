/* stream_schema.c - the table of records agrees with formats/tf.cddl and jsonl.cddl, rule by rule,
 * and with itself. */
#include "../harness/tap.h"
#include "base/buf.h"
#include "base/input.h"
#include "stream/schema_private.h"

#include <ctype.h>
#include <stdlib.h>

static char *cddl;

/* The right side of a rule, without comments and with single spaces; empty if there is none. */
static void find_rule(struct tf_buf *b, const char *name)
{
    size_t n = strlen(name);
    const char *p = cddl;
    while (p && (strncmp(p, name, n) != 0 || strncmp(p + n, " = ", 3) != 0))
        p = (p = strchr(p, '\n')) != NULL ? p + 1 : NULL;
    for (p = p ? p + n + 3 : ""; *p && !(p[0] == '\n' && isalpha((unsigned char)p[1])); p++) {
        if (*p == ';')
            p += strcspn(p, "\n") - 1;
        else if (!isspace((unsigned char)*p))
            tf_buf_byte(b, (unsigned char)*p);
        else if (b->len && b->p[b->len - 1] != ' ' && b->p[b->len - 1] != '{')
            tf_buf_byte(b, ' ');
    }
    while (b->len && b->p[b->len - 1] == ' ')
        b->len--;
    tf_buf_byte(b, 0);
}

/* Validators confuse a label with a rule of that name. */
static bool is_rule(const char *name)
{
    struct tf_buf b = {0};
    find_rule(&b, name);
    bool found = b.len > 1 || strcmp(name, "text") == 0; /* of the prelude */
    tf_buf_release(&b);
    return found;
}

static const char *cddl_type(const struct tf_field *f)
{
    switch (f->type) {
    case TF_FIELD_UINT:
        return strcmp(f->name, "idx") != 0 ? "uint" : "idx";
    case TF_FIELD_CODE:
        return "code";
    case TF_FIELD_TEXT:
        return "tstr";
    case TF_FIELD_FLOAT:
        return "real";
    case TF_FIELD_SHA256:
        return "sha256";
    case TF_FIELD_IDS:
    case TF_FIELD_PACKED:
    case TF_FIELD_OFFSETS:
        return "ids";
    case TF_FIELD_FLOATS:
        return "reals";
    case TF_FIELD_TEXTS:
        return "[* tstr]";
    case TF_FIELD_STRUCTS:
        return "[* hypothesis]";
    case TF_FIELD_VALUE:
        return "value";
    case TF_FIELD_PART_CRC:
    case TF_FIELD_OWN_CRC:
    case TF_FIELD_DATA_CRC:
        return "crc";
    case TF_FIELD_DTYPE:
        return "dtype";
    case TF_FIELD_PAD:
        return "bstr";
    case TF_FIELD_MATRIX:
        return "matrix";
    default:
        return "?";
    }
}

/* Keys in the order of their encodings. */
static void put_map(struct tf_buf *b, const struct tf_field *fields)
{
    const struct tf_field *last = NULL, *next;
    tf_buf_str(b, "{");
    for (;; last = next) {
        next = NULL;
        for (const struct tf_field *f = fields; f->name; f++)
            if ((!last || tf_key_order(f->name, last->name) > 0) &&
                (!next || tf_key_order(f->name, next->name) < 0))
                next = f;
        if (!next)
            break;
        tf_buf_printf(b, "%s\"%s\": %s, ", next->flags & TF_OPTIONAL ? "? " : "", next->name,
                      cddl_type(next));
    }
    tf_buf_str(b, "* tstr => any, }");
}

/* Fields of an array, so many optional ones included; the first that is left out. A type that has
 * the field's name needs no label. */
static const struct tf_field *put_fields(struct tf_buf *b, const struct tf_field *f, int optional)
{
    for (const char *comma = ""; f->name; f++) {
        if ((f->flags & TF_OPTIONAL) && optional-- == 0)
            break;
        const char *type = cddl_type(f);
        tf_buf_str(b, comma);
        comma = ", ";
        if (f->type == TF_FIELD_MAP)
            put_map(b, f->fields);
        else if (strcmp(type, f->name) == 0)
            tf_buf_str(b, type);
        else
            tf_buf_printf(b, "%s%s: %s", f->name, is_rule(f->name) ? "-value" : "", type);
        if (f->flags & TF_OPTIONAL)
            tf_buf_str(b, " / nil");
    }
    return f;
}

/* begin: what comes before the fields. Each optional field makes one more form. */
static void put_rule(struct tf_buf *b, const char *begin, const struct tf_field *f, bool closed)
{
    tf_buf_printf(b, "[%s", begin);
    for (int optional = 0; put_fields(b, f, optional)->name; optional++)
        tf_buf_printf(b, "] / [%s", begin);
    tf_buf_str(b, closed ? "]" : ", * any]");
}

static void compare(const char *name, const char *begin, const struct tf_field *f, bool closed)
{
    struct tf_buf want = {0}, is = {0};
    put_rule(&want, begin, f, closed);
    find_rule(&is, name);
    is_str(is.p, want.p, "tf.cddl: %s", name);
    tf_buf_release(&want);
    tf_buf_release(&is);
}

/* ---- JSON Lines ---- */

static const char *json_type(const struct tf_field *f)
{
    switch (f->type) {
    case TF_FIELD_UINT:
        return "uint";
    case TF_FIELD_DTYPE:
        return "tstr";
    case TF_FIELD_PACKED:
        return "[* ids]";
    case TF_FIELD_PART_CRC:
        return "uint / nil";
    default:
        return cddl_type(f);
    }
}

/* Fields of an object. Counts and CRCs may be missing, since readers compute them. */
static void put_json_fields(struct tf_buf *b, const struct tf_field *f, bool closed)
{
    for (; f->name; f++) {
        switch (f->type) {
        case TF_FIELD_MAP:
            put_json_fields(b, f->fields, closed);
            break;
        case TF_FIELD_MATRIX:
            tf_buf_str(b, "\"dims\": [* uint], \"data\": reals, ");
            break;
        case TF_FIELD_OFFSETS:
        case TF_FIELD_OWN_CRC:
        case TF_FIELD_DATA_CRC:
        case TF_FIELD_PAD:
            break;
        default:
            tf_buf_printf(b, "%s\"%s\": %s, ", closed || f->flags & TF_OPTIONAL ? "? " : "",
                          f->name, json_type(f));
        }
    }
}

static void compare_json(const char *name, const char *type, const struct tf_field *f, bool closed)
{
    struct tf_buf want = {0}, is = {0};
    tf_buf_printf(&want, "{%s", type);
    put_json_fields(&want, f, closed);
    if (closed)
        want.len -= 2; /* the last comma */
    tf_buf_str(&want, closed ? "}" : "* tstr => any}");
    find_rule(&is, name);
    is_str(is.p, want.p, "jsonl.cddl: %s", name);
    tf_buf_release(&want);
    tf_buf_release(&is);
}

static void compare_jsonl(void)
{
    static const char *const used[] = {"code", "ids", "reals", "real", "sha256", "value"};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        ok(is_rule(used[i]), "jsonl.cddl: %s", used[i]);
    for (int type = 0; type <= TF_REC_END; type++) {
        const struct tf_schema *s = tf_schema_of(type);
        char begin[64];
        if (!s || type == TF_REC_HEADER)
            continue;
        snprintf(begin, sizeof begin, "\"type\": \"%s\", ", s->name);
        compare_json(s->name, begin, s->fields, s->closed);
        if (type == TF_REC_NBEST)
            compare_json("hypothesis", "", s->fields[1].fields, false);
    }
}

/* Every row has the members that its type uses. */
static bool sound(const struct tf_field *f, bool map)
{
    for (; f->name; f++) {
        bool list = f->type == TF_FIELD_IDS || f->type == TF_FIELD_FLOATS ||
                    f->type == TF_FIELD_TEXTS || f->type == TF_FIELD_PACKED ||
                    f->type == TF_FIELD_OFFSETS || f->type == TF_FIELD_STRUCTS;
        bool nested = f->type == TF_FIELD_STRUCTS || f->type == TF_FIELD_MAP;
        /* in an array, only a CRC may follow an optional field that is not optional itself */
        bool order = !(f->flags & TF_OPTIONAL) || !f[1].name || (f[1].flags & TF_OPTIONAL) ||
                     f[1].type == TF_FIELD_OWN_CRC || f[1].type == TF_FIELD_DATA_CRC || map;
        if (!order || list != (f->max > 0) || nested != (f->fields != NULL) ||
            (f->type == TF_FIELD_STRUCTS) != (f->size > 0) ||
            (f->fields && !sound(f->fields, f->type == TF_FIELD_MAP)))
            return false;
    }
    return true;
}

int main(void)
{
    size_t n;
    struct tf_err err = {0};
    if (!ok(tf_read_file(&cddl, &n, "formats/tf.cddl", 1 << 20, &err) == 0, "formats/tf.cddl %s",
            err.msg))
        return done();
    struct tf_buf record = {0};
    for (int type = 0; type <= TF_REC_END; type++) {
        const struct tf_schema *s = tf_schema_of(type);
        char begin[16];
        if (!s)
            continue;
        is_int(tf_schema_type(s->name), type, "%s: by its name", s->name);
        const struct tf_field *last = s->fields + tf_schema_fields(s) - 1;
        ok(sound(s->fields, false) &&
               s->own_crc == (last->type == TF_FIELD_OWN_CRC || last->type == TF_FIELD_DATA_CRC),
           "%s: its row", s->name);
        if (type == TF_REC_HEADER)
            continue; /* the CDDL specifies its map */
        snprintf(begin, sizeof begin, "%d, ", type);
        compare(s->name, begin, s->fields, s->closed);
        if (type == TF_REC_NBEST)
            compare("hypothesis", "", s->fields[1].fields, false);
        if (type != TF_REC_ERROR && type != TF_REC_END)
            tf_buf_printf(&record, "%s / ", s->name);
    }
    tf_buf_str(&record, "ancillary");
    struct tf_buf is = {0};
    find_rule(&is, "record");
    is_str(is.p, record.p, "tf.cddl: record");
    ok(is_rule("code"), "tf.cddl: code");
    tf_buf_release(&is);
    free(cddl);
    must(tf_read_file(&cddl, &n, "formats/jsonl.cddl", 1 << 20, &err), &err);
    compare_jsonl();
    struct tf_buf same = {0};
    find_rule(&same, "record");
    is_str(same.p, record.p, "jsonl.cddl: record");
    tf_buf_release(&same);
    tf_buf_release(&record);
    free(cddl);
    return done();
}
