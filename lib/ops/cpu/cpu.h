/* cpu.h - the CPU backend. */
#ifndef TF_OPS_CPU_CPU_H
#define TF_OPS_CPU_CPU_H

#include "ops/backend.h"

/* The CPU backend's tables, fp32 first, NULL last, for the best kernel set of this processor or the
 * one that TF_CPU_ISA names: an instruction set (generic; on x86-64 avx2, avxvnni, avx512,
 * avx512vnni, avx512bf16; on aarch64 neon, neondot), or openblas, whose large products call
 * OpenBLAS; that is the best except on x86-64, if it is installed. NULL and err if the processor or
 * the library is missing or there is none of that name. */
const struct tf_backend *const *tf_cpu_backends(struct tf_err *err);

#endif
