/* gunzip.h - read a gzip file (RFC 1952) through a struct tf_in, with zlib. */
#ifndef TF_TEXT_GUNZIP_H
#define TF_TEXT_GUNZIP_H

#include "base/input.h"

struct tf_gunzip;

/* Let `in`, opened and not yet read, return the uncompressed bytes of its file: those of all its
 * members, one after the other. Reads fail with "NAME: gzip: REASON" if the file is damaged,
 * truncated or not gzip. The caller closes `in` first, then releases the result. */
struct tf_gunzip *tf_gunzip_begin(struct tf_in *in, struct tf_err *err) TF_MUST_CHECK;
void tf_gunzip_release(struct tf_gunzip *g); /* NULL is allowed */

#endif
