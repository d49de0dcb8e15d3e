/* arena.h - allocations that are freed together. */
#ifndef TF_BASE_ARENA_H
#define TF_BASE_ARENA_H

#include <stddef.h>

struct tf_arena_block;
struct tf_arena {
    struct tf_arena_block *head;
};

/* Zero-initialise. Memory is aligned to 64 bytes if n >= 64, else to 8, and not cleared; never NULL
 * (see tf_out_of_memory). */
void *tf_arena_alloc(struct tf_arena *a, size_t n);
void *tf_arena_zalloc(struct tf_arena *a, size_t n); /* cleared */
char *tf_arena_strndup(struct tf_arena *a, const char *s, size_t n); /* terminated copy */
void tf_arena_clear(struct tf_arena *a);   /* free all allocations, keep the blocks */
void tf_arena_release(struct tf_arena *a); /* free the blocks, too */

#endif
