/* problem.c - operations run on backends from host arrays: see problem.h. */
#include "problem.h"
#include "ops/registry.h"
#include "plugin.h"
#include "base/bits.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

float normal(struct tf_rng *g)
{
    return (float)tf_rng_normal(g);
}

int pick(struct tf_rng *g, const int *v, size_t n)
{
    return v[tf_rng_below(g, n)];
}

bool chance(struct tf_rng *g, double p)
{
    return tf_rng_real(g) < p;
}

/* ---- problems ---- */

const struct input *find_input(const struct problem *p, const char *name)
{
    for (size_t i = 0; name != NULL && i < p->n_in; i++)
        if (strcmp(p->in[i].name, name) == 0)
            return &p->in[i];
    return NULL;
}

static size_t cells_before(const struct problem *p, size_t s)
{
    size_t sum = 0;
    for (size_t i = 0; i < s; i++)
        sum += (size_t)(p->q_off[i + 1] - p->q_off[i]) * (p->k_off[i + 1] - p->k_off[i]);
    return sum;
}

/* First element of sentence s in an array. */
static size_t start_of(const struct problem *p, enum per per, size_t width, size_t s)
{
    switch (per) {
    case PER_Q:
        return (p->q_off[s] - p->q_off[0]) * width;
    case PER_K:
        return (p->k_off[s] - p->k_off[0]) * width;
    case PER_QK:
        return cells_before(p, s) * width;
    case WHOLE:
        break;
    }
    return 0;
}

double *add_input(struct problem *p, const char *name, enum tf_elem e, enum per per, size_t width)
{
    TF_ASSERT(p->n_in < MAX_IO);
    size_t n = per == WHOLE ? width : start_of(p, per, width, p->n);
    double *v = tf_arena_zalloc(&p->mem, (n + 1) * sizeof *v);
    p->in[p->n_in++] = (struct input){name, e, per, width, n, v};
    return v;
}

double *add_normal(struct problem *p, struct tf_rng *g, const char *name, enum tf_elem e,
                   enum per per, size_t width, double scale)
{
    double *v = add_input(p, name, e, per, width);
    for (size_t i = 0; i < p->in[p->n_in - 1].n; i++)
        v[i] = (float)((double)normal(g) * scale);
    return v;
}

double *add_grid(struct problem *p, struct tf_rng *g, const char *name, enum tf_elem e,
                 enum per per, size_t width, double unit)
{
    double *v = add_input(p, name, e, per, width);
    for (size_t i = 0; i < p->in[p->n_in - 1].n; i++)
        v[i] = ((double)tf_rng_below(g, 9) - 4) * unit;
    return v;
}

void make_batch(struct problem *p, struct tf_rng *g, bool small)
{
    static const int lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};
    int shape = (int)tf_rng_below(g, small ? 5 : 9);
    size_t n = shape == 0   ? 0
               : shape == 1 ? 1
               : small      ? 1 + tf_rng_below(g, 3)
                            : 1 + tf_rng_below(g, 12);
    if (p->op->plain)
        n = shape == 0   ? 0
            : small      ? 1 + tf_rng_below(g, 4)
            : shape == 8 ? 150
                         : (size_t)PICK(g, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 33, 70);
    p->n = n;
    p->q_off = tf_arena_zalloc(&p->mem, (n + 1) * sizeof *p->q_off);
    p->k_off = tf_arena_zalloc(&p->mem, (n + 1) * sizeof *p->k_off);
    if (chance(g, 0.5)) {
        p->q_off[0] = (uint32_t)tf_rng_below(g, 5000);
        p->k_off[0] = (uint32_t)tf_rng_below(g, 5000);
    }
    for (size_t s = 0; s < n; s++) {
        size_t range = small ? 4 : sizeof lengths / sizeof lengths[0];
        uint32_t t = (uint32_t)lengths[tf_rng_below(g, range)],
                 k = (uint32_t)lengths[tf_rng_below(g, range)];
        if (!small && shape == 8 && s == n / 2) {
            /* past every block of rows that a backend may work in */
            t = chance(g, 0.5) ? 137 : 290;
            k = 150;
        }
        if (chance(g, 0.1))
            t = 0;
        if (chance(g, 0.1))
            k = 0;
        if (p->op->plain)
            t = k = 1;
        p->q_off[s + 1] = p->q_off[s] + t;
        p->k_off[s + 1] = p->k_off[s] + k;
    }
    if (p->self)
        memcpy(p->k_off, p->q_off, (n + 1) * sizeof *p->q_off);
}

void make_problem(struct problem *p, const struct op *op, uint64_t seed, bool small)
{
    struct tf_rng g = tf_rng_new(seed, 77);
    *p =
        (struct problem){.op = op,
                         .step = {.seed = tf_rng_u64(&g), .update = (uint32_t)tf_rng_below(&g, 9)}};
    op->make(p, &g, small);
}

void free_problem(struct problem *p)
{
    tf_arena_release(&p->mem);
}

/* ---- lanes ---- */

bool is_16_bit(const struct tf_backend *be)
{
    return be->elem_size[TF_ELEM_ACT] == sizeof(uint16_t);
}

bool multiplies_16_bit(const struct tf_backend *be)
{
    return strcmp(be->precision, "bf16") == 0 || strcmp(be->precision, "fp16") == 0;
}

double tolerance_of(const struct op *op, const struct tf_backend *be)
{
    double t = strcmp(be->precision, "bf16") == 0   ? op->bf16
               : strcmp(be->precision, "fp16") == 0 ? op->fp16
                                                    : 0;
    return t > 0 ? t : op->tolerance;
}

struct lane open_lane_as(const struct candidate *v)
{
    struct tf_err err = {0};
    const struct tf_backend *be = v->be;
    const struct tf_ctx_opts o = {.threads = 1};
    struct lane l = {.be = be,
                     .c = be->open(&o, &err),
                     .name = v->name,
                     .junk = strcmp(be->name, "cuda") == 0 ? 777 : NAN};
    if (l.c == NULL)
        TF_BUG("%s: %s", v->name, err.msg);
    return l;
}

struct lane open_ref64(void)
{
    static const struct candidate c = {&tf_backend_ref_f64, NULL, "ref64"};
    return open_lane_as(&c);
}

void close_lane(struct lane *l)
{
    l->be->close(l->c);
}

/* ---- buffers of a run ---- */

/* bf16 or fp16 as its bits, to the nearest, ties to even. */
uint16_t to_16_bit(const struct tf_backend *be, double x)
{
    float f = (float)x;
    if (strcmp(be->precision, "bf16") == 0) {
        uint32_t u;
        memcpy(&u, &f, sizeof u);
        return isnan(x) ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
    uint16_t bits = 0x7e00;
    int e = 0;
    if (isfinite(f))
        frexp((double)f, &e);
    double unit = ldexp(1, (e > -13 ? e : -13) - 11); /* between neighbouring halves at f */
    if (isfinite(f))
        f = (float)(rint((double)f / unit) * unit);
    if (!isnan(f))
        tf_half_exact(fabsf(f) > 65504 ? copysignf(INFINITY, f) : f, &bits);
    return bits;
}

double from_16_bit(const struct tf_backend *be, uint16_t bits)
{
    if (strcmp(be->precision, "bf16") == 0) {
        uint32_t u = (uint32_t)bits << 16;
        float f;
        memcpy(&f, &u, sizeof f);
        return (double)f;
    }
    return (double)tf_half_to_float(bits);
}

void round_problem(struct problem *p, const struct tf_backend *be)
{
    for (size_t i = 0; multiplies_16_bit(be) && i < p->n_in; i++)
        for (size_t k = 0; p->in[i].elem == TF_ELEM_ACT && k < p->in[i].n; k++)
            p->in[i].v[k] = from_16_bit(be, to_16_bit(be, p->in[i].v[k]));
}

void to_elements(const struct lane *l, enum tf_elem e, void *dst, const double *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (e == TF_ELEM_U32)
            ((uint32_t *)dst)[i] = (uint32_t)(isnan(src[i]) ? 0xfffffff0 : src[i]);
        else if (l->be->elem_size[e] == sizeof(uint16_t))
            ((uint16_t *)dst)[i] = to_16_bit(l->be, src[i]);
        else if (l->be->elem_size[e] == sizeof(double))
            ((double *)dst)[i] = src[i];
        else
            ((float *)dst)[i] = (float)src[i];
}

void from_elements(const struct lane *l, enum tf_elem e, double *dst, const void *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (e == TF_ELEM_U32)
            dst[i] = ((const uint32_t *)src)[i];
        else if (l->be->elem_size[e] == sizeof(uint16_t))
            dst[i] = from_16_bit(l->be, ((const uint16_t *)src)[i]);
        else if (l->be->elem_size[e] == sizeof(double))
            dst[i] = ((const double *)src)[i];
        else
            dst[i] = (double)((const float *)src)[i];
}

/* A buffer of `cap` elements and a guard; the first n from v, those up to cap `junk`. */
static tf_mem *new_buf(struct run *r, enum tf_elem e, size_t cap, const double *v, size_t n,
                       double junk, bool input)
{
    TF_ASSERT(r->n_buf < MAX_BUFS && n <= cap);
    struct tf_err err = {0};
    size_t size = r->l->be->elem_size[e];
    double *values = tf_arena_alloc(&r->mem, (cap + GUARD) * sizeof *values);
    for (size_t i = 0; i < cap + GUARD; i++)
        values[i] = i < n ? v[i] : i < cap ? (e == TF_ELEM_U32 && !isnan(junk) ? 0 : junk) : 12345;
    struct buf *b = &r->buf[r->n_buf++];
    *b = (struct buf){.elem = e, .n = cap, .input = input};
    b->before = tf_arena_alloc(&r->mem, (cap + GUARD) * size);
    to_elements(r->l, e, b->before, values, cap + GUARD);
    b->p = r->l->be->alloc(r->l->c, e, cap + GUARD, &err);
    if (b->p == NULL)
        TF_BUG("%s: %s", r->l->be->name, err.msg);
    r->l->be->upload(r->l->c, b->p, e, b->before, cap + GUARD);
    return b->p;
}

static size_t capacity(const struct run *r, enum per per, size_t width)
{
    switch (per) {
    case PER_Q:
        return r->cap_q * width;
    case PER_K:
        return r->cap_k * width;
    case PER_QK:
        return (cells_before(r->p, r->to) - cells_before(r->p, r->from)) * width;
    case WHOLE:
        break;
    }
    return width;
}

static size_t count(const struct run *r, enum per per, size_t width)
{
    return per == PER_Q   ? r->rows * width
           : per == PER_K ? r->keys * width
                          : capacity(r, per, width);
}

static tf_mem *give_as(struct run *r, const char *name, bool input)
{
    const struct input *in = find_input(r->p, name);
    if (in == NULL)
        return NULL;
    return new_buf(r, in->elem, capacity(r, in->per, in->width),
                   in->v + start_of(r->p, in->per, in->width, r->from),
                   count(r, in->per, in->width), r->l->junk, input);
}

tf_mem *give(struct run *r, const char *name)
{
    return give_as(r, name, true);
}

tf_mem *give_inout(struct run *r, const char *name)
{
    return give_as(r, name, false);
}

tf_mem *give_strided(struct run *r, const struct input *in, size_t ld, size_t col,
                     const struct input *in2, size_t col2, const struct input *in3, size_t col3)
{
    const struct input *ins[3] = {in, in2, in3};
    const size_t cols[3] = {col, col2, col3};
    size_t cap = capacity(r, in->per, ld), rows = count(r, in->per, 1);
    double *v = tf_arena_alloc(&r->mem, (cap + 1) * sizeof *v);
    for (size_t i = 0; i < cap; i++)
        v[i] = r->l->junk;
    for (int k = 0; k < 3; k++)
        if (ins[k] != NULL)
            for (size_t i = 0; i < rows; i++)
                memcpy(v + i * ld + cols[k],
                       ins[k]->v + start_of(r->p, ins[k]->per, ins[k]->width, r->from) +
                           i * ins[k]->width,
                       ins[k]->width * sizeof *v);
    return new_buf(r, in->elem, cap, v, cap, 0, true);
}

tf_mem *want(struct run *r, enum tf_elem e, enum per per, size_t width)
{
    return new_buf(r, e, capacity(r, per, width), NULL, 0, NAN, false);
}

static void spoil(struct run *r, const char *what, size_t i)
{
    r->spoiled = true;
    snprintf(r->why, sizeof r->why, "%s (buffer %zu)", what, i);
}

void take_strided(struct run *r, const char *name, const tf_mem *p, enum tf_elem e, enum per per,
                  size_t ld, size_t col, size_t width, double floor)
{
    TF_ASSERT(r->n_out < MAX_IO);
    struct tf_err err = {0};
    size_t n = count(r, per, ld), rows = ld == 0 ? 0 : n / ld;
    void *raw = tf_arena_alloc(&r->mem, (n + 1) * sizeof(double));
    double *all = tf_arena_alloc(&r->mem, (n + 1) * sizeof *all),
           *v = tf_arena_alloc(&r->mem, (rows * width + 1) * sizeof *v);
    if (r->l->be->download(r->l->c, raw, e, p, n, &err) != 0)
        TF_BUG("%s: %s", r->l->be->name, err.msg);
    from_elements(r->l, e, all, raw, n);
    for (size_t i = 0; i < rows; i++)
        memcpy(v + i * width, all + i * ld + col, width * sizeof *v);
    r->out[r->n_out++] = (struct output){name, per, width, rows * width, v, floor};
}

void take(struct run *r, const char *name, const tf_mem *p, enum tf_elem e, enum per per,
          size_t width, double floor)
{
    if (p != NULL)
        take_strided(r, name, p, e, per, width, 0, width, floor);
}

void check_gap(struct run *r, const tf_mem *p, enum per per, size_t ld, size_t from)
{
    struct tf_err err = {0};
    size_t n = count(r, per, ld);
    void *raw = tf_arena_alloc(&r->mem, (n + 1) * sizeof(double));
    double *all = tf_arena_alloc(&r->mem, (n + 1) * sizeof *all);
    if (r->l->be->download(r->l->c, raw, TF_ELEM_ACT, p, n, &err) != 0)
        TF_BUG("%s: %s", r->l->be->name, err.msg);
    from_elements(r->l, TF_ELEM_ACT, all, raw, n);
    for (size_t i = 0; i < n; i++)
        if (i % ld >= from && !isnan(all[i]))
            spoil(r, "wrote between the rows", i);
}

/* ---- a run ---- */

void run_problem(struct run *r, struct lane *l, const struct problem *p, size_t from, size_t to)
{
    struct tf_err err = {0};
    *r = (struct run){.l = l, .p = p, .from = from, .to = to};
    r->rows = p->q_off[to] - p->q_off[from];
    r->keys = p->k_off[to] - p->k_off[from];
    r->cap_q = r->rows + (p->op->plain ? 0 : 5);
    r->cap_k = p->self ? r->cap_q : r->keys + (p->op->plain ? 0 : 3);
    r->q = l->be->rows_new(l->c, r->cap_q, to - from + 2, &err);
    r->k = p->self ? r->q : l->be->rows_new(l->c, r->cap_k, to - from, &err);
    if (r->q == NULL || r->k == NULL)
        TF_BUG("%s: %s", l->be->name, err.msg);
    l->be->rows_set(l->c, r->q, to - from, p->q_off + from);
    if (!p->self)
        l->be->rows_set(l->c, r->k, to - from, p->k_off + from);

    p->op->run(r, p);

    if (l->be->sync(l->c, &err) != 0)
        TF_BUG("%s: %s", l->be->name, err.msg);
    for (size_t i = 0; i < r->n_buf; i++) {
        struct buf *b = &r->buf[i];
        size_t size = l->be->elem_size[b->elem], n = b->n + GUARD,
               skip = b->input ? 0 : b->n * size;
        char *now = tf_arena_alloc(&r->mem, n * size);
        if (l->be->download(l->c, now, b->elem, b->p, n, &err) != 0)
            TF_BUG("%s: %s", l->be->name, err.msg);
        if (memcmp(now + skip, (char *)b->before + skip, n * size - skip) != 0)
            spoil(r, b->input ? "changed an input" : "wrote past the end", i);
        l->be->free(l->c, b->p);
    }
    l->be->rows_free(l->c, r->q);
    if (!p->self)
        l->be->rows_free(l->c, r->k);
}

void free_run(struct run *r)
{
    tf_arena_release(&r->mem);
}

const struct output *find_output(const struct run *r, const char *name)
{
    for (size_t i = 0; i < r->n_out; i++)
        if (strcmp(r->out[i].name, name) == 0)
            return &r->out[i];
    return NULL;
}

/* ---- comparison ---- */

double worst_error(const double *x, const double *y, size_t n, double floor)
{
    double sum = 0, worst = 0;
    size_t finite = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(y[i])) {
            sum += y[i] * y[i];
            finite++;
        }
    double rms = finite > 0 ? sqrt(sum / (double)finite) : 0;
    for (size_t i = 0; i < n; i++) {
        if (x[i] == y[i] || (isnan(x[i]) && isnan(y[i])))
            continue;
        double e = fabs(x[i] - y[i]) / fmax(fabs(y[i]) + rms, floor);
        if (!(e <= worst))
            worst = isnan(e) ? INFINITY : e;
    }
    return worst;
}

double compare_runs(const struct run *x, const struct run *y, const char **name)
{
    double worst = 0;
    *name = "nothing";
    if (x->n_out != y->n_out)
        return INFINITY;
    for (size_t i = 0; i < x->n_out; i++) {
        const struct output *a = &x->out[i], *b = &y->out[i];
        double e = a->n == b->n && strcmp(a->name, b->name) == 0
                       ? worst_error(a->v, b->v, a->n, b->floor)
                       : INFINITY;
        if (e > worst) {
            worst = e;
            *name = a->name;
        }
    }
    return worst;
}

const char *compare_rows(const struct run *whole, const struct run *part)
{
    for (size_t i = 0; i < whole->n_out; i++) {
        const struct output *a = &whole->out[i], *b = &part->out[i];
        if (a->per == WHOLE)
            continue;
        size_t at = start_of(whole->p, a->per, a->width, part->from),
               end = start_of(whole->p, a->per, a->width, part->to);
        if (end - at != b->n || memcmp(a->v + at, b->v, b->n * sizeof *b->v) != 0)
            return a->name;
    }
    return NULL;
}

const char *compare_bytes(const struct run *x, const struct run *y)
{
    for (size_t i = 0; i < x->n_out; i++)
        if (x->out[i].n != y->out[i].n ||
            memcmp(x->out[i].v, y->out[i].v, x->out[i].n * sizeof(double)) != 0)
            return x->out[i].name;
    return NULL;
}

uint64_t first_case(void)
{
    const char *first = getenv("TF_TEST_FIRST");
    return first != NULL ? strtoull(first, NULL, 10) : 0;
}

bool wanted(const char *op)
{
    const char *only = getenv("TF_TEST_OPS");
    if (only == NULL)
        return true;
    for (size_t i = 0; i < n_ops; i++)
        if (strcmp(only, all_ops[i].name) == 0)
            return strcmp(only, op) == 0;
    bail_out("TF_TEST_OPS=%s: no such operation", only);
}

/* ---- which backends ---- */

size_t candidates(struct candidate v[MAX_CANDIDATES], bool with_ref64)
{
    static const char *const names[MAX_CANDIDATES][3] = {{"ref"},
                                                         {"ref64"},
                                                         {"cpu", "generic"},
                                                         {"cpu", "avx2"},
                                                         {"cpu", "avx512"},
                                                         {"cpu", "neon"},
                                                         {"cpu", "openblas"},
                                                         {"cpu", "generic", "bf16"},
                                                         {"cpu", NULL, "bf16"},
                                                         {"cuda", NULL, "fp32"},
                                                         {"cuda", NULL, "bf16"},
                                                         {"cuda", NULL, "fp16"}};
    const char *only = getenv("TF_TEST_BACKENDS");
    size_t n = 0;
    use_built_plugin();
    unsetenv("TF_CPU_ISA");
    ok(tf_backend_find("cpu", NULL, TF_USE_TRAINING, NULL, &(struct tf_err){0}) != NULL,
       "cpu can be used");
    for (size_t i = 0; i < MAX_CANDIDATES; i++) {
        struct tf_err err = {0};
        struct candidate c = {.isa = names[i][1]};
        if (!with_ref64 && strcmp(names[i][0], "ref64") == 0)
            continue;
        if (only != NULL && strcmp(names[i][0], only) != 0)
            continue;
        snprintf(c.name, sizeof c.name, "%s", names[i][0]);
        for (int k = 1; k < 3; k++)
            if (names[i][k] != NULL)
                snprintf(c.name + strlen(c.name), sizeof c.name - strlen(c.name), " %s",
                         names[i][k]);
        if (c.isa != NULL)
            setenv("TF_CPU_ISA", c.isa, 1);
        c.be = tf_backend_find(names[i][0], names[i][2], TF_USE_TRAINING, NULL, &err);
        unsetenv("TF_CPU_ISA");
        if (c.be != NULL) {
            v[n++] = c;
        } else {
            char reason[sizeof err.msg + 32];
            snprintf(reason, sizeof reason, "no %s: %s", c.name, err.msg);
            skip(reason);
        }
    }
    return n;
}
