/* bleu.c - statistics of a segment, and the score of their sums. */
#include "metrics/bleu.h"
#include <math.h>
#include <stdlib.h>

const char *const tf_bleu_smooth_names[] = {"exp", "floor", "add-k", "none", NULL};

double tf_bleu_default_value(enum tf_bleu_smooth smooth)
{
    return smooth == TF_SMOOTH_FLOOR ? 0.1 : smooth == TF_SMOOTH_ADD_K ? 1 : 0;
}

void tf_bleu_add(struct tf_bleu_stats *sum, const struct tf_bleu_stats *s)
{
    sum->hyp += s->hyp;
    sum->ref += s->ref;
    for (int n = 0; n < TF_NGRAM_MAX; n++) {
        sum->match[n] += s->match[n];
        sum->total[n] += s->total[n];
    }
}

double tf_bleu_log(double x)
{
    return x == 0 ? -9999999999.0 : log(x);
}

struct tf_bleu_score tf_bleu_score_of(const double sums[2 + 2 * TF_NGRAM_MAX],
                                      const struct tf_bleu_opts *o, enum tf_arith a)
{
    const double hyp = sums[0], ref = sums[1], *m = sums + 2, *t = m + TF_NGRAM_MAX;
    struct tf_bleu_score r = {.bp = 1, .hyp = (uint64_t)hyp, .ref = (uint64_t)ref};
    if (hyp < ref)
        r.bp = hyp > 0 ? exp(1 - ref / hyp) : 0;
    r.ratio = ref > 0 ? hyp / ref : 0;
    if (m[0] == 0 && m[1] == 0 && m[2] == 0 && m[3] == 0)
        return r;
    double halves = 1, sum = 0, value = tf_arith_round(o->value, a);
    int order = TF_NGRAM_MAX;
    for (int n = 0; n < TF_NGRAM_MAX; n++) {
        double match = m[n], total = t[n];
        if (o->smooth == TF_SMOOTH_ADD_K && n > 0) {
            match = tf_arith_round(match + value, a);
            total = tf_arith_round(total + value, a);
            if (a == TF_INTEGER) {
                match = trunc(match);
                total = trunc(total);
            }
        }
        if (total == 0)
            break;
        if (o->effective_order)
            order = n + 1;
        if (match != 0) {
            r.precision[n] = tf_arith_round(tf_arith_round(100 * match, a) / total, a);
        } else if (o->smooth == TF_SMOOTH_EXP) {
            halves *= 2;
            r.precision[n] = tf_arith_round(100 / tf_arith_round(halves * total, a), a);
        } else if (o->smooth == TF_SMOOTH_FLOOR) {
            r.precision[n] = tf_arith_round(tf_arith_round(100 * o->value, a) / total, a);
        }
    }
    for (int n = 0; n < order; n++)
        sum += tf_bleu_log(r.precision[n]);
    r.score = r.bp * exp(sum / order);
    return r;
}

struct tf_bleu_score tf_bleu_score(const struct tf_bleu_stats *s, const struct tf_bleu_opts *o)
{
    double sums[2 + 2 * TF_NGRAM_MAX] = {(double)s->hyp, (double)s->ref};
    for (int n = 0; n < TF_NGRAM_MAX; n++) {
        sums[2 + n] = (double)s->match[n];
        sums[2 + TF_NGRAM_MAX + n] = (double)s->total[n];
    }
    return tf_bleu_score_of(sums, o, TF_DOUBLE);
}

void tf_bleu_tokens(struct tf_tokens *t, struct tf_text line, const struct tf_bleu_opts *o)
{
    if (o->lowercase) {
        tf_buf_clear(&t->lower);
        tf_uc_lower(&t->lower, line.p, line.n);
        line = (struct tf_text){t->lower.p, t->lower.len};
    }
    line.n = tf_uc_rstrip(line.p, line.n); /* a column between tabs may still end in white space */
    tf_tokenizers[o->tokenizer](t, line);
}

void tf_bleu_release(struct tf_bleu *b)
{
    for (size_t r = 0; r < b->nrefs; r++)
        tf_tokens_release(&b->refs[r]);
    free(b->refs);
    tf_tokens_release(&b->hyp);
    tf_ngrams_release(&b->ngrams);
    *b = (struct tf_bleu){0};
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

void tf_bleu_room(struct tf_bleu *b, size_t nrefs)
{
    if (nrefs <= b->nrefs)
        return;
    b->refs = tf_xarray(b->refs, nrefs, sizeof *b->refs);
    for (; b->nrefs < nrefs; b->nrefs++)
        b->refs[b->nrefs] = (struct tf_tokens){0};
}

int tf_bleu_count(struct tf_bleu *b, struct tf_bleu_stats *out, size_t nrefs, struct tf_err *err)
{
    size_t tokens = 0, closest = 0;
    *out = (struct tf_bleu_stats){0};
    for (size_t r = 0; r < nrefs; r++) {
        size_t n = b->refs[r].n;
        uint64_t d = distance(n, b->hyp.n), best = distance(closest, b->hyp.n);
        if (r == 0 || d < best || (d == best && n < closest))
            closest = n;
        tokens += n;
    }
    if (tokens > TF_NGRAM_TOKENS)
        return tf_fail(err, "%zu tokens in the references of one segment, maximum %d", tokens,
                       TF_NGRAM_TOKENS);
    tf_ngrams_start(&b->ngrams, tokens);
    for (size_t r = 0; r < nrefs; r++)
        tf_ngrams_add(&b->ngrams, b->refs[r].v, b->refs[r].n);
    tf_ngrams_match(&b->ngrams, b->hyp.v, b->hyp.n, out->match);
    out->hyp = b->hyp.n;
    out->ref = closest;
    for (size_t k = 1; k <= TF_NGRAM_MAX; k++)
        out->total[k - 1] = b->hyp.n >= k ? b->hyp.n - k + 1 : 0;
    return 0;
}

int tf_bleu_segment(struct tf_bleu *b, struct tf_bleu_stats *out, struct tf_text hyp,
                    const struct tf_text *refs, size_t nrefs, struct tf_err *err)
{
    tf_bleu_room(b, nrefs);
    tf_bleu_tokens(&b->hyp, hyp, &b->opts);
    for (size_t r = 0; r < nrefs; r++)
        tf_bleu_tokens(&b->refs[r], refs[r], &b->opts);
    return tf_bleu_count(b, out, nrefs, err);
}
