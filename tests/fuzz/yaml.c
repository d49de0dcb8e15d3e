/* yaml.c - any bytes as YAML, of a model's settings or of its pieces: a verdict, and texts that
 * end. */
#include "../harness/memory.h"
#include "exchange/yaml.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t seen;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_arena a = {0};
    struct tf_yaml y;
    struct tf_err err = {0};
    seen += tf_yaml_is_list((const char *)data, n);
    if (tf_yaml_read(&y, &a, (const char *)data, n, &err) != 0)
        TF_ASSERT(err.msg[0] != 0);
    else
        for (size_t i = 0; i < y.n; i++) {
            seen += strlen(y.v[i].key);
            TF_ASSERT(tf_yaml_find(&y, y.v[i].key) == &y.v[i]);
            for (size_t k = 0; k < y.v[i].n; k++)
                seen += strlen(y.v[i].v[k]);
        }
    tf_arena_release(&a);
    return 0;
}
