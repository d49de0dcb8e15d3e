/* linear_private.h - which epilogues products end in, and the masks beside their results. */
#ifndef TF_OPS_CUDA_LINEAR_PRIVATE_H
#define TF_OPS_CUDA_LINEAR_PRIVATE_H

#include "device_private.h"

/* Which epilogues a lane takes on a device of this compute capability: those of TF_CUDA_EPILOGUES,
 * for comparing, or the default. */
int tf_cuda_epilogues(unsigned *taken, int arch, const char *precision, struct tf_err *err);
unsigned tf_cuda_default_epilogues(int arch, const char *precision);
/* As TF_CUDA_EPILOGUES names them. */
const char *tf_cuda_epilogues_name(unsigned taken);

#endif
