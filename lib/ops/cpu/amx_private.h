/* amx_private.h - the tiles of AMX: eight registers of 16 rows of 64 bytes (Intel SDM, volume 1,
 * "Programming with Intel AMX"; TDPBSSD and TDPBF16PS in volume 2). int8.c and bf16.c use them in
 * blocks of 32 rows and 32 columns: tiles 0 to 3 are sums, 4 and 5 rows of x, 6 and 7 columns of w.
 *
 * A tile of sums has 16 rows and 16 columns of 32 bits; one of x has 16 rows and 64 bytes along k;
 * one of w has 16 columns, and along k 16 groups of 32 bits: the layout of the panels. */
#ifndef TF_OPS_CPU_AMX_PRIVATE_H
#define TF_OPS_CPU_AMX_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#ifndef TILE_LOAD /* tests/harness/amx.h has tiles in plain C */
#include <immintrin.h>
#define TILE_CONFIGURE(config) _tile_loadconfig(config)
#define TILE_RELEASE() _tile_release()
#define TILE_ZERO(t) _tile_zero(t)
#define TILE_LOAD(t, p, stride) _tile_loadd(t, p, stride)
#define TILE_STORE(t, p, stride) _tile_stored(t, p, stride)
#define TILE_BYTES(sums, x, w) _tile_dpbssd(sums, x, w)
#define TILE_PAIRS(sums, x, w) _tile_dpbf16ps(sums, x, w)
#endif
/* The intrinsics of gcc 12 do not say that tiles are loaded from memory. */
#define TILE_MEMORY() __asm__ volatile("" ::: "memory")

enum { TILE_SIDE = 32 }; /* of a block of sums */

/* The operand of LDTILECFG: all eight tiles whole. Each thread loads its own. */
static const struct {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_config __attribute__((aligned(64))) = {.palette = 1,
                                             .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                             .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* sums += x w for `steps` tiles along k, by TILE_BYTES or TILE_PAIRS. w0 and w16: columns 0 to 15
 * and 16 to 31; the second half of the rows if `both`. Strides in bytes. */
#define AMX_PRODUCT(MULTIPLY, x, x_stride, w0, w16, w_stride, steps, both) \
    do {                                                                   \
        const char *x_ = (const char *)(x), *w0_ = (const char *)(w0),     \
                   *w16_ = (const char *)(w16);                            \
        const size_t xs_ = (x_stride), ws_ = (w_stride);                   \
        for (size_t k_ = (steps); k_ > 0; k_--) {                          \
            TILE_LOAD(4, x_, xs_);                                         \
            TILE_LOAD(6, w0_, ws_);                                        \
            TILE_LOAD(7, w16_, ws_);                                       \
            MULTIPLY(0, 4, 6);                                             \
            MULTIPLY(1, 4, 7);                                             \
            if (both) {                                                    \
                TILE_LOAD(5, x_ + 16 * xs_, xs_);                          \
                MULTIPLY(2, 5, 6);                                         \
                MULTIPLY(3, 5, 7);                                         \
            }                                                              \
            x_ += 64;                                                      \
            w0_ += 16 * ws_;                                               \
            w16_ += 16 * ws_;                                              \
        }                                                                  \
    } while (0)

#endif
