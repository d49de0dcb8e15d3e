/* ids.c - see ids.h. */
#include "text/ids.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

uint32_t *tf_ids_room(struct tf_ids *ids, size_t n)
{
    if (n > ids->cap - ids->n) {
        size_t cap = ids->cap < 64 ? 64 : ids->cap * 2;
        if (cap < ids->n + n)
            cap = ids->n + n;
        ids->v = tf_xarray(ids->v, cap, sizeof *ids->v);
        ids->cap = cap;
    }
    ids->n += n;
    return ids->v + ids->n - n;
}

void tf_ids_add(struct tf_ids *ids, const uint32_t *v, size_t n)
{
    if (n > 0)
        memcpy(tf_ids_room(ids, n), v, n * sizeof *v);
}

void tf_ids_release(struct tf_ids *ids)
{
    free(ids->v);
    *ids = (struct tf_ids){0};
}
