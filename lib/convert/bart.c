/* bart.c - see bart_private.h. */
#include "convert/bart_private.h"
#include "base/json.h"
#include "convert/foreign_private.h"
#include "convert/hf_dir_private.h"
#include "convert/hf_private.h"
#include "convert/hf_search_private.h"
#include "convert/hf_settings_private.h"
#include "convert/positions_private.h"
#include "convert/segmenters_private.h"
#include "exchange/safetensors.h"
#include "text/sp_check.h"
#include "text/sp_json.h"
#include "text/sp_renumber.h"
#include "text/tags.h"

#include <string.h>

static const char *const tables[] = {"model.encoder.embed_positions.weight",
                                     "model.decoder.embed_positions.weight"};

/* ---- reading ---- */

static int read_bart_settings(struct tf_hf_settings *s, struct tf_err *err)
{
    struct tf_config *c = &s->m->config;
    bool scale = false;
    int64_t start;
    if (tf_value_bool_of(&s->json, "scale_embedding", &scale, err) < 0 ||
        tf_hf_require_flag(s, "tie_word_embeddings", true, err) != 0 ||
        tf_hf_common(s, &start, err) != 0)
        return -1;
    tf_hf_start_with_eos(s, start);
    c->unscaled_embeddings = !scale;
    c->embedding_norm = true;
    c->pre_norm = c->final_norm = s->m->program == &tf_mbart;
    return tf_import_refused(s->m, err);
}

static int import_bart(struct tf_import *m, struct tf_err *err)
{
    struct tf_hf_settings s;
    if (tf_hf_settings_read(&s, m, err) != 0 || read_bart_settings(&s, err) != 0)
        return tf_context(err, "config.json");
    if (tf_positions_learned(m, tables, err) != 0)
        return -1;
    m->config.output_bias = tf_hf_has_output_bias(m);
    return tf_hf_import_tensors(m, err);
}

static int read_mbart(struct tf_import *m, struct tf_err *err)
{
    return tf_hf_read_m2m(m, import_bart, err);
}

/* Pieces of bytes are no pieces of text: of the list only the id of <unk> is of use. */
static int read_bart(struct tf_import *m, struct tf_err *err)
{
    if (import_bart(m, err) != 0 || tf_import_pieces(m, err) != 0)
        return tf_context(err, "%s", m->name);
    m->vocab_name = m->files.vocab[0];
    if (m->files.vocab[0] == NULL) {
        const int64_t unk = tf_piece_list_id(&m->pieces[0], "<unk>");
        m->header.special.unk = unk;
        return unk < m->config.vocab_size
                   ? 0
                   : tf_fail(err, "%s: <unk> is %lld, and there are %lld embeddings",
                             m->files.pieces[0], (long long)unk, (long long)m->config.vocab_size);
    }
    if (tf_import_segmenters(m, err) != 0)
        return -1;
    m->header.special.unk = tf_sp_id(m->segmenter[0].p, m->segmenter[0].len, "<unk>");
    return 0;
}

static int find_bart_files(struct tf_import *m, struct tf_err *err)
{
    m->files.pieces[0] = tf_dir_has(m->dir, "vocab.json");
    return tf_hf_find_weights(m, err);
}

/* ---- writing ---- */

static const struct tf_export_member bart_has[] = {
    {"activation", "relu|swish|gelu", NULL},
    {"decoder_self", "attention", ", a recurrent decoder (but --to marian)"},
    {"embedding_norm", "true", NULL},
    {"source_vocab_size", "0", NULL},
    {"source_eos", "true", NULL},
    {"positions", "learned", NULL},
    {"start", "bos", NULL},
    {"tie", "all", NULL},
    {"norm_eps", "1e-5", NULL},
    {NULL, NULL, NULL},
};

static size_t count_tags(const struct tf_piece_list *list, size_t from)
{
    size_t n = 0;
    while (from + n < list->n && tf_is_tag(list->v[from + n]))
        n++;
    return n;
}

/* Refuse a list that MBart50Tokenizer would number otherwise: it has four special pieces, those of
 * the segmenter, its own tags and <mask>. */
static void refuse_bart_pieces(struct tf_export *e)
{
    enum { TAGS_OF_MBART_50 = 52 };
    static const char *const first[] = {"<s>", "<pad>", "</s>", "<unk>"};
    const struct tf_piece_list *own = &e->pieces[0];
    size_t i = 0;
    while (i < own->n && i < 4 && strcmp(own->v[i], first[i]) == 0)
        i++;
    const bool special = i == 4;
    while (i < own->n && !tf_is_tag(own->v[i]))
        i++;
    const size_t tags = count_tags(own, i);
    i += tags;
    i += i < own->n && strcmp(own->v[i], "<mask>") == 0;
    if (!special || tags != TAGS_OF_MBART_50 || i != own->n || e->n_added > 0 ||
        !e->config.pre_norm)
        tf_export_refuse(e, "a vocabulary other than mBART-50's");
}

static void refuse_bart_cases(struct tf_export *e)
{
    const struct tf_config *c = &e->config;
    if (c->pre_norm != c->final_norm)
        tf_export_refuse(e, "final_norm other than pre_norm in BART");
    if (c->bos != c->eos || c->pad < 0)
        tf_export_refuse(e, "BART without padding, or whose decoder does not start with eos");
    if (e->segmenter->p != NULL)
        refuse_bart_pieces(e);
}

static bool fits_bart(const struct tf_config *c)
{
    return c->embedding_norm && c->positions == TF_POS_LEARNED && c->start == TF_START_BOS &&
           c->tie == TF_TIE_ALL;
}

/* The rows of no position, which are not read. */
static void add_rows(struct tf_bundle *b)
{
    for (int i = 0; i < 2; i++)
        tf_tensor_add_rows(tf_bundle_find(b, tables[i]), TF_NO_POSITION, 0, &b->arena);
}

enum { TAGS, TOKENIZER, CONFIG, JSON };

static void put_bart_config(struct tf_export *e)
{
    const struct tf_config *c = &e->config;
    struct tf_json j = {.out = &e->text[CONFIG]};
    tf_json_open(&j, '{');
    if (c->pre_norm)
        tf_hf_put_sizes(&j, c, "mbart", "MBartForConditionalGeneration", c->vocab_size);
    else
        tf_hf_put_sizes(&j, c, "bart", "BartForConditionalGeneration", c->vocab_size);
    tf_json_put_bool(&j, "scale_embedding", !c->unscaled_embeddings);
    tf_json_put_bool(&j, "tie_word_embeddings", true);
    tf_hf_put_dropout(&j, c);
    tf_json_put_int(&j, "pad_token_id", c->pad);
    tf_json_put_int(&j, "eos_token_id", c->eos);
    tf_json_put_int(&j, "forced_eos_token_id", c->eos);
    tf_json_put_int(&j, "decoder_start_token_id", c->eos);
    tf_hf_put_generation(&j, e, c->pad);
    tf_json_close(&j, '}');
}

/* The tokenizer of mBART-50 has ids of its own for the special pieces, and adds 1 to the others of
 * the SentencePiece model; then come the tags, and <mask>. tokenizer.json, which is read in place
 * of that model, where text is not cut as transformers 4 cuts it by such a model. */
static void put_bart_pieces(struct tf_export *e)
{
    enum { FIRST = 4, SPECIAL = 3 };
    const struct tf_piece_list *own = &e->pieces[0];
    const struct tf_sp_side side = {.target = false};
    const char **v = tf_arena_alloc(&e->theirs.arena, (own->n + 1) * sizeof *v);
    struct tf_err err = {0};
    size_t n = 0, i = FIRST;
    v[n++] = "<unk>";
    v[n++] = "<s>";
    v[n++] = "</s>";
    while (i < own->n && !tf_is_tag(own->v[i]))
        v[n++] = own->v[i++];
    const struct tf_piece_list list = {v, n};
    if (tf_sp_renumber(&e->one_segmenter, e->segmenter->p, e->segmenter->len, &list, NULL, &side,
                       &err) != 0)
        tf_export_refuse(e, err.msg);
    if (tf_sp_ends(e->segmenter->p, e->segmenter->len)) {
        if (tf_sp_put_json(&e->text[JSON], e->segmenter->p, e->segmenter->len, own, &err) != 0)
            tf_export_refuse(e, err.msg);
        e->has_tokenizer = true;
    } else {
        struct tf_json j = {.out = &e->text[TAGS]};
        tf_json_open(&j, '{');
        tf_json_key(&j, "additional_special_tokens");
        tf_json_strs(&j, own->v + i, count_tags(own, i));
        tf_json_close(&j, '}');
    }
    struct tf_json t = {.out = &e->text[TOKENIZER]};
    tf_json_open(&t, '{');
    tf_json_put_str(&t, "tokenizer_class", "MBart50Tokenizer");
    tf_json_close(&t, '}');
}

static void convert_to_bart(struct tf_export *e)
{
    struct tf_bundle *b = &e->theirs;
    const struct tf_names f = tf_hf_names(&e->config);
    tf_names_export(&f, e, 0);
    add_rows(b);
    tf_hf_reshape_bias(b);
    b->format = "pt";
    put_bart_config(e);
    if (e->segmenter->p != NULL)
        put_bart_pieces(e);
}

static const struct tf_export_format bart_format = {
    .format = TF_FORMAT_HF,
    .fits = fits_bart,
    .program = "transformers",
    .has = bart_has,
    .has_any = "pre_norm|final_norm|unscaled_embeddings|max_positions|position_table",
    .output_bias = true,
    .without_vocab = true,
    .check = refuse_bart_cases,
    .convert = convert_to_bart,
    .write_weights = tf_safetensors_write,
    .weights = "model.safetensors",
    .segmenter = {"sentencepiece.bpe.model"},
    .text = {[TAGS] = "special_tokens_map.json",
             [TOKENIZER] = "tokenizer_config.json",
             [CONFIG] = "config.json",
             [JSON] = "tokenizer.json"},
};

const struct tf_program tf_bart = {
    .name = "BART",
    .model_type = "bart",
    .find_files = find_bart_files,
    .read = read_bart,
    .search = tf_search_of_transformers,
};

const struct tf_program tf_mbart = {
    .name = "mBART",
    .model_type = "mbart",
    .find_files = tf_hf_find_m2m_files,
    .read = read_mbart,
    .search = tf_search_of_m2m100,
    .needs_pieces = true,
    .writes = &bart_format,
};
