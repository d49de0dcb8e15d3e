/* ct2.c - see ct2_private.h. */
#include "base/buf.h"
#include "base/json.h"
#include "cbor/json.h"
#include "convert/ct2_private.h"
#include "convert/names_private.h"
#include "exchange/ct2_bin.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define POSITIONS "position_encodings/encodings"
enum { UNKNOWN_HEADS = 8 };

struct import {
    struct tf_bundle *b;
    struct tf_value json;
    struct tf_config c;
    struct tf_buf refused;
    bool guessed; /* which table of positions it has */
};

/* ---- single numbers: the settings in model.bin ---- */

/* NAN if t has more elements than one. */
static double number(const struct tf_tensor *t)
{
    int32_t i;
    float x;
    if (t->rank != 0)
        return NAN;
    if (t->dtype == TF_I32) {
        memcpy(&i, t->data, sizeof i);
        return i;
    }
    return tf_tensor_floats(&x, t, &(struct tf_err){0}) == 0 ? (double)x : NAN;
}

/* encoder/NAME and decoder/NAME, which have to be the same where both are there. flag: what an
 * integer of 1 stands for. */
static double of_stacks(struct import *m, const char *name, double missing, double flag)
{
    char full[2][64];
    double x[2] = {missing, missing};
    for (int i = 0; i < 2; i++) {
        snprintf(full[i], sizeof full[i], "%s/%s", i == 0 ? "encoder" : "decoder", name);
        const struct tf_tensor *t = tf_bundle_find(m->b, full[i]);
        if (t == NULL || t->rank != 0)
            continue;
        x[i] = number(t);
        if (t->dtype == TF_I32 && x[i] == 1)
            x[i] = flag;
    }
    if (x[0] != x[1])
        tf_buf_item(&m->refused, "%s: %g, but %s: %g", full[0], x[0], full[1], x[1]);
    return x[0];
}

/* What a number has to be; the others of them say what read_settings() reads, or nothing. */
static const struct {
    const char *name;
    double allowed;
} fixed[] = {{"alibi", 0},
             {"alibi_use_positive_positions", 0},
             {"scale_alibi", 0},
             {"rotary_interleave", 1},
             {"multi_query_attention", 0},
             {"embeddings_merge", 0},
             {"layernorm_embedding", 0},
             {"parallel_residual", 0},
             {"shared_layer_norm", 0},
             {"scale_outputs", 1}};
static const char *const used[] = {"activation",       "num_heads",     "pre_norm",
                                   "scale_embeddings", "alignment_layer", "alignment_heads",
                                   "start_from_zero_embedding"};

static bool is_known(const char *name, double x)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(name, fixed[i].name) == 0)
            return x == fixed[i].allowed;
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        if (strcmp(name, used[i]) == 0)
            return true;
    return x == 0;
}

/* Of one layer: the root of a head's width, which it is by default. */
static bool is_scale_of_queries(const char *name)
{
    static const char end[] = "/queries_scale";
    const size_t n = strlen(name);
    return n >= sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

static bool is_setting(const struct tf_tensor *t)
{
    return t->rank == 0 || strcmp(t->name, "decoder/alignment_heads") == 0;
}

static void check_numbers(struct import *m, double heads)
{
    const double scale = sqrt(heads / (double)m->c.d_model);
    for (size_t i = 0; i < m->b->n; i++) {
        const struct tf_tensor *t = &m->b->tensors[i];
        const char *slash = strchr(t->name, '/');
        if (t->rank == 0 && is_scale_of_queries(t->name)) {
            if (!(fabs(number(t) - scale) <= 1e-3 * scale))
                tf_buf_item(&m->refused, "%s: %g", t->name, number(t));
        } else if (t->rank == 0 && slash != NULL && !is_known(slash + 1, number(t)))
            tf_buf_item(&m->refused, "%s: %g", t->name, number(t));
    }
}

/* ---- settings ---- */

static const struct tf_tensor *source_embedding(const struct import *m)
{
    const struct tf_tensor *t = tf_bundle_find(m->b, "encoder/embeddings_0/weight");
    return t != NULL ? t : tf_bundle_find(m->b, "encoder/embeddings/weight");
}

static int64_t layers(const struct import *m, const char *stack)
{
    char name[64];
    int64_t n = 0;
    do
        snprintf(name, sizeof name, "%s/layer_%" PRId64 "/ffn/linear_0/weight", stack, n++);
    while (n <= TF_MAX_LAYERS + 1 && tf_bundle_find(m->b, name) != NULL);
    return n - 1;
}

/* Sizes and sharing, which follow from the matrices. */
static int read_shapes(struct import *m, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    const struct tf_tensor *source = source_embedding(m),
                           *target = tf_bundle_find(m->b, "decoder/embeddings/weight"),
                           *project = tf_bundle_find(m->b, "decoder/projection/weight"),
                           *ff = tf_bundle_find(m->b, "encoder/layer_0/ffn/linear_0/weight");
    if (source == NULL || target == NULL || ff == NULL || source->rank != 2 ||
        target->rank != 2 || ff->rank != 2)
        return tf_fail(err, "no matrices of embeddings or of a first layer");
    c->vocab_size = (int64_t)target->dims[0];
    c->d_model = (int64_t)target->dims[1];
    c->d_ff = (int64_t)ff->dims[0];
    const bool tied = project == NULL || tf_tensors_equal(target, project);
    c->tie = !tied ? TF_TIE_NONE : tf_tensors_equal(source, target) ? TF_TIE_ALL : TF_TIE_DECODER;
    c->encoder_layers = layers(m, "encoder");
    c->decoder_layers = layers(m, "decoder");
    c->output_bias = tf_bundle_find(m->b, "decoder/projection/bias") != NULL;
    c->attention_bias =
        tf_bundle_find(m->b, "encoder/layer_0/self_attention/linear_0/bias") != NULL;
    c->final_norm = tf_bundle_find(m->b, "decoder/layer_norm/gamma") != NULL;
    return 0;
}

static int read_numbers(struct import *m, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    const struct tf_tensor *zero = tf_bundle_find(m->b, "decoder/start_from_zero_embedding");
    const double root = sqrt((double)c->d_model),
                 heads = of_stacks(m, "num_heads", UNKNOWN_HEADS, 1),
                 activation = of_stacks(m, "activation", 0, 1),
                 scale = of_stacks(m, "scale_embeddings", root, root);
    check_numbers(m, heads);
    c->pre_norm = of_stacks(m, "pre_norm", 1, 1) != 0;
    c->start = zero != NULL && number(zero) != 0 ? TF_START_ZERO : TF_START_BOS;
    if (activation != 0 && activation != 2)
        tf_buf_item(&m->refused, "activation: %g, which is neither relu nor swish", activation);
    if (!(fabs(scale - root) <= 1e-3 * root))
        tf_buf_item(&m->refused, "scale_embeddings: %g, which is not the root of %" PRId64, scale,
                    c->d_model);
    c->activation = activation == 2 ? TF_ACTIVATION_SWISH : TF_ACTIVATION_RELU;
    if (tf_refused(&m->refused, err) != 0)
        return -1;
    if (!(heads >= 1 && heads <= 1024) || c->d_model % (int64_t)heads != 0)
        return tf_fail(err, "num_heads: %g, and a width of %" PRId64, heads, c->d_model);
    c->heads = (int64_t)heads;
    c->d_k = c->d_v = c->d_model / c->heads;
    return 0;
}

static int read_positions(struct import *m, enum tf_stored_positions positions, struct tf_err *err)
{
    const struct tf_tensor *encoder = tf_bundle_find(m->b, "encoder/" POSITIONS),
                           *decoder = tf_bundle_find(m->b, "decoder/" POSITIONS);
    if (encoder == NULL && decoder == NULL) {
        m->c.position_offset = 1;
        return 0;
    }
    if (tf_positions_asked(&positions, &m->json, err) != 0)
        return tf_context(err, "config.json");
    return tf_positions_recognise(&m->c, encoder, decoder, positions, &m->guessed, err);
}

/* ---- tokens ---- */

/* CTranslate2 adds an unknown token that a list has not. */
static int complete(struct import *m, struct tf_piece_list *list, int64_t size, const char *side,
                    struct tf_err *err)
{
    if (list->n + 1 == (uint64_t)size && tf_piece_list_id(list, "<unk>") < 0) {
        const char **more = tf_arena_alloc(&m->b->arena, (list->n + 1) * sizeof *more);
        memcpy(more, list->v, list->n * sizeof *more);
        more[list->n] = "<unk>";
        *list = (struct tf_piece_list){more, list->n + 1};
    }
    if (list->n == (uint64_t)size)
        return 0;
    return tf_fail(err, "%zu tokens of the %s, and %" PRId64 " embeddings", list->n, side, size);
}

static int read_token(struct import *m, const char *key, const char *usual, const char **token,
                      struct tf_err *err)
{
    *token = usual;
    if (m->json.kind != TF_MAP)
        return 0;
    const struct tf_value *v = tf_value_get(&m->json, key);
    if (v == NULL || v->kind == TF_NULL)
        return 0;
    return tf_value_text_of(&m->json, key, token, err) < 0 ? -1 : 0;
}

/* Special tokens under other names would not be special to the tools of text. */
static int require_token(struct import *m, const char *key, const char *usual, struct tf_err *err)
{
    const char *token;
    if (read_token(m, key, usual, &token, err) != 0)
        return -1;
    return strcmp(token, usual) == 0 ? 0 : tf_fail(err, "%s: %s: only %s is supported", key, token,
                                                   usual);
}

static int read_tokens(struct import *m, struct tf_piece_list lists[2], int64_t *unk,
                       struct tf_err *err)
{
    struct tf_config *c = &m->c;
    const int64_t source_size = (int64_t)source_embedding(m)->dims[0];
    const char *start;
    bool source_bos = false, source_eos = false;
    const bool shared = lists[0].v == lists[1].v;
    if (complete(m, &lists[0], source_size, "source", err) != 0)
        return -1;
    if (shared)
        lists[1] = lists[0];
    if (complete(m, &lists[1], c->vocab_size, "target", err) != 0 ||
        require_token(m, "unk_token", "<unk>", err) != 0 ||
        require_token(m, "eos_token", "</s>", err) != 0 ||
        read_token(m, "decoder_start_token", "<s>", &start, err) != 0)
        return -1;
    if (m->json.kind == TF_MAP &&
        (tf_value_bool_of(&m->json, "add_source_eos", &source_eos, err) < 0 ||
         tf_value_bool_of(&m->json, "add_source_bos", &source_bos, err) < 0))
        return -1;
    if (source_bos)
        return tf_fail(err, "add_source_bos: true is not supported");
    *unk = tf_piece_list_id(&lists[1], "<unk>");
    c->eos = tf_piece_list_id(&lists[1], "</s>");
    c->bos = tf_piece_list_id(&lists[1], c->start == TF_START_ZERO ? "<s>" : start);
    c->pad = tf_piece_list_id(&lists[1], "<pad>");
    if (c->eos < 0)
        return tf_fail(err, "no token </s>");
    c->source_eos = source_eos || c->start == TF_START_ZERO || c->bos == c->eos;
    if (shared)
        return 0;
    c->source_vocab_size = source_size;
    return !c->source_eos || tf_piece_list_id(&lists[0], "</s>") == c->eos
               ? 0
               : tf_fail(err, "</s> has another id in the source's vocabulary");
}

/* ---- tensors ---- */

#define LINEAR(ours, theirs) {ours ".w", theirs "/weight"}, {ours ".b", theirs "/bias"}
#define NORM(ours, theirs) \
    {ours ".norm.g", theirs "layer_norm/gamma"}, {ours ".norm.b", theirs "layer_norm/beta"}

static const struct tf_names_row of_layers[] = {
    LINEAR("self.qkv", "self_attention/linear_0"),
    LINEAR("self.o", "self_attention/linear_1"),
    NORM("self", "self_attention/"),
    LINEAR("cross.q", "attention/linear_0"),
    LINEAR("cross.kv", "attention/linear_1"),
    LINEAR("cross.o", "attention/linear_2"),
    NORM("cross", "attention/"),
    LINEAR("ff.1", "ffn/linear_0"),
    LINEAR("ff.2", "ffn/linear_1"),
    NORM("ff", "ffn/"),
    {NULL, NULL},
};

#define OF_MODEL \
    {"dec.project", "decoder/projection/weight"}, {"dec.project.b", "decoder/projection/bias"}, \
        {"enc.pos", "encoder/" POSITIONS}, {"dec.pos", "decoder/" POSITIONS}, \
        NORM("enc", "encoder/"), NORM("dec", "decoder/"), {NULL, NULL}
#define SOURCE "encoder/embeddings_0/weight encoder/embeddings/weight"

static const struct tf_names_row of_model[] = {
    {"embed", "decoder/embeddings/weight decoder/projection/weight " SOURCE},
    {"enc.embed", SOURCE},
    {"dec.embed", "decoder/embeddings/weight decoder/projection/weight"},
    OF_MODEL,
};
static const struct tf_names_row of_untied[] = {
    {"enc.embed", SOURCE},
    {"dec.embed", "decoder/embeddings/weight"},
    OF_MODEL,
};

static void name_of_layer(const struct tf_names *f, char *to, bool decoder, int64_t layer,
                          const char *word, size_t n)
{
    (void)f;
    snprintf(to, TF_FOREIGN_NAME, "%s/layer_%" PRId64 "/%.*s", decoder ? "decoder" : "encoder",
             layer, (int)n, word);
}

static bool is_extra(const char *name)
{
    return strcmp(name, "encoder/" POSITIONS) == 0 || strcmp(name, "decoder/" POSITIONS) == 0;
}

static struct tf_names names_of(const struct tf_config *c)
{
    return (struct tf_names){.of_layers = of_layers,
                             .of_model = c->tie == TF_TIE_NONE ? of_untied : of_model,
                             .of_layer = name_of_layer,
                             .transposed = true,
                             .is_extra = is_extra};
}

static void drop_settings(struct tf_bundle *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (!is_setting(&b->tensors[i]))
            b->tensors[n++] = b->tensors[i];
    b->n = n;
}

/* ---- all of it ---- */

static int read_json(struct import *m, const char *json, size_t n, struct tf_err *err)
{
    m->json = tf_value_null();
    if (n == 0)
        return 0;
    int rc = tf_value_from_json_text(&m->json, &m->b->arena, json, n, TF_JSON_PLAIN, "value", err);
    if (rc == 0 && m->json.kind != TF_MAP)
        rc = tf_fail(err, "not a JSON object");
    const struct tf_value *eps =
        rc == 0 ? tf_value_get(&m->json, "layer_norm_epsilon") : NULL;
    if (eps != NULL && eps->kind != TF_NULL &&
        tf_value_real_of(&m->json, "layer_norm_epsilon", 0, 1, &m->c.norm_eps, err) < 0)
        rc = -1;
    return rc == 0 ? 0 : tf_context(err, "config.json");
}

int tf_ct2_import(struct tf_bundle *b, struct tf_config *c, int64_t *unk, const char *json,
                  size_t n, struct tf_piece_list lists[2], enum tf_stored_positions positions,
                  bool *guessed, struct tf_err *err)
{
    struct import m = {.b = b, .c = tf_names_config()};
    int rc = read_json(&m, json, n, err) != 0 || read_shapes(&m, err) != 0 ||
                     read_numbers(&m, err) != 0
                 ? -1
                 : 0;
    tf_buf_release(&m.refused);
    if (rc != 0 || read_positions(&m, positions, err) != 0 ||
        read_tokens(&m, lists, unk, err) != 0 || tf_config_check(&m.c, err) != 0)
        return -1;
    drop_settings(b);
    const struct tf_names f = names_of(&m.c);
    rc = tf_names_import(&f, b, &m.c, err);
    *c = m.c;
    *guessed = m.guessed;
    return rc;
}

/* ---- writing ---- */

static const struct tf_export_member has[] = {
    {"decoder_self", "attention", ", a recurrent decoder (but --to marian)"},
    {"pre_norm", NULL, NULL},
    {"final_norm", NULL, NULL},
    {"source_vocab_size", NULL, NULL},
    {"source_eos", NULL, NULL},
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
    const struct tf_config *c = &e->config;
    if (!c->source_eos && (c->start == TF_START_ZERO || c->bos == c->eos))
        tf_export_refuse(e, "source_eos false where the decoder starts with zeros or with eos");
    if (e->unk < 0)
        tf_export_refuse(e, "vocabularies without <unk>");
}

static void put(struct tf_export *e, const char *name, enum tf_dtype dtype, const void *data)
{
    struct tf_bundle *b = &e->theirs;
    const size_t n = tf_dtype_size(dtype);
    b->tensors[b->n++] =
        (struct tf_tensor){.name = tf_arena_strndup(&b->arena, name, strlen(name)),
                           .dtype = dtype,
                           .data = memcpy(tf_arena_alloc(&b->arena, 8), data, n),
                           .bytes = n};
}

static void put_flag(struct tf_export *e, const char *stack, const char *name, int x)
{
    char full[64];
    snprintf(full, sizeof full, "%s/%s", stack, name);
    put(e, full, TF_I8, &(int8_t){(int8_t)x});
}

static void put_stack(struct tf_export *e, const char *stack)
{
    const struct tf_config *c = &e->config;
    const float scale = sqrtf((float)c->d_model);
    char name[64];
    put_flag(e, stack, "pre_norm", c->pre_norm);
    put_flag(e, stack, "activation", c->activation == TF_ACTIVATION_SWISH ? 2 : 0);
    snprintf(name, sizeof name, "%s/num_heads", stack);
    put(e, name, TF_I32, &(int32_t){(int32_t)c->heads});
    snprintf(name, sizeof name, "%s/scale_embeddings", stack);
    put(e, name, TF_F32, &scale);
}

/* A further tensor with the data of one that is there. */
static void put_alias(struct tf_export *e, const char *alias, const char *of)
{
    struct tf_bundle *b = &e->theirs;
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->tensors[i].name, of) == 0) {
            b->tensors[b->n] = b->tensors[i];
            b->tensors[b->n++].name = alias;
            return;
        }
}

static void put_tensors(struct tf_export *e)
{
    const struct tf_config *c = &e->config;
    struct tf_bundle *b = &e->theirs;
    if (c->tie != TF_TIE_NONE)
        put_alias(e, "decoder/projection/weight", "decoder/embeddings/weight");
    if (c->tie == TF_TIE_ALL)
        put_alias(e, "encoder/embeddings_0/weight", "decoder/embeddings/weight");
    if (c->positions == TF_POS_SIN) {
        b->tensors[b->n] = tf_positions_table(c, TF_EXPORT_POSITIONS, &b->arena);
        b->tensors[b->n++].name = "decoder/" POSITIONS;
        put_alias(e, "encoder/" POSITIONS, "decoder/" POSITIONS);
    }
    put_stack(e, "encoder");
    put_stack(e, "decoder");
    put_flag(e, "decoder", "start_from_zero_embedding", c->start == TF_START_ZERO);
    put(e, "decoder/alignment_layer", TF_I32, &(int32_t){-1});
    put(e, "decoder/alignment_heads", TF_I32, &(int32_t){1});
}

static void put_pieces(struct tf_buf *text, const struct tf_piece_list *pieces)
{
    struct tf_json j = {.out = text};
    tf_json_open(&j, '[');
    for (size_t i = 0; i < pieces->n; i++)
        tf_json_str(&j, pieces->v[i]);
    tf_json_close(&j, ']');
    tf_buf_byte(text, '\n');
}

enum { SHARED, SOURCE_PIECES, TARGET_PIECES, CONFIG };

static void put_config(struct tf_export *e)
{
    const struct tf_config *c = &e->config;
    const char *const *tokens = e->pieces[1].v;
    struct tf_json j = {.out = &e->text[CONFIG]};
    tf_json_open(&j, '{');
    tf_json_put_str(&j, "unk_token", tokens[e->unk]);
    tf_json_put_str(&j, "bos_token", c->bos >= 0 ? tokens[c->bos] : "<s>");
    tf_json_put_str(&j, "eos_token", tokens[c->eos]);
    tf_json_put_str(&j, "decoder_start_token",
                    tokens[c->start == TF_START_BOS ? c->bos : c->eos]);
    tf_json_put_bool(&j, "add_source_bos", false);
    tf_json_put_bool(&j, "add_source_eos", c->source_eos);
    tf_json_put_real(&j, "layer_norm_epsilon", c->norm_eps);
    tf_json_put_bool(&j, "multi_query_attention", false);
    tf_positions_put(&j, c);
    tf_json_close(&j, '}');
}

static void convert_to_ct2(struct tf_export *e)
{
    enum { ROOM = 16 };
    const struct tf_names f = names_of(&e->config);
    tf_names_export(&f, &e->theirs, &e->config, &e->params, e->ours, ROOM);
    put_tensors(e);
    if (e->config.source_vocab_size > 0) {
        put_pieces(&e->text[SOURCE_PIECES], &e->pieces[0]);
        put_pieces(&e->text[TARGET_PIECES], &e->pieces[1]);
    } else {
        put_pieces(&e->text[SHARED], &e->pieces[1]);
    }
    put_config(e);
}

const struct tf_export_format tf_ct2_format = {
    .program = "CTranslate2",
    .has = has,
    .two_segmenters = true,
    .check = check_expressible,
    .convert = convert_to_ct2,
    .write_weights = tf_ct2_bin_write,
    .weights = "model.bin",
    .segmenter = {"source.spm", "target.spm"},
    .text = {[SHARED] = "shared_vocabulary.json",
             [SOURCE_PIECES] = "source_vocabulary.json",
             [TARGET_PIECES] = "target_vocabulary.json",
             [CONFIG] = "config.json"},
};
