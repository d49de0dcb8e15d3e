/* added_tokens.c - see added_tokens_private.h. */
#include "convert/added_tokens_private.h"
#include "base/input.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parse.h"
#include "cbor/json.h"
#include "convert/conversion_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct piece {
    const char *text;
    size_t id;
};

struct tokens {
    struct tf_arena *a;
    const char *path;
    const char **text; /* by id, `size` of them, or NULL */
    bool *added;
    int64_t size;
    struct piece *pieces; /* those of the list, `n`, by text */
    size_t n;
};

/* A token of the tokenizer's own, which the list has already, or transformers alone. */
static bool is_own(const char *text)
{
    static const char *const own[] = {"</s>", "<unk>", "<s>", "<pad>"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(text, own[i]) == 0)
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct piece *)a)->text, ((const struct piece *)b)->text);
}

static int put(struct tokens *t, const char *text, int64_t id, struct tf_err *err)
{
    if (*text == 0)
        return tf_fail(err, "id %lld: a token without text", (long long)id);
    if (is_own(text))
        return 0;
    if (id >= t->size) {
        tf_warn("%s: added token '%s' has the id %lld, and the model %lld embeddings: left out",
                t->path, text, (long long)id, (long long)t->size);
        return 0;
    }
    const struct piece key = {.text = text},
                       *p = bsearch(&key, t->pieces, t->n, sizeof *t->pieces, by_text);
    if (p != NULL && t->text[p->id] == p->text)
        t->text[p->id] = NULL;
    t->text[id] = tf_arena_strndup(t->a, text, strlen(text));
    t->added[id] = true;
    return 0;
}

/* {"text": id} */
static int read_added(struct tokens *t, const struct tf_value *map, struct tf_err *err)
{
    for (size_t i = 0; i < map->n; i++) {
        int64_t id;
        const char *text = map->keys[i];
        if (tf_value_int_of(map, text, 0, INT32_MAX, &id, err) < 0 ||
            put(t, text, id, err) != 0)
            return -1;
    }
    return 0;
}

/* "added_tokens_decoder": {"id": {"content": "text"}} */
static int read_decoder(struct tokens *t, const struct tf_value *config, struct tf_err *err)
{
    const struct tf_value *map = tf_value_get(config, "added_tokens_decoder");
    if (map == NULL)
        return 0;
    for (size_t i = 0; map->kind == TF_MAP && i < map->n; i++) {
        int64_t id;
        const struct tf_value *token = &map->items[i],
                              *text = token->kind == TF_MAP ? tf_value_get(token, "content") : NULL;
        if (tf_parse_int(&id, map->keys[i], 0, INT32_MAX, err) != 0)
            return tf_context(err, "added_tokens_decoder");
        if (text == NULL || text->kind != TF_TEXT)
            return tf_fail(err, "added_tokens_decoder: %lld: no content", (long long)id);
        if (put(t, text->text, id, err) != 0)
            return -1;
    }
    return 0;
}

static int read_file(struct tokens *t, const char *path,
                     int (*read)(struct tokens *, const struct tf_value *, struct tf_err *),
                     struct tf_err *err)
{
    char *json;
    size_t n;
    struct tf_value map;
    if (path == NULL)
        return 0;
    if (tf_read_file(&json, &n, path, TF_MAX_CONFIG, err) != 0)
        return -1;
    t->path = path;
    int rc = tf_value_from_json_text(&map, t->a, json, n, TF_JSON_PLAIN, "value", err);
    free(json);
    if (rc >= 0)
        rc = map.kind == TF_MAP ? read(t, &map, err) : tf_fail(err, "not a JSON object");
    return rc < 0 ? tf_context(err, "%s", path) : 0;
}

/* *list = the texts, up to the last. */
static void make_list(struct tokens *t, struct tf_piece_list *list, const bool **is_added)
{
    size_t n = (size_t)t->size, tokens = 0;
    while (n > 0 && t->text[n - 1] == NULL)
        n--;
    for (size_t i = 0; i < n; i++) {
        char unused[32];
        const int k = snprintf(unused, sizeof unused, "<unused-%zu>", i);
        if (t->text[i] == NULL)
            t->text[i] = tf_arena_strndup(t->a, unused, (size_t)k);
        tokens += t->added[i];
    }
    if (tokens == 0)
        return;
    *list = (struct tf_piece_list){t->text, n};
    *is_added = t->added;
}

static void use_list(struct tokens *t, const struct tf_piece_list *list)
{
    t->text = tf_arena_zalloc(t->a, (size_t)t->size * sizeof *t->text + 1);
    t->added = tf_arena_zalloc(t->a, (size_t)t->size + 1);
    t->pieces = tf_xcalloc(list->n + 1, sizeof *t->pieces);
    t->n = list->n;
    for (size_t i = 0; i < list->n; i++) {
        t->text[i] = list->v[i];
        t->pieces[i] = (struct piece){list->v[i], i};
    }
    qsort(t->pieces, t->n, sizeof *t->pieces, by_text);
}

int tf_added_tokens_read(struct tf_piece_list *list, const bool **is_added, struct tf_arena *a,
                         const char *added, const char *config, int64_t size, struct tf_err *err)
{
    struct tokens t = {.a = a, .size = size};
    if ((added == NULL && config == NULL) ||
        list->n > (size_t)size) /* an error of its own, later */
        return 0;
    use_list(&t, list);
    const int rc =
        read_file(&t, added, read_added, err) != 0 || read_file(&t, config, read_decoder, err) != 0
            ? -1
            : 0;
    free(t.pieces);
    if (rc == 0)
        make_list(&t, list, is_added);
    return rc;
}
