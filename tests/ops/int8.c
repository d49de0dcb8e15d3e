/* int8.c - products in 8 bits: every set of instructions against the rule written out in plain
 * loops, rows alone against rows among others, and how far the rule is from the real product; and
 * rows of tables in 8 bits. */
#include "../harness/problem.h"
#include "../harness/product.h"
#include "base/memory.h"
#include "ops/registry.h"

enum { SETS = 7 };
static const char *const sets[SETS] = {"generic",    "avx2", "avxvnni", "avx512",
                                       "avx512vnni", "neon", "neondot"};
#if defined __aarch64__
#define FUSED "neon" /* the first set with fused multiply-adds */
#else
#define FUSED "avx2"
#endif

static float drawn(uint64_t seed, uint32_t i)
{
    uint32_t u[4];
    tf_philox(u, (const uint32_t[4]){i}, seed);
    /* some are larger than the others */
    return (float)((double)u[0] / 0x1p31 - 1) * ((u[1] & 15) == 0 ? 8 : 1);
}

static struct product make_product(uint64_t seed)
{
    struct product p = new_product(seed);
    for (size_t i = 0; i < p.rows * p.K; i++)
        p.x[i] = drawn(seed, (uint32_t)i);
    for (size_t i = 0; i < p.K * p.N; i++)
        p.w[i] = drawn(seed + 1, (uint32_t)i);
    for (size_t i = 0; i < p.N; i++)
        p.b[i] = drawn(seed + 2, (uint32_t)i);
    if (p.rows > 2)
        memset(p.x + p.K, 0, p.K * sizeof *p.x); /* a row of zeros */
    if (!p.transposed && p.N > 2)
        for (size_t k = 0; k < p.K; k++)
            p.w[k * p.N + 1] = 0; /* and a column */
    return p;
}

/* The rule, with the sums in 64 bits and what follows in double. */
static double by_rule(const struct product *p, size_t i, size_t j)
{
    float mx = 0, mw = 0;
    for (size_t k = 0; k < p->K; k++) {
        mx = fmaxf(mx, fabsf(p->x[i * p->K + k]));
        mw = fmaxf(mw, fabsf(w_at(p, k, j)));
    }
    float fx = mx > 0 ? 127 / mx : 0, fw = mw > 0 ? 127 / mw : 0;
    int64_t sum = 0;
    for (size_t k = 0; k < p->K; k++)
        sum += (int64_t)rintf(p->x[i * p->K + k] * fx) * (int64_t)rintf(w_at(p, k, j) * fw);
    double y = (double)sum * ((double)mx / 127) * ((double)mw / 127) + (p->bias ? p->b[j] : 0);
    return p->relu && y < 0 ? 0 : y;
}

static bool follows(const struct product *p, const float *y, const char *isa)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->N; j++) {
            double want = by_rule(p, i, j), e = fabs(y[i * p->N + j] - want);
            if (!(e <= 1e-5 * (fabs(want) + 1))) {
                printf("# %s: %zu x %zu x %zu: element %zu, %zu: %.9g, must be %.9g\n", isa,
                       p->rows, p->N, p->K, i, j, y[i * p->N + j], want);
                return false;
            }
        }
    return true;
}

static void test_rule(const char *isa)
{
    const struct tf_backend *be = backend_of(isa, "int8"), *fused = backend_of(FUSED, "int8");
    bool rule = true, alone = true, same = true;
    if (be == NULL) {
        skip(isa);
        return;
    }
    for (uint64_t seed = 0; seed < 60 && rule && alone && same; seed++) {
        struct product p = make_product(seed * 16);
        float *y = computed(be, &p, 0, p.rows);
        rule = follows(&p, y, isa);
        alone = same_alone(be, &p, y);
        float *best =
            strcmp(isa, "generic") != 0 && fused != NULL ? computed(fused, &p, 0, p.rows) : NULL;
        same = best == NULL || memcmp(best, y, p.rows * p.N * sizeof *y) == 0;
        free(best);
        free(y);
        free_product(&p);
    }
    ok(rule, "%s: 60 products follow the rule", isa);
    ok(alone, "%s: a row alone has the bytes that it has among others", isa);
    if (strcmp(isa, "generic") != 0)
        ok(same, "%s: the bytes are those of " FUSED, isa);
}

/* x [rows, D]: rows of a table [V, D] in 8 bits, packed in parts. */
static float *embedded(const struct tf_backend *be, const float *table, size_t V, size_t D,
                       const uint32_t *ids, const uint32_t *at, const float *pos, size_t rows)
{
    struct tf_err err = {0};
    struct tf_ctx *c = be->open(&(struct tf_ctx_opts){.threads = 1}, &err);
    struct tf_packed *w = c != NULL ? be->pack_new(c, (int)D, (int)V, 0, &err) : NULL;
    if (w == NULL)
        TF_BUG("%s", err.msg);
    for (size_t j = 0; j < V; j += TF_PACK_COLUMNS)
        be->pack(c, w, table + j * D, 0, true, j,
                 V - j < TF_PACK_COLUMNS ? V - j : TF_PACK_COLUMNS);
    float *x = tf_xarray(NULL, rows * D, sizeof *x);
    be->embed_packed(c, x, ids, at, w, pos, rows, 3);
    be->pack_free(c, w);
    be->close(c);
    return x;
}

static void test_tables(const char *isa)
{
    const struct tf_backend *be = backend_of(isa, "int8"), *plain = backend_of("generic", "int8");
    bool near = true, same = true;
    if (be == NULL)
        return;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const size_t V = 1 + seed * 37 % 150, D = 1 + seed * 29 % 90, rows = 12;
        float *table = tf_xarray(NULL, V * D, sizeof *table),
              *pos = tf_xarray(NULL, rows * D, sizeof *pos);
        uint32_t ids[12], at[12];
        for (size_t i = 0; i < V * D; i++)
            table[i] = drawn(seed, (uint32_t)i);
        for (size_t i = 0; i < rows * D; i++)
            pos[i] = drawn(seed + 100, (uint32_t)i);
        for (uint32_t i = 0; i < rows; i++) {
            ids[i] = i == 0 ? TF_NO_ID : i == 1 ? (uint32_t)V - 1 : i * 61 % (uint32_t)V;
            at[i] = i * 5 % (uint32_t)rows;
        }
        float *x = embedded(be, table, V, D, ids, at, pos, rows),
              *y = embedded(plain, table, V, D, ids, at, pos, rows);
        same = same && memcmp(x, y, rows * D * sizeof *x) == 0;
        for (size_t i = 0; i < rows * D; i++) {
            const size_t row = i / D, d = i % D;
            const float *e = ids[row] != TF_NO_ID ? table + ids[row] * D : NULL;
            double max = 0, want = pos[at[row] * D + d];
            for (size_t k = 0; e != NULL && k < D; k++)
                max = fmax(max, fabs((double)e[k]));
            if (e != NULL)
                want += 3 * max / 127 * rintf(e[d] * (127 / (float)max));
            near = near && fabs(x[i] - want) <= 1e-5;
        }
        free(x);
        free(y);
        free(table);
        free(pos);
    }
    ok(near, "%s: rows of a table are q times their scale", isa);
    if (strcmp(isa, "generic") != 0)
        ok(same, "%s: the bytes are those of generic", isa);
}

/* The largest width there can be, with the largest integers: sums do not overflow. */
static void test_extremes(const char *isa)
{
    enum { K = 65536, N = 3 };
    const struct tf_backend *be = backend_of(isa, "int8");
    if (be == NULL)
        return;
    struct product p = {.rows = 2, .K = K, .N = N};
    p.x = tf_xarray(NULL, 2 * K, sizeof *p.x);
    p.w = tf_xarray(NULL, K * N, sizeof *p.w);
    for (size_t k = 0; k < K; k++) {
        p.x[k] = 1;
        p.x[K + k] = -1;
        for (size_t j = 0; j < N; j++)
            p.w[k * N + j] = j == 1 ? -1 : 1;
    }
    float *y = computed(be, &p, 0, 2);
    for (size_t i = 0; i < 2 * N; i++)
        is_near(y[i], (i / N == 1) != (i % N == 1) ? -K : K, 0.1,
                "%s: %d products of the largest, element %zu", isa, K, i);
    free(y);

    p.K = 20;
    const float odd[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < 3; i++) {
        p.x[7] = odd[i];
        y = computed(be, &p, 0, 2);
        ok(!isfinite(y[0]) && !isfinite(y[1]) && isfinite(y[N]),
           "%s: %g in a row shows in that row alone", isa, odd[i]);
        free(y);
    }
    p.x[7] = 1e-38f;
    for (size_t k = 0; k < 20; k++)
        p.x[k] = 1e-38f;
    y = computed(be, &p, 0, 1);
    is_near(y[0], 0, 1e-30, "%s: a row of next to nothing", isa);
    free(y);
    free(p.x);
    free(p.w);
}

/* Against the product itself: rms of the error in parts of the rms of y. */
static void test_nearness(void)
{
    struct product p = {.rows = 50, .K = 512, .N = 100};
    p.x = tf_xarray(NULL, p.rows * p.K, sizeof *p.x);
    p.w = tf_xarray(NULL, p.K * p.N, sizeof *p.w);
    for (size_t i = 0; i < p.rows * p.K; i++)
        p.x[i] = drawn(1, (uint32_t)i);
    for (size_t i = 0; i < p.K * p.N; i++)
        p.w[i] = drawn(2, (uint32_t)i);
    float *y = computed(backend_of("generic", "int8"), &p, 0, p.rows);
    double off = 0, all = 0;
    for (size_t i = 0; i < p.rows; i++)
        for (size_t j = 0; j < p.N; j++) {
            double sum = 0;
            for (size_t k = 0; k < p.K; k++)
                sum += (double)p.x[i * p.K + k] * p.w[k * p.N + j];
            off += (sum - y[i * p.N + j]) * (sum - y[i * p.N + j]);
            all += sum * sum;
        }
    ok(sqrt(off / all) < 0.02, "within 2 %% of the product: %.2f %%", 100 * sqrt(off / all));
    free(y);
    free(p.x);
    free(p.w);
}

static void test_uses(void)
{
    struct tf_err err = {0};
    const struct tf_backend *be = tf_backend_find("cpu", NULL, TF_USE_DECODING, NULL, &err);
    is_str(be != NULL ? be->precision : err.msg, "fp32", "only used when requested");
    ok(tf_backend_find("cpu", "int8", TF_USE_TRAINING, NULL, &err) == NULL &&
           err.status == TF_USAGE,
       "not for training: %s", err.msg);
    err = (struct tf_err){0};
    ok(tf_backend_find("cpu", "int8", TF_USE_SCORING, NULL, &err) == NULL && err.status == TF_USAGE,
       "not for scoring: %s", err.msg);
}

int main(void)
{
    for (size_t i = 0; i < SETS; i++) {
        test_rule(sets[i]);
        test_tables(sets[i]);
        test_extremes(sets[i]);
    }
    test_nearness();
    test_uses();
    return done();
}
