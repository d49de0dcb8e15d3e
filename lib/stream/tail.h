/* tail.h - how a stream in a file ends, from its last bytes alone. */
#ifndef TF_STREAM_TAIL_H
#define TF_STREAM_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TF_TAIL_N = 32 /* bytes: more than an end record has, however its numbers are encoded */ };

/* Find the end record that the last n bytes of a file of `size` bytes end with: its count, and its
 * CRC unless that is null. False if there is none, as in a truncated file. That the bytes before
 * agree with it is known only when a reader has read them. */
bool tf_tail_end(const uint8_t *p, size_t n, uint64_t size, uint64_t *count, bool *has_crc,
                 uint32_t *crc);

#endif
