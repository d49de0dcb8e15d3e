/* plan.h - what a run would cost: parameters, memory and work, before anything runs (--plan); and
 * its learning rate. */
#ifndef TF_TRAIN_RUN_PLAN_H
#define TF_TRAIN_RUN_PLAN_H

#include "train/run/start_model.h"
#include "train/settings/settings.h"

/* What a plan assumes. */
struct tf_plan {
    int64_t tokens, length; /* source, and as many target tokens of a batch; tokens of a sentence */
    /* For the paper's estimate of the work (section 6.1, table 2): the duration, and the number and
     * sustained TFLOPS of the devices, a number or the name of a card. hours 0: none. */
    double hours;
    int64_t devices;
    const char *tflops;
};

/* Write a text to stdout: the settings of model and training, parameters by kind, and in all with
 * the vocabulary of the paper's Table 3; memory in MB, FLOP of an update, the columns of the
 * paper's Table 1, and the peak of the learning rate. Warns of one that is several times the
 * preset's. Without config.vocab_size, the number of pieces in the vocabulary counts; without that,
 * warns and leaves out parameters, memory and FLOP. from: the model of --init, with which the
 * settings must agree, or NULL. */
int tf_run_plan(const struct tf_settings *o, const struct tf_start_model *from,
                const struct tf_plan *plan, struct tf_err *err) TF_MUST_CHECK;

#endif
