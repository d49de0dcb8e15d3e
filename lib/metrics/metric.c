/* metric.c - what tells the three metrics apart. */
#include "metrics/metric.h"
#include "base/hash.h"
#include "base/opt.h"
#include <stdio.h>
#include <string.h>

const char *const tf_metric_names[] = {"bleu", "chrf", "ter", NULL};

void tf_metric_init(struct tf_metric *m, enum tf_metric_kind kind, const struct tf_metric_opts *o,
                    size_t nrefs)
{
    *m = (struct tf_metric){.kind = kind, .nrefs = nrefs};
    if (kind == TF_BLEU) {
        m->u.bleu.opts = o->bleu;
        m->width = 2 + 2 * TF_NGRAM_MAX;
        snprintf(m->name, sizeof m->name, "BLEU");
    } else if (kind == TF_CHRF) {
        m->u.chrf.opts = o->chrf;
        m->width = 3 * (size_t)(o->chrf.chars + o->chrf.words);
        int n = snprintf(m->name, sizeof m->name, "chrF%d", o->chrf.beta);
        for (int i = 0; i < o->chrf.words && n + 1 < (int)sizeof m->name; i++)
            m->name[n++] = '+';
    } else {
        m->u.ter.opts = o->ter;
        m->width = 2;
        snprintf(m->name, sizeof m->name, "TER");
    }
}

void tf_metric_release(struct tf_metric *m)
{
    if (m->kind == TF_BLEU)
        tf_bleu_release(&m->u.bleu);
    else if (m->kind == TF_CHRF)
        tf_chrf_release(&m->u.chrf);
    else
        tf_ter_release(&m->u.ter);
}

int tf_metric_segment(struct tf_metric *m, uint32_t *counts, struct tf_text hyp,
                      const struct tf_text *refs, struct tf_err *err)
{
    struct tf_bleu_stats s;
    switch (m->kind) {
    case TF_CHRF:
        tf_chrf_segment(&m->u.chrf, counts, hyp, refs, m->nrefs);
        return 0;
    case TF_TER:
        return tf_ter_segment(&m->u.ter, counts, hyp, refs, m->nrefs, err);
    default:
        if (tf_bleu_segment(&m->u.bleu, &s, hyp, refs, m->nrefs, err) < 0)
            return -1;
        counts[0] = (uint32_t)s.hyp;
        counts[1] = (uint32_t)s.ref;
        for (int k = 0; k < TF_NGRAM_MAX; k++) {
            counts[2 + k] = (uint32_t)s.match[k];
            counts[2 + TF_NGRAM_MAX + k] = (uint32_t)s.total[k];
        }
        return 0;
    }
}

static double ter_score(const double *sums, enum tf_arith a, bool *single)
{
    *single = a == TF_SINGLE && sums[1] > 0;
    if (sums[1] > 0)
        return tf_arith_round(100 * tf_arith_round(sums[0] / sums[1], a), a);
    return sums[0] > 0 ? 100 : 0;
}

double tf_metric_score(const struct tf_metric *m, const double *sums, enum tf_arith a, bool *single)
{
    *single = false;
    if (m->kind == TF_CHRF)
        return tf_chrf_score(sums, &m->u.chrf.opts, a, single);
    if (m->kind == TF_TER)
        return ter_score(sums, a, single);
    return tf_bleu_score_of(sums, &m->u.bleu.opts, a).score;
}

void tf_metric_result(const struct tf_metric *m, const double *sums, const struct tf_signature *s,
                      struct tf_result *r)
{
    bool single;
    *r = (struct tf_result){.name = m->name,
                            .signature = s,
                            .score = tf_metric_score(m, sums, TF_DOUBLE, &single)};
    if (m->kind != TF_BLEU)
        return;
    struct tf_bleu_score b = tf_bleu_score_of(sums, &m->u.bleu.opts, TF_DOUBLE);
    const double *p = b.precision;
    snprintf(r->verbose, sizeof r->verbose,
             "%.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %ju ref_len = %ju)", p[0], p[1],
             p[2], p[3], b.bp, b.ratio, (uintmax_t)b.hyp, (uintmax_t)b.ref);
}

static const char *yes(bool b)
{
    return b ? "yes" : "no";
}

static void bleu_signature(struct tf_signature *s, const struct tf_bleu_opts *o)
{
    const char *smooth = tf_bleu_smooth_names[o->smooth], *tok = tf_tokenizer_names[o->tokenizer];
    char hex[65];
    tf_signature_add(s, "case", "c", "%s", o->lowercase ? "lc" : "mixed");
    tf_signature_add(s, "eff", "e", "%s", yes(o->effective_order));
    if (o->tokenizer == TF_TOK_SPM)
        tf_signature_add(s, "tok", "tok", "%s-%.8s", tok, tf_hex(hex, o->model, sizeof o->model));
    else
        tf_signature_add(s, "tok", "tok", "%s", tok);
    if (o->smooth == TF_SMOOTH_FLOOR || o->smooth == TF_SMOOTH_ADD_K)
        tf_signature_add(s, "smooth", "s", "%s[%.2f]", smooth, o->value);
    else
        tf_signature_add(s, "smooth", "s", "%s", smooth);
}

void tf_metric_signature(const struct tf_metric *m, struct tf_signature *s,
                         const struct tf_resampled *how)
{
    *s = (struct tf_signature){0};
    tf_signature_add(s, "nrefs", "#", "%zu", m->nrefs);
    if (how && how->bootstrap)
        tf_signature_add(s, "bs", "bs", "%jd", (intmax_t)how->bootstrap);
    if (how && how->randomized)
        tf_signature_add(s, "ar", "ar", "%jd", (intmax_t)how->randomized);
    if (how && how->seed)
        tf_signature_add(s, "seed", "rs", "%s", how->seed);
    if (m->kind == TF_BLEU) {
        bleu_signature(s, &m->u.bleu.opts);
    } else if (m->kind == TF_CHRF) {
        const struct tf_chrf_opts *o = &m->u.chrf.opts;
        tf_signature_add(s, "case", "c", "%s", o->lowercase ? "lc" : "mixed");
        tf_signature_add(s, "eff", "e", "%s", yes(!o->eps));
        tf_signature_add(s, "nc", "nc", "%d", o->chars);
        tf_signature_add(s, "nw", "nw", "%d", o->words);
        tf_signature_add(s, "space", "s", "%s", yes(o->whitespace));
    } else {
        const struct tf_ter_opts *o = &m->u.ter.opts;
        tf_signature_add(s, "case", "c", "%s", o->case_sensitive ? "mixed" : "lc");
        tf_signature_add(s, "tok", "t", "tercom");
        tf_signature_add(s, "norm", "nr", "%s", yes(o->normalized));
        tf_signature_add(s, "punct", "pn", "%s", yes(!o->no_punct));
        tf_signature_add(s, "asian", "as", "%s", yes(o->asian));
    }
    tf_signature_add(s, "version", "v", "tf-bleu-%s", tf_version);
}

int tf_metric_choose(enum tf_metric_kind *kinds, size_t *n, const char *const *names, size_t nnames,
                     struct tf_err *err)
{
    bool has[TF_METRICS] = {false};
    *n = 0;
    for (size_t i = 0; i < nnames; i++) {
        int k = 0;
        while (tf_metric_names[k] && strcmp(tf_metric_names[k], names[i]))
            k++;
        if (!tf_metric_names[k])
            return tf_fail_status(err, TF_USAGE, "--metrics %s: one of bleu, chrf, ter", names[i]);
        if (!has[k])
            kinds[(*n)++] = (enum tf_metric_kind)k;
        has[k] = true;
    }
    if (!*n)
        kinds[(*n)++] = TF_BLEU;
    return 0;
}
