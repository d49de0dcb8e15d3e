/* ct2.c - see ct2_private.h. */
#include "convert/ct2_private.h"
#include "base/json.h"
#include "cbor/json.h"
#include "convert/foreign_private.h"
#include "convert/names_private.h"
#include "convert/positions_private.h"
#include "convert/search_private.h"
#include "convert/segmenters_private.h"
#include "exchange/ct2_bin.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define POSITIONS "position_encodings/encodings"
#define METADATA "metadata.json"
enum { UNKNOWN_HEADS = 8 };

/* ---- single numbers: the settings in model.bin ---- */

/* The value of a tensor; NAN if it has more elements than one. */
static double setting_value(const struct tf_tensor *t)
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

static const char *const stacks[] = {"encoder", "decoder"};

/* The value of NAME of a stack; flag for an integer of 1. */
static double stack_value(const struct tf_import *m, int stack, const char *name, double missing,
                          double flag)
{
    char full[64];
    snprintf(full, sizeof full, "%s/%s", stacks[stack], name);
    const struct tf_tensor *t = tf_bundle_find(&m->bundle, full);
    if (t == NULL || t->rank != 0)
        return missing;
    const double x = setting_value(t);
    return t->dtype == TF_I32 && x == 1 ? flag : x;
}

/* The same of both stacks, which has to be one value. */
static double stacks_value(struct tf_import *m, const char *name, double missing, double flag)
{
    const double x = stack_value(m, 0, name, missing, flag),
                 y = stack_value(m, 1, name, missing, flag);
    if (x != y)
        tf_buf_item(&m->refused, "%s/%s: %g, but %s/%s: %g", stacks[0], name, x, stacks[1], name,
                    y);
    return x;
}

/* Numbers that have to be these; the others of them say what read_ct2_settings() reads, or nothing.
 */
static const struct {
    const char *name;
    double allowed;
} fixed[] = {{"alibi", 0},
             {"alibi_use_positive_positions", 0},
             {"scale_alibi", 0},
             {"rotary_interleave", 1},
             {"multi_query_attention", 0},
             {"embeddings_merge", 0},
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

static bool is_setting(const struct tf_tensor *t)
{
    return t->rank == 0 || strcmp(t->name, "decoder/alignment_heads") == 0;
}

static void check_numbers(struct tf_import *m, const double *heads)
{
    for (size_t i = 0; i < m->bundle.n; i++) {
        const struct tf_tensor *t = &m->bundle.tensors[i];
        const char *slash = strchr(t->name, '/');
        const double scale = sqrt(heads[*t->name == 'd'] / (double)m->config.d_model);
        if (t->rank == 0 && tf_ends_with(t->name, "/queries_scale")) {
            if (!(fabs(setting_value(t) - scale) <= 1e-3 * scale))
                tf_buf_item(&m->refused, "%s: %g", t->name, setting_value(t));
        } else if (t->rank == 0 && slash != NULL && !is_known(slash + 1, setting_value(t)))
            tf_buf_item(&m->refused, "%s: %g", t->name, setting_value(t));
    }
}

/* ---- settings ---- */

static const struct tf_tensor *source_embedding(const struct tf_import *m)
{
    const struct tf_tensor *t = tf_bundle_find(&m->bundle, "encoder/embeddings_0/weight");
    return t != NULL ? t : tf_bundle_find(&m->bundle, "encoder/embeddings/weight");
}

static int64_t layers(const struct tf_import *m, const char *stack)
{
    char name[64];
    int64_t n = 0;
    do
        snprintf(name, sizeof name, "%s/layer_%" PRId64 "/ffn/linear_0/weight", stack, n++);
    while (n <= TF_MAX_LAYERS + 1 && tf_bundle_find(&m->bundle, name) != NULL);
    return n - 1;
}

static int read_inner_width(struct tf_import *m, int stack, struct tf_err *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s/layer_0/ffn/linear_0/weight", stacks[stack]);
    const struct tf_tensor *t = tf_bundle_find(&m->bundle, name);
    if (t == NULL || t->rank != 2)
        return tf_fail(err, "no matrix '%s'", name);
    m->ff[stack] = (int64_t)t->dims[0];
    return 0;
}

/* Sizes and sharing, which follow from the matrices. */
static int read_shapes(struct tf_import *m, struct tf_err *err)
{
    struct tf_config *c = &m->config;
    const struct tf_tensor *source = source_embedding(m),
                           *target = tf_bundle_find(&m->bundle, "decoder/embeddings/weight"),
                           *project = tf_bundle_find(&m->bundle, "decoder/projection/weight");
    if (source == NULL || target == NULL || source->rank != 2 || target->rank != 2)
        return tf_fail(err, "no matrices of embeddings");
    c->vocab_size = (int64_t)target->dims[0];
    c->d_model = (int64_t)target->dims[1];
    if (read_inner_width(m, 0, err) != 0 || read_inner_width(m, 1, err) != 0)
        return -1;
    if (!tf_names_ff(m))
        tf_buf_item(&m->refused,
                    "inner layers of %" PRId64 " and %" PRId64
                    ": one is more than 8 times the other",
                    m->ff[0], m->ff[1]);
    const bool tied = project == NULL || tf_tensors_equal(target, project);
    c->tie = !tied ? TF_TIE_NONE : tf_tensors_equal(source, target) ? TF_TIE_ALL : TF_TIE_DECODER;
    c->encoder_layers = layers(m, "encoder");
    c->decoder_layers = layers(m, "decoder");
    c->output_bias = tf_bundle_find(&m->bundle, "decoder/projection/bias") != NULL;
    c->attention_bias =
        tf_bundle_find(&m->bundle, "encoder/layer_0/self_attention/linear_0/bias") != NULL;
    c->embedding_norm = tf_bundle_find(&m->bundle, "decoder/layernorm_embedding/gamma") != NULL;
    return 0;
}

/* python/ctranslate2/specs/common_spec.py */
static double activation_number(enum tf_activation a)
{
    return a == TF_ACTIVATION_SWISH ? 2 : a == TF_ACTIVATION_GELU ? 3 : 0;
}

static enum tf_activation find_activation(double number)
{
    return number == 2   ? TF_ACTIVATION_SWISH
           : number == 3 ? TF_ACTIVATION_GELU
                         : TF_ACTIVATION_RELU;
}

static struct tf_norms norms_of(const struct tf_import *m, const char *stack)
{
    char before[64], top[64];
    snprintf(before, sizeof before, "%s/pre_norm", stack);
    snprintf(top, sizeof top, "%s/layer_norm/gamma", stack);
    const struct tf_tensor *t = tf_bundle_find(&m->bundle, before);
    return (struct tf_norms){.before = t == NULL || t->rank != 0 || setting_value(t) != 0,
                             .top = tf_bundle_find(&m->bundle, top) != NULL};
}

static int read_ct2_settings(struct tf_import *m, struct tf_err *err)
{
    struct tf_config *c = &m->config;
    const struct tf_tensor *zero = tf_bundle_find(&m->bundle, "decoder/start_from_zero_embedding");
    const double root = sqrt((double)c->d_model),
                 heads[] = {stack_value(m, 0, "num_heads", UNKNOWN_HEADS, 1),
                            stack_value(m, 1, "num_heads", UNKNOWN_HEADS, 1)},
                 activation = stacks_value(m, "activation", 0, 1),
                 scale = stacks_value(m, "scale_embeddings", root, root);
    check_numbers(m, heads);
    tf_config_set_norms(c, norms_of(m, "encoder"), norms_of(m, "decoder"));
    c->start = zero != NULL && setting_value(zero) != 0 ? TF_START_ZERO : TF_START_BOS;
    c->activation = find_activation(activation);
    if (activation_number(c->activation) != activation)
        tf_buf_item(&m->refused, "activation: %g, which is neither relu nor swish nor gelu",
                    activation);
    c->unscaled_embeddings = scale == 0 || scale == 1;
    if (!c->unscaled_embeddings && !(fabs(scale - root) <= 1e-3 * root))
        tf_buf_item(&m->refused, "scale_embeddings: %g, neither 1 nor the root of %" PRId64, scale,
                    c->d_model);
    if (tf_import_refused(m, err) != 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        if (!(heads[i] >= 1 && heads[i] <= 1024))
            return tf_fail(err, "%s/num_heads: %g", stacks[i], heads[i]);
        m->heads[i] = (int64_t)heads[i];
    }
    return tf_names_heads(m, "width", err);
}

static int read_positions(struct tf_import *m, struct tf_err *err)
{
    const struct tf_tensor *encoder = tf_bundle_find(&m->bundle, "encoder/" POSITIONS),
                           *decoder = tf_bundle_find(&m->bundle, "decoder/" POSITIONS);
    if (encoder != NULL || decoder != NULL)
        return tf_positions_recognise(m, encoder, decoder, err);
    m->config.position_offset = 1;
    return 0;
}

/* ---- tokens ---- */

/* CTranslate2 adds an unknown token that a list has not. */
static int complete_list(struct tf_import *m, int side, int64_t size, const char *name,
                         struct tf_err *err)
{
    struct tf_piece_list *list = &m->pieces[side];
    if (list->n + 1 == (uint64_t)size && tf_piece_list_id(list, "<unk>") < 0) {
        const char **more = tf_arena_alloc(&m->bundle.arena, (list->n + 1) * sizeof *more);
        memcpy(more, list->v, list->n * sizeof *more);
        more[list->n] = "<unk>";
        *list = (struct tf_piece_list){more, list->n + 1};
    }
    if (list->n == (uint64_t)size)
        return 0;
    return tf_fail(err, "%zu tokens of the %s, and %" PRId64 " embeddings", list->n, name, size);
}

static int read_token(struct tf_import *m, const char *key, const char *usual, const char **token,
                      struct tf_err *err)
{
    *token = usual;
    return tf_value_find(&m->json, key, TF_NULL) != NULL ||
                   tf_value_text_of(&m->json, key, token, err) >= 0
               ? 0
               : -1;
}

/* Special tokens under other names would not be special to the tools of text. */
static int require_token(struct tf_import *m, const char *key, const char *usual,
                         struct tf_err *err)
{
    const char *token;
    if (read_token(m, key, usual, &token, err) != 0)
        return -1;
    return strcmp(token, usual) == 0 ? 0 : tf_fail(err, "%s: %s: only %s is supported", key, token,
                                                   usual);
}

static int read_lists(struct tf_import *m, int64_t source_size, struct tf_err *err)
{
    const bool shared = m->pieces[0].v == m->pieces[1].v;
    if (complete_list(m, 0, source_size, "source", err) != 0)
        return -1;
    if (shared)
        m->pieces[1] = m->pieces[0];
    else
        m->config.source_vocab_size = source_size;
    return complete_list(m, 1, m->config.vocab_size, "target", err);
}

static int read_tokens(struct tf_import *m, struct tf_err *err)
{
    struct tf_config *c = &m->config;
    const struct tf_piece_list *list = m->pieces;
    const char *start;
    bool source_bos = false, source_eos = false;
    if (read_lists(m, (int64_t)source_embedding(m)->dims[0], err) != 0 ||
        require_token(m, "unk_token", "<unk>", err) != 0 ||
        require_token(m, "eos_token", "</s>", err) != 0 ||
        read_token(m, "decoder_start_token", "<s>", &start, err) != 0 ||
        tf_value_bool_of(&m->json, "add_source_eos", &source_eos, err) < 0 ||
        tf_value_bool_of(&m->json, "add_source_bos", &source_bos, err) < 0)
        return -1;
    if (source_bos)
        return tf_fail(err, "add_source_bos: true is not supported");
    m->header.special.unk = tf_piece_list_id(&list[1], "<unk>");
    c->eos = tf_piece_list_id(&list[1], "</s>");
    c->bos = tf_piece_list_id(&list[1], c->start == TF_START_ZERO ? "<s>" : start);
    c->pad = tf_piece_list_id(&list[1], "<pad>");
    if (c->eos < 0)
        return tf_fail(err, "no token </s>");
    if (!tf_config_own_start(c) && strcmp(start, "<s>") != 0 &&
        tf_piece_list_id(&list[1], "<s>") >= 0)
        return tf_fail(err, "decoder_start_token: %s: in place of <s> only <pad> and </s> are "
                            "supported", start);
    c->source_eos = source_eos || c->start == TF_START_ZERO || c->bos == c->eos;
    return c->source_vocab_size == 0 || !c->source_eos ||
                   tf_piece_list_id(&list[0], "</s>") == c->eos
               ? 0
               : tf_fail(err, "</s> has another id in the source's vocabulary");
}

/* ---- tensors ---- */

#define LINEAR(ours, theirs) {ours ".w", theirs "/weight"}, {ours ".b", theirs "/bias"}
#define NORM(ours, theirs) \
    {ours ".norm.g", theirs "layer_norm/gamma"}, {ours ".norm.b", theirs "layer_norm/beta"}

static const struct tf_names_row layer_names[] = {
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

#define MODEL_NAMES \
    {"dec.project", "decoder/projection/weight"}, {"dec.project.b", "decoder/projection/bias"}, \
        {"enc.pos", "encoder/" POSITIONS}, {"dec.pos", "decoder/" POSITIONS}, \
        NORM("enc", "encoder/"), NORM("dec", "decoder/"), \
        {"enc.input.norm.g", "encoder/layernorm_embedding/gamma"}, \
        {"enc.input.norm.b", "encoder/layernorm_embedding/beta"}, \
        {"dec.input.norm.g", "decoder/layernorm_embedding/gamma"}, \
        {"dec.input.norm.b", "decoder/layernorm_embedding/beta"}, {NULL, NULL}
#define SOURCE "encoder/embeddings_0/weight encoder/embeddings/weight"

static const struct tf_names_row model_names[] = {
    {"embed", "decoder/embeddings/weight decoder/projection/weight " SOURCE},
    {"enc.embed", SOURCE},
    {"dec.embed", "decoder/embeddings/weight decoder/projection/weight"},
    MODEL_NAMES,
};
static const struct tf_names_row untied_names[] = {
    {"enc.embed", SOURCE},
    {"dec.embed", "decoder/embeddings/weight"},
    MODEL_NAMES,
};

static bool is_table(const char *name)
{
    return strcmp(name, "encoder/" POSITIONS) == 0 || strcmp(name, "decoder/" POSITIONS) == 0;
}

static struct tf_names ct2_names(const struct tf_config *c)
{
    return (struct tf_names){.layers = layer_names,
                             .model = c->tie == TF_TIE_NONE ? untied_names : model_names,
                             .layer = {"encoder/layer_", "decoder/layer_"},
                             .after = "/",
                             .transposed = true,
                             .is_extra = is_table};
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

static int read_epsilon(struct tf_import *m, struct tf_err *err)
{
    static const char key[] = "layer_norm_epsilon";
    return tf_value_find(&m->json, key, TF_NULL) != NULL ||
                   tf_value_real_of(&m->json, key, 0, 1, &m->config.norm_eps, err) >= 0
               ? 0
               : tf_context(err, "config.json");
}

int tf_ct2_import(struct tf_import *m, struct tf_err *err)
{
    m->config = tf_names_config();
    if (read_epsilon(m, err) != 0 || read_shapes(m, err) != 0 || read_ct2_settings(m, err) != 0 ||
        read_positions(m, err) != 0 || read_tokens(m, err) != 0 ||
        tf_config_check(&m->config, err) != 0)
        return -1;
    drop_settings(&m->bundle);
    const struct tf_names f = ct2_names(&m->config);
    return tf_names_import(&f, m, err);
}

/* A list of pieces, by the beginning of its name. */
static const char *find_list(const struct tf_dir *d, const char *side)
{
    char json[64], txt[64];
    snprintf(json, sizeof json, "%svocabulary.json", side);
    snprintf(txt, sizeof txt, "%svocabulary.txt", side);
    return tf_dir_first(d, (const char *const[]){json, txt, NULL});
}

static bool has_model(const struct tf_dir *d)
{
    return tf_dir_has(d, "model.bin") != NULL &&
           (find_list(d, "shared_") != NULL || find_list(d, "source_") != NULL ||
            find_list(d, "") != NULL /* of a model without an encoder, or of speech */);
}

/* A package of Argos: the model is in a folder of it. */
static bool claims_package(const struct tf_import *m)
{
    return !has_model(m->dir) && tf_dir_has(m->dir, METADATA) != NULL &&
           tf_dir_has(m->dir, "model") != NULL;
}

static bool claims_ct2_dir(const struct tf_import *m)
{
    return has_model(m->dir);
}

static int find_model(struct tf_import *m, const struct tf_dir *d, struct tf_err *err)
{
    struct tf_model_files *f = &m->files;
    f->weights = tf_dir_has(d, "model.bin");
    f->pieces[0] = find_list(d, "shared_");
    if (f->pieces[0] == NULL)
        f->pieces[0] = find_list(d, "");
    if (f->vocab[0] == NULL && tf_import_find_segmenters(m, d, err) != 0)
        return -1;
    if (f->pieces[0] != NULL)
        return 0;
    f->pieces[0] = find_list(d, "source_");
    f->pieces[1] = find_list(d, "target_");
    return f->pieces[1] != NULL ? 0 : tf_fail(err, "%s: no target_vocabulary", d->path);
}

/* The token with which targets begin, if the settings of a package have one. */
static int read_begin(struct tf_import *m, struct tf_err *err)
{
    const char *path = tf_dir_path(m->dir, METADATA), *prefix = "";
    struct tf_value v;
    if (tf_import_json(&v, m->arena, path, err) != 0)
        return -1;
    if (tf_value_text_of(&v, "target_prefix", &prefix, err) < 0)
        return tf_context(err, "%s", path);
    m->begin = *prefix != 0 ? prefix : NULL;
    return 0;
}

static int find_package_files(struct tf_import *m, struct tf_err *err)
{
    struct tf_dir inner;
    if (tf_import_find_segmenters(m, m->dir, err) != 0)
        return -1;
    if (m->files.vocab[0] == NULL)
        m->files.codes = tf_dir_has(m->dir, "bpe.model");
    if (read_begin(m, err) != 0 ||
        tf_dir_inner(&inner, m->dir, "model", err) != 0)
        return -1;
    if (!has_model(&inner))
        return tf_fail(err, "%s: no model of CTranslate2", inner.path);
    tf_import_read_config(m, &inner);
    return find_model(m, &inner, err);
}

static int find_ct2_files(struct tf_import *m, struct tf_err *err)
{
    return find_model(m, m->dir, err);
}

static int read_ct2_weights(struct tf_import *m, const void *p, size_t n, struct tf_err *err)
{
    return tf_ct2_bin_read(&m->bundle, p, n, err);
}

static int read_ct2(struct tf_import *m, struct tf_err *err)
{
    if (m->files.pieces[0] == NULL)
        return tf_fail_status(err, TF_USAGE, "%s: a model of CTranslate2: name its directory",
                              m->name);
    m->vocab_name = m->files.pieces[0];
    if (tf_import_pieces(m, err) != 0 || tf_import_check_config(m, err) != 0)
        return -1;
    if (tf_ct2_import(m, err) != 0)
        return tf_context(err, "%s", m->name);
    if (tf_import_codes(m, err) != 0 || tf_import_segmenters(m, err) != 0)
        return -1;
    return m->begin == NULL || tf_piece_list_id(&m->pieces[1], m->begin) >= 0
               ? 0
               : tf_fail(err, "%s: target_prefix %s of metadata.json: no token of its targets",
                         m->name, m->begin);
}

/* ---- search: translate_batch, and Argos' own call (argostranslate/translate.py, 1.11) ---- */

static void put_ct2_search(struct tf_import *m, int64_t beam, double penalty)
{
    tf_search_put_begin(m, m->begin, "target_prefix");
    tf_search_put_word(m, "search", "ctranslate2");
    tf_search_put(m, "beam", tf_value_int(beam));
    tf_search_put(m, "normalize", tf_value_real(penalty));
    tf_search_put_limit(m, 0, 0, 256, "max_decoding_length");
    tf_search_put(m, "min-length", tf_value_int(1));
    tf_search_put(m, "allow-unk", tf_value_bool(true));
    tf_search_put(m, "free-prefix", tf_value_bool(true));
}

static int search_of_ct2(struct tf_import *m, struct tf_err *err)
{
    (void)err;
    put_ct2_search(m, 2, 1);
    return 0;
}

static int search_of_argos(struct tf_import *m, struct tf_err *err)
{
    (void)err;
    put_ct2_search(m, 4, 0.2);
    tf_buf_item(&m->left, "replace_unknowns");
    return 0;
}

/* ---- writing ---- */

static const struct tf_export_member ct2_has[] = {
    {"activation", "relu|swish|gelu", NULL},
    {"decoder_self", "attention", ", a recurrent decoder (but --to marian)"},
    {"positions", "sin|learned", NULL},
    {"position_table", "paper|t2t|halves", NULL},
    {"start", "bos|zero", NULL},
    {NULL, NULL, NULL},
};

static void refuse_ct2_cases(struct tf_export *e)
{
    const struct tf_config *c = &e->config;
    if (!c->source_eos && (c->start == TF_START_ZERO || c->bos == c->eos))
        tf_export_refuse(e, "source_eos false where the decoder starts with zeros or with eos");
    if (e->unk < 0)
        tf_export_refuse(e, "vocabularies without <unk>");
}

static void put_scalar(struct tf_export *e, const char *name, enum tf_dtype dtype, const void *data)
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
    put_scalar(e, full, TF_I8, &(int8_t){(int8_t)x});
}

static void put_stack_numbers(struct tf_export *e, const char *stack)
{
    const struct tf_config *c = &e->config;
    const float scale = c->unscaled_embeddings ? 1 : sqrtf((float)c->d_model);
    char name[64];
    put_flag(e, stack, "pre_norm", tf_config_norms(c, strcmp(stack, "decoder") == 0).before);
    put_flag(e, stack, "activation", (int)activation_number(c->activation));
    snprintf(name, sizeof name, "%s/num_heads", stack);
    put_scalar(e, name, TF_I32, &(int32_t){(int32_t)c->heads});
    snprintf(name, sizeof name, "%s/scale_embeddings", stack);
    put_scalar(e, name, TF_F32, &scale);
}

/* A further tensor with the data of one that is there. */
static void put_alias(struct tf_export *e, const char *alias, const char *of)
{
    struct tf_bundle *b = &e->theirs;
    const struct tf_tensor *t = tf_bundle_find(b, of);
    if (t == NULL)
        return;
    b->tensors[b->n] = *t;
    b->tensors[b->n++].name = alias;
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
    put_stack_numbers(e, "encoder");
    put_stack_numbers(e, "decoder");
    put_flag(e, "decoder", "start_from_zero_embedding", c->start == TF_START_ZERO);
    put_scalar(e, "decoder/alignment_layer", TF_I32, &(int32_t){-1});
    put_scalar(e, "decoder/alignment_heads", TF_I32, &(int32_t){1});
}

static void put_token_list(struct tf_buf *text, const struct tf_piece_list *pieces)
{
    struct tf_json j = {.out = text};
    tf_json_strs(&j, pieces->v, pieces->n);
    tf_buf_byte(text, '\n');
}

enum { SHARED, SOURCE_PIECES, TARGET_PIECES, CONFIG };

static void put_ct2_config(struct tf_export *e)
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
    const struct tf_names f = ct2_names(&e->config);
    tf_names_export(&f, e, ROOM);
    put_tensors(e);
    if (e->config.source_vocab_size > 0) {
        put_token_list(&e->text[SOURCE_PIECES], &e->pieces[0]);
        put_token_list(&e->text[TARGET_PIECES], &e->pieces[1]);
    } else {
        put_token_list(&e->text[SHARED], &e->pieces[1]);
    }
    put_ct2_config(e);
}

static const struct tf_export_format ct2_format = {
    .format = TF_FORMAT_CT2,
    .program = "CTranslate2",
    .has = ct2_has,
    .has_any = "embedding_norm|unscaled_embeddings|pre_norm|final_norm|decoder_norms|"
               "source_vocab_size|source_eos|max_positions|position_offset|norm_eps",
    .ids_beside = true,
    .two_segmenters = true,
    .check = refuse_ct2_cases,
    .convert = convert_to_ct2,
    .write_weights = tf_ct2_bin_write,
    .weights = "model.bin",
    .segmenter = {"source.spm", "target.spm"},
    .text = {[SHARED] = "shared_vocabulary.json",
             [SOURCE_PIECES] = "source_vocabulary.json",
             [TARGET_PIECES] = "target_vocabulary.json",
             [CONFIG] = "config.json"},
};

const struct tf_program tf_ct2 = {
    .name = "CTranslate2",
    .claims_dir = claims_ct2_dir,
    .find_files = find_ct2_files,
    .begins = tf_ct2_bin_begins,
    .read_weights = read_ct2_weights,
    .read = read_ct2,
    .search = search_of_ct2,
    .needs_pieces = true,
    .has_positions = true,
    .writes = &ct2_format,
};

const struct tf_program tf_argos = {
    .name = "CTranslate2",
    .claims_dir = claims_package,
    .find_files = find_package_files,
    .begins = tf_ct2_bin_begins,
    .read_weights = read_ct2_weights,
    .read = read_ct2,
    .search = search_of_argos,
    .needs_pieces = true,
    .has_positions = true,
};
