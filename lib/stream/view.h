/* view.h - the position of a record's ids in a file. An index over a mapped file stores it and
 * reads the ids later without decoding the stream again. */
#ifndef TF_STREAM_VIEW_H
#define TF_STREAM_VIEW_H

#include "base/err.h"
#include <stdint.h>

/* Returns the place of the ids of a tokens record (side 0), or of the source (0) or target (1) of a
 * pair. The record begins at byte `offset` of the file; raw is its encoding, which a reader has
 * returned and so checked. */
uint64_t tf_view_ids(const uint8_t *raw, size_t raw_n, uint64_t offset, int side);
/* Copy the n ids at a place of the mapped file, of map_n bytes, to dst. Returns -1 if the file does
 * not have n ids there, as after a change. */
int tf_view_take(uint32_t *dst, size_t n, const uint8_t *map, size_t map_n,
                 uint64_t place) TF_MUST_CHECK;

#endif
