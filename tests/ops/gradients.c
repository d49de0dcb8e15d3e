/* gradients.c - every backward pass against central differences of its forward pass, in double. */
/* tags: no-emulator */
#include "../harness/problem.h"

enum { CASES = 60 };

/* The loss of a problem as its inputs stand. */
static double loss_of(struct lane *l, const struct problem *p)
{
    struct run r;
    run_problem(&r, l, p, 0, p->n);
    double sum = 0;
    for (size_t i = 0; i < sizeof p->op->loss / sizeof p->op->loss[0]; i++) {
        const struct input *by = find_input(p, p->op->loss[i].by);
        if (by == NULL)
            continue;
        const struct output *out = find_output(&r, p->op->loss[i].out);
        for (size_t k = 0; k < by->n; k++)
            sum += out->v[k] * by->v[k];
    }
    free_run(&r);
    return sum;
}

/* Worst relative error of one problem's gradients; *checked counts elements. */
static double check(struct lane *l, struct problem *p, size_t *checked, const char **name)
{
    /* the error of the differences, of order h^4, stays under the rounding's */
    const double h = 0x1p-14;
    double worst = 0;
    struct run r;
    run_problem(&r, l, p, 0, p->n);
    if (!ok(!r.spoiled, "%s: %s", p->label, r.spoiled ? r.why : "buffers respected")) {
        free_run(&r);
        return INFINITY;
    }
    for (size_t i = 0; i < sizeof p->op->wrt / sizeof p->op->wrt[0]; i++) {
        const struct input *in = find_input(p, p->op->wrt[i].in),
                           *base = find_input(p, p->op->wrt[i].base);
        const struct output *grad = in != NULL ? find_output(&r, p->op->wrt[i].grad) : NULL;
        if (grad == NULL)
            continue;
        double *num = tf_arena_alloc(&r.mem, (in->n + 1) * sizeof *num),
               *ana = tf_arena_alloc(&r.mem, (in->n + 1) * sizeof *ana);
        for (size_t k = 0; k < in->n; k++) {
            double x = in->v[k], d[2];
            for (int far = 0; far < 2; far++) {
                in->v[k] = x + h * (far + 1);
                d[far] = loss_of(l, p);
                in->v[k] = x - h * (far + 1);
                d[far] = (d[far] - loss_of(l, p)) / (2 * h * (far + 1));
            }
            in->v[k] = x;
            num[k] = (4 * d[0] - d[1]) / 3; /* Richardson: differences at h and 2h */
            ana[k] = grad->v[k] - (base != NULL ? base->v[k] : 0);
        }
        *checked += in->n;
        double e = worst_error(ana, num, in->n, 1e-3);
        if (e > worst) {
            worst = e;
            *name = grad->name;
        }
    }
    free_run(&r);
    return worst;
}

int main(void)
{
    struct lane l = open_ref64();
    for (size_t i = 0; i < n_ops; i++) {
        if (all_ops[i].wrt[0].in == NULL)
            continue;
        double worst = 0;
        size_t checked = 0;
        char which[300] = "nothing";
        for (uint64_t seed = 0; seed < CASES; seed++) {
            struct problem p;
            const char *name = "nothing";
            make_problem(&p, &all_ops[i], 1000 + seed, true);
            double e = check(&l, &p, &checked, &name);
            if (e > worst) {
                worst = e;
                snprintf(which, sizeof which, "%s of %s", name, p.label);
            }
            free_problem(&p);
        }
        ok(checked > 500, "%s: %zu elements compared", all_ops[i].name, checked);
        if (!ok(worst < 1e-6, "%s: gradients are those of differences, worst %.2g", all_ops[i].name,
                worst))
            printf("# %s\n", which);
    }
    close_lane(&l);
    return done();
}
