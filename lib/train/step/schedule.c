/* schedule.c - learning rates. Powers by sqrt alone, so that the bits do not depend on the C
 * library's pow. */
#include "train/step/schedule.h"

#include <math.h>
#include <stddef.h>

const char *const tf_schedule_names[] = {"paper", "constant", "inverse-sqrt", NULL};

double tf_schedule_lr(const struct tf_schedule *s, uint64_t step)
{
    double at = (double)(step > 0 ? step : 1), warmup = (double)(s->warmup > 0 ? s->warmup : 1);
    double rise, fall;
    switch (s->kind) {
    case TF_SCHEDULE_CONSTANT:
        return s->lr * (at < warmup ? at / warmup : 1);
    case TF_SCHEDULE_INVERSE_SQRT:
        rise = at / warmup;
        fall = sqrt(warmup / at);
        return s->lr * (rise < fall ? rise : fall);
    case TF_SCHEDULE_PAPER:
        break;
    }
    rise = at / (warmup * sqrt(warmup));
    fall = 1 / sqrt(at);
    return s->scale / sqrt((double)s->d_model) * (rise < fall ? rise : fall);
}

double tf_schedule_peak(const struct tf_schedule *s, uint64_t *step)
{
    *step = s->warmup > 0 ? (uint64_t)s->warmup : 1;
    return tf_schedule_lr(s, *step);
}
