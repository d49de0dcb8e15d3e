/* config.c - checks of a configuration, and its map in a model's header. The table of fields is the
 * one list of names. */
#include "model/config.h"

#include <math.h>
#include <string.h>

const char *const tf_dialects[] = {"paper", "t2t", NULL};
const char *const tf_position_kinds[] = {"sin", "learned", NULL};
const char *const tf_position_tables[] = {"dialect", "paper", "t2t", "halves", NULL};
const char *const tf_activations[] = {"relu", "swish", "gelu", NULL};
const char *const tf_decoder_selves[] = {"attention", "ssru", NULL};
const char *const tf_decoder_norms[] = {"same", "after", "after-top", "before", "before-top", NULL};
const char *const tf_ties[] = {"all", "decoder", "none", NULL};
const char *const tf_starts[] = {"bos", "zero", NULL};
const char *const tf_smoothings[] = {"V", "V-1", NULL};
const char *const tf_initializers[] = {"glorot", "fused", "scaled", NULL};

static const struct tf_member fields[] = {
#define F(name, kind, lo, hi, choices) \
    {#name, TF_MEMBER_##kind, TF_##kind##_AT(struct tf_config, name), lo, hi, choices}
    F(dialect, CHOICE, 0, 0, tf_dialects),
    F(encoder_layers, INT, 1, TF_MAX_LAYERS, NULL),
    F(decoder_layers, INT, 1, TF_MAX_LAYERS, NULL),
    F(d_model, INT, 1, TF_MAX_WIDTH, NULL),
    F(d_ff, INT, 1, TF_MAX_WIDTH, NULL),
    F(heads, INT, 1, TF_MAX_HEADS, NULL),
    F(d_k, INT, 1, TF_MAX_WIDTH, NULL),
    F(d_v, INT, 1, TF_MAX_WIDTH, NULL),
    F(vocab_size, INT, 0, 1 << 24, NULL),
    F(positions, CHOICE, 0, 0, tf_position_kinds),
    F(max_positions, INT, 0, 1 << 20, NULL),
    F(tie, CHOICE, 0, 0, tf_ties),
    F(start, CHOICE, 0, 0, tf_starts),
    F(pre_norm, BOOL, 0, 0, NULL),
    F(attention_bias, BOOL, 0, 0, NULL),
    F(attention_window, INT, 0, 1 << 20, NULL),
    F(norm_eps, REAL, 0, 1, NULL),
    F(dropout, REAL, 0, 0.999, NULL),
    F(attention_dropout, REAL, 0, 0.999, NULL),
    F(relu_dropout, REAL, 0, 0.999, NULL),
    F(label_smoothing, REAL, 0, 0.999, NULL),
    F(smoothing, CHOICE, 0, 0, tf_smoothings),
    F(bos, INT, -1, 1 << 24, NULL),
    F(eos, INT, 0, 1 << 24, NULL),
    F(pad, INT, -1, 1 << 24, NULL),
    /* From here on a map has only what differs from tf_config_implied(). */
    F(initializer, CHOICE, 0, 0, tf_initializers),
    F(final_norm, BOOL, 0, 0, NULL),
    F(activation, CHOICE, 0, 0, tf_activations),
    F(decoder_self, CHOICE, 0, 0, tf_decoder_selves),
    F(output_bias, BOOL, 0, 0, NULL),
    F(position_table, CHOICE, 0, 0, tf_position_tables),
    F(position_offset, INT, 0, 2, NULL),
    F(source_eos, BOOL, 0, 0, NULL),
    F(source_vocab_size, INT, 0, 1 << 24, NULL),
    F(embedding_norm, BOOL, 0, 0, NULL),
    F(unscaled_embeddings, BOOL, 0, 0, NULL),
    F(decoder_norms, CHOICE, 0, 0, tf_decoder_norms),
#undef F
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static bool may_be_missing(const struct tf_member *f)
{
    return f >= tf_config_field("initializer");
}

double tf_config_implied(const struct tf_config *c, const struct tf_member *f)
{
    switch (f->at) {
    case offsetof(struct tf_config, initializer):
        return c->dialect == TF_AS_T2T ? TF_INITIALIZER_FUSED : TF_INITIALIZER_GLOROT;
    case offsetof(struct tf_config, final_norm):
        return c->pre_norm;
    case offsetof(struct tf_config, source_eos):
        return true;
    default:
        return 0;
    }
}

const struct tf_member *tf_config_fields(size_t *n)
{
    *n = N_FIELDS;
    return fields;
}

const struct tf_member *tf_config_field(const char *name)
{
    for (int i = 0; i < N_FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static int check_range(const struct tf_member *f, double x, struct tf_err *err)
{
    if (x < f->lo || x > f->hi)
        return tf_fail(err, "%s %g: not between %g and %g", f->name, x, f->lo, f->hi);
    return 0;
}

int tf_config_check(const struct tf_config *c, struct tf_err *err)
{
    for (int i = 0; i < N_FIELDS; i++) {
        const struct tf_member *f = &fields[i];
        const bool number = f->kind == TF_MEMBER_INT || f->kind == TF_MEMBER_REAL;
        if (number && check_range(f, tf_member_number(f, c), err) != 0)
            return -1;
    }
    if (c->heads * c->d_k > TF_MAX_WIDTH || c->heads * c->d_v > TF_MAX_WIDTH)
        return tf_fail(err, "%lld heads of width %lld and %lld: more than %d columns in all",
                       (long long)c->heads, (long long)c->d_k, (long long)c->d_v, TF_MAX_WIDTH);
    if (c->positions == TF_POS_LEARNED && c->max_positions < 1)
        return tf_fail(err, "learned positions need max_positions of at least 1");
    if (c->positions == TF_POS_LEARNED && c->position_offset != 0)
        return tf_fail(err, "position_offset %lld: a learned table begins with the first position",
                       (long long)c->position_offset);
    if (c->start == TF_START_BOS && c->bos < 0)
        return tf_fail(err, "the decoder starts with bos, but the vocabulary has none");
    if (c->vocab_size > 0 &&
        (c->bos >= c->vocab_size || c->eos >= c->vocab_size || c->pad >= c->vocab_size))
        return tf_fail(err, "a special id is not below vocab_size %lld", (long long)c->vocab_size);
    const struct tf_norms all = tf_config_norms(c, false), own = tf_config_norms(c, true);
    if (c->decoder_norms != TF_NORMS_SAME && all.before == own.before && all.top == own.top)
        return tf_fail(err, "decoder_norms %s: where the encoder's are, which is the default",
                       tf_decoder_norms[c->decoder_norms]);
    if (c->source_vocab_size > 0 && c->tie == TF_TIE_ALL)
        return tf_fail(err, "source_vocab_size %lld: with one matrix for all embeddings",
                       (long long)c->source_vocab_size);
    if (c->source_vocab_size > 0 && c->source_eos && c->eos >= c->source_vocab_size)
        return tf_fail(err, "eos is not below source_vocab_size %lld",
                       (long long)c->source_vocab_size);
    return 0;
}

int tf_config_fits(const struct tf_config *c, size_t n, struct tf_err *err)
{
    if (c->positions == TF_POS_LEARNED && n > (uint64_t)c->max_positions)
        return tf_fail(
            err, "a sentence of %zu tokens with its end, the model has %lld learned positions", n,
            (long long)c->max_positions);
    return 0;
}

struct tf_value tf_config_map(const struct tf_config *c, struct tf_arena *a)
{
    struct tf_value map = tf_value_map();
    for (int i = 0; i < N_FIELDS; i++) {
        const struct tf_member *f = &fields[i];
        if (may_be_missing(f) && tf_member_number(f, c) == tf_config_implied(c, f))
            continue;
        tf_value_put(a, &map, f->name, tf_member_value(f, c, a));
    }
    return map;
}

void tf_config_reals(struct tf_value *map)
{
    for (size_t i = 0; i < map->n; i++) {
        const struct tf_member *f = tf_config_field(map->keys[i]);
        if (f != NULL && f->kind == TF_MEMBER_REAL && map->items[i].kind == TF_INT)
            map->items[i] = tf_value_real((double)map->items[i].integer);
    }
}

struct tf_value tf_config_explicit(const struct tf_value *map, struct tf_arena *a)
{
    struct tf_value all = tf_value_clone(a, map);
    struct tf_config c = {0};
    struct tf_err unused;
    for (int i = 0; i < N_FIELDS; i++) {
        const struct tf_member *f = &fields[i];
        if (tf_member_read(f, &c, map, &unused) != 1 || !may_be_missing(f))
            continue;
        tf_member_set(f, &c, tf_config_implied(&c, f));
        tf_value_put(a, &all, f->name, tf_member_value(f, &c, a));
    }
    return all;
}

static int read_field(struct tf_config *c, const struct tf_member *f, const struct tf_value *map,
                      struct tf_err *err)
{
    int rc = tf_member_read(f, c, map, err);
    if (rc != 1)
        return rc;
    if (!may_be_missing(f))
        return tf_fail(err, "%s is missing", f->name);
    tf_member_set(f, c, tf_config_implied(c, f));
    return 0;
}

int tf_config_read(struct tf_config *c, const struct tf_value *map, struct tf_err *err)
{
    *c = (struct tf_config){0};
    if (map->kind != TF_MAP)
        return tf_fail(err, "config is not a map");
    for (int i = 0; i < N_FIELDS; i++)
        if (read_field(c, &fields[i], map, err) < 0)
            return tf_context(err, "config");
    for (size_t i = 0; i < map->n; i++)
        if (tf_config_field(map->keys[i]) == NULL)
            return tf_fail(err, "config: '%s' is unknown: misspelt, or of a newer version",
                           map->keys[i]);
    if (tf_config_check(c, err) != 0)
        return tf_context(err, "config");
    return 0;
}

int tf_config_takes(const struct tf_config *c, const struct tf_header *batches, struct tf_err *err)
{
    if (batches->source_size > 0 && c->source_vocab_size == 0)
        return tf_fail(err,
                       "the sources of the batches have ids of their own, the model has one "
                       "vocabulary for both sides%s",
                       c->tie == TF_TIE_ALL ? " (a new model has two with --tie none)" : "");
    if (batches->source_size > c->source_vocab_size)
        return tf_fail(err, "the sources of the batches have %lld ids, those of the model %lld",
                       (long long)batches->source_size, (long long)c->source_vocab_size);
    return 0;
}

struct tf_sentence_rule tf_config_sentences(const struct tf_config *c, int side,
                                            const struct tf_header *stream)
{
    struct tf_sentence_rule r = TF_ANY_SENTENCE;
    struct tf_special s = {.pad = c->pad, .unk = stream->special.unk, .bos = c->bos, .eos = c->eos};
    const bool own = side == 0 && c->source_vocab_size > 0,
               one_side = strcmp(stream->kind, "tokens") == 0 || strcmp(stream->kind, "nbest") == 0;
    if (own) /* an end of sentence is the only id that both sides share */
        s = (struct tf_special){-1, -1, -1, c->source_eos ? c->eos : -1};
    tf_sentence_rule_add(&r, &s);
    if (one_side || !own)
        tf_sentence_rule_add(&r, &stream->special);
    r.size = side == 0 ? tf_config_source_ids(c) : c->vocab_size;
    return r;
}

bool tf_config_own_start(const struct tf_config *c)
{
    return c->start == TF_START_ZERO || c->bos == c->eos || c->bos == c->pad;
}

enum tf_position_table tf_config_position_table(const struct tf_config *c)
{
    if (c->position_table != TF_TABLE_DIALECT)
        return c->position_table;
    return c->dialect == TF_AS_PAPER ? TF_TABLE_PAPER : TF_TABLE_T2T;
}

struct tf_norms tf_config_norms(const struct tf_config *c, bool decoder)
{
    const enum tf_decoder_norms n = decoder ? c->decoder_norms : TF_NORMS_SAME;
    return n == TF_NORMS_SAME
               ? (struct tf_norms){.before = c->pre_norm, .top = c->final_norm}
               : (struct tf_norms){.before = n >= TF_NORMS_BEFORE,
                                   .top = n == TF_NORMS_AFTER_TOP || n == TF_NORMS_BEFORE_TOP};
}

void tf_config_set_norms(struct tf_config *c, struct tf_norms encoder, struct tf_norms decoder)
{
    c->pre_norm = encoder.before;
    c->final_norm = encoder.top;
    c->decoder_norms = TF_NORMS_SAME;
    if (encoder.before != decoder.before || encoder.top != decoder.top)
        c->decoder_norms = (decoder.before ? TF_NORMS_BEFORE : TF_NORMS_AFTER) + decoder.top;
}

float tf_config_embedding_scale(const struct tf_config *c)
{
    return c->unscaled_embeddings ? 1 : (float)sqrt((double)c->d_model);
}

int64_t tf_config_source_ids(const struct tf_config *c)
{
    return c->source_vocab_size > 0 ? c->source_vocab_size : c->vocab_size;
}
