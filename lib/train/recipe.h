/* recipe.h - presets: the rows of the paper's tables by name, as a model and the recipe that trains
 * it. tf-train and tf-batch take the defaults of their options from here. */
#ifndef TF_TRAIN_RECIPE_H
#define TF_TRAIN_RECIPE_H

#include "model/config.h"

enum { TF_PAPER_TOKENS = 25000 }; /* of a batch on each side, section 5.1 */

/* How a preset is trained. */
struct tf_recipe {
    int64_t tokens;        /* per batch, on each side */
    int64_t steps, warmup; /* updates */
    int64_t save_every;    /* updates from one checkpoint to the next */
    int64_t average;       /* checkpoints that the paper averages for this row */
    double lr_scale;       /* factor on the paper's schedule (schedule.h) */
    double beta1, beta2, adam_eps;
    bool eps_hat; /* Adam's epsilon before the bias correction */
    bool own_d_k; /* the row sets d_k to other than d_model / heads: it stays when those change */
};

/* Names of all presets, NULL-terminated: base big ... E parse-wsj parse-semi tiny. */
extern const char *const tf_presets[];

/* Fill *c and *r for a preset in a dialect; vocab_size stays 0, special ids get the defaults of
 * tf-tokenize. An unknown name is TF_USAGE, with the list of names in the message. */
int tf_preset(struct tf_config *c, struct tf_recipe *r, const char *name, enum tf_dialect as,
              struct tf_err *err) TF_MUST_CHECK;

/* How a trained model continues on other data, with --init and no preset: a constant rate after a
 * short warmup. */
struct tf_fine_tuning {
    int64_t steps, warmup, save_every;
    double lr;
};
struct tf_fine_tuning tf_fine_tuning(const struct tf_config *model);

#endif
