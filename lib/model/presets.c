/* presets.c - the rows of the paper's tables by name, in two dialects: as the paper says, and as
 * the code did that ran for it. */
#include "model/config.h"

#include <string.h>

const char *const tf_presets[] = {"base",     "big",       "big-enfr",   "A-h1",    "A-h4",
                                  "A-h16",    "A-h32",     "B-dk16",     "B-dk32",  "C-n2",
                                  "C-n4",     "C-n8",      "C-d256",     "C-d1024", "C-ff1024",
                                  "C-ff4096", "D-p0.0",    "D-p0.2",     "D-ls0.0", "D-ls0.2",
                                  "E",        "parse-wsj", "parse-semi", "tiny",    NULL};

/* Table 3: what each row changes from base; 0 or -1 keeps. */
static const struct row {
    const char *name;
    int heads, d_k, d_v, layers, d_model, d_ff;
    double dropout, smoothing;
    int steps, average;
} rows[] = {
    {"big", 16, 64, 64, 0, 1024, 4096, 0.3, -1, 300000, 20},
    {"big-enfr", 16, 64, 64, 0, 1024, 4096, 0.1, -1, 300000, 20},
    {"A-h1", 1, 512, 512, 0, 0, 0, -1, -1, 0, 1},
    {"A-h4", 4, 128, 128, 0, 0, 0, -1, -1, 0, 1},
    {"A-h16", 16, 32, 32, 0, 0, 0, -1, -1, 0, 1},
    {"A-h32", 32, 16, 16, 0, 0, 0, -1, -1, 0, 1},
    {"B-dk16", 0, 16, 64, 0, 0, 0, -1, -1, 0, 1},
    {"B-dk32", 0, 32, 64, 0, 0, 0, -1, -1, 0, 1},
    {"C-n2", 0, 0, 0, 2, 0, 0, -1, -1, 0, 1},
    {"C-n4", 0, 0, 0, 4, 0, 0, -1, -1, 0, 1},
    {"C-n8", 0, 0, 0, 8, 0, 0, -1, -1, 0, 1},
    {"C-d256", 0, 32, 32, 0, 256, 0, -1, -1, 0, 1},
    {"C-d1024", 0, 128, 128, 0, 1024, 0, -1, -1, 0, 1},
    {"C-ff1024", 0, 0, 0, 0, 0, 1024, -1, -1, 0, 1},
    {"C-ff4096", 0, 0, 0, 0, 0, 4096, -1, -1, 0, 1},
    {"D-p0.0", 0, 0, 0, 0, 0, 0, 0.0, -1, 0, 1},
    {"D-p0.2", 0, 0, 0, 0, 0, 0, 0.2, -1, 0, 1},
    {"D-ls0.0", 0, 0, 0, 0, 0, 0, -1, 0.0, 0, 1},
    {"D-ls0.2", 0, 0, 0, 0, 0, 0, -1, 0.2, 0, 1},
    {"E", 0, 0, 0, 0, 0, 0, -1, -1, 0, 1},
    {"parse-wsj", 0, 128, 128, 4, 1024, 0, -1, -1, 0, 0},
    {"parse-semi", 0, 128, 128, 4, 1024, 0, -1, -1, 0, 0},
    /* Ours, for small corpora on a CPU (Multi30k): not in the paper. */
    {"tiny", 4, 32, 32, 4, 128, 256, 0.3, -1, 0, 0},
};

static void base(struct tf_config *c, struct tf_recipe *r, enum tf_dialect as)
{
    bool t2t = as == TF_AS_T2T;
    *c = (struct tf_config){
        .dialect = as, .encoder_layers = 6, .decoder_layers = 6, .d_model = 512, .d_ff = 2048,
        .heads = 8, .d_k = 64, .d_v = 64, .positions = TF_POS_SIN, .tie = TF_TIE_ALL,
        .start = t2t ? TF_START_ZERO : TF_START_BOS, .attention_bias = t2t, .norm_eps = 1e-6,
        .dropout = 0.1, .label_smoothing = 0.1, .smoothing = t2t ? TF_SMOOTH_V1 : TF_SMOOTH_V,
        .bos = 2, .eos = 3, .pad = 0,
    };
    *r = (struct tf_recipe){.steps = t2t ? 250000 : 100000,
                            .warmup = 4000,
                            .average = t2t ? 20 : 5,
                            .lr_scale = 1,
                            .beta1 = 0.9,
                            .beta2 = 0.98,
                            .adam_eps = 1e-9,
                            .eps_hat = t2t};
}

static void apply(struct tf_config *c, struct tf_recipe *r, const struct row *w)
{
    if (w->heads) c->heads = w->heads;
    if (w->d_k) c->d_k = w->d_k;
    if (w->d_v) c->d_v = w->d_v;
    if (w->layers) c->encoder_layers = c->decoder_layers = w->layers;
    if (w->d_model) c->d_model = w->d_model;
    if (w->d_ff) c->d_ff = w->d_ff;
    if (w->dropout >= 0) c->dropout = w->dropout;
    if (w->smoothing >= 0) c->label_smoothing = w->smoothing;
    if (w->steps && r->steps < w->steps) r->steps = w->steps;
    if (w->average) r->average = w->average;
}

int tf_preset(struct tf_config *c, struct tf_recipe *r, const char *name, enum tf_dialect as,
              struct tf_err *err)
{
    base(c, r, as);
    if (strcmp(name, "base") == 0)
        return 0;
    const struct row *w = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            w = &rows[i];
    if (!w) {
        char list[256] = "";
        for (size_t i = 0, n = 0; tf_presets[i]; i++) {
            size_t k = strlen(tf_presets[i]);
            memcpy(list + n, tf_presets[i], k);
            n += k;
            list[n++] = ' ';
            list[n] = 0;
        }
        list[strlen(list) - 1] = 0;
        return tf_fail_status(err, TF_USAGE, "preset '%s': unknown; one of %s", name, list);
    }
    apply(c, r, w);
    bool t2t = as == TF_AS_T2T;
    if (strcmp(name, "E") == 0) {
        c->positions = TF_POS_LEARNED;
        c->max_positions = 1024;
    }
    if (strcmp(name, "big-enfr") == 0 && t2t) {
        c->d_ff = 8192;
        c->tie = TF_TIE_NONE;
    }
    if (strncmp(name, "parse-", 6) == 0 && t2t) {
        c->encoder_layers = c->decoder_layers = 6;
        c->dropout = c->attention_dropout = 0.2;
        c->tie = TF_TIE_NONE;
        r->warmup = 16000;
        r->lr_scale = 5;
    }
    return 0;
}
