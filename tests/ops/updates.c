/* updates.c - Adam against a version written out by hand, its rule for norms that are not finite,
 * and ranges split in two. */
#include "../harness/problem.h"

enum { N = 101, STEPS = 30 };

static double *values(struct tf_rng *g, double *v, double scale)
{
    for (int i = 0; i < N; i++)
        v[i] = (float)((double)normal(g) * scale);
    return v;
}

static tf_mem *mem_of(struct lane *l, enum tf_elem e, const double *v, size_t n)
{
    struct tf_err err = {0};
    tf_mem *p = l->be->alloc(l->c, e, n, &err);
    double raw[N];
    if (p == NULL)
        TF_BUG("%s", err.msg);
    to_elements(l, e, raw, v, n);
    l->be->upload(l->c, p, e, raw, n);
    return p;
}

static void fetch(struct lane *l, double *v, const tf_mem *p, size_t n)
{
    struct tf_err err = {0};
    double raw[N];
    if (l->be->download(l->c, raw, TF_ELEM_PARAM, p, n, &err) != 0)
        TF_BUG("%s", err.msg);
    from_elements(l, TF_ELEM_PARAM, v, raw, n);
}

/* A product with 1 gives the weights as products see them. */
static bool products_see(struct lane *l, const tf_mem *w)
{
    const struct tf_backend *be = l->be;
    struct tf_err err = {0};
    const double one = 1;
    double p[N], seen[N], raw[N];
    struct tf_rows *r = be->rows_new(l->c, 1, 1, &err);
    tf_mem *x = mem_of(l, TF_ELEM_ACT, &one, 1), *y = be->alloc(l->c, TF_ELEM_ACT, N, &err);
    if (r == NULL || y == NULL)
        TF_BUG("%s", err.msg);
    be->rows_set(l->c, r, 1, (const uint32_t[]){0, 1});
    be->linear_fwd(l->c, y, x, w, NULL, r, N, 1, 0, (struct tf_dropout){0});
    if (be->download(l->c, raw, TF_ELEM_ACT, y, N, &err) != 0)
        TF_BUG("%s", err.msg);
    from_elements(l, TF_ELEM_ACT, seen, raw, N);
    fetch(l, p, w, N);
    for (int i = 0; i < N && multiplies_16_bit(be); i++)
        p[i] = from_16_bit(be, to_16_bit(be, p[i]));
    be->free(l->c, x);
    be->free(l->c, y);
    be->rows_free(l->c, r);
    return memcmp(p, seen, sizeof p) == 0;
}

/* 30 updates, as the papers write them. */
static void test_adam(struct lane *l, bool eps_hat, double clip, double gscale, double decay)
{
    struct tf_rng g = tf_rng_new(5, 1);
    double p[N], m[N] = {0}, v[N] = {0}, grad[N], got[N];
    values(&g, p, 1);
    tf_mem *pm = mem_of(l, TF_ELEM_PARAM, p, N), *mm = mem_of(l, TF_ELEM_PARAM, m, N),
           *vm = mem_of(l, TF_ELEM_PARAM, v, N);
    struct tf_adam h = {.lr = 0.01,
                        .beta1 = 0.9,
                        .beta2 = 0.98,
                        .eps = 1e-4,
                        .gscale = gscale,
                        .clip = clip,
                        .decay = decay,
                        .eps_hat = eps_hat};
    for (h.t = 1; h.t <= STEPS; h.t++) {
        values(&g, grad, h.t % 7 == 0 ? 40 : 1);
        double norm2 = 0;
        for (int i = 0; i < N; i++)
            norm2 += grad[i] * grad[i];
        double norm = gscale * sqrt(norm2), factor = gscale;
        if (clip > 0 && norm > clip)
            factor = gscale * (clip / norm);
        for (int i = 0; i < N; i++) {
            double gi = grad[i] * factor;
            m[i] = 0.9 * m[i] + 0.1 * gi;
            v[i] = 0.98 * v[i] + 0.02 * gi * gi;
            p[i] -= 0.01 * decay * p[i];
            double one_m = 1 - pow(0.9, (double)h.t), one_v = 1 - pow(0.98, (double)h.t);
            if (eps_hat)
                p[i] -= 0.01 * sqrt(one_v) / one_m * m[i] / (sqrt(v[i]) + 1e-4);
            else
                p[i] -= 0.01 * (m[i] / one_m) / (sqrt(v[i] / one_v) + 1e-4);
        }
        tf_mem *gm = mem_of(l, TF_ELEM_PARAM, grad, N), *nm = mem_of(l, TF_ELEM_F64, &norm2, 1);
        l->be->adam(l->c, pm, mm, vm, gm, N, nm, &h);
        fetch(l, got, pm, N); /* waits, so that the buffers may go */
        l->be->free(l->c, gm);
        l->be->free(l->c, nm);
    }
    double tolerance = l->be->elem_size[TF_ELEM_PARAM] == 8 ? 1e-13 : 2e-6;
    const char *kind = eps_hat ? "t2t" : "paper";
    double e = worst_error(got, p, N, 0);
    ok(e < tolerance,
       "%s adam (%s, clip %g, scale %g, decay %g): weights after %d updates, worst %.2g", l->name,
       kind, clip, gscale, decay, STEPS, e);
    fetch(l, got, mm, N);
    e = worst_error(got, m, N, 0);
    ok(e < tolerance, "%s adam: first moments, worst %.2g", l->name, e);
    fetch(l, got, vm, N);
    e = worst_error(got, v, N, 0);
    ok(e < tolerance, "%s adam: second moments, worst %.2g", l->name, e);

    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        double before[3][N], after[3][N];
        tf_mem *state[3] = {pm, mm, vm}, *gm = mem_of(l, TF_ELEM_PARAM, grad, N),
               *nm = mem_of(l, TF_ELEM_F64, &bad[i], 1);
        for (int k = 0; k < 3; k++)
            fetch(l, before[k], state[k], N);
        l->be->adam(l->c, pm, mm, vm, gm, N, nm, &h);
        for (int k = 0; k < 3; k++)
            fetch(l, after[k], state[k], N);
        ok(memcmp(before, after, sizeof before) == 0, "%s adam: a norm of %g changes nothing",
           l->name, bad[i]);
        l->be->free(l->c, gm);
        l->be->free(l->c, nm);
    }
    l->be->free(l->c, pm);
    l->be->free(l->c, mm);
    l->be->free(l->c, vm);
}

static void test_small(struct lane *l)
{
    double got[3], sums[2];
    struct tf_err err = {0};
    tf_mem *a = mem_of(l, TF_ELEM_PARAM, (const double[]){1, 2, -4}, 3),
           *b = mem_of(l, TF_ELEM_PARAM, (const double[]){3, -2, 8}, 3);
    tf_mem *f = mem_of(l, TF_ELEM_F64, (const double[]){1e17, 1, -1e17}, 3),
           *s = mem_of(l, TF_ELEM_F64, (const double[]){5, 5}, 2);
    l->be->ema(l->c, a, b, 3, 0.75);
    fetch(l, got, a, 3);
    ok(got[0] == 1.5 && got[1] == 1 && got[2] == -1, "%s: moving average", l->name);
    l->be->add(l->c, a, b, 3);
    fetch(l, got, a, 3);
    ok(got[0] == 4.5 && got[1] == -1 && got[2] == 7, "%s: add", l->name);
    l->be->sumsq(l->c, s, b, 3, 3);
    l->be->sum(l->c, tf_at(l->be, TF_ELEM_F64, s, 1), f, 3);
    if (l->be->download(l->c, sums, TF_ELEM_F64, s, 2, &err) != 0)
        TF_BUG("%s", err.msg);
    ok(sums[0] == 77, "%s: sum of squares overwrites", l->name);
    ok(sums[1] == 0, "%s: a sum in order", l->name);
    l->be->free(l->c, a);
    l->be->free(l->c, b);
    l->be->free(l->c, f);
    l->be->free(l->c, s);
}

/* A range in one call, and in two that meet at `cut`. */
static void test_split(struct lane *l, size_t cut)
{
    const struct tf_backend *be = l->be;
    struct tf_rng g = tf_rng_new(6, 2);
    double v[4][N], norm2 = 100, whole[4][N], parts[4][N];
    for (int i = 0; i < 4; i++)
        values(&g, v[i], 1);
    for (int i = 0; i < N; i++)
        v[2][i] = (float)(v[2][i] * v[2][i]);
    struct tf_adam h = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .gscale = 1, .t = 3};
    bool seen = true;
    for (int split = 0; split < 2; split++) {
        tf_mem *m[4], *nm = mem_of(l, TF_ELEM_F64, &norm2, 1);
        for (int i = 0; i < 4; i++)
            m[i] = mem_of(l, TF_ELEM_PARAM, v[i], N);
        seen = seen && products_see(l, m[0]);
        for (int part = 0; part <= split; part++) {
            size_t from = part == 0 ? 0 : cut, n = split == 0 ? N : part == 0 ? cut : N - cut;
            tf_mem *at[4];
            for (int i = 0; i < 4; i++)
                at[i] = tf_at(be, TF_ELEM_PARAM, m[i], from);
            be->adam(l->c, at[0], at[1], at[2], at[3], n, nm, &h);
            be->ema(l->c, at[1], at[0], n, 0.9);
            be->add(l->c, at[3], at[1], n);
        }
        seen = seen && products_see(l, m[0]);
        for (int i = 0; i < 4; i++) {
            fetch(l, split ? parts[i] : whole[i], m[i], N);
            be->free(l->c, m[i]);
        }
        be->free(l->c, nm);
    }
    ok(memcmp(whole, parts, sizeof whole) == 0,
       "%s: adam, ema and add over a range cut at %zu give the same bytes", l->name, cut);
    ok(seen, "%s: products see what adam wrote, cut at %zu", l->name, cut);
}

int main(void)
{
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, true);
    for (size_t b = 0; b < n; b++) {
        struct lane l = open_lane_as(&v[b]);
        for (int eps_hat = 0; eps_hat < 2; eps_hat++) {
            test_adam(&l, eps_hat, 0, 1, 0);
            test_adam(&l, eps_hat, 2, 1 / 64.0, 0);
            test_adam(&l, eps_hat, 0, 1, 0.5);
        }
        test_small(&l);
        test_split(&l, 1);
        test_split(&l, 17);
        test_split(&l, 64);
        close_lane(&l);
    }
    return done();
}
