/* SHA-256 (FIPS 180-4 examples and NIST's long message) and CRC-32C (RFC 3720 B.4), in every
 * version that this CPU can run. The source is included to call the portable versions, too. */
#include "../../lib/base/hash.c"
#include "../harness/tap.h"

static void sha(const char *want, const char *text, size_t n, const char *name)
{
    uint8_t out[32];
    char hex[65];
    tf_sha256_of(out, text, n);
    is_str(tf_hex(hex, out, 32), want, "sha256 of %s", name);
}

static void sha_vectors(void)
{
    sha("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", NULL, 0, "nothing");
    sha("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc", 3, "abc");
    sha("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, "56 bytes");
    sha("cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
        "nopqrsmnopqrstnopqrstu",
        112, "112 bytes");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    sha("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", million, 1000000,
        "a million a");
    uint8_t whole[32], pieces[32];
    bool same = true;
    for (size_t n = 0; n < 300; n++) {
        tf_sha256_of(whole, million, n);
        struct tf_sha256 s;
        tf_sha256_init(&s);
        for (size_t at = 0, step = 1; at < n; at += step, step = step * 3 % 61 + 1) {
            if (step > n - at)
                step = n - at;
            tf_sha256_add(&s, million + at, step);
        }
        tf_sha256_end(&s, pieces);
        same &= memcmp(whole, pieces, 32) == 0;
    }
    ok(same, "the same in pieces of any size");
    free(million);
}

static void crc_vectors(void)
{
    uint8_t p[64] = {0};
    is_int(tf_crc32c(0, NULL, 0), 0, "crc of no bytes");
    is_int(tf_crc32c(0, "123456789", 9), 0xe3069283, "the check value");
    is_int(tf_crc32c(0, p, 32), 0x8a9136aa, "32 zeros");
    memset(p, 255, 32);
    is_int(tf_crc32c(0, p, 32), 0x62a8ab43, "32 ones");
    for (int i = 0; i < 32; i++)
        p[i] = (uint8_t)i;
    is_int(tf_crc32c(0, p, 32), 0x46dd794e, "ascending");
    for (int i = 0; i < 32; i++)
        p[i] = (uint8_t)(31 - i);
    is_int(tf_crc32c(0, p, 32), 0x113fdb5c, "descending");
    static const uint8_t read10[48] = {0x01, 0xc0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0,
                                       0,    0,    0x14, 0,    0,    0, 0, 0, 4, 0, 0, 0, 0, 0x14,
                                       0,    0,    0,    0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 2};
    is_int(tf_crc32c(0, read10, 48), 0xd9963a56, "an iSCSI read command");
    bool same = true;
    for (size_t i = 0; i <= 48; i++)
        same &= tf_crc32c(tf_crc32c(0, read10, i), read10 + i, 48 - i) == 0xd9963a56;
    ok(same, "continued at any byte");
}

/* A bit at a time. */
static uint32_t crc_of_bits(const uint8_t *p, size_t n)
{
    uint32_t c = ~0u;
    for (size_t i = 0; i < 8 * n; i++) {
        c ^= p[i / 8] >> i % 8 & 1;
        c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
    }
    return ~c;
}

/* More than what is summed in streams at once. */
static void crc_of_many(void)
{
    enum { MOST = 3 * 1024 + 1024 };
    uint8_t p[2 * MOST];
    bool same = true;
    for (size_t i = 0; i < sizeof p; i++)
        p[i] = (uint8_t)(i * i * 2654435761u >> 13);
    for (size_t n = 1; n <= MOST; n += 61)
        same &= tf_crc32c(0, p + n % 9, 2 * n - n % 9) == crc_of_bits(p + n % 9, 2 * n - n % 9);
    ok(same, "the crc of up to %zu bytes", sizeof p);
}

int main(void)
{
    choose();
    pthread_once(&choose_once, choose);
    printf("# %s, %s\n", sha_blocks == sha_blocks_plain ? "portable sha" : "sha instructions",
           crc_bytes == crc_plain ? "portable crc" : "crc instruction");
    sha_vectors();
    crc_vectors();
    crc_of_many();
    sha_blocks = sha_blocks_plain;
    crc_bytes = crc_plain;
    sha_vectors();
    crc_vectors();
    crc_of_many();
    return done();
}
