/* amx_bf16.c - products in bf16 by tiles (ops/cpu/bf16.c with TF_AMX) against their rule in plain
 * loops, to the bit, and a model's gradients against those of the generic kernels. */
#include "../harness/model.h"
#include "../harness/product.h"
#include "../harness/tap.h"
#include "base/memory.h"
#include "base/rng.h"

#include "../harness/amx.h"

#include "../../lib/ops/cpu/bf16.c"

static float drawn(uint64_t seed, size_t i)
{
    uint32_t u[4];
    tf_philox(u, (const uint32_t[4]){(uint32_t)i}, seed);
    return (float)ldexp((double)u[0] / 0x1p31 - 1, (int)(u[1] % 12) - 6);
}

static float *draw(uint64_t seed, size_t n)
{
    float *x = tf_xarray(NULL, n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = drawn(seed, i);
    return x;
}

static float to_bf16(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* start + the sum over K of x[k sx] w[k sw], by the rule */
static float by_rule(float start, const float *x, size_t sx, const float *w, size_t sw, size_t K)
{
    for (size_t k0 = 0; k0 < K; k0 += 32) {
        float part[2] = {0, 0};
        for (size_t k = k0; k < K && k < k0 + 32; k++)
            part[k % 2] = flushed(fmaf(to_bf16(x[k * sx]), to_bf16(w[k * sw]), part[k % 2]));
        start = flushed(start + flushed(part[0] + part[1]));
    }
    return start;
}

static void test_packed(const struct tf_backend *be)
{
    for (uint64_t seed = 0; seed < cases(60); seed++) {
        struct product p = new_product(seed);
        for (size_t i = 0; i < p.rows * p.K; i++)
            p.x[i] = drawn(seed, i);
        for (size_t i = 0; i < p.K * p.N; i++)
            p.w[i] = drawn(seed + 100, i);
        for (size_t i = 0; i < p.N; i++)
            p.b[i] = drawn(seed + 200, i);
        float *y = computed(be, &p, 0, p.rows);
        size_t wrong = 0;
        for (size_t i = 0; i < p.rows; i++)
            for (size_t j = 0; j < p.N; j++) {
                const float *w = p.transposed ? p.w + j * p.K : p.w + j;
                float want = by_rule(p.bias ? p.b[j] : 0, p.x + i * p.K, 1, w,
                                     p.transposed ? 1 : p.N, p.K);
                wrong += y[i * p.N + j] != (p.relu && !(want > 0) ? 0 : want);
            }
        if (wrong > 0 || !same_alone(be, &p, y))
            ok(false, "seed %d: %zu rows, K %zu, N %zu: %zu wrong", (int)seed, p.rows, p.K, p.N,
               wrong);
        free(y);
        free_product(&p);
    }
    ok(state.palette == 0, "products over packed weights; the tiles are given back");
}

/* More rows than two blocks of linear_bwd: 240, 240 and 21. */
static void test_gradients(const struct tf_backend *be)
{
    enum { R = 501, K = 70, N = 37 };
    struct tf_err err = {0};
    struct tf_ctx *c = be->open(&(struct tf_ctx_opts){.threads = 1}, &err);
    uint32_t off[] = {0, R};
    const struct tf_rows rows = {R, 1, 1, off};
    float *x = draw(1, R * K), *w = draw(2, K * N), *dy = draw(3, R * N), *dx = draw(4, R * K),
          *dw = draw(5, K * N);
    be->linear_bwd(c, dx, dw, NULL, dy, x, w, &rows, N, K, 0, (struct tf_dropout){0});
    size_t wrong = 0;
    for (size_t i = 0; i < R; i++)
        for (size_t k = 0; k < K; k++)
            wrong += dx[i * K + k] != by_rule(0, dy + i * N, 1, w + k * N, 1, N);
    is_int(wrong, 0, "dx = dy w'");
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < N; j++) {
            float sum = 0;
            for (size_t i = 0; i < R; i += 240)
                sum = by_rule(sum, x + i * K + k, K, dy + i * N + j, N, least(240, R - i));
            wrong += dw[k * N + j] != sum;
        }
    is_int(wrong, 0, "dw = x' dy");
    free(x);
    free(w);
    free(dy);
    free(dx);
    free(dw);
    be->close(c);
}

/* All operations together, the loss among them. */
static double *gradients_of(const struct tf_backend *be, const struct tf_config *c,
                            const float *flat, size_t *n, double *loss)
{
    struct small_model m;
    struct tf_pairs p = {0};
    struct tf_sums sums = {0};
    small_model_open(&m, be, c, flat);
    small_pairs(&p, c);
    run_backward(m.k, m.grads, &sums, &p, 0, p.n, &(struct tf_rng_state){.seed = 5, .update = 9});
    *n = m.w.params.size;
    *loss = sums.loss;
    double *g = tf_xarray(NULL, *n, sizeof *g);
    small_model_get(&m, g, TF_ELEM_PARAM, m.grads, *n);
    tf_pairs_release(&p);
    small_model_close(&m);
    return g;
}

static void test_model(const struct tf_backend *be, const struct tf_backend *plain)
{
    struct tf_config c = small_config();
    c.d_model = 72;
    c.d_ff = 150;
    c.d_k = c.d_v = 36;
    c.vocab_size = 601;
    float *flat = small_weights(&c, 3);
    size_t n;
    double loss[2], *a = gradients_of(plain, &c, flat, &n, &loss[0]),
                    *b = gradients_of(be, &c, flat, &n, &loss[1]), off = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        off += (a[i] - b[i]) * (a[i] - b[i]);
        all += a[i] * a[i];
    }
    is_near(loss[1] / loss[0], 1, 1e-3, "a model's loss is that of the other kernels");
    /* Another order of sums turns a rounding to bf16, of 2^-9, here and there. */
    is_near(sqrt(off / all), 0, 1.0 / 512, "and so are its gradients");
    free(a);
    free(b);
    free(flat);
}

int main(void)
{
    const struct tf_backend *plain = backend_of(TILES_ISA, "bf16");
    if (plain == NULL) {
        skip("no " TILES_ISA);
        return done();
    }
    use_tiles(plain, &TF_CPU_SET(bf16));
    test_packed(&tiled.be);
    test_gradients(&tiled.be);
    test_model(&tiled.be, plain);
    return done();
}
