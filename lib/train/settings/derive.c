/* derive.c - settings that follow from others, and combinations that make no sense. */
#include "train/settings/derive.h"
#include "train/step/frozen.h"

#include <string.h>

/* Are the widths those of the model of --init, whatever they are? */
static bool repeats_model(const struct tf_config *c, const struct tf_config *model)
{
    return model != NULL && c->d_model == model->d_model && c->heads == model->heads &&
           c->d_k == model->d_k && c->d_v == model->d_v;
}

/* d_k and d_v share d_model among the heads, unless they are chosen. */
static int derive_widths(struct tf_settings *s, struct tf_opt *opts, const struct tf_config *model,
                         struct tf_err *err)
{
    struct tf_config *c = &s->config;
    bool keeps_d_k = tf_opt_given(opts, "d-k") || s->own_d_k, keeps_d_v = tf_opt_given(opts, "d-v");
    bool split = (tf_opt_given(opts, "d-model") || tf_opt_given(opts, "heads")) &&
                 !(keeps_d_k && keeps_d_v) && !repeats_model(c, model);
    if (split && c->d_model % c->heads != 0)
        return tf_fail_status(err, TF_USAGE,
                              "%lld heads do not divide d_model %lld: --d-k and --d-v are required",
                              (long long)c->heads, (long long)c->d_model);
    if (split && !keeps_d_k)
        c->d_k = c->d_model / c->heads;
    if (split && !keeps_d_v)
        c->d_v = c->d_model / c->heads;
    return 0;
}

static int derive_positions(struct tf_settings *s, struct tf_opt *opts, struct tf_err *err)
{
    struct tf_config *c = &s->config;
    if (c->positions == TF_POS_LEARNED && c->max_positions == 0)
        c->max_positions = 1024;
    if (c->positions == TF_POS_SIN && c->max_positions != 0) {
        if (tf_opt_given(opts, "max-positions"))
            return tf_fail_status(err, TF_USAGE, "--max-positions: only with learned positions");
        c->max_positions = 0;
    }
    return 0;
}

/* cosine and linear need to know where they end; a run that ends elsewhere says so. */
static int check_decay(struct tf_settings *s, struct tf_opt *opts, struct tf_err *err)
{
    struct tf_schedule *d = &s->schedule;
    const char *kind = tf_schedule_names[d->kind];
    static const char *const only[] = {"decay-steps", "lr-end"};
    for (int i = 0; i < 2; i++)
        if (!tf_schedule_decays(d->kind) && tf_opt_given(opts, only[i]))
            return tf_fail_status(err, TF_USAGE, "--%s: only with --schedule cosine or linear",
                                  only[i]);
    if (!tf_schedule_decays(d->kind))
        return 0;
    if (!tf_opt_given(opts, "decay-steps"))
        d->end = s->steps;
    if (d->end == 0)
        return tf_fail_status(err, TF_USAGE,
                              "--schedule %s: ends with --steps, so without them --decay-steps is "
                              "needed",
                              kind);
    if (d->end <= d->warmup)
        return tf_fail_status(err, TF_USAGE,
                              "--schedule %s: ends in update %lld, within --warmup %lld", kind,
                              (long long)d->end, (long long)d->warmup);
    if (d->lr_end > d->lr)
        return tf_fail_status(err, TF_USAGE, "--lr-end %g: above --lr %g", d->lr_end, d->lr);
    return 0;
}

static int check_schedule(struct tf_settings *s, struct tf_opt *opts, struct tf_err *err)
{
    const bool paper = s->schedule.kind == TF_SCHEDULE_PAPER, lr = tf_opt_given(opts, "lr"),
               lr_scale = tf_opt_given(opts, "lr-scale");
    if (paper && lr)
        return tf_fail_status(err, TF_USAGE,
                              "--lr: the paper's schedule has no peak to set; --lr-scale, or "
                              "another --schedule");
    if (!paper && !lr && s->schedule.lr == 0)
        return tf_fail_status(err, TF_USAGE, "--schedule %s: needs --lr",
                              tf_schedule_names[s->schedule.kind]);
    if (!paper && lr_scale)
        return tf_fail_status(err, TF_USAGE, "--lr-scale: only with --schedule paper");
    if (check_decay(s, opts, err) != 0)
        return -1;
    if (tf_opt_given(opts, "schedule") || tf_opt_given(opts, "warmup") || lr_scale)
        s->fit_tokens = 0;
    return 0;
}

int tf_settings_derive(struct tf_settings *s, struct tf_opt *opts, const struct tf_config *model,
                       struct tf_err *err)
{
    struct tf_config *c = &s->config;
    if ((s->epochs > 0 || s->tokens > 0) && !tf_opt_given(opts, "steps"))
        s->steps = 0;
    s->need_bos = tf_opt_given(opts, "start") && c->start == TF_START_BOS;
    if (s->layers > 0 && !tf_opt_given(opts, "encoder-layers"))
        c->encoder_layers = s->layers;
    if (s->layers > 0 && !tf_opt_given(opts, "decoder-layers"))
        c->decoder_layers = s->layers;
    const bool repeats = model != NULL && c->pre_norm == model->pre_norm;
    if (tf_opt_given(opts, "pre-norm") && !tf_opt_given(opts, "final-norm") && !repeats)
        c->final_norm = c->pre_norm;
    if (derive_widths(s, opts, model, err) != 0 || derive_positions(s, opts, err) != 0 ||
        check_schedule(s, opts, err) != 0)
        return -1;
    if ((s->shards & (s->shards - 1)) != 0)
        return tf_fail_status(err, TF_USAGE, "--shards %lld: must be a power of two",
                              (long long)s->shards);
    if (s->freeze != NULL && strlen(s->freeze) > TF_FREEZE_MOST)
        return tf_fail_status(err, TF_USAGE, "--freeze: at most %d bytes", TF_FREEZE_MOST);
    if (s->valid_command != NULL && !tf_opt_given(opts, "best-by"))
        s->best_by = TF_BEST_COMMAND;
    if (s->valid_command == NULL && s->best_by == TF_BEST_COMMAND)
        return tf_fail_status(err, TF_USAGE, "--best-by command requires --valid-command");
    if (s->valid_every == 0 && s->valid != NULL)
        s->valid_every = s->save_every;
    if (s->save_minutes > 0 && !tf_opt_given(opts, "save-every"))
        s->save_every = 0;
    struct tf_err e = {0};
    struct tf_config known = *c;
    known.bos = known.eos = known.pad = 0; /* the stream defines them */
    if (tf_config_check(&known, &e) != 0)
        return tf_fail_status(err, TF_USAGE, "%s", e.msg);
    return 0;
}
