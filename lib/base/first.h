/* first.h - binary search. */
#ifndef TF_BASE_FIRST_H
#define TF_BASE_FIRST_H

#include <stddef.h>

/* Set i, a size_t, to the first of from .. n - 1 for which `holds`, an expression of i, is true, or
 * to n. It must be true for all that come after that one, too. */
#define TF_FIRST(i, from, n, holds)                        \
    do {                                                   \
        size_t first_low = (from), first_high = (n);       \
        while (first_low < first_high) {                   \
            (i) = first_low + (first_high - first_low) / 2; \
            if (holds)                                     \
                first_high = (i);                          \
            else                                           \
                first_low = (i) + 1;                       \
        }                                                  \
        (i) = first_low;                                   \
    } while (0)

#endif
