/* decode_search.c - search_step against the rule in ops/search.h, written out over whole hypotheses
 * and without any early stop; against exhaustive enumeration; and the bodies against each other.
 * The "model" is a hash of sentence and history, so that every hypothesis has its own distribution
 * and no tensor is needed. */
#include "../tap.h"
#include "base/rng.h"
#include "ops/search.h"

enum { MAX_LEN = 12, MAX_K = 40, MAX_V = 300, MAX_S = 6 };

void tf_cpu_search_step(struct tf_ctx *, struct tf_search *, const tf_mem *);

struct fake {
    size_t V;
    uint64_t seed;
    int levels;   /* > 0: unnormalised multiples of -1/2, full of ties */
    double holes; /* share of ids at -inf */
};

struct hyp {
    uint32_t ids[MAX_LEN + 1];
    double lp[MAX_LEN + 2];
    size_t n;
    double logp, score;
};

struct results {
    struct hyp v[MAX_S][MAX_K];
    size_t n[MAX_S];
};

struct group {
    size_t n;
    uint32_t limit[MAX_S], src_off[MAX_S + 1], prefix[MAX_S * MAX_LEN], prefix_off[MAX_S + 1];
    uint64_t key[MAX_S];
};

static void distribution(float *lp, const struct fake *f, uint64_t key, const uint32_t *ids,
                         size_t n)
{
    uint64_t h = tf_mix64(f->seed ^ key * 0x9e3779b97f4a7c15u);
    for (size_t i = 0; i < n; i++)
        h = tf_mix64(h ^ (ids[i] + 1));
    struct tf_rng r = tf_rng_new(h, 0);
    double sum = 0;
    for (size_t v = 0; v < f->V; v++) {
        double u = tf_rng_real(&r);
        lp[v] = f->levels ? -0.5F * (float)(1 + (int)(u * f->levels)) : (float)(4 * u);
        sum += exp((double)lp[v]);
        if (tf_rng_real(&r) < f->holes)
            lp[v] = v % 2 ? -INFINITY : NAN;
    }
    for (size_t v = 0; v < f->V && !f->levels; v++)
        lp[v] = (float)((double)lp[v] - log(sum));
}

/* The history of a live row, from the tables of the search: what the cache would hold. */
static void run(struct results *out, struct tf_search *s, const struct fake *f,
                const struct group *g, const struct tf_backend *be, bool lag, bool *tables_ok)
{
    struct tf_err err = {0};
    struct tf_search_group sg = {g->n, g->src_off, g->limit, g->prefix, g->prefix_off, g->key};
    if (tf_search_start(s, &sg, &err) < 0)
        TF_BUG("%s", err.msg);
    uint32_t *cache = calloc(s->slots, sizeof *cache);
    size_t act = be->elem_size[TF_ELEM_ACT];
    void *lp = malloc(s->max_rows * f->V * act + 1);
    float *one = malloc(f->V * sizeof *one);
    size_t calls = 0;
    const uint32_t *counts;
    while (counts = s->counts, counts[TF_SEARCH_LIVE] > 0) {
        const uint32_t *ids = s->ids, *slot = s->slot, *at = s->at, *n_past = s->n_past,
                       *first = s->first, *table = s->table, *n_src = s->n_src;
        memset(lp, 0x7f, s->max_rows * f->V * act);
        for (size_t r = 0; r < s->rows; r++)
            cache[slot[r]] = ids[r];
        for (size_t r = 0; r < counts[TF_SEARCH_LIVE]; r++) {
            uint32_t hist[MAX_LEN + 1];
            size_t i = 0;
            while (g->src_off[i] != first[r])
                i++;
            if (n_past[r] != at[r] + 1 || at[r] != calls || table[r * s->ld + at[r]] != slot[r] ||
                slot[r] >= s->slots || n_src[r] != g->src_off[i + 1] - g->src_off[i])
                *tables_ok = false;
            for (size_t j = 1; j < n_past[r]; j++)
                hist[j - 1] = cache[table[r * s->ld + j]];
            if (cache[table[r * s->ld]] != s->rule.start)
                *tables_ok = false;
            distribution(one, f, g->key[i], hist, at[r]);
            for (size_t v = 0; v < f->V; v++)
                if (act == sizeof(float))
                    ((float *)lp)[r * f->V + v] = one[v];
                else
                    ((double *)lp)[r * f->V + v] = (double)one[v];
        }
        for (size_t r = counts[TF_SEARCH_LIVE]; r < s->rows;
             r++) /* dead rows touch nothing that is alive */
            if (slot[r] != s->slots - 1 || n_past[r] != 1 || at[r] != 0 ||
                table[r * s->ld] != s->slots - 1)
                *tables_ok = false;
        if (lag) /* a host that only knows the bound */
            s->rows = calls == 0 ? s->max_rows : s->rows;
        be->search_step(NULL, s, lp);
        if (!lag && tf_search_poll(s, &err) < 0)
            TF_BUG("%s", err.msg);
        if (++calls > s->max_steps)
            TF_BUG("no end");
    }
    if (tf_search_fetch(s, &err) < 0)
        TF_BUG("%s", err.msg);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < g->n; i++) {
        out->n[i] = tf_search_count(s, i);
        for (size_t k = 0; k < out->n[i]; k++) {
            struct tf_search_hyp h = tf_search_result(s, i, k);
            struct hyp *o = &out->v[i][k];
            float terms[MAX_LEN + 2];
            o->n = h.n, o->logp = h.logp, o->score = h.score;
            tf_search_trace(s, i, k, o->ids, terms);
            for (size_t j = 0; j <= h.n; j++)
                o->lp[j] = (double)terms[j];
        }
    }
    free(cache);
    free(lp);
    free(one);
}

/* ---- the rule over whole hypotheses ---- */

struct cand {
    double logp, x;
    size_t row;
    uint32_t id;
};

static int by_rule(const void *pa, const void *pb)
{
    const struct cand *a = pa, *b = pb;
    if (a->logp != b->logp)
        return a->logp > b->logp ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->x != b->x)
        return a->x > b->x ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

static size_t candidates(struct cand *c, const struct tf_search_rule *rule, const struct fake *f,
                         const struct group *g, size_t i, const struct hyp *live, size_t n,
                         size_t t)
{
    size_t P = g->prefix_off[i + 1] - g->prefix_off[i], m = 0;
    float lp[MAX_V];
    for (size_t row = 0; row < n; row++) {
        distribution(lp, f, g->key[i], live[row].ids, t);
        for (uint32_t v = 0; v < rule->V; v++) {
            bool banned = false;
            for (size_t k = 0; k < rule->n_ban; k++)
                banned |= rule->ban[k] == v;
            if (t < P              ? v != g->prefix[g->prefix_off[i] + t]
                : t >= g->limit[i] ? v != rule->eos
                                   : banned)
                continue;
            double x = lp[v] > 0 ? 0 : (double)lp[v];
            if (isfinite(lp[v]))
                c[m++] = (struct cand){live[row].logp + x, x, row, v};
        }
    }
    qsort(c, m, sizeof *c, by_rule);
    return m;
}

static double penalty(double alpha, size_t n)
{
    return pow((5 + (double)(n + 1)) / 6, alpha);
}

static void finish(struct hyp *fin, size_t *n, size_t most, struct hyp h)
{
    size_t at = *n;
    while (at > 0 && fin[at - 1].score < h.score)
        at--;
    if (at == most)
        return;
    if (*n < most)
        ++*n;
    for (size_t j = *n - 1; j > at; j--)
        fin[j] = fin[j - 1];
    fin[at] = h;
}

static void by_hand(struct results *out, const struct tf_search_rule *rule, const struct fake *f,
                    const struct group *g)
{
    static struct hyp live[MAX_K], next[MAX_K];
    static struct cand c[MAX_K * MAX_V];
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < g->n; i++) {
        size_t n = 1, P = g->prefix_off[i + 1] - g->prefix_off[i];
        memset(&live[0], 0, sizeof live[0]);
        for (size_t t = 0; t <= g->limit[i] && n > 0; t++) {
            size_t m = candidates(c, rule, f, g, i, live, n, t),
                   grow = rule->K == 1 ? 1 : 2 * rule->K, k = 0;
            for (size_t j = 0; j < m && j < grow; j++) {
                struct hyp h = live[c[j].row];
                h.logp = c[j].logp;
                h.lp[t] = (double)(float)c[j].x;
                if (t >= P && c[j].id == rule->eos) {
                    h.score = h.logp / penalty(rule->alpha, h.n);
                    finish(out->v[i], &out->n[i], rule->N, h);
                } else if (k < rule->K) {
                    h.ids[h.n++] = c[j].id;
                    next[k++] = h;
                }
            }
            memcpy(live, next, k * sizeof *live);
            n = k;
        }
    }
}

/* All sequences of ids up to the limit, ended. */
static void exhaust(struct hyp *fin, size_t *n, const struct tf_search_rule *rule,
                    const struct fake *f, uint64_t key, size_t limit, struct hyp *h)
{
    float lp[MAX_V];
    distribution(lp, f, key, h->ids, h->n);
    struct hyp end = *h;
    end.logp += (double)lp[rule->eos];
    end.score = end.logp / penalty(rule->alpha, h->n);
    finish(fin, n, rule->N, end);
    for (uint32_t v = 0; h->n < limit && v < rule->V; v++) {
        if (v == rule->eos)
            continue;
        double logp = h->logp;
        h->ids[h->n++] = v;
        h->logp += (double)lp[v];
        exhaust(fin, n, rule, f, key, limit, h);
        h->n--;
        h->logp = logp;
    }
}

static bool same(const struct results *a, const struct results *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a->n[i] != b->n[i])
            return false;
        for (size_t k = 0; k < a->n[i]; k++) {
            const struct hyp *x = &a->v[i][k], *y = &b->v[i][k];
            if (x->n != y->n || memcmp(x->ids, y->ids, x->n * sizeof *x->ids) ||
                x->logp != y->logp || x->score != y->score)
                return false;
            if (memcmp(x->lp, y->lp, (x->n + 1) * sizeof *x->lp))
                return false;
        }
    }
    return true;
}

/* ---- tests ---- */

static const struct tf_backend *bodies[3];
static struct tf_backend one_pass;

static void group_random(struct group *g, struct tf_rng *r, const struct tf_search_rule *rule,
                         size_t n, size_t longest, bool prefixes)
{
    memset(g, 0, sizeof *g);
    g->n = n;
    for (size_t i = 0; i < n; i++) {
        g->limit[i] = (uint32_t)tf_rng_below(r, longest + 1);
        g->src_off[i + 1] = g->src_off[i] + 1 + (uint32_t)tf_rng_below(r, 5);
        g->key[i] = tf_rng_u64(r);
        size_t P = prefixes && tf_rng_below(r, 2) ? tf_rng_below(r, g->limit[i] + 1) : 0;
        g->prefix_off[i + 1] = g->prefix_off[i];
        while (P-- > 0 && rule->V > 1) {
            uint32_t id = (uint32_t)tf_rng_below(r, rule->V);
            g->prefix[g->prefix_off[i + 1]++] = id == rule->eos ? (id + 1) % (uint32_t)rule->V : id;
        }
    }
}

static void random_searches(const char *what, int count, size_t max_v, int levels, double holes,
                            bool prefixes, bool sample)
{
    static struct results want, got[3], lagging;
    bool rule_ok = true, agree = true, tables = true, lag_ok = true;
    int full = 0;
    struct tf_rng r = tf_rng_new(41, (uint64_t)max_v * 100 + (uint64_t)levels);
    for (int n = 0; n < count && rule_ok && agree && tables && lag_ok; n++) {
        struct fake f = {.V = 1 + tf_rng_below(&r, max_v),
                         .seed = tf_rng_u64(&r),
                         .levels = levels,
                         .holes = holes};
        struct tf_search_rule rule = {.V = f.V,
                                      .K = 1 + tf_rng_below(&r, tf_rng_below(&r, 4) ? 6 : MAX_K),
                                      .start = 77,
                                      .sample = sample,
                                      .temperature = 1,
                                      .seed = tf_rng_u64(&r)};
        static const double alphas[] = {0, 0.6, 1, 3};
        rule.alpha = alphas[tf_rng_below(&r, 4)];
        rule.N = sample ? rule.K : 1 + tf_rng_below(&r, rule.K);
        rule.eos = (uint32_t)tf_rng_below(&r, f.V);
        rule.n_ban = tf_rng_below(&r, 4);
        for (size_t i = 0; i < rule.n_ban; i++) {
            rule.ban[i] = (uint32_t)tf_rng_below(&r, f.V + 2);
            rule.ban[i] += rule.ban[i] == rule.eos ? (uint32_t)f.V : 0;
        }
        struct group g;
        group_random(&g, &r, &rule, tf_rng_below(&r, MAX_S + 1), 8, prefixes);
        if (!sample)
            by_hand(&want, &rule, &f, &g);
        for (int b = 0; b < 3; b++) {
            struct tf_search s;
            tf_search_init(&s, &rule, bodies[b], NULL);
            run(&got[b], &s, &f, &g, bodies[b], false, &tables);
            run(&lagging, &s, &f, &g, bodies[b], true, &tables); /* the same state, used again */
            lag_ok &= same(&got[b], &lagging, g.n);
            tf_search_release(&s);
        }
        agree = same(&got[0], &got[1], g.n) && same(&got[0], &got[2], g.n);
        rule_ok = sample || same(&want, &got[0], g.n);
        for (size_t i = 0; i < g.n; i++)
            full += got[0].n[i] == rule.N;
        if (!rule_ok || !agree)
            printf("# search %d: V %zu K %zu N %zu alpha %g eos %u bans %zu sentences %zu\n", n,
                   rule.V, rule.K, rule.N, rule.alpha, rule.eos, rule.n_ban, g.n);
    }
    if (!sample)
        ok(rule_ok, "%s: the results are those of the rule without early stop", what);
    ok(agree, "%s: float, double and one pass choose alike", what);
    ok(tables, "%s: tables, slots and positions tell the history of every row", what);
    ok(lag_ok, "%s: a host that lags behind gets the same", what);
    ok(full > count, "%s: most sentences have all their hypotheses (%d)", what, full);
}

static void exhaustive(void)
{
    static struct results got;
    static const double alphas[] = {0, 0.6, 1};
    bool good = true, tables = true;
    for (int a = 0; a < 3; a++)
        for (size_t limit = 0; limit <= 3; limit++)
            for (uint64_t seed = 0; seed < 20; seed++) {
                struct fake f = {.V = 4, .seed = seed};
                struct tf_search_rule rule = {.V = 4,
                                              .K = 27,
                                              .N = 1 + seed % 5,
                                              .alpha = alphas[a],
                                              .eos = 2}; /* 3^3 live at most: nothing is ever cut */
                struct group g = {.n = 1,
                                  .limit = {(uint32_t)limit},
                                  .src_off = {0, 1},
                                  .key = {seed}};
                struct hyp h = {0}, fin[5];
                size_t n = 0;
                exhaust(fin, &n, &rule, &f, seed, limit, &h);
                struct tf_search s;
                tf_search_init(&s, &rule, &one_pass, NULL);
                run(&got, &s, &f, &g, &one_pass, false, &tables);
                tf_search_release(&s);
                good &= got.n[0] == n;
                for (size_t k = 0; good && k < n; k++)
                    good = got.v[0][k].n == fin[k].n &&
                           !memcmp(got.v[0][k].ids, fin[k].ids, fin[k].n * sizeof *fin[k].ids) &&
                           fabs(got.v[0][k].score - fin[k].score) < 1e-12;
            }
    ok(good, "a beam that cuts nothing finds the best of all sequences, alpha 0, 0.6 and 1, limit "
             "0 to 3, 1 to 5 results");
    ok(tables, "and its tables are right");
}

static void by_example(void)
{
    static struct results got;
    bool tables = true;
    struct fake f = {.V = 3, .levels = 1}; /* every id at -1/2: nothing but ties */
    struct tf_search_rule rule = {.V = 3, .K = 2, .N = 2, .eos = 2};
    struct group g = {.n = 1, .limit = {2}, .src_off = {0, 1}};
    struct tf_search s;
    tf_search_init(&s, &rule, &one_pass, NULL);
    run(&got, &s, &f, &g, &one_pass, false, &tables);
    is_int(got.n[0], 2, "two results");
    is_int(got.v[0][0].n, 0, "ties: the empty one is first, being the most probable");
    is_int(got.v[0][1].n, 1, "then one of one token");
    is_int(got.v[0][1].ids[0], 0, "the one of the lowest row");
    is_near(got.v[0][1].logp, -1, 0, "at -1/2 for the token and -1/2 for the end");
    tf_search_release(&s);

    rule = (struct tf_search_rule){.V = 1, .K = 4, .N = 4, .eos = 0};
    f.V = 1;
    tf_search_init(&s, &rule, &one_pass, NULL);
    run(&got, &s, &f, &g, &one_pass, false, &tables);
    ok(got.n[0] == 1 && got.v[0][0].n == 0,
       "a vocabulary of EOS alone: one empty result, of four asked for");
    tf_search_release(&s);

    /* Positive log-probabilities, as rounding may give, count as 0. */
    rule = (struct tf_search_rule){.V = 2, .K = 1, .N = 1, .eos = 1};
    tf_search_init(&s, &rule, &one_pass, NULL);
    struct tf_search_group sg = {1, g.src_off, g.limit, NULL, NULL, NULL};
    struct tf_err err = {0};
    float lp[2] = {-20, 1e-7F};
    is_int(tf_search_start(&s, &sg, &err), 0, "starts without prefixes");
    one_pass.search_step(NULL, &s, lp);
    is_int(tf_search_fetch(&s, &err), 0, "fetches");
    is_near(tf_search_result(&s, 0, 0).logp, 0, 0, "above 0 is 0");
    tf_search_release(&s);

    float none[2] = {NAN, -INFINITY};
    tf_search_init(&s, &rule, &one_pass, NULL);
    is_int(tf_search_start(&s, &sg, &err), 0, "starts");
    one_pass.search_step(NULL, &s, none);
    ok(tf_search_fetch(&s, &err) == 0 && tf_search_poll(&s, &err) == 0 && s.rows == 0 &&
           tf_search_count(&s, 0) == 0,
       "no finite probability: the sentence ends without a result");
    tf_search_release(&s);
}

/* 3000 draws of the first token against its distribution; each sentence alone and among others. */
static void draws(void)
{
    static struct results a, b;
    bool tables = true, alone = true;
    struct fake f = {.V = 6, .seed = 5};
    struct tf_search_rule rule = {
        .V = 6, .K = 4, .N = 4, .eos = 1, .sample = true, .temperature = 1, .seed = 3};
    struct group g = {.n = 3, .limit = {1, 2, 1}, .src_off = {0, 1, 2, 3}};
    float lp[6];
    distribution(lp, &f, 0, NULL, 0);
    int count[6] = {0}, total = 0;
    for (uint64_t n = 0; n < 250; n++) {
        rule.seed = n;
        struct tf_search s;
        tf_search_init(&s, &rule, &one_pass, NULL);
        run(&a, &s, &f, &g, &one_pass, false, &tables);
        for (size_t i = 0; i < 3; i++)
            for (size_t k = 0; k < 4; k++, total++)
                count[a.v[i][k].n ? a.v[i][k].ids[0] : rule.eos]++;
        tf_search_release(&s);
    }
    double chi = 0;
    for (int v = 0; v < 6; v++) {
        double want = exp((double)lp[v]) * total;
        chi += (count[v] - want) * (count[v] - want) / want;
    }
    ok(chi < 25, "%d draws follow the distribution (chi squared %.1f on 5)", total, chi);
    g.key[0] = 11, g.key[1] = 12, g.key[2] = 13;
    struct tf_search s;
    tf_search_init(&s, &rule, &one_pass, NULL);
    run(&a, &s, &f, &g, &one_pass, false, &tables);
    for (size_t i = 0; i < 3; i++) {
        struct group single = {.n = 1, .limit = {g.limit[i]}, .src_off = {0, 1}, .key = {g.key[i]}};
        run(&b, &s, &f, &single, &one_pass, false, &tables);
        memmove(&b.v[i], &b.v[0], sizeof b.v[0]);
        size_t n = b.n[0];
        alone &= n == a.n[i];
        for (size_t k = 0; alone && k < n; k++)
            alone = a.v[i][k].n == b.v[i][k].n && a.v[i][k].logp == b.v[i][k].logp;
    }
    ok(alone, "a sentence's draws do not depend on the others");
    tf_search_release(&s);
}

int main(void)
{
    one_pass = tf_backend_ref_f32;
    one_pass.search_step = tf_cpu_search_step;
    bodies[0] = &tf_backend_ref_f32, bodies[1] = &tf_backend_ref_f64, bodies[2] = &one_pass;
    by_example();
    exhaustive();
    random_searches("small vocabularies", 400, 12, 0, 0, false, false);
    random_searches("blocks of ids", 60, MAX_V, 0, 0, true, false);
    random_searches("ties", 300, 100, 3, 0, false, false);
    random_searches("ties and prefixes", 300, 20, 2, 0, true, false);
    random_searches("infinities and NaN", 300, 30, 0, 0.3, true, false);
    random_searches("sampling", 200, 30, 0, 0.1, true, true);
    draws();
    return done();
}
