/* sanitize_private.h - which sanitizers a file is compiled with: gcc and clang say it differently.
 */
#ifndef TF_BASE_SANITIZE_PRIVATE_H
#define TF_BASE_SANITIZE_PRIVATE_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define TF_ASAN 1
#else
#define TF_ASAN 0
#endif

/* Address, thread or memory: those with threads or shadow memory of their own. */
#if TF_ASAN || defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define TF_SANITIZED 1
#else
#define TF_SANITIZED 0
#endif

#endif
