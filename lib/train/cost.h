/* cost.h - what a run would cost: parameters, memory and work, before anything runs (--plan); and
 * its learning rate. */
#ifndef TF_TRAIN_COST_H
#define TF_TRAIN_COST_H

#include "base/buf.h"
#include "train/run.h"

/* Append a text: parameters by kind, memory in MB, FLOP of an update with `tokens` source and as
 * many target tokens, in sentences of `length` tokens, and the peak of the learning rate. Warns of
 * one that is several times the preset's. config.vocab_size must be set. */
int tf_run_cost(struct tf_buf *out, const struct tf_run_opts *o, double tokens, double length,
                struct tf_err *err) TF_MUST_CHECK;

#endif
