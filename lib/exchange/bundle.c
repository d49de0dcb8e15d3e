/* bundle.c - the memory of a bundle. */
#include "exchange/bundle.h"

void tf_bundle_release(struct tf_bundle *b)
{
    tf_arena_release(&b->arena);
    *b = (struct tf_bundle){0};
}
