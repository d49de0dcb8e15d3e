/* schedule.h - the learning rate of update s = 1, 2, ... */
#ifndef TF_TRAIN_STEP_SCHEDULE_H
#define TF_TRAIN_STEP_SCHEDULE_H

#include <stdint.h>

/* paper (section 5.3, formula 3): scale * d^-0.5 * min(s^-0.5, s * warmup^-1.5), d the model's
 * width.
 * constant: lr * min(1, s / warmup).
 * inverse-sqrt: lr * min(s / warmup, (warmup / s)^0.5): the paper's curve, given by its peak. With
 * warmup 0 nothing rises (paper and inverse-sqrt then use warmup 1 in the falling part). */
enum tf_schedule_kind { TF_SCHEDULE_PAPER, TF_SCHEDULE_CONSTANT, TF_SCHEDULE_INVERSE_SQRT };
extern const char *const tf_schedule_names[]; /* NULL-terminated */

struct tf_schedule {
    enum tf_schedule_kind kind;
    double scale; /* paper */
    double lr;    /* constant and inverse-sqrt: the peak */
    int64_t warmup;
    int64_t d_model;
};

double tf_schedule_lr(const struct tf_schedule *s, uint64_t step);
/* The highest rate, and the first update that has it. */
double tf_schedule_peak(const struct tf_schedule *s, uint64_t *step);

#endif
