/* meaning.c - what the entries mean, in numbers worked out by hand: which elements dropout zeroes,
 * what a mask hides, where positions start, how smoothing and ties count. The other tests only
 * compare backends and derivatives with each other. */
#include "../harness/problem.h"
#include "base/rng.h"

#define MAX 512

static struct lane l;
/* what a result may be off by, for numbers about 1: half an ulp of the lane's precision, twice for
 * good measure */
static double off_by;
static tf_mem *held[64];
static size_t n_held;

static tf_mem *put(enum tf_elem e, const double *v, size_t n)
{
    struct tf_err err = {0};
    double raw[MAX];
    TF_ASSERT(n <= MAX && n_held < 64);
    tf_mem *p = l.be->alloc(l.c, e, n, &err);
    if (p == NULL)
        TF_BUG("%s", err.msg);
    to_elements(&l, e, raw, v, n);
    l.be->upload(l.c, p, e, raw, n);
    held[n_held++] = p;
    return p;
}
#define PUT(e, ...) \
    put(e, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static tf_mem *fill(enum tf_elem e, double x, size_t n)
{
    double v[MAX];
    for (size_t i = 0; i < n; i++)
        v[i] = x;
    return put(e, v, n);
}

static const double *get(const tf_mem *p, enum tf_elem e, size_t n)
{
    static double v[MAX];
    double raw[MAX];
    struct tf_err err = {0};
    if (l.be->download(l.c, raw, e, p, n, &err) != 0)
        TF_BUG("%s", err.msg);
    from_elements(&l, e, v, raw, n);
    return v;
}

static struct tf_rows *rows(size_t n, const uint32_t *off)
{
    struct tf_err err = {0};
    struct tf_rows *r = l.be->rows_new(l.c, off[n] - off[0], n, &err);
    if (r == NULL)
        TF_BUG("%s", err.msg);
    l.be->rows_set(l.c, r, n, off);
    return r;
}

static void let_go(struct tf_rows *a, struct tf_rows *b)
{
    l.be->rows_free(l.c, a);
    l.be->rows_free(l.c, b);
    while (n_held > 0)
        l.be->free(l.c, held[--n_held]);
}

static const struct tf_rng_state step = {.seed = 0x123456789abcdef0, .update = 42};
static const struct tf_dropout off = {0};

/* From the words of the contract. */
static bool kept(uint32_t row, uint32_t column, uint32_t site, double p)
{
    uint32_t u[4];
    tf_philox(u, (const uint32_t[4]){column / 4, row, site, step.update}, step.seed);
    return (double)u[column % 4] >= p * 4294967296.0;
}

static void test_dropout(void)
{
    enum { D = 10, R = 7 };
    struct tf_rows *r = rows(2, (const uint32_t[]){5, 8, 12});
    tf_mem *x = fill(TF_ELEM_ACT, 0, R * D), *table = fill(TF_ELEM_PARAM, 1, D),
           *ids = fill(TF_ELEM_U32, 0, R);
    const struct tf_dropout dropout = {0.25f, 77};
    l.be->set_rng_state(l.c, &step);
    l.be->embed_fwd(l.c, x, ids, table, NULL, r, D, 3, dropout);
    const double *v = get(x, TF_ELEM_ACT, R * D);
    int wrong = 0, cut = 0;
    for (uint32_t i = 0; i < R * D; i++) {
        wrong += !(fabs(v[i] - (kept(5 + i / D, i % D, 77, 0.25) ? 4 : 0)) <= off_by);
        cut += v[i] == 0;
    }
    is_int(wrong, 0, "%s: dropout of embeddings follows the counter, and scales by 1/(1-p)",
           l.name);
    ok(cut > 5 && cut < 35, "%s: about a quarter is cut", l.name);

    tf_mem *y = fill(TF_ELEM_ACT, 0, R * D), *w = fill(TF_ELEM_PARAM, 1, D),
           *in = fill(TF_ELEM_ACT, 1, R), *dout = fill(TF_ELEM_ACT, 1, R),
           *dy = fill(TF_ELEM_ACT, 0, R * D);
    l.be->set_rng_state(l.c, &step);
    l.be->linear_fwd(l.c, y, in, w, NULL, r, D, 1, TF_LIN_RELU | TF_LIN_SAVE, dropout);
    l.be->linear_bwd(l.c, dy, NULL, NULL, dout, y, w, r, 1, D, TF_LIN_FROM_RELU, dropout);
    v = get(y, TF_ELEM_ACT, R * D);
    wrong = 0;
    for (uint32_t i = 0; i < R * D; i++)
        wrong += !(fabs(v[i] - (kept(5 + i / D, i % D, 77, 0.25) ? 4 / 3.0 : 0)) <= off_by);
    is_int(wrong, 0, "%s: dropout after relu", l.name);
    v = get(dy, TF_ELEM_ACT, R * D);
    wrong = 0;
    for (uint32_t i = 0; i < R * D; i++)
        wrong += !(fabs(v[i] - (kept(5 + i / D, i % D, 77, 0.25) ? 4 / 3.0 : 0)) <= off_by);
    is_int(wrong, 0, "%s: its mask on the gradient", l.name);

    tf_mem *s = fill(TF_ELEM_ACT, 0, R * D), *res = fill(TF_ELEM_ACT, 1, R * D),
           *one = fill(TF_ELEM_ACT, 3, R * D);
    l.be->set_rng_state(l.c, &step);
    l.be->add_norm_fwd(l.c, s, y, NULL, NULL, one, res, table, table, r, D, 1e-6f, dropout);
    v = get(s, TF_ELEM_ACT, R * D);
    wrong = 0;
    for (uint32_t i = 0; i < R * D; i++)
        wrong += !(fabs(v[i] - (kept(5 + i / D, i % D, 77, 0.25) ? 5 : 1)) <= off_by);
    is_int(wrong, 0, "%s: dropout before the residual sum", l.name);
    let_go(r, NULL);
}

/* A bias and its gradient anywhere in memory: `by` elements past a round address. */
static void test_bias_at(size_t by)
{
    enum { R = 2, K = 8, N = 16, W = K * N };
    double v[W + 8 + N] = {0};
    for (size_t i = 0; i < W; i++)
        v[i] = (double)(i % 7);
    for (size_t j = 0; j < N; j++)
        v[W + by + j] = (double)j - 5;
    double unit[R * K] = {[1] = 1, [K + 3] = 1}; /* rows 1 and 3 of w */
    struct tf_rows *r = rows(1, (const uint32_t[]){0, R});
    tf_mem *w = put(TF_ELEM_PARAM, v, W + by + N), *dw = fill(TF_ELEM_PARAM, 9, W + by + N),
           *x = put(TF_ELEM_ACT, unit, R * K), *y = fill(TF_ELEM_ACT, 9, R * N),
           *dy = fill(TF_ELEM_ACT, 1, R * N);
    l.be->linear_fwd(l.c, y, x, w, tf_at(l.be, TF_ELEM_PARAM, w, W + by), r, N, K, 0, off);
    l.be->linear_bwd(l.c, NULL, dw, tf_at(l.be, TF_ELEM_PARAM, dw, W + by), dy, x, w, r, N, K, 0,
                     off);
    const double *got = get(y, TF_ELEM_ACT, R * N);
    int wrong = 0;
    for (size_t j = 0; j < N; j++)
        wrong += got[j] != v[N + j] + v[W + by + j] || got[N + j] != v[3 * N + j] + v[W + by + j];
    is_int(wrong, 0, "%s: a bias %zu elements on", l.name, by);
    got = get(dw, TF_ELEM_PARAM, W + by + N);
    wrong = 0;
    for (size_t i = 0; i < W; i++)
        wrong += got[i] != (i / N == 1 || i / N == 3);
    for (size_t j = 0; j < N; j++)
        wrong += got[W + by + j] != R;
    is_int(wrong, 0, "%s: and its gradient", l.name);
    let_go(r, NULL);
}

/* The paper's footnote 4: if the components of q and k are independent, of mean 0 and variance 1,
 * q.k has variance dk. So with the scale of attention the logits have variance 1 for any dk. Of a
 * query with one key, lse is the logit. */
static void test_scale(int dk)
{
    size_t n = MAX / (size_t)dk;
    int rounds = dk < 64 ? 16 : 64;
    uint32_t begin[MAX + 1];
    double sum = 0, v[MAX];
    struct tf_rng r = tf_rng_new(4, (uint64_t)dk);
    for (size_t i = 0; i <= n; i++)
        begin[i] = (uint32_t)i;
    for (int round = 0; round < rounds; round++) {
        struct tf_rows *q = rows(n, begin);
        tf_mem *qk[2], *o = fill(TF_ELEM_ACT, 7, n), *lse = fill(TF_ELEM_STAT, 7, n);
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < n * (size_t)dk; i++)
                v[i] = tf_rng_normal(&r);
            qk[side] = put(TF_ELEM_ACT, v, n * (size_t)dk);
        }
        struct tf_attention a = {.q_rows = q,
                                 .k_rows = q,
                                 .q = qk[0],
                                 .k = qk[1],
                                 .v = o,
                                 .o = fill(TF_ELEM_ACT, 7, n),
                                 .lse = lse,
                                 .ldq = (size_t)dk,
                                 .ldk = (size_t)dk,
                                 .ldv = 1,
                                 .ldo = 1,
                                 .heads = 1,
                                 .dk = dk,
                                 .dv = 1};
        l.be->attention_fwd(l.c, &a);
        const double *logit = get(lse, TF_ELEM_STAT, n);
        for (size_t i = 0; i < n; i++)
            sum += logit[i] * logit[i];
        let_go(q, NULL);
    }
    is_near(sum / (double)(n * (size_t)rounds), 1, 0.1, "%s: variance of scaled logits, dk %d",
            l.name, dk);
}

/* Queries of 0 give equal weights, values are unit vectors: o[i][j] is the weight of key j. */
static void test_masks(bool causal, int window, bool dropout, bool self)
{
    enum { H = 2, S = 6, OFF = 9 };
    size_t T = self ? S : 8;
    struct tf_rows *q = rows(1, (const uint32_t[]){OFF, OFF + (uint32_t)T}),
                   *k = self ? q : rows(1, (const uint32_t[]){3, 3 + S});
    double v[S * H * S] = {0};
    for (size_t j = 0; j < S; j++)
        for (size_t h = 0; h < H; h++)
            v[j * H * S + h * S + j] = 1;
    tf_mem *zero = fill(TF_ELEM_ACT, 0, 8 * H), *o = fill(TF_ELEM_ACT, 7, T * H * S),
           *lse = fill(TF_ELEM_STAT, 7, T * H);
    struct tf_attention a = {.q_rows = q,
                             .k_rows = k,
                             .q = zero,
                             .k = zero,
                             .v = put(TF_ELEM_ACT, v, S * H * S),
                             .o = o,
                             .lse = lse,
                             .ldq = H,
                             .ldk = H,
                             .ldv = H * S,
                             .ldo = H * S,
                             .heads = H,
                             .dk = 1,
                             .dv = S,
                             .causal = causal,
                             .window = window,
                             .dropout = {dropout ? 0.5f : 0, 19}};
    l.be->set_rng_state(l.c, &step);
    l.be->attention_fwd(l.c, &a);
    const double *out = get(o, TF_ELEM_ACT, T * H * S);
    int wrong = 0, first_sees = 0;
    for (uint32_t i = 0; i < T; i++) {
        int seen = 0;
        bool sees[S];
        for (int j = 0; j < S; j++) {
            sees[j] = (!causal || j <= (int)i) && (window == 0 || abs((int)i - j) <= window);
            seen += sees[j];
        }
        if (i == 0)
            first_sees = seen;
        for (uint32_t h = 0; h < H; h++)
            for (uint32_t j = 0; j < S; j++) {
                double want_it = !sees[j] ? 0
                                 : dropout && !kept(OFF + i, j, 19 | h << 16, 0.5)
                                     ? 0
                                     : (dropout ? 2.0 : 1.0) / seen;
                wrong += !(fabs(out[i * H * S + h * S + j] - want_it) <= off_by);
            }
    }
    is_int(wrong, 0, "%s: attention, %s%s, window %d, dropout %d", l.name, self ? "self" : "cross",
           causal ? " causal" : "", window, dropout);
    out = get(lse, TF_ELEM_STAT, T * H);
    is_near(out[0], log(first_sees), off_by, "%s: its denominator", l.name);
    if (!self && window == 1)
        ok(out[(T - 1) * H] == -INFINITY, "%s: no key, no denominator", l.name);
    let_go(q, self ? NULL : k);
}

static void test_embed(void)
{
    struct tf_rows *r = rows(3, (const uint32_t[]){4, 6, 6, 7});
    tf_mem *x = fill(TF_ELEM_ACT, 0, 3), *ids = PUT(TF_ELEM_U32, 1, TF_NO_ID, 0),
           *table = PUT(TF_ELEM_PARAM, 10, 20), *pos = PUT(TF_ELEM_PARAM, 0.5, 0.25);
    tf_mem *dtable = PUT(TF_ELEM_PARAM, 1, 2), *dpos = PUT(TF_ELEM_PARAM, 3, 4),
           *dx = PUT(TF_ELEM_ACT, 1, 2, 4);
    l.be->set_rng_state(l.c, &step);
    l.be->embed_fwd(l.c, x, ids, table, pos, r, 1, 2, off);
    l.be->embed_bwd(l.c, dtable, dpos, dx, ids, r, 1, 2, off);
    const double *v = get(x, TF_ELEM_ACT, 3);
    ok(v[0] == 40.5 && v[1] == 0.25 && v[2] == 20.5,
       "%s: positions start again in each sentence; no id is a zero vector", l.name);
    v = get(dtable, TF_ELEM_PARAM, 2);
    ok(v[0] == 1 + 8 && v[1] == 2 + 2, "%s: gradient of the table", l.name);
    v = get(dpos, TF_ELEM_PARAM, 2);
    ok(v[0] == 3 + 5 && v[1] == 4 + 2, "%s: gradient of positions", l.name);
    let_go(r, NULL);
}

static void test_norm(void)
{
    struct tf_rows *r = rows(1, (const uint32_t[]){0, 2});
    tf_mem *y = fill(TF_ELEM_ACT, 0, 4), *mean = fill(TF_ELEM_STAT, 0, 2),
           *rstd = fill(TF_ELEM_STAT, 0, 2);
    tf_mem *res = PUT(TF_ELEM_ACT, 1, 3, 5, 5), *gain = PUT(TF_ELEM_PARAM, 2, 3),
           *bias = PUT(TF_ELEM_PARAM, 0.5, -1);
    l.be->set_rng_state(l.c, &step);
    l.be->add_norm_fwd(l.c, NULL, y, mean, rstd, NULL, res, gain, bias, r, 2, 0.25f, off);
    double a = 1 / sqrt(1.25); /* biased variance of 1 and 3 is 1 */
    const double *v = get(y, TF_ELEM_ACT, 4);
    ok(fabs(v[0] - (0.5 - 2 * a)) < off_by && fabs(v[1] - (3 * a - 1)) < off_by,
       "%s: norm of 1 and 3", l.name);
    ok(v[2] == 0.5 && v[3] == -1, "%s: norm of a constant row is the bias", l.name);
    v = get(rstd, TF_ELEM_STAT, 2);
    ok(fabs(v[0] - a) < off_by && fabs(v[1] - 2) < off_by, "%s: rstd holds eps", l.name);
    let_go(r, NULL);
}

static void test_xent(void)
{
    /* Logits 0, ln 3, ln 3, 0: p = 1/8, 3/8, 3/8, 1/8. */
    struct tf_rows *r = rows(1, (const uint32_t[]){0, 3});
    struct tf_xent x = {.rows = r,
                        .x = PUT(TF_ELEM_ACT, 1, 1, 1),
                        .e = PUT(TF_ELEM_PARAM, 0, (float)log(3), (float)log(3), 0),
                        .targets = PUT(TF_ELEM_U32, 1, 1, 3),
                        .V = 4,
                        .D = 1,
                        .on = 0.7f,
                        .off = 0.1f,
                        .acc = PUT(TF_ELEM_F64, 1, 0, 0, 0),
                        .logp = fill(TF_ELEM_STAT, 0, 3),
                        .dx = fill(TF_ELEM_ACT, 0, 3),
                        .de = fill(TF_ELEM_PARAM, 9, 4)};
    l.be->set_rng_state(l.c, &step);
    l.be->xent(l.c, &x);
    double hi = log(8 / 3.0), lo = log(8);
    const double *v = get(x.acc, TF_ELEM_F64, 4);
    is_near(v[0], 1 + 2 * (0.7 * hi + 0.1 * hi + 0.2 * lo) + 0.7 * lo + 0.1 * lo + 0.2 * hi, off_by,
            "%s: smoothed loss, added to", l.name);
    is_near(v[1], 2 * hi + lo, off_by, "%s: plain loss", l.name);
    is_int(v[2], 2, "%s: of two equal winners the lower counts", l.name);
    is_int(v[3], 3, "%s: rows", l.name);
    v = get(x.logp, TF_ELEM_STAT, 3);
    ok(fabs(v[0] + hi) < off_by && fabs(v[2] + lo) < off_by, "%s: log-probabilities of the targets",
       l.name);
    v = get(x.de, TF_ELEM_PARAM, 4);
    is_near(v[0], 3 * (0.125 - 0.1), off_by, "%s: gradient of a row that is never the target",
            l.name);
    is_near(v[3], 2 * (0.125 - 0.1) + 0.125 - 0.7, off_by, "%s: gradient of one that is", l.name);
    let_go(r, NULL);
}

/* Weights of rows: of 2, 0 and 1/2, and of 1, which change no byte. */
static void test_xent_weights(void)
{
    enum { ACC, DX, DE, DB, N };
    static const enum tf_elem elem[N] = {TF_ELEM_F64, TF_ELEM_ACT, TF_ELEM_PARAM, TF_ELEM_PARAM};
    static const size_t n[N] = {4, 3, 4, 4};
    double plain[N][4];
    struct tf_rows *r = rows(1, (const uint32_t[]){0, 3});
    struct tf_xent x = {.rows = r,
                        .x = PUT(TF_ELEM_ACT, 1, 1, 1),
                        .e = PUT(TF_ELEM_PARAM, 0, (float)log(3), (float)log(3), 0),
                        .b = fill(TF_ELEM_PARAM, 0, 4),
                        .targets = PUT(TF_ELEM_U32, 1, 1, 3),
                        .V = 4,
                        .D = 1,
                        .on = 0.7f,
                        .off = 0.1f,
                        .dx = fill(TF_ELEM_ACT, 9, 3),
                        .de = fill(TF_ELEM_PARAM, 9, 4),
                        .db = fill(TF_ELEM_PARAM, 9, 4)};
    l.be->set_rng_state(l.c, &step);
    for (int ones = 0; ones < 2; ones++) {
        const tf_mem *result[N] = {x.acc = fill(TF_ELEM_F64, 0, 4), x.dx, x.de, x.db};
        x.weights = ones ? fill(TF_ELEM_STAT, 1, 3) : NULL;
        l.be->xent(l.c, &x);
        for (int i = 0; i < N; i++) {
            const double *v = get(result[i], elem[i], n[i]);
            if (ones)
                is_mem(v, plain[i], n[i] * sizeof *v, "%s: weights of 1: array %d", l.name, i);
            memcpy(plain[i], v, n[i] * sizeof *v);
        }
    }
    x.acc = fill(TF_ELEM_F64, 0, 4);
    x.weights = PUT(TF_ELEM_STAT, 2, 0, 0.5);
    l.be->xent(l.c, &x);
    double hi = log(8 / 3.0), lo = log(8);
    const double *v = get(x.acc, TF_ELEM_F64, 4);
    is_near(v[0], 2 * (0.8 * hi + 0.2 * lo) + 0.5 * (0.8 * lo + 0.2 * hi), 2 * off_by,
            "%s: weighted loss", l.name);
    is_near(v[1], 2 * hi + lo, off_by, "%s: plain loss, without weights", l.name);
    ok(v[2] == 2 && v[3] == 3, "%s: rows and winners count once", l.name);
    v = get(x.db, TF_ELEM_PARAM, 4);
    is_near(v[1], 2 * (0.375 - 0.7) + 0.5 * (0.375 - 0.1), 2 * off_by,
            "%s: weighted gradient of a target", l.name);
    is_near(v[3], 2 * (0.125 - 0.1) + 0.5 * (0.125 - 0.7), 2 * off_by, "%s: and of the other",
            l.name);
    v = get(x.dx, TF_ELEM_ACT, 3);
    is_near(v[0], 2 * plain[DX][0], 4 * off_by, "%s: a weight of 2", l.name);
    ok(v[1] == 0, "%s: a weight of 0", l.name);
    let_go(r, NULL);
}

/* The same logits, two of which come from the bias. */
static void test_xent_bias(void)
{
    struct tf_rows *r = rows(1, (const uint32_t[]){0, 2});
    struct tf_xent x = {.rows = r,
                        .x = PUT(TF_ELEM_ACT, 1, 1),
                        .e = PUT(TF_ELEM_PARAM, 0, (float)log(3), 0, 0),
                        .b = PUT(TF_ELEM_PARAM, 0, 0, (float)log(3), 0),
                        .targets = PUT(TF_ELEM_U32, 2, 3),
                        .V = 4,
                        .D = 1,
                        .on = 1,
                        .acc = PUT(TF_ELEM_F64, 0, 0, 0, 0),
                        .dx = fill(TF_ELEM_ACT, 0, 2),
                        .de = fill(TF_ELEM_PARAM, 9, 4),
                        .db = fill(TF_ELEM_PARAM, 9, 4)};
    l.be->set_rng_state(l.c, &step);
    l.be->xent(l.c, &x);
    is_near(get(x.acc, TF_ELEM_F64, 4)[0], log(8 / 3.0) + log(8), off_by, "%s: loss with a bias",
            l.name);
    const double *v = get(x.db, TF_ELEM_PARAM, 4);
    ok(fabs(v[0] - 0.25) < off_by && fabs(v[1] - 0.75) < off_by && fabs(v[2] + 0.25) < off_by &&
           fabs(v[3] + 0.75) < off_by,
       "%s: gradient of the bias", l.name);
    let_go(r, NULL);
}

static void test_swish(void)
{
    struct tf_rows *r = rows(1, (const uint32_t[]){0, 1});
    tf_mem *x = PUT(TF_ELEM_ACT, 0, (float)log(3), -100, 40), *y = fill(TF_ELEM_ACT, 0, 4),
           *dy = PUT(TF_ELEM_ACT, 4, 16, 1, 1);
    l.be->activation_fwd(l.c, y, x, r, 4, TF_SWISH, (struct tf_dropout){0});
    const double *v = get(y, TF_ELEM_ACT, 4);
    ok(v[0] == 0 && fabs(v[1] - 0.75 * log(3)) < 4 * off_by && fabs(v[2]) < 1e-30 && v[3] == 40,
       "%s: swish of 0, ln 3, -100 and 40", l.name);
    l.be->activation_bwd(l.c, dy, dy, x, r, 4, TF_SWISH, (struct tf_dropout){0});
    v = get(dy, TF_ELEM_ACT, 4);
    ok(v[0] == 2 && fabs(v[1] - (12 + 3 * log(3))) < 16 * off_by && fabs(v[2]) < 1e-30 && v[3] == 1,
       "%s: its gradient", l.name);
    l.be->activation_rows(l.c, y, x, 2, 2, TF_SWISH);
    v = get(y, TF_ELEM_ACT, 4);
    ok(v[0] == 0 && fabs(v[1] - 0.75 * log(3)) < 4 * off_by && v[3] == 40,
       "%s: swish of plain rows", l.name);
    let_go(r, NULL);
}

/* The normal distribution up to 1 is 0.841345, its density there 0.241971 (Abramowitz and Stegun
 * 1964, table 26.1); gelu(-1) = gelu(1) - 1. */
static void test_gelu(void)
{
    struct tf_rows *r = rows(1, (const uint32_t[]){0, 1});
    tf_mem *x = PUT(TF_ELEM_ACT, 0, 1, -1, 40), *y = fill(TF_ELEM_ACT, 0, 4),
           *dy = PUT(TF_ELEM_ACT, 4, 2, 2, 1);
    const double P = 0.8413447461, Z = 0.2419707245;
    l.be->activation_fwd(l.c, y, x, r, 4, TF_GELU, (struct tf_dropout){0});
    const double *v = get(y, TF_ELEM_ACT, 4);
    ok(v[0] == 0 && fabs(v[1] - P) < 4 * off_by && fabs(v[2] - (P - 1)) < 4 * off_by && v[3] == 40,
       "%s: gelu of 0, 1, -1 and 40", l.name);
    l.be->activation_bwd(l.c, dy, dy, x, r, 4, TF_GELU, (struct tf_dropout){0});
    v = get(dy, TF_ELEM_ACT, 4);
    ok(fabs(v[0] - 2) < 16 * off_by && fabs(v[1] - 2 * (P + Z)) < 16 * off_by &&
           fabs(v[2] - 2 * (1 - P - Z)) < 16 * off_by && v[3] == 1,
       "%s: its gradient", l.name);
    l.be->activation_rows(l.c, y, x, 2, 2, TF_GELU);
    v = get(y, TF_ELEM_ACT, 4);
    ok(v[0] == 0 && fabs(v[1] - P) < 4 * off_by && v[3] == 40, "%s: gelu of plain rows", l.name);
    let_go(r, NULL);
}

/* With z = 0, ln 3 and b = 0, ln 3 the forget gates are 1/2, 3/4, 3/4, 9/10. */
static void test_ssru(void)
{
    const float ln3 = (float)log(3);
    struct tf_rows *r = rows(2, (const uint32_t[]){0, 2, 3});
    tf_mem *xf = PUT(TF_ELEM_ACT, 4, 4, 0, 0, -8, 10, 0, ln3, 2, 2, ln3, ln3),
           *b = PUT(TF_ELEM_PARAM, 0, ln3), *y = fill(TF_ELEM_ACT, 0, 6),
           *cell = fill(TF_ELEM_ACT, 0, 6);
    l.be->ssru_fwd(l.c, y, cell, xf, b, r, 2);
    const double right[] = {2, 1, -3, 1.9, 0.5, 0.2};
    const double *v = get(cell, TF_ELEM_ACT, 6);
    bool same = true;
    for (int i = 0; i < 6; i++)
        same = same && fabs(v[i] - right[i]) < 8 * off_by;
    ok(same, "%s: cells of two sentences", l.name);
    v = get(y, TF_ELEM_ACT, 6);
    ok(v[2] == 0 && fabs(v[3] - 1.9) < 8 * off_by, "%s: what they show", l.name);

    tf_mem *dy = PUT(TF_ELEM_ACT, 1, 1, 1, 1, 1, 1), *dxf = fill(TF_ELEM_ACT, 9, 12),
           *db = fill(TF_ELEM_PARAM, 9, 2);
    l.be->ssru_bwd(l.c, dxf, db, dy, xf, cell, b, r, 2);
    const double grad[] = {0.5, 0.475, -1, -1.425, 0, 0.1, 0, -0.81, 0.25, 0.1, -0.375, -0.18};
    v = get(dxf, TF_ELEM_ACT, 12);
    for (int i = 0; i < 12; i++)
        same = same && fabs(v[i] - grad[i]) < 32 * off_by;
    v = get(db, TF_ELEM_PARAM, 2);
    ok(same && fabs(v[0] + 1.375) < 32 * off_by && fabs(v[1] + 2.415) < 32 * off_by,
       "%s: their gradient", l.name);

    tf_mem *cells = PUT(TF_ELEM_ACT, 0, 0, 2, 1, 0, 0), *slot = PUT(TF_ELEM_U32, 2),
           *table = PUT(TF_ELEM_U32, 0, 1, 2), *past = PUT(TF_ELEM_U32, 3),
           *row = PUT(TF_ELEM_ACT, -8, 10, 0, ln3);
    l.be->ssru_rows(l.c, y, cells, row, b, slot, table, 3, past, 1, 2);
    v = get(cells, TF_ELEM_ACT, 6);
    ok(fabs(v[4] + 3) < 8 * off_by && fabs(v[5] - 1.9) < 8 * off_by && v[2] == 2,
       "%s: a step of decoding", l.name);
    let_go(r, NULL);
}

static void test_decoding(void)
{
    tf_mem *z = PUT(TF_ELEM_STAT, 0, (float)log(3), -INFINITY),
           *acc = PUT(TF_ELEM_STAT, (float)log(0.5), -200, -INFINITY);
    l.be->log_softmax(l.c, z, acc, 1, 3, 0.5f);
    const double *v = get(acc, TF_ELEM_STAT, 3);
    ok(fabs(v[0] - log(0.375)) < off_by && fabs(v[1] - log(0.375)) < off_by && v[2] == -INFINITY,
       "%s: a model's share of a mixture, of 0 too", l.name);
    z = PUT(TF_ELEM_STAT, 0, -300, -400);
    acc = PUT(TF_ELEM_STAT, -250, -300, -400);
    l.be->log_softmax(l.c, z, acc, 1, 3, 0.5f);
    v = get(acc, TF_ELEM_STAT, 3);
    ok(fabs(v[0] - log(0.5)) < off_by && fabs(v[1] + 300) < 300 * off_by &&
           fabs(v[2] + 400) < 400 * off_by,
       "%s: a mixture of probabilities below the range of fp32", l.name);
    z = PUT(TF_ELEM_STAT, 0, (float)log(3), -INFINITY);
    l.be->log_softmax(l.c, z, NULL, 1, 3, 0);
    v = get(z, TF_ELEM_STAT, 3);
    ok(fabs(v[0] - log(0.25)) < off_by && fabs(v[1] - log(0.75)) < off_by && v[2] == -INFINITY,
       "%s: log-softmax", l.name);

    struct tf_err err = {0};
    tf_mem *w = PUT(TF_ELEM_PARAM, 1, 2, 3, 4, 5, 6), *x = PUT(TF_ELEM_ACT, 1, -1),
           *y = fill(TF_ELEM_ACT, 0, 3), *b = PUT(TF_ELEM_PARAM, 10, 3, 0);
    struct tf_packed *plain = tf_pack_all(l.be, l.c, w, 2, 3, false, 0, &err),
                     *turned = tf_pack_all(l.be, l.c, w, 2, 3, true, 0, &err);
    if (!ok(plain != NULL && turned != NULL, "%s: matrices packed %s", l.name, err.msg))
        return;
    l.be->linear_packed(l.c, y, x, plain, b, 1, TF_LIN_RELU);
    v = get(y, TF_ELEM_ACT, 3);
    ok(v[0] == 7 && v[1] == 0 && v[2] == 0, "%s: a packed matrix", l.name);
    l.be->linear_packed(l.c, y, x, turned, NULL, 1, 0);
    v = get(y, TF_ELEM_ACT, 3);
    ok(v[0] == -1 && v[1] == -1 && v[2] == -1, "%s: a packed matrix, transposed", l.name);
    l.be->pack_free(l.c, plain);
    l.be->pack_free(l.c, turned);

    /* Keys by table and by first; scores 0 and ln 3 / sqrt(1). */
    tf_mem *q = PUT(TF_ELEM_ACT, 1, 1, 1), *k = PUT(TF_ELEM_ACT, 5, 0, (float)log(3), 5),
           *vals = PUT(TF_ELEM_ACT, 100, 8, 16, 100), *o = fill(TF_ELEM_ACT, 7, 3);
    struct tf_cached_attention a = {.q = q,
                                    .k = k,
                                    .v = vals,
                                    .o = o,
                                    .ldq = 1,
                                    .ldk = 1,
                                    .ldv = 1,
                                    .ldo = 1,
                                    .heads = 1,
                                    .dk = 1,
                                    .dv = 1,
                                    .table = PUT(TF_ELEM_U32, 2, 1, 1, 0, 0, 0),
                                    .table_ld = 2,
                                    .n_keys = PUT(TF_ELEM_U32, 2, 1, 0)};
    l.be->cached_attention(l.c, &a, 3);
    v = get(o, TF_ELEM_ACT, 3);
    ok(fabs(v[0] - 14) < 10 * off_by && fabs(v[1] - 8) < 10 * off_by && v[2] == 0,
       "%s: attention over cached keys by table; none gives 0", l.name);
    a.table = NULL;
    a.first = PUT(TF_ELEM_U32, 1, 2, 0);
    l.be->cached_attention(l.c, &a, 3);
    v = get(o, TF_ELEM_ACT, 3);
    ok(fabs(v[0] - 14) < 10 * off_by && fabs(v[1] - 16) < 10 * off_by && v[2] == 0,
       "%s: and by first row", l.name);
    a.first = PUT(TF_ELEM_U32, 0, 0, 0);
    a.n_keys = PUT(TF_ELEM_U32, 3, 4, 1);
    a.window = 1;
    l.be->cached_attention(l.c, &a, 3);
    v = get(o, TF_ELEM_ACT, 3);
    double last = exp((float)log(3)), more = exp(5); /* keys 1 and 2; 2 and 3; 0 */
    ok(fabs(v[0] - (8 + 16 * last) / (1 + last)) < 10 * off_by &&
           fabs(v[1] - (16 * last + 100 * more) / (last + more)) < 60 * off_by &&
           fabs(v[2] - 100) < 60 * off_by,
       "%s: of which a window leaves the last", l.name);
    let_go(NULL, NULL);
}

int main(void)
{
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, true);
    for (size_t b = 0; b < n; b++) {
        l = open_lane_as(&v[b]);
        off_by = !multiplies_16_bit(l.be)                 ? 1e-6
                 : strcmp(l.be->precision, "bf16") == 0 ? 0x1p-8
                                                        : 0x1p-11;
        test_dropout();
        for (size_t by = 0; by < 6; by++)
            test_bias_at(by);
        for (int i = 0; i < 8; i++)
            test_masks(i & 1, i & 2 ? 1 : 0, i & 4, true);
        test_scale(4);
        test_scale(64);
        test_masks(false, 0, true, false);
        test_masks(false, 1, false, false);
        test_embed();
        test_norm();
        test_xent();
        test_xent_weights();
        test_xent_bias();
        test_swish();
        test_gelu();
        test_ssru();
        test_decoding();
        close_lane(&l);
    }
    return done();
}
