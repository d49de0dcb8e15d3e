/* hf_dir.c - see hf_dir_private.h. */
#include "convert/hf_dir_private.h"
#include "base/order.h"
#include "base/path.h"
#include "cbor/json.h"
#include "convert/hf_settings_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files that a weight_map names, each once, in the order of their names. */
static int list_files(struct tf_import *m, const char *index, const struct tf_value *map,
                      struct tf_err *err)
{
    const struct tf_dir *d = m->dir;
    const char **v = tf_arena_alloc(m->arena, map->n * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < map->n; i++) {
        const struct tf_value *file = &map->items[i];
        if (file->kind != TF_TEXT || strchr(file->text, '/') != NULL)
            return tf_fail(err, "%s: %.80s: not the name of a file", index, map->keys[i]);
        v[i] = file->text;
    }
    qsort(v, map->n, sizeof *v, tf_order_strings);
    for (size_t i = 0; i < map->n; i++) {
        if (i > 0 && strcmp(v[i], v[i - 1]) == 0)
            continue;
        if (tf_dir_has(d, v[i]) == NULL)
            return tf_fail(err, "%s: no %.200s, which %s names", d->path, v[i],
                           tf_path_name(index));
        v[n++] = v[i];
    }
    for (size_t i = 0; i < n; i++)
        v[i] = tf_dir_path(d, v[i]);
    m->files.weights = v[0];
    m->files.more = v + 1;
    m->files.n_more = n - 1;
    return 0;
}

static int read_index(struct tf_import *m, const char *index, struct tf_err *err)
{
    struct tf_value v;
    if (tf_import_json(&v, m->arena, index, err) != 0)
        return -1;
    const struct tf_value *map = tf_value_find(&v, "weight_map", TF_MAP);
    return map != NULL && map->n > 0 ? list_files(m, index, map, err)
                                     : tf_fail(err, "%s: no weight_map", index);
}

int tf_hf_find_weights(struct tf_import *m, struct tf_err *err)
{
    static const char *const names[] = {"model.safetensors", "pytorch_model.bin"};
    const char *tokenizer = tf_dir_has(m->dir, "tokenizer_config.json");
    if (tf_import_check_config(m, err) != 0 ||
        (tokenizer != NULL && tf_import_json(&m->tokenizer, m->arena, tokenizer, err) != 0))
        return -1;
    if (tf_hf_check_type(m, err) != 0)
        return tf_context(err, "%s", tf_dir_path(m->dir, "config.json"));
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        m->files.weights = tf_dir_has(m->dir, names[i]);
        if (m->files.weights != NULL)
            return 0;
        snprintf(name, sizeof name, "%s.index.json", names[i]);
        const char *index = tf_dir_has(m->dir, name);
        if (index != NULL)
            return read_index(m, index, err);
    }
    return tf_fail(err,
                   "%s: no model.safetensors or pytorch_model.bin, the weights: they come with "
                   "config.json",
                   m->dir->path);
}
