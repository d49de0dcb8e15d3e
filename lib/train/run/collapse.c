/* collapse.c - validation results of a model that predicts nothing. */
#include "train/run/collapse_private.h"

#include <math.h>

/* A model should do better after RIPE_STEPS updates whose learning rates add up to ripe_rates. Adam
 * moves a weight by about the learning rate: until the sum is of the size of the weights, a model
 * may still be near its start; with rates that do not add up to it by LAST_STEP, always. */
enum { RIPE_STEPS = 200, LAST_STEP = 10000000, IN_A_ROW = 2 };
static const double ripe_rates = 0.25;
/* An accuracy this many times that of constant predictions shows that the model did learn. */
static const double learned = 1.25;
/* Nats above the best loss, and share of the best accuracy, that are lost in a collapse. */
static const double lost_nll = 0.3, lost_acc = 0.5;
/* A model that is no more than `near` nats above constant predictions and gains `gain` from one
 * validation to the next is learning. */
static const double near = 0.3, gain = 0.05;

struct tf_token_stats tf_token_stats_of(const uint64_t *count, size_t n)
{
    struct tf_token_stats s = {0};
    double all = 0, kinds = 0;
    for (size_t i = 0; i < n; i++) {
        all += (double)count[i];
        kinds += count[i] > 0;
    }
    for (size_t i = 0; i < n; i++) {
        double p = count[i] > 0 ? (double)count[i] / all : 0;
        if (p > 0)
            s.entropy -= p * log(p);
        if (p > s.top)
            s.top = p;
    }
    /* The entropy of a small sample is too low. */
    if (all > 0)
        s.entropy += (kinds - 1) / (2 * all);
    return s;
}

void tf_collapse_init(struct tf_collapse *c, const struct tf_token_stats *data,
                      const struct tf_schedule *schedule, uint64_t steps)
{
    double sum = 0;
    uint64_t step = 0;
    while (step < steps && step < LAST_STEP && (step < RIPE_STEPS || sum < ripe_rates))
        sum += tf_schedule_lr(schedule, ++step);
    bool ripens = step >= RIPE_STEPS && sum >= ripe_rates;
    *c = (struct tf_collapse){
        .data = *data, .ripe = ripens ? step : UINT64_MAX, .nll = INFINITY};
}

/* Accuracies are compared with a tolerance: the log has six digits of them. */
static bool is_constant(const struct tf_collapse *c, double acc)
{
    return acc <= c->data.top * (1 + 1e-5);
}

/* A NaN is no good loss. */
static enum tf_collapse_kind suspect(const struct tf_collapse *c, double nll, double acc)
{
    bool better_before = c->acc >= learned * c->data.top;
    if (better_before && !(nll < c->nll + lost_nll) &&
        (is_constant(c, acc) || acc <= lost_acc * c->acc))
        return TF_COLLAPSE_LOST;
    return is_constant(c, acc) && !(nll < c->data.entropy) ? TF_COLLAPSE_STUCK : TF_COLLAPSE_NONE;
}

enum tf_collapse_kind tf_collapse_add(struct tf_collapse *c, uint64_t step, double nll, double acc)
{
    enum tf_collapse_kind kind = suspect(c, nll, acc);
    bool learns = nll < fmin(c->nll, c->data.entropy + near) - gain;
    if (kind == TF_COLLAPSE_NONE || (kind == TF_COLLAPSE_STUCK && learns))
        c->bad = 0;
    c->bad += kind != TF_COLLAPSE_NONE;
    c->nll = fmin(c->nll, nll);
    c->acc = fmax(c->acc, acc);
    bool early = kind == TF_COLLAPSE_STUCK && step < c->ripe;
    return c->bad < IN_A_ROW || early ? TF_COLLAPSE_NONE : kind;
}
