/* thread.h - a pool of threads over a fixed list of jobs. Results never depend on which thread ran
 * a job. */
#ifndef TF_BASE_THREAD_H
#define TF_BASE_THREAD_H

#include <stddef.h>

struct tf_pool;

/* CPUs this process may run on (sched_getaffinity), at least 1, at most 64 */
int tf_threads_default(void);
/* n >= 1 lanes: the caller is lane 0, n - 1 threads are started with all signals blocked. */
struct tf_pool *tf_pool_new(int n);
void tf_pool_free(struct tf_pool *p);
int tf_pool_lanes(const struct tf_pool *p);
/* Run fn(arg, job, lane) for job = 0 .. njobs-1, handed out in order to whichever lane is free;
 * returns when all are done. Not reentrant. */
void tf_pool_run(struct tf_pool *p, void (*fn)(void *arg, size_t job, int lane), void *arg,
                 size_t njobs);

#endif
