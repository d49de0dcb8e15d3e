/* advice.c - commands for messages. */
#include "train/run/advice_private.h"

/* The rate to suggest: the preset's peak, or a third of one that is hardly higher. */
static double lower_peak(double peak, double usual)
{
    return peak > 1.5 * usual ? usual : peak / 3;
}

void tf_advise_rate(struct tf_buf *b, const struct tf_settings *o, int64_t width)
{
    struct tf_schedule s = o->schedule;
    uint64_t at, usual_at;
    s.d_model = width;
    double peak = tf_schedule_peak(&s, &at), usual = tf_schedule_peak(&o->usual, &usual_at),
           lower = lower_peak(peak, usual);
    tf_buf_printf(b, "the learning rate peaks at %.3g in update %llu; try a peak of %.3g", peak,
                  (unsigned long long)at, lower);
    if (s.kind == TF_SCHEDULE_PAPER)
        tf_buf_printf(b, " (--lr-scale %.3g)", peak > 0 ? s.scale * lower / peak : 0);
    else
        tf_buf_printf(b, " (--lr %.3g)", lower);
}
