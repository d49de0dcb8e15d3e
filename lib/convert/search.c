/* search.c - see search_private.h. */
#include "convert/search_private.h"
#include "base/input.h"
#include "base/parse.h"
#include "cbor/json.h"
#include "exchange/yaml.h"
#include "model/search_settings.h"
#include "ops/search_state.h"
#include "text/sp_check.h"

#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
    struct tf_arena *a;
    struct tf_value *to;
    struct tf_buf *left;
};

static void put(struct job *j, const char *key, struct tf_value v)
{
    tf_value_put(j->a, j->to, key, v);
}

static void put_word(struct job *j, const char *key, const char *word)
{
    put(j, key, tf_value_str(j->a, word));
}

/* A number of tokens, if there is one. */
static void put_length(struct job *j, const char *key, int64_t n, const char *theirs)
{
    if (n > TF_SEARCH_MAX_LENGTH)
        tf_buf_item(j->left, "%s", theirs);
    else if (n > 0)
        put(j, key, tf_value_int(n));
}

/* At most factor * (tokens of the input) + extra tokens, the end not counted. */
static void put_limit(struct job *j, double factor, double extra, const char *theirs)
{
    if (!(factor >= 0 && factor <= 100 && extra >= 0 && extra <= TF_SEARCH_MAX_LENGTH)) {
        tf_buf_item(j->left, "%s", theirs);
        return;
    }
    put(j, "max-factor", tf_value_real(factor));
    put(j, "max-extra", tf_value_int((int64_t)extra));
}

static void put_beam(struct job *j, int64_t beam, const char *theirs)
{
    if (beam < 1 || beam > TF_SEARCH_MAX_BEAM)
        tf_buf_item(j->left, "%s", theirs);
    else
        put(j, "beam", tf_value_int(beam));
}

/* The first piece of outputs, or NULL: tf-decode finds it where both sides have the same ids. */
static void put_begin(struct job *j, const struct tf_conversion *m, const char *text,
                      const char *theirs)
{
    if (text != NULL && m->config.source_vocab_size > 0)
        tf_buf_item(j->left, "%s", theirs);
    else if (text != NULL && *text != 0)
        put_word(j, "begin", text);
}

/* ---- Marian ---- */

static const char *scalar(const struct tf_yaml *y, const char *key, const char *missing)
{
    const struct tf_yaml_entry *e = tf_yaml_find(y, key);
    return e != NULL && e->n == 1 ? e->v[0] : missing;
}

static int marian_number(const struct tf_yaml *y, const char *key, const char *missing, double lo,
                         double hi, double *to, struct tf_err *err)
{
    const char *text = scalar(y, key, missing);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        text = strcmp(text, "true") == 0 ? "1" : "0";
    return tf_parse_real(to, text, lo, hi, err) != 0 ? tf_context(err, "%s", key) : 0;
}

/* A hypothesis of f (n + 1) words is the last (src/translator/beam_search.cpp): the source's n and
 * its end count. */
static void put_factor(struct job *j, double f)
{
    put_limit(j, f, ceil(f), "max-length-factor");
}

static int read_decoder(struct job *j, const struct tf_yaml *y, struct tf_err *err)
{
    double beam, normalize, word, factor;
    if (marian_number(y, "beam-size", "12", 1, TF_SEARCH_MAX_BEAM, &beam, err) != 0 ||
        marian_number(y, "normalize", "0", 0, 100, &normalize, err) != 0 ||
        marian_number(y, "max-length-factor", "3", 0, 1e9, &factor, err) != 0 ||
        marian_number(y, "word-penalty", "0", -1e9, 1e9, &word, err) != 0)
        return -1;
    put_factor(j, factor);
    put(j, "beam", tf_value_int((int64_t)beam));
    put(j, "normalize", tf_value_real(normalize));
    if (word < 0 || word > 0)
        tf_buf_item(j->left, "word-penalty");
    if (strcmp(scalar(y, "allow-unk", "false"), "true") == 0)
        put(j, "allow-unk", tf_value_bool(true));
    if (strncmp(scalar(y, "gemm-precision", ""), "int8", 4) == 0 ||
        strcmp(scalar(y, "int8shift", "false"), "true") == 0)
        put_word(j, "precision", "int8");
    return 0;
}

static int of_marian(struct job *j, const char *settings, struct tf_err *err)
{
    char *text;
    size_t n;
    struct tf_yaml y;
    put_word(j, "search", "marian");
    if (settings == NULL) {
        put(j, "normalize", tf_value_real(1));
        put_factor(j, 3);
        return 0;
    }
    if (tf_read_file(&text, &n, settings, TF_MAX_CONFIG, err) != 0)
        return -1;
    int rc = tf_yaml_read(&y, j->a, text, n, err);
    free(text);
    if (rc == 0)
        rc = read_decoder(j, &y, err);
    return rc == 0 ? 0 : tf_context(err, "%s", settings);
}

/* ---- transformers: generate() with its generation_config ---- */

static int64_t number(const struct tf_value *map, const char *key, int64_t missing)
{
    struct tf_err none = {0};
    int64_t n = missing;
    return tf_value_int_of(map, key, INT64_MIN, INT64_MAX, &n, &none) == 0 ? n : missing;
}

static double real(const struct tf_value *map, const char *key, double missing)
{
    struct tf_err none = {0};
    double x = missing;
    return tf_value_real_of(map, key, -1e300, 1e300, &x, &none) == 0 ? x : missing;
}

static bool flag(const struct tf_value *map, const char *key)
{
    const struct tf_value *v = tf_value_get(map, key);
    return v != NULL && v->kind == TF_BOOL && v->boolean;
}

/* Lists of words and tokens that no output has, [[id], ...] or [id, ...]: is the unknown token in
 * one? What is none of those that are never output is left. */
static bool forbids_unk(struct job *j, const struct tf_conversion *m, const struct tf_value *map,
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
        tf_buf_item(j->left, "%s", key);
    return unk;
}

/* The text of a piece; a tag without the space before it. */
static const char *piece(struct tf_conversion *m, int64_t id)
{
    const char *const *v;
    size_t n;
    struct tf_err none = {0};
    if (m->vocab == NULL || id < 0 ||
        tf_sp_texts(&m->arena, m->vocab, m->vocab_n, &v, &n, &none) != 0 || (uint64_t)id >= n ||
        v[id] == NULL)
        return NULL;
    return strncmp(v[id], "\xe2\x96\x81", 3) == 0 ? v[id] + 3 : v[id];
}

/* Settings that are not kept, and are left unless they are null, false, empty or this number. */
static void leave_others(struct job *j, const struct tf_value *g)
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
                                     real(g, others[i].key, NAN) != others[i].none))
            tf_buf_item(j->left, "%s", others[i].key);
    }
}

/* max_length counts the start, and both the end, which forced_eos_token_id puts at the limit. */
static void put_max_length(struct job *j, const struct tf_value *g)
{
    const struct tf_value *end = tf_value_get(g, "forced_eos_token_id");
    const int64_t forced = end != NULL && end->kind != TF_NULL,
                  fresh = number(g, "max_new_tokens", 0), all = number(g, "max_length", 0);
    if (fresh > 0)
        put_limit(j, 0, (double)(fresh - forced), "max_new_tokens");
    else if (all > 0)
        put_limit(j, 0, (double)(all - 1 - forced), "max_length");
}

static void of_generate(struct job *j, struct tf_conversion *m, const struct tf_value *g)
{
    const struct tf_value *stop = tf_value_get(g, "early_stopping");
    const int64_t first = number(g, "forced_bos_token_id", -1), all = number(g, "min_length", 0),
                  least = all > 0 ? all - 1 : 0, fewest = number(g, "min_new_tokens", 0),
                  ngram = number(g, "no_repeat_ngram_size", 0);
    const double penalty = real(g, "length_penalty", 1), repeat = real(g, "repetition_penalty", 1);
    const bool fits = repeat >= 1e-3 && repeat <= 1e3;
    const char *text = piece(m, first);
    put_beam(j, number(g, "num_beams", 1), "num_beams");
    put_word(j, "search", flag(g, "early_stopping") ? "fairseq" : "transformers");
    put(j, "normalize", tf_value_real(penalty < 0 ? 0 : penalty > 100 ? 100 : penalty));
    if (penalty < 0 || penalty > 100)
        tf_buf_item(j->left, "length_penalty");
    if (stop != NULL && stop->kind == TF_TEXT)
        tf_buf_item(j->left, "early_stopping");
    put_max_length(j, g);
    put_length(j, "min-length", fewest > least ? fewest : least, "min_length");
    put_length(j, "no-repeat-ngram", ngram, "no_repeat_ngram_size");
    if (!fits)
        tf_buf_item(j->left, "repetition_penalty");
    else if (repeat < 1 || repeat > 1)
        put(j, "repetition-penalty", tf_value_real(repeat));
    const bool words = forbids_unk(j, m, g, "bad_words_ids"),
               tokens = forbids_unk(j, m, g, "suppress_tokens");
    if (!words && !tokens)
        put(j, "allow-unk", tf_value_bool(true));
    put_begin(j, m, text, "forced_bos_token_id");
    if (flag(g, "renormalize_logits") && (tf_value_get(j->to, "min-length") != NULL || ngram > 0))
        tf_buf_item(j->left, "renormalize_logits");
    leave_others(j, g);
}

/* generation_config.json or, of older versions, config.json. */
static int of_transformers(struct job *j, struct tf_conversion *m, const char *name,
                           struct tf_err *err)
{
    static const char *const names[] = {"generation_config.json", "config.json"};
    char *copy = tf_arena_strndup(j->a, name, strlen(name)), *json = NULL;
    const char *dir = dirname(copy);
    struct tf_buf path = {0};
    struct tf_value g = tf_value_map();
    size_t n;
    int rc = 0;
    for (size_t i = 0; i < 2 && json == NULL && rc == 0; i++) {
        path.len = 0;
        tf_buf_printf(&path, "%s/%s", dir, names[i]);
        if (access(path.p, F_OK) == 0)
            rc = tf_read_file(&json, &n, path.p, TF_MAX_CONFIG, err);
    }
    if (rc == 0 && json != NULL) {
        rc = tf_value_from_json_text(&g, j->a, json, n, TF_JSON_PLAIN, "value", err) < 0
                 ? tf_context(err, "%s", path.p)
                 : 0;
        if (rc == 0 && g.kind != TF_MAP)
            rc = tf_fail(err, "%s: not a JSON object", path.p);
    }
    if (rc == 0)
        of_generate(j, m, &g);
    free(json);
    tf_buf_release(&path);
    return rc;
}

/* ---- CTranslate2: translate_batch; fairseq: fairseq-generate ---- */

/* Argos' own call (argostranslate/translate.py, 1.11) has another beam and penalty. */
static void of_ctranslate2(struct job *j, struct tf_conversion *m, const struct tf_convert_opts *o)
{
    put_begin(j, m, o->begin, "target_prefix");
    put_word(j, "search", "ctranslate2");
    put(j, "beam", tf_value_int(o->argos ? 4 : 2));
    put(j, "normalize", tf_value_real(o->argos ? 0.2 : 1));
    put_limit(j, 0, 256, "max_decoding_length");
    put(j, "min-length", tf_value_int(1));
    put(j, "allow-unk", tf_value_bool(true));
    put(j, "free-prefix", tf_value_bool(true));
    if (o->argos)
        tf_buf_item(j->left, "replace_unknowns");
}

/* max_len_a counts the end of the source, too. */
static void of_fairseq(struct job *j, const struct tf_torch *t)
{
    const struct tf_py *g = tf_torch_dict(tf_torch_dict(t->root, "cfg"), "generation");
    const double a = tf_torch_real(g, "max_len_a", 0), b = tf_torch_real(g, "max_len_b", 200),
                 penalty = tf_torch_real(g, "lenpen", 1);
    put_word(j, "search", "fairseq");
    put_beam(j, tf_torch_int(g, "beam", 5), "beam");
    if (tf_torch_int(g, "unnormalized", 0) != 0)
        put(j, "normalize", tf_value_real(0));
    else if (penalty >= 0 && penalty <= 100)
        put(j, "normalize", tf_value_real(penalty));
    else
        tf_buf_item(j->left, "lenpen");
    put_limit(j, a, floor(a + b), "max_len_a");
    put_length(j, "min-length", tf_torch_int(g, "min_len", 1), "min_len");
    put_length(j, "no-repeat-ngram", tf_torch_int(g, "no_repeat_ngram_size", 0),
               "no_repeat_ngram_size");
    put(j, "allow-unk", tf_value_bool(true));
    if (tf_torch_real(g, "unkpen", 0) != 0)
        tf_buf_item(j->left, "unkpen");
}

int tf_conversion_search(struct tf_conversion *m, enum tf_original from, const char *name,
                         const struct tf_convert_opts *o, struct tf_buf *left, struct tf_err *err)
{
    struct job j = {&m->arena, &m->header.search, left};
    m->header.search = tf_value_map();
    if (m->bundle.int8)
        put_word(&j, "precision", "int8");
    switch (from) {
    case TF_FROM_MARIAN:
        return of_marian(&j, o->settings, err);
    case TF_FROM_CTRANSLATE2:
        of_ctranslate2(&j, m, o);
        return 0;
    case TF_FROM_FAIRSEQ:
        of_fairseq(&j, &m->torch);
        return 0;
    case TF_FROM_M2M100:
        put(&j, "free-prefix", tf_value_bool(true));
        return of_transformers(&j, m, name, err);
    case TF_FROM_MARIANMT:
    case TF_FROM_FSMT:
        return of_transformers(&j, m, name, err);
    }
    return 0;
}
