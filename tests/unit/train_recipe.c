/* Presets: what each row changes from base, in both dialects. Parameter counts: model_params.c. */
#include "train/settings/presets.h"
#include "../harness/tap.h"

/* What a row of the table sets, and what stays base's. */
static const struct row {
    const char *preset;
    enum tf_dialect as;
    int layers, d_model, d_ff, heads, d_k, d_v;
    double dropout, attention_dropout, smoothing;
    enum tf_tie tie;
    int learned_positions, steps, warmup, average;
    double lr_scale;
    int tokens, save_every;
} rows[] = {
    {"base", TF_AS_PAPER, 6, 512, 2048, 8, 64, 64, .1, 0, .1, TF_TIE_ALL, 0, 100000, 4000, 5, 1,
     25000, 1000},
    {"base", TF_AS_T2T, 6, 512, 2048, 8, 64, 64, .1, 0, .1, TF_TIE_ALL, 0, 250000, 4000, 20, 1,
     25000, 1000},
    {"big", TF_AS_PAPER, 6, 1024, 4096, 16, 64, 64, .3, 0, .1, TF_TIE_ALL, 0, 300000, 4000, 20, 1,
     25000, 1000},
    {"big", TF_AS_T2T, 6, 1024, 4096, 16, 64, 64, .3, 0, .1, TF_TIE_ALL, 0, 250000, 4000, 20, 1,
     25000, 1000},
    {"big-enfr", TF_AS_PAPER, 6, 1024, 4096, 16, 64, 64, .1, 0, .1, TF_TIE_ALL, 0, 300000, 4000, 20,
     1, 25000, 1000},
    {"big-enfr", TF_AS_T2T, 6, 1024, 8192, 16, 64, 64, .1, 0, .1, TF_TIE_NONE, 0, 250000, 4000, 20,
     1, 25000, 1000},
    {"A-h1", TF_AS_PAPER, 6, 512, 2048, 1, 512, 512, .1, 0, .1, TF_TIE_ALL, 0, 100000, 4000, 1, 1,
     25000, 1000},
    {"B-dk16", TF_AS_T2T, 6, 512, 2048, 8, 16, 64, .1, 0, .1, TF_TIE_ALL, 0, 250000, 4000, 1, 1,
     25000, 1000},
    {"C-n8", TF_AS_PAPER, 8, 512, 2048, 8, 64, 64, .1, 0, .1, TF_TIE_ALL, 0, 100000, 4000, 1, 1,
     25000, 1000},
    {"C-d256", TF_AS_PAPER, 6, 256, 2048, 8, 32, 32, .1, 0, .1, TF_TIE_ALL, 0, 100000, 4000, 1, 1,
     25000, 1000},
    {"D-p0.0", TF_AS_PAPER, 6, 512, 2048, 8, 64, 64, 0, 0, .1, TF_TIE_ALL, 0, 100000, 4000, 1, 1,
     25000, 1000},
    {"D-ls0.0", TF_AS_PAPER, 6, 512, 2048, 8, 64, 64, .1, 0, 0, TF_TIE_ALL, 0, 100000, 4000, 1, 1,
     25000, 1000},
    {"E", TF_AS_PAPER, 6, 512, 2048, 8, 64, 64, .1, 0, .1, TF_TIE_ALL, 1024, 100000, 4000, 1, 1,
     25000, 1000},
    {"parse-wsj", TF_AS_PAPER, 4, 1024, 2048, 8, 128, 128, .1, 0, .1, TF_TIE_ALL, 0, 100000, 4000,
     5, 1, 25000, 1000},
    {"parse-semi", TF_AS_T2T, 6, 1024, 2048, 8, 128, 128, .2, .2, .1, TF_TIE_NONE, 0, 250000, 16000,
     20, 5, 25000, 1000},
    {"tiny", TF_AS_PAPER, 4, 128, 256, 4, 32, 32, .2, 0, .1, TF_TIE_ALL, 0, 2500, 500, 5, 1.5, 2000,
     100},
};

static bool sizes_match(const struct row *w, const struct tf_config *c)
{
    return c->encoder_layers == w->layers && c->decoder_layers == w->layers &&
           c->d_model == w->d_model && c->d_ff == w->d_ff && c->heads == w->heads &&
           c->d_k == w->d_k && c->d_v == w->d_v && c->vocab_size == 0;
}

static bool variants_match(const struct row *w, const struct tf_config *c)
{
    bool t2t = w->as == TF_AS_T2T;
    return c->dropout == w->dropout && c->attention_dropout == w->attention_dropout &&
           c->relu_dropout == 0 && c->label_smoothing == w->smoothing && c->tie == w->tie &&
           c->positions == (w->learned_positions > 0 ? TF_POS_LEARNED : TF_POS_SIN) &&
           c->max_positions == w->learned_positions && c->dialect == w->as &&
           c->attention_bias == t2t && c->start == (t2t ? TF_START_ZERO : TF_START_BOS) &&
           c->smoothing == (t2t ? TF_SMOOTH_V1 : TF_SMOOTH_V) &&
           c->initializer == (t2t ? TF_INITIALIZER_FUSED : TF_INITIALIZER_SCALED);
}

static bool recipe_matches(const struct row *w, const struct tf_settings *r)
{
    return r->steps == w->steps && r->schedule.warmup == w->warmup && r->average == w->average &&
           r->fit_tokens == w->tokens && r->save_every == w->save_every &&
           r->schedule.scale == w->lr_scale && r->beta1 == 0.9 && r->beta2 == 0.98 &&
           r->adam_eps == 1e-9 && r->eps_hat == (w->as == TF_AS_T2T);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *w = &rows[i];
        struct tf_settings s = {0};
        struct tf_err err = {0};
        const char *name = w->as == TF_AS_T2T ? "t2t" : "paper";
        ok(tf_preset(&s, w->preset, w->as, &err) == 0, "%s as %s", w->preset, name);
        ok(sizes_match(w, &s.config), "its sizes");
        ok(variants_match(w, &s.config), "its variants");
        ok(recipe_matches(w, &s), "its recipe");
    }
    return done();
}
