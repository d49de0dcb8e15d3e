/* bundle.c - see bundle.h. */
#include "exchange/bundle.h"

#include <string.h>

void tf_bundle_release(struct tf_bundle *b)
{
    tf_arena_release(&b->arena);
    *b = (struct tf_bundle){0};
}

struct tf_tensor *tf_bundle_find(const struct tf_bundle *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->tensors[i].name, name) == 0)
            return &b->tensors[i];
    return NULL;
}

bool tf_tensors_equal(const struct tf_tensor *a, const struct tf_tensor *b)
{
    return a->dtype == b->dtype && a->bytes == b->bytes &&
           (a->data == b->data || memcmp(a->data, b->data, a->bytes) == 0);
}
