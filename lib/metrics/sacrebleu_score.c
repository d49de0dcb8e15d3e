/* sacrebleu_score.c - the formulas of bleu.c, chrf.c and ter.c in numpy's number types. */
#include "metrics/sacrebleu_score.h"
#include "metrics/sacrebleu_float32.h"
#include <math.h>

static double f32(double x)
{
    return tf_float32_round(x, true);
}

static bool no_match(const double *matches)
{
    for (int n = 0; n < TF_NGRAM_MAX; n++)
        if (matches[n] != 0)
            return false;
    return true;
}

static double bleu_float32(const double *sums, const struct tf_bleu_opts *o)
{
    const double *matches = sums + 2, *totals = matches + TF_NGRAM_MAX;
    double p[TF_NGRAM_MAX] = {0}, halves = 1;
    int orders = TF_NGRAM_MAX;
    if (no_match(matches))
        return 0;
    for (int n = 0; n < TF_NGRAM_MAX; n++) {
        double k = o->smooth == TF_SMOOTH_ADD_K && n > 0 ? f32(o->value) : 0;
        double match = f32(matches[n] + k), total = f32(totals[n] + k);
        if (total == 0)
            break;
        if (o->effective_order)
            orders = n + 1;
        if (match != 0) {
            p[n] = f32(f32(100 * match) / total);
        } else if (o->smooth == TF_SMOOTH_EXP) {
            halves *= 2;
            p[n] = f32(100 / f32(halves * total));
        } else if (o->smooth == TF_SMOOTH_FLOOR) {
            p[n] = f32(f32(100 * o->value) / total);
        }
    }
    return tf_bleu_brevity_penalty(sums[0], sums[1]) * tf_bleu_mean(p, orders);
}

static double chrf_float32(const double *counts, const struct tf_chrf_opts *o, bool *is_float32)
{
    const double eps = 1e-16, factor = (double)o->beta * (double)o->beta;
    double f_sum = 0, p_sum = 0, r_sum = 0;
    int64_t orders = o->chars + o->words;
    int used = 0;
    bool sum_is_float32 = false;
    for (int64_t i = 0; i < orders; i++, counts += TF_CHRF_COUNTS) {
        double hyp = counts[0], ref = counts[1], match = counts[2];
        /* eps in place of a ratio is a Python float: an operation on two of those is not rounded */
        bool p32 = hyp > 0, any32 = hyp > 0 || ref > 0;
        double precision = hyp > 0 ? f32(match / hyp) : tf_float32_round(eps, any32);
        double recall = ref > 0 ? f32(match / ref) : tf_float32_round(eps, any32);
        double denominator =
            tf_float32_round(tf_float32_round(factor * precision, p32) + recall, any32);
        double f = eps;
        if (denominator > 0) {
            f = tf_float32_round((1 + factor) * precision, p32);
            f = tf_float32_round(tf_float32_round(f * recall, any32) / denominator, any32);
            sum_is_float32 |= any32;
        }
        f_sum = tf_float32_round(f_sum + f, sum_is_float32);
        if (hyp > 0 && ref > 0) {
            p_sum = f32(p_sum + precision);
            r_sum = f32(r_sum + recall);
            used++;
        }
    }
    *is_float32 = o->eps && sum_is_float32;
    if (o->eps)
        return orders
                   ? tf_float32_round(tf_float32_round(100 * f_sum, *is_float32) / (double)orders,
                                      *is_float32)
                   : 0;
    double p = used ? f32(p_sum / used) : 0, r = used ? f32(r_sum / used) : 0;
    if (f32(p + r) == 0)
        return 0;
    *is_float32 = true;
    return f32(100 * f32(f32(f32((1 + factor) * p) * r) / f32(f32(factor * p) + r)));
}

static double ter_float32(const double *sums, bool *is_float32)
{
    *is_float32 = sums[1] > 0;
    return sums[1] > 0 ? f32(100 * f32(sums[0] / sums[1])) : tf_ter_score(sums);
}

double tf_sacrebleu_score_float32(const struct tf_metric *m, const double *sums, bool *is_float32)
{
    *is_float32 = false;
    switch (m->kind) {
    case TF_BLEU:
        return bleu_float32(sums, &m->u.bleu.opts);
    case TF_CHRF:
        return chrf_float32(sums, &m->u.chrf.opts, is_float32);
    case TF_TER:
        return ter_float32(sums, is_float32);
    }
    return 0;
}

double tf_sacrebleu_score_int64(const struct tf_metric *m, const double *sums)
{
    const struct tf_bleu_opts *o = m->kind == TF_BLEU ? &m->u.bleu.opts : NULL;
    if (!o || o->smooth != TF_SMOOTH_ADD_K)
        return tf_metric_score(m, sums);
    if (no_match(sums + 2))
        return 0;
    struct tf_bleu_opts added = *o;
    double smoothed[TF_BLEU_WIDTH];
    added.value = 0;
    for (int i = 0; i < TF_BLEU_WIDTH; i++) {
        bool unigrams_or_lengths = i <= 2 || i == 2 + TF_NGRAM_MAX;
        smoothed[i] = unigrams_or_lengths ? sums[i] : trunc(sums[i] + o->value);
    }
    return tf_bleu_score(smoothed, &added).score;
}
