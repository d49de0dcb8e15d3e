/* same_bytes.c - what must not matter does not: earlier calls, lanes, threads, and, where an entry
 * is ROW-WISE, a sentence's neighbours and their number. */
/* tags: no-asan */
#include "../harness/problem.h"

#include "base/thread.h"

enum { CASES = 20, THREADS = 3 };

static void report(const struct problem *p, uint64_t seed, const char *what)
{
    printf("# seed %llu: %s: %s\n", (unsigned long long)seed, p->label, what);
}

/* Sentences alone, of many not all, and six from every fourth of them on, against the batch. */
static bool rows_hold(struct lane *l, const struct problem *p, const struct run *whole,
                      uint64_t seed)
{
    const size_t step = 1 + p->n / 40;
    for (size_t s = 0; s < p->n; s += step)
        for (size_t len = 1; s + len <= p->n && len <= (s % (4 * step) == 0 ? 6 : 1); len += 5) {
            struct run part;
            run_problem(&part, l, p, s, s + len);
            const char *differs = compare_rows(whole, &part);
            /* Gradients are no ROW-WISE promise: they only share the run. */
            bool good = differs == NULL || differs[0] == 'd';
            free_run(&part);
            if (!good) {
                report(p, seed, differs);
                printf("# sentences %zu to %zu alone\n", s, s + len);
                return false;
            }
        }
    return true;
}

struct crowd {
    struct lane lane[THREADS];
    const struct problem *p;
    struct run run[2 * THREADS];
};

static void one_of_crowd(void *arg, size_t job, int lane)
{
    struct crowd *c = arg;
    run_problem(&c->run[job], &c->lane[lane], c->p, 0, c->p->n);
}

static void test(const struct candidate *v, const struct op *op, struct tf_pool *pool)
{
    const struct tf_backend *be = v->be;
    bool again = true, lanes = true, rows = true, crowd = true;
    struct lane l = open_lane_as(v), other = open_lane_as(v);
    struct crowd c = {0};
    for (int i = 0; i < THREADS; i++)
        c.lane[i] = open_lane_as(v);
    for (uint64_t seed = 0; seed < cases(CASES); seed++) {
        struct problem p;
        struct run x, y, z;
        make_problem(&p, op, 500 + seed, false);
        run_problem(&x, &l, &p, 0, p.n);
        run_problem(&y, &l, &p, 0, p.n);
        run_problem(&z, &other, &p, 0, p.n);
        const char *differs = compare_bytes(&x, &y);
        if (differs != NULL && again)
            report(&p, seed, differs);
        again = again && differs == NULL;
        differs = compare_bytes(&x, &z);
        if (differs != NULL && lanes)
            report(&p, seed, differs);
        lanes = lanes && differs == NULL;
        if (op->row_wise && rows)
            rows = rows_hold(&l, &p, &x, seed);
        if (be->threads && seed % 4 == 0) {
            c.p = &p;
            tf_pool_run(pool, one_of_crowd, &c, 2 * THREADS);
            for (int i = 0; i < 2 * THREADS; i++) {
                crowd = crowd && compare_bytes(&x, &c.run[i]) == NULL;
                free_run(&c.run[i]);
            }
        }
        free_run(&x);
        free_run(&y);
        free_run(&z);
        free_problem(&p);
    }
    for (int i = 0; i < THREADS; i++)
        close_lane(&c.lane[i]);
    close_lane(&l);
    close_lane(&other);
    ok(again, "%s %s: twice the same bytes", v->name, op->name);
    ok(lanes, "%s %s: the same bytes on another lane", v->name, op->name);
    if (op->row_wise)
        ok(rows, "%s %s: a sentence has the same bytes alone", v->name, op->name);
    if (be->threads)
        ok(crowd, "%s %s: the same bytes beside other threads", v->name, op->name);
}

int main(void)
{
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, false);
    struct tf_pool *pool = tf_pool_new(THREADS);
    for (size_t b = 0; b < n; b++)
        for (size_t i = 0; i < n_ops; i++)
            if (wanted(all_ops[i].name))
                test(&v[b], &all_ops[i], pool);
    tf_pool_free(pool);
    return done();
}
