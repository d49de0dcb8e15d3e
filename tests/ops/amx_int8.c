/* amx_int8.c - products in 8 bits by tiles (ops/cpu/int8.c with TF_AMX) have the bytes of those by
 * vectors. */
#include "../harness/product.h"
#include "../harness/tap.h"
#include "base/rng.h"

#include "../harness/amx.h"

#include "../../lib/ops/cpu/int8.c"

int main(void)
{
    const struct tf_backend *plain = backend_of(TILES_ISA, "int8");
    if (plain == NULL) {
        skip("no " TILES_ISA);
        return done();
    }
    use_tiles(plain, &TF_CPU_SET(int8));
    for (uint64_t seed = 0; seed < cases(200); seed++) {
        struct product p = new_product(seed);
        for (size_t i = 0; i < p.rows * p.K + p.K * p.N + p.N; i++) {
            uint32_t u[4];
            tf_philox(u, (const uint32_t[4]){(uint32_t)i}, seed);
            const float drawn = (float)((double)u[0] / 0x1p31 - 1);
            if (i < p.rows * p.K)
                p.x[i] = drawn;
            else if (i < p.rows * p.K + p.K * p.N)
                p.w[i - p.rows * p.K] = drawn;
            else
                p.b[i - p.rows * p.K - p.K * p.N] = drawn;
        }
        float *y = computed(plain, &p, 0, p.rows), *z = computed(&tiled.be, &p, 0, p.rows);
        if (memcmp(y, z, p.rows * p.N * sizeof *y) != 0 || !same_alone(&tiled.be, &p, z))
            ok(false, "seed %d: %zu rows, K %zu, N %zu", (int)seed, p.rows, p.K, p.N);
        free(y);
        free(z);
        free_product(&p);
    }
    ok(state.palette == 0, "products by tiles; the tiles are given back");
    return done();
}
