/* halves.c - packed weights in binary16: on every set of instructions the bytes of products and of
 * embeddings are those of the same values in fp32. */
#include "../harness/product.h"
#include "../harness/tap.h"
#include "base/bits.h"
#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static const char *const sets[] = {"generic", "avx2", "avx512", "neon"};

/* Any finite half, subnormal ones and zeros of both signs among them. */
static uint16_t drawn(uint64_t seed, uint32_t i)
{
    uint32_t u[4];
    tf_philox(u, (const uint32_t[4]){i}, seed);
    uint32_t e = (u[1] & 3) == 0 ? 0 : u[1] >> 8 & 15;
    return (uint16_t)((u[0] & 0x83ff) | e << 10);
}

/* y, then rows of the table w' and nothing for an id, of weights in fp32 or in halves. */
static float *computed_both(const struct tf_backend *be, const struct product *p,
                            const uint16_t *halves, size_t *n)
{
    struct tf_err err = {0};
    struct tf_ctx *c = be->open(&(struct tf_ctx_opts){.threads = 1}, &err);
    struct tf_packed *w =
        c != NULL ? be->pack_new(c, (int)p->K, (int)p->N, halves != NULL ? TF_PACK_HALVES : 0, &err)
                  : NULL;
    if (w == NULL)
        TF_BUG("%s", err.msg);
    be->pack(c, w, halves != NULL ? (const void *)halves : p->w, p->N, p->transposed, 0, p->N);
    const uint32_t ids[] = {0, TF_NO_ID, (uint32_t)p->N - 1, (uint32_t)p->N / 2}, at[4] = {0};
    *n = p->rows * p->N + 4 * p->K;
    float *y = tf_xarray(NULL, *n, sizeof *y);
    be->linear_packed(c, y, p->x, w, p->bias ? p->b : NULL, p->rows, p->relu ? TF_LIN_RELU : 0);
    be->embed_packed(c, y + p->rows * p->N, ids, at, w, p->x, 4, 1.5f);
    be->pack_free(c, w);
    be->close(c);
    return y;
}

int main(void)
{
    static const size_t rows[] = {1, 4, 12, 13, 241};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        const struct tf_backend *be = backend_of(sets[s], "fp32");
        bool same = true;
        if (be == NULL) {
            skip(sets[s]);
            continue;
        }
        for (uint64_t seed = 0; seed < 30 && same; seed++) {
            struct product p = {.rows = rows[seed % 5],
                                .K = 1 + seed * 97 % 700,
                                .N = 1 + seed * 61 % 150,
                                .transposed = seed % 2 != 0,
                                .bias = seed % 3 != 0,
                                .relu = seed % 4 == 0};
            uint16_t *halves = tf_xarray(NULL, p.K * p.N, sizeof *halves);
            p.x = tf_xarray(NULL, p.rows * p.K, sizeof *p.x);
            p.w = tf_xarray(NULL, p.K * p.N, sizeof *p.w);
            p.b = tf_xarray(NULL, p.N, sizeof *p.b);
            for (size_t i = 0; i < p.rows * p.K; i++)
                p.x[i] = tf_half_to_float(drawn(seed, (uint32_t)i)) / 3;
            for (size_t i = 0; i < p.K * p.N; i++)
                p.w[i] = tf_half_to_float(halves[i] = drawn(seed + 100, (uint32_t)i));
            for (size_t i = 0; i < p.N; i++)
                p.b[i] = tf_half_to_float(drawn(seed + 200, (uint32_t)i));
            size_t n;
            float *want = computed_both(be, &p, NULL, &n), *got = computed_both(be, &p, halves, &n);
            same = memcmp(want, got, n * sizeof *want) == 0;
            free(want);
            free(got);
            free(halves);
            free_product(&p);
        }
        ok(same, "%s: the bytes are those of fp32", sets[s]);
    }
    return done();
}
