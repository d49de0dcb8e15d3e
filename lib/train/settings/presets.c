/* presets.c - the table of presets: base, and what every other one changes. Paper, section 5 and
 * tables 3 and 4; the dialect t2t has the settings of the code that was run for the paper. */
#include "train/settings/presets.h"
#include "base/buf.h"

#include <math.h>
#include <string.h>

/* A setting and its value; of two changes of one setting the later wins. */
struct change {
    const char *setting;
    double value;
};

/* clang-format off */
#define END {NULL, 0}
#define ONLY_T2T {"", 0} /* a mark: the changes after it are of the dialect t2t only */
#define LAYERS(n) {"encoder_layers", n}, {"decoder_layers", n}
/* clang-format on */

enum { T2T_STEPS = 250000 }; /* the default of the code, whatever the preset */

static const struct change base[] = {
    LAYERS(6),
    {"d_model", 512},
    {"d_ff", 2048},
    {"heads", 8},
    {"d_k", 64},
    {"d_v", 64},
    {"positions", TF_POS_SIN},
    {"tie", TF_TIE_ALL},
    {"start", TF_START_BOS},
    {"norm_eps", 1e-6},
    {"dropout", 0.1},
    {"label_smoothing", 0.1},
    {"smoothing", TF_SMOOTH_V},
    {"initializer", TF_INITIALIZER_SCALED},
    {"fit_tokens", TF_PAPER_TOKENS},
    {"steps", 100000},
    {"schedule", TF_SCHEDULE_PAPER},
    {"warmup", 4000},
    {"lr_scale", 1},
    {"beta1", 0.9},
    {"beta2", 0.98},
    {"adam_eps", 1e-9},
    {"eps_hat", false},
    {"save_every", 1000},
    {"average", 5},
    ONLY_T2T,
    {"start", TF_START_ZERO},
    {"attention_bias", true},
    {"smoothing", TF_SMOOTH_V1},
    {"initializer", TF_INITIALIZER_FUSED},
    {"steps", T2T_STEPS},
    {"eps_hat", true},
    {"average", 20},
    END,
};

/* clang-format off */
#define WIDE                                                                              \
    {"heads", 16}, {"d_model", 1024}, {"d_ff", 4096}, {"steps", 300000}, {"average", 20}, \
    ONLY_T2T, {"steps", T2T_STEPS}
#define PARSING                                                                           \
    LAYERS(4), {"d_model", 1024}, {"d_k", 128}, {"d_v", 128}, ONLY_T2T,                   \
    LAYERS(6), {"dropout", 0.2}, {"attention_dropout", 0.2}, {"tie", TF_TIE_NONE},        \
    {"warmup", 16000}, {"lr_scale", 5}
/* clang-format on */

enum { MOST_CHANGES = 15 };

/* clang-format off */
static const struct preset {
    const char *name;
    struct change changes[MOST_CHANGES + 1];
} presets[] = {
    {"base", {END}},
    {"big", {{"dropout", 0.3}, WIDE}},
    {"big-enfr", {WIDE, {"d_ff", 8192}, {"tie", TF_TIE_NONE}}},
    {"A-h1", {{"heads", 1}, {"d_k", 512}, {"d_v", 512}, {"average", 1}}},
    {"A-h4", {{"heads", 4}, {"d_k", 128}, {"d_v", 128}, {"average", 1}}},
    {"A-h16", {{"heads", 16}, {"d_k", 32}, {"d_v", 32}, {"average", 1}}},
    {"A-h32", {{"heads", 32}, {"d_k", 16}, {"d_v", 16}, {"average", 1}}},
    {"B-dk16", {{"d_k", 16}, {"average", 1}}},
    {"B-dk32", {{"d_k", 32}, {"average", 1}}},
    {"C-n2", {LAYERS(2), {"average", 1}}},
    {"C-n4", {LAYERS(4), {"average", 1}}},
    {"C-n8", {LAYERS(8), {"average", 1}}},
    {"C-d256", {{"d_model", 256}, {"d_k", 32}, {"d_v", 32}, {"average", 1}}},
    {"C-d1024", {{"d_model", 1024}, {"d_k", 128}, {"d_v", 128}, {"average", 1}}},
    {"C-ff1024", {{"d_ff", 1024}, {"average", 1}}},
    {"C-ff4096", {{"d_ff", 4096}, {"average", 1}}},
    {"D-p0.0", {{"dropout", 0.0}, {"average", 1}}},
    {"D-p0.2", {{"dropout", 0.2}, {"average", 1}}},
    {"D-ls0.0", {{"label_smoothing", 0.0}, {"average", 1}}},
    {"D-ls0.2", {{"label_smoothing", 0.2}, {"average", 1}}},
    {"E", {{"positions", TF_POS_LEARNED}, {"max_positions", 1024}, {"average", 1}}},
    {"parse-wsj", {PARSING}},
    {"parse-semi", {PARSING}},
    /* Not in the paper: for tens of thousands of pairs, in minutes on a CPU. */
    {"tiny", {LAYERS(4), {"d_model", 128}, {"d_ff", 256}, {"heads", 4}, {"d_k", 32}, {"d_v", 32},
              {"dropout", 0.2}, {"fit_tokens", 2000}, {"steps", 2500}, {"warmup", 500},
              {"lr_scale", 1.5}, {"save_every", 100}, {"average", 5}}},
};
/* clang-format on */

const char *const tf_presets[] = {
    "base", "big", "big-enfr", "A-h1", "A-h4", "A-h16", "A-h32", "B-dk16", "B-dk32", "C-n2",
    "C-n4", "C-n8", "C-d256", "C-d1024", "C-ff1024", "C-ff4096", "D-p0.0", "D-p0.2", "D-ls0.0",
    "D-ls0.2", "E", "parse-wsj", "parse-semi", "tiny", NULL,
};
_Static_assert(sizeof presets / sizeof *presets == sizeof tf_presets / sizeof *tf_presets - 1,
               "tf_presets names the rows of presets");

static void apply_changes(struct tf_settings *s, const struct change *changes, enum tf_dialect as)
{
    for (const struct change *x = changes; x->setting != NULL; x++) {
        if (*x->setting == 0 && as != TF_AS_T2T)
            break;
        if (*x->setting == 0)
            continue;
        const struct tf_setting row = tf_setting_of(x->setting);
        tf_member_set(&row.field, s, x->value);
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

int tf_preset(struct tf_settings *s, const char *name, enum tf_dialect as, struct tf_err *err)
{
    const struct preset *row = presets, *end = presets + sizeof presets / sizeof *presets;
    while (row < end && strcmp(row->name, name) != 0)
        row++;
    if (row == end)
        return unknown(name, err);
    s->preset = name;
    s->config = (struct tf_config){.dialect = as, .source_eos = true, .bos = 2, .eos = 3};
    s->schedule = (struct tf_schedule){0};
    apply_changes(s, base, as);
    apply_changes(s, row->changes, as);
    s->own_d_k = s->config.d_k * s->config.heads != s->config.d_model;
    s->keep = s->average > 5 ? s->average : 5;
    s->usual = s->schedule;
    s->usual.d_model = s->config.d_model;
    return 0;
}

/* A constant rate after a short warmup. The rate is that with which the paper's schedule ends for
 * base, after 100,000 updates: low enough to keep what the model knows. Adam's moments start from
 * zero, hence the warmup. */
static void fine_tune(struct tf_settings *s)
{
    s->steps = 1000;
    s->save_every = 100;
    s->schedule = (struct tf_schedule){.kind = TF_SCHEDULE_CONSTANT,
                                       .lr = 1 / sqrt((double)s->config.d_model * 100000),
                                       .scale = 1,
                                       .warmup = 100};
}

int tf_preset_from_model(struct tf_settings *s, const struct tf_config *model, const char *preset,
                         int dialect, bool schedule, struct tf_err *err)
{
    if (dialect < 0)
        dialect = (int)model->dialect;
    if (tf_preset(s, preset != NULL ? preset : "base", (enum tf_dialect)dialect, err) != 0)
        return -1;
    if (preset == NULL) {
        s->fit_tokens = 0;
        s->config = *model;
        s->config.dialect = (enum tf_dialect)dialect;
        if (schedule)
            fine_tune(s);
    }
    s->config.vocab_size = model->vocab_size;
    s->config.source_vocab_size = model->source_vocab_size;
    s->config.initializer = model->initializer; /* there is nothing to initialise */
    return 0;
}
