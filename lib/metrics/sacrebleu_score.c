/* sacrebleu_score.c - the formulas of bleu.c, chrf.c and ter.c in numpy's number types. */
#include "metrics/sacrebleu_score_private.h"
#include <math.h>

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
    double p[TF_NGRAM_MAX] = {0};
    float halves = 1;
    int orders = TF_NGRAM_MAX;
    if (no_match(matches))
        return 0;
    for (int n = 0; n < TF_NGRAM_MAX; n++) {
        float k = o->smooth == TF_SMOOTH_ADD_K && n > 0 ? (float)o->value : 0;
        float match = (float)matches[n] + k, total = (float)totals[n] + k;
        if (total == 0)
            break;
        if (o->effective_order)
            orders = n + 1;
        if (match != 0) {
            p[n] = 100 * match / total;
        } else if (o->smooth == TF_SMOOTH_EXP) {
            halves *= 2;
            p[n] = 100 / (halves * total);
        } else if (o->smooth == TF_SMOOTH_FLOOR) {
            p[n] = (float)(100 * o->value) / total;
        }
    }
    return tf_bleu_brevity_penalty(sums[0], sums[1]) * tf_bleu_mean(p, orders);
}

static float chrf_float32(const double *counts, const struct tf_chrf_opts *o)
{
    const float eps = 1e-16F, factor = (float)o->beta * (float)o->beta;
    float f_sum = 0, p_sum = 0, r_sum = 0, used = 0;
    int64_t orders = o->chars + o->words;
    for (int64_t i = 0; i < orders; i++, counts += TF_CHRF_COUNTS) {
        float hyp = (float)counts[0], ref = (float)counts[1], match = (float)counts[2];
        float precision = hyp > 0 ? match / hyp : eps, recall = ref > 0 ? match / ref : eps;
        float denominator = factor * precision + recall;
        f_sum += denominator > 0 ? (1 + factor) * precision * recall / denominator : eps;
        if (hyp > 0 && ref > 0) {
            p_sum += precision;
            r_sum += recall;
            used++;
        }
    }
    if (o->eps)
        return orders ? 100 * f_sum / (float)orders : 0;
    float p = used > 0 ? p_sum / used : 0, r = used > 0 ? r_sum / used : 0;
    return p + r > 0 ? 100 * ((1 + factor) * p * r / (factor * p + r)) : 0;
}

double tf_sacrebleu_score_float32(const struct tf_metric *m, const double *sums)
{
    switch (m->kind) {
    case TF_BLEU:
        return bleu_float32(sums, &m->u.bleu.opts);
    case TF_CHRF:
        return chrf_float32(sums, &m->u.chrf.opts);
    case TF_TER:
        return sums[1] > 0 ? 100 * ((float)sums[0] / (float)sums[1]) : tf_ter_score(sums);
    }
    return 0;
}

double tf_sacrebleu_score_int64(const struct tf_metric *m, const double *sums)
{
    const struct tf_bleu_opts *o = m->kind == TF_BLEU ? &m->u.bleu.opts : NULL;
    if (o == NULL || o->smooth != TF_SMOOTH_ADD_K)
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
