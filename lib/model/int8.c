/* int8.c - see int8.h. */
#include "model/int8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool tf_model_is_int8(const struct tf_model_file *m)
{
    for (size_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].dtype == TF_I8 && strncmp(m->tensors[i].name, "p/", 2) == 0)
            return true;
    return false;
}

static int check_values(const struct tf_tensor *t, const struct tf_tensor *amax,
                        struct tf_err *err)
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

int tf_int8_find(const struct tf_tensor **amax, const struct tf_model_file *m,
                 const struct tf_tensor *t, const struct tf_param *p, struct tf_err *err)
{
    char name[TF_MAX_NAME + 8];
    if (!tf_param_takes_int8(p))
        return tf_fail(err, "tensor '%s': dtype i8, want f32, f16 or bf16", t->name);
    snprintf(name, sizeof name, "%s" TF_INT8_AMAX, t->name);
    const struct tf_tensor *a = *amax = tf_model_tensor(m, name);
    if (a == NULL)
        return tf_fail(err, "tensor '%s' is i8, and '%s' is missing", t->name, name);
    if (a->dtype != TF_F32 || a->rank != 1 || a->dims[0] != (uint64_t)p->dims[p->outputs])
        return tf_fail(err, "tensor '%s': want %lld values of f32", name,
                       (long long)p->dims[p->outputs]);
    return check_values(t, a, err);
}

void tf_int8_floats(float *w, const int8_t *q, const float *amax, const struct tf_param *p,
                    size_t first, size_t n)
{
    const size_t rows = (size_t)p->dims[0], columns = (size_t)p->dims[1];
    float share[256]; /* q / 127, since divisions take long */
    for (int i = -128; i < 128; i++)
        share[(uint8_t)i] = (float)i / 127;
    if (p->outputs == 0) {
        q += first * columns;
        for (size_t i = first; i < first + n; i++, w += columns, q += columns)
            for (size_t j = 0; j < columns; j++)
                w[j] = share[(uint8_t)q[j]] * amax[i];
        return;
    }
    q += first;
    amax += first;
    for (size_t i = 0; i < rows; i++, w += n, q += columns)
        for (size_t j = 0; j < n; j++)
            w[j] = share[(uint8_t)q[j]] * amax[j];
}

void tf_int8_quantise(int8_t *q, float *amax, const float *w, const struct tf_param *p)
{
    const size_t columns = (size_t)p->dims[1];
    memset(amax, 0, (size_t)p->dims[p->outputs] * sizeof *amax);
    for (size_t i = 0; i < p->n; i++) {
        float *a = &amax[p->outputs == 0 ? i / columns : i % columns];
        *a = fabsf(w[i]) > *a ? fabsf(w[i]) : *a;
    }
    for (size_t i = 0; i < p->n; i++) {
        const float a = amax[p->outputs == 0 ? i / columns : i % columns];
        q[i] = (int8_t)nearbyintf(w[i] * (a > 1e-30f ? 127 / a : 0));
    }
}
