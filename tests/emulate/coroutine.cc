/* coroutine.cc - switching stacks: on x86-64 in a few instructions, otherwise by the C library.
 * AddressSanitizer learns of each switch. */
#include "base/sanitize_private.h"
#include "coroutine_private.h"
#include "emulate_private.h"

#include <cstring>
#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif
#if TF_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef __x86_64__
extern "C" __attribute__((visibility("hidden"))) void tf_emulate_swap(void **from, void *to);
/* The registers that a call preserves stay on the stack that is left. */
asm(R"(
.pushsection .text
.globl tf_emulate_swap
.hidden tf_emulate_swap
.type tf_emulate_swap, @function
tf_emulate_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size tf_emulate_swap, .-tf_emulate_swap
.popsection
)");
#endif

namespace emulate {

enum { STACK = 128 * 1024 };

struct coroutine {
#ifdef __x86_64__
    void *sp;
#else
    ucontext_t context;
#endif
    char *stack; /* NULL: the host's own */
    void (*main)();
#if TF_ASAN
    const void *bottom;
    size_t size;
#endif
};

static coroutine first;
coroutine *const host = &first;
coroutine *running = &first;

static void arrive(coroutine *from, void *fake)
{
#if TF_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fake, &bottom, &size);
    if (from != nullptr && from->stack == nullptr) {
        from->bottom = bottom;
        from->size = size;
    }
#else
    (void)from, (void)fake;
#endif
}

static coroutine *left; /* who switched last */

void switch_to(coroutine *to)
{
    coroutine *from = running;
    void *fake = nullptr;
    left = from;
    running = to;
#if TF_ASAN
    __sanitizer_start_switch_fiber(&fake, to->stack != nullptr ? to->stack : to->bottom,
                                   to->stack != nullptr ? (size_t)STACK : to->size);
#endif
#ifdef __x86_64__
    tf_emulate_swap(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
    arrive(left, fake);
}

static void entry()
{
    arrive(left, nullptr);
    running->main();
}

coroutine *new_coroutine(void (*main)())
{
    coroutine *c = new coroutine();
    c->main = main;
    c->stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    /* what runs over its end hits a wall */
    if (c->stack == MAP_FAILED || mprotect(c->stack, 4096, PROT_NONE) != 0)
        stop("", "no memory for a stack");
#ifdef __x86_64__
    /* Stacks begin at different distances from their ends, or all would fall into the same lines of
     * the cache. */
    static unsigned made;
    /* at entry, as after a call, the stack pointer is 8 past a multiple of 16 */
    void **top = (void **)(c->stack + STACK - made++ % 128 * 320) - 3;
    *--top = (void *)entry;
    c->sp = top - 6;
    memset(c->sp, 0, 6 * sizeof(void *));
#else
    getcontext(&c->context);
    c->context.uc_stack = {};
    c->context.uc_stack.ss_sp = c->stack;
    c->context.uc_stack.ss_size = STACK;
    makecontext(&c->context, entry, 0);
#endif
    return c;
}

} // namespace emulate
