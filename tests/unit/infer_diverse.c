/* Diverse beam search: the steps of tf_diverse_step and the ranking of their outputs against a
 * search that is written out over whole hypotheses, group by group. Log-probabilities are random.
 */
/* tags: no-emulator */
#include "../harness/hypotheses.h"
#include "../harness/tap.h"
#include "base/rng.h"
#include "infer/diverse_private.h"
#include "ops/registry.h"

#include <math.h>
#include <string.h>

enum { CASES = 500, MAX_V = 16, LIMIT = 10, MAX_K = 4, MAX_G = 4, EOS = 0, BAN = 1, S = 2 };

/* A case. */
static size_t V, K, G, limit[S], n_prefix;
static uint32_t prefix[3];
static struct hash_model model;
static double alpha, strength;
static bool free_prefix;

static void make_case(struct tf_rng *r)
{
    V = 4 + tf_rng_below(r, MAX_V - 3);
    G = 2 + tf_rng_below(r, MAX_G - 1);
    K = 1 + tf_rng_below(r, MAX_K);
    model = (struct hash_model){.seed = tf_rng_u64(r), .holes = true, .copies = G};
    model.levels = tf_rng_below(r, 3) == 0 ? 4 : 0;
    alpha = tf_rng_below(r, 2) ? 0.6 : 0;
    strength = model.levels > 0 ? 0.5 : 2 * tf_rng_real(r);
    n_prefix = tf_rng_below(r, 3);
    free_prefix = tf_rng_below(r, 2);
    for (size_t i = 0; i < n_prefix; i++)
        prefix[i] = 2 + (uint32_t)tf_rng_below(r, V - 2);
    for (size_t i = 0; i < S; i++)
        limit[i] = n_prefix + tf_rng_below(r, LIMIT - n_prefix + 1);
}

struct results {
    struct hyp v[MAX_G * MAX_K];
    size_t n;
};

/* ---- the definition, over whole hypotheses ---- */

static double lp(size_t n)
{
    return pow((5 + (double)n + 1) / 6, alpha);
}

struct beam {
    struct hyp live[MAX_K];
    size_t n;
    struct results ends;
};

/* One step of one group; said: ids of earlier groups in this step, how many of each. */
static void advance(struct beam *b, size_t sentence, size_t t, const size_t *said)
{
    static struct cand c[MAX_K * MAX_V];
    struct hyp live[MAX_K];
    const bool forced = t < n_prefix || t == limit[sentence];
    size_t m = 0;
    for (size_t row = 0; row < b->n; row++)
        for (uint32_t v = 0; v < V; v++) {
            if (forced ? v != (t < n_prefix ? prefix[t] : EOS) : v == BAN)
                continue;
            const double x = (double)hash_logp(&model, sentence, b->live[row].ids, t, v),
                         penalty = forced ? 0 : strength * (double)said[v];
            if (isfinite(x))
                c[m++] = (struct cand){b->live[row].logp + x - penalty, x, row, v};
        }
    qsort(c, m, sizeof *c, by_rule);
    memcpy(live, b->live, sizeof live);
    b->n = 0;
    for (size_t j = 0; j < m && j < (K == 1 ? 1 : 2 * K); j++) {
        struct hyp h = continued(&live[c[j].row], &c[j], c[j].id == EOS);
        if (t < n_prefix && free_prefix)
            h.logp = 0;
        h.score = h.logp / lp(h.n);
        if (c[j].id == EOS)
            keep(b->ends.v, &b->ends.n, K, h);
        else if (b->n < K)
            b->live[b->n++] = h;
    }
}

/* Those that can no longer enter the K ends are dropped, which spares later groups a penalty. */
static void drop(struct beam *b, size_t sentence)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->ends.n < K || b->live[i].logp / lp(limit[sentence]) > b->ends.v[K - 1].score)
            b->live[n++] = b->live[i];
    b->n = n;
}

/* log P without penalties, of the ids from that one on. */
static double sum(const struct hyp *h, size_t from)
{
    double logp = 0;
    for (size_t t = from; t <= h->n; t++)
        logp += h->lp[t];
    return logp;
}

static void naive(struct results *out, size_t sentence)
{
    struct beam b[MAX_G] = {0};
    out->n = 0;
    for (size_t g = 0; g < G; g++)
        b[g].n = 1;
    for (size_t t = 0; t <= limit[sentence]; t++) {
        size_t said[MAX_V] = {0};
        for (size_t g = 0; g < G; g++) {
            advance(&b[g], sentence, t, said);
            drop(&b[g], sentence);
            for (size_t i = 0; i < b[g].n; i++)
                said[b[g].live[i].ids[t]]++;
        }
    }
    for (size_t g = 0; g < G; g++)
        for (size_t k = 0; k < b[g].ends.n; k++) {
            struct hyp h = b[g].ends.v[k];
            bool known = false;
            for (size_t i = 0; i < out->n; i++)
                known |= same_ids(&out->v[i], &h);
            h.logp = sum(&h, 0);
            h.score = (double)(float)(sum(&h, free_prefix ? n_prefix : 0) / lp(h.n));
            if (!known)
                keep(out->v, &out->n, MAX_G * MAX_K, h);
        }
}

/* ---- the tools' search ---- */

static void rank(struct results *out, const struct tf_search *q, size_t sentence)
{
    static uint32_t ids[MAX_G * MAX_K][MAX_LEN + 1];
    static float terms[MAX_G * MAX_K][MAX_LEN + 2];
    struct tf_hyp h[MAX_G * MAX_K];
    size_t n = 0;
    for (size_t g = sentence * G; g < (sentence + 1) * G; g++)
        for (size_t k = 0; k < tf_search_count(q, g); k++, n++) {
            tf_search_trace(q, g, k, ids[n], terms[n]);
            h[n] = (struct tf_hyp){
                .ids = ids[n], .n = tf_search_result(q, g, k).n, .token_logp = terms[n]};
        }
    out->n = tf_diverse_rank(h, n, &q->opts, n_prefix, limit[sentence]);
    for (size_t k = 0; k < out->n; k++) {
        out->v[k] = (struct hyp){
            .n = h[k].n, .logp = (double)h[k].logp, .score = (double)h[k].score};
        memcpy(out->v[k].ids, h[k].ids, h[k].n * sizeof *h[k].ids);
    }
}

static void search(struct results *out, const struct tf_backend *be, struct tf_ctx *ctx)
{
    struct tf_err err = {0};
    const struct tf_search_opts o = {.V = V,
                                     .K = K,
                                     .N = K,
                                     .start = 1,
                                     .eos = EOS,
                                     .alpha = alpha,
                                     .ban = {BAN},
                                     .n_ban = 1,
                                     .free_prefix = free_prefix};
    const struct tf_diverse d = {G, strength};
    struct tf_search q;
    uint32_t most[S * MAX_G], prefixes[S * MAX_G * 3], prefix_off[S * MAX_G + 1] = {0};
    const uint32_t off[S + 1] = {0, 1, 3};
    for (size_t i = 0; i < S * G; i++) {
        most[i] = (uint32_t)limit[i / G];
        prefix_off[i + 1] = prefix_off[i] + (uint32_t)n_prefix;
        memcpy(prefixes + prefix_off[i], prefix, n_prefix * sizeof *prefix);
    }
    const struct tf_search_group g = {.n = S * G,
                                      .copies = G,
                                      .src_off = off,
                                      .limit = most,
                                      .prefix = prefixes,
                                      .prefix_off = prefix_off};
    static float lps[S * MAX_G * MAX_K * MAX_V];
    tf_search_init(&q, &o, be, ctx);
    must(tf_search_start(&q, &g, &err), &err);
    bool sources = true;
    for (size_t r = 0; r < S * G; r++)
        sources &= q.first[r] == off[r / G] && q.n_src[r] == off[r / G + 1] - off[r / G];
    while (q.rows > 0) {
        fill_logp(lps, &model, &q);
        tf_diverse_step(&d, &q, lps);
        must(tf_search_poll(&q, false, &err), &err);
        for (size_t i = 0; i < S * G; i++)
            for (size_t r = q.row0[i]; r < q.row0[i] + q.live[i]; r++)
                sources &= q.first[r] == off[i / G];
    }
    must(tf_search_fetch(&q, &err), &err);
    for (size_t i = 0; i < S; i++)
        rank(&out[i], &q, i);
    if (!sources)
        out[0].n = 0;
    tf_search_release(&q);
}

static bool same(const struct results *a, const struct results *b)
{
    bool good = a->n == b->n;
    for (size_t k = 0; good && k < a->n; k++)
        good = fabs(a->v[k].score - b->v[k].score) < 1e-6 &&
               fabs(a->v[k].logp - b->v[k].logp) < 1e-5 && same_ids(&a->v[k], &b->v[k]);
    return good;
}

int main(void)
{
    static struct results got[S], want, plain;
    struct tf_err err = {0};
    const struct tf_backend *be = tf_backend_find("cpu", NULL, TF_USE_DECODING, NULL, &err);
    const struct tf_ctx_opts open = {.threads = 1};
    struct tf_ctx *ctx = be->open(&open, &err);
    struct tf_rng r = tf_rng_new(2016, 0);
    int equal = 0, changed = 0, outputs = 0, more = 0;
    for (int i = 0; i < CASES; i++) {
        make_case(&r);
        search(got, be, ctx);
        const double x = strength;
        for (size_t s = 0; s < S; s++) {
            naive(&want, s);
            equal += same(&got[s], &want);
            outputs += want.n > 0;
            strength = 0;
            naive(&plain, s);
            strength = x;
            changed += !same(&want, &plain);
            more += want.n > plain.n;
        }
    }
    is_int(equal, S * CASES, "the outputs of a search over whole hypotheses");
    ok(outputs > CASES, "%d of %d searches have outputs", outputs, S * CASES);
    ok(changed > CASES && more > CASES, "without strength %d lists differ, %d are shorter", changed,
       more);
    be->close(ctx);
    return done();
}
