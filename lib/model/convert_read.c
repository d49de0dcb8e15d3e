/* convert_read.c - read the model that is to be converted: one of ours, ours in another format, or
 * one of another program. */
#include "base/hash.h"
#include "base/log.h"
#include "cbor/json.h"
#include "exchange/ct2_bin.h"
#include "exchange/marian_bin.h"
#include "exchange/npz.h"
#include "exchange/safetensors.h"
#include "model/convert_private.h"
#include "model/ct2_private.h"
#include "model/hf_private.h"
#include "model/marian_private.h"
#include "model/model_dir_private.h"
#include "text/gunzip.h"
#include "text/piece_list.h"
#include "text/sp_check.h"
#include "text/sp_renumber.h"
#include "text/vocab_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_CONFIG = 1 << 20, MAX_KEYS = 1000, FIRST_N = 16 };

/* ---- configuration: a JSON object of the settings, and entries of our header: "unk", the labels
 * of languages and, unless the file contains the vocabulary itself, its SHA-256 as "vocab" ---- */

/* Move what is not of the settings to the header; the rest of map becomes *settings. */
static int split_config(struct tf_conversion *m, const struct tf_value *map,
                        struct tf_value *settings, struct tf_err *err)
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
                tf_value_from_hex(&hash, &m->arena, v->text, v->n, err) < 0)
                return tf_fail(err, "vocab: not a SHA-256 in hex");
            memcpy(h->vocab, hash.text, sizeof h->vocab);
            h->has_vocab = true;
        } else if (strcmp(map->keys[i], "lang") == 0 || strcmp(map->keys[i], "target_lang") == 0) {
            char *label = map->keys[i][0] == 'l' ? h->lang : h->target_lang;
            if (v->kind != TF_TEXT || !tf_lang_set(label, v->text))
                return tf_fail(err, "%s: no language label", map->keys[i]);
        } else if (settings->n == MAX_KEYS) {
            return tf_fail(err, "more than %d keys", MAX_KEYS);
        } else {
            tf_value_put(&m->arena, settings, map->keys[i], *v);
        }
    }
    return 0;
}

static int read_config(struct tf_conversion *m, const char *text, size_t n, struct tf_err *err)
{
    struct tf_value map, settings;
    if (tf_value_from_json_text(&map, &m->arena, text, n, TF_JSON_PLAIN, "value", err) < 0)
        return tf_context(err, "config");
    if (map.kind != TF_MAP)
        return tf_fail(err, "config: not a JSON object");
    if (split_config(m, &map, &settings, err) < 0)
        return tf_context(err, "config");
    if (tf_config_read(&m->config, &settings, err) < 0)
        return -1;
    if (m->header.special.unk >= m->config.vocab_size)
        return tf_fail(err, "config: unk: %lld in a vocabulary of %lld",
                       (long long)m->header.special.unk, (long long)m->config.vocab_size);
    return 0;
}

/* ---- reading ---- */

static enum tf_format format_of(const char *p, size_t n)
{
    if (tf_label_begins(p, n)) /* or is a truncated label, even an empty one */
        return TF_FORMAT_TFM;
    if (n >= 4 && memcmp(p, "PK", 2) == 0)
        return TF_FORMAT_NPZ;
    if (tf_marian_bin_begins(p, n))
        return TF_FORMAT_MARIAN_BIN;
    if (tf_ct2_bin_begins(p, n))
        return TF_FORMAT_CT2_BIN;
    return tf_safetensors_begins(p, n) ? TF_FORMAT_SAFETENSORS : TF_FORMAT_AUTO;
}

static int read_own(struct tf_conversion *m, struct tf_in *in, struct tf_err *err)
{
    if (tf_model_read_in(&m->own, in, TF_MODEL_WEIGHTS, 0, err) < 0)
        return -1;
    m->header = m->own.header;
    m->vocab = m->own.vocab;
    m->vocab_n = m->own.vocab_n;
    const struct tf_value *target = tf_value_get(&m->own.state, "vocab_target");
    if (target != NULL && target->kind == TF_BYTES) {
        m->vocab_target = (const uint8_t *)target->text;
        m->vocab_target_n = target->n;
    }
    return tf_model_load(&m->own, &m->config, NULL, "p/", err) < 0 ? tf_context(err, "%s", in->name)
                                                                   : 0;
}

static int check_target(const struct tf_conversion *m, const char *name, struct tf_err *err)
{
    const struct tf_special special = {.pad = m->config.pad,
                                       .unk = m->header.special.unk,
                                       .bos = m->config.bos != m->config.eos ? m->config.bos : -1,
                                       .eos = m->config.eos};
    return tf_vocab_file_fits(m->vocab_target, m->vocab_target_n, name, m->config.vocab_size,
                              &special, err);
}

/* Check a vocabulary from another format or --vocab; its hash, if config_name has one. */
static int check_vocab(const struct tf_conversion *m, const char *name, const char *config_name,
                       struct tf_err *err)
{
    struct tf_header given = {.has_vocab = true};
    tf_sha256_of(given.vocab, m->vocab, m->vocab_n);
    if (tf_same_vocab(&given, name, &m->header, config_name, err) < 0)
        return -1;
    const bool own_ids = m->config.source_vocab_size > 0;
    struct tf_special special = {.pad = m->config.pad,
                                 .unk = m->header.special.unk,
                                 .bos = m->config.bos != m->config.eos ? m->config.bos : -1,
                                 .eos = m->config.eos};
    if (own_ids)
        special = (struct tf_special){-1, -1, -1, m->config.source_eos ? m->config.eos : -1};
    if (tf_vocab_file_fits(m->vocab, m->vocab_n, name, tf_config_source_ids(&m->config), &special,
                           err) != 0)
        return -1;
    return own_ids && m->vocab_target != NULL ? check_target(m, name, err) : 0;
}

/* ---- vocabularies of other programs: segmenters, and perhaps a list of ids for both ---- */

/* Are the pieces of a segmenter those of the list, in its order? */
static bool has_ids(struct tf_conversion *m, const struct tf_buf *segmenter,
                    const struct tf_piece_list *list)
{
    struct tf_piece_list own;
    struct tf_err none;
    if (tf_sp_texts(&m->arena, segmenter->p, segmenter->len, &own.v, &own.n, &none) != 0 ||
        own.n != list->n)
        return false;
    for (size_t i = 0; i < own.n; i++)
        if (own.v[i] == NULL || strcmp(own.v[i], list->v[i]) != 0)
            return false;
    return true;
}

/* *to = the segmenter at a path, with the ids of the list if there is one. No path: one of words.
 */
static int read_segmenter(struct tf_conversion *m, struct tf_buf *to, const char *path,
                          const struct tf_piece_list *list, const char *pieces, struct tf_err *err)
{
    char *bytes;
    size_t n;
    if (path == NULL)
        return tf_sp_words(to, list->v, list->n, err) != 0 ? tf_context(err, "%s", pieces) : 0;
    if (tf_vocab_file_read(&bytes, &n, path, err) != 0)
        return -1;
    tf_buf_add(to, bytes, n);
    free(bytes);
    if (list->n == 0 || has_ids(m, to, list))
        return 0;
    struct tf_buf with_ids = {0};
    const int rc = tf_sp_renumber(&with_ids, to->p, to->len, list->v, list->n, err);
    tf_buf_release(to);
    *to = with_ids;
    return rc == 0 ? 0 : tf_context(err, "%s, %s", path, pieces);
}

/* The segmenters with the ids of lists, for sources and targets. */
static int use_segmenters(struct tf_conversion *m, const struct tf_convert_opts *o,
                          const struct tf_piece_list list[2], struct tf_err *err)
{
    if (read_segmenter(m, &m->vocab_buf, o->vocab, &list[0], o->pieces, err) != 0)
        return -1;
    m->vocab = (const uint8_t *)m->vocab_buf.p;
    m->vocab_n = m->vocab_buf.len;
    const bool same_ids = list[0].v == list[1].v;
    if (o->vocab_target == NULL && same_ids)
        return 0;
    if (read_segmenter(m, &m->vocab_target_buf,
                       o->vocab_target != NULL ? o->vocab_target : o->vocab, &list[1],
                       same_ids ? o->pieces : o->pieces_target, err) != 0)
        return -1;
    if (m->vocab_target_buf.len == m->vocab_n &&
        memcmp(m->vocab_target_buf.p, m->vocab, m->vocab_n) == 0)
        return 0;
    m->vocab_target = (const uint8_t *)m->vocab_target_buf.p;
    m->vocab_target_n = m->vocab_target_buf.len;
    return 0;
}

/* most: pieces beyond these ids are left out: that of a padding id which the model has not. */
static int read_segmenters(struct tf_conversion *m, const struct tf_convert_opts *o, int64_t most,
                           struct tf_err *err)
{
    struct tf_piece_list list[2] = {{0}, {0}};
    if (o->pieces != NULL && tf_piece_list_read(&list[0], &m->arena, o->pieces, err) != 0)
        return -1;
    if (most > 0 && list[0].n == (size_t)most + 1)
        list[0].n--;
    list[1] = list[0];
    return use_segmenters(m, o, list, err);
}

static void say_what(const char *name, const char *program, const struct tf_config *c)
{
    tf_note("%s: %s, %lld + %lld layers of width %lld, %s; decode with --normalize 1", name,
            program, (long long)c->encoder_layers, (long long)c->decoder_layers,
            (long long)c->d_model, tf_activations[c->activation]);
}

static void say_positions(const char *name)
{
    tf_note("%s: computes what Marian computes; for a model that was trained or tuned in "
            "transformers, --positions halves is what it computes there",
            name);
}

/* A model of Marian has no vocabulary in its file. */
static int read_marian(struct tf_conversion *m, const char *name, const struct tf_convert_opts *o,
                       struct tf_err *err)
{
    if (o->config != NULL)
        return tf_fail_status(err, TF_USAGE, "--config: %s has the settings of Marian", name);
    if (o->vocab == NULL)
        return tf_fail_status(err, TF_USAGE,
                              "%s: a model of Marian: --vocab with its SentencePiece model is "
                              "needed",
                              name);
    if (read_segmenters(m, o, 0, err) != 0)
        return -1;
    const struct tf_marian_vocab vocab[2] = {{m->vocab, m->vocab_n},
                                             {m->vocab_target, m->vocab_target_n}};
    if (tf_marian_import(&m->bundle, &m->config, &m->header.special.unk, vocab,
                         m->vocab_target != NULL && o->pieces == NULL, err) != 0)
        return tf_context(err, "%s", name);
    say_what(name, "Marian", &m->config);
    return check_vocab(m, o->vocab, name, err);
}

/* hf_config: of the directory */
static int read_hf(struct tf_conversion *m, const char *name, const char *hf_config,
                   const struct tf_convert_opts *o, struct tf_err *err)
{
    char *json;
    size_t n;
    if (tf_read_file(&json, &n, hf_config, MAX_CONFIG, err) != 0)
        return -1;
    const int rc = tf_hf_import(&m->bundle, &m->config, json, n, o->positions, err);
    free(json);
    if (rc != 0)
        return tf_context(err, "%s", name);
    if (read_segmenters(m, o, m->config.vocab_size, err) != 0)
        return -1;
    m->header.special.unk = tf_sp_id(m->vocab, m->vocab_n, "<unk>");
    if (m->config.start == TF_START_ZERO) { /* pieces of these names may be there, as in Marian */
        m->config.bos = tf_sp_id(m->vocab, m->vocab_n, "<s>");
        m->config.pad = tf_sp_id(m->vocab, m->vocab_n, "<pad>");
    }
    say_what(name, "MarianMT", &m->config);
    if (m->config.position_table == TF_TABLE_DIALECT && o->positions == TF_STORED_AUTO)
        say_positions(name);
    return check_vocab(m, o->vocab, name, err);
}

static int import_ct2(struct tf_conversion *m, const char *name, const char *config,
                      const struct tf_convert_opts *o, struct tf_piece_list lists[2],
                      struct tf_err *err)
{
    char *json = NULL;
    size_t n = 0;
    if (config != NULL && tf_read_file(&json, &n, config, MAX_CONFIG, err) != 0)
        return -1;
    const int rc = tf_ct2_import(&m->bundle, &m->config, &m->header.special.unk, json, n, lists,
                                 o->positions, err);
    free(json);
    return rc != 0 ? tf_context(err, "%s", name) : 0;
}

/* config: of the directory, or NULL. */
static int read_ct2(struct tf_conversion *m, const char *name, const char *config,
                    const struct tf_convert_opts *o, struct tf_err *err)
{
    struct tf_piece_list lists[2];
    if (o->pieces == NULL)
        return tf_fail_status(err, TF_USAGE, "%s: a model of CTranslate2: name its directory",
                              name);
    if (tf_piece_list_read(&lists[0], &m->arena, o->pieces, err) != 0)
        return -1;
    lists[1] = lists[0];
    if (o->pieces_target != NULL &&
        tf_piece_list_read(&lists[1], &m->arena, o->pieces_target, err) != 0)
        return -1;
    if (import_ct2(m, name, config, o, lists, err) != 0 || use_segmenters(m, o, lists, err) != 0)
        return -1;
    say_what(name, "CTranslate2", &m->config);
    if (o->vocab == NULL)
        tf_note("%s: no SentencePiece model: its text is tokens between spaces, as another program "
                "splits it",
                name);
    if (m->config.start == TF_START_ZERO && o->positions == TF_STORED_AUTO)
        say_positions(name);
    return check_vocab(m, o->pieces, name, err);
}

/* ---- one of our models in another format ---- */

static int read_bundle(struct tf_conversion *m, struct tf_in *in, struct tf_err *err)
{
    struct tf_bundle *b = &m->bundle;
    /* A pipe may never end. */
    if (tf_in_all(in, &m->bytes, &m->n, in->size < 0 ? TF_MAX_TENSOR : SIZE_MAX / 2, err) < 0)
        return -1;
    const int rc = m->from == TF_FORMAT_NPZ          ? tf_npz_read(b, m->bytes, m->n, err)
                   : m->from == TF_FORMAT_MARIAN_BIN ? tf_marian_bin_read(b, m->bytes, m->n, err)
                   : m->from == TF_FORMAT_CT2_BIN    ? tf_ct2_bin_read(b, m->bytes, m->n, err)
                                                     : tf_safetensors_read(b, m->bytes, m->n, err);
    if (rc < 0)
        return tf_context(err, "%s", in->name);
    m->header = (struct tf_header){.version = 1,
                                   .special = {-1, -1, -1, -1},
                                   .made = tf_value_array(),
                                   .extra = tf_value_map()};
    return 0;
}

static int read_plain(struct tf_conversion *m, const char *name, const struct tf_convert_opts *o,
                      struct tf_err *err)
{
    const struct tf_bundle *b = &m->bundle;
    if (o->pieces != NULL || o->vocab_target != NULL)
        return tf_fail_status(err, TF_USAGE, "--%s: %s has ids of its own",
                              o->pieces != NULL ? "pieces" : "vocab-target", name);
    m->vocab = b->vocab;
    m->vocab_n = b->vocab_n;
    m->vocab_target = b->vocab_target;
    m->vocab_target_n = b->vocab_target_n;
    if (m->vocab_n > TF_MAX_VOCAB)
        return tf_fail(err, "%s: a vocabulary of %zu bytes: at most %zu", name, m->vocab_n,
                       TF_MAX_VOCAB);
    const char *config = b->config;
    char *own = NULL;
    size_t n = b->config_n;
    if (o->config != NULL) {
        if (tf_read_file(&own, &n, o->config, MAX_CONFIG, err) < 0)
            return -1;
        config = own;
        name = o->config;
    }
    int rc = -1;
    if (config == NULL)
        tf_fail(err, "%s: contains no configuration; use --config", name);
    else if (n > MAX_CONFIG)
        tf_fail(err, "%s: a configuration of %zu bytes: at most %d", name, n, MAX_CONFIG);
    else if (read_config(m, config, n, err) != 0)
        tf_context(err, "%s", name);
    else
        rc = 0;
    free(own);
    return rc;
}

/* --vocab in place of the file's own. */
static int replace_vocab(struct tf_conversion *m, const char *path, struct tf_err *err)
{
    const struct tf_piece_list none = {0};
    if (read_segmenter(m, &m->vocab_buf, path, &none, NULL, err) != 0)
        return -1;
    m->vocab = (const uint8_t *)m->vocab_buf.p;
    m->vocab_n = m->vocab_buf.len;
    return 0;
}

/* ---- any of them ---- */

static int refuse_options(const char *name, const struct tf_convert_opts *o, struct tf_err *err)
{
    if (o->pieces != NULL || o->vocab_target != NULL)
        return tf_fail_status(err, TF_USAGE, "--%s: %s has ids of its own",
                              o->pieces != NULL ? "pieces" : "vocab-target", name);
    if (o->config != NULL)
        return tf_fail_status(err, TF_USAGE, "--config: %s has its own", name);
    return 0;
}

/* Find the format, through gzip. */
static int detect(struct tf_conversion *m, struct tf_in *in, bool *cut, struct tf_err *err)
{
    ssize_t n;
    if (tf_in_refuse_terminal(in, "a model", err) < 0 || (n = tf_in_fill(in, FIRST_N, err)) < 0)
        return -1;
    if (tf_is_gzip(in->buf + in->pos, (size_t)n) &&
        (tf_gunzip(in, err) != 0 || (n = tf_in_fill(in, FIRST_N, err)) < 0))
        return -1;
    m->from = format_of((const char *)in->buf + in->pos, (size_t)n);
    *cut = n < TF_LABEL_N;
    return m->from != TF_FORMAT_AUTO
               ? 0
               : tf_fail(err,
                         "%s: not a model of tf-tools, safetensors, npz, Marian or CTranslate2",
                         in->name);
}

/* config: config.json of a directory, or NULL. */
static int read_file(struct tf_conversion *m, struct tf_in *in, const char *config,
                     const struct tf_convert_opts *o, struct tf_err *err)
{
    const char *name = in->name;
    bool cut;
    if (detect(m, in, &cut, err) != 0)
        return -1;
    if (m->from == TF_FORMAT_TFM) {
        if ((!cut && refuse_options(name, o, err) != 0) || read_own(m, in, err) != 0)
            return -1;
    } else {
        if (read_bundle(m, in, err) != 0)
            return -1;
        if (m->from == TF_FORMAT_CT2_BIN)
            return read_ct2(m, name, config, o, err);
        if (config != NULL)
            return read_hf(m, name, config, o, err);
        if (tf_marian_is(&m->bundle))
            return read_marian(m, name, o, err);
        if (read_plain(m, name, o, err) != 0)
            return -1;
    }
    if (o->vocab != NULL && replace_vocab(m, o->vocab, err) != 0)
        return -1;
    if (m->vocab == NULL || (m->from == TF_FORMAT_TFM && o->vocab == NULL))
        return 0;
    return check_vocab(m, o->vocab != NULL ? o->vocab : name, o->config != NULL ? o->config : name,
                       err);
}

/* Options that a directory answers, where the user did not. */
static int read_dir(struct tf_conversion *m, const char **input, const char **config,
                    struct tf_convert_opts *o, struct tf_err *err)
{
    struct tf_model_dir d;
    if (tf_model_dir_read(&d, &m->arena, *input, err) != 0)
        return -1;
    *input = d.weights;
    *config = d.config;
    if (o->pieces == NULL && (o->vocab == NULL || d.needs_pieces)) {
        o->pieces = d.pieces;
        o->pieces_target = d.pieces_target;
    }
    if (o->vocab != NULL) /* then all of it is the user's */
        return 0;
    o->vocab = d.vocab;
    o->vocab_target = d.vocab_target;
    return 0;
}

int tf_conversion_read(struct tf_conversion *m, const char **input,
                       const struct tf_convert_opts *opts, struct tf_err *err)
{
    struct tf_convert_opts o = *opts;
    const char *config = NULL;
    struct stat st;
    struct tf_in in;
    if (strcmp(*input, "-") != 0 && stat(*input, &st) == 0 && S_ISDIR(st.st_mode) &&
        read_dir(m, input, &config, &o, err) != 0)
        return -1;
    if (tf_in_open(&in, *input, err) < 0)
        return -1;
    const int rc = read_file(m, &in, config, &o, err);
    *input = tf_arena_strndup(&m->arena, in.name, strlen(in.name));
    tf_in_close(&in);
    return rc;
}
