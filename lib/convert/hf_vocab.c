/* hf_vocab.c - see hf_vocab_private.h. */
#include "convert/hf_vocab_private.h"
#include "cbor/json.h"
#include "convert/segmenters_private.h"
#include "text/sp_check.h"

#include <stdio.h>
#include <string.h>

enum { SPECIAL_PIECES = 3 /* of SentencePiece: <unk>, <s>, </s> */ };

#define EXTRA "extra_special_tokens" /* of transformers 5 */

struct pieces {
    const char **v;
    size_t n, size;
    const char *tags; /* the key that has them, or NULL */
    bool apart;       /* if there is no such key: added_tokens_decoder has them, with their ids */
};

static int add_piece(struct pieces *p, const char *text, struct tf_err *err)
{
    if (p->n == p->size)
        return tf_fail(err, "more than %zu pieces", p->size);
    p->v[p->n++] = text;
    return 0;
}

static int add_pieces(struct pieces *p, const char *const *texts, size_t n, struct tf_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (add_piece(p, texts[i], err) != 0)
            return -1;
    return 0;
}

/* What M2M100Tokenizer adds itself. */
static int add_m2m_tags(struct pieces *p, struct tf_arena *a, struct tf_err *err)
{
    static const char codes[] =
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl "
        "gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml "
        "mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th "
        "tl tn tr uk ur uz vi wo xh yi yo zh zu ";
    for (const char *code = codes; *code != 0; code = strchr(code, ' ') + 1) {
        char tag[16];
        const int n = snprintf(tag, sizeof tag, "__%.*s__", (int)strcspn(code, " "), code);
        if (add_piece(p, tf_arena_strndup(a, tag, (size_t)n), err) != 0)
            return -1;
    }
    return 0;
}

/* A list of tokens that is not empty, and its key; or NULL. */
static const struct tf_value *find_tags(const struct tf_value *map, const char **key)
{
    static const char *const keys[] = {"additional_special_tokens", EXTRA};
    for (size_t i = 0; i < 2; i++) {
        const struct tf_value *tags = tf_value_find(map, keys[i], TF_ARRAY);
        if (tags != NULL && tags->n > 0)
            return *key = keys[i], tags;
    }
    return NULL;
}

/* A token is a text, or a map with one as "content". */
static int add_tags(struct pieces *p, struct tf_arena *a, const struct tf_value *map,
                    struct tf_err *err)
{
    const char *codes = "";
    const struct tf_value *tags = find_tags(map, &p->tags);
    if (tf_value_text_of(map, "language_codes", &codes, err) < 0)
        return -1;
    p->apart = p->apart && tags == NULL && strcmp(codes, "m2m100") != 0;
    if (p->apart)
        return 0;
    if (tags == NULL && strcmp(codes, "m2m100") == 0)
        return add_m2m_tags(p, a, err);
    if (tags == NULL)
        return tf_fail(err, "no additional_special_tokens, which are the tags of languages, or "
                            "extra_special_tokens");
    for (size_t i = 0; i < tags->n; i++) {
        const struct tf_value *tag = &tags->items[i];
        if (tag->kind == TF_MAP)
            tag = tf_value_get(tag, "content");
        if (tag == NULL || tag->kind != TF_TEXT)
            return tf_fail(err, "%s: not of texts", p->tags);
        if (add_piece(p, tag->text, err) != 0)
            return -1;
    }
    return 0;
}

/* Where special_tokens_map.json has none, tokenizer_config.json may, or have language_codes. */
static int read_tags(struct pieces *p, const struct tf_import *m, struct tf_err *err)
{
    const char *path = tf_dir_has(m->dir, "special_tokens_map.json"), *key;
    struct tf_value map = tf_value_null();
    if (path == NULL && m->tokenizer.kind == TF_NULL)
        return tf_fail(err, "no special_tokens_map.json or tokenizer_config.json, which has the "
                            "tags of languages: copy it from the model that this one comes from");
    if (path != NULL && tf_import_json(&map, m->arena, path, err) != 0)
        return -1;
    if (m->tokenizer.kind != TF_NULL && find_tags(&map, &key) == NULL) {
        path = tf_dir_path(m->dir, "tokenizer_config.json");
        map = m->tokenizer;
    }
    return add_tags(p, m->arena, &map, err) != 0 ? tf_context(err, "%s", path) : 0;
}

static int add_nllb(struct pieces *p, struct tf_arena *a, const void *spm, size_t n,
                    struct tf_err *err)
{
    static const char *const first[] = {"<s>", "<pad>", "</s>", "<unk>"};
    const char *const *own;
    size_t n_own;
    if (tf_sp_texts(a, spm, n, &own, &n_own, err) != 0 || add_pieces(p, first, 4, err) != 0)
        return -1;
    if (n_own < SPECIAL_PIECES)
        return tf_fail(err, "a SentencePiece model of %zu pieces", n_own);
    return add_pieces(p, own + SPECIAL_PIECES, n_own - SPECIAL_PIECES, err);
}

/* Has added_tokens_decoder (added_tokens.c) all tokens that are no pieces, as <mask> is none? */
static bool lists_added(const struct tf_import *m)
{
    const struct tf_value *map = tf_value_find(&m->tokenizer, "added_tokens_decoder", TF_MAP);
    for (size_t i = 0; map != NULL && i < map->n; i++) {
        const struct tf_value *text = tf_value_find(&map->items[i], "content", TF_TEXT);
        if (text != NULL && strcmp(text->text, "<mask>") == 0)
            return true;
    }
    return false;
}

int tf_hf_m2m_pieces(struct tf_import *m, const void *spm, size_t n, struct tf_err *err)
{
    const size_t size = (size_t)m->config.vocab_size;
    struct pieces p = {.v = tf_arena_zalloc(m->arena, size * sizeof *p.v), .size = size};
    const char *list = m->files.pieces[0];
    p.apart = lists_added(m);
    if (tf_import_pieces(m, err) != 0)
        return -1;
    if ((list == NULL ? add_nllb(&p, m->arena, spm, n, err)
         : add_pieces(&p, m->pieces[0].v, m->pieces[0].n, err) != 0
             ? tf_context(err, "%s", list)
             : 0) != 0 ||
        read_tags(&p, m, err) != 0)
        return -1;
    if (list == NULL && strncmp(p.v[p.n - 1], "__", 2) == 0)
        return tf_fail(err, "no vocab.json, a file of M2M100Tokenizer: copy it from the model that "
                            "this one comes from");
    if (list == NULL && p.tags != NULL && strcmp(p.tags, EXTRA) == 0)
        return tf_fail(err, "no tokenizer.json, which has the ids of " EXTRA ": copy it from the "
                            "model that this one comes from");
    if (list == NULL && !p.apart && add_piece(&p, "<mask>", err) != 0)
        return -1;
    m->pieces[0] = (struct tf_piece_list){p.v, p.n};
    return tf_import_pad_pieces(m, err);
}
