/* package.c - any bytes as a package of Argos: a verdict, and files that can be read. */
#include "../harness/memory.h"
#include "exchange/package.h"

#include <unistd.h>

enum { MAX_INPUT = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_package p;
    struct tf_arena a = {0};
    struct tf_err err = {0};
    if (n > MAX_INPUT)
        return 0;
    if (tf_package_read(&p, &a, memory_path(0, data, n), &err) != 0)
        TF_ASSERT(err.msg[0] != 0 && p.n == 0);
    for (size_t i = 0; i < p.n; i++)
        TF_ASSERT(*p.v[i].name != 0 && lseek(p.v[i].fd, 0, SEEK_END) >= 0);
    tf_package_release(&p);
    tf_arena_release(&a);
    return 0;
}
