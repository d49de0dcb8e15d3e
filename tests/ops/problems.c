/* problems.c - every operation of struct tf_backend as a problem (harness/problem.h): random
 * options and inputs from a seed, one call, named results. A label names all that was drawn. The
 * table all_ops is at the end. */
#include "../harness/problem.h"

#include <stdarg.h>

#define P_ TF_ELEM_PARAM
#define A_ TF_ELEM_ACT
#define S_ TF_ELEM_STAT
#define U_ TF_ELEM_U32
#define F_ TF_ELEM_F64

static struct tf_dropout draw_dropout(struct tf_rng *g)
{
    return (struct tf_dropout){(float)PICK(g, 0, 1, 3, 5) / 10,
                               (uint32_t)PICK(g, 0, 1, 19, 115, 65535)};
}

static int draw_width(struct tf_rng *g, bool small)
{
    return small ? PICK(g, 1, 2, 3, 5, 8) : PICK(g, 1, 2, 3, 7, 16, 17, 33, 64, 100, 130);
}

/* Rows to normalise: at times as wide as those of base and big, for which a GPU has kernels of
 * their own; TF_TEST_LONG=1: as wide as any that it takes. */
static int draw_row(struct tf_rng *g, bool small)
{
    const bool all = getenv("TF_TEST_LONG") != NULL;
    if (small || !chance(g, all ? 0.4 : 0.1))
        return draw_width(g, small);
    return all ? PICK(g, 512, 700, 1024, 2048, 4096, 5000, 16384) : PICK(g, 512, 1024);
}

void label(struct problem *p, const char *fmt, ...)
{
    size_t n = (size_t)snprintf(p->label, sizeof p->label,
                                "%s sentences %zu rows %u+%u keys %u+%u dropout %g ", p->op->name,
                                p->n, p->q_off[0], p->q_off[p->n] - p->q_off[0], p->k_off[0],
                                p->k_off[p->n] - p->k_off[0], (double)p->dropout.p);
    va_list ap;
    va_start(ap, fmt);
    if (n < sizeof p->label)
        vsnprintf(p->label + n, sizeof p->label - n, fmt, ap);
    va_end(ap);
}

/* ---- embedding ---- */

static void make_embed(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->D = draw_width(g, small);
    p->V = PICK(g, 1, 4, 50);
    p->scale = (float)sqrt(p->D);
    p->dropout = draw_dropout(g);
    size_t rows = p->q_off[p->n] - p->q_off[0], longest = 1, D = (size_t)p->D;
    for (size_t s = 0; s < p->n; s++)
        longest = p->q_off[s + 1] - p->q_off[s] > longest ? p->q_off[s + 1] - p->q_off[s] : longest;
    double *ids = add_input(p, "ids", U_, PER_Q, 1);
    for (size_t i = 0; i < rows; i++)
        ids[i] = chance(g, 0.1) ? TF_NO_ID : (double)tf_rng_below(g, (uint64_t)p->V);
    add_normal(p, g, "table", P_, WHOLE, (size_t)p->V * D, 1 / (double)p->scale);
    add_normal(p, g, "dx", A_, PER_Q, D, 1);
    add_normal(p, g, "dtable0", P_, WHOLE, (size_t)p->V * D, 1);
    if (chance(g, 0.8)) {
        add_normal(p, g, "pos", P_, WHOLE, longest * D, 1);
        if (chance(g, 0.7))
            add_normal(p, g, "dpos0", P_, WHOLE, longest * D, 1);
    }
    label(p, "D %d V %d pos %d", p->D, p->V, find_input(p, "pos") != NULL);
}

static void run_embed(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    size_t D = (size_t)p->D;
    tf_mem *ids = give(r, "ids"), *table = give(r, "table"), *pos = give(r, "pos"),
           *dx = give(r, "dx");
    tf_mem *x = want(r, A_, PER_Q, D), *dtable = give_inout(r, "dtable0"),
           *dpos = give_inout(r, "dpos0");
    be->set_rng_state(r->l->c, &p->step);
    be->embed_fwd(r->l->c, x, ids, table, pos, r->q, p->D, p->scale, p->dropout);
    be->embed_bwd(r->l->c, dtable, dpos, dx, ids, r->q, p->D, p->scale, p->dropout);
    take(r, "x", x, A_, PER_Q, D, 0);
    take(r, "dtable", dtable, P_, WHOLE, (size_t)p->V * D, 0);
    const struct input *dpos0 = find_input(p, "dpos0");
    take(r, "dpos", dpos, P_, WHOLE, dpos0 != NULL ? dpos0->n : 0, 0);
}

/* ---- linear ---- */

static void make_linear(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->N = draw_width(g, small);
    p->K = draw_width(g, small);
    if (!small && chance(g, 0.1))
        *(chance(g, 0.5) ? &p->N : &p->K) = PICK(g, 264, 300, 512, 513, 600, 700);
    p->flags = chance(g, 0.5) ? TF_LIN_ADD_DX : 0;
    size_t N = (size_t)p->N, K = (size_t)p->K;
    add_normal(p, g, "x", A_, PER_Q, K, 1);
    add_normal(p, g, "w", P_, WHOLE, K * N, 1 / sqrt((double)K));
    if (chance(g, 0.7))
        add_normal(p, g, "b", P_, WHOLE, N, 1);
    add_normal(p, g, "dy", A_, PER_Q, N, 1);
    /* What dx is added to; 0, and not even given, where it is not. */
    bool all = chance(g, 0.7);
    if (all || chance(g, 0.5))
        add_normal(p, g, "dx0", A_, PER_Q, K, p->flags & TF_LIN_ADD_DX ? 1 : 0);
    p->want_dw = all || chance(g, 0.5);
    p->want_db = all || chance(g, 0.5);
    label(p, "K %d N %d flags %u b %d dx %d dw %d db %d", p->K, p->N, p->flags,
          find_input(p, "b") != NULL, find_input(p, "dx0") != NULL, p->want_dw, p->want_db);
}

static void run_linear(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    size_t N = (size_t)p->N, K = (size_t)p->K;
    tf_mem *x = give(r, "x"), *w = give(r, "w"), *b = give(r, "b"), *dy = give_inout(r, "dy"),
           *y = want(r, A_, PER_Q, N), *dx = NULL;
    if (find_input(p, "dx0") != NULL)
        dx = p->flags & TF_LIN_ADD_DX ? give_inout(r, "dx0") : want(r, A_, PER_Q, K);
    tf_mem *dw = p->want_dw ? want(r, P_, WHOLE, K * N) : NULL,
           *db = p->want_db ? want(r, P_, WHOLE, N) : NULL;
    be->linear_fwd(r->l->c, y, x, w, b, r->q, p->N, p->K, 0, p->dropout);
    be->linear_bwd(r->l->c, dx, dw, db, dy, x, w, r->q, p->N, p->K, p->flags, p->dropout);
    take(r, "y", y, A_, PER_Q, N, 0);
    take(r, "dx", dx, A_, PER_Q, K, 0);
    take(r, "dw", dw, P_, WHOLE, K * N, 0);
    take(r, "db", db, P_, WHOLE, N, 0);
}

/* y = dropout(max(0, x w + b)) w2: two layers, since the second one does the backward pass through
 * ReLU. */
static void make_feed_forward(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->K = draw_width(g, small);
    p->N = draw_width(g, small);
    p->D = draw_width(g, small);
    if (!small && chance(g, 0.2))
        p->N = PICK(g, 128, 256, 264, 300, 513);
    p->dropout = draw_dropout(g);
    size_t K = (size_t)p->K, N = (size_t)p->N, D = (size_t)p->D;
    /* Sums before ReLU are odd multiples of 1/64 and exact: the same sign everywhere, never near
     * 0. */
    add_grid(p, g, "x", A_, PER_Q, K, 0.25);
    add_grid(p, g, "w", P_, WHOLE, K * N, 0.25);
    double *b = add_grid(p, g, "b", P_, WHOLE, N, 0.25);
    for (size_t i = 0; i < N; i++)
        b[i] += 0x1p-6;
    add_normal(p, g, "w2", P_, WHOLE, N * D, 1 / sqrt((double)N));
    add_normal(p, g, "dy", A_, PER_Q, D, 1);
    p->want_dw = chance(g, 0.7);
    p->want_db = chance(g, 0.7);
    label(p, "K %d N %d D %d dw %d db %d", p->K, p->N, p->D, p->want_dw, p->want_db);
}

static void run_feed_forward(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    size_t K = (size_t)p->K, N = (size_t)p->N, D = (size_t)p->D;
    const struct tf_dropout none = {0};
    tf_mem *x = give(r, "x"), *w = give(r, "w"), *b = give(r, "b"), *w2 = give(r, "w2"),
           *dy = give_inout(r, "dy");
    tf_mem *hidden = want(r, A_, PER_Q, N), *y = want(r, A_, PER_Q, D),
           *dhidden = want(r, A_, PER_Q, N), *dx = want(r, A_, PER_Q, K);
    tf_mem *dw = want(r, P_, WHOLE, K * N), *db = want(r, P_, WHOLE, N);
    tf_mem *dw2 = p->want_dw ? want(r, P_, WHOLE, N * D) : NULL,
           *db2 = p->want_db ? want(r, P_, WHOLE, D) : NULL;
    be->set_rng_state(r->l->c, &p->step);
    be->linear_fwd(r->l->c, hidden, x, w, b, r->q, p->N, p->K, TF_LIN_RELU | TF_LIN_SAVE,
                   p->dropout);
    be->linear_fwd(r->l->c, y, hidden, w2, NULL, r->q, p->D, p->N, 0, none);
    be->linear_bwd(r->l->c, dhidden, dw2, db2, dy, hidden, w2, r->q, p->D, p->N, TF_LIN_FROM_RELU,
                   p->dropout);
    take(r, "dhidden", dhidden, A_, PER_Q, N, 0);
    be->linear_bwd(r->l->c, dx, dw, db, dhidden, x, w, r->q, p->N, p->K, 0, none);
    take(r, "hidden", hidden, A_, PER_Q, N, 0);
    take(r, "y", y, A_, PER_Q, D, 0);
    take(r, "dx", dx, A_, PER_Q, K, 0);
    take(r, "dw", dw, P_, WHOLE, K * N, 0);
    take(r, "db", db, P_, WHOLE, N, 0);
    take(r, "dw2", dw2, P_, WHOLE, N * D, 0);
    take(r, "db2", db2, P_, WHOLE, D, 1);
}

/* ---- activations ---- */

static void make_activation(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->N = draw_width(g, small);
    p->dropout = draw_dropout(g);
    p->layout = (int)tf_rng_below(g, 2);
    p->function = (enum tf_function)tf_rng_below(g, 3);
    add_normal(p, g, "x", A_, PER_Q, (size_t)p->N, small ? 1 : 20);
    add_normal(p, g, "dy", A_, PER_Q, (size_t)p->N, 1);
    label(p, "function %d N %d in place %d", (int)p->function, p->N, p->layout);
}

static void run_activation(struct run *r, const struct problem *p)
{
    const size_t N = (size_t)p->N;
    tf_mem *x = give(r, "x"), *dy = give_inout(r, "dy"), *y = want(r, A_, PER_Q, N);
    tf_mem *dx = p->layout ? dy : want(r, A_, PER_Q, N);
    r->l->be->set_rng_state(r->l->c, &p->step);
    r->l->be->activation_fwd(r->l->c, y, x, r->q, p->N, p->function, p->dropout);
    r->l->be->activation_bwd(r->l->c, dx, dy, x, r->q, p->N, p->function, p->dropout);
    take(r, "y", y, A_, PER_Q, N, 0);
    take(r, "dx", dx, A_, PER_Q, N, 0);
}

static void run_activation_rows(struct run *r, const struct problem *p)
{
    tf_mem *x = give_inout(r, "x"), *y = p->layout ? x : want(r, A_, PER_Q, (size_t)p->N);
    r->l->be->activation_rows(r->l->c, y, x, r->rows, p->N, p->function);
    take(r, "y", y, A_, PER_Q, (size_t)p->N, 0);
}

/* ---- simpler simple recurrent unit ---- */

/* The inputs of a column have one sign, and so have its cells: none is near 0, where ReLU has no
 * derivative. */
static void add_cells(struct problem *p, struct tf_rng *g)
{
    const size_t D = (size_t)p->D;
    double *xf = add_normal(p, g, "xf", A_, PER_Q, 2 * D, 1.5);
    for (size_t i = 0; i < p->in[p->n_in - 1].n; i++)
        if (i % (2 * D) < D)
            xf[i] = (float)((0.2 + fabs(xf[i])) * (i % (2 * D) % 3 == 1 ? -1 : 1));
    add_normal(p, g, "b", P_, WHOLE, D, 1);
}

static void make_ssru(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->D = draw_width(g, small);
    p->layout = small || chance(g, 0.7);
    add_cells(p, g);
    add_normal(p, g, "dy", A_, PER_Q, (size_t)p->D, 1);
    label(p, "D %d backward %d", p->D, p->layout);
}

static void run_ssru(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    const size_t D = (size_t)p->D;
    tf_mem *xf = give(r, "xf"), *b = give(r, "b"), *dy = give(r, "dy"), *y = want(r, A_, PER_Q, D),
           *cell = p->layout ? want(r, A_, PER_Q, D) : NULL, *dxf = want(r, A_, PER_Q, 2 * D),
           *db = want(r, P_, WHOLE, D);
    be->ssru_fwd(r->l->c, y, cell, xf, b, r->q, p->D);
    take(r, "y", y, A_, PER_Q, D, 0);
    if (cell == NULL)
        return;
    be->ssru_bwd(r->l->c, dxf, db, dy, xf, cell, b, r->q, p->D);
    take(r, "dxf", dxf, A_, PER_Q, 2 * D, 0);
    take(r, "db", db, P_, WHOLE, D, 1);
}

static void make_ssru_rows(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->D = draw_width(g, small);
    p->ld = (size_t)PICK(g, 1, 2, 7, 16);
    const size_t slots = 2 * p->n + 3; /* slots below n are read, those from n on written */
    add_cells(p, g);
    add_normal(p, g, "cells", A_, WHOLE, slots * (size_t)p->D, 1);
    double *slot = add_input(p, "slot", U_, PER_Q, 1), *past = add_input(p, "n_past", U_, PER_Q, 1),
           *table = add_input(p, "table", U_, PER_Q, p->ld);
    for (size_t i = 0; i < p->n; i++) {
        slot[i] = (double)(2 * p->n - i);
        past[i] = 1 + (double)tf_rng_below(g, p->ld);
        for (size_t j = 0; j < p->ld; j++)
            table[i * p->ld + j] =
                j + 2 == past[i] ? (double)tf_rng_below(g, p->n + 1) : 0xfffffff0;
    }
    label(p, "D %d", p->D);
}

static void run_ssru_rows(struct run *r, const struct problem *p)
{
    const size_t D = (size_t)p->D;
    tf_mem *xf = give(r, "xf"), *b = give(r, "b"), *cells = give_inout(r, "cells"),
           *slot = give(r, "slot"), *table = give(r, "table"), *past = give(r, "n_past"),
           *y = want(r, A_, PER_Q, D);
    r->l->be->ssru_rows(r->l->c, y, cells, xf, b, slot, table, p->ld, past, r->rows, p->D);
    take(r, "y", y, A_, PER_Q, D, 1);
    take(r, "cells", cells, A_, WHOLE, find_input(p, "cells")->n, 1);
}

/* ---- add and norm ---- */

enum { S_OWN, S_IS_RES, S_IS_X, S_NONE };

/* Rows with a mean of 3, which a one-pass variance would trip over; a row of two or three elements
 * is spread, since 1/sqrt(var) of close ones magnifies any rounding. */
static void add_residual(struct problem *p, struct tf_rng *g, size_t D)
{
    double *res = add_normal(p, g, "res", A_, PER_Q, D, 1);
    for (size_t i = 0; i < p->in[p->n_in - 1].n; i++)
        res[i] = (float)(res[i] + 3 + (D <= 3 ? 16 * (double)(i % D) : 0));
}

static void make_add_norm(struct problem *p, struct tf_rng *g, bool small)
{
    static const char *const where[] = {"own", "res", "x", "none"};
    make_batch(p, g, small);
    p->D = draw_row(g, small);
    p->eps = small ? 1e-3f : 1e-6f;
    p->alias = small ? S_OWN : (int)tf_rng_below(g, 4);
    size_t D = (size_t)p->D;
    if (chance(g, 0.7)) {
        p->dropout = draw_dropout(g);
        add_normal(p, g, "x", A_, PER_Q, D, 1);
    } else if (p->alias == S_IS_X) {
        p->alias = S_OWN;
    }
    add_residual(p, g, D);
    add_normal(p, g, "gain", P_, WHOLE, D, 1);
    add_normal(p, g, "bias", P_, WHOLE, D, 1);
    if (chance(g, 0.85))
        add_normal(p, g, "dy", A_, PER_Q, D, 1);
    if (chance(g, 0.6))
        add_normal(p, g, "dsum", A_, PER_Q, D, 1);
    p->layout = (int)tf_rng_below(g, 2); /* ds in place of dsum */
    label(p, "D %d s %s x %d dy %d dsum %d in place %d", p->D, where[p->alias],
          find_input(p, "x") != NULL, find_input(p, "dy") != NULL, find_input(p, "dsum") != NULL,
          p->layout);
}

static void run_add_norm(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    size_t D = (size_t)p->D;
    bool back = p->alias != S_NONE;
    tf_mem *x = p->alias == S_IS_X ? give_inout(r, "x") : give(r, "x");
    tf_mem *res = p->alias == S_IS_RES ? give_inout(r, "res") : give(r, "res");
    tf_mem *gain = give(r, "gain"), *bias = give(r, "bias"), *dy = give(r, "dy");
    tf_mem *dsum = p->layout ? give_inout(r, "dsum") : give(r, "dsum");
    tf_mem *s = p->alias == S_IS_X     ? x
                : p->alias == S_IS_RES ? res
                : back                 ? want(r, A_, PER_Q, D)
                                       : NULL;
    tf_mem *y = want(r, A_, PER_Q, D), *mean = back ? want(r, S_, PER_Q, 1) : NULL,
           *rstd = back ? want(r, S_, PER_Q, 1) : NULL;
    tf_mem *ds = p->layout && dsum != NULL ? dsum : want(r, A_, PER_Q, D),
           *dx = x != NULL ? want(r, A_, PER_Q, D) : NULL;
    tf_mem *dgain = want(r, P_, WHOLE, D), *dbias = want(r, P_, WHOLE, D);
    be->set_rng_state(r->l->c, &p->step);
    be->add_norm_fwd(r->l->c, s, y, mean, rstd, x, res, gain, bias, r->q, p->D, p->eps, p->dropout);
    if (back)
        be->add_norm_bwd(r->l->c, ds, dx, dgain, dbias, dy, dsum, s, mean, rstd, gain, r->q, p->D,
                         p->dropout);
    take(r, "y", y, A_, PER_Q, D, 1);
    if (!back)
        return;
    take(r, "s", s, A_, PER_Q, D, 0);
    take(r, "mean", mean, S_, PER_Q, 1, 1);
    take(r, "rstd", rstd, S_, PER_Q, 1, 0);
    take(r, "ds", ds, A_, PER_Q, D, 1);
    take(r, "dx", dx, A_, PER_Q, D, 1);
    if (dy != NULL) {
        take(r, "dgain", dgain, P_, WHOLE, D, 1);
        take(r, "dbias", dbias, P_, WHOLE, D, 1);
    }
}

static void make_norm_rows(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->D = draw_row(g, small);
    p->eps = 1e-6f;
    p->alias = (int)tf_rng_below(g, 4);
    size_t D = (size_t)p->D;
    if (chance(g, 0.7))
        add_normal(p, g, "x", A_, PER_Q, D, 1);
    else if (p->alias == S_IS_X)
        p->alias = S_OWN;
    add_residual(p, g, D);
    add_normal(p, g, "gain", P_, WHOLE, D, 1);
    add_normal(p, g, "bias", P_, WHOLE, D, 1);
    label(p, "D %d s %d x %d", p->D, p->alias, find_input(p, "x") != NULL);
}

static void run_norm_rows(struct run *r, const struct problem *p)
{
    size_t D = (size_t)p->D;
    tf_mem *x = p->alias == S_IS_X ? give_inout(r, "x") : give(r, "x");
    tf_mem *res = p->alias == S_IS_RES ? give_inout(r, "res") : give(r, "res");
    tf_mem *gain = give(r, "gain"), *bias = give(r, "bias"), *y = want(r, A_, PER_Q, D);
    tf_mem *s = p->alias == S_IS_X     ? x
                : p->alias == S_IS_RES ? res
                : p->alias == S_OWN    ? want(r, A_, PER_Q, D)
                                       : NULL;
    r->l->be->add_norm_rows(r->l->c, s, y, x, res, gain, bias, r->rows, p->D, p->eps);
    take(r, "y", y, A_, PER_Q, D, 1);
    take(r, "s", s, A_, PER_Q, D, 0);
}

/* ---- attention ---- */

enum { LAY_APART, LAY_PADDED, LAY_FUSED };

static void make_attention(struct problem *p, struct tf_rng *g, bool small)
{
    const bool middling = !small && chance(g, 0.1);
    p->self = chance(g, 0.6);
    make_batch(p, g, small);
    if (middling && p->n > 3)
        p->n = 3; /* a dozen with 32 heads fill 1.6 GB and show no more */
    for (size_t s = 0; middling && s < p->n; s++) { /* sentences of 33 to 64 tokens */
        p->q_off[s + 1] = p->q_off[s] + 33 + (uint32_t)tf_rng_below(g, 32);
        p->k_off[s + 1] = p->self ? p->q_off[s + 1] : p->k_off[s] + 64;
    }
    p->H = small ? PICK(g, 1, 2, 3) : PICK(g, 1, 2, 3, 8, 16, 32);
    /* The kernels for tensor cores take multiples of 16, and the fastest of them 64. */
    p->dk = small      ? PICK(g, 1, 2, 3)
            : p->H > 8 ? PICK(g, 1, 3, 16)
                       : PICK(g, 1, 3, 8, 16, 17, 48, 64, 64, 64, 128, 256);
    p->dv = chance(g, 0.7) ? p->dk : small ? PICK(g, 1, 2, 4) : PICK(g, 1, 5, 16, 33);
    if (middling)
        p->dk = p->dv = 64;
    p->causal = p->self && chance(g, 0.5);
    p->window = chance(g, 0.3) ? PICK(g, 1, 2, 5, 40) : 0;
    p->dropout = draw_dropout(g);
    p->layout = (int)tf_rng_below(g, 3);
    p->alias = middling || !chance(g, 0.5); /* without probs */
    size_t H = (size_t)p->H, dk = (size_t)p->dk, dv = (size_t)p->dv;
    enum per k = p->self ? PER_Q : PER_K;
    add_normal(p, g, "q", A_, PER_Q, H * dk, 1);
    add_normal(p, g, "k", A_, k, H * dk, 1);
    add_normal(p, g, "v", A_, k, H * dv, 1);
    add_normal(p, g, "do", A_, PER_Q, H * dv, 1);
    label(p, "H %d dk %d dv %d %s%s window %d layout %d probs %d", p->H, p->dk, p->dv,
          p->self ? "self" : "cross", p->causal ? " causal" : "", p->window, p->layout, !p->alias);
}

static void run_attention(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    size_t H = (size_t)p->H, hk = H * (size_t)p->dk, hv = H * (size_t)p->dv;
    enum per k_per = p->self ? PER_Q : PER_K;
    const struct input *q = find_input(p, "q"), *k = find_input(p, "k"), *v = find_input(p, "v"),
                       *d_o = find_input(p, "do");
    struct tf_attention a = {.q_rows = r->q,
                             .k_rows = r->k,
                             .heads = p->H,
                             .dk = p->dk,
                             .dv = p->dv,
                             .causal = p->causal,
                             .window = p->window,
                             .dropout = p->dropout};
    /* rows at multiples of 16 bytes, too */
    size_t pad = p->layout == LAY_APART ? 0 : p->dk % 16 == 0 ? 8 : 3;
    a.ldo = hv + pad;
    size_t vk = hk + pad; /* where v's columns begin in k's buffer */
    if (p->layout == LAY_FUSED) {
        /* As the model lays them out: q, k, v in one buffer, or k and v in one. */
        size_t kq = p->self ? hk : 0;
        a.ldq = p->self ? 2 * hk + hv + pad : hk + pad;
        a.ldk = a.ldv = p->self ? a.ldq : hk + hv + pad;
        vk = kq + hk;
        if (p->self) {
            a.q = give_strided(r, q, a.ldq, 0, k, kq, v, vk);
            a.dq = want(r, A_, PER_Q, a.ldq);
            a.k = tf_at(be, A_, a.q, kq);
            a.dk_ = tf_at(be, A_, a.dq, kq);
        } else {
            a.q = give_strided(r, q, a.ldq, 0, NULL, 0, NULL, 0);
            a.dq = want(r, A_, PER_Q, a.ldq);
            a.k = give_strided(r, k, a.ldk, 0, v, vk, NULL, 0);
            a.dk_ = want(r, A_, PER_K, a.ldk);
        }
        a.v = tf_at(be, A_, a.k, vk - kq);
        a.dv_ = tf_at(be, A_, a.dk_, vk - kq);
    } else {
        a.ldq = a.ldk = hk + pad;
        a.ldv = hv + pad;
        a.q = give_strided(r, q, a.ldq, 0, NULL, 0, NULL, 0);
        a.k = give_strided(r, k, a.ldk, 0, NULL, 0, NULL, 0);
        a.v = give_strided(r, v, a.ldv, 0, NULL, 0, NULL, 0);
        a.dq = want(r, A_, PER_Q, a.ldq);
        a.dk_ = want(r, A_, k_per, a.ldk);
        a.dv_ = want(r, A_, k_per, a.ldv);
    }
    a.d_o = give_strided(r, d_o, a.ldo, 0, NULL, 0, NULL, 0);
    a.o = want(r, A_, PER_Q, a.ldo);
    a.lse = want(r, S_, PER_Q, H);
    a.probs = p->alias ? NULL : want(r, S_, PER_QK, H);

    be->set_rng_state(r->l->c, &p->step);
    be->attention_fwd(r->l->c, &a);
    be->attention_bwd(r->l->c, &a);

    take_strided(r, "o", a.o, A_, PER_Q, a.ldo, 0, hv, 1);
    take(r, "lse", a.lse, S_, PER_Q, H, 1);
    take(r, "probs", a.probs, S_, PER_QK, H, 0);
    bool one = p->layout == LAY_FUSED && p->self, two = p->layout == LAY_FUSED;
    const tf_mem *dk_ = one ? a.dq : a.dk_, *dv_ = two ? dk_ : a.dv_;
    take_strided(r, "dq", a.dq, A_, PER_Q, a.ldq, 0, hk, 1);
    take_strided(r, "dk", dk_, A_, k_per, a.ldk, one ? hk : 0, hk, 1);
    take_strided(r, "dv", dv_, A_, k_per, a.ldv, two ? vk : 0, hv, 1);
    check_gap(r, a.o, PER_Q, a.ldo, hv);
    check_gap(r, a.dq, PER_Q, a.ldq, one ? 2 * hk + hv : hk);
    if (!one)
        check_gap(r, a.dk_, k_per, a.ldk, two ? hk + hv : hk);
    if (!two)
        check_gap(r, a.dv_, k_per, a.ldv, hv);
}

/* Elements between rows of q and o, and of k and v: with 0 and 8, kernels can load vectors. */
static size_t query_gap(const struct problem *p)
{
    return p->layout % 2 == 0 ? 0 : 3;
}
static size_t cache_gap(const struct problem *p)
{
    return p->layout < 2 ? 8 : 5;
}

static void make_cached_attention(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->H = PICK(g, 1, 2, 3, 8, 16, 32);
    p->dk = PICK(g, 1, 3, 8, 16, 17, 32, 64, 128, 256);
    p->dv = chance(g, 0.5) ? p->dk : PICK(g, 1, 5, 16, 33, 64);
    p->layout = chance(g, 0.5) ? 0 : (int)tf_rng_below(g, 4);
    size_t H = (size_t)p->H, longest = (size_t)PICK(g, 1, 2, 7, 16, 17, 60), cache = longest + 40;
    p->ld = longest + 2;
    bool table = chance(g, 0.5);
    add_normal(p, g, "q", A_, PER_Q, H * (size_t)p->dk, 1.5);
    add_normal(p, g, "k", A_, WHOLE, cache * (H * (size_t)p->dk + cache_gap(p)), 1.5);
    add_normal(p, g, "v", A_, WHOLE, cache * (H * (size_t)p->dv + cache_gap(p)), 1);
    double *n = add_input(p, "n_keys", U_, PER_Q, 1),
           *first = add_input(p, table ? "table" : "first", U_, PER_Q, table ? p->ld : 1);
    for (size_t r = 0; r < p->n; r++) {
        n[r] = chance(g, 0.05) ? 0 : 1 + (double)tf_rng_below(g, longest);
        for (size_t j = 0; table && j < p->ld; j++)
            first[r * p->ld + j] = j < n[r] ? (double)tf_rng_below(g, cache) : 0xfffffff0;
        if (!table)
            first[r] = (double)tf_rng_below(g, 40);
        if (!table && r > 0 && chance(g, 0.6)) /* as hypotheses of a sentence */
            first[r] = first[r - 1], n[r] = n[r - 1];
    }
    p->window = chance(g, 0.3) ? PICK(g, 1, 2, 5, 40) : 0;
    label(p, "H %d dk %d dv %d table %d up to %zu keys, window %d", p->H, p->dk, p->dv, table,
          longest, p->window);
}

static void run_cached_attention(struct run *r, const struct problem *p)
{
    size_t H = (size_t)p->H, hk = H * (size_t)p->dk, hv = H * (size_t)p->dv,
           pad = query_gap(p);
    struct tf_cached_attention a = {.heads = p->H,
                                    .dk = p->dk,
                                    .dv = p->dv,
                                    .ldq = hk + pad,
                                    .ldk = hk + cache_gap(p),
                                    .ldv = hv + cache_gap(p),
                                    .ldo = hv + pad,
                                    .table_ld = p->ld,
                                    .window = p->window};
    a.q = give_strided(r, find_input(p, "q"), a.ldq, 0, NULL, 0, NULL, 0);
    a.k = give(r, "k");
    a.v = give(r, "v");
    a.table = give(r, "table");
    a.first = give(r, "first");
    a.n_keys = give(r, "n_keys");
    a.o = want(r, A_, PER_Q, a.ldo);
    r->l->be->cached_attention(r->l->c, &a, r->rows);
    take_strided(r, "o", a.o, A_, PER_Q, a.ldo, 0, hv, 1);
    check_gap(r, a.o, PER_Q, a.ldo, hv);
}

/* ---- cross-entropy ---- */

static void make_xent(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->D = draw_width(g, small);
    p->V = small ? PICK(g, 2, 3, 7) : PICK(g, 1, 2, 5, 97, 128, 1000);
    double eps = PICK(g, 0, 1, 2) / 10.0;
    bool t2t = p->V > 1 && chance(g, 0.5), ties = chance(g, 0.3),
         forward = !small && chance(g, 0.2);
    /* A multiple of 2^-16, so that the distribution sums to 1 in float as well: dz = p - q takes
     * that for granted. */
    p->off = (float)(rint(0x1p16 * eps / (t2t ? p->V - 1 : p->V)) * 0x1p-16);
    p->on = (float)(1 - (p->V - 1) * (double)p->off);
    size_t V = (size_t)p->V, D = (size_t)p->D;
    if (ties) { /* equal logits, exactly, and so equal winners */
        add_grid(p, g, "x", A_, PER_Q, D, 0.25);
        double *e = add_grid(p, g, "e", P_, WHOLE, V * D, 0.25);
        for (size_t j = V / 2; j < V; j++)
            memcpy(e + j * D, e + (V - 1 - j) * D, D * sizeof *e);
    } else {
        add_normal(p, g, "x", A_, PER_Q, D, 1);
        add_normal(p, g, "e", P_, WHOLE, V * D, 2 / sqrt((double)D));
    }
    double *targets = add_input(p, "targets", U_, PER_Q, 1);
    for (size_t i = 0; i < p->q_off[p->n] - p->q_off[0]; i++)
        targets[i] = (double)tf_rng_below(g, V);
    double *acc = add_input(p, "acc0", F_, WHOLE, 4), *one = add_input(p, "one", F_, WHOLE, 1);
    for (int i = 0; i < 4; i++)
        acc[i] = 1 + i;
    one[0] = 1;
    p->alias = forward;
    p->layout = chance(g, 0.5); /* with logp */
    if (chance(g, 0.5))
        add_grid(p, g, "b", P_, WHOLE, V, 0.25);
    if (chance(g, 0.5)) {
        double *w = add_grid(p, g, "weights", S_, PER_Q, 1, 0.5);
        for (size_t i = 0; i < p->q_off[p->n] - p->q_off[0]; i++)
            w[i] = fabs(w[i]);
    }
    label(p, "D %d V %d on %g off %g%s%s b %d w %d logp %d", p->D, p->V, (double)p->on,
          (double)p->off, ties ? " ties" : "", forward ? " forward" : "",
          find_input(p, "b") != NULL, find_input(p, "weights") != NULL, p->layout);
}

static void run_xent(struct run *r, const struct problem *p)
{
    size_t V = (size_t)p->V, D = (size_t)p->D;
    struct tf_xent x = {.rows = r->q, .V = p->V, .D = p->D, .on = p->on, .off = p->off,
                        .x = give(r, "x"), .e = give(r, "e"), .b = give(r, "b"),
                        .targets = give(r, "targets"), .weights = give(r, "weights")};
    x.acc = give_inout(r, "acc0");
    x.logp = p->layout ? want(r, S_, PER_Q, 1) : NULL;
    x.dx = p->alias ? NULL : want(r, A_, PER_Q, D);
    x.de = p->alias ? NULL : want(r, P_, WHOLE, V * D);
    x.db = p->alias || x.b == NULL ? NULL : want(r, P_, WHOLE, V);
    r->l->be->set_rng_state(r->l->c, &p->step);
    r->l->be->xent(r->l->c, &x);
    static const char *const sums[] = {"loss", "nll", "correct", "rows"};
    for (size_t i = 0; i < 4; i++)
        take_strided(r, sums[i], x.acc, F_, WHOLE, 4, i, 1, 0);
    take(r, "logp", x.logp, S_, PER_Q, 1, 1);
    take(r, "dx", x.dx, A_, PER_Q, D, 1);
    take(r, "de", x.de, P_, WHOLE, V * D, 1);
    take(r, "db", x.db, P_, WHOLE, V, 1);
}

/* ---- updates ---- */

static void make_flat(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, true);
    size_t n = small ? 5 : (size_t)PICK(g, 0, 1, 2, 15, 16, 17, 31, 100, 257, 5000);
    p->N = (int)n;
    for (const char *const *name = (const char *const[]){"p", "m", "g", NULL}; *name != NULL;
         name++)
        add_normal(p, g, *name, P_, WHOLE, n, 1);
    double *v = add_normal(p, g, "v", P_, WHOLE, n, 1);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(v[i] * v[i]);
    add_normal(p, g, "f", F_, WHOLE, n, 1);
    double *norm2 = add_input(p, "norm2", F_, WHOLE, 1);
    norm2[0] = (double)PICK(g, 0, 1, 100, 12345);
    p->eps_hat = chance(g, 0.5);
    p->clip = PICK(g, 0, 0, 1, 50);
    p->gscale = chance(g, 0.5) ? 1 : 1 / 1000.0;
    p->lr = 0.01;
    p->t = (uint64_t)PICK(g, 1, 2, 1000, 300000);
    label(p, "n %zu eps_hat %d clip %g gscale %g t %llu norm2 %g", n, p->eps_hat, p->clip,
          p->gscale, (unsigned long long)p->t, norm2[0]);
}

static struct tf_adam adam_of(const struct problem *p)
{
    return (struct tf_adam){.lr = p->lr,
                            .beta1 = 0.9,
                            .beta2 = 0.98,
                            .eps = 1e-9,
                            .gscale = p->gscale,
                            .clip = p->clip,
                            .decay = p->t % 2 == 0 ? 0.1 : 0,
                            .t = p->t,
                            .eps_hat = p->eps_hat};
}

static void run_adam(struct run *r, const struct problem *p)
{
    struct tf_adam h = adam_of(p);
    size_t n = (size_t)p->N;
    tf_mem *param = give_inout(r, "p"), *m = give_inout(r, "m"), *v = give_inout(r, "v"),
           *g = give(r, "g"), *norm2 = give(r, "norm2");
    r->l->be->adam(r->l->c, param, m, v, g, n, norm2, &h);
    take(r, "p", param, P_, WHOLE, n, 0);
    take(r, "m", m, P_, WHOLE, n, 0);
    take(r, "v", v, P_, WHOLE, n, 0);
}

static void run_add(struct run *r, const struct problem *p)
{
    tf_mem *a = give_inout(r, "p"), *b = give(r, "g");
    r->l->be->add(r->l->c, a, b, (size_t)p->N);
    take(r, "a", a, P_, WHOLE, (size_t)p->N, 0);
}

static void run_ema(struct run *r, const struct problem *p)
{
    tf_mem *e = give_inout(r, "m"), *param = give(r, "p");
    r->l->be->ema(r->l->c, e, param, (size_t)p->N, 0.999);
    take(r, "e", e, P_, WHOLE, (size_t)p->N, 0);
}

static void run_sums(struct run *r, const struct problem *p)
{
    const size_t chunk = (size_t)p->N / 3 + 1, chunks = ((size_t)p->N + chunk - 1) / chunk;
    tf_mem *sumsq = want(r, F_, WHOLE, chunks), *sum = want(r, F_, WHOLE, 1), *x = give(r, "g"),
           *f = give(r, "f");
    r->l->be->sumsq(r->l->c, sumsq, x, (size_t)p->N, chunk);
    r->l->be->sum(r->l->c, sum, f, (size_t)p->N);
    take(r, "sumsq", sumsq, F_, WHOLE, chunks, 0);
    take(r, "sum", sum, F_, WHOLE, 1, 1);
}

/* ---- decoding ---- */

static void make_packed(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->N = draw_width(g, small);
    p->K = draw_width(g, small);
    if (chance(g, 0.1))
        *(chance(g, 0.5) ? &p->N : &p->K) = PICK(g, 300, 513, 700);
    if (!small && chance(g, 0.6)) { /* what a device may have fast kernels for */
        p->K = PICK(g, 8, 40, 64, 128, 264, 512, 600);
        p->N = PICK(g, 8, 100, 130, 136, 264, 300);
    }
    p->transposed = chance(g, 0.4);
    p->flags = (chance(g, 0.4) ? TF_LIN_RELU : 0) | (chance(g, 0.4) ? TF_LIN_STAT : 0);
    size_t N = (size_t)p->N, K = (size_t)p->K;
    add_normal(p, g, "x", A_, PER_Q, K, 1);
    add_normal(p, g, "w", P_, WHOLE, K * N, 1 / sqrt((double)K));
    if (chance(g, 0.7))
        add_normal(p, g, "b", P_, WHOLE, N, 1);
    label(p, "K %d N %d flags %u transposed %d b %d", p->K, p->N, p->flags, p->transposed,
          find_input(p, "b") != NULL);
}

static void run_packed(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    struct tf_err err = {0};
    enum tf_elem out = p->flags & TF_LIN_STAT ? S_ : A_;
    tf_mem *x = give(r, "x"), *w = give_inout(r, "w"), *b = give(r, "b"),
           *y = want(r, out, PER_Q, (size_t)p->N);
    struct tf_packed *packed = be->pack_new(r->l->c, p->K, p->N, 0, &err);
    if (packed == NULL)
        TF_BUG("%s: %s", be->name, err.msg);
    const size_t N = (size_t)p->N, K = (size_t)p->K;
    for (size_t j = 0; j < N; j += TF_PACK_COLUMNS) /* in parts */
        be->pack(r->l->c, packed, tf_at(be, P_, w, p->transposed ? j * K : j), N, p->transposed, j,
                 N - j < TF_PACK_COLUMNS ? N - j : TF_PACK_COLUMNS);
    be->zero(r->l->c, w, P_, (size_t)p->N * (size_t)p->K); /* the original may go */
    be->linear_packed(r->l->c, y, x, packed, b, r->rows, p->flags);
    take(r, "y", y, out, PER_Q, (size_t)p->N, 0);
    be->pack_free(r->l->c, packed);
}

static void make_embed_rows(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->D = draw_width(g, small);
    p->V = PICK(g, 1, 4, 50);
    p->scale = (float)sqrt(p->D);
    size_t places = (size_t)PICK(g, 1, 5, 60), D = (size_t)p->D;
    double *ids = add_input(p, "ids", U_, PER_Q, 1), *at = add_input(p, "at", U_, PER_Q, 1);
    for (size_t i = 0; i < p->n; i++) {
        ids[i] = chance(g, 0.1) ? TF_NO_ID : (double)tf_rng_below(g, (uint64_t)p->V);
        at[i] = (double)tf_rng_below(g, places);
    }
    add_normal(p, g, "table", P_, WHOLE, (size_t)p->V * D, 1);
    if (chance(g, 0.8))
        add_normal(p, g, "pos", P_, WHOLE, places * D, 1);
    label(p, "D %d V %d pos %d", p->D, p->V, find_input(p, "pos") != NULL);
}

static void run_embed_rows(struct run *r, const struct problem *p)
{
    tf_mem *ids = give(r, "ids"), *at = give(r, "at"), *table = give(r, "table"),
           *pos = give(r, "pos"), *x = want(r, A_, PER_Q, (size_t)p->D);
    r->l->be->embed_rows(r->l->c, x, ids, at, table, pos, r->rows, p->D, p->scale);
    take(r, "x", x, A_, PER_Q, (size_t)p->D, 0);
}

static void run_embed_packed(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    struct tf_err err = {0};
    tf_mem *ids = give(r, "ids"), *at = give(r, "at"), *table = give(r, "table"),
           *pos = give(r, "pos"), *x = want(r, A_, PER_Q, (size_t)p->D);
    struct tf_packed *w = tf_pack_all(be, r->l->c, table, p->D, p->V, true, 0, &err);
    be->embed_packed(r->l->c, x, ids, at, w, pos, r->rows, p->scale);
    take(r, "x", x, A_, PER_Q, (size_t)p->D, 0);
    be->pack_free(r->l->c, w);
}

static void make_scatter(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->N = draw_width(g, small);
    p->K = p->N + (int)tf_rng_below(g, 4); /* ld of src */
    p->D = p->N + (int)tf_rng_below(g, 4); /* ld of dst */
    size_t slots = 2 * p->n + 3;
    add_normal(p, g, "src", A_, PER_Q, (size_t)p->K, 1);
    add_normal(p, g, "dst", A_, WHOLE, slots * (size_t)p->D, 1);
    double *slot = add_input(p, "slot", U_, PER_Q, 1);
    uint64_t turn = tf_rng_below(g, slots);
    for (size_t i = 0; i < p->n; i++)
        slot[i] = (double)((2 * i + turn) % slots); /* slots is odd: all different */
    label(p, "n %d ld %d %d", p->N, p->K, p->D);
}

static void run_scatter(struct run *r, const struct problem *p)
{
    tf_mem *src = give(r, "src"), *slot = give(r, "slot"), *dst = give_inout(r, "dst");
    r->l->be->scatter_rows(r->l->c, dst, (size_t)p->D, src, (size_t)p->K, slot, r->rows,
                           (size_t)p->N);
    take(r, "dst", dst, A_, WHOLE, find_input(p, "dst")->n, 0);
}

static void make_softmax(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->V = small ? PICK(g, 1, 2, 7) : PICK(g, 1, 2, 5, 16, 97, 128, 1000);
    double *z = add_normal(p, g, "z", S_, PER_Q, (size_t)p->V, 4);
    for (size_t i = 0; i < p->n * (size_t)p->V; i++)
        if (i % (size_t)p->V > 0 && chance(g, 0.02))
            z[i] = -INFINITY;
    if (chance(g, 0.5)) {
        double *acc = add_normal(p, g, "acc0", S_, PER_Q, (size_t)p->V, 1);
        for (size_t i = 0; i < p->n * (size_t)p->V; i++)
            acc[i] = chance(g, 0.05) ? -INFINITY : -100 * fabs(acc[i]);
    }
    label(p, "V %d acc %d", p->V, find_input(p, "acc0") != NULL);
}

static void run_softmax(struct run *r, const struct problem *p)
{
    tf_mem *z = give_inout(r, "z"), *acc = give_inout(r, "acc0");
    r->l->be->log_softmax(r->l->c, z, acc, r->rows, p->V, 0.25f);
    take(r, acc != NULL ? "acc" : "logp", acc != NULL ? acc : z, S_, PER_Q, (size_t)p->V, 1);
}

/* ---- the table ---- */

#define OP(NAME, FN, TOLERANCE) \
    .name = NAME, .make = make_##FN, .run = run_##FN, .tolerance = TOLERANCE
#define FLAT(NAME, FN, TOLERANCE) \
    .name = NAME, .make = make_flat, .run = run_##FN, .tolerance = TOLERANCE
#define ROW_WISE .row_wise = true
#define PLAIN .row_wise = true, .plain = true

/* Tolerances: |x - y| / (|y| + rms y) against ref64. The number in OP is for backends in float.
 * .bf16 and .fp16, where results are rounded to 8 or 11 bits, are the worst error seen, with room
 * for another order of sums: half an ulp for an output of one product or sum, more for gradients
 * through several. */
const struct op all_ops[] = {
    {OP("embed", embed, 1e-6), .bf16 = 5e-3, .fp16 = 6e-4, ROW_WISE, .loss = {{"x", "dx"}},
     .wrt = {{"table", "dtable", "dtable0"}, {"pos", "dpos", "dpos0"}}},
    {OP("linear", linear, 1e-5), .bf16 = 1.5e-2, .fp16 = 2e-3, .loss = {{"y", "dy"}},
     .wrt = {{"x", "dx", "dx0"}, {"w", "dw", NULL}, {"b", "db", NULL}}},
    {OP("feed_forward", feed_forward, 1e-5), .bf16 = 3e-2, .fp16 = 5e-3, .loss = {{"y", "dy"}},
     .wrt = {{"x", "dx", NULL}, {"w", "dw", NULL}, {"b", "db", NULL}, {"w2", "dw2", NULL}}},
    {OP("activation", activation, 1e-6), .bf16 = 5e-3, .fp16 = 6e-4, ROW_WISE,
     .loss = {{"y", "dy"}}, .wrt = {{"x", "dx", NULL}}},
    {OP("ssru", ssru, 1e-5), .bf16 = 3e-2, .fp16 = 5e-3, ROW_WISE, .loss = {{"y", "dy"}},
     .wrt = {{"xf", "dxf", NULL}, {"b", "db", NULL}}},
    {OP("add_norm", add_norm, 1e-5), .bf16 = 3e-2, .fp16 = 5e-3, ROW_WISE,
     .loss = {{"y", "dy"}, {"s", "dsum"}},
     .wrt = {{"x", "dx", NULL},
             {"res", "ds", NULL},
             {"gain", "dgain", NULL},
             {"bias", "dbias", NULL}}},
    {OP("attention", attention, 1e-5), .bf16 = 8e-2, .fp16 = 1.2e-2, ROW_WISE,
     .loss = {{"o", "do"}}, .wrt = {{"q", "dq", NULL}, {"k", "dk", NULL}, {"v", "dv", NULL}}},
    {OP("xent", xent, 1e-5), .bf16 = 3e-2, .fp16 = 5e-3, .loss = {{"loss", "one"}},
     .wrt = {{"x", "dx", NULL}, {"e", "de", NULL}, {"b", "db", NULL}}},
    {FLAT("add", add, 1e-6)},
    {FLAT("sumsq and sum", sums, 1e-6)},
    {FLAT("adam", adam, 1e-6)},
    {FLAT("ema", ema, 1e-6)},
    {OP("linear_packed", packed, 1e-5), .bf16 = 2.5e-2, .fp16 = 2e-3, PLAIN},
    {OP("linear_listed", listed, 1e-5), .bf16 = 2.5e-2, .fp16 = 2e-3, PLAIN},
    {.name = "activation_rows", .make = make_activation, .run = run_activation_rows,
     .tolerance = 1e-6, .bf16 = 5e-3, .fp16 = 6e-4, PLAIN},
    {OP("ssru_rows", ssru_rows, 1e-5), .bf16 = 5e-3, .fp16 = 6e-4, PLAIN},
    {OP("embed_rows", embed_rows, 1e-6), .bf16 = 5e-3, .fp16 = 6e-4, PLAIN},
    {.name = "embed_packed", .make = make_embed_rows, .run = run_embed_packed, .tolerance = 1e-6,
     .bf16 = 1e-2, .fp16 = 1.2e-3, PLAIN},
    {OP("add_norm_rows", norm_rows, 1e-5), .bf16 = 5e-3, .fp16 = 6e-4, PLAIN},
    {OP("cached_attention", cached_attention, 1e-5), .bf16 = 5e-3, .fp16 = 6e-4, PLAIN},
    {OP("scatter_rows", scatter, 0), PLAIN},
    {OP("log_softmax", softmax, 1e-5), PLAIN},
};
const size_t n_ops = sizeof all_ops / sizeof *all_ops;
