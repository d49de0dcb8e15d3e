/* piece_list.c - see piece_list.h. */
#include "text/piece_list.h"
#include "base/gunzip.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "exchange/yaml.h"
#include "stream/model.h"
#include "text/sp_check.h"
#include "text/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const char *piece;
    int64_t id;
};

/* In the order of the file. */
struct list {
    struct tf_arena *a;
    struct entry *v;
    size_t n, cap;
};

static void add_piece(struct list *l, const char *piece, size_t n, int64_t id)
{
    TF_GROW(l->v, l->n, l->cap);
    l->v[l->n++] = (struct entry){tf_arena_strndup(l->a, piece, n), id};
}

static int read_yaml(struct list *l, const char *bytes, size_t size, struct tf_err *err)
{
    struct tf_yaml y;
    if (tf_yaml_read(&y, l->a, bytes, size, err) != 0)
        return -1;
    for (size_t i = 0; i < y.n; i++) {
        const struct tf_yaml_entry *e = &y.v[i];
        int64_t id;
        if (e->n != 1)
            return tf_fail(err, "'%s': not an id", e->key);
        if (tf_parse_int(&id, e->v[0], 0, (int64_t)y.n - 1, err) != 0)
            return tf_context(err, "'%s'", e->key);
        add_piece(l, e->key, strlen(e->key), id);
    }
    return 0;
}

static int too_many(struct tf_err *err)
{
    return tf_fail(err, "more than %d pieces", (int)TF_MAX_PIECES);
}

static int read_lines(struct list *l, const char *p, size_t size, struct tf_err *err)
{
    for (const char *end = p + size; p < end;) {
        if (l->n == TF_MAX_PIECES)
            return too_many(err);
        const char *lf = memchr(p, '\n', (size_t)(end - p));
        const size_t n = (size_t)((lf != NULL ? lf : end) - p);
        add_piece(l, p, n, (int64_t)l->n);
        p += n + 1;
    }
    return 0;
}

/* One entry of the object or array; 0 at its end, 1 after an entry. */
static int read_json_entry(struct list *l, struct tf_json_reader *r, bool object,
                           struct tf_err *err)
{
    enum tf_json_kind kind;
    const int more = tf_json_more(r, &kind, err);
    if (more <= 0)
        return more;
    if (!object && kind != TF_JSON_STRING)
        return tf_fail(err, "entry %zu: not a text", l->n);
    if (l->n == TF_MAX_PIECES)
        return too_many(err);
    add_piece(l, r->text.p, r->text.len, (int64_t)l->n);
    if (!object)
        return 1;
    struct entry *e = &l->v[l->n - 1];
    if (tf_json_next(r, &kind, err) != 0)
        return -1;
    if (kind != TF_JSON_NUMBER || !r->is_int || r->negative || r->uint > TF_MAX_VOCAB)
        return tf_fail(err, "'%s': not an id", e->piece);
    e->id = (int64_t)r->uint;
    return 1;
}

static int read_json(struct list *l, const char *bytes, size_t size, struct tf_err *err)
{
    struct tf_json_reader r;
    enum tf_json_kind kind;
    tf_json_read(&r, bytes, size);
    int rc = tf_json_next(&r, &kind, err);
    if (rc == 0 && kind != TF_JSON_OBJECT && kind != TF_JSON_ARRAY)
        rc = tf_fail(err, "neither an object nor an array");
    const bool object = rc == 0 && kind == TF_JSON_OBJECT;
    if (rc == 0)
        do
            rc = read_json_entry(l, &r, object, err);
        while (rc > 0);
    if (rc == 0)
        rc = tf_json_next(&r, &kind, err); /* the end */
    tf_json_read_release(&r);
    return rc;
}

static int by_id(struct list *l, const char **texts, struct tf_err *err)
{
    if (l->n == 0)
        return tf_fail(err, "no pieces");
    for (size_t i = 0; i < l->n; i++) {
        const struct entry *e = &l->v[i];
        if ((size_t)e->id >= l->n)
            return tf_fail(err, "'%s': the id %lld in a list of %zu", e->piece, (long long)e->id,
                           l->n);
        if (texts[e->id] != NULL)
            return tf_fail(err, "'%s' and '%s' have the id %lld", texts[e->id], e->piece,
                           (long long)e->id);
        texts[e->id] = e->piece;
    }
    return 0;
}

static bool begins_with(const char *p, size_t n, const char *text)
{
    for (; *text != 0; text++) {
        const size_t space = strspn(p, " \t\r\n");
        p += space;
        n -= space;
        if (n == 0 || *p != *text)
            return false;
        p++;
        n--;
    }
    return true;
}

/* What Marian's and other programs' names say, and if they say nothing, the first entry. */
static int read_any(struct list *l, const char *path, const char *bytes, size_t size,
                    struct tf_err *err)
{
    const bool is_yml = tf_is_named(path, ".yml") || tf_is_named(path, ".yaml");
    if (tf_is_named(path, ".json") ||
        (!is_yml && !tf_is_named(path, ".txt") &&
         (begins_with(bytes, size, "{\"") || begins_with(bytes, size, "{}") ||
          begins_with(bytes, size, "[\"") || begins_with(bytes, size, "[]"))))
        return read_json(l, bytes, size, err);
    if (is_yml || (!tf_is_named(path, ".txt") && tf_yaml_is_list(bytes, size)))
        return read_yaml(l, bytes, size, err);
    if (size > 0 && memchr(bytes, 0, size) != NULL)
        return tf_fail(err, "not a list of pieces");
    return read_lines(l, bytes, size, err);
}

const char *tf_piece_unused(struct tf_arena *a, size_t id)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "<unused-%zu>", id);
    return tf_arena_strndup(a, text, (size_t)n);
}

int64_t tf_piece_list_id(const struct tf_piece_list *list, const char *piece)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i], piece) == 0)
            return (int64_t)i;
    return -1;
}

int tf_piece_list_read(struct tf_piece_list *list, struct tf_arena *a, const char *path,
                       struct tf_err *err)
{
    char *bytes;
    size_t size;
    struct list l = {.a = a};
    if (tf_text_read_file(&bytes, &size, path, TF_MAX_VOCAB, err) != 0)
        return -1;
    int rc = read_any(&l, path, bytes, size, err);
    free(bytes);
    const char **v = rc == 0 ? tf_arena_zalloc(a, (l.n + 1) * sizeof *v) : NULL;
    if (rc == 0)
        rc = by_id(&l, v, err);
    *list = (struct tf_piece_list){v, rc == 0 ? l.n : 0};
    free(l.v);
    return rc == 0 ? 0 : tf_context(err, "%s", path);
}
