/* Phrases that outputs must contain: the search of tf_wanted_step against a beam search with
 * dynamic beam allocation that is written out over whole hypotheses, and, with a beam that holds
 * them all, against the best of all outputs there are. Phrases and log-probabilities are random. */
/* tags: no-emulator */
#include "../harness/hypotheses.h"
#include "../harness/tap.h"
#include "base/rng.h"
#include "infer/wanted_private.h"
#include "ops/registry.h"

enum { CASES = 500, MAX_V = 16, MAX_K = 1024, EOS = 0, TERMS = 3, ALTS = 2, LEN = 3 };

/* A case. */
static size_t V, K, N, limit, n_prefix;
static uint32_t prefix[3];
static struct hash_model model;
static double normalize;
static bool sums; /* of cases with phrases */
static uint32_t ids[TERMS][ALTS][LEN];
static struct tf_wanted_phrase alts[TERMS][ALTS];
static struct tf_wanted_term terms[TERMS];
static struct tf_wanted wanted;
static bool goes_on[MAX_V];
static bool after; /* words continue after such ids, not with them */

static void make_case(struct tf_rng *r, bool small)
{
    V = small ? 4 : 5 + tf_rng_below(r, MAX_V - 4);
    K = small ? MAX_K : 1 + tf_rng_below(r, 9);
    N = small ? 3 : 1 + tf_rng_below(r, K);
    model = (struct hash_model){.seed = tf_rng_u64(r), .copies = 1};
    model.levels = tf_rng_below(r, 3) == 0 ? 4 : 0;
    normalize = tf_rng_below(r, 2) ? 1 : 0;
    sums = tf_rng_below(r, 2);
    wanted = (struct tf_wanted){terms, small ? 1 : tf_rng_below(r, TERMS + 1)};
    after = tf_rng_below(r, 2);
    for (size_t v = 0; v < V; v++)
        goes_on[v] = v != EOS && tf_rng_below(r, 3) == 0;
    for (size_t i = 0; i < wanted.n; i++) {
        terms[i] = (struct tf_wanted_term){alts[i], 1 + tf_rng_below(r, ALTS), LEN};
        for (size_t k = 0; k < terms[i].n; k++) {
            alts[i][k] = (struct tf_wanted_phrase){ids[i][k], 1 + tf_rng_below(r, small ? 2 : LEN),
                                                   tf_rng_below(r, 2)};
            /* Few ids, so that phrases overlap. */
            for (size_t j = 0; j < alts[i][k].n; j++)
                ids[i][k][j] =
                    1 + (uint32_t)tf_rng_below(r, small ? 3 : 1 + tf_rng_below(r, V - 1));
            goes_on[ids[i][k][after ? alts[i][k].n - 1 : 0]] = false;
            if (alts[i][k].n < terms[i].shortest)
                terms[i].shortest = alts[i][k].n;
        }
    }
    n_prefix = small ? 0 : tf_rng_below(r, 3);
    for (size_t i = 0; i < n_prefix; i++)
        prefix[i] = 1 + (uint32_t)tf_rng_below(r, V - 1);
    limit = n_prefix + (after && n_prefix > 0 && goes_on[prefix[n_prefix - 1]]);
    for (size_t i = 0; i < wanted.n; i++)
        limit += terms[i].shortest;
    limit += small ? 4 - limit : tf_rng_below(r, MAX_LEN - limit + 1);
}

/* ---- the definitions, read one by one ---- */

/* May a phrase begin after the n first ids of h? */
static bool begins(const struct hyp *h, const struct tf_wanted_phrase *p, size_t n)
{
    return !(after && p->edge && n > 0 && goes_on[h->ids[n - 1]]);
}

/* Does h contain term i? firmly: whatever follows. */
static bool has(const struct hyp *h, size_t i, bool firmly)
{
    for (size_t k = 0; k < terms[i].n; k++)
        for (size_t at = 0; at < h->n; at++) {
            size_t j = 0;
            while (j < alts[i][k].n && at + j < h->n && h->ids[at + j] == ids[i][k][j])
                j++;
            if (j == alts[i][k].n && begins(h, &alts[i][k], at) &&
                (after || !alts[i][k].edge ||
                 (at + j == h->n ? !firmly : !goes_on[h->ids[at + j]])))
                return true;
        }
    return false;
}

static bool complete(const struct hyp *h)
{
    for (size_t i = 0; i < wanted.n; i++)
        if (!has(h, i, false))
            return false;
    return true;
}

/* The fewest ids of a plan: perhaps the rest of one phrase that was begun, with d of its ids, and
 * the shortest phrase of each other term. */
static size_t plan(const struct hyp *h, size_t i, size_t k, size_t d)
{
    const bool rest = d > 0, breaks = rest && !after && goes_on[ids[i][k][d]];
    size_t sum = rest ? alts[i][k].n - d : 0;
    for (size_t j = 0; j < wanted.n; j++)
        if (!(rest && j == i) && !has(h, j, breaks))
            sum += terms[j].shortest;
    return sum;
}

/* The least of the plans that begin with the rest of a phrase. */
static size_t begun(const struct hyp *h)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < wanted.n; i++)
        for (size_t k = 0; k < terms[i].n; k++)
            for (size_t d = 1; d < alts[i][k].n && d <= h->n; d++) {
                bool ends = !has(h, i, !after && goes_on[ids[i][k][d]]) &&
                            begins(h, &alts[i][k], h->n - d);
                for (size_t j = 0; j < d; j++)
                    ends &= h->ids[h->n - d + j] == ids[i][k][j];
                if (ends && plan(h, i, k, d) < least)
                    least = plan(h, i, k, d);
            }
    return least;
}

static size_t need(const struct hyp *h)
{
    const size_t whole = plan(h, 0, 0, 0), rest = begun(h);
    return rest < whole ? rest : whole;
}

/* The ids that suffice to complete h: a phrase that begins a word comes after the end of one. */
static size_t suffices(const struct hyp *h)
{
    const size_t whole = plan(h, 0, 0, 0), rest = begun(h);
    bool at_once = whole == 0;
    for (size_t i = 0; i < wanted.n; i++)
        for (size_t k = 0; k < terms[i].n && !has(h, i, false); k++)
            at_once |= alts[i][k].n == terms[i].shortest && begins(h, &alts[i][k], h->n);
    return rest < whole + !at_once ? rest : whole + !at_once;
}

static double score(double logp, size_t n)
{
    return normalize > 0 && !(sums && wanted.n > 0) ? logp / (double)(n + 1) : logp;
}

struct results {
    struct hyp v[MAX_K];
    size_t n;
};

static void finish(struct results *out, struct hyp h)
{
    h.score = score(h.logp, h.n);
    keep(out->v, &out->n, N, h);
}

struct wanted_cand {
    struct cand c;
    struct hyp h;  /* with the id */
    size_t before; /* need before the id */
    bool in;
};

static size_t extend(struct wanted_cand *c, const struct hyp *live, size_t n, size_t t)
{
    size_t m = 0;
    for (size_t row = 0; row < n; row++)
        for (uint32_t v = 0; v < V; v++) {
            const double x = (double)hash_logp(&model, 0, live[row].ids, t, v);
            struct wanted_cand g = {{live[row].logp + x, x, row, v}, .before = need(&live[row])};
            g.h = continued(&live[row], &g.c, v == EOS && t >= n_prefix);
            const bool may = t < n_prefix ? v == prefix[t]
                             : v == EOS   ? g.before == 0
                                          : t < limit && t + 1 + suffices(&g.h) <= limit;
            if (may)
                c[m++] = g;
        }
    qsort(c, m, sizeof *c, by_rule);
    return m;
}

static void mark(struct wanted_cand *c, size_t m, size_t n, bool all)
{
    for (size_t j = 0; j < m; j++)
        c[j].in = all || j < (K == 1 ? 1 : 2 * K);
    if (all || need(&(struct hyp){.n = 0}) == 0)
        return;
    for (size_t row = 0; row < n; row++)
        for (size_t j = 0, first = 1; j < m; j++)
            if (c[j].c.row == row) {
                c[j].in |= first || (c[j].c.id != EOS && need(&c[j].h) < c[j].before);
                first = 0;
            }
}

/* How many of each bank stay. */
static void banks(const struct wanted_cand *c, size_t m, size_t C, size_t *room)
{
    size_t left = 0, have[MAX_LEN + 1] = {0};
    for (size_t j = 0; j < m; j++)
        if (c[j].in && c[j].c.id != EOS)
            have[C - need(&c[j].h)]++;
    for (size_t b = 0; b <= C; b++)
        room[b] = K / (C + 1);
    room[C] += K - K / (C + 1) * (C + 1);
    for (size_t b = C + 1; b-- > 0;)
        for (room[b] += left, left = 0; room[b] > have[b]; left++)
            room[b]--;
    for (size_t b = C + 1; b-- > 0;)
        for (; left > 0 && room[b] < have[b]; left--)
            room[b]++;
}

/* Can no continuation of h be among the N results? */
static bool hopeless(const struct results *out, const struct hyp *h)
{
    return out->n == N && !(score(h->logp, limit) > out->v[N - 1].score);
}

static void naive(struct results *out)
{
    static struct hyp live[MAX_K];
    static struct wanted_cand c[9 * MAX_V];
    const size_t C = need(&(struct hyp){.n = 0});
    size_t n = 1;
    out->n = 0;
    live[0] = (struct hyp){.n = 0};
    for (size_t t = 0; t <= limit && n > 0; t++) {
        const bool forced = t < n_prefix || t == limit;
        const size_t m = extend(c, live, n, t);
        size_t room[MAX_LEN + 1] = {0};
        mark(c, m, n, forced);
        if (!forced)
            banks(c, m, C, room);
        n = 0;
        for (size_t j = 0; j < m; j++)
            if (c[j].in && c[j].c.id == EOS && t >= n_prefix)
                finish(out, c[j].h);
        for (size_t j = 0; j < m; j++) {
            size_t *left = forced ? NULL : &room[C - need(&c[j].h)];
            if (!c[j].in || (c[j].c.id == EOS && t >= n_prefix) || (left != NULL && *left == 0))
                continue;
            if (left != NULL)
                --*left;
            if (!hopeless(out, &c[j].h))
                live[n++] = c[j].h;
        }
    }
}

static void exhaust(struct results *out, struct hyp *h)
{
    if (complete(h)) {
        struct hyp end = *h;
        end.logp += (double)hash_logp(&model, 0, h->ids, h->n, EOS);
        finish(out, end);
    }
    for (uint32_t v = 1; h->n < limit && v < V; v++) {
        const double logp = h->logp;
        h->logp += (double)hash_logp(&model, 0, h->ids, h->n, v);
        h->ids[h->n++] = v;
        exhaust(out, h);
        h->n--;
        h->logp = logp;
    }
}

/* ---- the tools' search ---- */

static void search(struct results *out, const struct tf_backend *be, struct tf_ctx *ctx)
{
    struct tf_err err = {0};
    /* Without terms a smaller beam counts. */
    const struct tf_search_opts o = {
        .V = V, .K = wanted.n == 0 && K < MAX_K ? K + 3 : K, .N = N,
        .start = 1, .eos = EOS, .normalize = normalize};
    struct tf_search q;
    const uint32_t off[] = {0, 1}, most = (uint32_t)limit, prefix_off[] = {0, (uint32_t)n_prefix};
    const struct tf_search_group g = {
        .n = 1, .src_off = off, .limit = &most, .prefix = prefix, .prefix_off = prefix_off};
    const struct tf_wanted *w = &wanted;
    static float lp[MAX_K * MAX_V];
    tf_search_init(&q, &o, be, ctx);
    must(tf_search_start(&q, &g, &err), &err);
    while (q.rows > 0) {
        fill_logp(lp, &model, &q);
        tf_wanted_step(&w, (struct tf_continues){goes_on, V, after},
                       (struct tf_wanted_rule){K, sums}, &q, lp);
        must(tf_search_poll(&q, false, &err), &err);
    }
    must(tf_search_fetch(&q, &err), &err);
    out->n = tf_search_count(&q, 0);
    for (size_t k = 0; k < out->n; k++) {
        const struct tf_search_hyp h = tf_search_result(&q, 0, k);
        out->v[k] = (struct hyp){.n = h.n, .logp = h.logp, .score = h.score};
        tf_search_trace(&q, 0, k, out->v[k].ids, NULL);
    }
    tf_search_release(&q);
}

static bool same(const struct results *a, const struct results *b, bool ids_too)
{
    bool good = a->n == b->n && a->n > 0;
    for (size_t k = 0; good && k < a->n; k++)
        good = fabs(a->v[k].score - b->v[k].score) < 1e-12 && complete(&a->v[k]) &&
               (!ids_too || same_ids(&a->v[k], &b->v[k]));
    return good;
}

int main(void)
{
    static struct results got, want;
    struct tf_err err = {0};
    const struct tf_backend *be = tf_backend_find("cpu", NULL, TF_USE_DECODING, NULL, &err);
    const struct tf_ctx_opts open = {.threads = 1};
    struct tf_ctx *ctx = be->open(&open, &err);
    struct tf_rng r = tf_rng_new(2018, 0);
    int equal = 0, best = 0, changed = 0;
    for (int i = 0; i < CASES; i++) {
        make_case(&r, false);
        search(&got, be, ctx);
        naive(&want);
        equal += same(&got, &want, true);
        wanted.n = 0;
        naive(&want);
        changed += !same(&got, &want, true);
    }
    is_int(equal, CASES, "the outputs of a search over whole hypotheses");
    ok(changed > CASES / 2, "%d of %d differ from those without phrases", changed, CASES);
    for (int i = 0; i < CASES; i++) {
        make_case(&r, true);
        search(&got, be, ctx);
        want.n = 0;
        exhaust(&want, &(struct hyp){.n = 0});
        best += same(&got, &want, model.levels == 0);
    }
    is_int(best, CASES, "the best of all outputs, with a beam for all");
    be->close(ctx);
    return done();
}
