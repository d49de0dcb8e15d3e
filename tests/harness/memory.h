/* memory.h - inputs and outputs in memory, for readers and writers that take a struct tf_in or
 * tf_out. */
#ifndef TF_TESTS_MEMORY_H
#define TF_TESTS_MEMORY_H

#include "base/input.h"
#include "base/output.h"
#include <stdlib.h>
#include <string.h>

/* An input of a copy of these n bytes, without a descriptor. It ends after them. */
struct tf_in memory_in(const void *p, size_t n);
/* The same, of a known size, as a regular file has. */
struct tf_in memory_file(const void *p, size_t n);
void memory_in_done(struct tf_in *in);

/* An output that keeps its bytes in out.buf[0, out.len). Writing more than cap of them fails, as on
 * a full disk. */
struct tf_out memory_out(size_t cap);
void memory_out_done(struct tf_out *out);

/* For readers and writers that take a path: number i (0 to 3) names a file in memory with a copy of
 * these n bytes. It lives as long as the process. */
const char *memory_path(int i, const void *p, size_t n);
/* The bytes that it has now; the caller frees them. */
char *memory_path_bytes(int i, size_t *n);

#endif
