/* stored.c - see stored.h. */
#include "stream/stored.h"
#include "base/buf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Format a shape in s, such as "48 x 64". */
static const char *shape_text(struct tf_buf *s, const uint64_t *dims, int rank)
{
    tf_buf_str(s, rank == 0 ? "a scalar" : "");
    for (int i = 0; i < rank; i++)
        tf_buf_printf(s, "%s%llu", i > 0 ? " x " : "", (unsigned long long)dims[i]);
    return s->p;
}

int tf_check_shape(const struct tf_tensor *t, const int64_t *dims, int rank, struct tf_err *err)
{
    const uint64_t *want = (const uint64_t *)dims; /* none is negative */
    if (t->rank == rank && memcmp(t->dims, want, (size_t)rank * sizeof *want) == 0)
        return 0;
    struct tf_buf is = {0}, wanted = {0};
    tf_fail(err, "tensor '%s': %s, want %s", t->name, shape_text(&is, t->dims, t->rank),
            shape_text(&wanted, want, rank));
    tf_buf_release(&is);
    tf_buf_release(&wanted);
    return -1;
}

/* ---- in 8 bits ---- */

static int check_values(const struct tf_tensor *t, const struct tf_tensor *amax, struct tf_err *err)
{
    const float *a = amax->data;
    if (memchr(t->data, -128, t->bytes) != NULL)
        return tf_fail(err, "tensor '%s': a value of -128: i8 has -127 to 127", t->name);
    for (size_t i = 0; i < amax->bytes / sizeof *a; i++)
        if (!(a[i] >= 0 && isfinite(a[i])))
            return tf_fail(err, "tensor '%s': %g is no largest magnitude", amax->name,
                           (double)a[i]);
    return 0;
}

int tf_stored_find_amax(struct tf_stored *s, const struct tf_model_file *m, struct tf_err *err)
{
    char name[TF_MAX_NAME + 8];
    if (s->outputs < 0)
        return tf_fail(err, "tensor '%s': dtype i8, want f32, f16 or bf16", s->t->name);
    snprintf(name, sizeof name, "%s" TF_INT8_AMAX, s->t->name);
    const struct tf_tensor *a = s->amax = tf_model_tensor(m, name);
    const uint64_t n = s->t->dims[s->outputs];
    if (a == NULL)
        return tf_fail(err, "tensor '%s' is i8, and '%s' is missing", s->t->name, name);
    if (a->dtype != TF_F32 || a->rank != 1 || a->dims[0] != n)
        return tf_fail(err, "tensor '%s': want %llu values of f32", name, (unsigned long long)n);
    return s->t->data == NULL ? 0 : check_values(s->t, a, err);
}

/* w [rows, columns] from q, stride ld: amax is of the rows, or else of the columns. */
static void int8_floats(float *w, const int8_t *q, size_t ld, const float *amax, bool of_rows,
                        size_t rows, size_t columns)
{
    float share[256]; /* q / 127, since divisions take long */
    for (int i = -128; i < 128; i++)
        share[(uint8_t)i] = (float)i / 127;
    for (size_t i = 0; i < rows; i++, w += columns, q += ld) {
        if (of_rows)
            for (size_t j = 0; j < columns; j++)
                w[j] = share[(uint8_t)q[j]] * amax[i];
        else
            for (size_t j = 0; j < columns; j++)
                w[j] = share[(uint8_t)q[j]] * amax[j];
    }
}

void tf_int8_quantise(int8_t *q, float *amax, const float *w, const struct tf_tensor *t,
                      int outputs)
{
    const size_t rows = (size_t)t->dims[0], columns = (size_t)t->dims[1];
    memset(amax, 0, (size_t)t->dims[outputs] * sizeof *amax);
    for (size_t i = 0; i < rows * columns; i++) {
        float *a = &amax[outputs == 0 ? i / columns : i % columns];
        *a = fabsf(w[i]) > *a ? fabsf(w[i]) : *a;
    }
    for (size_t i = 0; i < rows * columns; i++) {
        const float a = amax[outputs == 0 ? i / columns : i % columns];
        q[i] = (int8_t)nearbyintf(w[i] * (a > 1e-30f ? 127 / a : 0));
    }
}

bool tf_model_is_int8(const struct tf_model_file *m)
{
    for (size_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].dtype == TF_I8 && strncmp(m->tensors[i].name, "p/", 2) == 0)
            return true;
    return false;
}

/* ---- parts ---- */

/* Rows from `row` on and columns from `column` on: [rows, columns]. */
static void part(float *dst, const struct tf_stored *s, size_t row, size_t rows, size_t column,
                 size_t columns)
{
    const size_t ld = s->t->rank > 1 ? (size_t)s->t->dims[1] : 1, at = row * ld + column;
    if (s->amax != NULL)
        int8_floats(dst, (const int8_t *)s->t->data + at, ld,
                    (const float *)s->amax->data + (s->outputs == 0 ? row : column),
                    s->outputs == 0, rows, columns);
    else if (columns == ld)
        tf_elements_as_floats(dst, s->t, at, rows * columns);
    else
        for (size_t i = 0; i < rows; i++)
            tf_elements_as_floats(dst + i * columns, s->t, at + i * ld, columns);
}

void tf_stored_rows(float *dst, const struct tf_stored *s, size_t first, size_t n)
{
    part(dst, s, first, n, 0, s->t->rank > 1 ? (size_t)s->t->dims[1] : 1);
}

void tf_stored_floats(float *dst, const struct tf_stored *s)
{
    tf_stored_rows(dst, s, 0, (size_t)s->t->dims[0]);
}

void tf_stored_outputs(float *dst, const struct tf_stored *s, size_t first, size_t n)
{
    if (s->outputs == 0)
        tf_stored_rows(dst, s, first, n);
    else
        part(dst, s, 0, (size_t)s->t->dims[0], first, n);
}

void tf_stored_halves(uint16_t *dst, const struct tf_stored *s, size_t first, size_t n)
{
    const size_t rows = (size_t)s->t->dims[0], columns = (size_t)s->t->dims[1];
    const char *from = s->t->data;
    if (s->outputs == 0)
        memcpy(dst, from + first * columns * sizeof *dst, n * columns * sizeof *dst);
    else
        for (size_t i = 0; i < rows; i++)
            memcpy(dst + i * n, from + (i * columns + first) * sizeof *dst, n * sizeof *dst);
}
