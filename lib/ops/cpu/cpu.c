/* cpu.c - the choice of a kernel set, by what the processor has or by TF_CPU_ISA. */
#include "ops/cpu/openblas.h"
#include "ops/backend.h"

#ifndef TF_ONLY_GENERIC
#include <cpuid.h>
#endif
#include <stdlib.h>
#include <string.h>

/* table.c, once for each set */
#define TABLES(set)                                                \
    extern const struct tf_backend *const tf_cpu_backends_##set[], \
        *const tf_cpu_openblas_backends_##set[]
TABLES(generic);
#ifndef TF_ONLY_GENERIC
TABLES(avx2);
TABLES(avxvnni);
TABLES(avx512);
TABLES(avx512vnni);

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Leaf 7 of cpuid, for compilers whose __builtin_cpu_supports does not know the name. */
static bool has_avxvnni(void)
{
    unsigned a, b, c, d;
    return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool has_avx512vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
#endif

static bool always(void)
{
    return true;
}

static const struct set {
    const char *name;
    bool (*runs)(void);
    const struct tf_backend *const *tables, *const *with_openblas;
} best_first[] = {
#define SET(name, runs)                                                      \
    {                                                                        \
#name, runs, tf_cpu_backends_##name, tf_cpu_openblas_backends_##name \
    }
#ifndef TF_ONLY_GENERIC
    SET(avx512vnni, has_avx512vnni), SET(avx512, has_avx512), SET(avxvnni, has_avxvnni),
    SET(avx2, has_avx2),
#endif
    SET(generic, always)};
enum { SETS = sizeof best_first / sizeof best_first[0] };

static const struct set *best(void)
{
    const struct set *s = best_first;
    while (!s->runs())
        s++;
    return s;
}

const struct tf_backend *const *tf_cpu_backends(struct tf_err *err)
{
    const char *want = getenv("TF_CPU_ISA");
    if (want == NULL || want[0] == 0) {
#ifdef TF_ONLY_GENERIC
        /* We have no vector kernels for this processor. */
        if (tf_openblas_load(NULL) == 0)
            return best()->with_openblas;
#endif
        return best()->tables;
    }
    if (strcmp(want, "openblas") == 0) {
        if (tf_openblas_load(err) == 0)
            return best()->with_openblas;
        tf_context(err, "cpu: TF_CPU_ISA=openblas");
        return NULL;
    }
    for (const struct set *s = best_first; s < best_first + SETS; s++)
        if (strcmp(want, s->name) == 0) {
            if (s->runs())
                return s->tables;
            tf_fail(err, "cpu: TF_CPU_ISA=%s: this processor does not have it", want);
            return NULL;
        }
    tf_fail(err,
            "cpu: TF_CPU_ISA=%s: not one of generic, avx2, avxvnni, avx512, avx512vnni, openblas",
            want);
    return NULL;
}
