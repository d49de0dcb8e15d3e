/* thread.h - threads, and a pool of them that runs numbered jobs. */
#ifndef TF_BASE_THREAD_H
#define TF_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

enum { TF_THREAD_STACK = 1 << 20 };
/* pthread_create with all signals blocked, and a stack of at least TF_THREAD_STACK bytes whatever
 * `ulimit -s` says.
 * Returns 0 or an error number. */
int tf_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

struct tf_pool;

/* A pool of n >= 1 lanes: lane 0 is the caller of tf_pool_run, the others are threads with all
 * signals blocked. If fewer threads can be started, the pool has fewer lanes. */
struct tf_pool *tf_pool_new(int n);
void tf_pool_free(struct tf_pool *p);
int tf_pool_lanes(const struct tf_pool *p);
/* Run fn(arg, job, lane) for job = 0 .. njobs-1 and wait for all. Jobs start in order, each in the
 * next free lane: results must not depend on the lane. Not reentrant. */
void tf_pool_run(struct tf_pool *p, void (*fn)(void *arg, size_t job, int lane), void *arg,
                 size_t njobs);

#endif
