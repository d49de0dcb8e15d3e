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

char *tf_tensor_add_rows(struct tf_tensor *t, uint64_t before, uint64_t after, struct tf_arena *a)
{
    const size_t row = t->bytes / t->dims[0];
    char *data = tf_arena_zalloc(a, t->bytes + (size_t)(before + after) * row);
    memcpy(data + before * row, t->data, t->bytes);
    t->data = data;
    t->bytes += (size_t)(before + after) * row;
    t->dims[0] += before + after;
    return data;
}

bool tf_tensors_equal(const struct tf_tensor *a, const struct tf_tensor *b)
{
    return a->dtype == b->dtype && a->bytes == b->bytes &&
           (a->data == b->data || memcmp(a->data, b->data, a->bytes) == 0);
}
