/* amx.h - the tiles of AMX in plain C, by the definitions of the Intel SDM, volume 2: for tests of
 * the kernels of ops/cpu/ that use them, on any processor. What would be a fault ends the program.
 * To be included before such a file of kernels, after all other headers. */
#ifndef TF_TESTS_AMX_H
#define TF_TESTS_AMX_H

#include "base/err.h"

#include <math.h>
#include <stdint.h>
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

static void check_shapes(int sums, int x, int w)
{
    if (state.row_bytes[used(x)] / 4 != state.rows[used(w)] ||
        state.rows[x] != state.rows[used(sums)] || state.row_bytes[w] != state.row_bytes[sums])
        TF_BUG("tiles %d, %d, %d do not fit", sums, x, w);
}

/* TDPBSSD: sums += x w, of groups of four signed bytes */
static inline void dot_bytes(int sums, int x, int w)
{
    check_shapes(sums, x, w);
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

static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* Half 0 or 1 of a pair of bf16. */
static float half_of(const uint8_t *pair, int half)
{
    uint16_t h;
    memcpy(&h, pair + 2 * half, sizeof h);
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return flushed(x);
}

/* TDPBF16PS: sums += (x w of the even bf16) + (x w of the odd ones) */
static inline void dot_pairs(int sums, int x, int w)
{
    check_shapes(sums, x, w);
    for (int m = 0; m < state.rows[sums]; m++)
        for (int n = 0; n < state.row_bytes[sums] / 4; n++) {
            float sum, part[2] = {0, 0};
            for (int k = 0; k < state.rows[w]; k++)
                for (int i = 0; i < 2; i++)
                    part[i] = flushed(fmaf(half_of(&tiles_of_amx[x][m][4 * k], i),
                                           half_of(&tiles_of_amx[w][k][4 * n], i), part[i]));
            memcpy(&sum, &tiles_of_amx[sums][m][4 * n], sizeof sum);
            sum = flushed(flushed(sum) + flushed(part[0] + part[1]));
            memcpy(&tiles_of_amx[sums][m][4 * n], &sum, sizeof sum);
        }
}

#define TILE_CONFIGURE(config) load_config(config)
#define TILE_RELEASE() memset(&state, 0, sizeof state)
#define TILE_ZERO(t) memset(tiles_of_amx[used(t)], 0, sizeof tiles_of_amx[t])
#define TILE_LOAD load
#define TILE_STORE store
#define TILE_BYTES dot_bytes
#define TILE_PAIRS dot_pairs

/* How the file of kernels that is included next is compiled. */
#ifdef TF_TILES_WIDE
#define TF_ISA avx512
#define TILES_ISA "avx512"
#else
#define TF_ISA generic
#define TILES_ISA "generic"
#endif
#define TF_SET tiles
#define TF_AMX

/* ---- a table with such products ---- */

#include "ops/cpu/kernels_private.h"

static struct tf_cpu_table tiled;

static struct tf_ctx *open_tiled(const struct tf_ctx_opts *o, struct tf_err *err)
{
    (void)o, (void)err;
    return tf_host_open(&tiled.be);
}

static inline void use_tiles(const struct tf_backend *plain, const struct tf_cpu_products *p)
{
    tiled = *(const struct tf_cpu_table *)plain;
    tiled.be.open = open_tiled;
    tiled.packed = p;
    if (p->multiply != NULL)
        tiled.products = p;
}

#endif
