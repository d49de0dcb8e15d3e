/* number_private.h - numbers of the type that sacreBLEU has them in: double, or float32 where it
 * computes with arrays of numpy. A float32 sum, product or quotient of float32 numbers is the
 * double one, rounded. */
#ifndef TF_METRICS_NUMBER_PRIVATE_H
#define TF_METRICS_NUMBER_PRIVATE_H

#include <stdbool.h>

static inline double tf_number(double x, bool float32)
{
    return float32 ? (double)(float)x : x;
}

#endif
