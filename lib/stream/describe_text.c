/* describe_text.c - a description as text: rows of key and value, tensors as a table, provenance as
 * a shell pipeline. */
#include "base/hash.h"
#include "base/parse.h"
#include "stream/describe.h"
#include "stream/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool few_numbers(const struct tf_value *array)
{
    bool all = array->n > 0 && array->n <= 16;
    for (size_t i = 0; all && i < array->n; i++)
        all = array->items[i].kind == TF_INT || array->items[i].kind == TF_REAL;
    return all;
}

static void put_scalar(struct tf_buf *b, const struct tf_value *v)
{
    char number[32], hex[65];
    switch (v->kind) {
    case TF_NULL:
        tf_buf_str(b, "none");
        break;
    case TF_BOOL:
        tf_buf_str(b, v->boolean ? "true" : "false");
        break;
    case TF_INT:
        tf_buf_printf(b, "%" PRId64, v->integer);
        break;
    case TF_REAL:
        tf_buf_str(b, tf_format_real(number, v->real));
        break;
    case TF_TEXT:
        tf_buf_escaped(b, v->text, v->n);
        break;
    case TF_BYTES:
        if (v->n == 32)
            tf_buf_str(b, tf_hex(hex, (const uint8_t *)v->text, 32));
        else
            tf_buf_printf(b, "%zu bytes", v->n);
        break;
    case TF_ARRAY:
        if (!few_numbers(v)) {
            tf_buf_printf(b, "%zu items", v->n);
            break;
        }
        for (size_t i = 0; i < v->n; i++) {
            tf_buf_str(b, i > 0 ? " " : "");
            put_scalar(b, &v->items[i]);
        }
        break;
    case TF_MAP:
        tf_buf_printf(b, "%zu fields", v->n);
        break;
    }
}

static void put_row(struct tf_buf *b, int indent, const char *key, const struct tf_value *v)
{
    size_t from = b->len;
    tf_buf_printf(b, "%*s", indent, "");
    tf_buf_escaped(b, key, strlen(key));
    do
        tf_buf_byte(b, ' ');
    while (b->len - from < 21);
    put_scalar(b, v);
    tf_buf_byte(b, '\n');
}

static void put_map(struct tf_buf *b, int indent, const char *title, const struct tf_value *map)
{
    if (map == NULL || map->kind != TF_MAP || map->n == 0)
        return;
    tf_buf_printf(b, "%*s", indent, "");
    tf_buf_escaped(b, title, strlen(title));
    tf_buf_byte(b, '\n');
    for (size_t i = 0; i < map->n; i++) {
        if (map->items[i].kind == TF_MAP)
            put_map(b, indent + 2, map->keys[i], &map->items[i]);
        else
            put_row(b, indent + 2, map->keys[i], &map->items[i]);
    }
}

/* Append a shell word, in single quotes if it needs them. */
static void put_word(struct tf_buf *b, const char *before, const struct tf_value *v)
{
    struct tf_buf word = {0};
    tf_buf_str(&word, before);
    put_scalar(&word, v);
    tf_buf_shell_word(b, word.p != NULL ? word.p : "", word.len);
    tf_buf_release(&word);
}

static void put_option(struct tf_buf *b, const char *name, const struct tf_value *v)
{
    const struct tf_value key = {.kind = TF_TEXT, .text = name, .n = strlen(name)};
    tf_buf_byte(b, ' ');
    /* Our tools record false for --no-NAME only. */
    put_word(b, v->kind == TF_BOOL && !v->boolean ? "--no-" : "--", &key);
    if (v->kind == TF_BOOL)
        return;
    tf_buf_byte(b, ' ');
    put_word(b, "", v);
}

static void put_stage(struct tf_buf *b, const struct tf_value *stage, bool first, bool last)
{
    static const struct tf_value nameless = {.kind = TF_TEXT, .text = "?", .n = 1};
    const struct tf_value *prog = tf_value_get(stage, "prog"),
                          *opts = tf_value_find(stage, "opts", TF_MAP),
                          *precision = tf_value_get(stage, "precision");
    tf_buf_str(b, first ? "  " : "  | ");
    put_word(b, "", prog != NULL ? prog : &nameless);
    for (size_t i = 0; opts != NULL && i < opts->n; i++) {
        const struct tf_value *v = &opts->items[i];
        const bool list = v->kind == TF_ARRAY; /* an option that was given several times */
        for (size_t k = 0; k < (list ? v->n : 1); k++)
            put_option(b, opts->keys[i], list ? &v->items[k] : v);
    }
    if (precision != NULL) {
        tf_buf_str(b, " --precision ");
        put_word(b, "", precision);
    }
    tf_buf_str(b, last ? "\n" : " \\\n");
}

/* Is this member of a stage part of its command line, or printed in a row of its own? */
static bool is_shown(const char *key)
{
    static const char *const keys[] = {"prog", "version", "opts", "precision", "in"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Print the pipeline as shell, with versions and inputs of its stages as comments. */
static void put_made(struct tf_buf *b, const struct tf_value *made)
{
    if (made == NULL || made->kind != TF_ARRAY || made->n == 0)
        return;
    tf_buf_str(b, "made by\n");
    for (size_t i = 0; i < made->n; i++)
        put_stage(b, &made->items[i], i == 0, i + 1 == made->n);
    for (size_t i = 0; i < made->n; i++) {
        const struct tf_value *stage = &made->items[i], *prog = tf_value_get(stage, "prog"),
                              *in = tf_value_find(stage, "in", TF_MAP),
                              *version = tf_value_get(stage, "version");
        tf_buf_str(b, "  # ");
        if (prog != NULL)
            put_scalar(b, prog);
        tf_buf_byte(b, ' ');
        if (version != NULL)
            put_scalar(b, version);
        tf_buf_byte(b, '\n');
        for (size_t k = 0; in != NULL && k < in->n; k++) {
            tf_buf_str(b, "  # ");
            put_row(b, 2, in->keys[k], &in->items[k]);
        }
        for (size_t k = 0; stage->kind == TF_MAP && k < stage->n; k++) {
            if (is_shown(stage->keys[k]))
                continue;
            tf_buf_str(b, "  # ");
            put_row(b, 2, stage->keys[k], &stage->items[k]);
        }
    }
}

static void put_tensor(struct tf_buf *b, const struct tf_value *t)
{
    const struct tf_value *dims = tf_value_get(t, "dims");
    struct tf_buf shape = {0};
    for (size_t k = 0; k < dims->n; k++)
        tf_buf_printf(&shape, "%s%" PRId64, k > 0 ? " x " : "", dims->items[k].integer);
    char name[4 * TF_MAX_NAME + 1];
    const struct tf_value *raw = tf_value_get(t, "name");
    tf_buf_printf(b, "  %-28s %-5s %15s %11" PRId64 "  %08" PRIx64 "\n",
                  tf_escape(name, sizeof name, raw->text, raw->n), tf_value_get(t, "dtype")->text,
                  shape.p != NULL ? shape.p : "", tf_value_get(t, "elements")->integer,
                  (uint64_t)tf_value_get(t, "crc32c")->integer);
    tf_buf_release(&shape);
}

/* Only count moments and moving averages, whose shapes are those of the parameters. */
static void put_tensors(struct tf_buf *b, const struct tf_value *tensors)
{
    static const struct {
        const char *prefix, *label;
    } like[] = {{"m/", "first moments"}, {"v/", "second moments"}, {"e/", "moving averages"}};
    enum { LIKE = sizeof like / sizeof *like };
    size_t n[LIKE] = {0};
    tf_buf_str(b, "tensors\n");
    for (size_t i = 0; i < tensors->n; i++) {
        const char *name = tf_value_get(&tensors->items[i], "name")->text;
        int k = 0;
        while (k < LIKE && strncmp(name, like[k].prefix, 2) != 0)
            k++;
        if (k < LIKE)
            n[k]++;
        else
            put_tensor(b, &tensors->items[i]);
    }
    for (int k = 0; k < LIKE; k++)
        if (n[k] > 0)
            tf_buf_printf(b, "  %s* %zu %s\n", like[k].prefix, n[k], like[k].label);
}

/* Words, in lines of at most 79 columns. */
static void put_words(struct tf_buf *b, const char *title, const struct tf_value *words)
{
    size_t column = 79;
    tf_buf_printf(b, "%s", title);
    for (size_t i = 0; i < words->n; i++) {
        const size_t n = words->items[i].n;
        const bool fits = column + 1 + n <= 79;
        tf_buf_str(b, fits ? " " : "\n  ");
        column = fits ? column + 1 + n : 2 + n;
        tf_buf_escaped(b, words->items[i].text, n);
    }
    tf_buf_byte(b, '\n');
}

void tf_describe_text(struct tf_buf *b, const struct tf_value *info)
{
    for (size_t i = 0; i < info->n; i++)
        if (info->items[i].kind != TF_MAP && strcmp(info->keys[i], "tensors") != 0 &&
            strcmp(info->keys[i], "made") != 0 && strcmp(info->keys[i], "tags") != 0 &&
            strcmp(info->keys[i], "added_tokens") != 0)
            put_row(b, 0, info->keys[i], &info->items[i]);
    for (size_t i = 0; i < info->n; i++)
        if (info->items[i].kind == TF_MAP)
            put_map(b, 0, info->keys[i], &info->items[i]);
    const struct tf_value *tags = tf_value_get(info, "tags"),
                          *added = tf_value_get(info, "added_tokens"),
                          *tensors = tf_value_get(info, "tensors");
    if (tags != NULL)
        put_words(b, "tags", tags);
    if (added != NULL)
        put_words(b, "added_tokens", added);
    if (tensors != NULL)
        put_tensors(b, tensors);
    put_made(b, tf_value_get(info, "made"));
}
