/* fsmt.c - see fsmt_private.h. */
#include "convert/foreign_private.h"
#include "convert/fsmt_private.h"
#include "convert/hf_settings_private.h"
#include "convert/names_private.h"
#include "convert/positions_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_IDS = 1 << 24 };

struct import {
    struct tf_hf_settings s;
    struct tf_config c;
    int64_t ff[2], source, target; /* widths of inner layers, sizes of vocabularies */
    bool shared;
};

static int read_flags(struct import *m, struct tf_err *err)
{
    if (strcmp(m->s.type, "fsmt") != 0)
        return tf_fail(err, "model_type: %s: with vocab-src.json it has to be fsmt", m->s.type);
    return tf_hf_require_flag(&m->s, "scale_embedding", true, err) != 0 ||
                   tf_hf_activation(&m->s, &m->c, err) != 0 ||
                   tf_hf_dropout(&m->s, &m->c, err) != 0 ||
                   tf_value_bool_of(&m->s.json, "tie_word_embeddings", &m->shared, err) < 0
               ? -1
               : 0;
}

static int read_sizes(struct import *m, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    struct tf_hf_settings *s = &m->s;
    char value[32];
    if (tf_hf_number(s, "encoder_layers", TF_MAX_LAYERS, &c->encoder_layers, err) != 0 ||
        tf_hf_number(s, "decoder_layers", TF_MAX_LAYERS, &c->decoder_layers, err) != 0 ||
        tf_hf_number(s, "d_model", TF_MAX_WIDTH, &c->d_model, err) != 0 ||
        tf_hf_number(s, "encoder_ffn_dim", TF_MAX_WIDTH, &m->ff[0], err) != 0 ||
        tf_hf_number(s, "decoder_ffn_dim", TF_MAX_WIDTH, &m->ff[1], err) != 0 ||
        tf_hf_both(s, "attention_heads", 1024, &c->heads, err) != 0 ||
        tf_hf_number(s, "src_vocab_size", MOST_IDS, &m->source, err) != 0 ||
        tf_hf_number(s, "tgt_vocab_size", MOST_IDS, &m->target, err) != 0)
        return -1;
    snprintf(value, sizeof value, "%" PRId64, m->ff[1]);
    if (!tf_names_ff(c, m->ff))
        tf_hf_refuse(s, "decoder_ffn_dim", value);
    return 0;
}

/* The decoder starts with eos, and positions count from the one after pad. */
static int read_ids(struct import *m, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    int64_t start;
    char value[32];
    if (tf_hf_number(&m->s, "eos_token_id", MOST_IDS, &c->eos, err) != 0 ||
        tf_hf_number(&m->s, "pad_token_id", MOST_IDS, &c->pad, err) != 0 ||
        tf_hf_number(&m->s, "decoder_start_token_id", MOST_IDS, &start, err) != 0)
        return -1;
    if (start != c->eos)
        tf_hf_refuse(&m->s, "decoder_start_token_id", "another than eos_token_id");
    snprintf(value, sizeof value, "%" PRId64, c->pad);
    if (c->pad > 1) /* positions count from 2 at most */
        tf_hf_refuse(&m->s, "pad_token_id", value);
    c->bos = c->eos;
    c->position_offset = c->pad + 1;
    return 0;
}

/* "langs": ["en", "ru"] */
static void read_langs(const struct import *m, struct tf_arena *a, struct tf_fairseq_langs *langs)
{
    const struct tf_value *list = tf_value_get(&m->s.json, "langs");
    *langs = (struct tf_fairseq_langs){0};
    if (list == NULL || list->kind != TF_ARRAY || list->n != 2 || list->items[0].kind != TF_TEXT ||
        list->items[1].kind != TF_TEXT)
        return;
    langs->source = tf_arena_strndup(a, list->items[0].text, list->items[0].n);
    langs->target = tf_arena_strndup(a, list->items[1].text, list->items[1].n);
}

static int read_settings(struct import *m, struct tf_err *err)
{
    return read_flags(m, err) != 0 || read_sizes(m, err) != 0 || read_ids(m, err) != 0 ||
                   tf_refused(&m->s.refused, err) != 0
               ? -1
               : tf_hf_head_width(&m->c, err);
}

/* The names of fairseq. */
static void rename_all(struct tf_bundle *b)
{
    static const char model[] = "model.";
    for (size_t i = 0; i < b->n; i++)
        if (strncmp(b->tensors[i].name, model, sizeof model - 1) == 0)
            b->tensors[i].name += sizeof model - 1;
}

static int import(struct tf_bundle *b, struct import *m, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    rename_all(b);
    if (tf_positions_check(c, tf_bundle_find(b, "encoder.embed_positions.weight"), err) != 0 ||
        tf_positions_check(c, tf_bundle_find(b, "decoder.embed_positions.weight"), err) != 0)
        return -1;
    if (tf_fairseq_parameters(b, c, m->ff, m->shared, err) != 0)
        return -1;
    if (m->source != tf_config_source_ids(c) || m->target != c->vocab_size)
        return tf_fail(err,
                       "config.json: src_vocab_size %" PRId64 ", tgt_vocab_size %" PRId64
                       ", and %" PRId64 " and %" PRId64 " embeddings",
                       m->source, m->target, tf_config_source_ids(c), c->vocab_size);
    return 0;
}

int tf_fsmt_import(struct tf_bundle *b, struct tf_config *c, struct tf_fairseq_langs *langs,
                   const char *json, size_t n, struct tf_err *err)
{
    struct import m = {.c = tf_names_config()};
    int rc = tf_hf_settings_read(&m.s, &b->arena, json, n, err);
    if (rc == 0)
        rc = read_settings(&m, err);
    tf_hf_settings_release(&m.s);
    if (rc != 0)
        return tf_context(err, "config.json");
    read_langs(&m, &b->arena, langs);
    rc = import(b, &m, err);
    *c = m.c;
    return rc;
}

int tf_fsmt_check_tokenizer(const char *json, size_t n, struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_hf_settings s;
    int rc = tf_hf_tokenizer_read(&s, &a, json, n, err);
    if (rc == 0)
        rc = tf_hf_require_flag(&s, "do_lower_case", false, err);
    if (rc == 0)
        rc = tf_refused(&s.refused, err);
    tf_hf_settings_release(&s);
    tf_arena_release(&a);
    return rc;
}
