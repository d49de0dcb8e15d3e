/* memory.c - lanes, buffers, row spaces and steps of the reference backend: host memory, nothing
 * queued. */
#include "ops/ref/ref.h"

#include "base/rng.h"
#include <stdlib.h>
#include <string.h>

static size_t size_of(enum tf_elem e)
{
    switch (e) {
    case TF_ELEM_PARAM:
    case TF_ELEM_ACT:
    case TF_ELEM_STAT:
        return sizeof(tf_real);
    case TF_ELEM_U32:
        return sizeof(uint32_t);
    case TF_ELEM_F64:
        return sizeof(double);
    case TF_ELEM_KINDS:
        break;
    }
    TF_BUG("no element kind %d", (int)e);
}

struct tf_ctx *TF_REF(open)(const struct tf_ctx_opts *o, struct tf_err *err)
{
    (void)o;
    (void)err;
    return tf_xcalloc(1, sizeof(struct tf_ctx));
}

void TF_REF(close)(struct tf_ctx *c)
{
    if (c == NULL)
        return;
    free(c->scratch);
    free(c);
}

double *TF_REF(scratch)(struct tf_ctx *c, size_t n)
{
    if (n > c->scratch_cap) {
        c->scratch = tf_xarray(c->scratch, n, sizeof *c->scratch);
        c->scratch_cap = n;
    }
    return c->scratch;
}

double TF_REF(keep)(const struct tf_ctx *c, struct tf_dropout dropout, size_t row, size_t column)
{
    if (dropout.p == 0)
        return 1;
    const uint32_t counter[4] = {(uint32_t)(column / 4), (uint32_t)row, dropout.site,
                                 c->step.update};
    uint32_t u[4];
    tf_philox(u, counter, c->step.seed);
    return u[column % 4] >= dropout.p * 0x1p32 ? 1 / (1 - (double)dropout.p) : 0;
}

tf_mem *TF_REF(alloc)(struct tf_ctx *c, enum tf_elem e, size_t n, struct tf_err *err)
{
    (void)c;
    size_t size;
    if (__builtin_mul_overflow(n, size_of(e), &size)) {
        tf_fail(err, "no memory for %zu elements", n);
        return NULL;
    }
    tf_mem *p = tf_try_alloc(size, err);
    if (p != NULL)
        memset(p, 0, size);
    return p;
}

void TF_REF(free)(struct tf_ctx *c, tf_mem *p)
{
    (void)c;
    free(p);
}

/* memcpy wants valid pointers even for nothing; an empty batch may come with none. */
static void move(void *dst, const void *src, size_t size)
{
    if (size > 0)
        memcpy(dst, src, size);
}

void TF_REF(upload)(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const void *src, size_t n)
{
    (void)c;
    move(dst, src, n * size_of(e));
}

int TF_REF(download)(struct tf_ctx *c, void *dst, enum tf_elem e, const tf_mem *src, size_t n,
                     struct tf_err *err)
{
    (void)c;
    (void)err;
    move(dst, src, n * size_of(e));
    return 0;
}

void TF_REF(download_async)(struct tf_ctx *c, double *dst, const tf_mem *src, size_t n)
{
    (void)c;
    move(dst, src, n * sizeof *dst);
}

int TF_REF(download_wait)(struct tf_ctx *c, struct tf_err *err)
{
    (void)c;
    (void)err;
    return 0;
}

void TF_REF(zero)(struct tf_ctx *c, tf_mem *p, enum tf_elem e, size_t n)
{
    (void)c;
    if (n > 0)
        memset(p, 0, n * size_of(e));
}

void TF_REF(copy)(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const tf_mem *src, size_t n)
{
    (void)c;
    move(dst, src, n * size_of(e));
}

int TF_REF(sync)(struct tf_ctx *c, struct tf_err *err)
{
    (void)c;
    (void)err;
    return 0;
}

struct tf_rows *TF_REF(rows_new)(struct tf_ctx *c, size_t max_rows, size_t max_sentences,
                                 struct tf_err *err)
{
    (void)c;
    if (max_rows > UINT32_MAX || max_sentences > UINT32_MAX) {
        tf_fail(err, "%zu rows in %zu sentences are too many", max_rows, max_sentences);
        return NULL;
    }
    uint32_t *off = tf_try_alloc((max_sentences + 1) * sizeof *off, err);
    if (off == NULL)
        return NULL;
    off[0] = 0;
    struct tf_rows *r = tf_xmalloc(sizeof *r);
    *r = (struct tf_rows){.cap_rows = max_rows, .cap_sentences = max_sentences, .off = off};
    return r;
}

void TF_REF(rows_free)(struct tf_ctx *c, struct tf_rows *r)
{
    (void)c;
    if (r == NULL)
        return;
    free(r->off);
    free(r);
}

void TF_REF(rows_set)(struct tf_ctx *c, struct tf_rows *r, size_t n, const uint32_t *off)
{
    (void)c;
    TF_ASSERT(n <= r->cap_sentences);
    for (size_t s = 0; s < n; s++)
        TF_ASSERT(off[s] <= off[s + 1]);
    TF_ASSERT(off[n] - off[0] <= r->cap_rows);
    r->n = n;
    memcpy(r->off, off, (n + 1) * sizeof *off);
}

void TF_REF(set_rng_state)(struct tf_ctx *c, const struct tf_rng_state *s)
{
    c->step = *s;
}

bool TF_REF(graph_begin)(struct tf_ctx *c, const void *key, size_t n)
{
    (void)c, (void)key, (void)n;
    return false;
}

bool TF_REF(graph_end)(struct tf_ctx *c)
{
    (void)c;
    return true;
}
