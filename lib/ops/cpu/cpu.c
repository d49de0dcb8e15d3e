/* cpu.c - the choice of an instruction set, by what the processor has or by TF_CPU_ISA. */
#include "ops/backend.h"

#ifndef TF_ONLY_GENERIC
#include <cpuid.h>
#endif
#include <stdlib.h>
#include <string.h>

/* table.c, once for each set */
extern const struct tf_backend *const tf_cpu_backends_generic[];
#ifndef TF_ONLY_GENERIC
extern const struct tf_backend *const tf_cpu_backends_avx2[],
    *const tf_cpu_backends_avxvnni[], *const tf_cpu_backends_avx512[],
                                          *const tf_cpu_backends_avx512vnni[];

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

const struct tf_backend *const *tf_cpu_backends(struct tf_err *err)
{
    static const struct {
        const char *name;
        bool (*runs)(void);
        const struct tf_backend *const *tables;
    } best_first[] = {
#ifndef TF_ONLY_GENERIC
        {"avx512vnni", has_avx512vnni, tf_cpu_backends_avx512vnni},
        {"avx512", has_avx512, tf_cpu_backends_avx512},
        {"avxvnni", has_avxvnni, tf_cpu_backends_avxvnni},
        {"avx2", has_avx2, tf_cpu_backends_avx2},
#endif
        {"generic", always, tf_cpu_backends_generic}};
    const char *want = getenv("TF_CPU_ISA");
    if (want != NULL && want[0] == 0)
        want = NULL;
    for (size_t i = 0; i < sizeof best_first / sizeof best_first[0]; i++) {
        if (want != NULL && strcmp(want, best_first[i].name) != 0)
            continue;
        if (best_first[i].runs())
            return best_first[i].tables;
        if (want != NULL) {
            tf_fail(err, "cpu: TF_CPU_ISA=%s: this processor does not have it", want);
            return NULL;
        }
    }
    tf_fail(err, "cpu: TF_CPU_ISA=%s: not one of generic, avx2, avxvnni, avx512, avx512vnni", want);
    return NULL;
}
