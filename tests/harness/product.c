/* product.c - see product.h. */
#include "product.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/sanitize_private.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

struct product new_product(uint64_t seed)
{
    static const size_t Ks[] = {1, 2, 3, 4, 5, 15, 16, 17, 64, 67, 200, 512, 1030},
                        Ns[] = {1, 3, 15, 16, 17, 31, 64, 65, 127, 300},
                        rows[] = {0, 1, 2, 5, 6, 7, 13, 96, 97, 200, 240, 241};
    uint32_t u[4];
    tf_philox(u, (const uint32_t[4]){7, 1}, seed);
    struct product p = {.rows = rows[u[0] % 12],
                        .K = Ks[u[1] % 13],
                        .N = Ns[u[2] % 10],
                        .transposed = u[3] & 1,
                        .bias = u[3] & 2,
                        .relu = u[3] & 4};
    /* With AddressSanitizer three products of 60 would take nine tenths of the time: of them rows
     * and K stay. */
    if (TF_ASAN && p.rows * p.K * p.N > 4000000)
        p.N = 17;
    p.x = tf_xarray(NULL, p.rows * p.K + 1, sizeof *p.x);
    p.w = tf_xarray(NULL, p.K * p.N, sizeof *p.w);
    p.b = tf_xarray(NULL, p.N, sizeof *p.b);
    return p;
}

void free_product(struct product *p)
{
    free(p->x);
    free(p->w);
    free(p->b);
}

float w_at(const struct product *p, size_t k, size_t j)
{
    return p->transposed ? p->w[j * p->K + k] : p->w[k * p->N + j];
}

const struct tf_backend *backend_of(const char *isa, const char *precision)
{
    struct tf_err err = {0};
    setenv("TF_CPU_ISA", isa, 1);
    const struct tf_backend *be = tf_backend_find("cpu", precision, TF_USE_DECODING, NULL, &err);
    unsetenv("TF_CPU_ISA");
    return be;
}

float *computed(const struct tf_backend *be, const struct product *p, size_t from, size_t rows)
{
    struct tf_err err = {0};
    struct tf_ctx *c = be->open(&(struct tf_ctx_opts){.threads = 1}, &err);
    struct tf_packed *w = NULL;
    if (c != NULL)
        w = tf_pack_all(be, c, p->w, (int)p->K, (int)p->N, p->transposed, 0, &err);
    if (w == NULL)
        TF_BUG("%s", err.msg);
    float *y = tf_xarray(NULL, rows * p->N + 1, sizeof *y);
    y[rows * p->N] = 77;
    be->linear_packed(c, y, p->x + from * p->K, w, p->bias ? p->b : NULL, rows,
                      p->relu ? TF_LIN_RELU : 0);
    if (y[rows * p->N] != 77)
        TF_BUG("written past the end");
    be->pack_free(c, w);
    be->close(c);
    return y;
}

bool same_alone(const struct tf_backend *be, const struct product *p, const float *y)
{
    bool same = true;
    for (size_t i = 0; i < p->rows && same; i += 5) {
        float *one = computed(be, p, i, 1);
        same = memcmp(one, y + i * p->N, p->N * sizeof *y) == 0;
        free(one);
    }
    return same;
}
