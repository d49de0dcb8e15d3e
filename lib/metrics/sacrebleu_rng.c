/* sacrebleu_rng.c - follows numpy/random/bit_generator.pyx (SeedSequence),
 * src/pcg64 and src/distributions/distributions.c. */
#include "metrics/sacrebleu_rng_private.h"
#include <string.h>
#include <sys/random.h>

typedef unsigned __int128 u128;

enum { POOL = 4, MAX_WORDS = 32 };

struct mixer {
    uint32_t pool[POOL], constant;
};

static uint32_t hash(struct mixer *m, uint32_t x)
{
    x ^= m->constant;
    m->constant *= 0x931E8875u;
    x *= m->constant;
    return x ^ x >> 16;
}

static uint32_t mix(uint32_t x, uint32_t y)
{
    uint32_t r = 0xCA01F9DDu * x - 0x4973F715u * y;
    return r ^ r >> 16;
}

static void generate(uint64_t out[4], const uint32_t *entropy, size_t n)
{
    struct mixer m = {.constant = 0x43B0D7E5u};
    uint32_t constant = 0x8B51F9DDu, words[8];
    for (size_t i = 0; i < POOL; i++)
        m.pool[i] = hash(&m, i < n ? entropy[i] : 0);
    for (size_t from = 0; from < POOL; from++)
        for (size_t to = 0; to < POOL; to++)
            if (from != to)
                m.pool[to] = mix(m.pool[to], hash(&m, m.pool[from]));
    for (size_t from = POOL; from < n; from++)
        for (size_t to = 0; to < POOL; to++)
            m.pool[to] = mix(m.pool[to], hash(&m, entropy[from]));
    for (size_t i = 0; i < 8; i++) {
        uint32_t x = m.pool[i % POOL] ^ constant;
        constant *= 0x58F38DEDu;
        x *= constant;
        words[i] = x ^ x >> 16;
    }
    for (size_t i = 0; i < 4; i++)
        out[i] = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];
}

static void step_state(struct tf_numpy_rng *r)
{
    const u128 multiplier = (u128)0x2360ED051FC65DA4u << 64 | 0x4385DF649FCCF645u;
    r->state = r->state * multiplier + r->inc;
}

int tf_numpy_rng_seed(struct tf_numpy_rng *r, const char *seed, struct tf_err *err)
{
    uint32_t words[MAX_WORDS] = {0};
    uint64_t v[4];
    size_t n = 1;
    for (const char *p = seed; p != NULL && *p; p++) {
        uint64_t carry = (uint64_t)(*p - '0');
        if (*p < '0' || *p > '9')
            return tf_fail(err, "SACREBLEU_SEED %s: not a number", seed);
        for (size_t i = 0; i < n; i++) {
            carry += (uint64_t)words[i] * 10;
            words[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry && n == MAX_WORDS)
            return tf_fail(err, "SACREBLEU_SEED: too large");
        if (carry)
            words[n++] = (uint32_t)carry;
    }
    if (seed != NULL && !*seed)
        return tf_fail(err, "SACREBLEU_SEED: empty");
    if (seed == NULL) {
        n = POOL;
        if (getrandom(words, n * sizeof *words, 0) != (ssize_t)(n * sizeof *words))
            return tf_fail_errno(err, "random seed");
    }
    generate(v, words, n);
    *r = (struct tf_numpy_rng){.inc = ((u128)v[2] << 64 | v[3]) << 1 | 1};
    step_state(r);
    r->state += (u128)v[0] << 64 | v[1];
    step_state(r);
    return 0;
}

static uint64_t next64(struct tf_numpy_rng *r)
{
    step_state(r);
    uint64_t x = (uint64_t)(r->state >> 64) ^ (uint64_t)r->state;
    unsigned rotation = (unsigned)(r->state >> 122);
    return x >> rotation | x << (-rotation & 63);
}

uint32_t tf_numpy_rng_u32(struct tf_numpy_rng *r)
{
    if (r->has_high) {
        r->has_high = false;
        return r->high;
    }
    uint64_t x = next64(r);
    r->high = (uint32_t)(x >> 32);
    r->has_high = true;
    return (uint32_t)x;
}

void tf_numpy_rng_below(struct tf_numpy_rng *r, uint32_t *out, size_t n, uint32_t below)
{
    if (below <= 1) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    const uint32_t floor = -below % below;
    for (size_t i = 0; i < n; i++) {
        uint64_t m = (uint64_t)tf_numpy_rng_u32(r) * below;
        while ((uint32_t)m < floor)
            m = (uint64_t)tf_numpy_rng_u32(r) * below;
        out[i] = (uint32_t)(m >> 32);
    }
}
