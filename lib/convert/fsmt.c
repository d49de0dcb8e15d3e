/* fsmt.c - see fsmt_private.h. */
#include "convert/fsmt_private.h"
#include "cbor/json.h"
#include "convert/fairseq_private.h"
#include "convert/hf_dir_private.h"
#include "convert/hf_search_private.h"
#include "convert/hf_settings_private.h"
#include "convert/positions_private.h"
#include "convert/segmenters_private.h"
#include "text/bpe_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- config.json ---- */

struct fsmt {
    struct tf_hf_settings s;
    int64_t source, target; /* sizes of vocabularies */
    bool shared;            /* one matrix is embeddings and projection */
};

static int read_fsmt_flags(struct fsmt *f, struct tf_err *err)
{
    const char *type = tf_hf_type(f->s.m);
    if (strcmp(type, "fsmt") != 0)
        return tf_fail(err, "model_type: %s: with vocab-src.json it has to be fsmt", type);
    return tf_hf_require_flag(&f->s, "scale_embedding", true, err) != 0 ||
                   tf_hf_activation(&f->s, err) != 0 || tf_hf_dropout(&f->s, err) != 0 ||
                   tf_value_bool_of(&f->s.json, "tie_word_embeddings", &f->shared, err) < 0
               ? -1
               : 0;
}

/* The decoder starts with eos, and positions count from the one after pad. */
static int read_fsmt_ids(struct fsmt *f, struct tf_err *err)
{
    struct tf_config *c = &f->s.m->config;
    int64_t start;
    char value[32];
    if (tf_hf_number(&f->s, "src_vocab_size", TF_HF_MOST_IDS, &f->source, err) != 0 ||
        tf_hf_number(&f->s, "tgt_vocab_size", TF_HF_MOST_IDS, &f->target, err) != 0 ||
        tf_hf_ids(&f->s, &start, err) != 0)
        return -1;
    tf_hf_start_with_eos(&f->s, start);
    snprintf(value, sizeof value, "%" PRId64, c->pad);
    if (c->pad > 1) /* positions count from 2 at most */
        tf_hf_refuse(&f->s, "pad_token_id", value);
    c->position_offset = c->pad + 1;
    return 0;
}

/* "langs": ["en", "ru"] */
static void read_langs(struct tf_import *m, const struct fsmt *f)
{
    const struct tf_value *list = tf_value_find(&f->s.json, "langs", TF_ARRAY);
    if (list != NULL && list->n == 2 && list->items[0].kind == TF_TEXT &&
        list->items[1].kind == TF_TEXT)
        (void)(tf_lang_set(m->header.lang, list->items[0].text) &&
               tf_lang_set(m->header.target_lang, list->items[1].text));
}

static int read_fsmt_settings(struct tf_import *m, struct fsmt *f, struct tf_err *err)
{
    if (tf_hf_settings_read(&f->s, m, err) != 0 || read_fsmt_flags(f, err) != 0 ||
        tf_hf_shape(&f->s, err) != 0 || read_fsmt_ids(f, err) != 0 ||
        tf_import_refused(m, err) != 0 || tf_names_heads(m, "d_model", err) != 0)
        return tf_context(err, "config.json");
    read_langs(m, f);
    return 0;
}

/* ---- tensors ---- */

/* The names of fairseq. A safetensors file has one of the two of the decoder's matrix. */
static void rename_tensors(struct tf_bundle *b)
{
    static const char model[] = "model.", table[] = "decoder.embed_tokens.weight";
    for (size_t i = 0; i < b->n; i++)
        if (strncmp(b->tensors[i].name, model, sizeof model - 1) == 0)
            b->tensors[i].name += sizeof model - 1;
    struct tf_tensor *project = tf_bundle_find(b, "decoder.output_projection.weight");
    if (project != NULL && tf_bundle_find(b, table) == NULL)
        project->name = table;
}

int tf_fsmt_import(struct tf_import *m, struct tf_err *err)
{
    const struct tf_config *c = &m->config;
    const struct tf_bundle *b = &m->bundle;
    struct fsmt f = {.source = 0};
    if (read_fsmt_settings(m, &f, err) != 0)
        return -1;
    rename_tensors(&m->bundle);
    if (tf_positions_check(c, tf_bundle_find(b, "encoder.embed_positions.weight"), err) != 0 ||
        tf_positions_check(c, tf_bundle_find(b, "decoder.embed_positions.weight"), err) != 0 ||
        tf_fairseq_parameters(m, f.shared, err) != 0)
        return -1;
    if (f.source == tf_config_source_ids(c) && f.target == c->vocab_size)
        return 0;
    return tf_fail(err,
                   "config.json: src_vocab_size %" PRId64 ", tgt_vocab_size %" PRId64
                   ", and %" PRId64 " and %" PRId64 " embeddings",
                   f.source, f.target, tf_config_source_ids(c), c->vocab_size);
}

/* ---- vocabularies ---- */

/* A tokenizer that makes text lower case is refused. */
static int check_tokenizer(const struct tf_import *m, struct tf_err *err)
{
    bool lower = false;
    if (tf_value_bool_of(&m->tokenizer, "do_lower_case", &lower, err) < 0 ||
        (lower && tf_fail(err, "settings that are not supported: do_lower_case: true") != 0))
        return tf_context(err, "%s", tf_dir_path(m->dir, "tokenizer_config.json"));
    return 0;
}

static int check_pieces(const struct tf_import *m, int side, int64_t size, struct tf_err *err)
{
    const size_t n = m->pieces[side].n;
    return n == (uint64_t)size ? 0
                               : tf_fail(err, "%s: %zu pieces, and %lld embeddings",
                                         m->files.pieces[side], n, (long long)size);
}

static int read_vocabularies(struct tf_import *m, struct tf_err *err)
{
    const struct tf_config *c = &m->config;
    if (tf_import_pieces(m, err) != 0 || check_pieces(m, 0, tf_config_source_ids(c), err) != 0 ||
        check_pieces(m, 1, c->vocab_size, err) != 0 ||
        tf_bpe_file_read(&m->codes, m->arena, m->files.codes, true, err) != 0 ||
        tf_import_one_list(m, m->name, "vocabularies", err) != 0)
        return -1;
    m->vocab_name = m->files.pieces[0];
    m->header.special.unk = tf_piece_list_id(&m->pieces[1], "<unk>");
    return tf_import_segmenters(m, err);
}

/* ---- all of it ---- */

static bool claims_fsmt_dir(const struct tf_import *m)
{
    const struct tf_dir *d = m->dir;
    return tf_dir_has(d, "config.json") != NULL &&
           (strcmp(tf_hf_type(m), "fsmt") == 0 || tf_dir_has(d, "vocab-src.json") != NULL ||
            tf_dir_has(d, "vocab-tgt.json") != NULL);
}

static int find_fsmt_files(struct tf_import *m, struct tf_err *err)
{
    static const char class[] = "FSMTTokenizer";
    struct tf_model_files *f = &m->files;
    return tf_hf_find_weights(m, err) != 0 ||
                   tf_dir_require(m->dir, &f->pieces[0], "vocab-src.json", class, err) != 0 ||
                   tf_dir_require(m->dir, &f->pieces[1], "vocab-tgt.json", class, err) != 0
               ? -1
               : tf_dir_require(m->dir, &f->codes, "merges.txt", class, err);
}

static int read_fsmt(struct tf_import *m, struct tf_err *err)
{
    if (m->opts->vocab != NULL)
        return tf_fail_status(err, TF_USAGE, "--vocab: %s has vocabularies of its own", m->name);
    if (tf_fsmt_import(m, err) != 0)
        return tf_context(err, "%s", m->name);
    return check_tokenizer(m, err) != 0 ? -1 : read_vocabularies(m, err);
}

const struct tf_program tf_fsmt = {
    .name = "FSMT",
    .claims_dir = claims_fsmt_dir,
    .find_files = find_fsmt_files,
    .read = read_fsmt,
    .search = tf_search_of_transformers,
    .needs_pieces = true,
};
