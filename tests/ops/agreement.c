/* agreement.c [--list] - every operation of every backend against ref64, over random shapes and
 * options. --list prints the names of the operations, as TF_TEST_OPS takes them, one a line. */
#include "../harness/problem.h"

enum { CASES = 80 };

struct score {
    double worst;
    int bad;
    char where[300];
};

/* One problem on one backend against the truth. */
static void compare(struct score *s, struct lane *l, const struct problem *p,
                    const struct run *truth, uint64_t seed)
{
    struct run r;
    const char *name;
    run_problem(&r, l, p, 0, p->n);
    double e = compare_runs(&r, truth, &name);
    if (e > s->worst) {
        s->worst = e;
        snprintf(s->where, sizeof s->where, "%s of %s", name, p->label);
    }
    if (!(e <= tolerance_of(p->op, l->be)) || r.spoiled || truth->spoiled) {
        if (++s->bad <= 5)
            printf("# %s seed %llu: %s: %s %.3g %s\n", l->name, (unsigned long long)seed, p->label,
                   name, e, r.spoiled ? r.why : truth->why);
    }
    free_run(&r);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < n_ops; i++)
            puts(all_ops[i].name);
        return 0;
    }
    struct candidate v[MAX_CANDIDATES];
    struct lane truth = open_ref64(), l[MAX_CANDIDATES];
    size_t n = candidates(v, false);
    for (size_t b = 0; b < n; b++) {
        l[b] = open_lane_as(&v[b]);
        printf("# %s: %s\n", l[b].name, l[b].be->describe(l[b].c));
    }
    for (size_t i = 0; i < n_ops; i++) {
        struct score s[MAX_CANDIDATES] = {0};
        if (!wanted(all_ops[i].name))
            continue;
        for (uint64_t seed = first_case(); seed < cases(CASES); seed++)
            for (size_t b = 0; b < n;) { /* those of one precision in a row have the same problem */
                struct problem p;
                struct run r;
                const char *precision = l[b].be->precision;
                make_problem(&p, &all_ops[i], seed, false);
                round_problem(&p, l[b].be);
                run_problem(&r, &truth, &p, 0, p.n);
                for (; b < n && strcmp(l[b].be->precision, precision) == 0; b++)
                    compare(&s[b], &l[b], &p, &r, seed);
                free_run(&r);
                free_problem(&p);
            }
        for (size_t b = 0; b < n; b++) {
            ok(s[b].bad == 0, "%s %s: within %g of ref64, worst %.2g", l[b].name, all_ops[i].name,
               tolerance_of(&all_ops[i], l[b].be), s[b].worst);
            if (s[b].worst > 0)
                printf("# worst: %s\n", s[b].where);
        }
    }
    for (size_t b = 0; b < n; b++)
        close_lane(&l[b]);
    close_lane(&truth);
    return done();
}
