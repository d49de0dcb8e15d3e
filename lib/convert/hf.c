/* hf.c - see hf_private.h. */
#include "base/json.h"
#include "convert/hf_private.h"
#include "convert/hf_scale_private.h"
#include "convert/hf_settings_private.h"
#include "convert/names_private.h"
#include "exchange/safetensors.h"
#include "text/sp_piece.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct import {
    struct tf_bundle *b;
    struct tf_hf_settings s;
    struct tf_config c;
    int64_t pad;    /* pad_token_id */
    double scale;   /* of the residual stream */
    bool tied;      /* the output projection is the decoder's embedding */
    bool m2m;       /* of M2M100, not of MarianMT */
    bool guessed;   /* which table of positions it has */
};

/* ---- config.json ---- */

static int read_flags(struct import *m, struct tf_err *err)
{
    bool share = false;
    if (tf_hf_require_flag(&m->s, "scale_embedding", true, err) != 0)
        return -1;
    m->tied = m->m2m;
    if (m->m2m)
        return tf_hf_require_flag(&m->s, "tie_word_embeddings", true, err);
    if (tf_hf_require_flag(&m->s, "normalize_before", false, err) != 0 ||
        tf_hf_require_flag(&m->s, "normalize_embedding", false, err) != 0 ||
        tf_hf_require_flag(&m->s, "add_final_layer_norm", false, err) != 0 ||
        tf_hf_require_flag(&m->s, "static_position_embeddings", true, err) != 0 ||
        tf_value_bool_of(&m->s.json, "share_encoder_decoder_embeddings", &share, err) < 0 ||
        tf_value_bool_of(&m->s.json, "tie_word_embeddings", &m->tied, err) < 0)
        return -1;
    m->c.tie = !m->tied ? TF_TIE_NONE : share ? TF_TIE_ALL : TF_TIE_DECODER;
    if (!m->tied && share)
        tf_hf_refuse(&m->s, "tie_word_embeddings", "false with shared embeddings");
    return 0;
}

static int read_sizes(struct import *m, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    int64_t start, other;
    if (tf_hf_number(&m->s, "encoder_layers", TF_MAX_LAYERS, &c->encoder_layers, err) != 0 ||
        tf_hf_number(&m->s, "decoder_layers", TF_MAX_LAYERS, &c->decoder_layers, err) != 0 ||
        tf_hf_number(&m->s, "d_model", TF_MAX_WIDTH, &c->d_model, err) != 0 ||
        tf_hf_both(&m->s, "ffn_dim", TF_MAX_WIDTH, &c->d_ff, err) != 0 ||
        tf_hf_both(&m->s, "attention_heads", 1024, &c->heads, err) != 0 ||
        tf_hf_number(&m->s, "vocab_size", 1 << 24, &c->vocab_size, err) != 0 ||
        tf_hf_number(&m->s, "eos_token_id", 1 << 24, &c->eos, err) != 0 ||
        tf_hf_number(&m->s, "pad_token_id", 1 << 24, &m->pad, err) != 0 ||
        tf_hf_number(&m->s, "decoder_start_token_id", 1 << 24, &start, err) != 0)
        return -1;
    other = c->vocab_size;
    if (!tf_hf_is_null(&m->s, "decoder_vocab_size") &&
        tf_hf_number(&m->s, "decoder_vocab_size", 1 << 24, &other, err) != 0)
        return -1;
    if (other != c->vocab_size)
        tf_hf_refuse(&m->s, "decoder_vocab_size", "another than vocab_size");
    if (start != (m->m2m ? c->eos : m->pad))
        tf_hf_refuse(&m->s, "decoder_start_token_id",
                     m->m2m ? "another than eos_token_id" : "another than pad_token_id");
    return tf_hf_head_width(c, err);
}

static int read_scale(struct import *m, struct tf_err *err)
{
    int exponent;
    m->scale = 1;
    if (m->m2m)
        return 0;
    if (tf_value_real_of(&m->s.json, "residual_scale", 1 / TF_HF_MOST_SCALE, TF_HF_MOST_SCALE,
                         &m->scale, err) < 0)
        return -1;
    return frexp(m->scale, &exponent) == 0.5
               ? 0
               : tf_fail(err, "residual_scale: %g: not a power of two", m->scale);
}

static int read_settings(struct import *m, struct tf_err *err)
{
    m->m2m = strcmp(m->s.type, "m2m_100") == 0;
    if (read_flags(m, err) != 0 || tf_hf_activation(&m->s, &m->c, err) != 0 ||
        read_sizes(m, err) != 0 || tf_hf_dropout(&m->s, &m->c, err) != 0 || read_scale(m, err) != 0)
        return -1;
    return tf_refused(&m->s.refused, err);
}

/* ---- the padding id ---- */

static const char *const of_vocab[] = {"model.shared.weight", "model.encoder.embed_tokens.weight",
                                       "model.decoder.embed_tokens.weight", "lm_head.weight",
                                       "final_logits_bias"};
enum { OF_VOCAB = sizeof of_vocab / sizeof *of_vocab };

/* Is the last row of every embedding zero? */
static bool pad_is_zero(const struct import *m)
{
    for (int i = 0; i < OF_VOCAB - 1; i++) {
        const struct tf_tensor *t = tf_bundle_find(m->b, of_vocab[i]);
        if (t == NULL || t->rank != 2 || t->dims[0] != (uint64_t)m->c.vocab_size)
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
static void drop_pad(struct import *m)
{
    for (int i = 0; i < OF_VOCAB; i++) {
        struct tf_tensor *t = tf_bundle_find(m->b, of_vocab[i]);
        const int dim = i == OF_VOCAB - 1;
        if (t == NULL || t->rank != 2 || t->dims[dim] != (uint64_t)m->c.vocab_size ||
            (dim == 1 && t->dims[0] != 1))
            continue; /* of another shape: an error later */
        t->bytes -= t->bytes / t->dims[dim];
        t->dims[dim]--;
    }
    m->c.vocab_size--;
}

/* M2M100 and NLLB: as fairseq trained them. */
static void choose_m2m(struct import *m)
{
    m->c.start = TF_START_BOS;
    m->c.bos = m->c.eos;
    m->c.pad = m->pad;
    m->c.pre_norm = m->c.final_norm = true;
    m->c.position_offset = 2;
}

static void choose_start(struct import *m)
{
    if (m->pad == m->c.vocab_size - 1 && m->c.vocab_size > 1 && pad_is_zero(m)) {
        drop_pad(m);
        m->c.start = TF_START_ZERO;
        m->c.bos = m->c.pad = -1;
    } else {
        m->c.start = TF_START_BOS;
        m->c.bos = m->c.pad = m->pad;
    }
}

/* ---- positions: usually not in the file ---- */

#define POSITIONS(stack) "model." stack ".embed_positions.weight"

static int read_eps_and_positions(struct import *m, enum tf_stored_positions positions,
                                  struct tf_err *err)
{
    const struct tf_tensor *encoder = tf_bundle_find(m->b, POSITIONS("encoder")),
                           *decoder = tf_bundle_find(m->b, POSITIONS("decoder"));
    if (tf_positions_asked(&positions, &m->s.json, err) != 0)
        return tf_context(err, "config.json");
    if (encoder != NULL || decoder != NULL) {
        if (tf_positions_recognise(&m->c, encoder, decoder, positions, &m->guessed, err) != 0)
            return -1;
    } else if (positions == TF_STORED_HALVES) {
        m->c.position_table = TF_TABLE_HALVES;
    } else {
        m->c.norm_eps = 1e-6;
        m->guessed = positions == TF_STORED_AUTO;
    }
    return tf_value_real_of(&m->s.json, "norm_eps", 0, 1, &m->c.norm_eps, err) < 0 ? -1 : 0;
}

static bool has_output_bias(const struct import *m)
{
    const struct tf_tensor *t = tf_bundle_find(m->b, "final_logits_bias");
    for (size_t i = 0; t != NULL && i < t->bytes; i++)
        if (((const char *)t->data)[i] != 0)
            return true;
    return t == NULL; /* an error later */
}

/* ---- tensors ---- */

#define LINEAR(ours, theirs) {ours ".w", theirs ".weight"}, {ours ".b", theirs ".bias"}
#define ATTENTION(ours, theirs) \
    LINEAR(ours ".o", theirs ".out_proj"), \
        {ours ".norm.g", theirs "_layer_norm.weight"}, {ours ".norm.b", theirs "_layer_norm.bias"}

static const struct tf_names_row of_layers[] = {
    {"self.qkv.w", "self_attn.q_proj.weight self_attn.k_proj.weight self_attn.v_proj.weight"},
    {"self.qkv.b", "self_attn.q_proj.bias self_attn.k_proj.bias self_attn.v_proj.bias"},
    ATTENTION("self", "self_attn"),
    LINEAR("cross.q", "encoder_attn.q_proj"),
    {"cross.kv.w", "encoder_attn.k_proj.weight encoder_attn.v_proj.weight"},
    {"cross.kv.b", "encoder_attn.k_proj.bias encoder_attn.v_proj.bias"},
    ATTENTION("cross", "encoder_attn"),
    LINEAR("ff.1", "fc1"),
    LINEAR("ff.2", "fc2"),
    {"ff.norm.g", "final_layer_norm.weight"},
    {"ff.norm.b", "final_layer_norm.bias"},
    {NULL, NULL},
};

#define OF_MODEL \
    {"dec.project.b", "final_logits_bias"}, {"enc.pos", POSITIONS("encoder")}, \
        {"dec.pos", POSITIONS("decoder")}, {"enc.norm.g", "model.encoder.layer_norm.weight"}, \
        {"enc.norm.b", "model.encoder.layer_norm.bias"}, \
        {"dec.norm.g", "model.decoder.layer_norm.weight"}, \
        {"dec.norm.b", "model.decoder.layer_norm.bias"}, {NULL, NULL}

static const struct tf_names_row of_model[] = {
    {"embed", "model.shared.weight model.encoder.embed_tokens.weight "
              "model.decoder.embed_tokens.weight lm_head.weight"},
    {"enc.embed", "model.encoder.embed_tokens.weight"},
    {"dec.embed", "model.decoder.embed_tokens.weight lm_head.weight"},
    OF_MODEL,
};

/* With tie_word_embeddings false. */
static const struct tf_names_row of_untied[] = {
    {"enc.embed", "model.encoder.embed_tokens.weight"},
    {"dec.embed", "model.decoder.embed_tokens.weight"},
    {"dec.project", "lm_head.weight"},
    OF_MODEL,
};

static void name_of_layer(const struct tf_names *f, char *to, bool decoder, int64_t layer,
                          const char *word, size_t n)
{
    (void)f;
    snprintf(to, TF_FOREIGN_NAME, "model.%s.layers.%" PRId64 ".%.*s",
             decoder ? "decoder" : "encoder", layer, (int)n, word);
}

/* A bias of zeros is none. */
static bool is_extra(const char *name)
{
    static const char *const extra[] = {
        "final_logits_bias", POSITIONS("encoder"), POSITIONS("decoder"),
        POSITIONS("encoder") "s", POSITIONS("decoder") "s" /* of M2M100, computed */
    };
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++)
        if (strcmp(name, extra[i]) == 0)
            return true;
    return false;
}

static struct tf_names names_of(bool tied)
{
    return (struct tf_names){.of_layers = of_layers,
                             .of_model = tied ? of_model : of_untied,
                             .of_layer = name_of_layer,
                             .transposed = true,
                             .is_extra = is_extra};
}

static int import_tensors(struct import *m, struct tf_err *err)
{
    const struct tf_names f = names_of(m->tied);
    struct tf_params p;
    if (tf_names_import(&f, m->b, &m->c, err) != 0)
        return -1;
    tf_params_init(&p, &m->c);
    const int rc = tf_hf_scale(m->b->tensors, &p, &m->c, 1 / m->scale, &m->b->arena, err);
    tf_params_release(&p);
    return rc;
}

int tf_hf_import(struct tf_bundle *b, struct tf_config *c, const char *json, size_t n,
                 enum tf_stored_positions positions, bool *m2m, bool *guessed, struct tf_err *err)
{
    struct import m = {.b = b, .c = tf_names_config()};
    int rc = tf_hf_settings_read(&m.s, &b->arena, json, n, err);
    if (rc == 0)
        rc = read_settings(&m, err);
    tf_hf_settings_release(&m.s);
    if (rc != 0)
        return tf_context(err, "config.json");
    if (m.m2m) {
        choose_m2m(&m);
    } else {
        choose_start(&m);
        m.c.output_bias = has_output_bias(&m);
        if (read_eps_and_positions(&m, positions, err) != 0)
            return -1;
    }
    if (tf_config_check(&m.c, err) != 0)
        return -1;
    rc = import_tensors(&m, err);
    *c = m.c;
    *m2m = m.m2m;
    *guessed = m.guessed;
    return rc;
}

/* ---- writing ---- */

static const struct tf_export_member has[] = {
    {"decoder_self", "attention", ", a recurrent decoder (but --to marian)"},
    {"final_norm", "false", NULL},
    {"source_vocab_size", "0", NULL},
    {"source_eos", "true", NULL},
    {"positions", "sin|learned", NULL},
    {"max_positions", NULL, NULL},
    {"position_table", "paper|t2t|halves", NULL},
    {"position_offset", NULL, NULL},
    {"start", "bos|zero", NULL},
    {"norm_eps", NULL, NULL},
    {NULL, NULL, NULL},
};

static void check_expressible(struct tf_export *e)
{
    if (strcmp(e->pieces[1].v[e->config.eos], "</s>") != 0 || e->unk < 0 ||
        strcmp(e->pieces[1].v[e->unk], "<unk>") != 0)
        tf_export_refuse(e, "vocabularies without <unk> and </s>");
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
static void add_row(struct tf_tensor *t, struct tf_arena *a)
{
    enum { OUT = -10000 }; /* of the softmax; finite in half precision, too */
    const float out = OUT;
    const size_t row = t->bytes / t->dims[0];
    char *data = tf_arena_zalloc(a, t->bytes + row);
    struct tf_err err = {0};
    memcpy(data, t->data, t->bytes);
    if (t->rank == 1 && tf_floats_as(data + t->bytes, t->dtype, &out, 1, &err) != 0)
        TF_BUG("%s", err.msg);
    t->data = data;
    t->bytes += row;
    t->dims[0]++;
}

static void add_pad(struct tf_export *e)
{
    const struct tf_params *p = &e->params;
    const int of[] = {p->project_b, p->src_embed, p->tgt_embed, p->project};
    for (int i = 0; i < 4; i++) {
        bool done = false;
        for (int k = 0; k < i; k++)
            done |= of[k] == of[i];
        if (!done)
            add_row(&e->ours[of[i]], &e->theirs.arena);
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

enum { PIECES, TOKENIZER, CONFIG };

static void put_pieces(struct tf_export *e)
{
    const struct tf_piece_list *pieces = &e->pieces[1];
    struct tf_json j = {.out = &e->text[PIECES]};
    tf_json_open(&j, '{');
    for (size_t i = 0; i < pieces->n; i++)
        tf_json_put_uint(&j, pieces->v[i], i);
    if (adds_pad(e))
        tf_json_put_uint(&j, pad_of(e), pieces->n);
    tf_json_close(&j, '}');
    tf_buf_byte(j.out, '\n');
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
    tf_json_close(&j, '}');
}

/* The id of the piece with which outputs begin, perhaps after a space; -1: there is none. */
static int64_t first_of(const struct tf_export *e)
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
static void put_search(struct tf_json *j, const struct tf_export *e, int64_t pad)
{
    const struct tf_value *rule = tf_value_get(e->search, "search");
    const int64_t first = first_of(e);
    const bool allow_unk = tf_export_search(e, "allow-unk", 0) != 0,
               early = rule != NULL && (strcmp(rule->text, "fairseq") == 0 ||
                                        strcmp(rule->text, "ctranslate2") == 0);
    const double ngram = tf_export_search(e, "no-repeat-ngram", 0),
                 least = tf_export_search(e, "min-length", 0), most = TF_EXPORT_POSITIONS,
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
    if (pad == e->config.eos && allow_unk)
        return;
    tf_json_key(j, "bad_words_ids");
    tf_json_open(j, '[');
    if (pad != e->config.eos)
        tf_json_ids(j, &(uint32_t){(uint32_t)pad}, 1);
    if (!allow_unk)
        tf_json_ids(j, &(uint32_t){(uint32_t)e->unk}, 1);
    tf_json_close(j, ']');
}

static void put_config(struct tf_export *e, double scale)
{
    const struct tf_config *c = &e->config;
    const int64_t V = c->vocab_size, pad = adds_pad(e) ? V : c->bos;
    const bool learned = c->positions == TF_POS_LEARNED;
    struct tf_json j = {.out = &e->text[CONFIG]};
    tf_json_open(&j, '{');
    tf_json_put_str(&j, "model_type", "marian");
    tf_json_key(&j, "architectures");
    tf_json_raw(&j, "[\"MarianMTModel\"]");
    tf_json_put_int(&j, "d_model", c->d_model);
    put_stack(&j, c, "encoder", c->encoder_layers);
    put_stack(&j, c, "decoder", c->decoder_layers);
    tf_json_put_str(&j, "activation_function", tf_activations[c->activation]);
    tf_json_put_int(&j, "vocab_size", V + adds_pad(e));
    tf_json_put_int(&j, "max_position_embeddings", learned ? c->max_positions
                                                           : TF_EXPORT_POSITIONS);
    tf_json_put_real(&j, "norm_eps", c->norm_eps);
    if (scale != 1)
        tf_json_put_real(&j, "residual_scale", scale);
    tf_positions_put(&j, c);
    tf_json_put_bool(&j, "scale_embedding", true);
    tf_json_put_bool(&j, "static_position_embeddings", true);
    tf_json_put_bool(&j, "share_encoder_decoder_embeddings", c->tie == TF_TIE_ALL);
    tf_json_put_bool(&j, "tie_word_embeddings", c->tie != TF_TIE_NONE);
    tf_json_put_real(&j, "dropout", c->dropout);
    tf_json_put_real(&j, "attention_dropout", c->attention_dropout);
    tf_json_put_real(&j, "activation_dropout", c->relu_dropout);
    tf_json_put_int(&j, "eos_token_id", c->eos);
    tf_json_put_int(&j, "forced_eos_token_id", c->eos);
    tf_json_put_int(&j, "pad_token_id", pad);
    tf_json_put_int(&j, "decoder_start_token_id", pad);
    put_search(&j, e, pad);
    tf_json_close(&j, '}');
}

static void convert_to_hf(struct tf_export *e)
{
    struct tf_bundle *b = &e->theirs;
    const struct tf_names f = names_of(e->config.tie != TF_TIE_NONE);
    bool halves = false;
    for (size_t i = 0; i < e->params.n; i++)
        halves = halves || e->ours[i].dtype == TF_F16;
    const double scale = halves ? 1 : tf_hf_scale_for(&e->config);
    struct tf_err err = {0};
    if (adds_pad(e))
        add_pad(e);
    if (tf_hf_scale(e->ours, &e->params, &e->config, scale, &b->arena, &err) != 0)
        tf_export_refuse(e, err.msg);
    tf_names_export(&f, b, &e->config, &e->params, e->ours, 2);
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->tensors[i].name, "final_logits_bias") == 0) {
            b->tensors[i].rank = 2;
            b->tensors[i].dims[1] = b->tensors[i].dims[0];
            b->tensors[i].dims[0] = 1;
        }
    put_table(e);
    b->format = "pt";
    put_pieces(e);
    put_tokenizer(e);
    put_config(e, scale);
}

const struct tf_export_format tf_hf_format = {
    .program = "transformers",
    .has = has,
    .output_bias = true,
    .two_segmenters = true,
    .check = check_expressible,
    .convert = convert_to_hf,
    .write_weights = tf_safetensors_write,
    .weights = "model.safetensors",
    .segmenter = {"source.spm", "target.spm"},
    .text = {[PIECES] = "vocab.json",
             [TOKENIZER] = "tokenizer_config.json",
             [CONFIG] = "config.json"},
};
