/* races_private.h - what ThreadSanitizer knows about the threads of a block. Every one of them is
 * one of its fibers, which nothing but barriers orders: __syncthreads for the block, __syncwarp for
 * the threads in its mask, atomics as the C++ ones are. Shuffles and votes order no memory, as CUDA
 * says. Blocks run in order, and each has a stack of its own for every thread. Without
 * EMULATE_RACES, which the Makefile defines with SAN=thread, nothing here does anything. */
#ifndef TF_TESTS_EMULATE_RACES_PRIVATE_H
#define TF_TESTS_EMULATE_RACES_PRIVATE_H

#include "emulate_private.h"

#ifdef EMULATE_RACES
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

namespace emulate {
#ifdef EMULATE_RACES
constexpr bool races = true;
inline void *fiber_of(unsigned i) /* of a block's thread */
{
    static void *fibers[MAX_THREADS];
    if (fibers[i] == nullptr)
        fibers[i] = __tsan_create_fiber(0);
    return fibers[i];
}
inline void be(void *fiber)
{
    __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync);
}
inline void *this_fiber()
{
    return __tsan_get_current_fiber();
}
inline void say(char *what)
{
    __tsan_release(what);
}
inline void hear(char *what)
{
    __tsan_acquire(what);
}
inline void overlook(bool on) /* what is read and written next */
{
    if (on) {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    } else {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
}
#else
constexpr bool races = false;
inline void *fiber_of(unsigned) { return nullptr; }
inline void be(void *) {}
inline void *this_fiber() { return nullptr; }
inline void say(char *) {}
inline void hear(char *) {}
inline void overlook(bool) {}
#endif

/* Order memory for ThreadSanitizer as a barrier does, between all threads i with group(i): what
 * each did before comes before what any does after. `place` is an address that stands for the
 * barrier. */
template <typename F> void meet(char *place, unsigned n, F group)
{
    if (!races)
        return;
    void *me = this_fiber();
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < n; i++)
            if (group(i)) {
                be(fiber_of(i));
                pass == 0 ? say(place) : hear(place);
            }
    be(me);
}
} // namespace emulate

#endif
