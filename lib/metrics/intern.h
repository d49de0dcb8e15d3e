/* intern.h - numbers for pieces of text, so that equal text is an equal number. */
#ifndef TF_METRICS_INTERN_H
#define TF_METRICS_INTERN_H

#include "text/lines.h"

/* Text to numbers from 0. Zero-initialise; start anew for each segment. Text must outlive its
 * use. */
struct tf_intern {
    struct tf_text *text; /* of each number */
    uint64_t *hash;
    uint32_t *slot; /* number + 1; 0: free */
    size_t n, cap, mask;
};
/* Forget everything and make room for n pieces. */
void tf_intern_start(struct tf_intern *t, size_t n);
uint32_t tf_intern(struct tf_intern *t, struct tf_text s);
void tf_intern_release(struct tf_intern *t);

#endif
