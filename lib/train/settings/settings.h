/* settings.h - what a user requests of a training: a plain value. Its members are described by one
 * table, a row each (settings.c). The row is all that options and help, presets, the settings in
 * checkpoints, their comparison at resume, the first line of the log and the provenance need to
 * know of a setting. */
#ifndef TF_TRAIN_SETTINGS_SETTINGS_H
#define TF_TRAIN_SETTINGS_SETTINGS_H

#include "base/opt.h"
#include "model/config.h"
#include "train/step/schedule.h"

enum tf_on_collapse { TF_ON_COLLAPSE_WARN, TF_ON_COLLAPSE_STOP };
enum tf_best_by { TF_BEST_PPL, TF_BEST_ACC, TF_BEST_COMMAND };

struct tf_settings {
    const char *input; /* batch stream, "-" for stdin */
    /* paths and names; NULL where the option is not given */
    const char *dir, *vocab, *valid, *valid_command, *init, *log, *device, *precision, *tuning,
        *freeze;
    /* vocab_size 0: that of the stream. Special ids are always the stream's. */
    struct tf_config config;
    int64_t layers;              /* of a stack whose own number is not given; 0: none */
    struct tf_schedule schedule; /* d_model is the configuration's */
    struct tf_schedule usual;    /* the preset's */
    int64_t average;             /* checkpoints that the preset averages */
    double beta1, beta2, adam_eps;
    double weight_decay, clip, ema; /* 0 for none */
    double guided_alignment;        /* weight; 0 for none */
    int64_t guided_layer;           /* from 1; 0: the last */
    bool eps_hat;
    bool own_d_k;       /* d_k is the preset's, not d_model / heads */
    int64_t accumulate; /* batches per update */
    int64_t shards;     /* of a batch; 0: see tf_setup_shards */
    /* The tokens per update that the learning rate is for, and the preset that says so; 0: not
     * known, because the learning rate is not the preset's. */
    int64_t fit_tokens;
    const char *preset;
    int64_t seed;
    /* In total, earlier starts of the run included; the first that is reached ends it. 0: not
     * given. Tokens are those of targets, ends of sentences included. */
    int64_t steps, epochs, tokens;
    int64_t save_every, keep, valid_every, patience, log_every, threads;
    double save_minutes; /* 0: no saves by the clock; regular ones if save_every is 0 */
    bool weights_only;   /* checkpoints lack what a run resumes with */
    bool no_save;        /* write no checkpoints: for benchmarks */
    enum tf_best_by best_by;
    enum tf_on_collapse on_collapse;
    bool need_bos; /* refuse a vocabulary without bos */
    bool force, progress, quiet;
};

/* ---- the table ---- */

enum {
    TF_SETTING_MODEL = 1,      /* of struct tf_config, whose table has the kind and the range */
    TF_SETTING_SEMANTIC = 2,   /* changes the output bytes: recorded in provenance */
    TF_SETTING_RECORDED = 4,   /* in the settings of checkpoints, and compared at resume */
    TF_SETTING_LOGGED = 8,     /* in the first line of the log */
    TF_SETTING_TRAINING = 16,  /* of a model, but only training uses it: --init leaves it free */
    TF_SETTING_NEGATABLE = 32, /* a flag that also has a --no- form */
    TF_SETTING_HIDDEN = 64,    /* parsed, not listed in --help */
    TF_SETTING_LATER = 128,    /* the first versions did not record it */
};

/* A row: a member of struct tf_settings. At resume a recorded setting may differ from the
 * checkpoint's only with --force, and a model's then only where the weights keep their shapes. */
struct tf_setting {
    /* The name in maps, which is that of the option with _ for -. Of a MODEL setting only the name
     * is in the row, and a minimum where the option has one of its own. */
    struct tf_member field;
    unsigned flags;
    const char *arg, *help; /* of the option; help NULL: it has none. Without a name: a heading */
    const char *def;        /* default of the option; NULL: that of the preset or the model */
    const char *needs;      /* an option that must be given, too */
    /* Is it recorded and logged in such a run? NULL: always. */
    bool (*applies)(const struct tf_settings *s);
    double older; /* of a LATER setting: what a checkpoint without it means */
};

/* The row of that name, with its field complete. TF_BUG when there is none. */
struct tf_setting tf_setting_of(const char *name);
/* The rows with all of these flags: the first after `row`, which is -1 at first. False at the end.
 */
bool tf_settings_next(int *row, unsigned flags, struct tf_setting *s);

/* An option table on the heap: the rows of `before`, those of the settings of *s, and the rows of
 * `after`, to its end. */
struct tf_opt *tf_settings_options(const struct tf_opt *before, struct tf_settings *s,
                                   const struct tf_opt *after);
/* The recorded settings as a map, which checkpoints have. */
struct tf_value tf_settings_map(const struct tf_settings *s, struct tf_arena *a);
/* Add to the map of an older checkpoint what it does not record. */
void tf_settings_complete(struct tf_value *map, struct tf_arena *a);

#endif
