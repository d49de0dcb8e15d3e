/* metrics_private.h - the metrics of an update: waited for, checked for divergence, reported.
 *
 * A device may run ahead of the host: it applies an update while the host reads the metrics of the
 * one before. No result depends on that. Metrics are collected before anything is saved, validated
 * or waited for, and an update whose gradient is not finite changes nothing. */
#ifndef TF_TRAIN_RUN_METRICS_PRIVATE_H
#define TF_TRAIN_RUN_METRICS_PRIVATE_H

#include "train/run/running_private.h"

bool tf_run_device_is_ahead(const struct tf_run *r);
/* Wait for the metrics of an update. A divergence is an error and makes saving impossible. */
int tf_run_wait_metrics(struct tf_run *r, struct tf_update *u, struct tf_err *err) TF_MUST_CHECK;
/* Wait for them and report them, unless that has been done. */
int tf_run_collect_metrics(struct tf_run *r, struct tf_update *u, struct tf_err *err) TF_MUST_CHECK;
int tf_run_collect_last(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;

#endif
