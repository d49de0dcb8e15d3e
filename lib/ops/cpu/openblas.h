/* openblas.h - OpenBLAS, loaded with dlopen when the kernel set openblas is selected, so that
 * programs start without it and machines do not need it. One thread of its own: lanes call it side
 * by side. */
#ifndef TF_OPS_CPU_OPENBLAS_H
#define TF_OPS_CPU_OPENBLAS_H

#include "base/err.h"

/* Load libopenblas.so.0, once: 0, or -1 and err if there is none or a row's bytes depend on its
 * place among others. Unless OPENBLAS_CORETYPE names a core, the processor's features decide which
 * it uses. */
int tf_openblas_load(struct tf_err *err);

/* "OpenBLAS 0.3.21, core SkylakeX"; after a successful load. */
const char *tf_openblas_about(void);

#endif
