/* arena.h - memory that goes all at once. Blocks grow as needed; nothing is freed one by one. */
#ifndef TF_BASE_ARENA_H
#define TF_BASE_ARENA_H

#include <stddef.h>

struct tf_arena_block;
struct tf_arena {
    struct tf_arena_block *head;
    size_t used;  /* bytes handed out since the last clear */
    size_t peak;  /* the most that `used` has been */
};

/* Zero-initialised is ready for use. Memory is 64-byte aligned for n >= 64, else 8, and not
 * cleared; never NULL (out of memory ends the process). */
void *tf_arena_alloc(struct tf_arena *a, size_t n);
void *tf_arena_zalloc(struct tf_arena *a, size_t n); /* cleared */
char *tf_arena_strndup(struct tf_arena *a, const char *s, size_t n); /* terminated copy */
void tf_arena_clear(struct tf_arena *a);   /* forget all, keep the memory for reuse */
void tf_arena_release(struct tf_arena *a); /* free all */

#endif
