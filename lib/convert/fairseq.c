/* fairseq.c - see fairseq_private.h. */
#include "base/buf.h"
#include "base/input.h"
#include "base/memory.h"
#include "convert/fairseq_private.h"
#include "convert/foreign_private.h"
#include "convert/names_private.h"
#include "stream/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOS, PAD, EOS, UNK, SPECIALS };

struct import {
    struct tf_bundle *b;
    const struct tf_py *args;
    struct tf_config c;
    int64_t ff[2]; /* widths of the inner layers of both stacks */
    struct tf_buf refused;
};

/* ---- arguments ---- */

/* Of old checkpoints, or of newer ones, where they are those of the model. */
static const struct tf_py *arguments(const struct tf_torch *t)
{
    const struct tf_py *args = tf_torch_dict(t->root, "args");
    return args != NULL ? args : tf_torch_dict(tf_torch_dict(t->root, "cfg"), "model");
}

bool tf_fairseq_is(const struct tf_torch *t)
{
    return tf_torch_dict(t->root, "model") != NULL && arguments(t) != NULL;
}

static void refuse(struct import *m, const char *key, const char *value)
{
    tf_buf_item(&m->refused, "%s: %s", key, value);
}

/* Flags that change the function, and that we do not compute. */
static const char *const off[] = {
    "encoder_learned_pos",   "decoder_learned_pos",   "no_token_positional_embeddings",
    "no_scale_embedding",    "layernorm_embedding",   "no_cross_attention",
    "cross_self_attention",  "char_inputs",           "adaptive_input",
    "no_decoder_final_norm", "tie_adaptive_weights",  "base_layers",
    "scale_attn",            "scale_fc",              "scale_heads",
    "scale_resids",          "normformer"};

static void check_flags(struct import *m)
{
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (tf_torch_int(m->args, off[i], 0) != 0)
            refuse(m, off[i], "true");
    const char *arch = tf_torch_text(m->args, "arch", "transformer");
    if (strncmp(arch, "transformer", 11) != 0 || strncmp(arch, "transformer_lm", 14) == 0)
        refuse(m, "arch", arch);
    const char *activation = tf_torch_text(m->args, "activation_fn", "relu");
    if (strcmp(activation, "relu") != 0 && strcmp(activation, "swish") != 0)
        refuse(m, "activation_fn", activation);
    m->c.activation =
        strcmp(activation, "relu") == 0 ? TF_ACTIVATION_RELU : TF_ACTIVATION_SWISH;
}

/* The same number for both stacks. */
static int64_t both(struct import *m, const char *what)
{
    char key[64], other[64], value[32];
    snprintf(key, sizeof key, "encoder_%s", what);
    snprintf(other, sizeof other, "decoder_%s", what);
    const int64_t x = tf_torch_int(m->args, key, 0), y = tf_torch_int(m->args, other, x);
    snprintf(value, sizeof value, "%" PRId64, y);
    if (x != y)
        refuse(m, other, value);
    return x;
}

static int read_tying(struct tf_bundle *b, struct tf_config *c, bool shared, struct tf_err *err)
{
    const struct tf_tensor *source = tf_bundle_find(b, "encoder.embed_tokens.weight"),
                           *target = tf_bundle_find(b, "decoder.embed_tokens.weight"),
                           *project = tf_bundle_find(b, "decoder.output_projection.weight");
    if (project == NULL)
        project = tf_bundle_find(b, "decoder.embed_out");
    if (shared) {
        target = target != NULL ? target : source != NULL ? source : project;
        source = source != NULL ? source : target;
    }
    if (source == NULL || target == NULL || source->rank != 2 || target->rank != 2)
        return tf_fail(err, "no matrices of embeddings");
    const bool tied = project == NULL || tf_tensors_equal(target, project);
    c->tie = shared                             ? TF_TIE_ALL
             : !tied                            ? TF_TIE_NONE
             : tf_tensors_equal(source, target) ? TF_TIE_ALL
                                                : TF_TIE_DECODER;
    c->vocab_size = (int64_t)target->dims[0];
    c->source_vocab_size = c->tie == TF_TIE_ALL ? 0 : (int64_t)source->dims[0];
    return 0;
}

static double dropout(const struct import *m, const char *key, double missing)
{
    const double p = tf_torch_real(m->args, key, missing);
    return p >= 0 && p <= 0.999 ? p : missing;
}

static int read_settings(struct import *m, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    check_flags(m);
    c->d_model = both(m, "embed_dim");
    m->ff[0] = tf_torch_int(m->args, "encoder_ffn_embed_dim", 0);
    m->ff[1] = tf_torch_int(m->args, "decoder_ffn_embed_dim", m->ff[0]);
    if (!tf_names_ff(c, m->ff))
        refuse(m, "decoder_ffn_embed_dim", "less than an eighth of the encoder's, or the reverse");
    c->heads = both(m, "attention_heads");
    c->pre_norm = both(m, "normalize_before") != 0;
    c->encoder_layers = tf_torch_int(m->args, "encoder_layers", 0);
    c->decoder_layers = tf_torch_int(m->args, "decoder_layers", 0);
    c->final_norm = tf_bundle_find(m->b, "decoder.layer_norm.weight") != NULL;
    c->dropout = dropout(m, "dropout", c->dropout);
    c->attention_dropout = dropout(m, "attention_dropout", 0);
    c->relu_dropout = dropout(m, "activation_dropout", dropout(m, "relu_dropout", 0));
    if (tf_refused(&m->refused, err) != 0)
        return -1;
    if (c->heads < 1 || c->d_model % c->heads != 0)
        return tf_fail(err, "encoder_embed_dim %" PRId64 ": not a multiple of %" PRId64 " heads",
                       c->d_model, c->heads);
    c->d_k = c->d_v = c->d_model / c->heads;
    return 0;
}

/* ---- tensors ---- */

#define LINEAR(ours, theirs) {ours ".w", theirs ".weight"}, {ours ".b", theirs ".bias"}
#define NORM(ours, theirs) \
    {ours ".norm.g", theirs "layer_norm.weight"}, {ours ".norm.b", theirs "layer_norm.bias"}

static const struct tf_names_row of_layers[] = {
    {"self.qkv.w", "self_attn.q_proj.weight self_attn.k_proj.weight self_attn.v_proj.weight"},
    {"self.qkv.b", "self_attn.q_proj.bias self_attn.k_proj.bias self_attn.v_proj.bias"},
    LINEAR("self.o", "self_attn.out_proj"),
    NORM("self", "self_attn_"),
    LINEAR("cross.q", "encoder_attn.q_proj"),
    {"cross.kv.w", "encoder_attn.k_proj.weight encoder_attn.v_proj.weight"},
    {"cross.kv.b", "encoder_attn.k_proj.bias encoder_attn.v_proj.bias"},
    LINEAR("cross.o", "encoder_attn.out_proj"),
    NORM("cross", "encoder_attn_"),
    LINEAR("ff.1", "fc1"),
    LINEAR("ff.2", "fc2"),
    NORM("ff", "final_"),
    {NULL, NULL},
};

#define PROJECTION "decoder.output_projection.weight decoder.embed_out"
#define NORMS NORM("enc", "encoder."), NORM("dec", "decoder."), {NULL, NULL}

static const struct tf_names_row of_model[] = {
    {"embed", "encoder.embed_tokens.weight decoder.embed_tokens.weight " PROJECTION},
    {"enc.embed", "encoder.embed_tokens.weight"},
    {"dec.embed", "decoder.embed_tokens.weight " PROJECTION},
    NORMS,
};
static const struct tf_names_row of_untied[] = {
    {"enc.embed", "encoder.embed_tokens.weight"},
    {"dec.embed", "decoder.embed_tokens.weight"},
    {"dec.project", PROJECTION},
    NORMS,
};

static void name_of_layer(const struct tf_names *f, char *to, bool decoder, int64_t layer,
                          const char *word, size_t n)
{
    (void)f;
    snprintf(to, TF_FOREIGN_NAME, "%s.layers.%" PRId64 ".%.*s", decoder ? "decoder" : "encoder",
             layer, (int)n, word);
}

/* Copies of a layer's matrices, for a fast kernel, that fairseq 0.12.2 saves and does not use:
 * encoder.layers.N.in_proj_weight beside those of encoder.layers.N.self_attn. */
static bool is_copy(const char *name)
{
    static const char *const names[] = {"in_proj_weight", "in_proj_bias", "out_proj_weight",
                                        "out_proj_bias",  "fc1_weight",   "fc1_bias",
                                        "fc2_weight",     "fc2_bias"};
    int n = 0;
    if (sscanf(name, "encoder.layers.%*d.%n", &n) < 0 || n == 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name + n, names[i]) == 0)
            return true;
    return false;
}

/* Numbers that say how the file was written, tables that are computed, and copies. */
static bool is_extra(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot != NULL && (strcmp(dot, ".version") == 0 ||
                           strncmp(dot, ".embed_positions.", 17) == 0 || is_copy(name));
}

/* Older checkpoints have the three projections of an attention as one matrix: as three, by rows. */
static void split_fused(struct tf_bundle *b)
{
    static const char fused[] = "attn.in_proj_", letters[] = "qkv";
    struct tf_tensor *all = tf_arena_zalloc(&b->arena, (3 * b->n + 1) * sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct tf_tensor *t = &b->tensors[i];
        const char *at = strstr(t->name, fused);
        if (at == NULL || t->rank < 1 || t->dims[0] % 3 != 0) {
            all[n++] = *t;
            continue;
        }
        for (size_t k = 0; k < 3; k++) {
            char name[2 * TF_MAX_NAME];
            const int len = snprintf(name, sizeof name, "%.*sattn.%c_proj.%s", (int)(at - t->name),
                                     t->name, letters[k], at + sizeof fused - 1);
            all[n] = *t;
            all[n].name = tf_arena_strndup(&b->arena, name, (size_t)len);
            all[n].dims[0] = t->dims[0] / 3;
            all[n].bytes = t->bytes / 3;
            all[n++].data = (const char *)t->data + k * (t->bytes / 3);
        }
    }
    b->tensors = all;
    b->n = n;
}

int tf_fairseq_parameters(struct tf_bundle *b, struct tf_config *c, const int64_t ff[2],
                          bool shared, struct tf_err *err)
{
    if (read_tying(b, c, shared, err) != 0 || tf_config_check(c, err) != 0)
        return -1;
    split_fused(b);
    const struct tf_names f = {.of_layers = of_layers,
                               .of_model = c->tie == TF_TIE_NONE ? of_untied : of_model,
                               .of_layer = name_of_layer,
                               .transposed = true,
                               .ff = {ff[0], ff[1]},
                               .is_extra = is_extra};
    return tf_names_import(&f, b, c, err);
}

/* ---- all of it ---- */

static const char *of_task(struct import *m, const struct tf_torch *t, const char *key)
{
    const struct tf_py *task = tf_torch_dict(tf_torch_dict(t->root, "cfg"), "task");
    const char *text = tf_torch_text(m->args, key, tf_torch_text(task, key, NULL));
    return text != NULL ? tf_arena_strndup(&m->b->arena, text, strlen(text)) : NULL;
}

int tf_fairseq_import(struct tf_bundle *b, struct tf_config *c, struct tf_fairseq_langs *langs,
                      const struct tf_torch *t, struct tf_err *err)
{
    struct import m = {.b = b, .args = arguments(t), .c = tf_names_config()};
    m.c.position_offset = 2;
    m.c.bos = m.c.eos = EOS;
    m.c.pad = PAD;
    int rc = tf_torch_tensors(b, tf_torch_dict(t->root, "model"), err);
    if (rc == 0)
        rc = read_settings(&m, err);
    tf_buf_release(&m.refused);
    if (rc != 0)
        return -1;
    *langs = (struct tf_fairseq_langs){of_task(&m, t, "source_lang"), of_task(&m, t, "target_lang"),
                                       of_task(&m, t, "data")};
    rc = tf_fairseq_parameters(b, &m.c, m.ff, false, err);
    *c = m.c;
    return rc;
}

/* ---- dictionaries ---- */

/* Without "COUNT" or "COUNT #fairseq:overwrite" at the end of a line; 0 if they are not there. */
static size_t token_length(const char *line, size_t n)
{
    static const char overwrite[] = " #fairseq:overwrite";
    const size_t k = sizeof overwrite - 1;
    if (strlen(line) != n)
        return 0;
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\r'))
        n--;
    if (n > k && memcmp(line + n - k, overwrite, k) == 0)
        n -= k;
    const size_t end = n;
    while (n > 0 && line[n - 1] >= '0' && line[n - 1] <= '9')
        n--;
    return n < end && n > 1 && line[n - 1] == ' ' ? n - 1 : 0;
}

static int by_token(const void *a, const void *b)
{
    const char *const *x = *(const char *const *const *)a,
                      *const *y = *(const char *const *const *)b;
    const int order = strcmp(*x, *y);
    return order != 0 ? order : (x > y) - (x < y);
}

/* A token that is there again has the last of its ids; no text becomes the others. */
static void leave_last(const char **v, size_t n, struct tf_arena *a)
{
    const char ***sorted = tf_xcalloc(n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &v[i];
    qsort(sorted, n, sizeof *sorted, by_token);
    for (size_t i = 0; i + 1 < n; i++) {
        char unused[32];
        if (strcmp(*sorted[i], *sorted[i + 1]) != 0)
            continue;
        const int k = snprintf(unused, sizeof unused, "<unused-%zu>", (size_t)(sorted[i] - v));
        *sorted[i] = tf_arena_strndup(a, unused, (size_t)k);
    }
    free(sorted);
}

static int read_lines(struct tf_piece_list *list, struct tf_arena *a, char *text, size_t n,
                      struct tf_err *err)
{
    size_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    const char **v = tf_arena_alloc(a, (lines + SPECIALS + 1) * sizeof *v);
    v[BOS] = "<s>";
    v[PAD] = "<pad>";
    v[EOS] = "</s>";
    v[UNK] = "<unk>";
    size_t k = SPECIALS;
    for (char *p = text, *end = text + n, *lf; p < end; p = lf + 1) {
        lf = memchr(p, '\n', (size_t)(end - p));
        if (lf == NULL)
            lf = end; /* where a NUL is */
        *lf = 0;
        const size_t token = token_length(p, (size_t)(lf - p));
        if (token == 0)
            return tf_fail(err, "line %zu: not a token and a count", k - SPECIALS + 1);
        v[k++] = tf_arena_strndup(a, p, token);
    }
    *list = (struct tf_piece_list){v, k};
    leave_last(v, k, a);
    return 0;
}

int tf_fairseq_dictionary(struct tf_piece_list *list, struct tf_arena *a, const char *path,
                          struct tf_err *err)
{
    char *text;
    size_t n;
    if (tf_read_file(&text, &n, path, TF_MAX_VOCAB, err) != 0)
        return -1;
    const int rc = read_lines(list, a, text, n, err);
    free(text);
    return rc == 0 ? 0 : tf_context(err, "%s", path);
}
