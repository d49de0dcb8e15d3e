/* hash.h - SHA-256 (FIPS 180-4) and CRC-32C (RFC 3720, appendix B.4), by instructions of the CPU if
 * it has them. */
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
/* Write n bytes as 2n hexadecimal digits and a NUL; returns dst. */
char *tf_hex(char *dst, const uint8_t *p, size_t n);

/* Continue a CRC-32C, which is 0 at the start, with n bytes. */
uint32_t tf_crc32c(uint32_t crc, const void *p, size_t n);

#endif
