/* sacrebleu_score.c - see sacrebleu_score_private.h. */
#include "metrics/sacrebleu_score_private.h"
#include "metrics/number_private.h"
#include <math.h>

double tf_sacrebleu_score_float32(const struct tf_metric *m, const double *sums)
{
    struct tf_bleu_opts bleu;
    struct tf_chrf_opts chrf;
    switch (m->kind) {
    case TF_BLEU:
        bleu = m->u.bleu.opts;
        bleu.float32 = true;
        return tf_bleu_score(sums, &bleu).score;
    case TF_CHRF:
        chrf = m->u.chrf.opts;
        chrf.float32 = true;
        return tf_chrf_score(sums, &chrf);
    case TF_TER:
        return sums[1] > 0 ? tf_number(100 * tf_number(sums[0] / sums[1], true), true)
                           : tf_ter_score(sums);
    }
    return 0;
}

double tf_sacrebleu_score_int64(const struct tf_metric *m, const double *sums)
{
    const struct tf_bleu_opts *o = m->kind == TF_BLEU ? &m->u.bleu.opts : NULL;
    if (o == NULL || o->smooth != TF_SMOOTH_ADD_K)
        return tf_metric_score(m, sums);
    if (sums[2] == 0) /* no match */
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

double tf_sacrebleu_p(const double *x, size_t n, double shift, double limit)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++)
        above += x[i] - shift > limit;
    return (double)(above + 1) / (double)(n + 1);
}
