/* added_tokens.c - see added_tokens_private.h. */
#include "convert/added_tokens_private.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/parse.h"
#include "cbor/json.h"
#include "text/added.h"

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
    uint8_t *added;
    int64_t size;
    struct piece *pieces; /* those of the list, `n`, by text */
    size_t n;
};

bool tf_added_is_own(const char *text)
{
    static const char *const own[] = {"</s>", "<unk>", "<s>", "<pad>"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(text, own[i]) == 0)
            return true;
    return false;
}

int tf_added_flags(const struct tf_value *token, bool tokenizers, struct tf_err *err)
{
    bool left = false, right = false, alone = false;
    if (tf_value_bool_of(token, "lstrip", &left, err) < 0 ||
        tf_value_bool_of(token, "rstrip", &right, err) < 0 ||
        tf_value_bool_of(token, "single_word", &alone, err) < 0)
        return -1;
    return TF_ADDED | (left ? TF_ADDED_LSTRIP : 0) | (right ? TF_ADDED_RSTRIP : 0) |
           (left || !tokenizers ? TF_ADDED_SPACED : 0) |
           (!alone ? 0 : tokenizers ? TF_ADDED_WORD : TF_ADDED_ALONE);
}

static int put_token(struct tokens *t, const char *text, int64_t id, int flags, struct tf_err *err)
{
    if (*text == 0)
        return tf_fail(err, "id %lld: a token without text", (long long)id);
    if (tf_added_is_own(text))
        return 0;
    if (id >= t->size) {
        tf_warn("%s: added token '%s' has the id %lld, and the model %lld embeddings: left out",
                t->path, text, (long long)id, (long long)t->size);
        return 0;
    }
    const struct piece key = {.text = text},
                       *p = bsearch(&key, t->pieces, t->n, sizeof *t->pieces, tf_order_strings);
    if (p != NULL && t->text[p->id] == p->text)
        t->text[p->id] = NULL;
    t->text[id] = tf_arena_strndup(t->a, text, strlen(text));
    t->added[id] = (uint8_t)flags;
    return 0;
}

/* {"text": id} */
static int read_added(struct tokens *t, const struct tf_value *map, struct tf_err *err)
{
    const struct tf_value none = tf_value_map();
    for (size_t i = 0; i < map->n; i++) {
        int64_t id;
        const char *text = map->keys[i];
        if (tf_value_int_of(map, text, 0, INT32_MAX, &id, err) < 0 ||
            put_token(t, text, id, tf_added_flags(&none, false, err), err) != 0)
            return -1;
    }
    return 0;
}

/* "added_tokens_decoder": {"id": {"content": "text"}} */
static int read_config(struct tokens *t, const struct tf_value *config, struct tf_err *err)
{
    const struct tf_value *map = tf_value_find(config, "added_tokens_decoder", TF_MAP);
    for (size_t i = 0; map != NULL && i < map->n; i++) {
        int64_t id;
        const struct tf_value *token = &map->items[i],
                              *text = tf_value_find(token, "content", TF_TEXT);
        if (tf_parse_int(&id, map->keys[i], 0, INT32_MAX, err) != 0)
            return tf_context(err, "added_tokens_decoder");
        if (text == NULL)
            return tf_fail(err, "added_tokens_decoder: %lld: no content", (long long)id);
        const int flags = tf_added_flags(token, false, err);
        if (flags < 0 || put_token(t, text->text, id, flags, err) != 0)
            return -1;
    }
    return 0;
}

static int read_files(struct tokens *t, const struct tf_import *m, struct tf_err *err)
{
    const char *added = tf_dir_has(m->dir, "added_tokens.json");
    struct tf_value map = tf_value_map();
    if (added != NULL && tf_import_json(&map, t->a, added, err) != 0)
        return -1;
    t->path = added;
    if (read_added(t, &map, err) != 0)
        return tf_context(err, "%s", t->path);
    t->path = tf_dir_path(m->dir, "tokenizer_config.json");
    return read_config(t, &m->tokenizer, err) != 0 ? tf_context(err, "%s", t->path) : 0;
}

/* The texts, up to the last. */
static void make_list(struct tokens *t, struct tf_import *m)
{
    size_t n = (size_t)t->size, tokens = 0;
    while (n > 0 && t->text[n - 1] == NULL)
        n--;
    for (size_t i = 0; i < n; i++) {
        if (t->text[i] == NULL)
            t->text[i] = tf_piece_unused(t->a, i);
        tokens += t->added[i] != 0;
    }
    if (tokens == 0)
        return;
    m->pieces[0] = (struct tf_piece_list){t->text, n};
    m->added = t->added;
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
    qsort(t->pieces, t->n, sizeof *t->pieces, tf_order_strings);
}

int tf_added_tokens_read(struct tf_import *m, struct tf_err *err)
{
    struct tokens t = {.a = m->arena, .size = tf_config_source_ids(&m->config)};
    if (!m->own_pieces || m->pieces[0].n > (size_t)t.size) /* an error of its own, later */
        return 0;
    use_list(&t, &m->pieces[0]);
    const int rc = read_files(&t, m, err);
    free(t.pieces);
    if (rc == 0)
        make_list(&t, m);
    return rc;
}
