/* hash.h - SHA-256 for identities (FIPS 180-4), CRC-32C for damage (RFC 3720, appendix B.4), which
 * both use the CPU's instructions where it has them, and the CRC-32 of ZIP archives. */
#ifndef TF_BASE_HASH_H
#define TF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct tf_sha256 {
    uint32_t h[8];
    uint64_t len;
    uint8_t block[64];
};
void tf_sha256_init(struct tf_sha256 *s);
void tf_sha256_add(struct tf_sha256 *s, const void *p, size_t n);
void tf_sha256_end(struct tf_sha256 *s, uint8_t out[32]);
void tf_sha256_of(uint8_t out[32], const void *p, size_t n);
char *tf_hex(char *dst, const uint8_t *p, size_t n); /* 2n digits and a NUL; returns dst */

/* CRC-32C of p continued from crc (0 at the start): crc32c(crc32c(0, a), b) is that of a followed
 * by b. */
uint32_t tf_crc32c(uint32_t crc, const void *p, size_t n);
/* The same for the CRC-32 of ISO-HDLC (polynomial 0x04c11db7), which ZIP has. */
uint32_t tf_crc32(uint32_t crc, const void *p, size_t n);

#endif
