/* coroutine_private.h - stacks that the emulation switches between: every thread of a block is a
 * coroutine. */
#ifndef TF_TESTS_EMULATE_COROUTINE_PRIVATE_H
#define TF_TESTS_EMULATE_COROUTINE_PRIVATE_H

namespace emulate {
struct coroutine;
extern coroutine *const host; /* who called */
extern coroutine *running;
/* main() starts when somebody first switches to it, and never returns. The stack is kept. */
coroutine *new_coroutine(void (*main)());
/* Returns when somebody switches back. */
void switch_to(coroutine *to);
} // namespace emulate

#endif
