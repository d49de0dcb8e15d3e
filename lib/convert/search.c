/* search.c - see search_private.h. */
#include "convert/search_private.h"
#include "base/gunzip.h"
#include "base/parse.h"
#include "cbor/json.h"
#include "exchange/yaml.h"
#include "model/search_settings.h"
#include "ops/search_state.h"
#include "text/sp_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_setting(struct tf_import *m, const char *key, struct tf_value v)
{
    tf_value_put(m->arena, &m->header.search, key, v);
}

static void put_choice(struct tf_import *m, const char *key, const char *word)
{
    put_setting(m, key, tf_value_str(m->arena, word));
}

/* A number of tokens, if there is one. */
static void put_length(struct tf_import *m, const char *key, int64_t n, const char *theirs)
{
    if (n > TF_SEARCH_MAX_LENGTH)
        tf_buf_item(&m->left, "%s", theirs);
    else if (n > 0)
        put_setting(m, key, tf_value_int(n));
}

/* At most factor * (tokens of the input) + extra tokens, the end not counted. */
static void put_limit(struct tf_import *m, double factor, double extra, const char *theirs)
{
    if (!(factor >= 0 && factor <= 100 && extra >= 0 && extra <= TF_SEARCH_MAX_LENGTH)) {
        tf_buf_item(&m->left, "%s", theirs);
        return;
    }
    put_setting(m, "max-factor", tf_value_real(factor));
    put_setting(m, "max-extra", tf_value_int((int64_t)extra));
}

static void put_beam(struct tf_import *m, int64_t beam, const char *theirs)
{
    if (beam < 1 || beam > TF_SEARCH_MAX_BEAM)
        tf_buf_item(&m->left, "%s", theirs);
    else
        put_setting(m, "beam", tf_value_int(beam));
}

/* The first piece of outputs, or NULL: tf-decode finds it where both sides have the same ids. */
static void put_begin(struct tf_import *m, const char *text,
                      const char *theirs)
{
    if (text != NULL && m->config.source_vocab_size > 0)
        tf_buf_item(&m->left, "%s", theirs);
    else if (text != NULL && *text != 0)
        put_choice(m, "begin", text);
}

/* ---- Marian ---- */

static const char *yaml_scalar(const struct tf_yaml *y, const char *key, const char *missing)
{
    const struct tf_yaml_entry *e = tf_yaml_find(y, key);
    return e != NULL && e->n == 1 ? e->v[0] : missing;
}

static int yaml_number(const struct tf_yaml *y, const char *key, const char *missing, double lo,
                         double hi, double *to, struct tf_err *err)
{
    const char *text = yaml_scalar(y, key, missing);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        text = strcmp(text, "true") == 0 ? "1" : "0";
    return tf_parse_real(to, text, lo, hi, err) != 0 ? tf_context(err, "%s", key) : 0;
}

/* A hypothesis of f (n + 1) words is the last (src/translator/beam_search.cpp): the source's n and
 * its end count. */
static void put_factor(struct tf_import *m, double f)
{
    put_limit(m, f, ceil(f), "max-length-factor");
}

static int read_decoder(struct tf_import *m, const struct tf_yaml *y, struct tf_err *err)
{
    double beam, normalize, word, factor;
    if (yaml_number(y, "beam-size", "12", 1, TF_SEARCH_MAX_BEAM, &beam, err) != 0 ||
        yaml_number(y, "normalize", "0", 0, 100, &normalize, err) != 0 ||
        yaml_number(y, "max-length-factor", "3", 0, 1e9, &factor, err) != 0 ||
        yaml_number(y, "word-penalty", "0", -1e9, 1e9, &word, err) != 0)
        return -1;
    put_factor(m, factor);
    put_setting(m, "beam", tf_value_int((int64_t)beam));
    put_setting(m, "normalize", tf_value_real(normalize));
    if (word < 0 || word > 0)
        tf_buf_item(&m->left, "word-penalty");
    if (strcmp(yaml_scalar(y, "allow-unk", "false"), "true") == 0)
        put_setting(m, "allow-unk", tf_value_bool(true));
    if (strncmp(yaml_scalar(y, "gemm-precision", ""), "int8", 4) == 0 ||
        strcmp(yaml_scalar(y, "int8shift", "false"), "true") == 0)
        put_choice(m, "precision", "int8");
    return 0;
}

int tf_search_of_marian(struct tf_import *m, struct tf_err *err)
{
    const char *settings = m->files.settings;
    char *text;
    size_t n;
    struct tf_yaml y;
    char head[32];
    put_choice(m, "search", "marian");
    snprintf(head, sizeof head, "%" PRId64 ",1", m->align_layer);
    put_choice(m, TF_ALIGNMENT_HEAD, head);
    if (settings == NULL) {
        put_setting(m, "normalize", tf_value_real(1));
        put_factor(m, 3);
        return 0;
    }
    if (tf_read_unpacked(&text, &n, settings, TF_MAX_CONFIG, err) != 0)
        return -1;
    int rc = tf_yaml_read(&y, m->arena, text, n, err);
    free(text);
    if (rc == 0)
        rc = read_decoder(m, &y, err);
    return rc == 0 ? 0 : tf_context(err, "%s", settings);
}

/* ---- transformers: generate() with its generation_config ---- */

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
    const struct tf_value *v = tf_value_get(map, key);
    return v != NULL && v->kind == TF_BOOL && v->boolean;
}

/* Lists of words and tokens that no output has, [[id], ...] or [id, ...]: is the unknown token in
 * one? What is none of those that are never output is left. */
static bool forbids_unk(struct tf_import *m, const struct tf_value *map,
                        const char *key)
{
    const struct tf_value *v = tf_value_get(map, key);
    bool unk = false, more = false;
    for (size_t i = 0; v != NULL && v->kind == TF_ARRAY && i < v->n; i++) {
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

/* max_length counts the start, and both the end, which forced_eos_token_id puts at the limit. */
static void put_max_length(struct tf_import *m, const struct tf_value *g)
{
    const struct tf_value *end = tf_value_get(g, "forced_eos_token_id");
    const int64_t forced = end != NULL && end->kind != TF_NULL,
                  fresh = map_number(g, "max_new_tokens", 0), all = map_number(g, "max_length", 0);
    if (fresh > 0)
        put_limit(m, 0, (double)(fresh - forced), "max_new_tokens");
    else if (all > 0)
        put_limit(m, 0, (double)(all - 1 - forced), "max_length");
}

static void read_generation(struct tf_import *m, const struct tf_value *g)
{
    const struct tf_value *stop = tf_value_get(g, "early_stopping");
    const int64_t first = map_number(g, "forced_bos_token_id", -1),
                  all = map_number(g, "min_length", 0), least = all > 0 ? all - 1 : 0,
                  fewest = map_number(g, "min_new_tokens", 0),
                  ngram = map_number(g, "no_repeat_ngram_size", 0);
    const double penalty = map_real(g, "length_penalty", 1),
                 repeat = map_real(g, "repetition_penalty", 1);
    const bool fits = repeat >= 1e-3 && repeat <= 1e3;
    const char *text = piece_text(m, first);
    put_beam(m, map_number(g, "num_beams", 1), "num_beams");
    put_choice(m, "search", map_flag(g, "early_stopping") ? "fairseq" : "transformers");
    put_setting(m, "normalize", tf_value_real(penalty < 0 ? 0 : penalty > 100 ? 100 : penalty));
    if (penalty < 0 || penalty > 100)
        tf_buf_item(&m->left, "length_penalty");
    if (stop != NULL && stop->kind == TF_TEXT)
        tf_buf_item(&m->left, "early_stopping");
    put_max_length(m, g);
    put_length(m, "min-length", fewest > least ? fewest : least, "min_length");
    put_length(m, "no-repeat-ngram", ngram, "no_repeat_ngram_size");
    if (!fits)
        tf_buf_item(&m->left, "repetition_penalty");
    else if (repeat < 1 || repeat > 1)
        put_setting(m, "repetition-penalty", tf_value_real(repeat));
    const bool words = forbids_unk(m, g, "bad_words_ids"),
               tokens = forbids_unk(m, g, "suppress_tokens");
    if (!words && !tokens)
        put_setting(m, "allow-unk", tf_value_bool(true));
    put_begin(m, text, "forced_bos_token_id");
    if (first >= 0 && text == NULL)
        tf_buf_item(&m->left, "forced_bos_token_id");
    if (map_flag(g, "renormalize_logits") &&
        (tf_value_get(&m->header.search, "min-length") != NULL || ngram > 0))
        tf_buf_item(&m->left, "renormalize_logits");
    leave_others(m, g);
}

/* generation_config.json or, of older versions, config.json. */
int tf_search_of_transformers(struct tf_import *m, struct tf_err *err)
{
    const char *path = tf_dir_has(m->dir, "generation_config.json");
    struct tf_value g = m->json;
    if (path != NULL && tf_value_from_json_file(&g, m->arena, path, TF_MAX_CONFIG, err) != 0)
        return -1;
    read_generation(m, &g);
    return 0;
}

int tf_search_of_m2m100(struct tf_import *m, struct tf_err *err)
{
    put_setting(m, "free-prefix", tf_value_bool(true));
    return tf_search_of_transformers(m, err);
}

/* ---- CTranslate2: translate_batch; fairseq: fairseq-generate ---- */

static void put_ct2_search(struct tf_import *m, int64_t beam, double penalty)
{
    put_begin(m, m->begin, "target_prefix");
    put_choice(m, "search", "ctranslate2");
    put_setting(m, "beam", tf_value_int(beam));
    put_setting(m, "normalize", tf_value_real(penalty));
    put_limit(m, 0, 256, "max_decoding_length");
    put_setting(m, "min-length", tf_value_int(1));
    put_setting(m, "allow-unk", tf_value_bool(true));
    put_setting(m, "free-prefix", tf_value_bool(true));
}

int tf_search_of_ct2(struct tf_import *m, struct tf_err *err)
{
    (void)err;
    put_ct2_search(m, 2, 1);
    return 0;
}

int tf_search_of_argos(struct tf_import *m, struct tf_err *err)
{
    (void)err;
    put_ct2_search(m, 4, 0.2);
    tf_buf_item(&m->left, "replace_unknowns");
    return 0;
}

/* max_len_a counts the end of the source, too. */
int tf_search_of_fairseq(struct tf_import *m, struct tf_err *err)
{
    const struct tf_py *g = tf_torch_dict(tf_torch_dict(m->torch.root, "cfg"), "generation");
    const double a = tf_torch_real(g, "max_len_a", 0), b = tf_torch_real(g, "max_len_b", 200),
                 penalty = tf_torch_real(g, "lenpen", 1);
    (void)err;
    put_choice(m, "search", "fairseq");
    put_beam(m, tf_torch_int(g, "beam", 5), "beam");
    if (tf_torch_int(g, "unnormalized", 0) != 0)
        put_setting(m, "normalize", tf_value_real(0));
    else if (penalty >= 0 && penalty <= 100)
        put_setting(m, "normalize", tf_value_real(penalty));
    else
        tf_buf_item(&m->left, "lenpen");
    put_limit(m, a, floor(a + b), "max_len_a");
    put_length(m, "min-length", tf_torch_int(g, "min_len", 1), "min_len");
    put_length(m, "no-repeat-ngram", tf_torch_int(g, "no_repeat_ngram_size", 0),
               "no_repeat_ngram_size");
    put_setting(m, "allow-unk", tf_value_bool(true));
    if (tf_torch_real(g, "unkpen", 0) != 0)
        tf_buf_item(&m->left, "unkpen");
    return 0;
}
