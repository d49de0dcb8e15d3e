/* length.c - how long a run trains. */
#include "train/run/length_private.h"

#include <math.h>
#include <string.h>

static const char steps[] = "steps", epochs[] = "epochs", tokens[] = "tokens";

static bool reached(int64_t limit, uint64_t is)
{
    return limit > 0 && is >= (uint64_t)limit;
}

const char *tf_run_length_reached(const struct tf_settings *o, const struct tf_run_state *s)
{
    if (reached(o->steps, s->step))
        return steps;
    if (reached(o->epochs, s->cursor.epoch))
        return epochs;
    return reached(o->tokens, s->tgt_tokens) ? tokens : NULL;
}

double tf_run_length_left(const struct tf_settings *o, const struct tf_run_state *s)
{
    const double step = (double)s->step, usual = (double)s->tgt_tokens / step;
    double left = INFINITY;
    if (o->steps > 0)
        left = (double)o->steps - step;
    if (o->tokens > 0)
        left = fmin(left, ((double)o->tokens - (double)s->tgt_tokens) / usual);
    return left;
}

void tf_run_length_describe(struct tf_buf *b, const char *option, const struct tf_settings *o,
                            const struct tf_run_state *s)
{
    if (strcmp(option, steps) == 0)
        tf_buf_printf(b, "step %llu of %lld", (unsigned long long)s->step, (long long)o->steps);
    else if (strcmp(option, epochs) == 0)
        tf_buf_printf(b, "epoch %llu of %lld", (unsigned long long)s->cursor.epoch,
                      (long long)o->epochs);
    else
        tf_buf_printf(b, "token %llu of %lld", (unsigned long long)s->tgt_tokens,
                      (long long)o->tokens);
}
