/* ops.c - speed of the CPU backend's operations on one thread, at the shapes of presets base and
 * tiny, with the kernel set openblas beside it for the operations that call OpenBLAS. Prints
 * figures, judges nothing. `make bench` builds it; build/tests/bench/ops
 * [peak|base|tiny|packed|cached|rows|all] [cpu|ref]. */
#include "ops/backend.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The backend in use, and those that are compared: the one requested, openblas, if installed, and
 * the one requested in int8. */
static const struct tf_backend *be;
static struct tf_ctx *ctx;
static struct {
    const struct tf_backend *be;
    struct tf_ctx *ctx;
} sides[3];

static void use(int side)
{
    be = sides[side].be;
    ctx = sides[side].ctx;
}

static bool open_side(int side, const char *name, const char *precision, struct tf_err *err)
{
    be = tf_backend_find(name, precision, TF_USE_DECODING, NULL, err);
    ctx = be != NULL ? be->open(&(struct tf_ctx_opts){.threads = 1}, err) : NULL;
    if (ctx == NULL)
        return false;
    be->set_rng_state(ctx, &(struct tf_rng_state){.seed = 1, .update = 1});
    sides[side].be = be;
    sides[side].ctx = ctx;
    return true;
}

/* ---- measuring ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Seconds of one call on each of n sides: the medians of five runs of at least 20 ms each, taken in
 * turn. */
static void timed_sides(double *median, int first, int n, void (*f)(void *), void *arg)
{
    double t[2][5];
    int reps[2];
    for (int s = 0; s < n; s++) {
        use(first + s);
        f(arg);
        double once = now();
        f(arg);
        once = now() - once;
        reps[s] = once < 0.02 ? (int)(0.02 / (once + 1e-9)) + 1 : 1;
    }
    for (int i = 0; i < 5; i++)
        for (int s = 0; s < n; s++) {
            use(first + s);
            double start = now();
            for (int j = 0; j < reps[s]; j++)
                f(arg);
            t[s][i] = (now() - start) / reps[s];
        }
    for (int s = 0; s < n; s++) {
        qsort(t[s], 5, sizeof t[s][0], ascending);
        median[s] = t[s][2];
    }
    use(first);
}

static double timed(void (*f)(void *), void *arg)
{
    double t;
    timed_sides(&t, 0, 1, f, arg);
    return t;
}

/* GFLOP/s here, and of openblas with its ratio to them. */
static void print_rates(const char *what, double flop, void (*f)(void *), void *arg)
{
    double t[2];
    timed_sides(t, 0, sides[1].be != NULL ? 2 : 1, f, arg);
    printf("  %s %6.1f", what, flop / t[0]);
    if (sides[1].be != NULL)
        printf(" | %6.1f %.2f", flop / t[1], t[0] / t[1]);
    fflush(stdout);
}

static float *fresh(size_t n)
{
    struct tf_err err = {0};
    float *p = be->alloc(ctx, TF_ELEM_ACT, n, &err);
    if (p == NULL) {
        fprintf(stderr, "ops: %s\n", err.msg);
        exit(1);
    }
    static uint64_t s = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        p[i] = (float)(s >> 40) * 0x1p-24f - 0.5f;
    }
    return p;
}

static void drop(void *p)
{
    be->free(ctx, p);
}

static struct tf_rows *rows_of(size_t rows, size_t length)
{
    struct tf_err err = {0};
    size_t n = rows / length;
    uint32_t *off = calloc(n + 1, sizeof *off);
    for (size_t i = 0; i <= n; i++)
        off[i] = (uint32_t)(i * length);
    struct tf_rows *r = be->rows_new(ctx, rows, n, &err);
    be->rows_set(ctx, r, n, off);
    free(off);
    return r;
}

/* ---- the peak of this processor ---- */

enum { REPEATS = 20000, SUMS = 12 };

/* Fused multiply-adds of registers, in as many independent sums as two units with a latency of 6
 * take. The project's flags would keep the multiplications and the additions apart. */
#define CHAINS(name, bytes, features)                                                    \
    __attribute__((optimize("fp-contract=fast"))) features static void name(void *p)     \
    {                                                                                    \
        typedef float vector __attribute__((vector_size(bytes)));                        \
        vector s[SUMS], zero = {0}, a = zero + 0.999f, b = zero + 1e-3f;                 \
        memcpy(s, p, sizeof s);                                                          \
        for (int i = 0; i < REPEATS; i++)                                                \
            _Pragma("GCC unroll 12") for (int j = 0; j < SUMS; j++) s[j] = s[j] * a + b; \
        memcpy(p, s, sizeof s);                                                          \
    }
CHAINS(chains_16, 16, )
#ifdef __x86_64__
CHAINS(chains_32, 32, __attribute__((target("avx2,fma"))))
CHAINS(chains_64, 64, __attribute__((target("avx512f"))))
#endif

/* With the vectors of the kernel set in use. */
static void bench_peak(void)
{
    float sums[SUMS * 16] = {0};
    void (*chains)(void *) = chains_16;
    size_t lanes = 4;
#ifdef __x86_64__
    const char *set = be->kernels();
    if (strstr(set, "avx512") != NULL)
        chains = chains_64, lanes = 16;
    else if (strstr(set, "avx2") != NULL)
        chains = chains_32, lanes = 8;
#endif
    printf("peak %.1f GFLOP/s\n", 2e-9 * REPEATS * SUMS * (double)lanes / timed(chains, sums));
}

/* ---- linear maps ---- */

struct linear {
    struct tf_rows *r;
    int R, N, K;
    unsigned flags;
    struct tf_dropout dropout;
    struct tf_packed *packed;
    float *x, *w, *b, *y, *dx, *dw, *db;
};

static void linear_fwd(void *p)
{
    struct linear *l = p;
    be->linear_fwd(ctx, l->y, l->x, l->w, l->b, l->r, l->N, l->K, l->flags, l->dropout);
}
static void linear_dx(void *p)
{
    struct linear *l = p;
    be->linear_bwd(ctx, l->dx, NULL, NULL, l->y, l->x, l->w, l->r, l->N, l->K, 0, l->dropout);
}
static void linear_dw(void *p)
{
    struct linear *l = p;
    be->linear_bwd(ctx, NULL, l->dw, NULL, l->y, l->x, l->w, l->r, l->N, l->K, 0, l->dropout);
}
static void linear_packed(void *p)
{
    struct linear *l = p;
    be->linear_packed(ctx, l->y, l->x, l->packed, l->b, (size_t)l->R, l->flags);
}

static struct linear linear_new(int R, int K, int N)
{
    size_t r = (size_t)R, k = (size_t)K, n = (size_t)N;
    return (struct linear){.r = rows_of(r, 1),
                           .R = R,
                           .N = N,
                           .K = K,
                           .x = fresh(r * k),
                           .w = fresh(k * n),
                           .b = fresh(n),
                           .y = fresh(r * n),
                           .dx = fresh(r * k),
                           .dw = fresh(k * n),
                           .db = fresh(n)};
}

static void linear_free(struct linear *l)
{
    be->rows_free(ctx, l->r);
    be->pack_free(ctx, l->packed);
    float *all[] = {l->x, l->w, l->b, l->y, l->dx, l->dw, l->db};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        drop(all[i]);
}

static void bench_linear(int R, const int (*shape)[2], size_t n)
{
    printf("linear, GFLOP/s%s\n", sides[1].be != NULL ? ": here | openblas and its ratio" : "");
    for (size_t i = 0; i < n; i++) {
        struct linear l = linear_new(R, shape[i][0], shape[i][1]);
        double flop = 2e-9 * l.R * l.N * l.K;
        printf("  %5d x %5d x %5d ", l.R, l.K, l.N);
        print_rates("forward", flop, linear_fwd, &l);
        print_rates("dx", flop, linear_dx, &l);
        print_rates("dw", flop, linear_dw, &l);
        putchar('\n');
        linear_free(&l);
    }
}

static void bench_packed(int side)
{
    static const int shape[][2] = {{512, 512}, {512, 1536}, {512, 2048}, {2048, 512}, {512, 37000},
                                   {128, 384}, {128, 256},  {256, 128},  {128, 6000}};
    static const int rows[] = {1, 2, 4, 6, 8, 12, 16, 32, 64, 128};
    struct tf_err err = {0};
    use(side);
    printf("packed, %s, 10^9 operations/s; rows", be->precision);
    for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++)
        printf(" %6d", rows[j]);
    putchar('\n');
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        struct linear l = linear_new(128, shape[i][0], shape[i][1]);
        l.packed = tf_pack_all(be, ctx, l.w, l.K, l.N, false, 0, &err);
        printf("  %14d x %5d", l.K, l.N);
        for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
            l.R = rows[j];
            double t;
            timed_sides(&t, side, 1, linear_packed, &l);
            printf(" %6.1f", 2e-9 * l.R * l.N * l.K / t);
            fflush(stdout);
        }
        putchar('\n');
        linear_free(&l);
    }    use(0);
}

/* ---- attention ---- */

static void attention_fwd(void *p)
{
    be->attention_fwd(ctx, p);
}
static void attention_bwd(void *p)
{
    be->attention_bwd(ctx, p);
}

static void bench_attention(size_t rows, size_t length, int heads, int dk, float p)
{
    size_t D = (size_t)(heads * dk), n = rows / length;
    struct tf_rows *r = rows_of(n * length, length);
    struct tf_attention a = {.q_rows = r,
                             .k_rows = r,
                             .q = fresh(rows * D),
                             .k = fresh(rows * D),
                             .v = fresh(rows * D),
                             .o = fresh(rows * D),
                             .ldq = D,
                             .ldk = D,
                             .ldv = D,
                             .ldo = D,
                             .heads = heads,
                             .dk = dk,
                             .dv = dk,
                             .dropout = {.p = p, .site = 16},
                             .lse = fresh(rows * (size_t)heads),
                             .d_o = fresh(rows * D),
                             .dq = fresh(rows * D),
                             .dk_ = fresh(rows * D),
                             .dv_ = fresh(rows * D)};
    double flop = 4e-9 * (double)(n * length * length * D), f = timed(attention_fwd, &a),
           b = timed(attention_bwd, &a);
    printf("  %5zu rows of %4zu, %d heads of %3d, dropout %.1f: forward %6.1f GFLOP/s, %6.2f us a "
           "row; backward %6.1f GFLOP/s, %6.2f us a row\n",
           n * length, length, heads, dk, (double)p, flop / f, f / (double)(n * length) * 1e6,
           flop * 2.5 / b, b / (double)(n * length) * 1e6);
    float *all[] = {(float *)a.q,   (float *)a.k, (float *)a.v, a.o,  a.lse,
                    (float *)a.d_o, a.dq,         a.dk_,        a.dv_};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        drop(all[i]);
    be->rows_free(ctx, r);
}

/* ---- attention over cached keys ---- */

enum { LAYERS = 12 }; /* together more than a cache of the processor holds, as in decoding */

struct cached {
    struct tf_cached_attention a[LAYERS];
    size_t rows, next;
};

static void cached_attention(void *p)
{
    struct cached *d = p;
    be->cached_attention(ctx, &d->a[d->next++ % LAYERS], d->rows);
}

static void bench_cached(size_t rows, size_t keys, int heads, int dk)
{
    const size_t D = (size_t)(heads * dk);
    struct cached d = {.rows = rows};
    uint32_t *table = (uint32_t *)fresh(rows * keys), *n_keys = (uint32_t *)fresh(rows);
    for (size_t r = 0; r < rows; r++) {
        n_keys[r] = (uint32_t)keys;
        for (size_t j = 0; j < keys; j++) /* keys of a step lie together, as in decoding */
            table[r * keys + j] = (uint32_t)(j * rows + (r * 7 + j * 3) % rows);
    }
    float *q = fresh(rows * D), *o = fresh(rows * D), *kv[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        kv[i] = fresh(2 * keys * rows * D);
        d.a[i] = (struct tf_cached_attention){.q = q,
                                              .k = kv[i],
                                              .v = kv[i] + keys * rows * D,
                                              .o = o,
                                              .ldq = D,
                                              .ldk = D,
                                              .ldv = D,
                                              .ldo = D,
                                              .heads = heads,
                                              .dk = dk,
                                              .dv = dk,
                                              .table = table,
                                              .table_ld = keys,
                                              .n_keys = n_keys};
    }
    double t = timed(cached_attention, &d), n = (double)(rows * keys * D);
    printf("  %4zu queries of %3zu keys, %d heads of %3d: %6.1f GFLOP/s, %5.1f GB/s\n", rows, keys,
           heads, dk, 4e-9 * n / t, 8e-9 * n / t);
    for (int i = 0; i < LAYERS; i++)
        drop(kv[i]);
    float *all[] = {q, o, (float *)table, (float *)n_keys};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        drop(all[i]);
}

/* ---- the vocabulary ---- */

static void xent(void *p)
{
    be->xent(ctx, p);
}

static void bench_xent(size_t rows, int D, int V)
{
    struct tf_rows *r = rows_of(rows, 1);
    uint32_t *targets = (uint32_t *)fresh(rows);
    for (size_t i = 0; i < rows; i++)
        targets[i] = (uint32_t)(i * 7919 % (size_t)V);
    struct tf_xent x = {.rows = r,
                        .x = fresh(rows * (size_t)D),
                        .e = fresh((size_t)V * (size_t)D),
                        .targets = targets,
                        .V = V,
                        .D = D,
                        .on = 0.9f,
                        .off = 0.1f / (float)V,
                        .acc = fresh(8),
                        .dx = fresh(rows * (size_t)D),
                        .de = fresh((size_t)V * (size_t)D)};
    double flop = 2e-9 * (double)rows * V * D;
    printf("vocabulary, GFLOP/s, %5zu rows, D %d, V %d:", rows, D, V);
    print_rates("with gradients", 3 * flop, xent, &x);
    float *dx = x.dx, *de = x.de;
    x.dx = x.de = NULL;
    print_rates("forward", flop, xent, &x);
    putchar('\n');
    float *all[] = {(float *)x.x, (float *)x.e, (float *)targets, x.acc, dx, de};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        drop(all[i]);
    be->rows_free(ctx, r);
}

/* ---- row by row and element by element ---- */

struct rowwise {
    struct tf_rows *r;
    size_t rows;
    int D;
    struct tf_dropout dropout;
    float *a, *b, *c, *d, *gain, *bias, *mean, *rstd, *dgain, *dbias, *table;
    uint32_t *ids;
    double *norm;
};

static void norm_fwd(void *p)
{
    struct rowwise *w = p;
    be->add_norm_fwd(ctx, w->c, w->d, w->mean, w->rstd, w->a, w->b, w->gain, w->bias, w->r, w->D,
                     1e-6f, w->dropout);
}
static void norm_bwd(void *p)
{
    struct rowwise *w = p;
    be->add_norm_bwd(ctx, w->a, w->b, w->dgain, w->dbias, w->d, NULL, w->c, w->mean, w->rstd,
                     w->gain, w->r, w->D, w->dropout);
}
static void embed_fwd(void *p)
{
    struct rowwise *w = p;
    be->embed_fwd(ctx, w->a, w->ids, w->table, w->b, w->r, w->D, 22, w->dropout);
}
static void embed_bwd(void *p)
{
    struct rowwise *w = p;
    be->embed_bwd(ctx, w->table, NULL, w->a, w->ids, w->r, w->D, 22, w->dropout);
}
static void adam(void *p)
{
    struct rowwise *w = p;
    struct tf_adam h = {.lr = 1e-9, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .gscale = 1, .t = 5};
    be->adam(ctx, w->a, w->b, w->c, w->d, w->rows * (size_t)w->D, w->norm, &h);
}
static void add(void *p)
{
    struct rowwise *w = p;
    be->add(ctx, w->a, w->b, w->rows * (size_t)w->D);
}
static void sumsq(void *p)
{
    struct rowwise *w = p;
    be->sumsq(ctx, w->norm, w->a, w->rows * (size_t)w->D, w->rows * (size_t)w->D);
}
static void log_softmax(void *p)
{
    struct rowwise *w = p;
    be->log_softmax(ctx, w->a, NULL, w->rows * (size_t)w->D / 32768, 32768, 0);
}

static void bench_rows(size_t rows, int D, float p)
{
    size_t n = rows * (size_t)D, d = (size_t)D;
    struct rowwise w = {.r = rows_of(rows, 1),
                        .rows = rows,
                        .D = D,
                        .dropout = {.p = p, .site = 3},
                        .a = fresh(n),
                        .b = fresh(n),
                        .c = fresh(n),
                        .d = fresh(n),
                        .gain = fresh(d),
                        .bias = fresh(d),
                        .mean = fresh(rows),
                        .rstd = fresh(rows),
                        .dgain = fresh(d),
                        .dbias = fresh(d),
                        .table = fresh(1000 * d),
                        .ids = (uint32_t *)fresh(rows),
                        .norm = (double *)fresh(2)};
    for (size_t i = 0; i < rows; i++)
        w.ids[i] = (uint32_t)(i * 7919 % 1000);
    *w.norm = 1;
    static const struct {
        const char *name;
        void (*f)(void *);
        int moved; /* floats read and written an element */
    } all[] = {{"add_norm_fwd", norm_fwd, 4},
               {"add_norm_bwd", norm_bwd, 4},
               {"embed_fwd", embed_fwd, 3},
               {"embed_bwd", embed_bwd, 3},
               {"adam", adam, 7},
               {"add", add, 3},
               {"sumsq", sumsq, 1},
               {"log_softmax", log_softmax, 4}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        memset(w.b, 0, n * sizeof *w.b);
        double t = timed(all[i].f, &w);
        printf("  %zu x %d, dropout %.1f: %-13s %6.2f GB/s, %6.3f ns an element\n", rows, D,
               (double)p, all[i].name, 4e-9 * all[i].moved * (double)n / t, t / (double)n * 1e9);
    }
    float *mem[] = {w.a,    w.b,     w.c,     w.d,     w.gain,         w.bias,         w.mean,
                    w.rstd, w.dgain, w.dbias, w.table, (float *)w.ids, (float *)w.norm};
    for (size_t i = 0; i < sizeof mem / sizeof mem[0]; i++)
        drop(mem[i]);
    be->rows_free(ctx, w.r);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    struct tf_err err = {0}, why = {0};
    const char *isa = getenv("TF_CPU_ISA");
    char *here = strdup(isa != NULL ? isa : "");
    setenv("TF_CPU_ISA", "openblas", 1);
    if (!open_side(1, "cpu", "fp32", &why))
        printf("%s\n", why.msg);
    setenv("TF_CPU_ISA", here, 1);
    free(here);
    const char *name = argc > 2 ? argv[2] : "cpu";
    if (!open_side(0, name, "fp32", &err)) {
        fprintf(stderr, "ops: %s\n", err.msg);
        return 1;
    }
    (void)open_side(2, name, "int8", &why);
    use(0);
    printf("%s: %s\n", be->name, be->describe(ctx));
    if (sides[1].be != NULL)
        printf("openblas: %s\n", sides[1].be->describe(sides[1].ctx));
    bool all = strcmp(what, "all") == 0;
    if (all || strcmp(what, "peak") == 0)
        bench_peak();
    if (all || strcmp(what, "base") == 0) {
        static const int shape[][2] = {{512, 512}, {512, 1536}, {512, 2048}, {2048, 512}};
        bench_linear(3100, shape, 4);
        bench_attention(3080, 28, 8, 64, 0.1f);
        bench_xent(3100, 512, 37000);
    }
    if (all || strcmp(what, "tiny") == 0) {
        static const int shape[][2] = {{128, 128}, {128, 384}, {128, 1024}, {128, 256}, {256, 128}};
        bench_linear(500, shape, 5);
        bench_attention(500, 20, 4, 32, 0.3f);
        bench_attention(500, 20, 4, 32, 0.0f);
        bench_attention(4000, 2000, 4, 32, 0.0f);
        bench_xent(500, 128, 6000);
    }
    if (all || strcmp(what, "rows") == 0) {
        bench_rows(3100, 512, 0.1f);
        bench_rows(3100, 512, 0);
        bench_rows(500, 128, 0.3f);
    }
    if (all || strcmp(what, "packed") == 0)
        for (int side = 0; side < 3; side += 2)
            if (sides[side].be != NULL)
                bench_packed(side);
    if (all || strcmp(what, "cached") == 0) {
        bench_cached(64, 28, 8, 64);
        bench_cached(256, 14, 8, 64);
        bench_cached(1, 28, 8, 64);
        bench_cached(64, 28, 4, 32);
    }
    for (int i = 0; i < 3; i++)
        if (sides[i].be != NULL)
            sides[i].be->close(sides[i].ctx);
    return 0;
}
