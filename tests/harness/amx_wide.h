/* amx_wide.h - before all else: compile the kernels that follow with panels and blocks as wide as
 * those of AVX-512, which processors with AMX have. gcc alone does. */
#ifndef TF_TESTS_AMX_WIDE_H
#define TF_TESTS_AMX_WIDE_H

#ifdef __x86_64__
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif
#ifdef __AVX512F__
#define TF_TILES_WIDE
#endif

#endif
