/* order.h - comparisons for qsort and bsearch, and binary search. */
#ifndef TF_BASE_ORDER_H
#define TF_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of two strings, by pointers to them or to structs that begin with them. */
static inline int tf_order_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
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
