/* Philox against the vectors of its authors (Random123 1.09, kat_vectors), and sequential
 * numbers against frozen values. */
#include "../harness/tap.h"
#include "base/rng.h"

static void kat(const uint32_t counter[4], uint32_t k0, uint32_t k1, const uint32_t want[4],
                const char *name)
{
    uint32_t out[4];
    tf_philox(out, counter, (uint64_t)k1 << 32 | k0);
    is_mem(out, want, sizeof out, "philox4x32-10, %s", name);
}

int main(void)
{
    static const uint32_t zeros[4], ones[4] = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
    static const uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    kat(zeros, 0, 0, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, "zeros");
    kat(ones, 0xffffffff, 0xffffffff, (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        "ones");
    kat(pi, 0xa4093822, 0x299f31d0, (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
        "digits of pi");

    struct tf_rng r = tf_rng_new(0, 0);
    is_int(tf_rng_u32(&r), 0x6627e8d5, "the stream starts with counter 0");
    tf_rng_u32(&r);
    is_int(tf_rng_u64(&r), (long long)0x9b00dbd8bc57ac4c, "64 bits: low word first");
    uint32_t second[4];
    tf_philox(second, (uint32_t[]){1, 0, 0, 0}, 0);
    is_int(tf_rng_u32(&r), second[0], "then counter 1");
    r = tf_rng_new(0x299f31d0a4093822, 0x0370734413198a2e);
    r.i = 0x85a308d3243f6a88;
    is_int(tf_rng_u32(&r), 0xd16cfe09, "stream and index fill the counter");

    r = tf_rng_new(7, 1);
    uint64_t counts[6] = {0};
    for (int i = 0; i < 60000; i++)
        counts[tf_rng_below(&r, 6)]++;
    double chi2 = 0;
    for (int i = 0; i < 6; i++)
        chi2 += ((double)counts[i] - 10000) * ((double)counts[i] - 10000) / 10000;
    ok(chi2 < 20.5, "below(6) is uniform (chi squared %.2f, 0.1%% at 20.5)", chi2);
    is_int(tf_rng_below(&r, 1), 0, "below(1)");
    bool inside = true;
    for (int i = 0; i < 1000; i++)
        inside &= tf_rng_below(&r, (1ull << 63) + 1) <= 1ull << 63;
    ok(inside, "below a large bound");
    double sum = 0, squares = 0, lo = 1, hi = 0;
    for (int i = 0; i < 100000; i++) {
        double u = tf_rng_real(&r), z = tf_rng_normal(&r);
        lo = fmin(lo, u);
        hi = fmax(hi, u);
        sum += z;
        squares += z * z;
    }
    ok(lo >= 0 && lo < 1e-3 && hi < 1 && hi > 0.999, "real in [0, 1)");
    is_near(sum / 100000, 0, 0.02, "normal: mean");
    is_near(squares / 100000, 1, 0.03, "normal: variance");
    return done();
}
