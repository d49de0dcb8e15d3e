/* hf_tokenizer.c - see hf_tokenizer_private.h. */
#include "convert/hf_tokenizer_private.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "cbor/json.h"
#include "convert/added_tokens_private.h"
#include "text/sp_build.h"
#include "text/sp_check.h"
#include "text/sp_piece.h"
#include "text/tags.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_BPE = 256,  /* bytes of a piece that merges make */
    MAX_KEYS = 1000 /* of a model: each is put in its place among the others */
};

struct piece {
    const char *text;
    double score;
    int type;
    uint8_t added; /* flags of text/added.h */
    bool own;      /* an added token that is also a piece of the model */
    size_t merges; /* that make it */
};

struct tokenizer {
    struct tf_arena *a;
    struct tf_json_reader r;
    struct piece *v; /* by id; text NULL: none */
    size_t n, cap;
    size_t most;                 /* ids, of which each takes bytes of the file */
    const struct piece **sorted; /* the n_sorted of the vocabulary, by text */
    size_t n_sorted;
    const char *(*merges)[2];
    size_t n_merges, cap_merges;
    bool has_merges;
    struct tf_value model; /* other settings of the model */
    struct tf_value rest;  /* added_tokens, normalizer, pre_tokenizer */
    struct tf_buf charsmap;
    bool strips; /* spaces at the ends of a text */
    bool joins;  /* several spaces become U+2581, which is no white space */
    bool words;  /* between spaces, so that there are none */
    bool once;   /* the space before a text is not put after an added token */
    bool apart;  /* no piece continues after a space */
    struct tf_sp_build build;
};

/* ---- the file: it may have millions of values ---- */

static int add_token(struct tokenizer *t, const char *text, uint64_t id, double score, int type,
               struct tf_err *err)
{
    if (*text == 0)
        return tf_fail(err, "a piece without text");
    if (id >= t->most)
        return tf_fail(err, "'%.80s': the id %llu", text, (unsigned long long)id);
    if (id >= t->cap) {
        const size_t cap = 2 * (size_t)id + 1024;
        t->v = tf_xarray(t->v, cap, sizeof *t->v);
        memset(t->v + t->cap, 0, (cap - t->cap) * sizeof *t->v);
        t->cap = cap;
    }
    struct piece *p = &t->v[id];
    if (p->text != NULL && strcmp(p->text, text) != 0)
        return tf_fail(err, "'%.80s' and '%.80s' have the id %llu", p->text, text,
                       (unsigned long long)id);
    *p = (struct piece){.text = text, .score = score, .type = type};
    t->n = t->n > id ? t->n : (size_t)id + 1;
    return 0;
}

/* {"piece": id, ...} */
static int read_ids(struct tokenizer *t, struct tf_err *err)
{
    static const char what[] = "model: vocab: not of pieces and ids";
    enum tf_json_kind kind;
    int rc;
    while ((rc = tf_json_more(&t->r, &kind, err)) > 0) {
        const char *text = tf_json_text(&t->r, t->a);
        if (tf_json_expect(&t->r, TF_JSON_NUMBER, what, err) != 0)
            return -1;
        if (!t->r.is_int || t->r.negative)
            return tf_fail(err, "%s", what);
        if (add_token(t, text, t->r.uint, 0, TF_PIECE_NORMAL, err) != 0)
            return -1;
    }
    return rc;
}

/* [["piece", score], ...] */
static int read_scores(struct tokenizer *t, struct tf_err *err)
{
    static const char what[] = "model: vocab: not of pieces and scores";
    enum tf_json_kind kind;
    int rc;
    for (size_t id = 0; (rc = tf_json_more(&t->r, &kind, err)) > 0; id++) {
        if (kind != TF_JSON_ARRAY)
            return tf_fail(err, "%s", what);
        if (tf_json_expect(&t->r, TF_JSON_STRING, what, err) != 0)
            return -1;
        const char *text = tf_json_text(&t->r, t->a);
        if (tf_json_expect(&t->r, TF_JSON_NUMBER, what, err) != 0 ||
            add_token(t, text, id, t->r.real, TF_PIECE_NORMAL, err) != 0 ||
            tf_json_expect(&t->r, TF_JSON_ARRAY_END, what, err) != 0)
            return -1;
    }
    return rc;
}

/* [["a", "b"], ...] or ["a b", ...] */
static int read_merges(struct tokenizer *t, struct tf_err *err)
{
    static const char what[] = "model: merges: not pairs of texts";
    enum tf_json_kind kind;
    char *left, *right;
    int rc;
    t->has_merges = true;
    while ((rc = tf_json_more(&t->r, &kind, err)) > 0) {
        const bool pair = kind == TF_JSON_ARRAY;
        if (pair && tf_json_expect(&t->r, TF_JSON_STRING, what, err) != 0)
            return -1;
        if (!pair && kind != TF_JSON_STRING)
            return tf_fail(err, "%s", what);
        left = tf_json_text(&t->r, t->a);
        if (pair) {
            if (tf_json_expect(&t->r, TF_JSON_STRING, what, err) != 0)
                return -1;
            right = tf_json_text(&t->r, t->a);
            if (tf_json_expect(&t->r, TF_JSON_ARRAY_END, what, err) != 0)
                return -1;
        } else if ((right = strchr(left, ' ')) == NULL) {
            return tf_fail(err, "%s", what);
        } else {
            *right++ = 0;
        }
        TF_GROW(t->merges, t->n_merges, t->cap_merges);
        t->merges[t->n_merges][0] = left;
        t->merges[t->n_merges++][1] = right;
    }
    return rc;
}

/* One value, into a map. */
static int read_setting(struct tokenizer *t, struct tf_value *to, enum tf_json_kind first,
                      const char *key, struct tf_err *err)
{
    struct tf_json_values values = {.r = &t->r,
                                    .a = t->a,
                                    .max = TF_MAX_VALUES,
                                    .style = TF_JSON_PLAIN};
    struct tf_value v;
    if (to->n >= MAX_KEYS)
        return tf_fail(err, "model: more than %d keys", MAX_KEYS);
    if (tf_value_from_json(&values, first, key, &v, err) < 0)
        return -1;
    tf_value_put(t->a, to, key, v);
    return 0;
}

static int read_model(struct tokenizer *t, enum tf_json_kind kind, struct tf_err *err)
{
    if (kind != TF_JSON_OBJECT)
        return tf_fail(err, "model: not an object");
    int rc;
    while ((rc = tf_json_more(&t->r, &kind, err)) > 0) {
        const char *key = tf_json_text(&t->r, t->a);
        if (tf_json_next(&t->r, &kind, err) != 0)
            return -1;
        const bool vocab = strcmp(key, "vocab") == 0, merges = strcmp(key, "merges") == 0;
        if ((vocab && t->n > 0) || (merges && t->has_merges))
            return tf_fail(err, "model: %s: twice", key);
        if ((vocab    ? kind == TF_JSON_OBJECT  ? read_ids(t, err)
                        : kind == TF_JSON_ARRAY ? read_scores(t, err)
                                                : tf_fail(err, "model: vocab: no pieces")
                : merges ? kind == TF_JSON_ARRAY ? read_merges(t, err)
                                                 : tf_fail(err, "model: merges: not an array")
                         : read_setting(t, &t->model, kind, key, err)) != 0)
            return -1;
    }
    return rc;
}

static int read_tokenizer(struct tokenizer *t, struct tf_err *err)
{
    enum tf_json_kind kind;
    int rc;
    if (tf_json_expect(&t->r, TF_JSON_OBJECT, "not a JSON object", err) != 0)
        return -1;
    while ((rc = tf_json_more(&t->r, &kind, err)) > 0) {
        const char *key = tf_json_text(&t->r, t->a);
        const bool kept = strcmp(key, "added_tokens") == 0 || strcmp(key, "normalizer") == 0 ||
                          strcmp(key, "pre_tokenizer") == 0;
        if (strcmp(key, "model") != 0 && !kept) {
            if (tf_json_skip(&t->r, err) != 0)
                return -1;
            continue;
        }
        if (tf_json_next(&t->r, &kind, err) != 0 ||
            (kept ? read_setting(t, &t->rest, kind, key, err) : read_model(t, kind, err)) != 0)
            return -1;
    }
    return rc < 0 ? -1 : tf_json_next(&t->r, &kind, err); /* nothing may follow */
}

/* ---- settings ---- */

static const char *type_of(const struct tf_value *v)
{
    const struct tf_value *type = tf_value_find(v, "type", TF_TEXT);
    return type != NULL ? type->text : "of no type";
}

static bool is_text(const struct tf_value *v, const char *key, const char *text)
{
    const struct tf_value *x = tf_value_find(v, key, TF_TEXT);
    return x != NULL && strcmp(x->text, text) == 0;
}

/* A setting that has to be absent, null, false, 0 or empty. */
static int refuse_setting(const struct tf_value *model, const char *key, struct tf_err *err)
{
    const struct tf_value *v = tf_value_get(model, key);
    if (v == NULL || v->kind == TF_NULL || (v->kind == TF_BOOL && !v->boolean) ||
        (v->kind == TF_INT && v->integer == 0) || (v->kind == TF_REAL && v->real == 0) ||
        (v->kind == TF_TEXT && v->n == 0))
        return 0;
    return tf_fail(err, "model: %s is not supported", key);
}

static int check_model(const struct tokenizer *t, struct tf_err *err)
{
    static const char *const other[] = {"dropout", "continuing_subword_prefix",
                                        "end_of_word_suffix", "byte_fallback", "ignore_merges"};
    const char *type = type_of(&t->model);
    bool fuse = false; /* runs of unknown characters */
    if (strcmp(type, t->has_merges ? "BPE" : "Unigram") != 0)
        return tf_fail(err, "model: %s: neither Unigram nor BPE with merges", type);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (refuse_setting(&t->model, other[i], err) != 0)
            return -1;
    if (tf_value_bool_of(&t->model, "fuse_unk", &fuse, err) < 0)
        return tf_context(err, "model");
    if (t->has_merges && !fuse)
        return tf_fail(err, "model: without fuse_unk is not supported");
    return t->n > 0 ? 0 : tf_fail(err, "model: no vocab");
}

static int decode_base64(struct tf_buf *to, const char *s, struct tf_err *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, n = 0;
    for (; *s != 0 && *s != '='; s++) {
        const char *at = strchr(digits, *s);
        if (at == NULL)
            return tf_fail(err, "precompiled_charsmap: not base64");
        bits = bits << 6 | (unsigned)(at - digits);
        n += 6;
        if (n >= 8)
            tf_buf_byte(to, (unsigned char)(bits >> (n -= 8)));
    }
    return 0;
}

static int read_normalizer(struct tokenizer *t, const struct tf_value *v, int depth,
                           struct tf_err *err)
{
    const char *type = type_of(v);
    if (v == NULL || v->kind == TF_NULL)
        return 0;
    if (strcmp(type, "Strip") == 0) {
        t->strips = true;
        return 0;
    }
    const struct tf_value *list = tf_value_find(v, "normalizers", TF_ARRAY),
                          *map = tf_value_find(v, "precompiled_charsmap", TF_TEXT);
    if (strcmp(type, "Precompiled") == 0 && map != NULL && t->charsmap.len == 0)
        return decode_base64(&t->charsmap, map->text, err);
    if (strcmp(type, "Replace") == 0 && is_text(tf_value_get(v, "pattern"), "Regex", " {2,}") &&
        (is_text(v, "content", " ") || is_text(v, "content", TF_SPACE))) {
        t->build.single_spaces = true;
        t->joins = is_text(v, "content", TF_SPACE);
        return 0;
    }
    if (strcmp(type, "Sequence") != 0 || list == NULL || depth > 0)
        return tf_fail(err, "normalizer: %.40s is not supported", type);
    for (size_t i = 0; i < list->n; i++)
        if (read_normalizer(t, &list->items[i], depth + 1, err) != 0)
            return -1;
    return 0;
}

/* Metaspace, perhaps after words have been split. */
static int read_pre_tokenizer(struct tokenizer *t, const struct tf_value *v, struct tf_err *err)
{
    const struct tf_value *list = tf_value_find(v, "pretokenizers", TF_ARRAY);
    if (list != NULL && list->n == 2 &&
        strcmp(type_of(&list->items[0]), "WhitespaceSplit") == 0) {
        t->build.single_spaces = t->words = true;
        v = &list->items[1];
    }
    bool prefix = true; /* of older files */
    if (strcmp(type_of(v), "Metaspace") != 0 || !is_text(v, "replacement", TF_SPACE))
        return tf_fail(err, "pre_tokenizer: %.40s is not supported", type_of(v));
    if (tf_value_bool_of(v, "add_prefix_space", &prefix, err) < 0)
        return -1;
    if (t->strips && !t->build.single_spaces)
        return tf_fail(err, "normalizer: Strip alone is not supported");
    t->build.add_space = prefix && !is_text(v, "prepend_scheme", "never");
    t->once = is_text(v, "prepend_scheme", "first");
    if (t->words && (t->once || !t->build.add_space))
        return tf_fail(err, "pre_tokenizer: WhitespaceSplit without a space before each word is "
                            "not supported");
    bool split = true; /* of older files */
    if (tf_value_bool_of(v, "split", &split, err) < 0)
        return -1;
    t->apart = split || t->words;
    return 0;
}

/* Are several spaces one, and one between words none? */
static bool keeps_spaces(const struct tokenizer *t)
{
    return t->build.single_spaces && !t->words;
}

static int read_added(struct tokenizer *t, const struct tf_value *list, struct tf_err *err)
{
    for (size_t i = 0; list != NULL && i < list->n; i++) {
        const struct tf_value *v = &list->items[i];
        const char *text = "";
        int64_t id = -1;
        bool special = false, normalized = true;
        if (v->kind != TF_MAP)
            return tf_fail(err, "added_tokens: not an object");
        const int flags = tf_added_flags(v, true, err);
        if (flags < 0 || tf_value_text_of(v, "content", &text, err) != 0 ||
            tf_value_int_of(v, "id", 0, TF_MAX_PIECES - 1, &id, err) != 0 ||
            tf_value_bool_of(v, "special", &special, err) < 0 ||
            tf_value_bool_of(v, "normalized", &normalized, err) < 0)
            return err->status != 0 ? tf_context(err, "added_tokens")
                                    : tf_fail(err, "added_tokens: one without content or id");
        const bool control = special && (tf_is_tag(text) || tf_added_is_own(text) ||
                                         strcmp(text, "<mask>") == 0);
        const bool own = (size_t)id < t->n && t->v[id].text != NULL &&
                         (t->v[id].type == TF_PIECE_NORMAL || t->v[id].own);
        const bool within = own && !control && (flags & TF_ADDED_WORD) != 0; /* other words */
        if (add_token(t, text, (uint64_t)id, within ? t->v[id].score : 0,
                      control  ? TF_PIECE_CONTROL
                      : within ? TF_PIECE_NORMAL
                               : TF_PIECE_USER_DEFINED,
                      err) != 0)
            return -1;
        t->v[id].own = own && !control && !within;
        if (!control && t->once)
            return tf_fail(err, "added_tokens: '%.80s' with prepend_scheme first is not supported",
                           text);
        /* It takes the spaces that the normalisation has made, too. */
        const bool takes = normalized && !t->joins && (flags & TF_ADDED_LSTRIP);
        const bool keeps = keeps_spaces(t) && !takes && (normalized || !t->strips);
        t->v[id].added = control ? 0
                                 : (uint8_t)(flags | (keeps ? TF_ADDED_KEEPS : 0) |
                                             (normalized && t->joins ? TF_ADDED_SINGLE : 0));
    }
    return 0;
}

static int read_settings(struct tokenizer *t, struct tf_err *err)
{
    return check_model(t, err) != 0 ||
                   read_normalizer(t, tf_value_get(&t->rest, "normalizer"), 0, err) != 0 ||
                   read_pre_tokenizer(t, tf_value_get(&t->rest, "pre_tokenizer"), err) != 0 ||
                   read_added(t, tf_value_find(&t->rest, "added_tokens", TF_ARRAY), err) != 0
               ? -1
               : 0;
}

/* ---- BPE: the order of the merges prices the pieces ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp((*(const struct piece *const *)a)->text, (*(const struct piece *const *)b)->text);
}

static struct piece *find_piece(const struct tokenizer *t, const char *text)
{
    const struct piece want = {.text = text}, *key = &want;
    const struct piece **found = bsearch(&key, t->sorted, t->n_sorted, sizeof *t->sorted, by_text);
    return found != NULL ? &t->v[*found - t->v] : NULL;
}

static void sort_pieces(struct tokenizer *t)
{
    t->sorted = tf_xarray(NULL, t->n + 1, sizeof *t->sorted);
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].text != NULL && (t->v[i].type == TF_PIECE_NORMAL || t->v[i].own))
            t->sorted[t->n_sorted++] = &t->v[i];
    if (t->n_sorted > 0)
        qsort(t->sorted, t->n_sorted, sizeof *t->sorted, by_text);
}

/* In how many ways two pieces are that text. */
static size_t count_splits(const struct tokenizer *t, const char *text)
{
    char left[MAX_BPE + 1];
    size_t n = 0;
    left[0] = text[0];
    for (size_t i = 1; text[i] != 0; left[i] = text[i], i++) {
        left[i] = 0;
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            n += find_piece(t, text + i) != NULL && find_piece(t, left) != NULL;
    }
    return n;
}

static int price_merges(struct tokenizer *t, struct tf_err *err)
{
    const struct piece *last = NULL;
    struct tf_buf both = {0};
    size_t rank = 0;
    int rc = 0;
    for (size_t i = 0; i < t->n_merges && rc == 0; i++) {
        const char *left = t->merges[i][0], *right = t->merges[i][1];
        tf_buf_clear(&both);
        tf_buf_str(&both, left);
        tf_buf_str(&both, right);
        tf_buf_byte(&both, 0);
        struct piece *p = find_piece(t, both.p);
        if (p == NULL || find_piece(t, left) == NULL || find_piece(t, right) == NULL)
            rc =
                tf_fail(err, "model: the merge of '%.80s' and '%.80s': not of pieces", left, right);
        else if (p != last && p->merges > 0)
            rc = tf_fail(err, "model: merges of '%.80s' apart: not from a SentencePiece model",
                         p->text);
        else if (p->merges++ == 0)
            p->score = -(double)rank++;
        last = p;
    }
    tf_buf_release(&both);
    return rc;
}

static int price_pieces(struct tokenizer *t, struct tf_err *err)
{
    sort_pieces(t);
    if (price_merges(t, err) != 0)
        return -1;
    for (size_t i = 0; i < t->n_sorted; i++) {
        struct piece *p = &t->v[t->sorted[i] - t->v];
        const size_t n = strlen(p->text);
        if (p->own) /* text is cut at it before there are merges */
            continue;
        if (n > MAX_BPE)
            return tf_fail(err, "model: a piece of %zu bytes, at most %d", n, MAX_BPE);
        if (p->merges != count_splits(t, p->text) || (p->merges == 0 && tf_utf8_at(p->text, n) < n))
            return tf_fail(err, "model: not all merges of '%.80s': not from a SentencePiece model",
                           p->text);
        if (p->merges == 0)
            p->score = -(double)t->n_sorted;
    }
    return 0;
}

/* ---- the SentencePiece model ---- */

static int check_unknown(struct tokenizer *t, struct tf_err *err)
{
    const struct tf_value *id = tf_value_find(&t->model, "unk_id", TF_INT);
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].text != NULL && strcmp(t->v[i].text, "<unk>") == 0 &&
            (t->has_merges ? is_text(&t->model, "unk_token", "<unk>")
                           : id != NULL && id->integer == (int64_t)i))
            return 0;
    return tf_fail(err, "model: its unknown token is not <unk>");
}

/* Does a piece have a space after its start? */
static bool has_space_within(const struct piece *p)
{
    return p->text != NULL && p->type == TF_PIECE_NORMAL && strstr(p->text + 1, TF_SPACE) != NULL;
}

/* A space at the end of a text is a piece of its own here. */
static int check_spaces(const struct tokenizer *t, struct tf_err *err)
{
    for (size_t i = 0; i < t->n && keeps_spaces(t) && !t->apart; i++)
        if (has_space_within(&t->v[i]) && tf_ends_with(t->v[i].text, TF_SPACE))
            return tf_fail(err,
                           "model: '%.80s' ends with a space, which is not supported without "
                           "split in pre_tokenizer",
                           t->v[i].text);
    return 0;
}

static void put_model(struct tokenizer *t, struct tf_buf *spm, struct tf_piece_list *list,
                      uint8_t *added)
{
    const char **texts = tf_arena_alloc(t->a, (t->n + 1) * sizeof *texts);
    for (size_t i = 0; i < t->n; i++) {
        struct piece *p = &t->v[i];
        if (p->text == NULL)
            *p = (struct piece){.text = tf_piece_unused(t->a, i), .type = TF_PIECE_UNUSED};
        else if (strcmp(p->text, "<unk>") == 0)
            p->type = TF_PIECE_UNKNOWN;
        else if (t->apart && has_space_within(p))
            p->type = TF_PIECE_UNUSED;
        texts[i] = p->text;
        added[i] = p->added;
        tf_sp_build_piece(spm, p->text, (float)p->score, p->type);
    }
    *list = (struct tf_piece_list){texts, t->n};
    t->build.bpe = t->has_merges;
    t->build.ends = keeps_spaces(t) && !t->strips;
    t->build.white = t->words ? TF_WHITE_SPLITS : t->strips ? TF_WHITE_STRIPS : 0u;
    if (keeps_spaces(t) && !t->build.add_space)
        t->build.white |= TF_WHITE_BEGINS;
    t->build.charsmap = &t->charsmap;
    tf_sp_build_settings(spm, &t->build);
}

int tf_hf_tokenizer(struct tf_buf *spm, struct tf_piece_list *list, const uint8_t **added,
                    struct tf_arena *a, const char *json, size_t n, struct tf_err *err)
{
    struct tokenizer t = {.a = a,
                          .most = n < TF_MAX_PIECES ? n : TF_MAX_PIECES,
                          .model = tf_value_map(),
                          .rest = tf_value_map()};
    tf_json_read(&t.r, json, n);
    const int rc = read_tokenizer(&t, err) != 0 || read_settings(&t, err) != 0 ||
                           check_unknown(&t, err) != 0 || check_spaces(&t, err) != 0 ||
                           (t.has_merges && price_pieces(&t, err) != 0)
                       ? -1
                       : 0;
    if (rc == 0) {
        uint8_t *flags = tf_arena_alloc(a, t.n + 1);
        put_model(&t, spm, list, flags);
        *added = flags;
    }
    tf_json_read_release(&t.r);
    tf_buf_release(&t.charsmap);
    free(t.v);
    free(t.sorted);
    free(t.merges);
    return rc;
}
