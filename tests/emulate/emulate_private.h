/* emulate_private.h - what the files share that define emulate.h's functions: block.cc runs
 * kernels, streams.cc queues work, device.cc has the device and its memory. */
#ifndef TF_TESTS_EMULATE_PRIVATE_H
#define TF_TESTS_EMULATE_PRIVATE_H

#include "emulate.h"

#include <string>

namespace emulate {
enum { MAX_THREADS = 1024, MAX_SHARED = 227 * 1024 }; /* of a block */

/* block.cc */
[[noreturn]] void stop(const char *kernel, const std::string &why);
void run_kernel(const char *name, dim3 grid, dim3 block, size_t shared, bool early,
                const std::function<void()> &thread);

/* While one lives, no other thread is in the emulation. device.cc */
struct guard {
    guard();
    ~guard();
    guard(const guard &) = delete;
};

/* streams.cc */
bool capturing(); /* on any stream of the thread's device */
void flush_all();
bool graphs_fill_memory(); /* there are some, and as many as TF_EMULATE_GRAPHS says */

/* device.cc */
bool is_pinned(const void *p);
int device(); /* of this thread */
/* Memory of other devices can't be reached from now on. */
void enter(int device);
/* Does what TF_EMULATE_FAULT, MOST and ALLOCATIONS say concern the device? */
bool is_faulty(int device);
size_t allowed_shared(const void *kernel); /* bytes of dynamic shared memory */
void tell_memory();
} // namespace emulate

#endif
