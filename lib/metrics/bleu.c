/* bleu.c - see bleu.h. */
#include "metrics/bleu.h"
#include "base/memory.h"
#include "metrics/number_private.h"
#include <math.h>
#include <stdlib.h>

const char *const tf_bleu_smooth_names[] = {"exp", "floor", "add-k", "none", NULL};

double tf_bleu_default_value(int smooth)
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

double tf_bleu_brevity_penalty(double hyp, double ref)
{
    if (hyp >= ref)
        return 1;
    return hyp > 0 ? exp(1 - ref / hyp) : 0;
}

double tf_bleu_mean(const double *p, int orders)
{
    double sum = 0;
    for (int n = 0; n < orders; n++)
        sum += p[n] == 0 ? -9999999999.0 : log(p[n]);
    return exp(sum / orders);
}

/* Returns how many orders to average. */
static int precisions(double p[TF_NGRAM_MAX], const double *matches, const double *totals,
                      const struct tf_bleu_opts *o)
{
    const bool f = o->float32;
    double halves = 1;
    int orders = TF_NGRAM_MAX;
    for (int n = 0; n < TF_NGRAM_MAX; n++) {
        const double k = o->smooth == TF_SMOOTH_ADD_K && n > 0 ? tf_number(o->value, f) : 0;
        const double match = tf_number(matches[n] + k, f), total = tf_number(totals[n] + k, f);
        if (total == 0)
            break;
        if (o->effective_order)
            orders = n + 1;
        if (match != 0) {
            p[n] = tf_number(tf_number(100 * match, f) / total, f);
        } else if (o->smooth == TF_SMOOTH_EXP) {
            halves *= 2;
            p[n] = tf_number(100 / (halves * total), f);
        } else if (o->smooth == TF_SMOOTH_FLOOR) {
            p[n] = tf_number(tf_number(100 * o->value, f) / total, f);
        }
    }
    return orders;
}

struct tf_bleu_score tf_bleu_score(const double sums[TF_BLEU_WIDTH], const struct tf_bleu_opts *o)
{
    const double hyp = sums[0], ref = sums[1], *matches = sums + 2;
    struct tf_bleu_score r = {.bp = tf_bleu_brevity_penalty(hyp, ref),
                              .ratio = ref > 0 ? hyp / ref : 0,
                              .hyp = (uint64_t)hyp,
                              .ref = (uint64_t)ref};
    if (matches[0] == 0) /* then longer n-grams do not match, either */
        return r;
    int orders = precisions(r.precision, matches, matches + TF_NGRAM_MAX, o);
    r.score = r.bp * tf_bleu_mean(r.precision, orders);
    return r;
}

void tf_bleu_tokens(struct tf_tokens *t, struct tf_text line, const struct tf_bleu_opts *o)
{
    if (o->lowercase) {
        tf_buf_clear(&t->lower);
        tf_uc_lower(&t->lower, line.p, line.n);
        line = (struct tf_text){t->lower.p, t->lower.len};
    }
    line.n = tf_uc_rstrip(line.p, line.n); /* a column may end in white space */
    tf_tokenizers[o->tokenizer](t, line);
}

void tf_bleu_release(struct tf_bleu *b)
{
    for (size_t r = 0; r < b->nrefs; r++)
        tf_tokens_release(&b->refs[r]);
    free(b->refs);
    free(b->symbols);
    tf_tokens_release(&b->hyp);
    tf_intern_release(&b->intern);
    tf_grams_release(&b->grams);
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
    b->symbols = tf_xarray(b->symbols, nrefs, sizeof *b->symbols);
    for (; b->nrefs < nrefs; b->nrefs++)
        b->refs[b->nrefs] = (struct tf_tokens){0};
}

int tf_bleu_count(struct tf_bleu *b, struct tf_bleu_stats *out, size_t nrefs, struct tf_err *err)
{
    size_t tokens = 0, closest = 0;
    uint32_t match[TF_NGRAM_MAX] = {0};
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
    tf_intern_start(&b->intern, tokens + b->hyp.n);
    for (size_t r = 0; r < nrefs; r++) {
        tf_tokens_number(&b->refs[r], &b->intern);
        b->symbols[r] = (struct tf_symbols){b->refs[r].number, b->refs[r].n};
    }
    tf_tokens_number(&b->hyp, &b->intern);
    tf_grams_match(&b->grams, (struct tf_symbols){b->hyp.number, b->hyp.n}, b->symbols, nrefs,
                   TF_NGRAM_MAX, match);
    out->hyp = b->hyp.n;
    out->ref = closest;
    for (size_t k = 0; k < TF_NGRAM_MAX; k++) {
        out->match[k] = match[k];
        out->total[k] = b->hyp.n > k ? b->hyp.n - k : 0;
    }
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
