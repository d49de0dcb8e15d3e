/* plan.h - what a run would cost: parameters, memory and work, before anything runs (--plan); and
 * its learning rate. */
#ifndef TF_TRAIN_RUN_PLAN_H
#define TF_TRAIN_RUN_PLAN_H

#include "base/buf.h"
#include "train/settings/settings.h"

/* What a plan assumes. */
struct tf_plan {
    double tokens, length; /* source, and as many target tokens of a batch; tokens of a sentence */
    /* For the paper's estimate of the work (section 6.1, table 2): the duration, and the number and
     * sustained TFLOPS of the devices. hours 0: none. */
    double hours, devices, tflops;
};

/* TFLOPS from a number or the name of a card in the paper's estimate. An unknown name is TF_USAGE.
 */
int tf_plan_tflops(double *tflops, const char *text, struct tf_err *err) TF_MUST_CHECK;

/* Append a text: the settings of model and training, parameters by kind, and in all with the
 * vocabulary of the paper's Table 3; memory in MB, FLOP of an update, the columns of the paper's
 * Table 1, and the peak of the learning rate. Warns of one that is several times the preset's.
 * config.vocab_size must be set. */
int tf_run_cost(struct tf_buf *out, const struct tf_settings *o, const struct tf_plan *plan,
                struct tf_err *err) TF_MUST_CHECK;

#endif
