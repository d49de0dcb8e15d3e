/* nccl.h - as much of NCCL as lib/ops/cuda/link.cu uses, between processes of one machine. Included
 * by it in place of loading the library. */
#ifndef TF_TESTS_EMULATE_NCCL_H
#define TF_TESTS_EMULATE_NCCL_H

void *open_library();
void *find_symbol(void *library, const char *name);

#endif
