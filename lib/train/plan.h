/* plan.h - what a run would cost, before it runs. */
#ifndef TF_TRAIN_PLAN_H
#define TF_TRAIN_PLAN_H

#include "base/buf.h"
#include "train/run.h"

/* Text about parameters by kind, memory and FLOP of an update with so many source tokens and as
 * many target tokens, in sentences of `length` tokens. config.vocab_size must be known. */
int tf_plan(struct tf_buf *out, const struct tf_run_opts *o, double tokens, double length,
            struct tf_err *err) TF_MUST_CHECK;

#endif
