/* schedule.c - learning rates. Powers by sqrt, and the cosine by its series, so that the bits do
 * not depend on the C library's pow and cos. */
#include "train/step/schedule.h"

#include <math.h>
#include <stddef.h>

const char *const tf_schedule_names[] = {"paper", "constant", "inverse-sqrt", "cosine", "linear",
                                         NULL};

/* (1 + cos(pi x)) / 2 for 0 <= x <= 1: the square of cos(pi x / 2), whose series ends below the
 * last bit. */
static double half_cosine(double x)
{
    const double half_pi = 1.57079632679489661923, y2 = half_pi * x * half_pi * x;
    double sum = 1;
    for (int k = 22; k > 0; k -= 2)
        sum = 1 - y2 / (k * (k - 1)) * sum;
    return sum * sum;
}

/* The share of the way from lr down to lr_end that is left. */
static double left(const struct tf_schedule *s, double at)
{
    const double warmup = (double)s->warmup, end = (double)s->end;
    const double x = at < end ? (at - warmup) / (end - warmup) : 1;
    if (x == 1)
        return 0;
    return s->kind == TF_SCHEDULE_COSINE ? half_cosine(x) : 1 - x;
}

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
    case TF_SCHEDULE_COSINE:
    case TF_SCHEDULE_LINEAR:
        return at < warmup ? s->lr * (at / warmup) : s->lr_end + (s->lr - s->lr_end) * left(s, at);
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
