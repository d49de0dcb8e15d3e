/* gunzip.h - read a gzip file (RFC 1952) through a struct tf_in, and data without its frame, with
 * zlib. */
#ifndef TF_BASE_GUNZIP_H
#define TF_BASE_GUNZIP_H

#include "base/input.h"

/* Do n bytes begin as a gzip member does? */
static inline bool tf_is_gzip(const uint8_t *p, size_t n)
{
    return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* Does the name of a file end so, in either case, perhaps with .gz after it? */
bool tf_is_named(const char *path, const char *end);
/* Let `in`, opened and of which nothing was taken, return the uncompressed bytes of its file: those
 * of all its members, one after the other. Reads fail with "NAME: gzip: REASON" if the file is
 * damaged, truncated or not gzip. */
int tf_gunzip(struct tf_in *in, struct tf_err *err) TF_MUST_CHECK;
/* The same if the first bytes are gzip's; otherwise `in` stays as it is. */
int tf_in_unpack(struct tf_in *in, struct tf_err *err) TF_MUST_CHECK;
/* tf_read_file, unpacked: at most max bytes, and at most 4 GiB of what is compressed or a
 * pipe. "-" is stdin. */
int tf_read_unpacked(char **data, size_t *n, const char *path, size_t max,
                     struct tf_err *err) TF_MUST_CHECK;
/* Unpack n bytes of DEFLATE data (RFC 1951) that make exactly `size` bytes at dst. */
int tf_inflate(void *dst, size_t size, const void *src, size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
