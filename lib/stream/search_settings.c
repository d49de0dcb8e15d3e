/* search_settings.c - see search_settings.h. */
#include "stream/search_settings.h"
#include "base/opt.h"
#include "base/parse.h"
#include "ops/search_state.h"
#include "stream/header.h"

#include <inttypes.h>
#include <string.h>

const char *const tf_search_words[] = {"model",        "paper",  "fairseq", "ctranslate2",
                                       "transformers", "marian", NULL};

static const char *const precisions[] = {"fp32", "bf16", "int8", NULL};

static const struct row {
    const char *key;
    enum tf_value_kind kind;
    double lo, hi;
    const char *const *words; /* of a text, or NULL: any */
    bool is_head;             /* a text for tf_alignment_head_parse */
} rows[] = {
    {.key = "search", .kind = TF_TEXT, .words = tf_search_words + 2},
    {.key = "beam", .kind = TF_INT, .lo = 1, .hi = TF_SEARCH_MAX_BEAM},
    {.key = "alpha", .kind = TF_REAL, .lo = 0, .hi = 100},
    {.key = "normalize", .kind = TF_REAL, .lo = 0, .hi = 100},
    {.key = "begin", .kind = TF_TEXT},
    {.key = "free-prefix", .kind = TF_BOOL},
    {.key = "max-extra", .kind = TF_INT, .lo = 0, .hi = TF_SEARCH_MAX_LENGTH},
    {.key = "max-factor", .kind = TF_REAL, .lo = 0, .hi = 100},
    {.key = "count-end", .kind = TF_BOOL},
    {.key = "min-length", .kind = TF_INT, .lo = 1, .hi = TF_SEARCH_MAX_LENGTH},
    {.key = "no-repeat-ngram", .kind = TF_INT, .lo = 1, .hi = TF_SEARCH_MAX_LENGTH},
    {.key = "repetition-penalty", .kind = TF_REAL, .lo = 1e-3, .hi = 1e3},
    {.key = "allow-unk", .kind = TF_BOOL},
    {.key = "precision", .kind = TF_TEXT, .words = precisions},
    {.key = TF_ALIGNMENT_HEAD, .kind = TF_TEXT, .is_head = true},
};

int tf_alignment_head_parse(const char *text, int64_t *layer, int64_t *head, struct tf_err *err)
{
    char first[16];
    const size_t n = strcspn(text, ",");
    *head = 0;
    if (n >= sizeof first)
        return tf_fail(err, "'%.40s': neither LAYER nor LAYER,HEAD, counted from 1", text);
    memcpy(first, text, n);
    first[n] = 0;
    if (tf_parse_int(layer, first, 1, TF_MAX_LAYERS, err) != 0 ||
        (text[n] != 0 && tf_parse_int(head, text + n + 1, 1, TF_MAX_HEADS, err) != 0))
        return tf_fail(err, "'%.40s': neither LAYER nor LAYER,HEAD, counted from 1", text);
    return 0;
}

static const struct row *find_row(const char *key, struct tf_err *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    tf_fail(err, "search: %.40s: not a setting that this program knows", key);
    return NULL;
}

static int check_word(const struct row *r, const char *text, struct tf_err *err)
{
    struct tf_err why = {0};
    int64_t layer, head;
    if (*text == 0)
        return tf_fail(err, "search: %s: empty", r->key);
    if (r->is_head)
        return tf_alignment_head_parse(text, &layer, &head, err) == 0
                   ? 0
                   : tf_context(err, "search: %s", r->key);
    if (r->words == NULL || tf_opt_find_word(r->words, text, &why) >= 0)
        return 0;
    return tf_fail(err, "search: %s: %s", r->key, why.msg);
}

static int check_value(const struct row *r, const struct tf_value *map, struct tf_err *err)
{
    int64_t n;
    double x;
    bool flag;
    const char *text;
    int rc = 0;
    if (r->kind == TF_INT)
        rc = tf_value_int_of(map, r->key, (int64_t)r->lo, (int64_t)r->hi, &n, err);
    else if (r->kind == TF_REAL)
        rc = tf_value_real_of(map, r->key, r->lo, r->hi, &x, err);
    else if (r->kind == TF_BOOL)
        rc = tf_value_bool_of(map, r->key, &flag, err);
    else if ((rc = tf_value_text_of(map, r->key, &text, err)) == 0)
        return check_word(r, text, err);
    return rc == 0 ? 0 : tf_context(err, "search");
}

int tf_search_settings_check(const struct tf_value *map, struct tf_err *err)
{
    for (size_t i = 0; i < map->n; i++) {
        const struct row *r = find_row(map->keys[i], err);
        if (r == NULL || check_value(r, map, err) != 0)
            return -1;
    }
    if (tf_value_get(map, "alpha") != NULL && tf_value_get(map, "normalize") != NULL)
        return tf_fail(err, "search: alpha and normalize: two length penalties");
    return 0;
}

static int parse(struct tf_value *v, struct tf_arena *a, const struct row *r, const char *text,
                 struct tf_err *err)
{
    int64_t n;
    double x;
    if (r->kind == TF_INT) {
        if (tf_parse_int(&n, text, (int64_t)r->lo, (int64_t)r->hi, err) != 0)
            return tf_context(err, "search: %s", r->key);
        *v = tf_value_int(n);
    } else if (r->kind == TF_REAL) {
        if (tf_parse_real(&x, text, r->lo, r->hi, err) != 0)
            return tf_context(err, "search: %s", r->key);
        *v = tf_value_real(x);
    } else if (r->kind == TF_BOOL) {
        if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
            return tf_fail(err, "search: %s: %.40s: not yes or no", r->key, text);
        *v = tf_value_bool(strcmp(text, "yes") == 0);
    } else if (check_word(r, text, err) != 0) {
        return -1;
    } else {
        *v = tf_value_str(a, text);
    }
    return 0;
}

int tf_search_settings_set(struct tf_value *map, struct tf_arena *a, const char *key,
                           const char *text, struct tf_err *err)
{
    const struct row *r = find_row(key, err);
    struct tf_value v, rest = tf_value_map();
    if (r == NULL || (*text != 0 && parse(&v, a, r, text, err) != 0))
        return -1;
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->keys[i], key) != 0)
            tf_value_put(a, &rest, map->keys[i], map->items[i]);
    if (*text != 0)
        tf_value_put(a, &rest, key, v);
    *map = rest;
    return 0;
}

void tf_search_settings_text(struct tf_buf *b, const struct tf_value *v)
{
    char number[32];
    if (v->kind == TF_TEXT)
        tf_buf_printf(b, "%s", v->text);
    else if (v->kind == TF_INT)
        tf_buf_printf(b, "%" PRId64, v->integer);
    else if (v->kind == TF_REAL)
        tf_buf_printf(b, "%s", tf_format_real(number, v->real));
    else
        tf_buf_printf(b, "%s", v->boolean ? "true" : "false");
}

void tf_search_settings_line(struct tf_buf *b, const struct tf_value *map)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tf_value *v = tf_value_get(map, rows[i].key);
        if (v == NULL || (v->kind == TF_BOOL && !v->boolean))
            continue;
        tf_buf_printf(b, "%s--%s", b->len > 0 ? " " : "", rows[i].key);
        if (v->kind == TF_BOOL)
            continue;
        tf_buf_byte(b, ' ');
        tf_search_settings_text(b, v);
    }
}
