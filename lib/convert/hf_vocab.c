/* hf_vocab.c - see hf_vocab_private.h. */
#include "base/input.h"
#include "cbor/json.h"
#include "convert/hf_vocab_private.h"
#include "text/sp_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 20, NOT_OF_FAIRSEQ = 3 /* ids of <unk>, <s>, </s> */ };

#define EXTRA "extra_special_tokens" /* of transformers 5 */

struct pieces {
    const char **v;
    size_t n, size;
    const char *tags; /* the key that has them, or NULL */
};

static int add(struct pieces *p, const char *text, struct tf_err *err)
{
    if (p->n == p->size)
        return tf_fail(err, "more than %zu pieces", p->size);
    p->v[p->n++] = text;
    return 0;
}

static int add_all(struct pieces *p, const char *const *texts, size_t n, struct tf_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (add(p, texts[i], err) != 0)
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
        if (add(p, tf_arena_strndup(a, tag, (size_t)n), err) != 0)
            return -1;
    }
    return 0;
}

/* A list of tokens that is not empty, and its key; or NULL. */
static const struct tf_value *tags_of(const struct tf_value *map, const char **key)
{
    static const char *const keys[] = {"additional_special_tokens", EXTRA};
    for (size_t i = 0; map->kind == TF_MAP && i < 2; i++) {
        const struct tf_value *tags = tf_value_get(map, keys[i]);
        if (tags != NULL && tags->kind == TF_ARRAY && tags->n > 0)
            return *key = keys[i], tags;
    }
    return NULL;
}

/* A token is a text, or a map with one as "content". */
static int add_tags(struct pieces *p, struct tf_arena *a, const char *json, size_t n,
                    struct tf_err *err)
{
    struct tf_value map;
    const char *codes = "";
    if (tf_value_from_json_text(&map, a, json, n, TF_JSON_PLAIN, "value", err) < 0)
        return -1;
    const struct tf_value *tags = tags_of(&map, &p->tags);
    if (map.kind == TF_MAP && tf_value_text_of(&map, "language_codes", &codes, err) < 0)
        return -1;
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
        if (add(p, tag->text, err) != 0)
            return -1;
    }
    return 0;
}

static int read_tags(struct pieces *p, struct tf_arena *a, const char *path, struct tf_err *err)
{
    char *json;
    size_t n;
    if (tf_read_file(&json, &n, path, MAX_TOKENS, err) != 0)
        return -1;
    const int rc = add_tags(p, a, json, n, err);
    free(json);
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

static int add_m2m(struct pieces *p, struct tf_arena *a, const char *pieces, struct tf_err *err)
{
    struct tf_piece_list own;
    if (tf_piece_list_read(&own, a, pieces, err) != 0)
        return -1;
    return add_all(p, own.v, own.n, err) != 0 ? tf_context(err, "%s", pieces) : 0;
}

static int add_nllb(struct pieces *p, struct tf_arena *a, const void *spm, size_t n,
                    struct tf_err *err)
{
    static const char *const first[] = {"<s>", "<pad>", "</s>", "<unk>"};
    const char *const *own;
    size_t n_own;
    if (tf_sp_texts(a, spm, n, &own, &n_own, err) != 0 || add_all(p, first, 4, err) != 0)
        return -1;
    if (n_own < NOT_OF_FAIRSEQ)
        return tf_fail(err, "a SentencePiece model of %zu pieces", n_own);
    return add_all(p, own + NOT_OF_FAIRSEQ, n_own - NOT_OF_FAIRSEQ, err);
}

int tf_hf_pad_pieces(struct tf_piece_list *list, struct tf_arena *a, int64_t size,
                     struct tf_err *err)
{
    if (list->n > (size_t)size)
        return tf_fail(err, "%zu pieces, and %lld embeddings", list->n, (long long)size);
    const char **v = tf_arena_alloc(a, ((size_t)size + 1) * sizeof *v);
    for (size_t i = 0; i < (size_t)size; i++) {
        char unused[32];
        const int k = snprintf(unused, sizeof unused, "<unused-%zu>", i);
        v[i] =
            i < list->n && list->v[i] != NULL ? list->v[i] : tf_arena_strndup(a, unused, (size_t)k);
    }
    *list = (struct tf_piece_list){v, (size_t)size};
    return 0;
}

int tf_hf_m2m_pieces(struct tf_piece_list *list, struct tf_arena *a, const void *spm, size_t n,
                     const char *pieces, const char *tokens, int64_t size, struct tf_err *err)
{
    struct pieces p = {tf_arena_zalloc(a, (size_t)size * sizeof *p.v), 0, (size_t)size, NULL};
    if ((pieces != NULL ? add_m2m(&p, a, pieces, err) : add_nllb(&p, a, spm, n, err)) != 0 ||
        read_tags(&p, a, tokens, err) != 0)
        return -1;
    if (pieces == NULL && strncmp(p.v[p.n - 1], "__", 2) == 0)
        return tf_fail(err, "no vocab.json, a file of M2M100Tokenizer: copy it from the model that "
                            "this one comes from");
    if (pieces == NULL && p.tags != NULL && strcmp(p.tags, EXTRA) == 0)
        return tf_fail(err, "no tokenizer.json, which has the ids of " EXTRA ": copy it from the "
                            "model that this one comes from");
    if (pieces == NULL && add(&p, "<mask>", err) != 0)
        return -1;
    *list = (struct tf_piece_list){p.v, p.n};
    return tf_hf_pad_pieces(list, a, size, err);
}
