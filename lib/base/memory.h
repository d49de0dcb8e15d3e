/* memory.h - allocation. Sizes that the program chose: never NULL; if there is no memory, the
 * process ends with tf_out_of_memory and status 1. Sizes that come from input: check
 * them against a limit first, or use tf_try_alloc. All memory is freed with free(). */
#ifndef TF_BASE_MEMORY_H
#define TF_BASE_MEMORY_H

#include "base/err.h"
#include <stddef.h>

void *tf_xmalloc(size_t size);
void *tf_xcalloc(size_t n, size_t size);
/* realloc to n elements; n * size is checked for overflow. */
void *tf_xarray(void *old, size_t n, size_t size);
/* Make room for element n of an array that has room for cap, which becomes twice as many. */
#define TF_GROW(array, n, cap)                                                    \
    do {                                                                          \
        if ((n) >= (cap))                                                         \
            (array) = tf_xarray((array), (cap) = 2 * (cap) + 8, sizeof *(array)); \
    } while (0)
char *tf_xstrdup(const char *s);
char *tf_xstrndup(const char *s, size_t n);
/* Print "tf-x: no memory for 12 MB; REMEDY" or, if the number of bytes is small or 0 (unknown),
 * "tf-x: out of memory; REMEDY", and exit. remedy: what takes less, or NULL. If several threads
 * call it, only one prints and exits. */
_Noreturn void tf_out_of_memory(double bytes, const char *remedy);

/* The error that there is no memory for so many bytes (sys ENOMEM). Returns -1. */
int tf_no_memory(struct tf_err *err, double bytes);
/* Append to such an error, and to no other, what takes less. */
void tf_memory_remedy(struct tf_err *err, const char *remedy);

/* 64-byte aligned memory, not cleared; NULL with an error (sys ENOMEM) if there is none. */
void *tf_try_alloc(size_t size, struct tf_err *err) TF_MUST_CHECK;
/* Ask for large pages for a block that nothing has touched, if it is large: with small ones the
 * kernel takes longer to clear it than we do to use it. */
void tf_huge_pages(void *p, size_t n);

#endif
