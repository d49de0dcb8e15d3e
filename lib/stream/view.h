/* view.h - where the ids of a record lie in its encoding, so that an index over a mapped file can
 * take them out later without reading the stream again. */
#ifndef TF_STREAM_VIEW_H
#define TF_STREAM_VIEW_H

#include "base/err.h"
#include <stdint.h>

/* The place of the ids of a tokens record (side 0), or of the source (0) or target (1) of a pair:
 * `offset` is where the record begins in the file, raw its bytes as a reader has handed them out
 * (and so checked them). */
uint64_t tf_view_ids(const uint8_t *raw, size_t raw_n, uint64_t offset, int side);
/* The n ids at a place of the file at map (map_n bytes) into dst. -1 when they are not there (any
 * more). */
int tf_view_take(uint32_t *dst, size_t n, const uint8_t *map, size_t map_n,
                 uint64_t place) TF_MUST_CHECK;

#endif
