/* metric.c - see metric.h. The switches have no default, so that the compiler names every
 * place that a new metric concerns. */
#include "metrics/metric.h"
#include "base/opt.h"
#include <stdio.h>

const char *const tf_metric_names[] = {"bleu", "chrf", "ter", NULL};

static void chrf_name(char *name, size_t size, const struct tf_chrf_opts *o)
{
    size_t n = (size_t)snprintf(name, size, "chrF%d", (int)o->beta);
    for (int64_t i = 0; i < o->words && n + 1 < size; i++)
        name[n++] = '+';
}

void tf_metric_init(struct tf_metric *m, enum tf_metric_kind kind, const struct tf_metric_opts *o,
                    size_t nrefs)
{
    *m = (struct tf_metric){.kind = kind, .nrefs = nrefs};
    switch (kind) {
    case TF_BLEU:
        m->u.bleu.opts = o->bleu;
        m->width = TF_BLEU_WIDTH;
        snprintf(m->name, sizeof m->name, "BLEU");
        break;
    case TF_CHRF:
        m->u.chrf.opts = o->chrf;
        m->width = TF_CHRF_COUNTS * (size_t)(o->chrf.chars + o->chrf.words);
        chrf_name(m->name, sizeof m->name, &o->chrf);
        break;
    case TF_TER:
        m->u.ter.opts = o->ter;
        m->width = 2;
        snprintf(m->name, sizeof m->name, "TER");
        break;
    }
}

void tf_metric_release(struct tf_metric *m)
{
    switch (m->kind) {
    case TF_BLEU:
        tf_bleu_release(&m->u.bleu);
        break;
    case TF_CHRF:
        tf_chrf_release(&m->u.chrf);
        break;
    case TF_TER:
        tf_ter_release(&m->u.ter);
        break;
    }
}

static int bleu_segment(struct tf_metric *m, uint32_t *counts, struct tf_text hyp,
                        const struct tf_text *refs, struct tf_err *err)
{
    struct tf_bleu_stats s;
    if (tf_bleu_segment(&m->u.bleu, &s, hyp, refs, m->nrefs, err) != 0)
        return -1;
    counts[0] = (uint32_t)s.hyp;
    counts[1] = (uint32_t)s.ref;
    for (int k = 0; k < TF_NGRAM_MAX; k++) {
        counts[2 + k] = (uint32_t)s.match[k];
        counts[2 + TF_NGRAM_MAX + k] = (uint32_t)s.total[k];
    }
    return 0;
}

int tf_metric_segment(struct tf_metric *m, uint32_t *counts, struct tf_text hyp,
                      const struct tf_text *refs, struct tf_err *err)
{
    switch (m->kind) {
    case TF_BLEU:
        return bleu_segment(m, counts, hyp, refs, err);
    case TF_CHRF:
        tf_chrf_segment(&m->u.chrf, counts, hyp, refs, m->nrefs);
        return 0;
    case TF_TER:
        return tf_ter_segment(&m->u.ter, counts, hyp, refs, m->nrefs, err);
    }
    return 0;
}

double tf_metric_score(const struct tf_metric *m, const double *sums)
{
    switch (m->kind) {
    case TF_BLEU:
        return tf_bleu_score(sums, &m->u.bleu.opts).score;
    case TF_CHRF:
        return tf_chrf_score(sums, &m->u.chrf.opts);
    case TF_TER:
        return tf_ter_score(sums);
    }
    return 0;
}

int tf_metric_choose(enum tf_metric_kind *kinds, size_t *n, const char *const *names, size_t nnames,
                     struct tf_err *err)
{
    bool has[TF_METRICS] = {false};
    *n = 0;
    for (size_t i = 0; i < nnames; i++) {
        struct tf_err why;
        int k = tf_opt_find_word(tf_metric_names, names[i], &why);
        if (k < 0)
            return tf_fail_status(err, TF_USAGE, "--metrics %s", why.msg);
        if (!has[k])
            kinds[(*n)++] = (enum tf_metric_kind)k;
        has[k] = true;
    }
    if (!*n)
        kinds[(*n)++] = TF_BLEU;
    return 0;
}
