/* load.c - between the tensors of a file and the flat block of parameters. */
#include "model/load.h"
#include "base/buf.h"
#include "base/memory.h"
#include "model/int8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Format a shape in s, such as "48 x 64". */
static const char *shape_text(struct tf_buf *s, const uint64_t *dims, int rank)
{
    tf_buf_str(s, rank == 0 ? "a scalar" : "");
    for (int i = 0; i < rank; i++)
        tf_buf_printf(s, "%s%llu", i > 0 ? " x " : "", (unsigned long long)dims[i]);
    return s->p;
}

int tf_check_shape(const struct tf_tensor *t, const struct tf_param *p, struct tf_err *err)
{
    const uint64_t dims[] = {(uint64_t)p->dims[0], (uint64_t)p->dims[1]};
    if (t->rank == p->rank && memcmp(t->dims, dims, (size_t)p->rank * sizeof *dims) == 0)
        return 0;
    struct tf_buf is = {0}, wanted = {0};
    tf_fail(err, "tensor '%s': %s, want %s", t->name, shape_text(&is, t->dims, t->rank),
            shape_text(&wanted, dims, p->rank));
    tf_buf_release(&is);
    tf_buf_release(&wanted);
    return -1;
}

int tf_stored_find(struct tf_stored *s, const struct tf_model_file *m, const struct tf_param *p,
                   const char *prefix, struct tf_err *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, p->name);
    const struct tf_tensor *t = tf_model_tensor(m, name);
    *s = (struct tf_stored){.t = t, .p = p};
    if (t == NULL)
        return tf_fail(err, "tensor '%s' is missing", name);
    if (tf_check_shape(t, p, err) != 0)
        return -1;
    if (t->data == NULL) /* found before, and freed */
        return 0;
    if (t->dtype == TF_I8)
        return tf_int8_find(&s->amax, m, t, p, err);
    if (t->dtype != TF_F32 && t->dtype != TF_F16 && t->dtype != TF_BF16)
        return tf_fail(err, "tensor '%s': dtype %s, want f32, f16 or bf16", t->name,
                       tf_dtype_name(t->dtype));
    return 0;
}

void tf_stored_outputs(float *dst, const struct tf_stored *s, size_t first, size_t n)
{
    const struct tf_param *p = s->p;
    const size_t columns = (size_t)p->dims[1];
    if (s->amax != NULL) {
        tf_int8_floats(dst, s->t->data, s->amax->data, p, first, n);
    } else if (p->outputs == 0) {
        tf_elements_as_floats(dst, s->t, first * columns, n * columns);
    } else {
        for (size_t i = 0; i < (size_t)p->dims[0]; i++)
            tf_elements_as_floats(dst + i * n, s->t, i * columns + first, n);
    }
}

void tf_stored_halves(uint16_t *dst, const struct tf_stored *s, size_t first, size_t n)
{
    const struct tf_param *p = s->p;
    const size_t columns = (size_t)p->dims[1];
    const char *from = s->t->data;
    if (p->outputs == 0) {
        memcpy(dst, from + first * columns * sizeof *dst, n * columns * sizeof *dst);
    } else {
        for (size_t i = 0; i < (size_t)p->dims[0]; i++)
            memcpy(dst + i * n, from + (i * columns + first) * sizeof *dst, n * sizeof *dst);
    }
}

void tf_stored_rows(float *dst, const struct tf_stored *s, size_t first, size_t n)
{
    const size_t columns = s->p->n / (size_t)s->p->dims[0];
    struct tf_param some = *s->p;
    some.dims[0] = (int64_t)n;
    if (s->amax == NULL)
        tf_elements_as_floats(dst, s->t, first * columns, n * columns);
    else if (some.outputs == 0)
        tf_stored_outputs(dst, s, first, n);
    else
        tf_int8_floats(dst, (const int8_t *)s->t->data + first * columns, s->amax->data, &some, 0,
                       columns);
}

void tf_stored_floats(float *dst, const struct tf_stored *s)
{
    tf_stored_rows(dst, s, 0, (size_t)s->p->dims[0]);
}

int tf_model_check_size(const struct tf_model_file *m, const struct tf_params *p,
                        struct tf_err *err)
{
    return p->count <= m->tensor_bytes
               ? 0
               : tf_fail(err, "config requires %llu parameters, the file's tensors have %llu bytes",
                         (unsigned long long)p->count, (unsigned long long)m->tensor_bytes);
}

/* All parameters, to a block [p->size] of zeros. */
static int load_all(float *flat, const struct tf_model_file *m, const struct tf_params *p,
                    const char *prefix, struct tf_err *err)
{
    struct tf_stored s;
    for (size_t i = 0; i < p->n; i++) {
        if (tf_stored_find(&s, m, &p->v[i], prefix, err) != 0)
            return -1;
        tf_stored_floats(flat + p->v[i].offset, &s);
    }
    return 0;
}

int tf_model_load(const struct tf_model_file *m, struct tf_config *c, float **flat,
                  const char *prefix, struct tf_err *err)
{
    if (tf_config_read(c, &m->header.config, err) != 0)
        return -1;
    if (c->vocab_size < 1)
        return tf_fail(err, "config: vocab_size is 0");
    if (m->header.special.unk >= c->vocab_size)
        return tf_fail(err, "header: unk: %lld in a vocabulary of %lld",
                       (long long)m->header.special.unk, (long long)c->vocab_size);
    if (flat == NULL)
        return 0;
    struct tf_params p;
    tf_params_init(&p, c);
    *flat = NULL;
    int rc = tf_model_check_size(m, &p, err);
    if (rc == 0 && (*flat = tf_try_alloc(p.size * sizeof **flat, err)) == NULL)
        rc = -1;
    if (rc == 0)
        memset(*flat, 0, p.size * sizeof **flat);
    if (rc == 0)
        rc = load_all(*flat, m, &p, prefix, err);
    if (rc < 0) {
        free(*flat);
        *flat = NULL;
    }
    tf_params_release(&p);
    return rc;
}

struct tf_tensor *tf_model_tensors(struct tf_arena *a, const struct tf_params *p, const float *flat,
                                   const char *prefix)
{
    struct tf_tensor *t = tf_arena_zalloc(a, p->n * sizeof *t);
    for (size_t i = 0; i < p->n; i++) {
        const struct tf_param *q = &p->v[i];
        char name[64];
        int len = snprintf(name, sizeof name, "%s%s", prefix, q->name);
        t[i].name = tf_arena_strndup(a, name, (size_t)len);
        t[i].dtype = TF_F32;
        t[i].rank = q->rank;
        t[i].dims[0] = (uint64_t)q->dims[0];
        t[i].dims[1] = (uint64_t)q->dims[1];
        t[i].data = flat + q->offset;
        t[i].bytes = q->n * sizeof *flat;
    }
    return t;
}
