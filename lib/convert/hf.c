/* hf.c - see hf_private.h. */
#include "convert/hf_private.h"
#include "base/json.h"
#include "cbor/json.h"
#include "convert/added_tokens_private.h"
#include "convert/fairseq_private.h"
#include "convert/foreign_private.h"
#include "convert/hf_dir_private.h"
#include "convert/hf_scale_private.h"
#include "convert/hf_search_private.h"
#include "convert/hf_settings_private.h"
#include "convert/hf_vocab_private.h"
#include "convert/positions_private.h"
#include "convert/segmenters_private.h"
#include "exchange/safetensors.h"
#include "text/sp_check.h"
#include "text/sp_json.h"
#include "text/sp_piece.h"
#include "text/vocab_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors ---- */

#define POSITIONS(stack) "model." stack ".embed_positions.weight"
#define MODEL_NAMES \
    {"dec.project.b", "final_logits_bias"}, TF_FAIRSEQ_STACKS("model."), {NULL, NULL}

static const struct tf_names_row model_names[] = {
    {"embed", "model.shared.weight model.encoder.embed_tokens.weight "
              "model.decoder.embed_tokens.weight lm_head.weight"},
    {"enc.embed", "model.encoder.embed_tokens.weight"},
    {"dec.embed", "model.decoder.embed_tokens.weight lm_head.weight"},
    MODEL_NAMES,
};

/* Names where tie_word_embeddings is false. */
static const struct tf_names_row untied_names[] = {
    {"enc.embed", "model.encoder.embed_tokens.weight"},
    {"dec.embed", "model.decoder.embed_tokens.weight"},
    {"dec.project", "lm_head.weight"},
    MODEL_NAMES,
};

/* A bias of zeros is none. */
static bool is_computed(const char *name)
{
    static const char *const computed[] = {
        "final_logits_bias", POSITIONS("encoder"), POSITIONS("decoder"),
        POSITIONS("encoder") "s", POSITIONS("decoder") "s" /* of M2M100 */
    };
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
        if (strcmp(name, computed[i]) == 0)
            return true;
    return false;
}

struct tf_names tf_hf_names(const struct tf_config *c)
{
    return (struct tf_names){.layers = tf_fairseq_layers,
                             .model = c->tie == TF_TIE_NONE ? untied_names : model_names,
                             .layer = {"model.encoder.layers.", "model.decoder.layers."},
                             .after = ".",
                             .transposed = true,
                             .is_extra = is_computed};
}

int tf_hf_import_tensors(struct tf_import *m, struct tf_err *err)
{
    const struct tf_names f = tf_hf_names(&m->config);
    return tf_config_check(&m->config, err) != 0 ? -1 : tf_names_import(&f, m, err);
}

/* ---- MarianMT: config.json ---- */

static int read_flags(struct tf_hf_settings *s, struct tf_err *err)
{
    bool share = false, tied = false;
    if (tf_hf_require_flag(s, "scale_embedding", true, err) != 0 ||
        tf_hf_require_flag(s, "normalize_before", false, err) != 0 ||
        tf_hf_require_flag(s, "normalize_embedding", false, err) != 0 ||
        tf_hf_require_flag(s, "add_final_layer_norm", false, err) != 0 ||
        tf_hf_require_flag(s, "static_position_embeddings", true, err) != 0 ||
        tf_value_bool_of(&s->json, "share_encoder_decoder_embeddings", &share, err) < 0 ||
        tf_value_bool_of(&s->json, "tie_word_embeddings", &tied, err) < 0)
        return -1;
    s->m->config.tie = !tied ? TF_TIE_NONE : share ? TF_TIE_ALL : TF_TIE_DECODER;
    if (!tied && share)
        tf_hf_refuse(s, "tie_word_embeddings", "false with shared embeddings");
    if (share && s->m->files.pieces[1] != NULL)
        tf_hf_refuse(s, "share_encoder_decoder_embeddings", "true with separate vocabularies");
    return 0;
}

static int read_scale(struct tf_hf_settings *s, double *scale, struct tf_err *err)
{
    int exponent;
    if (tf_value_real_of(&s->json, "residual_scale", 1 / TF_HF_MOST_SCALE, TF_HF_MOST_SCALE, scale,
                         err) < 0)
        return -1;
    return frexp(*scale, &exponent) == 0.5
               ? 0
               : tf_fail(err, "residual_scale: %g: not a power of two", *scale);
}

static int read_marian_mt_settings(struct tf_hf_settings *s, double *scale, struct tf_err *err)
{
    int64_t start;
    if (read_flags(s, err) != 0 || tf_hf_common(s, &start, err) != 0 ||
        read_scale(s, scale, err) != 0)
        return -1;
    if (start != s->m->config.pad)
        tf_hf_refuse(s, "decoder_start_token_id", "another than pad_token_id");
    return tf_import_refused(s->m, err);
}

/* ---- the padding id ---- */

static const char *const vocab_tensors[] = {
    "model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight",
    "lm_head.weight", "final_logits_bias"};
enum { VOCAB_TENSORS = sizeof vocab_tensors / sizeof *vocab_tensors };

/* Is the last row of every embedding zero? */
static bool pad_is_zero(const struct tf_import *m)
{
    for (int i = 0; i < VOCAB_TENSORS - 1; i++) {
        const struct tf_tensor *t = tf_bundle_find(&m->bundle, vocab_tensors[i]);
        if (t == NULL || t->rank != 2 || t->dims[0] != (uint64_t)m->config.vocab_size)
            continue;
        const size_t row = t->bytes / t->dims[0];
        const char *last = (const char *)t->data + t->bytes - row;
        for (size_t k = 0; k < row; k++)
            if (last[k] != 0)
                return false;
    }
    return true;
}

/* Without the last id: rows of embeddings, the last column of the bias. */
static void drop_pad(struct tf_import *m)
{
    for (int i = 0; i < VOCAB_TENSORS; i++) {
        struct tf_tensor *t = tf_bundle_find(&m->bundle, vocab_tensors[i]);
        const int dim = i == VOCAB_TENSORS - 1;
        if (t == NULL || t->rank != 2 || t->dims[dim] != (uint64_t)m->config.vocab_size ||
            (dim == 1 && t->dims[0] != 1))
            continue; /* of another shape: an error later */
        t->bytes -= t->bytes / t->dims[dim];
        t->dims[dim]--;
    }
    if (m->config.source_vocab_size == m->config.vocab_size)
        m->config.source_vocab_size--;
    m->config.vocab_size--;
}

static void choose_start(struct tf_import *m)
{
    struct tf_config *c = &m->config;
    c->bos = c->pad;
    if (c->pad != c->vocab_size - 1 || c->vocab_size <= 1 || !pad_is_zero(m))
        return;
    drop_pad(m);
    c->start = TF_START_ZERO;
    c->bos = c->pad = -1;
}

/* ---- MarianMT: positions, which are usually not in the file, and all of it ---- */

static int read_positions(struct tf_import *m, struct tf_err *err)
{
    const struct tf_tensor *encoder = tf_bundle_find(&m->bundle, POSITIONS("encoder")),
                           *decoder = tf_bundle_find(&m->bundle, POSITIONS("decoder"));
    return encoder != NULL || decoder != NULL ? tf_positions_recognise(m, encoder, decoder, err)
                                              : tf_positions_missing(m, err);
}

bool tf_hf_has_output_bias(const struct tf_import *m)
{
    const struct tf_tensor *t = tf_bundle_find(&m->bundle, "final_logits_bias");
    for (size_t i = 0; t != NULL && i < t->bytes; i++)
        if (((const char *)t->data)[i] != 0)
            return true;
    return t == NULL; /* an error later */
}

static int import_marian_mt(struct tf_import *m, struct tf_err *err)
{
    struct tf_hf_settings s;
    struct tf_params p;
    double scale = 1;
    if (tf_hf_settings_read(&s, m, err) != 0 || read_marian_mt_settings(&s, &scale, err) != 0)
        return tf_context(err, "config.json");
    choose_start(m);
    m->config.output_bias = tf_hf_has_output_bias(m);
    if (read_positions(m, err) != 0 ||
        tf_value_real_of(&s.json, "norm_eps", 0, 1, &m->config.norm_eps, err) < 0 ||
        tf_hf_import_tensors(m, err) != 0)
        return -1;
    tf_params_init(&p, &m->config);
    const int rc =
        tf_hf_scale(m->bundle.tensors, &p, &m->config, 1 / scale, &m->bundle.arena, err);
    tf_params_release(&p);
    return rc;
}

/* The lists may have one piece more, for the padding id which the model has not. */
static int read_marian_mt_vocab(struct tf_import *m, struct tf_err *err)
{
    const int64_t size[2] = {tf_config_source_ids(&m->config), m->config.vocab_size};
    struct tf_piece_list *list = m->pieces;
    const bool two = m->config.source_vocab_size > 0;
    if (tf_import_pieces(m, err) != 0)
        return -1;
    for (int i = 0; i < 1 + two; i++)
        if (list[i].n == (size_t)size[i] + 1)
            list[i].n--;
    if (list[0].n > 0 && tf_added_tokens_read(m, err) != 0)
        return -1;
    if (two && m->added != NULL)
        return tf_fail(err, "added tokens are not supported with separate vocabularies");
    if (!two)
        list[1] = list[0];
    return tf_import_segmenters(m, err);
}

static int read_marian_mt(struct tf_import *m, struct tf_err *err)
{
    struct tf_config *c = &m->config;
    if (import_marian_mt(m, err) != 0 || read_marian_mt_vocab(m, err) != 0)
        return tf_context(err, "%s", m->name);
    const struct tf_buf *vocab = &m->segmenter[c->source_vocab_size > 0 && m->segmenter[1].len > 0];
    m->vocab_name = m->files.vocab[0];
    m->header.special.unk = tf_sp_id(vocab->p, vocab->len, "<unk>");
    if (c->start == TF_START_ZERO) /* pieces of these names may be there, as in Marian */
        c->bos = tf_sp_id(vocab->p, vocab->len, "<s>");
    c->pad = tf_sp_id(vocab->p, vocab->len, "<pad>");
    return 0;
}

static bool claims_marian_mt_dir(const struct tf_import *m)
{
    return tf_dir_has(m->dir, "config.json") != NULL; /* other types are errors later */
}

/* A setting of the tokenizer, which is false where it is not there. */
static int read_tokenizer_flag(const struct tf_import *m, const char *key, bool *to,
                               struct tf_err *err)
{
    *to = false;
    return tf_value_bool_of(&m->tokenizer, key, to, err) < 0
               ? tf_context(err, "%s", tf_dir_path(m->dir, "tokenizer_config.json"))
               : 0;
}

/* Only where its settings say so does the tokenizer read a list of the targets' own. */
static int find_target_pieces(struct tf_import *m, const char *class, struct tf_err *err)
{
    bool separate;
    if (read_tokenizer_flag(m, "separate_vocabs", &separate, err) != 0)
        return -1;
    return separate ? tf_dir_require(m->dir, &m->files.pieces[1], "target_vocab.json", class, err)
                    : 0;
}

static int find_marian_mt_files(struct tf_import *m, struct tf_err *err)
{
    static const char class[] = "MarianTokenizer";
    struct tf_model_files *f = &m->files;
    if (tf_hf_find_weights(m, err) != 0 ||
        tf_dir_require(m->dir, &f->vocab[0], "source.spm", class, err) != 0 ||
        tf_dir_require(m->dir, &f->vocab[1], "target.spm", class, err) != 0 ||
        tf_dir_require(m->dir, &f->pieces[0], "vocab.json", class, err) != 0)
        return -1;
    return find_target_pieces(m, class, err);
}

/* ---- M2M100 and NLLB, as fairseq trained them ---- */

static int read_m2m100_settings(struct tf_hf_settings *s, struct tf_err *err)
{
    struct tf_config *c = &s->m->config;
    int64_t start;
    if (tf_hf_require_flag(s, "scale_embedding", true, err) != 0 ||
        tf_hf_require_flag(s, "tie_word_embeddings", true, err) != 0 ||
        tf_hf_common(s, &start, err) != 0)
        return -1;
    tf_hf_start_with_eos(s, start);
    c->pre_norm = c->final_norm = true;
    c->position_offset = 2;
    return tf_import_refused(s->m, err);
}

static int import_m2m100(struct tf_import *m, struct tf_err *err)
{
    struct tf_hf_settings s;
    return tf_hf_settings_read(&s, m, err) != 0 || read_m2m100_settings(&s, err) != 0
               ? tf_context(err, "config.json")
               : tf_hf_import_tensors(m, err);
}

static int read_m2m_vocab(struct tf_import *m, struct tf_err *err)
{
    char *spm;
    size_t n;
    bool legacy;
    if (read_tokenizer_flag(m, "legacy_behaviour", &legacy, err) != 0)
        return -1;
    if (legacy)
        return tf_fail(err, "tokenizer_config.json: legacy_behaviour: true, by which the tag of "
                            "the language is at the end of a source, is not supported");
    if (m->opts->vocab_target != NULL)
        return tf_fail_status(err, TF_USAGE, "--vocab-target: %s has one list of pieces",
                              m->program->name);
    if (!m->own_pieces)
        return tf_fail_status(err, TF_USAGE, "--pieces: %s has a list of its own",
                              m->program->name);
    if (m->opts->positions != TF_STORED_AUTO)
        return tf_fail_status(err, TF_USAGE, "--positions: %s has one table of them",
                              m->program->name);
    if (m->files.tokenizer != NULL)
        return tf_import_tokenizer(m, err);
    if (tf_vocab_file_read(&spm, &n, NULL, m->files.vocab[0], false, err) != 0)
        return -1;
    const int rc = tf_hf_m2m_pieces(m, spm, n, err);
    free(spm);
    if (rc != 0 || tf_added_tokens_read(m, err) != 0)
        return -1;
    m->pieces[1] = m->pieces[0];
    return tf_import_segmenters(m, err);
}

int tf_hf_read_m2m(struct tf_import *m, tf_import_fn *import, struct tf_err *err)
{
    if (import(m, err) != 0 || read_m2m_vocab(m, err) != 0)
        return tf_context(err, "%s", m->name);
    m->vocab_name = m->files.tokenizer != NULL ? m->files.tokenizer : m->files.vocab[0];
    m->header.special.unk = tf_sp_id(m->segmenter[0].p, m->segmenter[0].len, "<unk>");
    return 0;
}

static int read_m2m100(struct tf_import *m, struct tf_err *err)
{
    return tf_hf_read_m2m(m, import_m2m100, err);
}

/* transformers 5 writes no SentencePiece model of NLLB's, and no special_tokens_map.json. Where
 * tokens were added to a tokenizer.json, text is cut as it says, also of transformers 4. */
int tf_hf_find_m2m_files(struct tf_import *m, struct tf_err *err)
{
    const struct tf_dir *d = m->dir;
    struct tf_model_files *f = &m->files;
    if (tf_hf_find_weights(m, err) != 0)
        return -1;
    f->pieces[0] = tf_dir_has(d, "vocab.json");
    f->vocab[0] = tf_dir_has(d, "sentencepiece.bpe.model");
    if ((tf_dir_has(d, "special_tokens_map.json") == NULL && f->pieces[0] == NULL) ||
        tf_dir_has(d, "added_tokens.json") != NULL || f->vocab[0] == NULL)
        f->tokenizer = tf_dir_has(d, "tokenizer.json");
    return f->tokenizer != NULL
               ? 0
               : tf_dir_require(d, &f->vocab[0], "sentencepiece.bpe.model",
                                "NllbTokenizer, M2M100Tokenizer or MBart50Tokenizer", err);
}

const struct tf_program tf_m2m100 = {
    .name = "M2M100",
    .model_type = "m2m_100",
    .find_files = tf_hf_find_m2m_files,
    .read = read_m2m100,
    .search = tf_search_of_m2m100,
    .needs_pieces = true,
    .has_positions = true,
};

/* ---- MarianMT: writing ---- */

static const struct tf_export_member marian_mt_has[] = {
    {"activation", "relu|swish|gelu", NULL},
    {"decoder_self", "attention", ", a recurrent decoder (but --to marian)"},
    {"final_norm", "false", NULL},
    {"source_vocab_size", "0", NULL},
    {"source_eos", "true", NULL},
    {"positions", "sin|learned", NULL},
    {"position_table", "paper|t2t|halves", NULL},
    {"start", "bos|zero", NULL},
    {NULL, NULL, NULL},
};

static void refuse_vocabularies(struct tf_export *e)
{
    if (strcmp(e->pieces[1].v[e->config.eos], "</s>") != 0 || e->unk < 0 ||
        strcmp(e->pieces[1].v[e->unk], "<unk>") != 0)
        tf_export_refuse(e, "vocabularies without <unk> and </s>");
    if (tf_sp_ends(e->segmenter->p, e->segmenter->len))
        tf_export_refuse(e, "spaces at the end of a text that are pieces, in MarianTokenizer");
}

static bool adds_pad(const struct tf_export *e)
{
    return e->config.start == TF_START_ZERO;
}

/* The token that pads. */
static const char *pad_of(const struct tf_export *e)
{
    if (!adds_pad(e))
        return e->pieces[1].v[e->config.bos];
    return tf_piece_list_id(&e->pieces[1], "<pad>") < 0 ? "<pad>" : "<start>";
}

/* One more row of an embedding, of zeros, or one more number of the bias. */
static void add_zeros(struct tf_tensor *t, struct tf_arena *a)
{
    enum { OUT = -10000 }; /* of the softmax; finite in half precision, too */
    const float out = OUT;
    const size_t before = t->bytes;
    struct tf_err err = {0};
    char *data = tf_tensor_add_rows(t, 0, 1, a);
    if (t->rank == 1 && tf_floats_as(data + before, t->dtype, &out, 1, &err) != 0)
        TF_BUG("%s", err.msg);
}

static void add_pad(struct tf_export *e)
{
    const struct tf_params *p = &e->params;
    const int rows[] = {p->project_b, p->enc.table, p->dec.table, p->project};
    for (int i = 0; i < 4; i++) {
        bool done = false;
        for (int k = 0; k < i; k++)
            done |= rows[k] == rows[i];
        if (!done)
            add_zeros(&e->ours[rows[i]], &e->theirs.arena);
    }
}

static void put_table(struct tf_export *e)
{
    struct tf_bundle *b = &e->theirs;
    if (e->config.positions != TF_POS_SIN)
        return;
    for (int i = 0; i < 2; i++) {
        b->tensors[b->n] = tf_positions_table(&e->config, TF_EXPORT_POSITIONS, &b->arena);
        b->tensors[b->n++].name = i == 0 ? POSITIONS("encoder") : POSITIONS("decoder");
    }
}

static void put_stack(struct tf_json *j, const struct tf_config *c, const char *stack,
                      int64_t layers)
{
    char key[64];
    snprintf(key, sizeof key, "%s_layers", stack);
    tf_json_put_int(j, key, layers);
    snprintf(key, sizeof key, "%s_attention_heads", stack);
    tf_json_put_int(j, key, c->heads);
    snprintf(key, sizeof key, "%s_ffn_dim", stack);
    tf_json_put_int(j, key, c->d_ff);
}

void tf_hf_put_sizes(struct tf_json *j, const struct tf_config *c, const char *type,
                     const char *class, int64_t vocab_size)
{
    tf_json_put_str(j, "model_type", type);
    tf_json_key(j, "architectures");
    tf_json_strs(j, &class, 1);
    tf_json_put_int(j, "d_model", c->d_model);
    put_stack(j, c, "encoder", c->encoder_layers);
    put_stack(j, c, "decoder", c->decoder_layers);
    tf_json_put_str(j, "activation_function", tf_activations[c->activation]);
    tf_json_put_int(j, "vocab_size", vocab_size);
    tf_json_put_int(j, "max_position_embeddings",
                    c->positions == TF_POS_LEARNED ? c->max_positions : TF_EXPORT_POSITIONS);
}

void tf_hf_put_dropout(struct tf_json *j, const struct tf_config *c)
{
    tf_json_put_real(j, "dropout", c->dropout);
    tf_json_put_real(j, "attention_dropout", c->attention_dropout);
    tf_json_put_real(j, "activation_dropout", c->relu_dropout);
}

enum { PIECES, TOKENIZER, CONFIG };

static void put_piece_ids(struct tf_export *e)
{
    const struct tf_piece_list *pieces = &e->pieces[1];
    const struct tf_sp_token *added = e->added;
    struct tf_json j = {.out = &e->text[PIECES]};
    tf_json_open(&j, '{');
    for (size_t i = 0; i < pieces->n; i++) {
        const bool is_added = added < e->added + e->n_added && added->id == (int64_t)i;
        tf_json_put_uint(&j, is_added ? added++->text : pieces->v[i], i);
    }
    if (adds_pad(e))
        tf_json_put_uint(&j, pad_of(e), pieces->n);
    tf_json_close(&j, '}');
    tf_buf_byte(j.out, '\n');
}

/* They are one piece wherever text has them. */
static void put_added(struct tf_json *j, const struct tf_export *e)
{
    if (e->n_added == 0)
        return;
    tf_json_put_open(j, "added_tokens_decoder", '{');
    for (size_t i = 0; i < e->n_added; i++) {
        char id[32];
        snprintf(id, sizeof id, "%" PRId64, e->added[i].id);
        tf_json_put_open(j, id, '{');
        tf_json_put_str(j, "content", e->added[i].text);
        const unsigned flags = e->added[i].flags;
        tf_json_put_bool(j, "lstrip", (flags & TF_ADDED_LSTRIP) != 0);
        tf_json_put_bool(j, "rstrip", (flags & TF_ADDED_RSTRIP) != 0);
        tf_json_put_bool(j, "single_word", (flags & (TF_ADDED_ALONE | TF_ADDED_WORD)) != 0);
        tf_json_close(j, '}');
    }
    tf_json_close(j, '}');
}

static void put_tokenizer(struct tf_export *e)
{
    struct tf_json j = {.out = &e->text[TOKENIZER]};
    tf_json_open(&j, '{');
    tf_json_put_str(&j, "tokenizer_class", "MarianTokenizer");
    tf_json_put_str(&j, "pad_token", pad_of(e));
    tf_json_put_str(&j, "unk_token", "<unk>");
    tf_json_put_str(&j, "eos_token", "</s>");
    tf_json_put_int(&j, "model_max_length", TF_EXPORT_POSITIONS);
    put_added(&j, e);
    tf_json_close(&j, '}');
}

/* The id of the piece with which outputs begin, perhaps after a space; -1: there is none. */
static int64_t find_first(const struct tf_export *e)
{
    const struct tf_value *text = tf_value_get(e->search, "begin");
    struct tf_buf spaced = {0};
    if (text == NULL)
        return -1;
    int64_t id = tf_piece_list_id(&e->pieces[1], text->text);
    tf_buf_printf(&spaced, TF_SPACE "%s", text->text);
    if (id < 0)
        id = tf_piece_list_id(&e->pieces[1], spaced.p);
    tf_buf_release(&spaced);
    return id;
}

/* The search of the model, as generate() has it. */
void tf_hf_put_generation(struct tf_json *j, const struct tf_export *e, int64_t pad)
{
    const struct tf_value *rule = tf_value_get(e->search, "search");
    const int64_t first = find_first(e);
    const bool allow_unk = tf_export_search(e, "allow-unk", 0) != 0,
               early = rule != NULL && (strcmp(rule->text, "fairseq") == 0 ||
                                        strcmp(rule->text, "ctranslate2") == 0);
    const double ngram = tf_export_search(e, "no-repeat-ngram", 0),
                 least = tf_export_search(e, "min-length", 0),
                 most = e->config.positions == TF_POS_LEARNED
                            ? fmin(TF_EXPORT_POSITIONS, (double)e->config.max_positions)
                            : TF_EXPORT_POSITIONS,
                 limit = tf_export_search(e, "max-extra", most) + 2; /* start and end */
    tf_json_put_int(j, "num_beams", (int64_t)tf_export_search(e, "beam", 4));
    tf_json_put_bool(j, "early_stopping", early);
    tf_json_put_real(j, "length_penalty", tf_export_search(e, "normalize", 1));
    tf_json_put_real(j, "repetition_penalty", tf_export_search(e, "repetition-penalty", 1));
    tf_json_put_int(j, "no_repeat_ngram_size", (int64_t)ngram);
    tf_json_put_int(j, "min_length", least > 0 ? (int64_t)least + 1 : 0);
    tf_json_put_int(
        j, "max_length",
        (int64_t)(tf_export_search(e, "max-factor", 1) > 0 || limit > most ? most : limit));
    if (first >= 0)
        tf_json_put_int(j, "forced_bos_token_id", first);
    const bool forbids_unk = !allow_unk && e->unk >= 0;
    if (pad == e->config.eos && !forbids_unk)
        return;
    tf_json_put_open(j, "bad_words_ids", '[');
    if (pad != e->config.eos)
        tf_json_ids(j, &(uint32_t){(uint32_t)pad}, 1);
    if (forbids_unk)
        tf_json_ids(j, &(uint32_t){(uint32_t)e->unk}, 1);
    tf_json_close(j, ']');
}

static void put_hf_config(struct tf_export *e, double scale)
{
    const struct tf_config *c = &e->config;
    const int64_t V = c->vocab_size, pad = adds_pad(e) ? V : c->bos;
    struct tf_json j = {.out = &e->text[CONFIG]};
    tf_json_open(&j, '{');
    tf_hf_put_sizes(&j, c, "marian", "MarianMTModel", V + adds_pad(e));
    tf_json_put_real(&j, "norm_eps", c->norm_eps);
    if (scale != 1)
        tf_json_put_real(&j, "residual_scale", scale);
    tf_positions_put(&j, c);
    tf_json_put_bool(&j, "scale_embedding", true);
    tf_json_put_bool(&j, "static_position_embeddings", true);
    tf_json_put_bool(&j, "share_encoder_decoder_embeddings", c->tie == TF_TIE_ALL);
    tf_json_put_bool(&j, "tie_word_embeddings", c->tie != TF_TIE_NONE);
    tf_hf_put_dropout(&j, c);
    tf_json_put_int(&j, "eos_token_id", c->eos);
    tf_json_put_int(&j, "forced_eos_token_id", c->eos);
    tf_json_put_int(&j, "pad_token_id", pad);
    tf_json_put_int(&j, "decoder_start_token_id", pad);
    tf_hf_put_generation(&j, e, pad);
    tf_json_close(&j, '}');
}

void tf_hf_reshape_bias(struct tf_bundle *b)
{
    struct tf_tensor *t = tf_bundle_find(b, "final_logits_bias");
    if (t == NULL)
        return;
    t->rank = 2;
    t->dims[1] = t->dims[0];
    t->dims[0] = 1;
}

static void convert_to_hf(struct tf_export *e)
{
    struct tf_bundle *b = &e->theirs;
    const struct tf_names f = tf_hf_names(&e->config);
    bool halves = false;
    for (size_t i = 0; i < e->params.n; i++)
        halves = halves || e->ours[i].dtype == TF_F16;
    const double scale = halves ? 1 : tf_hf_scale_for(&e->config);
    struct tf_err err = {0};
    if (adds_pad(e))
        add_pad(e);
    if (tf_hf_scale(e->ours, &e->params, &e->config, scale, &b->arena, &err) != 0)
        tf_export_refuse(e, err.msg);
    tf_names_export(&f, e, 2);
    tf_hf_reshape_bias(b);
    put_table(e);
    b->format = "pt";
    put_piece_ids(e);
    put_tokenizer(e);
    put_hf_config(e, scale);
}

static const struct tf_export_format marian_mt_format = {
    .format = TF_FORMAT_HF,
    .program = "transformers",
    .has = marian_mt_has,
    .has_any = "max_positions|position_offset|norm_eps",
    .output_bias = true,
    .ids_beside = true,
    .added_beside = true,
    .two_segmenters = true,
    .check = refuse_vocabularies,
    .convert = convert_to_hf,
    .write_weights = tf_safetensors_write,
    .weights = "model.safetensors",
    .segmenter = {"source.spm", "target.spm"},
    .text = {[PIECES] = "vocab.json",
             [TOKENIZER] = "tokenizer_config.json",
             [CONFIG] = "config.json"},
};

const struct tf_program tf_marian_mt = {
    .name = "MarianMT",
    .claims_dir = claims_marian_mt_dir,
    .find_files = find_marian_mt_files,
    .read = read_marian_mt,
    .search = tf_search_of_transformers,
    .has_positions = true,
    .writes = &marian_mt_format,
};
