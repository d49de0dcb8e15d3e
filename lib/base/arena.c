/* arena.c - a list of blocks, newest first. tf_arena_clear replaces several blocks by one of their
 * total size, so that a loop whose iterations need the same memory soon allocates nothing. */
#include "base/arena.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/sanitize_private.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* AddressSanitizer sees accesses between allocations. */
#if TF_ASAN
#include <sanitizer/asan_interface.h>
enum { GAP = 64 };
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)0)
enum { GAP = 0 };
#endif

struct tf_arena_block {
    struct tf_arena_block *next;
    size_t cap, pos; /* bytes of mem: all, used */
    _Alignas(64) unsigned char mem[];
};

static struct tf_arena_block *new_block(size_t cap, struct tf_arena_block *next)
{
    struct tf_err err = {0};
    struct tf_arena_block *b = NULL;
    if (cap <= PTRDIFF_MAX - sizeof *b)
        b = tf_try_alloc(sizeof *b + cap, &err);
    if (b == NULL)
        tf_out_of_memory((double)cap, NULL);
    b->next = next;
    b->cap = cap;
    b->pos = 0;
    ASAN_POISON_MEMORY_REGION(b->mem, cap);
    return b;
}

void *tf_arena_alloc(struct tf_arena *a, size_t n)
{
    size_t align = n >= 64 ? 64 : 8;
    struct tf_arena_block *b = a->head;
    size_t pos = b != NULL ? (b->pos + align - 1) / align * align : 0;
    if (b == NULL || pos > b->cap || n > b->cap - pos) {
        size_t cap = b == NULL ? (size_t)64 << 10 : b->cap < (size_t)64 << 20 ? b->cap * 2 : b->cap;
        b = a->head = new_block(n > cap ? n : cap, b);
        pos = 0;
    }
    ASAN_UNPOISON_MEMORY_REGION(b->mem + pos, n);
    b->pos = pos + n + GAP;
    return b->mem + pos;
}

void *tf_arena_zalloc(struct tf_arena *a, size_t n)
{
    return memset(tf_arena_alloc(a, n), 0, n);
}

char *tf_arena_strndup(struct tf_arena *a, const char *s, size_t n)
{
    char *p = tf_arena_alloc(a, n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

void tf_arena_clear(struct tf_arena *a)
{
    if (a->head == NULL)
        return;
    if (a->head->next != NULL) {
        size_t total = 0;
        for (struct tf_arena_block *b = a->head; b != NULL; b = b->next)
            total += b->cap;
        tf_arena_release(a);
        a->head = new_block(total, NULL);
    }
    a->head->pos = 0;
    ASAN_POISON_MEMORY_REGION(a->head->mem, a->head->cap);
}

void tf_arena_release(struct tf_arena *a)
{
    while (a->head != NULL) {
        struct tf_arena_block *next = a->head->next;
        free(a->head);
        a->head = next;
    }
}
