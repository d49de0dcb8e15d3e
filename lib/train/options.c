/* options.c - the options of a run: from a preset, and derived from each other. */
#include "base/sandbox.h"
#include "train/recipe.h"
#include "train/run.h"

const char *const tf_on_collapse_words[] = {"warn", "stop", NULL};
const char *const tf_best_names[] = {"ppl", "acc", NULL};

void tf_run_widen(struct tf_sandbox *sandbox, const struct tf_run_opts *o, enum tf_comm_use use)
{
    sandbox->off = tf_backend_may_load(o->device) || tf_comm_wanted(use);
    /* Opened again for each validation, and by then it may be another file of that name. */
    if (o->valid != NULL)
        tf_strs_add(&sandbox->beside, o->valid);
}

int tf_run_preset(struct tf_run_opts *o, const char *preset, int dialect, struct tf_err *err)
{
    struct tf_recipe r;
    if (tf_preset(&o->config, &r, preset, (enum tf_dialect)dialect, err) != 0)
        return -1;
    o->preset = preset;
    o->fit_tokens = r.tokens;
    o->steps = r.steps;
    o->schedule =
        (struct tf_schedule){.kind = TF_SCHEDULE_PAPER, .scale = r.lr_scale, .warmup = r.warmup};
    o->usual = o->schedule;
    o->usual.d_model = o->config.d_model;
    o->average = r.average;
    o->beta1 = r.beta1;
    o->beta2 = r.beta2;
    o->adam_eps = r.adam_eps;
    o->eps_hat = r.eps_hat;
    o->own_d_k = r.own_d_k;
    o->save_every = r.save_every;
    o->keep = r.average > 5 ? r.average : 5;
    return 0;
}

int tf_run_from_model(struct tf_run_opts *o, const char *preset, int dialect, bool schedule,
                      struct tf_err *err)
{
    const struct tf_config *model = &o->from->config;
    if (dialect < 0)
        dialect = (int)model->dialect;
    if (tf_run_preset(o, preset != NULL ? preset : "base", dialect, err) != 0)
        return -1;
    if (preset == NULL) {
        o->fit_tokens = 0;
        o->config = *model;
        o->config.dialect = (enum tf_dialect)dialect;
    }
    if (preset == NULL && schedule) {
        const struct tf_fine_tuning f = tf_fine_tuning(model);
        o->steps = f.steps;
        o->save_every = f.save_every;
        o->schedule = (struct tf_schedule){.kind = TF_SCHEDULE_CONSTANT,
                                           .lr = f.lr,
                                           .scale = 1,
                                           .warmup = f.warmup};
    }
    o->config.vocab_size = model->vocab_size;
    o->config.initializer = model->initializer; /* there is nothing to initialise */
    return 0;
}

/* Are the widths those of the model of --init, whatever they are? */
static bool repeats_model(const struct tf_run_opts *o)
{
    const struct tf_config *c = &o->config, *m = o->from != NULL ? &o->from->config : NULL;
    return m != NULL && c->d_model == m->d_model && c->heads == m->heads && c->d_k == m->d_k &&
           c->d_v == m->d_v;
}

int tf_run_derive(struct tf_run_opts *o, const struct tf_run_given *g, struct tf_err *err)
{
    struct tf_config *c = &o->config;
    if (g->layers > 0 && !g->encoder_layers)
        c->encoder_layers = g->layers;
    if (g->layers > 0 && !g->decoder_layers)
        c->decoder_layers = g->layers;
    bool keeps_d_k = g->d_k || o->own_d_k;
    bool split = (g->d_model || g->heads) && !(keeps_d_k && g->d_v) && !repeats_model(o);
    if (split && c->d_model % c->heads != 0)
        return tf_fail_status(err, TF_USAGE,
                              "%lld heads do not divide d_model %lld: --d-k and --d-v are required",
                              (long long)c->heads, (long long)c->d_model);
    if (split && !keeps_d_k)
        c->d_k = c->d_model / c->heads;
    if (split && !g->d_v)
        c->d_v = c->d_model / c->heads;
    if (c->positions == TF_POS_LEARNED && c->max_positions == 0)
        c->max_positions = 1024;
    if (c->positions == TF_POS_SIN && c->max_positions != 0) {
        if (g->max_positions)
            return tf_fail_status(err, TF_USAGE, "--max-positions: only with learned positions");
        c->max_positions = 0;
    }
    if (o->schedule.kind == TF_SCHEDULE_PAPER && g->lr)
        return tf_fail_status(err, TF_USAGE,
                              "--lr: the paper's schedule has no peak to set; --lr-scale, or "
                              "--schedule constant or inverse-sqrt");
    if (o->schedule.kind != TF_SCHEDULE_PAPER && !g->lr && o->schedule.lr == 0)
        return tf_fail_status(err, TF_USAGE, "--schedule %s: needs --lr",
                              tf_schedule_names[o->schedule.kind]);
    if (o->schedule.kind != TF_SCHEDULE_PAPER && g->lr_scale)
        return tf_fail_status(err, TF_USAGE, "--lr-scale: only with --schedule paper");
    if (g->schedule || g->warmup || g->lr_scale)
        o->fit_tokens = 0;
    if ((o->shards & (o->shards - 1)) != 0)
        return tf_fail_status(err, TF_USAGE, "--shards %lld: must be a power of two",
                              (long long)o->shards);
    if (o->valid_every == 0)
        o->valid_every = o->save_every;
    struct tf_err e = {0};
    struct tf_config known = *c;
    known.bos = known.eos = known.pad = 0; /* the stream defines them */
    if (tf_config_check(&known, &e) != 0)
        return tf_fail_status(err, TF_USAGE, "%s", e.msg);
    return 0;
}
