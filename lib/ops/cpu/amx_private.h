/* amx_private.h - products of signed bytes in the tiles of AMX: eight registers of 16 rows of 64
 * bytes (Intel SDM, volume 1, "Programming with Intel AMX"; TDPBSSD in volume 2).
 *
 * A tile of sums has 16 rows and 16 columns of 32 bits, one of x 16 rows and 64 bytes along k, one
 * of w 16 groups of four neighbours along k, for 16 columns each: the layout of int8.c's panels. */
#ifndef TF_OPS_CPU_AMX_PRIVATE_H
#define TF_OPS_CPU_AMX_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#ifndef TILE_LOAD /* tests/ops/amx.c has tiles in plain C */
#include <immintrin.h>
#define TILE_CONFIGURE(config) _tile_loadconfig(config)
#define TILE_RELEASE() _tile_release()
#define TILE_ZERO(t) _tile_zero(t)
#define TILE_LOAD(t, p, stride) _tile_loadd(t, p, stride)
#define TILE_STORE(t, p, stride) _tile_stored(t, p, stride)
#define TILE_DOT(sums, x, w) _tile_dpbssd(sums, x, w)
#endif

/* The operand of LDTILECFG: all eight tiles whole. Each thread loads its own. */
static const struct {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_config __attribute__((aligned(64))) = {.palette = 1,
                                             .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                             .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

enum { AMX_ROWS = 32 };

/* sums [32, 32] = x w over `steps` times 64 bytes of k: x [32, steps * 64], stride ldx; w
 * [steps * 16][32 * 4]. The second half of the rows is left out where there are at most 16; of
 * others x is read, and their sums mean nothing. */
static void amx_multiply(int32_t sums[AMX_ROWS][32], const int8_t *x, size_t ldx, const uint8_t *w,
                         size_t steps, size_t rows)
{
    enum { STRIDE = 32 * 4 };
    /* The intrinsics of gcc 12 do not say that tiles are loaded from memory. */
    __asm__ volatile("" ::: "memory");
    TILE_ZERO(0);
    TILE_ZERO(1);
    if (rows <= 16) {
        for (size_t k = 0; k < steps; k++, x += 64, w += 16 * STRIDE) {
            TILE_LOAD(4, x, ldx);
            TILE_LOAD(6, w, STRIDE);
            TILE_LOAD(7, w + 64, STRIDE);
            TILE_DOT(0, 4, 6);
            TILE_DOT(1, 4, 7);
        }
    } else {
        TILE_ZERO(2);
        TILE_ZERO(3);
        for (size_t k = 0; k < steps; k++, x += 64, w += 16 * STRIDE) {
            TILE_LOAD(4, x, ldx);
            TILE_LOAD(6, w, STRIDE);
            TILE_LOAD(7, w + 64, STRIDE);
            TILE_DOT(0, 4, 6);
            TILE_DOT(1, 4, 7);
            TILE_LOAD(5, x + 16 * ldx, ldx);
            TILE_DOT(2, 5, 6);
            TILE_DOT(3, 5, 7);
        }
        TILE_STORE(2, sums[16], STRIDE);
        TILE_STORE(3, sums[16] + 16, STRIDE);
    }
    TILE_STORE(0, sums[0], STRIDE);
    TILE_STORE(1, sums[0] + 16, STRIDE);
    __asm__ volatile("" ::: "memory");
}

#endif
