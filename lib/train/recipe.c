/* recipe.c - the table of presets: base, and what every other row changes. Paper, section 5 and
 * tables 3 and 4; the dialect t2t has the settings of the code that was run for the paper. */
#include "train/recipe.h"
#include "base/buf.h"

#include <math.h>
#include <string.h>

enum field {
    END,
    ONLY_T2T, /* the changes after it apply to the dialect t2t only */
    LAYERS,
    D_MODEL,
    D_FF,
    HEADS,
    D_K,
    D_V,
    LEARNED_POSITIONS, /* the value is their number */
    TIE,
    DROPOUT,
    ATTENTION_DROPOUT,
    LABEL_SMOOTHING,
    TOKENS,
    STEPS,
    WARMUP,
    LR_SCALE,
    SAVE_EVERY,
    AVERAGE,
};

/* PRESET(name, changes...); of two changes of one field the later wins. */
#define PRESETS                                                                                \
    PRESET("base", {END, 0})                                                                   \
    PRESET("big", WIDE, {DROPOUT, 0.3})                                                        \
    PRESET("big-enfr", WIDE, {ONLY_T2T, 0}, {D_FF, 8192}, {TIE, TF_TIE_NONE})                  \
    PRESET("A-h1", {HEADS, 1}, {D_K, 512}, {D_V, 512}, {AVERAGE, 1})                           \
    PRESET("A-h4", {HEADS, 4}, {D_K, 128}, {D_V, 128}, {AVERAGE, 1})                           \
    PRESET("A-h16", {HEADS, 16}, {D_K, 32}, {D_V, 32}, {AVERAGE, 1})                           \
    PRESET("A-h32", {HEADS, 32}, {D_K, 16}, {D_V, 16}, {AVERAGE, 1})                           \
    PRESET("B-dk16", {D_K, 16}, {AVERAGE, 1})                                                  \
    PRESET("B-dk32", {D_K, 32}, {AVERAGE, 1})                                                  \
    PRESET("C-n2", {LAYERS, 2}, {AVERAGE, 1})                                                  \
    PRESET("C-n4", {LAYERS, 4}, {AVERAGE, 1})                                                  \
    PRESET("C-n8", {LAYERS, 8}, {AVERAGE, 1})                                                  \
    PRESET("C-d256", {D_MODEL, 256}, {D_K, 32}, {D_V, 32}, {AVERAGE, 1})                       \
    PRESET("C-d1024", {D_MODEL, 1024}, {D_K, 128}, {D_V, 128}, {AVERAGE, 1})                   \
    PRESET("C-ff1024", {D_FF, 1024}, {AVERAGE, 1})                                             \
    PRESET("C-ff4096", {D_FF, 4096}, {AVERAGE, 1})                                             \
    PRESET("D-p0.0", {DROPOUT, 0.0}, {AVERAGE, 1})                                             \
    PRESET("D-p0.2", {DROPOUT, 0.2}, {AVERAGE, 1})                                             \
    PRESET("D-ls0.0", {LABEL_SMOOTHING, 0.0}, {AVERAGE, 1})                                    \
    PRESET("D-ls0.2", {LABEL_SMOOTHING, 0.2}, {AVERAGE, 1})                                    \
    PRESET("E", {LEARNED_POSITIONS, 1024}, {AVERAGE, 1})                                       \
    PRESET("parse-wsj", PARSING)                                                               \
    PRESET("parse-semi", PARSING)                                                              \
    /* Not in the paper: for tens of thousands of pairs, in minutes on a CPU. */               \
    PRESET("tiny", {LAYERS, 4}, {D_MODEL, 128}, {D_FF, 256}, {HEADS, 4}, {D_K, 32}, {D_V, 32}, \
           {DROPOUT, 0.2}, {TOKENS, 2000}, {STEPS, 2500}, {WARMUP, 500}, {LR_SCALE, 1.5},      \
           {SAVE_EVERY, 100}, {AVERAGE, 5})

/* clang-format off */
#define WIDE {HEADS, 16}, {D_MODEL, 1024}, {D_FF, 4096}, {STEPS, 300000}, {AVERAGE, 20}
#define PARSING                                                              \
    {LAYERS, 4}, {D_MODEL, 1024}, {D_K, 128}, {D_V, 128}, {ONLY_T2T, 0},     \
    {LAYERS, 6}, {DROPOUT, 0.2}, {ATTENTION_DROPOUT, 0.2}, {TIE, TF_TIE_NONE}, \
    {WARMUP, 16000}, {LR_SCALE, 5}
/* clang-format on */

const char *const tf_presets[] = {
#define PRESET(name, ...) name,
    PRESETS
#undef PRESET
        NULL,
};

enum { MOST_CHANGES = 15 };

/* In the order of tf_presets; each row ends with END. */
static const struct change {
    enum field field;
    double value;
} presets[][MOST_CHANGES + 1] = {
#define PRESET(name, ...) {__VA_ARGS__},
    PRESETS
#undef PRESET
};

static void base(struct tf_config *c, struct tf_recipe *r, enum tf_dialect as)
{
    bool t2t = as == TF_AS_T2T;
    *c = (struct tf_config){
        .dialect = as,
        .encoder_layers = 6,
        .decoder_layers = 6,
        .d_model = 512,
        .d_ff = 2048,
        .heads = 8,
        .d_k = 64,
        .d_v = 64,
        .positions = TF_POS_SIN,
        .tie = TF_TIE_ALL,
        .start = t2t ? TF_START_ZERO : TF_START_BOS,
        .attention_bias = t2t,
        .norm_eps = 1e-6,
        .dropout = 0.1,
        .label_smoothing = 0.1,
        .smoothing = t2t ? TF_SMOOTH_V1 : TF_SMOOTH_V,
        .initializer = t2t ? TF_INITIALIZER_FUSED : TF_INITIALIZER_SCALED,
        .bos = 2,
        .eos = 3,
        .pad = 0,
    };
    *r = (struct tf_recipe){
        .tokens = TF_PAPER_TOKENS,
        .steps = t2t ? 250000 : 100000,
        .warmup = 4000,
        .save_every = 1000,
        .average = t2t ? 20 : 5,
        .lr_scale = 1,
        .beta1 = 0.9,
        .beta2 = 0.98,
        .adam_eps = 1e-9,
        .eps_hat = t2t,
    };
}

static void apply(struct tf_config *c, struct tf_recipe *r, enum field field, double x)
{
    switch (field) {
    case END:
    case ONLY_T2T:
        break;
    case LAYERS:
        c->encoder_layers = c->decoder_layers = (int64_t)x;
        break;
    case D_MODEL:
        c->d_model = (int64_t)x;
        break;
    case D_FF:
        c->d_ff = (int64_t)x;
        break;
    case HEADS:
        c->heads = (int64_t)x;
        break;
    case D_K:
        c->d_k = (int64_t)x;
        break;
    case D_V:
        c->d_v = (int64_t)x;
        break;
    case LEARNED_POSITIONS:
        c->positions = TF_POS_LEARNED;
        c->max_positions = (int64_t)x;
        break;
    case TIE:
        c->tie = (enum tf_tie)x;
        break;
    case DROPOUT:
        c->dropout = x;
        break;
    case ATTENTION_DROPOUT:
        c->attention_dropout = x;
        break;
    case LABEL_SMOOTHING:
        c->label_smoothing = x;
        break;
    case TOKENS:
        r->tokens = (int64_t)x;
        break;
    case STEPS:
        r->steps = (int64_t)x;
        break;
    case WARMUP:
        r->warmup = (int64_t)x;
        break;
    case LR_SCALE:
        r->lr_scale = x;
        break;
    case SAVE_EVERY:
        r->save_every = (int64_t)x;
        break;
    case AVERAGE:
        r->average = (int64_t)x;
        break;
    }
}

static int unknown(const char *name, struct tf_err *err)
{
    struct tf_buf list = {0};
    for (int i = 0; tf_presets[i] != NULL; i++)
        tf_buf_printf(&list, " %s", tf_presets[i]);
    tf_fail_status(err, TF_USAGE, "preset '%s': unknown; one of%s", name, list.p);
    tf_buf_release(&list);
    return -1;
}

int tf_preset(struct tf_config *c, struct tf_recipe *r, const char *name, enum tf_dialect as,
              struct tf_err *err)
{
    int row = 0;
    while (tf_presets[row] != NULL && strcmp(tf_presets[row], name) != 0)
        row++;
    if (tf_presets[row] == NULL)
        return unknown(name, err);
    base(c, r, as);
    for (const struct change *x = presets[row]; x->field != END; x++) {
        if (x->field == ONLY_T2T && as != TF_AS_T2T)
            break;
        apply(c, r, x->field, x->value);
    }
    r->own_d_k = c->d_k * c->heads != c->d_model;
    return 0;
}

struct tf_fine_tuning tf_fine_tuning(const struct tf_config *model)
{
    /* The rate with which the paper's schedule ends for base, after 100,000 updates: low enough to
     * keep what the model knows. Adam's moments start from zero, hence the warmup. */
    return (struct tf_fine_tuning){.steps = 1000,
                                   .warmup = 100,
                                   .save_every = 100,
                                   .lr = 1 / sqrt((double)model->d_model * 100000)};
}
