/* amx.c - products in 8 bits by tiles (ops/cpu/int8.c with TF_AMX) on any processor: the tiles here
 * are memory, by the definitions of the Intel SDM, volume 2. The bytes must be those of the generic
 * kernels. */
#include "../harness/product.h"
#include "../harness/tap.h"
#include "base/err.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What LDTILECFG reads. */
struct config {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static struct config state;
static uint8_t tiles_of_amx[8][16][64];

/* General protection faults otherwise (LDTILECFG). */
static void load_config(const void *from)
{
    static const uint8_t zero[24];
    memcpy(&state, from, sizeof state);
    bool good = state.palette == 1 && state.start_row == 0 && memcmp(state.zero, zero, 14) == 0 &&
                memcmp(state.row_bytes + 8, zero, 16) == 0 && memcmp(state.rows + 8, zero, 8) == 0;
    for (int t = 0; t < 8; t++)
        good = good && state.row_bytes[t] <= 64 && state.rows[t] <= 16;
    if (!good)
        TF_BUG("a configuration that LDTILECFG refuses");
}

/* A tile that is used is one that is configured. */
static int used(int t)
{
    if (state.palette != 1 || state.rows[t] == 0 || state.row_bytes[t] == 0)
        TF_BUG("tile %d is not configured", t);
    return t;
}

static void load(int t, const void *from, size_t stride)
{
    memset(tiles_of_amx[used(t)], 0, sizeof tiles_of_amx[t]);
    for (size_t i = 0; i < state.rows[t]; i++)
        memcpy(tiles_of_amx[t][i], (const char *)from + i * stride, state.row_bytes[t]);
}

static void store(int t, void *to, size_t stride)
{
    for (size_t i = 0; i < state.rows[used(t)]; i++)
        memcpy((char *)to + i * stride, tiles_of_amx[t][i], state.row_bytes[t]);
}

/* TDPBSSD: sums += x w, of groups of four signed bytes */
static void dot_tiles(int sums, int x, int w)
{
    if (state.row_bytes[used(x)] / 4 != state.rows[used(w)] ||
        state.rows[x] != state.rows[used(sums)] || state.row_bytes[w] != state.row_bytes[sums])
        TF_BUG("tiles %d, %d, %d do not fit", sums, x, w);
    for (int m = 0; m < state.rows[sums]; m++)
        for (int n = 0; n < state.row_bytes[sums] / 4; n++) {
            int32_t sum;
            memcpy(&sum, &tiles_of_amx[sums][m][4 * n], sizeof sum);
            for (int k = 0; k < state.row_bytes[x]; k++) {
                const uint8_t *column = &tiles_of_amx[w][k / 4][4 * n];
                sum += (int8_t)tiles_of_amx[x][m][k] * (int8_t)column[k % 4];
            }
            memcpy(&tiles_of_amx[sums][m][4 * n], &sum, sizeof sum);
        }
}

#define TILE_CONFIGURE(config) load_config(config)
#define TILE_RELEASE() memset(&state, 0, sizeof state)
#define TILE_ZERO(t) memset(tiles_of_amx[used(t)], 0, sizeof tiles_of_amx[t])
#define TILE_LOAD load
#define TILE_STORE store
#define TILE_DOT dot_tiles

#define TF_ISA generic
#define TF_INT8 tiles
#define TF_BF16 generic
#define TF_AMX
#include "../../lib/ops/cpu/int8.c"

int main(void)
{
    const struct tf_backend *plain = backend_of("generic", "int8");
    struct tf_backend tiled = *plain;
    tiled.pack = TF_CPU_INT8(pack);
    tiled.pack_free = TF_CPU_INT8(pack_free);
    tiled.linear_packed = TF_CPU_INT8(linear_packed);
    for (uint64_t seed = 0; seed < 200; seed++) {
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
        float *y = computed(plain, &p, 0, p.rows), *z = computed(&tiled, &p, 0, p.rows);
        if (memcmp(y, z, p.rows * p.N * sizeof *y) != 0 || !same_alone(&tiled, &p, z))
            ok(false, "seed %d: %zu rows, K %zu, N %zu", (int)seed, p.rows, p.K, p.N);
        free(y);
        free(z);
        free_product(&p);
    }
    ok(state.palette == 0, "200 products by tiles; the tiles are given back");
    return done();
}
