/* ops_search.c - search_step against the rules in ops/search_state.h, written out over whole
 * hypotheses and with none dropped; against exhaustive enumeration; and the bodies against
 * each other. */
/* tags: no-emulator */
#include "../harness/fake_model.h"
#include "../harness/hypotheses.h"
#include "../harness/plugin.h"
#include "../harness/searches.h"
#include "../harness/tap.h"
#include "base/rng.h"
#include "ops/registry.h"

static uint32_t list[MAX_S][MAX_V];
static bool in_list[MAX_S][MAX_V];

/* ---- the rule over whole hypotheses ---- */

/* The rules of min_length, ngram and repetition for a hypothesis of t ids. */
static void by_rules(float *lp, const struct tf_search_opts *o, const uint32_t *ids, size_t t)
{
    for (uint32_t v = 0; v < o->V; v++) {
        bool seen = false, repeats = false;
        for (size_t j = 0; j < t; j++) {
            seen |= ids[j] == v;
            bool same = o->ngram > 0 && ids[j] == v && j + 1 >= (size_t)o->ngram;
            for (size_t m = 1; same && m < (size_t)o->ngram; m++)
                same = ids[j - m] == ids[t - m];
            repeats |= same;
        }
        if (seen && o->repetition > 0)
            lp[v] = (float)((double)lp[v] * o->repetition);
        if (repeats || (v == o->eos && t < (size_t)o->min_length))
            lp[v] = -INFINITY;
    }
}

static size_t candidates(struct cand *c, const struct tf_search_opts *rule, const struct fake *f,
                         const struct group *g, size_t i, const struct hyp *live, size_t n,
                         size_t t)
{
    size_t P = g->prefix_off[i + 1] - g->prefix_off[i], m = 0;
    float lp[MAX_V];
    for (size_t row = 0; row < n; row++) {
        distribution(lp, f, g->key[i], live[row].ids, t);
        if (t >= P && t < g->limit[i])
            by_rules(lp, rule, live[row].ids, t);
        for (uint32_t v = 0; v < rule->V; v++) {
            bool banned = false;
            for (size_t k = 0; k < rule->n_ban; k++)
                banned |= rule->ban[k] == v;
            banned |= rule->ids > 0 && v >= rule->ids;
            banned |= g->listed && !in_list[i][v];
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

static double penalty(const struct tf_search_opts *rule, size_t n)
{
    const double len = (double)(n + 1);
    return rule->normalize > 0 ? pow(len, rule->normalize) : pow((5 + len) / 6, rule->alpha);
}

static void by_hand(struct results *out, const struct tf_search_opts *rule, const struct fake *f,
                    const struct group *g)
{
    static struct hyp live[MAX_K], next[MAX_K];
    static struct cand c[MAX_K * MAX_V];
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < g->n; i++) {
        size_t n = 1, ended = 0, P = g->prefix_off[i + 1] - g->prefix_off[i];
        memset(&live[0], 0, sizeof live[0]);
        for (size_t t = 0; t <= g->limit[i] && n > 0; t++) {
            size_t m = candidates(c, rule, f, g, i, live, n, t),
                   grow = rule->K == 1 ? 1 : 2 * rule->K, k = 0, width = rule->K - ended, lost = 0;
            for (size_t j = 0; j < m && j < grow; j++) {
                struct hyp h = live[c[j].row];
                h.logp = t < P && rule->free_prefix ? 0 : c[j].logp;
                h.lp[t] = (double)(float)c[j].x;
                if (rule->rule == TF_SEARCH_MARIAN && j == width)
                    break;
                if (rule->rule == TF_SEARCH_CTRANSLATE2 && t == P && P > 0 && j > 0 &&
                    c[j].id == rule->eos) {
                    lost += j < rule->K;
                } else if (t >= P && c[j].id == rule->eos) {
                    const bool cut = t > 0 && t == g->limit[i] && tf_search_cuts_off(rule);
                    h.score = (cut ? live[c[j].row].logp : h.logp) / penalty(rule, h.n - cut);
                    if (rule->rule == TF_SEARCH_PAPER || j < rule->K) {
                        keep(out->v[i], &out->n[i], rule->N, h);
                        ended++;
                    }
                } else if (k < rule->K) {
                    h.ids[h.n++] = c[j].id;
                    next[k++] = h;
                }
            }
            memcpy(live, next, k * sizeof *live);
            n = k < rule->K - lost ? k : rule->K - lost;
            if (ended >= rule->K &&
                (rule->rule == TF_SEARCH_FAIRSEQ ||
                 (rule->rule == TF_SEARCH_CTRANSLATE2 && (rule->alpha > 0 || rule->normalize > 0))))
                n = 0;
            if (rule->rule == TF_SEARCH_TRANSFORMERS && out->n[i] == rule->K && k > 0 &&
                live[0].logp / penalty(rule, live[0].n - 1) <= out->v[i][rule->K - 1].score)
                n = 0;
        }
        /* log P is that of the whole output; the prefix is added from its last token on. */
        for (size_t r = 0; r < out->n[i] && rule->free_prefix; r++) {
            double prefix = 0;
            for (size_t t = P; t-- > 0;)
                prefix += out->v[i][r].lp[t];
            out->v[i][r].logp += prefix;
        }
    }
}

/* All sequences of ids up to the limit, ended. */
static void exhaust(struct hyp *fin, size_t *n, const struct tf_search_opts *rule,
                    const struct fake *f, uint64_t key, size_t limit, struct hyp *h)
{
    float lp[MAX_V];
    distribution(lp, f, key, h->ids, h->n);
    struct hyp end = *h;
    end.logp += (double)lp[rule->eos];
    end.score = end.logp / penalty(rule, h->n);
    keep(fin, n, rule->N, end);
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
            if (x->n != y->n || memcmp(x->ids, y->ids, x->n * sizeof *x->ids) != 0 ||
                x->logp != y->logp || x->score != y->score)
                return false;
            if (memcmp(x->lp, y->lp, (x->n + 1) * sizeof *x->lp) != 0)
                return false;
        }
    }
    return true;
}

/* ---- tests ---- */

static struct body bodies[4]; /* ref, ref64, cpu, and cuda where it can be used */
static int n_bodies = 3;

static void search_init(struct tf_search *s, const struct tf_search_opts *rule,
                        const struct body *b)
{
    tf_search_init(s, rule, b->be, b->ctx);
}

static void open_bodies(void)
{
    static const char *const names[] = {"ref", "ref64", "cpu", "cuda"};
    use_built_plugin();
    for (int b = 0; b < 4; b++) {
        struct tf_err err = {0};
        struct tf_ctx_opts open = {.threads = 1};
        bodies[b].be = tf_backend_find(names[b], NULL, TF_USE_DECODING, NULL, &err);
        if (bodies[b].be != NULL)
            bodies[b].ctx = bodies[b].be->open(&open, &err);
        if (bodies[b].ctx == NULL && b < 3)
            TF_BUG("%s", err.msg);
        else if (bodies[b].ctx == NULL)
            skip(err.msg);
        else
            n_bodies = b + 1;
    }
}

static void close_bodies(void)
{
    for (int b = 0; b < n_bodies; b++)
        bodies[b].be->close(bodies[b].ctx);
}

static void group_random(struct group *g, struct tf_rng *r, const struct tf_search_opts *rule,
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

/* Lists of about a third of the ids, with what they have to have. */
static void list_random(struct group *g, struct tf_rng *r, const struct tf_search_opts *rule)
{
    g->listed = true;
    for (size_t i = 0; i < g->n; i++) {
        size_t n = 0;
        for (uint32_t v = 0; v < rule->V; v++) {
            bool needed = v == rule->eos;
            for (uint32_t k = g->prefix_off[i]; k < g->prefix_off[i + 1]; k++)
                needed |= g->prefix[k] == v;
            in_list[i][v] = tf_rng_below(r, 3) == 0 || needed;
            if (in_list[i][v])
                list[i][n++] = v;
        }
        g->allowed[i] = (struct tf_allowed){list[i], n};
        g->longest = n > g->longest ? n : g->longest;
    }
}

static bool with_rules, with_lists;
static enum tf_search_rule search_rule;

/* Powers of two, whose products are exact in every backend. */
static void random_rules(struct tf_search_opts *rule, struct tf_rng *r)
{
    static const double penalties[] = {0, 0.5, 2, 4};
    rule->min_length = tf_rng_below(r, 5);
    rule->ngram = tf_rng_below(r, 4);
    rule->repetition = penalties[tf_rng_below(r, 4)];
}

/* ref64 is ref in double; with wide vocabularies, of which selecting takes seconds, it has no
 * part. */
static bool takes_part(int body, size_t max_v)
{
    return body != 1 || max_v < MAX_V;
}

static void random_searches(const char *what, int count, size_t max_v, int levels, double holes,
                            bool prefixes, bool sample)
{
    static struct results want, got[4], other;
    bool rule_ok = true, agree = true, tables = true, lag_ok = true, enter_ok = true;
    int full = 0;
    const int usual = count;
    count = (int)cases((uint64_t)count);
    struct tf_rng r = tf_rng_new(41, (uint64_t)max_v * 100 + (uint64_t)levels);
    for (int n = 0; n < count && rule_ok && agree && tables && lag_ok && enter_ok; n++) {
        struct fake f = {.V = 1 + tf_rng_below(&r, max_v),
                         .seed = tf_rng_u64(&r),
                         .levels = levels,
                         .holes = holes};
        struct tf_search_opts rule = {.V = f.V,
                                      .K = 1 + tf_rng_below(&r, tf_rng_below(&r, 4) ? 6 : MAX_K),
                                      .start = 77,
                                      .rule = sample ? TF_SEARCH_PAPER : search_rule,
                                      .free_prefix = n % 2 > 0,
                                      .sample = sample,
                                      .temperature = 1,
                                      .seed = tf_rng_u64(&r)};
        if (with_rules)
            random_rules(&rule, &r);
        if (sample && n % 2 > 0) {
            rule.top_k = tf_rng_below(&r, f.V + 2);
            rule.top_p =
                tf_rng_below(&r, 3) ? 0.01 + 0.98 * (double)tf_rng_below(&r, 1000) / 1000 : 0;
            rule.temperature = 0.3 + (double)tf_rng_below(&r, 20) / 10;
        }
        static const double alphas[] = {0, 0.6, 1, 3};
        rule.alpha = alphas[tf_rng_below(&r, 4)];
        rule.normalize = n % 3 == 2 ? (double)(n % 5) / 2 : 0;
        if (rule.normalize > 0)
            rule.alpha = 0;
        rule.N =
            sample || rule.rule == TF_SEARCH_TRANSFORMERS ? rule.K : 1 + tf_rng_below(&r, rule.K);
        rule.eos = (uint32_t)tf_rng_below(&r, f.V);
        rule.n_ban = tf_rng_below(&r, 4);
        for (size_t i = 0; i < rule.n_ban; i++) {
            rule.ban[i] = (uint32_t)tf_rng_below(&r, f.V + 2);
            rule.ban[i] += rule.ban[i] == rule.eos ? (uint32_t)f.V : 0;
        }
        if (tf_rng_below(&r, 3) == 0) /* as in models with more rows than pieces */
            rule.ids = rule.eos + 1 + tf_rng_below(&r, f.V - rule.eos);
        struct group g;
        group_random(&g, &r, &rule, tf_rng_below(&r, MAX_S + 1), 8, prefixes);
        if (with_lists)
            list_random(&g, &r, &rule);
        if (!sample)
            by_hand(&want, &rule, &f, &g);
        for (int b = 0; b < n_bodies; b++) {
            struct tf_search s;
            if (!takes_part(b, max_v))
                continue;
            search_init(&s, &rule, &bodies[b]);
            run(&got[b], &s, &f, &g, false, &tables);
            run(&other, &s, &f, &g, true, &tables); /* the same state, used again */
            lag_ok &= same(&got[b], &other, g.n);
            if (g.n > 1 && n % 3 == 0) { /* a third, for it takes long */
                run_at(&other, &s, &f, &g, g.n / 2, n % 2 > 0, &tables);
                enter_ok &= same(&got[b], &other, g.n);
            }
            tf_search_release(&s);
        }
        for (int b = 1; b < n_bodies; b++)
            agree = agree && (!takes_part(b, max_v) || same(&got[0], &got[b], g.n));
        rule_ok = sample || same(&want, &got[0], g.n);
        for (size_t i = 0; i < g.n; i++)
            full += got[0].n[i] == rule.N;
        if (!rule_ok || !agree)
            printf("# search %d: V %zu K %zu N %zu alpha %g eos %u bans %zu sentences %zu\n", n,
                   rule.V, rule.K, rule.N, rule.alpha, rule.eos, rule.n_ban, g.n);
    }
    if (!sample)
        ok(rule_ok, "%s: the results are those of the rule that drops nothing", what);
    ok(agree, "%s: all backends choose alike", what);
    ok(tables, "%s: tables, slots and positions tell the history of every row", what);
    ok(lag_ok, "%s: a host that lags gets the same", what);
    ok(enter_ok, "%s: so do sentences that enter where others are done", what);
    /* Of less than a third of the usual number chance decides. */
    ok(3 * count < usual || full > count, "%s: most sentences have all their hypotheses (%d)", what,
       full);
}

static void exhaustive(const struct body *b)
{
    static struct results got;
    static const double alphas[] = {0, 0.6, 1};
    bool good = true, tables = true;
    for (int a = 0; a < 3; a++)
        for (size_t limit = 0; limit <= 3; limit++)
            for (uint64_t seed = 0; seed < cases(20); seed++) {
                struct fake f = {.V = 4, .seed = seed};
                struct tf_search_opts rule = {.V = 4,
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
                search_init(&s, &rule, b);
                run(&got, &s, &f, &g, false, &tables);
                tf_search_release(&s);
                good &= got.n[0] == n;
                for (size_t k = 0; good && k < n; k++)
                    good =
                        got.v[0][k].n == fin[k].n &&
                        memcmp(got.v[0][k].ids, fin[k].ids, fin[k].n * sizeof *fin[k].ids) == 0 &&
                        fabs(got.v[0][k].score - fin[k].score) < 1e-12;
            }
    ok(good, "a beam that cuts nothing finds the best of all sequences, alpha 0, 0.6 and 1, limit "
             "0 to 3, 1 to 5 results");
    ok(tables, "and its tables are right");
}

static void by_example(const struct body *b)
{
    static struct results got;
    bool tables = true;
    struct fake f = {.V = 3, .levels = 1}; /* every id at -1/2: nothing but ties */
    struct tf_search_opts rule = {.V = 3, .K = 2, .N = 2, .eos = 2};
    struct group g = {.n = 1, .limit = {2}, .src_off = {0, 1}};
    struct tf_search s;
    search_init(&s, &rule, b);
    run(&got, &s, &f, &g, false, &tables);
    is_int(got.n[0], 2, "two results");
    is_int(got.v[0][0].n, 0, "ties: the empty one is first, being the most probable");
    is_int(got.v[0][1].n, 1, "then one of one token");
    is_int(got.v[0][1].ids[0], 0, "the one of the lowest row");
    is_near(got.v[0][1].logp, -1, 0, "at -1/2 for the token and -1/2 for the end");
    tf_search_release(&s);

    rule = (struct tf_search_opts){.V = 1, .K = 4, .N = 4, .eos = 0};
    f.V = 1;
    search_init(&s, &rule, b);
    run(&got, &s, &f, &g, false, &tables);
    ok(got.n[0] == 1 && got.v[0][0].n == 0,
       "a vocabulary of EOS alone: one empty result, of four requested");
    tf_search_release(&s);

    /* Positive log-probabilities, as rounding may give, count as 0. */
    rule = (struct tf_search_opts){.V = 2, .K = 1, .N = 1, .eos = 1};
    search_init(&s, &rule, b);
    struct tf_search_group sg = {.n = 1, .src_off = g.src_off, .limit = g.limit};
    struct tf_err err = {0};
    float lp[2] = {-20, 1e-7F};
    is_int(tf_search_start(&s, &sg, &err), 0, "starts without prefixes");
    step(&s, lp, 2);
    is_int(tf_search_fetch(&s, &err), 0, "fetches");
    is_near(tf_search_result(&s, 0, 0).logp, 0, 0, "above 0 is 0");
    tf_search_release(&s);

    float none[2] = {NAN, -INFINITY};
    search_init(&s, &rule, b);
    is_int(tf_search_start(&s, &sg, &err), 0, "starts");
    step(&s, none, 2);
    ok(tf_search_fetch(&s, &err) == 0 && tf_search_poll(&s, false, &err) == 0 && s.rows == 0 &&
           tf_search_count(&s, 0) == 0,
       "no finite probability: the sentence ends without a result");
    tf_search_release(&s);
}

/* More candidates than a list has room for, all of a log-probability near the lowest of a float,
 * and a beam wider than a GPU has warps for a row: those of the lowest ids. */
static void near_the_smallest(const struct body *b)
{
    static float lp[MAX_V];
    const uint32_t limit[] = {3}, src_off[] = {0, 1};
    struct tf_search_opts rule = {.V = MAX_V, .K = 12, .N = 1, .eos = MAX_V - 1};
    struct tf_search_group g = {.n = 1, .src_off = src_off, .limit = limit};
    struct tf_search s;
    struct tf_err err = {0};
    for (size_t i = 0; i < MAX_V; i++)
        lp[i] = -3e38F;
    search_init(&s, &rule, b);
    must(tf_search_start(&s, &g, &err), &err);
    step(&s, lp, MAX_V);
    must(tf_search_poll(&s, false, &err), &err);
    is_int(s.rows, 12, "log-probabilities of -3e38: all rows live");
    struct reads r = look(&s);
    bool lowest = true;
    for (uint32_t i = 0; i < 12; i++)
        lowest &= r.ids[i] == i;
    ok(lowest, "those of the lowest ids");
    forget(&r);
    tf_search_release(&s);
}

/* Two steps of a beam of 2 over a, b, c and the end. In the first, the end comes after a and b. */
static void ends_that_count(const struct body *b, bool early, size_t want, double score)
{
    const float first[] = {-1, -1.125F, -5, -1.25F},
                second[] = {-9, -9, -9, -2, -9, -9, -9, -2.25F};
    const uint32_t limit[] = {3}, src_off[] = {0, 1};
    const char *what = early ? "early stopping" : "no early stopping";
    struct tf_search_opts rule = {.V = 4, .K = 2, .N = 1, .normalize = 1, .eos = 3};
    rule.rule = early ? TF_SEARCH_CTRANSLATE2 : TF_SEARCH_PAPER;
    struct tf_search_group g = {.n = 1, .src_off = src_off, .limit = limit};
    struct tf_search s;
    struct tf_err err = {0};
    search_init(&s, &rule, b);
    must(tf_search_start(&s, &g, &err), &err);
    step(&s, first, 4);
    must(tf_search_poll(&s, false, &err), &err);
    is_int(s.rows, 2, "%s: a and b live", what);
    step(&s, second, 8);
    must(tf_search_poll(&s, false, &err), &err);
    is_int(s.rows, 0, "%s: and have ended", what);
    must(tf_search_fetch(&s, &err), &err);
    is_int(tf_search_result(&s, 0, 0).n, want, "%s: tokens of the best", what);
    is_near(tf_search_result(&s, 0, 0).score, score, 0, "%s: its score", what);
    tf_search_release(&s);
}

/* Three steps over a, b and the end. After the second "a" has ended with the score -5/16, which
 * "a a" may beat and "b a" cannot; but the end of that is the second, and so ends the search. */
static void hopeless_ends_count(const struct body *b)
{
    const float first[] = {-0.5F, -1, -9}, second[] = {-2, -9, -0.125F, -4, -9, -9},
                third[] = {-0.125F, -9, -9, -9, -9, -0.125F};
    const uint32_t limit[] = {9}, src_off[] = {0, 1};
    struct tf_search_opts rule = {.V = 3, .K = 2, .N = 1, .normalize = 1, .eos = 2};
    rule.rule = TF_SEARCH_CTRANSLATE2;
    struct tf_search_group g = {.n = 1, .src_off = src_off, .limit = limit};
    struct tf_search s;
    struct tf_err err = {0};
    search_init(&s, &rule, b);
    must(tf_search_start(&s, &g, &err), &err);
    step(&s, first, 3);
    must(tf_search_poll(&s, false, &err), &err);
    step(&s, second, 6);
    must(tf_search_poll(&s, false, &err), &err);
    is_int(s.rows, 2, "early stopping: one that can no longer win is live");
    step(&s, third, 6);
    must(tf_search_poll(&s, false, &err), &err);
    is_int(s.rows, 0, "early stopping: and its end counts");
    must(tf_search_fetch(&s, &err), &err);
    is_near(tf_search_result(&s, 0, 0).score, -0.3125, 0, "early stopping: the best is the first");
    tf_search_release(&s);
}

/* How far counts of draws at one place are from the distribution after a history: chi squared. */
static double off(const int *count, int total, const struct fake *f,
                  const struct tf_search_opts *rule, const uint32_t *history, size_t n)
{
    float lp[6];
    double p[6], sum = 0, chi = 0;
    distribution(lp, f, 0, history, n);
    for (uint32_t v = 0; v < 6; v++) {
        p[v] = rule->n_ban > 0 && v == rule->ban[0] ? 0 : exp((double)lp[v] / rule->temperature);
        sum += p[v];
    }
    for (int v = 0; v < 6; v++) {
        double want = p[v] / sum * total;
        chi += want > 0       ? (count[v] - want) * (count[v] - want) / want
               : count[v] > 0 ? INFINITY
                              : 0;
    }
    return chi;
}

/* 3000 draws of the first token, or of the first one after a prefix, against their distributions;
 * each sentence alone and among others. */
static void draws(const struct body *b, double temperature, size_t n_ban)
{
    static struct results a, c;
    bool tables = true, alone = true, forced = true;
    struct fake f = {.V = 6, .seed = 5};
    struct tf_search_opts rule = {.V = 6,
                                  .K = 4,
                                  .N = 4,
                                  .eos = 1,
                                  .n_ban = n_ban,
                                  .ban = {4},
                                  .sample = true,
                                  .temperature = temperature,
                                  .seed = 3};
    struct group g = {.n = 3,
                      .limit = {1, 2, 1},
                      .src_off = {0, 1, 2, 3},
                      .prefix = {4}, /* what is banned can be forced */
                      .prefix_off = {0, 0, 1, 1}};
    int count[2][6] = {0}, total[2] = {0};
    for (uint64_t n = 0; n < 375; n++) {
        rule.seed = n;
        struct tf_search s;
        search_init(&s, &rule, b);
        run(&a, &s, &f, &g, false, &tables);
        for (size_t i = 0; i < 3; i++)
            for (size_t k = 0; k < 4; k++) {
                const struct hyp *h = &a.v[i][k];
                size_t P = i == 1;
                forced &= P == 0 || (h->n >= 1 && h->ids[0] == g.prefix[0]);
                count[P][h->n > P ? h->ids[P] : rule.eos]++;
                total[P]++;
            }
        tf_search_release(&s);
    }
    double first = off(count[0], total[0], &f, &rule, NULL, 0),
           second = off(count[1], total[1], &f, &rule, g.prefix, 1);
    ok(forced && first < 25 && second < 25,
       "temperature %g, %zu bans: %d draws follow the distribution, and %d after a prefix (chi "
       "squared %.1f and %.1f on 5)",
       temperature, n_ban, total[0], total[1], first, second);
    g.key[0] = 11, g.key[1] = 12, g.key[2] = 13;
    struct tf_search s;
    search_init(&s, &rule, b);
    run(&a, &s, &f, &g, false, &tables);
    for (size_t i = 0; i < 3; i++) {
        struct group single = {.n = 1, .limit = {g.limit[i]}, .src_off = {0, 1}, .key = {g.key[i]}};
        single.prefix_off[1] = i == 1;
        single.prefix[0] = g.prefix[0];
        run(&c, &s, &f, &single, false, &tables);
        memmove(&c.v[i], &c.v[0], sizeof c.v[0]);
        size_t n = c.n[0];
        alone &= n == a.n[i];
        for (size_t k = 0; alone && k < n; k++)
            alone = a.v[i][k].n == c.v[i][k].n && a.v[i][k].logp == c.v[i][k].logp;
    }
    ok(alone, "a sentence's draws do not depend on the others");
    tf_search_release(&s);
}

/* Which of six ids 1000 draws of the first token give. */
static unsigned drawn(const struct body *b, int64_t top_k, double top_p, double temperature)
{
    static struct results a;
    bool tables = true;
    unsigned seen = 0;
    struct fake f = {.V = 6, .seed = 5};
    struct group g = {.n = 1, .limit = {1}, .src_off = {0, 1}};
    struct tf_search_opts rule = {.V = 6,
                                  .K = 4,
                                  .N = 4,
                                  .eos = 1,
                                  .sample = true,
                                  .temperature = temperature,
                                  .top_k = top_k,
                                  .top_p = top_p};
    for (rule.seed = 0; rule.seed < 250; rule.seed++) {
        struct tf_search s;
        search_init(&s, &rule, b);
        run(&a, &s, &f, &g, false, &tables);
        for (size_t k = 0; k < 4; k++)
            seen |= 1u << (a.v[0][k].n ? a.v[0][k].ids[0] : rule.eos);
        tf_search_release(&s);
    }
    return seen;
}

/* The ids that a pool holds, from the distribution by hand: the n likeliest. */
static void pools(const struct body *b)
{
    struct fake f = {.V = 6, .seed = 5};
    float lp[6];
    unsigned best[7] = {0};
    double held[7] = {0}, warm[7] = {0}, total = 0;
    distribution(lp, &f, 0, NULL, 0);
    for (int n = 0; n < 6; n++) {
        int top = -1;
        for (int v = 0; v < 6; v++)
            if (!(best[n] >> v & 1) && (top < 0 || lp[v] > lp[top]))
                top = v;
        best[n + 1] = best[n] | 1u << top;
        held[n + 1] = held[n] + exp((double)lp[top]);
        warm[n + 1] = warm[n] + exp((double)lp[top] / 2);
        total += exp((double)lp[top] / 2);
    }
    for (size_t n = 1; n <= 6; n++) {
        is_int(drawn(b, (int64_t)n, 0, 1), best[n], "top_k %zu: the likeliest", n);
        is_int(drawn(b, 0, held[n] - 1e-4, 1), best[n], "top_p %.4f: the fewest that hold it",
               held[n] - 1e-4);
        is_int(drawn(b, 0, (warm[n] - 1e-4) / total, 2), best[n],
               "of what the temperature makes of them");
    }
    is_int(drawn(b, 7, 1, 1), best[6], "more than there are");
    is_int(drawn(b, 3, 1 - 1e-9, 1), best[3], "top_p of what top_k leaves");
    is_int(drawn(b, 3, held[2] / held[3] - 1e-4, 1), best[2], "which is a share of that");
}

/* More candidates wanted than a block has warps, more ids than it sorts at once, and most of them
 * alike. */
static void wide_beam(void)
{
    static struct results want, got;
    static const struct fake fakes[] = {
        {.V = MAX_V, .seed = 8, .levels = 2, .holes = 0.5},
        {.V = MAX_V, .seed = 9, .levels = 40},
        {.V = MAX_V, .seed = 10, .levels = 3, .rare = 0.002},
    };
    struct tf_search_opts rule = {
        .V = MAX_V, .K = MAX_K, .N = 3, .alpha = 0.6, .start = 1, .eos = 2};
    struct group g = {.n = 1, .limit = {1}, .src_off = {0, 1}};
    for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++) {
        by_hand(&want, &rule, &fakes[i], &g);
        for (int b = 0; b < n_bodies; b++) {
            bool tables = true;
            struct tf_search s;
            search_init(&s, &rule, &bodies[b]);
            run(&got, &s, &fakes[i], &g, false, &tables);
            ok(tables && same(&want, &got, 1), "%s: a beam of %d over %d ids, the %zu. way",
               bodies[b].be->name, MAX_K, MAX_V, i + 1);
            tf_search_release(&s);
        }
    }
}

int main(void)
{
    open_bodies();
    for (int b = 2; b < n_bodies; b++) {
        printf("# %s\n", bodies[b].be->name);
        by_example(&bodies[b]);
        near_the_smallest(&bodies[b]);
        ends_that_count(&bodies[b], false, 0, -1.25);
        ends_that_count(&bodies[b], true, 1, -1.5);
        hopeless_ends_count(&bodies[b]);
        exhaustive(&bodies[b]);
        draws(&bodies[b], 1, 0);
        draws(&bodies[b], 0.5, 1);
        draws(&bodies[b], 2, 1);
        pools(&bodies[b]);
    }
    random_searches("small vocabularies", 400, 12, 0, 0, false, false);
    random_searches("blocks of ids", 30, 300, 0, 0, true, false);
    random_searches("ties", 150, 100, 3, 0, false, false);
    random_searches("ties and prefixes", 300, 20, 2, 0, true, false);
    random_searches("infinities and NaN", 300, 30, 0, 0.3, true, false);
    random_searches("sampling", 200, 30, 0, 0.1, true, true);
    random_searches("wide vocabularies", 8, MAX_V, 0, 0.1, true, false);
    random_searches("wide and tied", 4, MAX_V, 3, 0.1, false, false);
    random_searches("sampling from wide ones", 2, MAX_V, 0, 0, true, true);
    wide_beam();
    with_rules = true;
    random_searches("rules, few ids", 400, 12, 0, 0, true, false);
    random_searches("rules, ties", 300, 40, 3, 0, true, false);
    random_searches("rules, infinities and NaN", 200, 30, 0, 0.3, true, false);
    random_searches("rules, sampling", 200, 8, 0, 0.1, true, true);
    random_searches("rules, wide vocabularies", 4, MAX_V, 0, 0, true, false);
    with_lists = true;
    random_searches("lists, rules", 30, 40, 0, 0.1, true, false);
    random_searches("lists, rules, sampling", 20, 30, 0, 0.1, true, true);
    with_rules = false;
    random_searches("lists, ties", 30, 100, 3, 0, true, false);
    random_searches("lists from wide vocabularies", 1, MAX_V, 0, 0, true, false);
    with_lists = false;
    static const char *const names[] = {"", "fairseq", "CTranslate2", "transformers", "Marian"};
    for (search_rule = TF_SEARCH_FAIRSEQ; search_rule <= TF_SEARCH_MARIAN; search_rule++) {
        printf("# the rule of %s\n", names[search_rule]);
        with_rules = true;
        random_searches("with rules", 300, 30, 0, 0, true, false);
        with_rules = false;
        random_searches("few ids", 400, 12, 0, 0, false, false);
        random_searches("ties", 300, 40, 3, 0, true, false);
        random_searches("infinities and NaN", 200, 30, 0, 0.3, true, false);
        random_searches("wide vocabularies", 4, MAX_V, 0, 0, true, false);
    }
    close_bodies();
    return done();
}
