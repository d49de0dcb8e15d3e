/* host.c - lanes, buffers and row spaces in host memory; see host.h. */
#include "ops/host.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- lanes ---- */

int tf_host_probe(struct tf_err *err)
{
    (void)err;
    return 0;
}

const int *tf_host_devices(int *n)
{
    *n = 1;
    return NULL;
}

struct tf_ctx *tf_host_open(const struct tf_backend *be)
{
    struct tf_ctx *c = tf_xcalloc(1, sizeof *c);
    c->be = be;
    return c;
}

void tf_host_close(struct tf_ctx *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < TF_HOST_SCRATCHES; i++)
        free(c->scratch[i].base);
    tf_arena_release(&c->packed);
    free(c);
}

void tf_host_pack_free(struct tf_ctx *c, struct tf_packed *p)
{
    (void)c, (void)p;
}

int tf_host_start_tuning(struct tf_ctx *c, struct tf_err *err)
{
    (void)c;
    return tf_fail_status(err, TF_USAGE, "there is nothing to tune on this device");
}

int tf_host_set_tuning(struct tf_ctx *c, const char *text, size_t n, struct tf_err *err)
{
    (void)text, (void)n;
    return tf_host_start_tuning(c, err);
}

char *tf_host_get_tuning(struct tf_ctx *c, struct tf_err *err)
{
    (void)!tf_host_start_tuning(c, err);
    return NULL;
}

int tf_host_sync(struct tf_ctx *c, struct tf_err *err)
{
    (void)c, (void)err;
    return 0;
}

void tf_host_set_rng_state(struct tf_ctx *c, const struct tf_rng_state *s)
{
    c->rng = *s;
}

bool tf_host_graph_begin(struct tf_ctx *c, const void *key, size_t n)
{
    (void)c, (void)key, (void)n;
    return false;
}

bool tf_host_graph_end(struct tf_ctx *c)
{
    (void)c;
    return true;
}

/* ---- links: ranks exchange host memory as it is ---- */

int tf_host_link_info(struct tf_ctx *c, struct tf_link_info *info, bool make, struct tf_err *err)
{
    (void)c, (void)info, (void)make;
    return tf_fail(err, "no device");
}

int tf_host_link_open(struct tf_ctx *c, const struct tf_link_info *info, int rank, int ranks,
                      struct tf_err *err)
{
    (void)c, (void)info, (void)rank, (void)ranks;
    return tf_fail(err, "no device");
}

void tf_host_link_close(struct tf_ctx *c, bool stop)
{
    (void)c, (void)stop;
}

void tf_host_send_receive(struct tf_ctx *c, int peer, enum tf_elem e, const tf_mem *out,
                          size_t n_out, tf_mem *in, size_t n_in)
{
    (void)c, (void)peer, (void)e, (void)out, (void)n_out, (void)in, (void)n_in;
    TF_ASSERT(!"without a link");
}

int tf_host_sync_within(struct tf_ctx *c, double seconds, struct tf_err *err)
{
    (void)seconds;
    return tf_host_sync(c, err);
}

/* ---- memory ---- */

/* The next multiple of 64 that leaves room for a pointer before it. */
static void *align(void *base)
{
    return (void *)(((uintptr_t)base + sizeof(void *) + 63) & ~(uintptr_t)63);
}

void *tf_host_scratch(struct tf_ctx *c, int which, size_t size)
{
    if (size > c->scratch[which].size || c->scratch[which].p == NULL) {
        free(c->scratch[which].base);
        c->scratch[which].base = tf_xmalloc(size + 128);
        c->scratch[which].p = align(c->scratch[which].base);
        c->scratch[which].size = size;
    }
    return c->scratch[which].p;
}

/* calloc, not memset: large blocks are pages of zeros that nothing has touched. */
tf_mem *tf_host_alloc(struct tf_ctx *c, enum tf_elem e, size_t n, struct tf_err *err)
{
    size_t size;
    void *base = NULL;
    if (!__builtin_mul_overflow(n, c->be->elem_size[e], &size) &&
        !__builtin_add_overflow(size, 128, &size))
        base = calloc(1, size);
    if (base == NULL) {
        tf_no_memory(err, (double)n * (double)c->be->elem_size[e]);
        return NULL;
    }
    tf_huge_pages(base, size);
    void **p = align(base);
    p[-1] = base;
    return p;
}

void tf_host_free(struct tf_ctx *c, tf_mem *p)
{
    (void)c;
    if (p != NULL)
        free(((void **)p)[-1]);
}

size_t tf_host_free_memory(struct tf_ctx *c)
{
    (void)c;
    return 0;
}

/* memcpy requires valid pointers even for no bytes; an empty batch may have none. */
static void move_bytes(void *dst, const void *src, size_t size)
{
    if (size > 0)
        memcpy(dst, src, size);
}

void tf_host_copy(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const tf_mem *src, size_t n)
{
    move_bytes(dst, src, n * c->be->elem_size[e]);
}

void tf_host_upload(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const void *src, size_t n)
{
    tf_host_copy(c, dst, e, src, n);
}

int tf_host_download(struct tf_ctx *c, void *dst, enum tf_elem e, const tf_mem *src, size_t n,
                     struct tf_err *err)
{
    (void)err;
    tf_host_copy(c, dst, e, src, n);
    return 0;
}

int tf_host_download_async(struct tf_ctx *c, double *dst, const tf_mem_f64 *src, size_t n,
                           struct tf_err *err)
{
    (void)c, (void)err;
    move_bytes(dst, src, n * sizeof *dst);
    return 0;
}

int tf_host_download_wait(struct tf_ctx *c, struct tf_err *err)
{
    return tf_host_sync(c, err);
}

void tf_host_zero(struct tf_ctx *c, tf_mem *p, enum tf_elem e, size_t n)
{
    if (n > 0)
        memset(p, 0, n * c->be->elem_size[e]);
}

/* ---- row spaces ---- */

struct tf_rows *tf_host_rows_new(struct tf_ctx *c, size_t max_rows, size_t max_sentences,
                                 struct tf_err *err)
{
    (void)c;
    size_t size;
    if (__builtin_add_overflow(max_sentences, 1, &size) ||
        __builtin_mul_overflow(size, sizeof(uint32_t), &size)) {
        tf_fail(err, "no memory for %zu sentences", max_sentences);
        return NULL;
    }
    struct tf_rows *r = tf_try_alloc(sizeof *r, err);
    if (r == NULL)
        return NULL;
    *r = (struct tf_rows){.cap_rows = max_rows,
                          .cap_sentences = max_sentences,
                          .off = tf_try_alloc(size, err)};
    if (r->off == NULL) {
        free(r);
        return NULL;
    }
    r->off[0] = 0;
    return r;
}

void tf_host_rows_free(struct tf_ctx *c, struct tf_rows *r)
{
    (void)c;
    if (r == NULL)
        return;
    free(r->off);
    free(r);
}

void tf_host_rows_set(struct tf_ctx *c, struct tf_rows *r, size_t n, const uint32_t *off)
{
    (void)c;
    TF_ASSERT(n <= r->cap_sentences);
    for (size_t s = 0; s < n; s++)
        TF_ASSERT(off[s] <= off[s + 1]);
    TF_ASSERT(off[n] - off[0] <= r->cap_rows);
    r->n = n;
    memcpy(r->off, off, (n + 1) * sizeof *off);
}

bool tf_host_rows_shape(struct tf_ctx *c, const struct tf_rows *r, uint32_t shape[2])
{
    (void)c, (void)r, (void)shape;
    return false;
}
