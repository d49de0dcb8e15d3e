/* schedule.h - the learning rate of update s = 1, 2, ... */
#ifndef TF_TRAIN_STEP_SCHEDULE_H
#define TF_TRAIN_STEP_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* paper (section 5.3, formula 3): scale * d^-0.5 * min(s^-0.5, s * warmup^-1.5), d the model's
 * width.
 * constant: lr * min(1, s / warmup).
 * inverse-sqrt: lr * min(s / warmup, (warmup / s)^0.5): the paper's curve, given by its peak.
 * cosine, linear: lr * s / warmup up to update warmup, then from lr to lr_end in update `end`, and
 * lr_end from there on. With x = (s - warmup) / (end - warmup), linear has the rate
 * lr_end + (lr - lr_end) (1 - x), cosine lr_end + (lr - lr_end) (1 + cos(pi x)) / 2 (Loshchilov and
 * Hutter, 2017, formula 5, without restarts).
 * With warmup 0 nothing rises (paper and inverse-sqrt then use warmup 1 in the falling part). */
enum tf_schedule_kind {
    TF_SCHEDULE_PAPER,
    TF_SCHEDULE_CONSTANT,
    TF_SCHEDULE_INVERSE_SQRT,
    TF_SCHEDULE_COSINE,
    TF_SCHEDULE_LINEAR,
};
extern const char *const tf_schedule_names[]; /* NULL-terminated */

struct tf_schedule {
    enum tf_schedule_kind kind;
    double scale; /* paper */
    double lr;    /* all others: the peak */
    int64_t warmup;
    int64_t end; /* cosine and linear: > warmup */
    double lr_end;
    int64_t d_model;
};

/* cosine or linear: with an end. */
static inline bool tf_schedule_decays(enum tf_schedule_kind kind)
{
    return kind == TF_SCHEDULE_COSINE || kind == TF_SCHEDULE_LINEAR;
}

double tf_schedule_lr(const struct tf_schedule *s, uint64_t step);
/* The highest rate, and the first update that has it. */
double tf_schedule_peak(const struct tf_schedule *s, uint64_t *step);

#endif
