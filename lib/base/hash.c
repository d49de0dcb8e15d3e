/* hash.c - SHA-256 and CRC-32C in portable C and with x86-64's instructions, chosen at run time. */
#include "base/hash.h"
#include "base/bits.h"

#include <pthread.h>
#include <string.h>
#if defined __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void sha_blocks_plain(uint32_t h[8], const uint8_t *p, size_t blocks)
{
    for (; blocks > 0; blocks--, p += 64) {
        uint32_t w[64], s[8];
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
                   (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + (rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3) +
                   w[i - 7] + (rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10);
        memcpy(s, h, sizeof s);
        for (int i = 0; i < 64; i++) {
            uint32_t a = s[0], e = s[4];
            uint32_t t1 = s[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
                          ((e & s[5]) ^ (~e & s[6])) + sha_k[i] + w[i];
            uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +
                          ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
            memmove(s + 1, s, 7 * sizeof *s);
            s[4] += t1;
            s[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++)
            h[i] += s[i];
    }
}

/* The CRC by tables, eight bytes at a time: t[k] is for a byte that k bytes follow. */
static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_make(void)
{
    uint32_t(*t)[256] = crc_table;
    for (uint32_t i = 0; i < 256; i++) {
        t[0][i] = i;
        for (int bit = 0; bit < 8; bit++)
            t[0][i] = t[0][i] >> 1 ^ (t[0][i] & 1 ? 0x82f63b78 : 0);
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++)
            t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
}

static uint32_t crc_plain(uint32_t crc, const uint8_t *p, size_t n)
{
    pthread_once(&crc_once, crc_make);
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t x;
        memcpy(&x, p, 8);
        x ^= crc;
        crc = 0;
        for (int i = 0; i < 8; i++)
            crc ^= crc_table[7 - i][x >> 8 * i & 255];
    }
    for (; n > 0; n--, p++)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 255];
    return crc;
}

#if defined __x86_64__

__attribute__((target("sha,ssse3,sse4.1"))) static void
sha_blocks_ni(uint32_t h[8], const uint8_t *p, size_t blocks)
{
    const __m128i big = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    /* The instructions keep the state as (A, B, E, F) and (C, D, G, H). */
    __m128i t = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)h), 0xb1);
    __m128i cdgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(h + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(t, cdgh, 8);
    cdgh = _mm_blend_epi16(cdgh, t, 0xf0);
    for (; blocks > 0; blocks--, p += 64) {
        __m128i abef0 = abef, cdgh0 = cdgh, w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), big);
        for (int i = 0; i < 16; i++) {
            __m128i k = _mm_add_epi32(w[i & 3], _mm_loadu_si128((const __m128i *)(sha_k + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0e));
            if (i < 12) {
                __m128i x = _mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]);
                x = _mm_add_epi32(x, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
                w[i & 3] = _mm_sha256msg2_epu32(x, w[(i + 3) & 3]);
            }
        }
        abef = _mm_add_epi32(abef, abef0);
        cdgh = _mm_add_epi32(cdgh, cdgh0);
    }
    t = _mm_shuffle_epi32(abef, 0x1b);
    cdgh = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)h, _mm_blend_epi16(t, cdgh, 0xf0));
    _mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(cdgh, t, 8));
}

/* Bytes of each of three streams: the instruction takes three cycles, and one can begin in each. */
enum { STREAM = 1024 };

/* crc, and as many zeros after it as `factor` stands for: x^(8 bytes - 33) mod P. (The product of
 * two reflected polynomials has one x more, and the instruction multiplies by x^32.) */
__attribute__((target("sse4.2,pclmul"))) static uint64_t crc_shift(uint64_t crc, uint64_t factor)
{
    const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
                                                 _mm_cvtsi64_si128((int64_t)factor), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t crc_sse(uint32_t crc, const uint8_t *p,
                                                                 size_t n)
{
    static const uint64_t one = 0x170076fa, two = 0xa51b6135; /* factors of so many streams */
    uint64_t c = crc;
    for (; n >= 3 * STREAM; n -= 3 * STREAM, p += 3 * STREAM) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < STREAM; i += 8) {
            c = _mm_crc32_u64(c, tf_load64(p + i));
            second = _mm_crc32_u64(second, tf_load64(p + STREAM + i));
            third = _mm_crc32_u64(third, tf_load64(p + 2 * STREAM + i));
        }
        c = crc_shift(c, two) ^ crc_shift(second, one) ^ third;
    }
    for (; n >= 8; n -= 8, p += 8)
        c = _mm_crc32_u64(c, tf_load64(p));
    crc = (uint32_t)c;
    for (; n > 0; n--, p++)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}

#endif

static void (*sha_blocks)(uint32_t h[8], const uint8_t *p, size_t blocks) = sha_blocks_plain;
static uint32_t (*crc_bytes)(uint32_t crc, const uint8_t *p, size_t n) = crc_plain;
static pthread_once_t choose_once = PTHREAD_ONCE_INIT;

static void choose(void)
{
#if defined __x86_64__
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return;
    if ((c & bit_SSE4_2) && (c & bit_PCLMUL))
        crc_bytes = crc_sse;
    if ((c & bit_SSSE3) && (c & bit_SSE4_1) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
        (b & bit_SHA))
        sha_blocks = sha_blocks_ni;
#endif
}

void tf_sha256_init(struct tf_sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    pthread_once(&choose_once, choose);
    memcpy(s->h, start, sizeof start);
    s->len = 0;
}

void tf_sha256_add(struct tf_sha256 *s, const void *p, size_t n)
{
    const uint8_t *b = p;
    size_t have = s->len % 64;
    s->len += n;
    if (have > 0) {
        size_t take = n < 64 - have ? n : 64 - have;
        if (take > 0)
            memcpy(s->block + have, b, take);
        if (have + take < 64)
            return;
        sha_blocks(s->h, s->block, 1);
        b += take;
        n -= take;
    }
    if (n >= 64)
        sha_blocks(s->h, b, n / 64);
    if (n % 64 > 0)
        memcpy(s->block, b + n / 64 * 64, n % 64);
}

void tf_sha256_end(struct tf_sha256 *s, uint8_t out[32])
{
    uint8_t pad[72] = {0x80};
    size_t have = s->len % 64, n = have < 56 ? 56 - have : 120 - have;
    for (int i = 0; i < 8; i++)
        pad[n + (size_t)i] = (uint8_t)(s->len * 8 >> (56 - 8 * i));
    tf_sha256_add(s, pad, n + 8);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - i % 4 * 8));
}

void tf_sha256_of(uint8_t out[32], const void *p, size_t n)
{
    struct tf_sha256 s;
    tf_sha256_init(&s);
    tf_sha256_add(&s, p, n);
    tf_sha256_end(&s, out);
}

char *tf_hex(char *dst, const uint8_t *p, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        dst[2 * i] = digits[p[i] >> 4];
        dst[2 * i + 1] = digits[p[i] & 15];
    }
    dst[2 * n] = 0;
    return dst;
}

uint32_t tf_crc32c(uint32_t crc, const void *p, size_t n)
{
    pthread_once(&choose_once, choose);
    return ~crc_bytes(~crc, p, n);
}
