/* settings.c - options of a run: from a preset, and into its checkpoints. */
#include "train/recipe.h"
#include "train/run.h"

struct tf_value tf_run_settings(struct tf_arena *a, const struct tf_run_opts *o,
                                const char *precision, const char *tuning)
{
    struct tf_value v = tf_value_map();
    const struct tf_schedule *s = &o->schedule;
    tf_value_put(a, &v, "schedule", tf_value_str(a, tf_schedule_names[s->kind]));
    if (s->kind == TF_SCHEDULE_PAPER)
        tf_value_put(a, &v, "lr_scale", tf_value_real(s->scale));
    else
        tf_value_put(a, &v, "lr", tf_value_real(s->lr));
    tf_value_put(a, &v, "warmup", tf_value_int(s->warmup));
    tf_value_put(a, &v, "beta1", tf_value_real(o->beta1));
    tf_value_put(a, &v, "beta2", tf_value_real(o->beta2));
    tf_value_put(a, &v, "adam_eps", tf_value_real(o->adam_eps));
    tf_value_put(a, &v, "eps_hat", tf_value_bool(o->eps_hat));
    tf_value_put(a, &v, "clip", tf_value_real(o->clip));
    tf_value_put(a, &v, "ema", tf_value_real(o->ema));
    tf_value_put(a, &v, "accumulate", tf_value_int(o->accumulate));
    tf_value_put(a, &v, "seed", tf_value_int(o->seed));
    tf_value_put(a, &v, "precision", tf_value_str(a, precision));
    if (tuning != NULL)
        tf_value_put(a, &v, "tuning", tf_value_str(a, tuning));
    if (o->valid != NULL)
        tf_value_put(a, &v, "best_by", tf_value_str(a, o->best_by == TF_BEST_ACC ? "acc" : "ppl"));
    return v;
}

int tf_run_preset(struct tf_run_opts *o, const char *preset, int dialect, struct tf_err *err)
{
    struct tf_recipe r;
    if (tf_preset(&o->config, &r, preset, (enum tf_dialect)dialect, err) != 0)
        return -1;
    o->steps = r.steps;
    o->schedule =
        (struct tf_schedule){.kind = TF_SCHEDULE_PAPER, .scale = r.lr_scale, .warmup = r.warmup};
    o->beta1 = r.beta1;
    o->beta2 = r.beta2;
    o->adam_eps = r.adam_eps;
    o->eps_hat = r.eps_hat;
    o->keep = r.average > 5 ? r.average : 5;
    return 0;
}

int tf_run_settle(struct tf_run_opts *o, const struct tf_run_given *g, struct tf_err *err)
{
    struct tf_config *c = &o->config;
    if (g->layers > 0 && !g->encoder_layers)
        c->encoder_layers = g->layers;
    if (g->layers > 0 && !g->decoder_layers)
        c->decoder_layers = g->layers;
    bool split = (g->d_model || g->heads) && !(g->d_k && g->d_v);
    if (split && c->d_model % c->heads != 0)
        return tf_fail_status(err, TF_USAGE,
                              "%lld heads do not divide d_model %lld: --d-k and --d-v are needed",
                              (long long)c->heads, (long long)c->d_model);
    if (split && !g->d_k)
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
    if (o->schedule.kind != TF_SCHEDULE_PAPER && !g->lr)
        return tf_fail_status(err, TF_USAGE, "--schedule %s: needs --lr",
                              tf_schedule_names[o->schedule.kind]);
    if (o->schedule.kind != TF_SCHEDULE_PAPER && g->lr_scale)
        return tf_fail_status(err, TF_USAGE, "--lr-scale: only with --schedule paper");
    if (o->valid_every == 0)
        o->valid_every = o->save_every;
    struct tf_err e = {0};
    struct tf_config known = *c;
    known.bos = known.eos = known.pad = 0; /* the stream will tell */
    if (tf_config_check(&known, &e) != 0)
        return tf_fail_status(err, TF_USAGE, "%s", e.msg);
    return 0;
}
