/* cpu.c - the choice of a kernel set, by what the processor has or by TF_CPU_ISA. */
#include "base/buf.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/openblas.h"
#include "ops/backend.h"

#ifdef TF_SETS_X86
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include <stdlib.h>
#include <string.h>
#ifdef TF_SETS_ARM
#include <sys/auxv.h>
#endif

/* table.c, once for each set */
#define TABLES(set)                                                \
    extern const struct tf_backend *const tf_cpu_##set##_tables[], \
        *const tf_cpu_##set##_openblas[]
TABLES(generic);

static bool always(void)
{
    return true;
}

#ifdef TF_SETS_X86
TABLES(avx2);
TABLES(avxvnni);
TABLES(avx512);
TABLES(avx512vnni);
TABLES(avx512bf16);
TABLES(amx);

/* By cpuid what __builtin_cpu_supports does not know by name in some compilers. */
static bool has_avx2(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

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

static bool has_avx512bf16(void)
{
    return has_avx512vnni() && __builtin_cpu_supports("avx512bf16");
}

/* Linux gives a process the state of tiles when it asks (arch_prctl(2), ARCH_REQ_XCOMP_PERM). */
static bool has_amx(void)
{
    enum { TILES = 1 << 24, INT8 = 1 << 25, BF16 = 1 << 22, REQUEST = 0x1023, TILE_DATA = 18 };
    unsigned a, b, c, d;
    return has_avx512bf16() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & TILES && d & INT8 &&
           d & BF16 && syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}
#endif

#ifdef TF_SETS_ARM
TABLES(neon);
TABLES(neondot);

static bool has_dot(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}
#endif

static const struct set {
    const char *name;
    bool (*runs)(void);
    const struct tf_backend *const *tables, *const *with_openblas;
    bool by_name; /* never chosen as the best */
} best_first[] = {
#define SET(name, runs, by_name)                                                       \
    {                                                                                  \
        #name, runs, tf_cpu_##name##_tables, tf_cpu_##name##_openblas, by_name \
    }
#ifdef TF_SETS_X86
    /* It has not run on such a processor yet, only tests/ops/amx_*.c on others. */
    SET(amx, has_amx, true),
    SET(avx512bf16, has_avx512bf16, false),
    SET(avx512vnni, has_avx512vnni, false),
    SET(avx512, has_avx512, false),
    SET(avxvnni, has_avxvnni, false),
    SET(avx2, has_avx2, false),
#endif
#ifdef TF_SETS_ARM
    SET(neondot, has_dot, false),
    SET(neon, always, false),
#endif
    SET(generic, always, false)};
enum { SETS = sizeof best_first / sizeof best_first[0] };

static const struct set *best(void)
{
    const struct set *s = best_first;
    while (s->by_name || !s->runs())
        s++;
    return s;
}

/* TF_CPU_ISA=list: what is compiled, what of it runs here, and which is chosen. */
static void list_sets(struct tf_err *err)
{
    struct tf_buf text = {0};
    struct tf_err why;
    for (const struct set *s = best_first; s < best_first + SETS; s++)
        tf_buf_printf(&text, "%s: %s; ", s->name,
                      s == best()  ? "runs, the best here"
                      : s->runs() ? "runs"
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
            return best()->with_openblas;
#endif
        return best()->tables;
    }
    if (strcmp(want, "list") == 0) {
        list_sets(err);
        return NULL;
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
    struct tf_buf names = {0};
    for (size_t i = SETS; i-- > 0;)
        tf_buf_printf(&names, "%s, ", best_first[i].name);
    tf_fail(err, "cpu: TF_CPU_ISA=%s: not one of %slist, openblas", want, names.p);
    tf_buf_release(&names);
    return NULL;
}
