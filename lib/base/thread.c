/* thread.c - a pool of threads. A run is published as an atomic count of jobs that no thread has
 * taken. A thread takes a job by decrementing the count, and only then reads fn, arg and njobs. The
 * run cannot end before that job does, so a thread that wakes late gets a job of the current run or
 * none. */
#include "base/thread.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct worker {
    struct tf_pool *pool;
    int lane;
    pthread_t thread;
};

struct tf_pool {
    int lanes, spin;
    struct worker *workers; /* lanes - 1 */
    void (*fn)(void *arg, size_t job, int lane);
    void *arg;
    size_t njobs;
    atomic_size_t untaken, undone;
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    bool quit; /* under lock */
};

int tf_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;
    pthread_attr_t attr;
    size_t size;
    int rc = pthread_attr_init(&attr);
    if (rc != 0)
        return rc;
    if (pthread_attr_getstacksize(&attr, &size) == 0 && size < TF_THREAD_STACK)
        (void)pthread_attr_setstacksize(&attr, TF_THREAD_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(thread, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

static void rest(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

/* Take and run jobs until none is left. */
static void work(struct tf_pool *p, int lane)
{
    size_t left = atomic_load_explicit(&p->untaken, memory_order_relaxed);
    while (left > 0) {
        if (!atomic_compare_exchange_weak_explicit(&p->untaken, &left, left - 1,
                                                   memory_order_acq_rel, memory_order_relaxed))
            continue;
        p->fn(p->arg, p->njobs - left, lane);
        if (atomic_fetch_sub_explicit(&p->undone, 1, memory_order_acq_rel) == 1 && lane != 0) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
        left = atomic_load_explicit(&p->untaken, memory_order_relaxed);
    }
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct tf_pool *p = w->pool;
    for (;;) {
        /* In training and decoding, runs follow each other within microseconds: spin before
         * sleeping. */
        for (int i = 0; i < p->spin && atomic_load_explicit(&p->untaken, memory_order_relaxed) == 0;
             i++)
            rest();
        pthread_mutex_lock(&p->lock);
        while (atomic_load_explicit(&p->untaken, memory_order_relaxed) == 0 && !p->quit)
            pthread_cond_wait(&p->start, &p->lock);
        bool quit = p->quit;
        pthread_mutex_unlock(&p->lock);
        if (quit)
            return NULL;
        work(p, w->lane);
    }
}

struct tf_pool *tf_pool_new(int n)
{
    TF_ASSERT(n >= 1);
    struct tf_pool *p = tf_xcalloc(1, sizeof *p);
    p->workers = tf_xcalloc((size_t)n, sizeof *p->workers);
    p->spin = n <= tf_threads_default() ? 1000 : 0;
    atomic_init(&p->untaken, 0);
    atomic_init(&p->undone, 0);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    /* Results do not depend on the number of threads: run with those that could start. */
    for (p->lanes = 1; p->lanes < n; p->lanes++) {
        struct worker *w = &p->workers[p->lanes - 1];
        *w = (struct worker){.pool = p, .lane = p->lanes};
        if (tf_thread_start(&w->thread, worker_main, w) != 0)
            break;
    }
    return p;
}

void tf_pool_free(struct tf_pool *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->lanes - 1; i++)
        pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->start);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
}

int tf_pool_lanes(const struct tf_pool *p)
{
    return p->lanes;
}

void tf_pool_run(struct tf_pool *p, void (*fn)(void *arg, size_t job, int lane), void *arg,
                 size_t njobs)
{
    if (p->lanes == 1 || njobs <= 1) {
        for (size_t job = 0; job < njobs; job++)
            fn(arg, job, 0);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    p->njobs = njobs;
    atomic_store_explicit(&p->undone, njobs, memory_order_relaxed);
    pthread_mutex_lock(&p->lock);
    atomic_store_explicit(&p->untaken, njobs, memory_order_release);
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    work(p, 0);
    for (int i = 0; i < p->spin && atomic_load_explicit(&p->undone, memory_order_acquire) > 0; i++)
        rest();
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->undone, memory_order_acquire) > 0)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
