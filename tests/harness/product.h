/* product.h - products with packed weights on the CPU, y = x w + b, for the tests of those that are
 * exact to the bit by a rule. */
#ifndef TF_TESTS_PRODUCT_H
#define TF_TESTS_PRODUCT_H

#include "ops/backend.h"

struct product {
    size_t rows, K, N;
    bool transposed, bias, relu;
    float *x, *w, *b; /* x [rows, K]; w [K, N], transposed [N, K]; b [N] */
};

/* Sizes around those of tiles and vectors, by seed, and memory for them: the values are to be set.
 */
struct product new_product(uint64_t seed);
void free_product(struct product *p);
/* Element (k, j) of w, however it lies. */
float w_at(const struct product *p, size_t k, size_t j);

/* The table of that precision for an instruction set; NULL if the set is not here. */
const struct tf_backend *backend_of(const char *isa, const char *precision);
/* y [rows, N] from row `from` of x on; the caller frees it. */
float *computed(const struct tf_backend *be, const struct product *p, size_t from, size_t rows);
/* Do every fifth row alone and among the others, y, have the same bytes? */
bool same_alone(const struct tf_backend *be, const struct product *p, const float *y);

#endif
