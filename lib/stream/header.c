/* header.c - encode and decode the label and the header record; labels of languages. */
#include "base/hash.h"
#include "base/memory.h"
#include "base/opt.h"
#include "base/version.h"
#include "cbor/cursor.h"
#include "cbor/encode.h"
#include "stream/header.h"
#include "stream/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const uint8_t tf_label[TF_LABEL_N] = {0xd9, 0xd9, 0xf8, 0xda, 'T', 'F',
                                      'S',  'T',  0x43, 'B',  'O', 'R'};

bool tf_label_begins(const void *p, size_t n)
{
    return memcmp(p, tf_label, n < TF_LABEL_N ? n : TF_LABEL_N) == 0;
}

static const char *const special_names[4] = {"pad", "unk", "bos", "eos"};

static int64_t *special_field(struct tf_special *s, int i)
{
    return i == 0 ? &s->pad : i == 1 ? &s->unk : i == 2 ? &s->bos : &s->eos;
}

/* The value in force of a semantic option, typed by its row; false when it has none. */
static bool option_value(struct tf_value *v, struct tf_arena *a, const struct tf_opt *o)
{
    if (o->kind == TF_OPT_LIST) {
        const struct tf_strs *list = o->target;
        *v = tf_value_array();
        for (size_t i = 0; i < list->n; i++)
            tf_value_push(a, v, tf_value_str(a, list->v[i]));
        return list->n > 0;
    }
    if (o->given == NULL && o->def == NULL)
        return false;
    switch (o->kind) {
    case TF_OPT_FLAG:
        *v = tf_value_bool(*(const bool *)o->target);
        return true;
    case TF_OPT_INT:
        *v = tf_value_int(*(const int64_t *)o->target);
        return true;
    case TF_OPT_REAL:
        *v = tf_value_real(*(const double *)o->target);
        return true;
    case TF_OPT_STR:
        *v = tf_value_str(a, *(const char *const *)o->target);
        return true;
    case TF_OPT_CHOICE:
        *v = tf_value_str(a, o->choices[*(const int *)o->target]);
        return true;
    default:
        return false;
    }
}

void tf_header_made(struct tf_header *h, struct tf_arena *a, const char *prog,
                    const struct tf_opt *opts, const struct tf_value *inputs)
{
    struct tf_value stage = tf_value_map(), set = tf_value_map(), v;
    tf_value_put(a, &stage, "prog", tf_value_str(a, prog));
    tf_value_put(a, &stage, "version", tf_value_str(a, tf_version));
    for (const struct tf_opt *o = opts; o != NULL && o->kind != TF_OPT_END; o++)
        if ((o->flags & TF_OPT_SEMANTIC) && !o->unused && option_value(&v, a, o))
            tf_value_put(a, &set, o->name, v);
    if (set.n)
        tf_value_put(a, &stage, "opts", set);
    if (inputs != NULL && inputs->n)
        tf_value_put(a, &stage, "in", tf_value_clone(a, inputs));
    /* Append to a copy: the array may belong to the header of the input. */
    struct tf_value made =
        h->made.kind == TF_ARRAY ? tf_value_clone(a, &h->made) : tf_value_array();
    tf_value_push(a, &made, stage);
    h->made = made;
}

void tf_header_add_opt(struct tf_header *h, struct tf_arena *a, const char *name, struct tf_value v)
{
    struct tf_value *stage = &h->made.items[h->made.n - 1];
    const struct tf_value *had = tf_value_get(stage, "opts");
    struct tf_value opts = had != NULL ? *had : tf_value_map();
    tf_value_put(a, &opts, name, v);
    tf_value_put(a, stage, "opts", opts);
}

/* Equal values have the same encoding, and so the same hash. */
struct hash {
    uint8_t sha256[32];
};

static struct hash hash_of(const struct tf_value *v)
{
    struct tf_buf b = {0};
    struct hash h;
    tf_cbor_value(&b, v);
    tf_sha256_of(h.sha256, b.p, b.len);
    tf_buf_release(&b);
    return h;
}

static int hash_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct hash));
}

void tf_header_made_from(struct tf_header *h, struct tf_arena *mem, const struct tf_header *a,
                         const struct tf_header *b)
{
    h->made = tf_value_clone(mem, &a->made);
    if (b == NULL || !b->made.n)
        return;
    size_t n = a->made.n;
    struct hash *have = tf_xcalloc(n + 1, sizeof *have);
    for (size_t i = 0; i < n; i++)
        have[i] = hash_of(&a->made.items[i]);
    qsort(have, n, sizeof *have, hash_order);
    for (size_t i = 0; i < b->made.n; i++) {
        const struct hash key = hash_of(&b->made.items[i]);
        if (bsearch(&key, have, n, sizeof *have, hash_order) == NULL)
            tf_value_push(mem, &h->made, tf_value_clone(mem, &b->made.items[i]));
    }
    free(have);
}

void tf_header_put(struct tf_value *map, struct tf_arena *a, const char *size,
                   const struct tf_header *h)
{
    struct tf_value special = tf_value_map();
    struct tf_special s = h->special;
    tf_value_put(a, map, "kind", tf_value_str(a, h->kind));
    if (h->has_vocab)
        tf_value_put(a, map, "vocab", tf_value_bytes(a, h->vocab, 32));
    if (h->has_model)
        tf_value_put(a, map, "model", tf_value_bytes(a, h->model, 32));
    if (h->size > 0)
        tf_value_put(a, map, size, tf_value_int(h->size));
    if (h->source_size > 0)
        tf_value_put(a, map, "source_size", tf_value_int(h->source_size));
    if (h->lang[0] != 0)
        tf_value_put(a, map, "lang", tf_value_str(a, h->lang));
    if (h->target_lang[0] != 0)
        tf_value_put(a, map, "target_lang", tf_value_str(a, h->target_lang));
    for (int i = 0; i < 4; i++)
        if (*special_field(&s, i) >= 0)
            tf_value_put(a, &special, special_names[i], tf_value_int(*special_field(&s, i)));
    if (special.n)
        tf_value_put(a, map, "special", special);
    if (h->config.kind == TF_MAP && h->config.n)
        tf_value_put(a, map, "config", h->config);
    if (h->search.kind == TF_MAP && h->search.n)
        tf_value_put(a, map, "search", h->search);
    if (h->made.kind == TF_ARRAY && h->made.n)
        tf_value_put(a, map, "made", h->made);
}

void tf_header_encode(struct tf_buf *b, const struct tf_header *h)
{
    struct tf_arena a = {0};
    struct tf_value map = tf_value_map();
    for (size_t i = 0; h->extra.kind == TF_MAP && i < h->extra.n; i++)
        tf_value_put(&a, &map, h->extra.keys[i], h->extra.items[i]);
    tf_value_put(&a, &map, "v", tf_value_int(1));
    tf_header_put(&map, &a, "size", h);
    tf_cbor_array(b, 2);
    tf_cbor_uint(b, TF_REC_HEADER);
    tf_cbor_value(b, &map);
    tf_arena_release(&a);
}

static int decode_lang(char out[TF_LANG_MAX + 1], const struct tf_value *map, const char *key,
                       struct tf_err *err)
{
    const char *label;
    int rc = tf_value_text_of(map, key, &label, err);
    if (rc == 0 && !tf_lang_set(out, label))
        return tf_fail(err, "%s: no language label (at most %d letters, digits, - and _)", key,
                       TF_LANG_MAX);
    return rc < 0 ? -1 : 0;
}

/* v: NULL if there is none. */
static int decode_special(struct tf_header *h, const struct tf_value *v, struct tf_err *err)
{
    if (v != NULL && v->kind != TF_MAP)
        return tf_fail(err, "special: not a map");
    for (int i = 0; v != NULL && i < 4; i++)
        if (tf_value_int_of(v, special_names[i], 0, h->size > 0 ? h->size - 1 : UINT32_MAX,
                            special_field(&h->special, i), err) < 0)
            return tf_context(err, "special");
    return 0;
}

/* Set *to to the map or array of a key, if there is one. */
static int decode_value(struct tf_value *to, const struct tf_value *map, const char *key,
                        enum tf_value_kind kind, struct tf_err *err)
{
    const struct tf_value *v = tf_value_get(map, key);
    if (v != NULL && v->kind != kind)
        return tf_fail(err, "%s: not %s", key, kind == TF_MAP ? "a map" : "an array");
    if (v != NULL)
        *to = *v;
    return 0;
}

static int decode_map(struct tf_header *h, struct tf_arena *a, const struct tf_value *map,
                      struct tf_err *err)
{
    static const char *const known[] = {"v",    "kind",        "vocab",       "model",
                                        "size", "special",     "config",      "made",
                                        "lang", "target_lang", "source_size", "search",
                                        NULL};
    int64_t version;
    int rc;
    *h = (struct tf_header){.special = {-1, -1, -1, -1},
                            .config = tf_value_map(),
                            .made = tf_value_array(),
                            .search = tf_value_map(),
                            .extra = tf_value_map()};
    if (map->kind != TF_MAP)
        return tf_fail(err, "not a map");
    if ((rc = tf_value_int_of(map, "v", 1, INT64_MAX, &version, err)) < 0)
        return -1;
    if (rc > 0)
        return tf_fail(err, "v: missing");
    if (version != 1)
        return tf_fail(err, "version %lld of the format is newer than this program",
                       (long long)version);
    if ((rc = tf_value_text_of(map, "kind", &h->kind, err)) < 0)
        return -1;
    if (rc > 0 || !h->kind[0])
        return tf_fail(err, "kind: missing");
    if ((rc = tf_value_sha_of(map, "vocab", h->vocab, err)) < 0)
        return -1;
    h->has_vocab = rc == 0;
    if ((rc = tf_value_sha_of(map, "model", h->model, err)) < 0)
        return -1;
    h->has_model = rc == 0;
    if (tf_value_int_of(map, "size", 0, UINT32_MAX, &h->size, err) < 0 ||
        tf_value_int_of(map, "source_size", 0, h->size > 0 ? h->size : UINT32_MAX, &h->source_size,
                        err) < 0)
        return -1;
    if (decode_special(h, tf_value_get(map, "special"), err) != 0 ||
        decode_lang(h->lang, map, "lang", err) != 0 ||
        decode_lang(h->target_lang, map, "target_lang", err) != 0 ||
        decode_value(&h->config, map, "config", TF_MAP, err) != 0 ||
        decode_value(&h->search, map, "search", TF_MAP, err) != 0 ||
        decode_value(&h->made, map, "made", TF_ARRAY, err) != 0)
        return -1;
    for (size_t i = 0; i < map->n; i++) {
        bool is_known = false;
        for (int k = 0; known[k] != NULL; k++)
            is_known = is_known || strcmp(map->keys[i], known[k]) == 0;
        if (!is_known)
            tf_value_put(a, &h->extra, map->keys[i], map->items[i]);
    }
    return 0;
}

int tf_header_decode(struct tf_header *h, struct tf_arena *a, const void *p, size_t n,
                     struct tf_err *err)
{
    struct tf_cbor_cursor c = {.p = p, .end = (const uint8_t *)p + n}, whole = c;
    uint64_t items, type;
    struct tf_value map;
    if (tf_cursor_array(&c, &items) != NULL || items != 2 || tf_cursor_uint(&c, &type) != NULL ||
        type != TF_REC_HEADER)
        return tf_fail(err, "no header where one must be");
    const char *why = n > TF_MAX_RECORD ? "too large" : tf_cursor_skip(&whole);
    if (why != NULL)
        return tf_fail(err, "header: %s", why);
    if (tf_cbor_parse(&map, a, c.p, (size_t)(whole.p - c.p), err) != 0 ||
        decode_map(h, a, &map, err) != 0)
        return tf_context(err, "header");
    return 0;
}

int tf_same_vocab(const struct tf_header *a, const char *a_name, const struct tf_header *b,
                  const char *b_name, struct tf_err *err)
{
    char x[65], y[65];
    if (!a->has_vocab || !b->has_vocab || memcmp(a->vocab, b->vocab, 32) == 0)
        return 0;
    return tf_fail(err,
                   "%s: vocabulary %.12s differs from %s: %.12s (use one vocabulary for all: "
                   "tf-tokenize -m MODEL)",
                   a_name, tf_hex(x, a->vocab, 32), b_name, tf_hex(y, b->vocab, 32));
}

/* side: "source" or "target". */
static int add_lang(char *known, const char *label, const char *side, const char *name,
                    struct tf_err *err)
{
    if (tf_label_differs(label, known))
        return tf_fail(err, "%s: the %s is '%s', but '%s' in an earlier header", name, side, label,
                       known);
    if (*label != 0)
        memcpy(known, label, TF_LANG_MAX + 1);
    return 0;
}

int tf_one_vocab_add(struct tf_one_vocab *all, const struct tf_header *h, const char *name,
                     struct tf_err *err)
{
    struct tf_special special = h->special;
    if (tf_same_vocab(h, name, &all->h, all->name, err) != 0)
        return -1;
    if (add_lang(all->h.lang, h->lang, "source", name, err) != 0 ||
        add_lang(all->h.target_lang, h->target_lang, "target", name, err) != 0)
        return -1;
    if (h->size > 0 && all->h.size > 0 && h->size != all->h.size)
        return tf_fail(err, "%s: vocabulary of %lld ids, but %lld in an earlier header", name,
                       (long long)h->size, (long long)all->h.size);
    for (int i = 0; i < 4; i++) {
        const int64_t id = *special_field(&special, i);
        int64_t *known = special_field(&all->h.special, i);
        if (id >= 0 && *known >= 0 && id != *known)
            return tf_fail(err, "%s: %s is id %lld, but %lld in an earlier header", name,
                           special_names[i], (long long)id, (long long)*known);
        if (id >= 0)
            *known = id;
    }
    if (h->size > 0)
        all->h.size = h->size;
    for (int i = 0; i < 4; i++)
        if (all->h.size > 0 && *special_field(&all->h.special, i) >= all->h.size)
            return tf_fail(err, "%s: with earlier headers, %s is id %lld in a vocabulary of %lld",
                           name, special_names[i], (long long)*special_field(&all->h.special, i),
                           (long long)all->h.size);
    if (h->has_vocab && !all->h.has_vocab) {
        all->h.has_vocab = true;
        memcpy(all->h.vocab, h->vocab, sizeof all->h.vocab);
        snprintf(all->name, sizeof all->name, "%s", name);
    }
    return 0;
}

/* ---- languages ---- */

bool tf_lang_set(char out[TF_LANG_MAX + 1], const char *label)
{
    const size_t n = strlen(label);
    for (size_t i = 0; i < n; i++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
                   label[i]) == NULL)
            return false;
    if (n == 0 || n > TF_LANG_MAX)
        return false;
    memcpy(out, label, n + 1);
    return true;
}

int tf_lang_option(char out[TF_LANG_MAX + 1], const char *option, const char *label,
                   struct tf_err *err)
{
    return label == NULL || tf_lang_set(out, label)
               ? 0
               : tf_fail_status(err, TF_USAGE,
                                "--%s '%s': a label has 1 to %d letters, digits, - and _", option,
                                label, TF_LANG_MAX);
}

bool tf_label_differs(const char *a, const char *b)
{
    return *a != 0 && *b != 0 && strcmp(a, b) != 0;
}

int tf_language_same(const char *a, const char *b)
{
    const size_t n = strcspn(a, "-_");
    if (n == 0 || strcspn(b, "-_") != n || strcmp(a, "mul") == 0 || strcmp(b, "mul") == 0)
        return -1;
    return strncasecmp(a, b, n) == 0;
}

const char *tf_langs_describe(char buf[TF_LANGS_TEXT], const struct tf_header *h)
{
    if (h->target_lang[0] == 0)
        snprintf(buf, TF_LANGS_TEXT, "'%s'", h->lang);
    else if (h->lang[0] == 0)
        snprintf(buf, TF_LANGS_TEXT, "to '%s'", h->target_lang);
    else
        snprintf(buf, TF_LANGS_TEXT, "'%s' to '%s'", h->lang, h->target_lang);
    return buf;
}

int tf_langs_fit(const struct tf_header *h, const char *name, const struct tf_header *model,
                 struct tf_err *err)
{
    char text[TF_LANGS_TEXT];
    const bool target = !tf_label_differs(h->lang, model->lang);
    if (target && !tf_label_differs(h->target_lang, model->target_lang))
        return 0;
    return tf_fail(err, "%s: the %s is '%s', the model translates %s", name,
                   target ? "target" : "source", target ? h->target_lang : h->lang,
                   tf_langs_describe(text, model));
}
