/* amx_bf16_wide.c - amx_bf16.c with panels and blocks as wide as those of AVX-512, which processors
 * with AMX have. */
#ifdef __x86_64__
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif
#ifdef __AVX512F__ /* gcc */
#define TF_TILES_WIDE
#endif
#include "amx_bf16.c"
