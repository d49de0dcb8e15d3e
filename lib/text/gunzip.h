/* gunzip.h - read a gzip file (RFC 1952) through a struct tf_in, with zlib. */
#ifndef TF_TEXT_GUNZIP_H
#define TF_TEXT_GUNZIP_H

#include "base/input.h"

/* Do n bytes begin as a gzip member does? */
static inline bool tf_is_gzip(const uint8_t *p, size_t n)
{
    return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* Let `in`, opened and of which nothing was taken, return the uncompressed bytes of its file: those
 * of all its members, one after the other. Reads fail with "NAME: gzip: REASON" if the file is
 * damaged, truncated or not gzip. */
int tf_gunzip(struct tf_in *in, struct tf_err *err) TF_MUST_CHECK;

#endif
