/* load.c - between the tensors of a file and the flat block of parameters. */
#include "model/load.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tf_stored_find(struct tf_stored *s, const struct tf_model_file *m, const struct tf_param *p,
                   const char *prefix, struct tf_err *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, p->name);
    const struct tf_tensor *t = tf_model_tensor(m, name);
    *s = (struct tf_stored){.t = t, .outputs = p->outputs};
    if (t == NULL)
        return tf_fail(err, "tensor '%s' is missing", name);
    if (tf_check_shape(t, p->dims, p->rank, err) != 0)
        return -1;
    if (t->dtype != TF_F32 && t->dtype != TF_F16 && t->dtype != TF_BF16 && t->dtype != TF_I8)
        return tf_fail(err, "tensor '%s': dtype %s, want f32, f16 or bf16", t->name,
                       tf_dtype_name(t->dtype));
    if (t->data == NULL) /* found before, and freed */
        return 0;
    return t->dtype == TF_I8 ? tf_stored_find_amax(s, m, err) : 0;
}

int tf_model_check_size(const struct tf_model_file *m, const struct tf_params *p,
                        struct tf_err *err)
{
    return p->count <= m->tensor_bytes
               ? 0
               : tf_fail(err, "config requires %llu parameters, the file's tensors have %llu bytes",
                         (unsigned long long)p->count, (unsigned long long)m->tensor_bytes);
}

static bool is_param(const struct tf_model_file *m, const struct tf_params *p, const char *name)
{
    static const char amax[] = TF_INT8_AMAX;
    const size_t n = strlen(name), end = sizeof amax - 1;
    if (tf_params_find(p, name + 2) != NULL)
        return true;
    if (n <= end || n > TF_MAX_NAME || strcmp(name + n - end, amax) != 0)
        return false;
    char of[TF_MAX_NAME + 1];
    snprintf(of, sizeof of, "%.*s", (int)(n - end), name);
    const struct tf_tensor *t = tf_model_tensor(m, of);
    return t != NULL && t->dtype == TF_I8 && tf_params_find(p, of + 2) != NULL;
}

int tf_model_only(const struct tf_model_file *m, const struct tf_params *p, struct tf_err *err)
{
    for (size_t i = 0; i < m->n_tensors; i++) {
        const char *name = m->tensors[i].name;
        if (strncmp(name, "p/", 2) == 0 && !is_param(m, p, name))
            return tf_fail(err, "tensor '%s' is not a parameter of this configuration", name);
    }
    return 0;
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
    if (rc == 0 && (rc = load_all(*flat, m, &p, prefix, err)) == 0)
        rc = tf_model_only(m, &p, err);
    if (rc < 0) {
        free(*flat);
        *flat = NULL;
    }
    tf_params_release(&p);
    return rc;
}

int tf_model_check(const struct tf_model_file *m, struct tf_err *err)
{
    const struct tf_value *map = &m->header.config;
    struct tf_config c;
    struct tf_params p;
    bool ours = false;
    for (size_t i = 0; map->kind == TF_MAP && i < map->n; i++)
        ours = ours || tf_config_field(map->keys[i]) != NULL;
    if (!ours)
        return 0;
    if (tf_model_load(m, &c, NULL, "p/", err) != 0)
        return -1;
    tf_params_init(&p, &c);
    int rc = tf_model_check_size(m, &p, err);
    for (size_t i = 0; i < p.n && rc == 0; i++) {
        struct tf_stored s;
        rc = tf_stored_find(&s, m, &p.v[i], "p/", err);
    }
    if (rc == 0)
        rc = tf_model_only(m, &p, err);
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
