/* table.c - the tables themselves: nothing missing, memory as promised, and backends found by name
 * with a reason when they are not. */
#include "../harness/problem.h"
#include "../harness/temp.h"
#include "ops/cpu/cpu.h"
#include "ops/registry.h"

#include <stddef.h>

static void test_entries(const struct tf_backend *be)
{
    const char *p = (const char *)be;
    size_t missing = 0, entries = 0;
    for (size_t at = offsetof(struct tf_backend, probe); at < sizeof *be;
         at += sizeof(void (*)(void))) {
        void (*entry)(void);
        memcpy(&entry, p + at, sizeof entry);
        entries++;
        missing += entry == NULL;
    }
#define OF_HOST(op) +(!be->host && be->op == NULL)
#define OF_DEVICE(op) +(be->host && be->op == NULL)
    is_int(missing, (size_t)0 TF_SELECT_OPS(OF_HOST) TF_LISTED_OPS(OF_DEVICE),
           "%s %s: all %zu entries are there, but those of the other kind", be->name,
           be->precision, entries);
#undef OF_HOST
#undef OF_DEVICE
    is_int(be->abi, TF_BACKEND_ABI, "%s: interface number", be->name);
    ok(be->shards >= 1, "%s: shards", be->name);
    is_int(be->elem_size[TF_ELEM_U32], 4, "%s: ids have 4 bytes", be->name);
    is_int(be->elem_size[TF_ELEM_F64], 8, "%s: sums have 8 bytes", be->name);
}

static void test_memory(struct lane *l)
{
    const struct tf_backend *be = l->be;
    struct tf_err err = {0};
    for (int e = 0; e < TF_ELEM_KINDS; e++) {
        enum { LEN = 77 };
        unsigned char zero[8 * LEN] = {0}, data[8 * LEN], back[8 * LEN];
        size_t size = be->elem_size[e] * LEN;
        tf_mem *a = be->alloc(l->c, e, LEN, &err), *b = be->alloc(l->c, e, LEN, &err);
        if (!ok(a != NULL && b != NULL, "%s: memory of kind %d", be->name, e))
            return;
        ok((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0, "%s: aligned to 64 bytes", be->name);
        ok(be->download(l->c, back, e, a, LEN, &err) == 0, "%s: download", be->name);
        is_mem(back, zero, size, "%s: new memory is cleared", be->name);
        for (size_t i = 0; i < size; i++)
            data[i] = (unsigned char)(i * 7 + 1);
        be->upload(l->c, a, e, data, LEN);
        be->copy(l->c, b, e, a, LEN - 1);
        be->zero(l->c, a, e, LEN - 1);
        ok(be->download(l->c, back, e, b, LEN, &err) == 0, "%s: download", be->name);
        size_t last = be->elem_size[e] * (LEN - 1);
        ok(memcmp(back, data, last) == 0 && memcmp(back + last, zero, size - last) == 0,
           "%s: copy takes n elements", be->name);
        ok(be->download(l->c, back, e, a, LEN, &err) == 0, "%s: download", be->name);
        ok(memcmp(back, zero, last) == 0 && memcmp(back + last, data + last, size - last) == 0,
           "%s: zero clears n elements", be->name);
        be->free(l->c, a);
        be->free(l->c, b);
    }
    ok(be->alloc(l->c, TF_ELEM_PARAM, (size_t)1 << 60, &err) == NULL && err.msg[0] != 0,
       "%s: too much memory is refused: %s", be->name, err.msg);
    err = (struct tf_err){0};
    ok(be->alloc(l->c, TF_ELEM_F64, SIZE_MAX / 4, &err) == NULL && err.msg[0] != 0,
       "%s: a size that overflows is refused: %s", be->name, err.msg);
    be->free(l->c, NULL);
    be->rows_free(l->c, NULL);
    be->pack_free(l->c, NULL);
    is_int(be->sync(l->c, &err), 0, "%s: sync", be->name);
}

static void test_open(const struct candidate *v)
{
    const struct tf_backend *be = v->be;
    struct tf_err err = {0};
    if (v->isa != NULL)
        setenv("TF_CPU_ISA", v->isa, 1);
    ok(tf_backend_find(be->name, "fp7", TF_USE_TRAINING, NULL, &err) == NULL &&
           err.status == TF_USAGE && strstr(err.msg, "fp7") != NULL &&
           strstr(err.msg, be->precision) != NULL,
       "%s: an unknown precision is refused: %s", be->name, err.msg);
    ok(tf_backend_find(be->name, be->precision, TF_USE_DECODING, NULL, &err) == be,
       "%s: %s by name", be->name, be->precision);
    unsetenv("TF_CPU_ISA");
    struct tf_ctx *c = be->open(&(struct tf_ctx_opts){.threads = 1}, &err);
    if (ok(c != NULL, "%s %s opens", be->name, be->precision)) {
        ok(be->describe(c) != NULL && be->describe(c)[0] != 0, "%s: %s", be->name, be->describe(c));
        be->close(c);
    }
}

static void test_find(void)
{
    struct tf_err err = {0}, why = {0};
    ok(tf_backend_find("abacus", NULL, TF_USE_TRAINING, NULL, &err) == NULL,
       "an unknown name finds nothing");
    is_str(err.msg, "no backend 'abacus': cpu, ref, cuda, cuda:N or auto", "and says which train");
    err = (struct tf_err){0};
    ok(tf_backend_find("abacus", NULL, TF_USE_DECODING, NULL, &err) == NULL, "nor for decoding");
    is_str(err.msg, "no backend 'abacus': cpu, ref, ref64, cuda, cuda:N, "
           "cuda:N,N..., cuda:all or auto",
           "and says which decode");
    ok(tf_backend_find("ref", NULL, TF_USE_TRAINING, NULL, &err) == &tf_backend_ref_f32,
       "ref by name");
    ok(tf_backend_find("ref64", NULL, TF_USE_TRAINING, NULL, &err) == &tf_backend_ref_f64,
       "ref64 by name");
    const struct tf_backend *cpu = tf_cpu_backends(&err)[0];
    ok(tf_backend_find("cpu", NULL, TF_USE_TRAINING, NULL, &err) == cpu, "cpu by name");
    is_str(cpu->name, "cpu", "and it is called cpu");
    is_str(cpu->precision, "fp32", "and works in fp32");
    const struct tf_backend *be = tf_backend_find("auto", NULL, TF_USE_TRAINING, &why, &err);
    if (ok(be != NULL, "auto finds one"))
        ok(strcmp(be->name, "cuda") == 0 ? why.msg[0] == 0 : be == cpu && why.msg[0] != 0,
           "auto: %s %s", be->name, why.msg);
    ok(tf_backend_find("auto", NULL, TF_USE_TRAINING, NULL, &err) == be, "auto without asking why");

    /* A file that is no plugin: the reason names it, and auto takes another backend. */
    const char *dir = temp_path(""), *path = temp_path("tf-backend-cuda.so");
    write_file(path, "not a library\n", 14);
    const char *before = getenv("TF_BACKEND_DIR");
    char *old = before != NULL ? strdup(before) : NULL;
    setenv("TF_BACKEND_DIR", dir, 1);
    err = why = (struct tf_err){0};
    ok(tf_backend_find("cuda", NULL, TF_USE_TRAINING, NULL, &err) == NULL &&
           strstr(err.msg, path) != NULL,
       "a broken plugin: %s", err.msg);
    ok(tf_backend_find("auto", NULL, TF_USE_TRAINING, &why, &err) == cpu &&
           strstr(why.msg, path) != NULL,
       "auto falls back to cpu: %s", why.msg);
    if (old != NULL)
        setenv("TF_BACKEND_DIR", old, 1);
    else
        unsetenv("TF_BACKEND_DIR");
    free(old);
}

int main(void)
{
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, true);
    for (size_t b = 0; b < n; b++) {
        test_entries(v[b].be);
        struct lane l = open_lane_as(&v[b]);
        test_memory(&l);
        close_lane(&l);
        test_open(&v[b]);
    }
    test_entries(tf_cpu_backends(NULL)[1]);
    test_find();
    return done();
}
