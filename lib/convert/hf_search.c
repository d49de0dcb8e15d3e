/* hf_search.c - see hf_search_private.h. */
#include "convert/hf_search_private.h"
#include "cbor/json.h"
#include "convert/search_private.h"
#include "text/sp_check.h"

#include <math.h>
#include <string.h>

static int64_t map_number(const struct tf_value *map, const char *key, int64_t missing)
{
    struct tf_err none = {0};
    int64_t n = missing;
    return tf_value_int_of(map, key, INT64_MIN, INT64_MAX, &n, &none) == 0 ? n : missing;
}

static double map_real(const struct tf_value *map, const char *key, double missing)
{
    struct tf_err none = {0};
    double x = missing;
    return tf_value_real_of(map, key, -1e300, 1e300, &x, &none) == 0 ? x : missing;
}

static bool map_flag(const struct tf_value *map, const char *key)
{
    const struct tf_value *v = tf_value_find(map, key, TF_BOOL);
    return v != NULL && v->boolean;
}

/* Lists of words and tokens that no output has, [[id], ...] or [id, ...]: is the unknown token in
 * one? What is none of those that are never output is left. */
static bool forbids_unk(struct tf_import *m, const struct tf_value *map,
                        const char *key)
{
    const struct tf_value *v = tf_value_find(map, key, TF_ARRAY);
    bool unk = false, more = false;
    for (size_t i = 0; v != NULL && i < v->n; i++) {
        const struct tf_value *e = &v->items[i];
        if (e->kind == TF_ARRAY && e->n == 1)
            e = &e->items[0];
        const int64_t id = e->kind == TF_INT ? e->integer : -1;
        unk = unk || (id >= 0 && id == m->header.special.unk);
        more = more || id < 0 ||
               (id < m->config.vocab_size && id != m->header.special.unk && id != m->config.pad &&
                id != m->config.bos);
    }
    if (more)
        tf_buf_item(&m->left, "%s", key);
    return unk;
}

/* The text of a piece; a tag without the space before it. */
static const char *piece_text(struct tf_import *m, int64_t id)
{
    const struct tf_buf *vocab = &m->segmenter[0];
    const char *const *v;
    size_t n;
    struct tf_err none = {0};
    if (vocab->p == NULL || id < 0 ||
        tf_sp_texts(m->arena, vocab->p, vocab->len, &v, &n, &none) != 0 || (uint64_t)id >= n ||
        v[id] == NULL)
        return NULL;
    return strncmp(v[id], "\xe2\x96\x81", 3) == 0 ? v[id] + 3 : v[id];
}

/* Settings that are not kept, and are left unless they are null, false, empty or this number. */
static void leave_others(struct tf_import *m, const struct tf_value *g)
{
    static const struct {
        const char *key;
        double none;
    } others[] = {{"do_sample", 0},
                  {"num_beam_groups", 1},
                  {"diversity_penalty", 0},
                  {"encoder_no_repeat_ngram_size", 0},
                  {"encoder_repetition_penalty", 1},
                  {"begin_suppress_tokens", 0},
                  {"force_words_ids", 0},
                  {"exponential_decay_length_penalty", 0},
                  {"sequence_bias", 0}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct tf_value *v = tf_value_get(g, others[i].key);
        const bool list = v != NULL && (v->kind == TF_ARRAY || v->kind == TF_MAP);
        if (v != NULL && (list ? v->n > 0
                               : v->kind != TF_NULL && !(v->kind == TF_BOOL && !v->boolean) &&
                                     map_real(g, others[i].key, NAN) != others[i].none))
            tf_buf_item(&m->left, "%s", others[i].key);
    }
}

/* Ids that generate() takes from here, and the model has from config.json. */
static void leave_unlike(struct tf_import *m, const struct tf_value *g, const char *key)
{
    const struct tf_value *v = tf_value_get(g, key), *own = tf_value_find(&m->json, key, TF_INT);
    if (v != NULL && v->kind == TF_ARRAY && v->n == 1)
        v = &v->items[0];
    if (v != NULL && v->kind != TF_NULL && own != NULL &&
        !(v->kind == TF_INT && v->integer == own->integer))
        tf_buf_item(&m->left, "%s", key);
}

/* max_length counts the start, and both the end, which forced_eos_token_id puts at the limit. */
static void put_max_length(struct tf_import *m, const struct tf_value *g)
{
    const struct tf_value *end = tf_value_get(g, "forced_eos_token_id");
    const int64_t forced = end != NULL && end->kind != TF_NULL,
                  fresh = map_number(g, "max_new_tokens", 0), all = map_number(g, "max_length", 0);
    if (fresh > 0)
        tf_search_put_limit(m, 0, 0, (double)(fresh - forced), "max_new_tokens");
    else if (all > 0)
        tf_search_put_limit(m, 0, 0, (double)(all - 1 - forced), "max_length");
}

static void read_generation(struct tf_import *m, const struct tf_value *g)
{
    const int64_t first = map_number(g, "forced_bos_token_id", -1),
                  all = map_number(g, "min_length", 0), least = all > 0 ? all - 1 : 0,
                  fewest = map_number(g, "min_new_tokens", 0),
                  ngram = map_number(g, "no_repeat_ngram_size", 0);
    const double penalty = map_real(g, "length_penalty", 1),
                 repeat = map_real(g, "repetition_penalty", 1);
    const bool fits = repeat >= 1e-3 && repeat <= 1e3;
    const char *text = piece_text(m, first);
    tf_search_put_beam(m, map_number(g, "num_beams", 1), "num_beams");
    tf_search_put_word(m, "search", map_flag(g, "early_stopping") ? "fairseq" : "transformers");
    tf_search_put(m, "normalize", tf_value_real(penalty < 0 ? 0 : penalty > 100 ? 100 : penalty));
    if (penalty < 0 || penalty > 100)
        tf_buf_item(&m->left, "length_penalty");
    if (tf_value_find(g, "early_stopping", TF_TEXT) != NULL)
        tf_buf_item(&m->left, "early_stopping");
    put_max_length(m, g);
    tf_search_put_length(m, "min-length", fewest > least ? fewest : least, "min_length");
    tf_search_put_length(m, "no-repeat-ngram", ngram, "no_repeat_ngram_size");
    if (!fits)
        tf_buf_item(&m->left, "repetition_penalty");
    else if (repeat < 1 || repeat > 1)
        tf_search_put(m, "repetition-penalty", tf_value_real(repeat));
    const bool words = forbids_unk(m, g, "bad_words_ids"),
               tokens = forbids_unk(m, g, "suppress_tokens");
    if (!words && !tokens)
        tf_search_put(m, "allow-unk", tf_value_bool(true));
    tf_search_put_begin(m, text, "forced_bos_token_id");
    if (first >= 0 && text == NULL)
        tf_buf_item(&m->left, "forced_bos_token_id");
    if (map_flag(g, "renormalize_logits") &&
        (tf_value_get(&m->header.search, "min-length") != NULL || ngram > 0))
        tf_buf_item(&m->left, "renormalize_logits");
    leave_unlike(m, g, "eos_token_id");
    leave_unlike(m, g, "decoder_start_token_id");
    leave_others(m, g);
}

/* generation_config.json or, of older versions, config.json. */
int tf_search_of_transformers(struct tf_import *m, struct tf_err *err)
{
    const char *path = tf_dir_has(m->dir, "generation_config.json");
    struct tf_value g = m->json;
    if (path != NULL && tf_import_json(&g, m->arena, path, err) != 0)
        return -1;
    read_generation(m, &g);
    return 0;
}

int tf_search_of_m2m100(struct tf_import *m, struct tf_err *err)
{
    tf_search_put(m, "free-prefix", tf_value_bool(true));
    return tf_search_of_transformers(m, err);
}
