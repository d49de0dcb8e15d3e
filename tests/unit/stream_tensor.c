/* Numbers of a tensor that are not finite. */
#include "../harness/tap.h"
#include "stream/tensor.h"

#include <string.h>

enum { MOST = 19 }; /* elements */

/* Of any number of elements, one with these bits at any place, or none. */
static bool found(enum tf_dtype dtype, uint64_t bits, bool is_finite)
{
    const size_t size = tf_dtype_size(dtype);
    uint8_t p[8 * MOST];
    bool right = true;
    for (size_t n = 1; n <= MOST; n++)
        for (size_t at = 0; at < n; at++) {
            memset(p, 0x7b, sizeof p); /* large, and finite */
            right &= tf_tensor_finite(dtype, p, n * size);
            memcpy(p + at * size, &bits, size);
            right &= tf_tensor_finite(dtype, p, n * size) == is_finite;
        }
    return right;
}

int main(void)
{
    static const struct {
        enum tf_dtype dtype;
        uint64_t most, infinity;
    } rows[] = {{TF_F64, 0x7fefffffffffffff, 0x7ff0000000000000},
                {TF_F32, 0x7f7fffff, 0x7f800000},
                {TF_F16, 0x7bff, 0x7c00},
                {TF_BF16, 0x7f7f, 0x7f80}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const enum tf_dtype t = rows[i].dtype;
        const uint64_t sign = 1ull << (8 * tf_dtype_size(t) - 1);
        const char *name = tf_dtype_name(t);
        ok(found(t, rows[i].most, true) && found(t, rows[i].most | sign, true), "%s: the largest",
           name);
        ok(found(t, rows[i].infinity, false) && found(t, rows[i].infinity | sign, false),
           "%s: infinity", name);
        ok(found(t, rows[i].infinity + 1, false) && found(t, sign | (sign - 1), false), "%s: NaN",
           name);
        ok(found(t, sign, true) && found(t, 1, true), "%s: zero and the smallest", name);
    }
    ok(tf_tensor_finite(TF_I8, "\377\377", 2) && tf_tensor_finite(TF_U64, "\377\377\377\377"
                                                                       "\377\377\377\377", 8),
       "integers are finite");
    return done();
}
