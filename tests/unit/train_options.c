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

int main(void)
{
    widths("base", 0, 0, 64, 64);
    widths("base", 32, 0, 4, 4);
    widths("base", 0, 4, 128, 128);
    widths("B-dk16", 0, 0, 16, 64);
    widths("B-dk16", 32, 0, 16, 4);
    widths("B-dk32", 128, 4, 32, 32);
    widths("A-h1", 32, 0, 32, 32);
    return done();
}
