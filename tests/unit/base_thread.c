/* The pool: every job runs once, results do not depend on the number of lanes, many short runs,
 * signals reach only the main thread. */
#include "../harness/tap.h"
#include "base/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { JOBS = 1000 };

struct task {
    atomic_int runs[JOBS];
    double part[JOBS];
    atomic_int lanes_bad, signals_open;
    int lanes;
};

static void job_fn(void *arg, size_t job, int lane)
{
    struct task *t = arg;
    atomic_fetch_add(&t->runs[job], 1);
    if (lane < 0 || lane >= t->lanes)
        atomic_fetch_add(&t->lanes_bad, 1);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (lane > 0 && !sigismember(&mask, SIGTERM))
        atomic_fetch_add(&t->signals_open, 1);
    double x = 0;
    for (int i = 1; i < 200; i++)
        x += 1.0 / ((double)job * 200 + i);
    t->part[job] = x;
}

static double with_lanes(int lanes)
{
    struct tf_pool *p = tf_pool_new(lanes);
    static struct task t;
    memset(&t, 0, sizeof t);
    t.lanes = tf_pool_lanes(p);
    is_int(t.lanes, lanes, "%d lanes", lanes);
    tf_pool_run(p, job_fn, &t, JOBS);
    int once = 0;
    double sum = 0;
    for (int i = 0; i < JOBS; i++) {
        once += t.runs[i] == 1;
        sum += t.part[i];
    }
    is_int(once, JOBS, "%d lanes: every job ran once", lanes);
    is_int(t.lanes_bad, 0, "%d lanes: lane numbers in range", lanes);
    is_int(t.signals_open, 0, "%d lanes: threads block signals", lanes);
    tf_pool_run(p, job_fn, &t, 0);
    tf_pool_run(p, job_fn, &t, 1);
    is_int(t.runs[0], 2, "%d lanes: runs of 0 and 1 jobs", lanes);
    tf_pool_free(p);
    return sum;
}

/* Short runs right after each other: a thread that wakes late must not touch the next run's data.
 * Each run writes plain memory that the caller then reads, so that ThreadSanitizer finds a missing
 * synchronization. */
static void count_fn(void *arg, size_t job, int lane)
{
    (void)lane;
    int *cells = arg;
    cells[job]++;
}

int main(void)
{
    double one = with_lanes(1);
    for (int lanes = 2; lanes <= 8; lanes++) {
        double sum = with_lanes(lanes);
        is_mem(&sum, &one, sizeof sum, "%d lanes: the same sum", lanes);
    }
    struct tf_pool *p = tf_pool_new(3);
    int cells[7] = {0}, good = 0;
    for (int run = 1; run <= 20000; run++) {
        size_t n = (size_t)run % 7 + 1;
        int before = cells[n - 1];
        tf_pool_run(p, count_fn, cells, n);
        good += cells[n - 1] == before + 1;
    }
    is_int(good, 20000, "20000 short runs");
    tf_pool_free(p);
    tf_pool_free(NULL);
    return done();
}
