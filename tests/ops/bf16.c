/* bf16.c - products of numbers rounded to bf16 on the CPU: every set of instructions against the
 * rule of ops/cpu/bf16.c written out in plain loops, to the bit. */
#include "../harness/problem.h"
#include "../harness/product.h"

static const char *const sets[] = {"generic", "avx2", "avx512", "avx512bf16", "neon"};

/* Now and then what is rounded, or multiplied, in a special way. */
static float drawn(uint64_t seed, uint32_t i, bool small)
{
    static const float special[] = {0,
                                    -0.0f,
                                    0x1.01p0f,
                                    0x1.03p0f,
                                    0x1.010002p0f,
                                    -0x1.feffp0f,
                                    0x1.fffffep0f,
                                    0x1p-70f,
                                    0x1p-60f,
                                    0x1p-126f,
                                    0x1.fffffep-127f,
                                    0x1p-130f,
                                    0x1p-149f};
    uint32_t u[4];
    tf_philox(u, (const uint32_t[4]){i}, seed);
    if (u[1] % 8 == 0)
        return special[u[2] % (small ? 13 : 7)];
    return (float)ldexp((double)u[0] / 0x1p31 - 1, (int)(u[1] >> 8) % 12 - 6);
}

/* small: also numbers below 2^-126, and whose products are */
static struct product make_product(uint64_t seed, bool small)
{
    struct product p = new_product(seed);
    for (size_t i = 0; i < p.rows * p.K; i++)
        p.x[i] = drawn(seed, (uint32_t)i, small);
    for (size_t i = 0; i < p.K * p.N; i++)
        p.w[i] = drawn(seed + 1, (uint32_t)i, small);
    for (size_t i = 0; i < p.N; i++)
        p.b[i] = (float)(int)(i % 7) - 3;
    return p;
}

/* ---- the rule ---- */

static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float rounded(float x)
{
    uint32_t u;
    x = flushed(x);
    memcpy(&u, &x, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &u, sizeof x);
    return x;
}

static float by_rule(const char *isa, const struct product *p, size_t i, size_t j)
{
    const bool fused = strcmp(isa, "generic") != 0;
    float acc = p->bias ? p->b[j] : 0;
    for (size_t k = 0; k < p->K; k += 2)
        for (size_t odd = 2; odd-- > 0;) {
            float x = k + odd < p->K ? rounded(p->x[i * p->K + k + odd]) : 0;
            float w = k + odd < p->K ? rounded(w_at(p, k + odd, j)) : 0;
            acc = flushed(fused ? fmaf(x, w, acc) : flushed(x * w) + acc);
        }
    return p->relu && !(acc > 0) ? 0 : acc;
}

static bool follows(const char *isa, const struct product *p, const float *y)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->N; j++) {
            float want = by_rule(isa, p, i, j);
            if (want != y[i * p->N + j]) {
                printf("# %zu x %zu x %zu: element %zu, %zu: %a, must be %a\n", p->rows, p->N,
                       p->K, i, j, y[i * p->N + j], want);
                return false;
            }
        }
    return true;
}

static void test_rule(const char *isa)
{
    const struct tf_backend *be = backend_of(isa, "bf16");
    bool rule = true, alone = true;
    if (be == NULL) {
        skip(isa);
        return;
    }
    for (uint64_t seed = 0; seed < 60 && rule && alone; seed++) {
        struct product p = make_product(seed * 16, strcmp(isa, "neon") != 0);
        float *y = computed(be, &p, 0, p.rows);
        rule = follows(isa, &p, y);
        alone = same_alone(be, &p, y);
        free(y);
        free_product(&p);
    }
    ok(rule, "%s: 60 products follow the rule to the bit", isa);
    ok(alone, "%s: a row alone has the bytes that it has among others", isa);
}

static void test_not_finite(const char *isa)
{
    const struct tf_backend *be = backend_of(isa, "bf16");
    const float odd[] = {INFINITY, -INFINITY, NAN};
    float x[2 * 20], w[20 * 3];
    struct product p = {.rows = 2, .K = 20, .N = 3, .x = x, .w = w};
    for (size_t i = 0; be != NULL && i < 3; i++) {
        for (size_t k = 0; k < 60; k++)
            w[k] = 1;
        for (size_t k = 0; k < 40; k++)
            x[k] = 1;
        x[7] = odd[i];
        float *y = computed(be, &p, 0, 2);
        ok((isnan(odd[i]) ? isnan(y[0]) && isnan(y[2]) : y[0] == odd[i] && y[2] == odd[i]) &&
               y[3] == 20,
           "%s: %g in a row shows in that row alone", isa, odd[i]);
        free(y);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        test_rule(sets[i]);
        test_not_finite(sets[i]);
    }
    return done();
}
