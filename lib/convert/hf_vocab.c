/* hf_vocab.c - see hf_vocab_private.h. */
#include "base/input.h"
#include "cbor/json.h"
#include "convert/hf_vocab_private.h"
#include "text/sp_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 20, NOT_OF_FAIRSEQ = 3 /* ids of <unk>, <s>, </s> */ };

struct pieces {
    const char **v;
    size_t n, size;
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

/* A token is a text, or a map with one as "content". */
static int add_tags(struct pieces *p, struct tf_arena *a, const char *json, size_t n,
                    struct tf_err *err)
{
    struct tf_value map;
    if (tf_value_from_json_text(&map, a, json, n, TF_JSON_PLAIN, "value", err) < 0)
        return -1;
    const struct tf_value *tags =
        map.kind == TF_MAP ? tf_value_get(&map, "additional_special_tokens") : NULL;
    if (tags == NULL || tags->kind != TF_ARRAY || tags->n == 0)
        return tf_fail(err, "no additional_special_tokens, which are the tags of languages");
    for (size_t i = 0; i < tags->n; i++) {
        const struct tf_value *tag = &tags->items[i];
        if (tag->kind == TF_MAP)
            tag = tf_value_get(tag, "content");
        if (tag == NULL || tag->kind != TF_TEXT)
            return tf_fail(err, "additional_special_tokens: not a text");
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

int tf_hf_m2m_pieces(struct tf_piece_list *list, struct tf_arena *a, const void *spm, size_t n,
                     const char *pieces, const char *tokens, int64_t size, struct tf_err *err)
{
    struct pieces p = {tf_arena_zalloc(a, (size_t)size * sizeof *p.v), 0, (size_t)size};
    if ((pieces != NULL ? add_m2m(&p, a, pieces, err) : add_nllb(&p, a, spm, n, err)) != 0 ||
        read_tags(&p, a, tokens, err) != 0)
        return -1;
    if (pieces == NULL && add(&p, "<mask>", err) != 0)
        return -1;
    for (size_t i = 0; i < p.size; i++) {
        char unused[32];
        const int k = snprintf(unused, sizeof unused, "<unused-%zu>", i);
        if (i >= p.n || p.v[i] == NULL)
            p.v[i] = tf_arena_strndup(a, unused, (size_t)k);
    }
    *list = (struct tf_piece_list){p.v, p.size};
    return 0;
}
