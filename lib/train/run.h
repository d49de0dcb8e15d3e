/* run.h - a training run: what is requested of it, and running it to the end of the stream with
 * checkpoints, validation and resumption. */
#ifndef TF_TRAIN_RUN_H
#define TF_TRAIN_RUN_H

#include "base/opt.h"
#include "model/config.h"
#include "train/start_model.h"
#include "train/schedule.h"
#include "train/team.h"

enum tf_on_collapse { TF_ON_COLLAPSE_WARN, TF_ON_COLLAPSE_STOP };
extern const char *const tf_on_collapse_words[]; /* NULL-terminated */

enum tf_best_by { TF_BEST_PPL, TF_BEST_ACC };
extern const char *const tf_best_names[]; /* their words, NULL-terminated */

/* What is requested of a run: the options of tf-train. */
struct tf_run_opts {
    const char *input; /* batch stream, "-" for stdin */
    /* paths and names; NULL where the option is not given */
    const char *dir, *vocab, *valid, *init, *log, *device, *precision, *tuning;
    struct tf_start_model *from; /* the model of `init`, open; NULL without it. Borrowed; its
                                  * tensors are freed once they are loaded. */
    /* vocab_size 0: that of the stream. Special ids are always the stream's. */
    struct tf_config config;
    struct tf_schedule schedule;              /* d_model is the configuration's */
    struct tf_schedule usual;                 /* the preset's */
    int64_t average;                          /* checkpoints that the preset averages */
    double beta1, beta2, adam_eps, clip, ema; /* clip, ema: 0 for none */
    bool eps_hat;
    bool own_d_k;       /* d_k is the preset's, not d_model / heads */
    int64_t accumulate; /* batches per update */
    int64_t shards;     /* of a batch; 0: see tf_setup_shards */
    /* The tokens per update that the learning rate is for, and the preset that says so; 0: not
     * known, because the learning rate is not the preset's. */
    int64_t fit_tokens;
    const char *preset;
    int64_t seed;
    int64_t steps; /* in total, earlier starts of the run included */
    int64_t save_every, keep, valid_every, patience, log_every, threads;
    double save_minutes; /* 0: no saves by the clock */
    bool no_save;        /* write no checkpoints: for benchmarks */
    int best_by;         /* enum tf_best_by */
    int on_collapse;     /* enum tf_on_collapse */
    bool need_bos;       /* refuse a vocabulary without bos */
    bool force, progress, quiet;
    struct tf_team *team;       /* NULL: a process of its own. Borrowed */
    const struct tf_opt *opts;  /* for the provenance; NULL in tests */
    const char *const *command; /* argv, for the log; NULL in tests */
};

/* Set what a preset defines of model and training (recipe.h); the rest stays. */
int tf_run_preset(struct tf_run_opts *o, const char *preset, int dialect,
                  struct tf_err *err) TF_MUST_CHECK;
/* The same for a run that starts from a model (o->from): its configuration, or that of a preset, of
 * which tf_start_model_compare refuses what differs; preset NULL without one, dialect -1 for the
 * model's. schedule: without a preset, also set the schedule and length of fine-tuning (recipe.h).
 */
int tf_run_from_model(struct tf_run_opts *o, const char *preset, int dialect, bool schedule,
                      struct tf_err *err) TF_MUST_CHECK;
/* Which options the user gave, where that matters beyond their values. */
struct tf_run_given {
    bool d_model, heads, d_k, d_v, max_positions, encoder_layers, decoder_layers;
    bool schedule, warmup, lr, lr_scale;
    int64_t layers; /* --layers, for the stacks without an option of their own; 0: not given */
};
/* What a run needs besides the files of its options (struct tf_tool, base/opt.h). */
void tf_run_widen(struct tf_sandbox *sandbox, const struct tf_run_opts *o, enum tf_comm_use use);
/* After all options are parsed: derive those that follow from others (d_k and d_v from d_model and
 * heads, ...) and refuse combinations that make no sense (TF_USAGE). */
int tf_run_derive(struct tf_run_opts *o, const struct tf_run_given *g,
                  struct tf_err *err) TF_MUST_CHECK;

/* Run to the end. 0; TF_AGAIN after USR2, and with a team after any signal that stops it; -1 with
 * err->status TF_FAILED, TF_DIVERGED, TF_AGAIN (directory in use) ... After a stop by TERM, INT or
 * HUP everything is saved and released and 0 is returned; the caller then calls tf_signals_reraise.
 */
int tf_run(const struct tf_run_opts *o, struct tf_err *err) TF_MUST_CHECK;

/* Measure the matrix products of this configuration on the first batches of the input, and write
 * the choices to `path` as a file for o->tuning. Trains nothing and needs no directory. */
int tf_run_tune(const struct tf_run_opts *o, const char *path, struct tf_err *err) TF_MUST_CHECK;

#endif
