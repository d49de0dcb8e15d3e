/* order.h - comparisons for qsort and bsearch, and binary search. */
#ifndef TF_BASE_ORDER_H
#define TF_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of two strings, by pointers to them or to structs that begin with them. */
static inline int tf_order_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sort n strings, or structs of so many bytes that begin with one. Returns a string that is there
 * twice, or NULL. */
static inline const char *tf_order_twice(void *v, size_t n, size_t size)
{
    if (n > 1)
        qsort(v, n, size, tf_order_strings);
    for (size_t i = 1; i < n; i++) {
        const void *x = (const char *)v + i * size;
        if (tf_order_strings((const char *)x - size, x) == 0)
            return *(const char *const *)x;
    }
    return NULL;
}

static inline int tf_order_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Set i, a size_t, to the first of from .. n - 1 for which `holds`, an expression of i, is true, or
 * to n. It must be true for all that come after that one, too. */
#define TF_FIRST(i, from, n, holds)                         \
    do {                                                    \
        size_t first_low = (from), first_high = (n);        \
        while (first_low < first_high) {                    \
            (i) = first_low + (first_high - first_low) / 2; \
            if (holds)                                      \
                first_high = (i);                           \
            else                                            \
                first_low = (i) + 1;                        \
        }                                                   \
        (i) = first_low;                                    \
    } while (0)

#endif
