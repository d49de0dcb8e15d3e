/* Settings that follow from options: what a preset's own widths are when others change. */
#include "../harness/tap.h"
#include "train/settings/derive.h"
#include "train/settings/presets.h"

static struct tf_settings s;
static struct tf_opt *opts;

/* Give an option a value; 0: it is not given. */
static void give(const char *name, int64_t value)
{
    struct tf_opt *o = tf_opt_find(opts, name);
    o->given = value > 0 ? "given" : NULL;
    if (value > 0)
        *(int64_t *)o->target = value;
}

static void derive(const struct tf_config *model, int64_t d_model, int64_t heads, int64_t d_k)
{
    struct tf_err err = {0};
    give("d-model", d_model);
    give("heads", heads);
    give("d-k", d_k);
    must(tf_settings_derive(&s, opts, model, &err), &err);
}

/* d_k and d_v of a preset with another d_model and number of heads; 0: the preset's. */
static void widths(const char *preset, int64_t d_model, int64_t heads, int64_t d_k, int64_t d_v)
{
    struct tf_err err = {0};
    must(tf_preset(&s, preset, TF_AS_PAPER, &err), &err);
    derive(NULL, d_model, heads, 0);
    is_int(s.config.d_k, d_k, "%s, d_model %d, heads %d: d_k", preset, (int)d_model, (int)heads);
    is_int(s.config.d_v, d_v, "%s: d_v", preset);
}

/* With a model of 2 heads, d_k 4 and d_v 12, options that say `heads`, and `d_k` unless it is 0. */
static void from_model(int64_t heads, int64_t d_k, int64_t want_d_k, int64_t want_d_v)
{
    struct tf_err err = {0};
    must(tf_preset(&s, "tiny", TF_AS_PAPER, &err), &err);
    struct tf_config model = s.config;
    model.d_model = 16;
    model.heads = 2;
    model.d_k = 4;
    model.d_v = 12;
    must(tf_preset_from_model(&s, &model, NULL, -1, true, &err), &err);
    derive(&model, 0, heads, d_k);
    is_int(s.config.d_k, want_d_k, "a model, heads %d, d_k %d: d_k", (int)heads, (int)d_k);
    is_int(s.config.d_v, want_d_v, "its d_v");
}

int main(void)
{
    const struct tf_opt none[] = {OPT_END};
    opts = tf_settings_options(none, &s, none);
    from_model(2, 0, 4, 12);
    from_model(2, 4, 4, 12);
    from_model(4, 0, 4, 4);
    from_model(2, 8, 8, 8);
    widths("base", 0, 0, 64, 64);
    widths("base", 32, 0, 4, 4);
    widths("base", 0, 4, 128, 128);
    widths("B-dk16", 0, 0, 16, 64);
    widths("B-dk16", 32, 0, 16, 4);
    widths("B-dk32", 128, 4, 32, 32);
    widths("A-h1", 32, 0, 32, 32);
    return done();
}
