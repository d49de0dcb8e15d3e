/* mix.c - see mix.h. */
#include "data/mix.h"
#include "base/parse.h"
#include "base/rng.h"

#include <math.h>

#define GOLDEN 0x9e3779b9u /* the golden section, in 2^-32 */
/* The random stream of a file's first phase; batch_plan.c and list.c use others. */
#define PHASE ((uint64_t)1 << 62)

int tf_mix_parse(uint32_t *weight, const char *text, struct tf_err *err)
{
    double x;
    if (tf_parse_real(&x, text, 0.001, TF_MIX_MOST, err) != 0)
        return -1;
    *weight = (uint32_t)lrint(x * TF_MIX_ONE);
    return 0;
}

uint32_t tf_mix_phase(uint64_t seed, uint64_t file)
{
    struct tf_rng r = tf_rng_new(seed, PHASE | file);
    return tf_rng_u32(&r);
}

uint16_t tf_mix_times(uint32_t weight, uint32_t first, uint64_t i, uint64_t epoch)
{
    const uint32_t u = first + (uint32_t)i * GOLDEN;
    /* In millionths of 2^-32, without the whole epochs that w e has: less than 2^62. */
    const uint64_t one = (uint64_t)TF_MIX_ONE << 32,
                   from = (weight * (epoch % TF_MIX_ONE) % TF_MIX_ONE << 32) +
                          (uint64_t)u * TF_MIX_ONE;
    return (uint16_t)((from + ((uint64_t)weight << 32)) / one - from / one);
}
