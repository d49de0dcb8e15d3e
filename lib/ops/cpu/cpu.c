/* cpu.c - the choice of a kernel set, by what the processor has or by TF_CPU_ISA. */
#include "base/buf.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/openblas.h"
#include "ops/backend.h"

#ifdef TF_SETS_X86
#include <cpuid.h>
#endif
#include <stdlib.h>
#include <string.h>
#ifdef TF_SETS_ARM
#include <sys/auxv.h>
#endif

#ifdef TF_SETS_X86
#define has __builtin_cpu_supports
enum { EAX, EBX, ECX, EDX };

/* By cpuid what __builtin_cpu_supports does not know by name in some compilers. */
static bool bit(unsigned leaf, unsigned subleaf, int of, int n)
{
    unsigned r[4];
    return __get_cpuid_count(leaf, subleaf, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) &&
           (r[of] >> n & 1) != 0;
}
#endif

/* The tables are those of table.c, which is compiled for each set. */
#define SET(set, kernels, int8, bf16, flags, ...)                  \
    extern const struct tf_backend *const tf_cpu_##set##_tables[], \
        *const tf_cpu_##set##_openblas[];                          \
    static bool runs_##set(void)                                   \
    {                                                              \
        return __VA_ARGS__;                                        \
    }
#include "ops/cpu/sets.def"
#undef SET

static const struct set {
    const char *name;
    bool (*runs)(void);
    const struct tf_backend *const *tables, *const *with_openblas;
} sets[] = {
#define SET(set, ...) {#set, runs_##set, tf_cpu_##set##_tables, tf_cpu_##set##_openblas},
#include "ops/cpu/sets.def"
};
enum { SETS = sizeof sets / sizeof sets[0] };

static const struct set *best_set(void)
{
    const struct set *s = sets + SETS - 1;
    while (!s->runs())
        s--;
    return s;
}

/* TF_CPU_ISA=list: what is compiled, what of it runs here, and which is chosen. */
static void list_sets(struct tf_err *err)
{
    struct tf_buf text = {0};
    struct tf_err why;
    for (size_t i = SETS; i-- > 0;)
        tf_buf_printf(&text, "%s: %s; ", sets[i].name,
                      &sets[i] == best_set() ? "runs, the best here"
                      : sets[i].runs()       ? "runs"
                                             : "not on this processor");
    const bool openblas = tf_openblas_load(&why) == 0;
    tf_fail(err, "cpu: %.*sopenblas: %s", (int)text.len, text.p,
            openblas ? "runs, with the best for what is no product of matrices" : why.msg);
    tf_buf_release(&text);
}

const struct tf_backend *const *tf_cpu_backends(struct tf_err *err)
{
    const char *want = getenv("TF_CPU_ISA");
    if (want == NULL || want[0] == 0) {
#ifndef TF_SETS_X86
        /* Our own kernels are at their best on x86-64. */
        if (tf_openblas_load(NULL) == 0)
            return best_set()->with_openblas;
#endif
        return best_set()->tables;
    }
    if (strcmp(want, "list") == 0) {
        list_sets(err);
        return NULL;
    }
    if (strcmp(want, "openblas") == 0) {
        if (tf_openblas_load(err) == 0)
            return best_set()->with_openblas;
        tf_context(err, "cpu: TF_CPU_ISA=openblas");
        return NULL;
    }
    for (const struct set *s = sets; s < sets + SETS; s++)
        if (strcmp(want, s->name) == 0) {
            if (s->runs())
                return s->tables;
            tf_fail(err, "cpu: TF_CPU_ISA=%s: this processor does not have it", want);
            return NULL;
        }
    struct tf_buf names = {0};
    for (const struct set *s = sets; s < sets + SETS; s++)
        tf_buf_printf(&names, "%s, ", s->name);
    tf_fail(err, "cpu: TF_CPU_ISA=%s: not one of %slist, openblas", want, names.p);
    tf_buf_release(&names);
    return NULL;
}
