/* plain.c - see plain_private.h. */
#include "convert/plain_private.h"
#include "cbor/json.h"
#include "convert/segmenters_private.h"
#include "stream/search_settings.h"
#include "text/text_file.h"
#include "text/vocab_file.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 1000 };

/* ---- configuration: a JSON object of the settings, and entries of our header: "unk", the labels
 * of languages and, unless the file contains the vocabulary itself, its SHA-256 as "vocab" ---- */

/* Move what is not of the settings to the header; the rest of map becomes *settings. */
static int split_config(struct tf_import *m, const struct tf_value *map, struct tf_value *settings,
                        struct tf_err *err)
{
    struct tf_header *h = &m->header;
    *settings = tf_value_map();
    for (size_t i = 0; i < map->n; i++) {
        const struct tf_value *v = &map->items[i];
        if (strcmp(map->keys[i], "unk") == 0) {
            if (tf_value_int_of(map, "unk", -1, INT64_MAX, &h->special.unk, err) < 0)
                return -1;
        } else if (strcmp(map->keys[i], "vocab") == 0) {
            struct tf_value hash;
            if (v->kind != TF_TEXT || v->n != 64 ||
                tf_value_from_hex(&hash, m->arena, v->text, v->n, err) != 0)
                return tf_fail(err, "vocab: not a SHA-256 in hex");
            memcpy(h->vocab, hash.text, sizeof h->vocab);
            h->has_vocab = true;
        } else if (strcmp(map->keys[i], "lang") == 0 || strcmp(map->keys[i], "target_lang") == 0) {
            char *label = map->keys[i][0] == 'l' ? h->lang : h->target_lang;
            if (v->kind != TF_TEXT || !tf_lang_set(label, v->text))
                return tf_fail(err, "%s: no language label", map->keys[i]);
        } else if (strcmp(map->keys[i], "search") == 0) {
            if (v->kind != TF_MAP)
                return tf_fail(err, "search: not an object");
            if (tf_search_settings_check(v, err) != 0)
                return -1;
            h->search = *v;
        } else if (settings->n == MAX_KEYS) {
            return tf_fail(err, "more than %d keys", MAX_KEYS);
        } else {
            tf_value_put(m->arena, settings, map->keys[i], *v);
        }
    }
    return 0;
}

static int read_config(struct tf_import *m, const char *text, size_t n, struct tf_err *err)
{
    struct tf_value map, settings;
    if (tf_value_from_json_text(&map, m->arena, text, n, TF_JSON_PLAIN, "value", err) < 0)
        return tf_context(err, "config");
    if (map.kind != TF_MAP)
        return tf_fail(err, "config: not a JSON object");
    if (split_config(m, &map, &settings, err) != 0)
        return tf_context(err, "config");
    if (tf_config_read(&m->config, &settings, err) != 0)
        return -1;
    if (m->header.special.unk >= m->config.vocab_size)
        return tf_fail(err, "config: unk: %lld in a vocabulary of %lld",
                       (long long)m->header.special.unk, (long long)m->config.vocab_size);
    return 0;
}

static int use_config(struct tf_import *m, const char *name, const char *text, size_t n,
                      struct tf_err *err)
{
    if (text == NULL)
        return tf_fail(err, "%s: contains no configuration; use --config", name);
    if (n > TF_MAX_CONFIG)
        return tf_fail(err, "%s: a configuration of %zu bytes: at most %d", name, n, TF_MAX_CONFIG);
    return read_config(m, text, n, err) != 0 ? tf_context(err, "%s", name) : 0;
}

/* The configuration of --config, or the file's own. */
static int find_config(struct tf_import *m, struct tf_err *err)
{
    const char *path = m->opts->config;
    char *text;
    size_t n;
    if (path == NULL)
        return use_config(m, m->name, m->bundle.config, m->bundle.config_n, err);
    if (tf_text_read_file(&text, &n, path, TF_MAX_CONFIG, err) != 0)
        return -1;
    const int rc = use_config(m, path, text, n, err);
    free(text);
    return rc;
}

int tf_plain_vocab(struct tf_import *m, const char *name, struct tf_err *err)
{
    const char *path = m->files.vocab[0];
    struct tf_buf *vocab = &m->segmenter[0];
    if (path != NULL) {
        char *bytes;
        size_t n;
        if (tf_vocab_file_read(&bytes, &n, NULL, path, false, err) != 0)
            return -1;
        vocab->len = 0;
        tf_buf_add(vocab, bytes, n);
        free(bytes);
        if (tf_vocab_file_check(vocab->p, vocab->len, err) != 0)
            return tf_context(err, "%s", path);
    }
    if (vocab->p == NULL || (m->from == TF_FORMAT_TFM && path == NULL))
        return 0;
    return tf_import_check_vocab(m, path != NULL ? path : name,
                                 m->opts->config != NULL ? m->opts->config : name, err);
}

int tf_plain_refuse_ids(const struct tf_import *m, struct tf_err *err)
{
    const struct tf_convert_opts *o = m->opts;
    return o->pieces == NULL && o->vocab_target == NULL
               ? 0
               : tf_fail_status(err, TF_USAGE, "--%s: %s has ids of its own",
                                o->pieces != NULL ? "pieces" : "vocab-target", m->name);
}

static int read_plain(struct tf_import *m, struct tf_err *err)
{
    const struct tf_bundle *b = &m->bundle;
    if (tf_plain_refuse_ids(m, err) != 0)
        return -1;
    const size_t longer = b->vocab_n > b->vocab_target_n ? b->vocab_n : b->vocab_target_n;
    if (longer > TF_MAX_VOCAB)
        return tf_fail(err, "%s: a vocabulary of %zu bytes: at most %zu", m->name, longer,
                       TF_MAX_VOCAB);
    if (b->vocab != NULL)
        tf_buf_add(&m->segmenter[0], b->vocab, b->vocab_n);
    if (b->vocab_target != NULL)
        tf_buf_add(&m->segmenter[1], b->vocab_target, b->vocab_target_n);
    return find_config(m, err) != 0 ? -1 : tf_plain_vocab(m, m->name, err);
}

static bool claims_any(const struct tf_import *m)
{
    (void)m;
    return true;
}

const struct tf_program tf_plain = {
    .name = "tf-tools",
    .claims_file = claims_any,
    .read = read_plain,
    .takes_config = true,
};
