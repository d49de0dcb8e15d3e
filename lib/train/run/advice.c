/* advice.c - commands for messages. */
#include "train/run/advice.h"
#include "train/store/rundir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The rate to suggest: the preset's peak, or a third of one that is hardly higher. */
static double lower_peak(double peak, double usual)
{
    return peak > 1.5 * usual ? usual : peak / 3;
}

static bool add_single(struct tf_buf *b, const char *dir, bool ema)
{
    static const char *const names[] = {TF_RUN_BEST, TF_RUN_RESUME};
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        char *path = tf_rundir_file(dir, names[i]);
        found = access(path, R_OK) == 0;
        if (found) {
            tf_buf_printf(b, "tf-avgckpt %s", ema ? "--ema " : "");
            tf_buf_shell_word(b, path, strlen(path));
        }
        free(path);
    }
    return found;
}

bool tf_advise_average(struct tf_buf *b, const char *dir, uint64_t n, bool ema)
{
    if (n > 0) {
        tf_buf_printf(b, "tf-avgckpt %s-n %llu ", ema ? "--ema " : "", (unsigned long long)n);
        tf_buf_shell_word(b, dir, strlen(dir));
    } else if (!add_single(b, dir, ema)) {
        return false;
    }
    tf_buf_str(b, " -o model.tfm");
    return true;
}

uint64_t tf_count_regular(const char *dir, uint64_t most)
{
    struct tf_checkpoint_list l;
    struct tf_err err;
    if (tf_rundir_list(&l, dir, &err) != 0)
        return 0;
    uint64_t n = l.n < most ? l.n : most;
    tf_checkpoint_list_release(&l);
    return n;
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
