/* Options of a run: what a preset's own widths are when others change. */
#include "../harness/tap.h"
#include "train/run.h"

/* d_k and d_v of a preset with another d_model and number of heads; 0: the preset's. */
static void widths(const char *preset, int64_t d_model, int64_t heads, int64_t d_k, int64_t d_v)
{
    struct tf_err err = {0};
    struct tf_run_opts o = {0};
    must(tf_run_preset(&o, preset, TF_AS_PAPER, &err), &err);
    const struct tf_run_given g = {.d_model = d_model > 0, .heads = heads > 0};
    if (d_model > 0)
        o.config.d_model = d_model;
    if (heads > 0)
        o.config.heads = heads;
    must(tf_run_derive(&o, &g, &err), &err);
    is_int(o.config.d_k, d_k, "%s, d_model %d, heads %d: d_k", preset, (int)d_model, (int)heads);
    is_int(o.config.d_v, d_v, "%s: d_v", preset);
}

/* With a model of 2 heads, d_k 4 and d_v 12, options that say `heads`, and `d_k` unless it is 0. */
static void from_model(int64_t heads, int64_t d_k, int64_t want_d_k, int64_t want_d_v)
{
    struct tf_err err = {0};
    struct tf_run_opts o = {0};
    struct tf_start_model from = {.path = "model"};
    must(tf_run_preset(&o, "tiny", TF_AS_PAPER, &err), &err);
    from.config = o.config;
    from.config.d_model = 16;
    from.config.heads = 2;
    from.config.d_k = 4;
    from.config.d_v = 12;
    o.from = &from;
    must(tf_run_from_model(&o, NULL, -1, true, &err), &err);
    const struct tf_run_given g = {.heads = true, .d_k = d_k > 0};
    o.config.heads = heads;
    if (d_k > 0)
        o.config.d_k = d_k;
    must(tf_run_derive(&o, &g, &err), &err);
    is_int(o.config.d_k, want_d_k, "a model, heads %d, d_k %d: d_k", (int)heads, (int)d_k);
    is_int(o.config.d_v, want_d_v, "its d_v");
}

int main(void)
{
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
