/* listed.c - the problem of linear_listed and log_softmax_listed: rows three by three are of a
 * sentence, which has columns of its own. */
#include "problem.h"

#include <math.h>
#include <string.h>

enum { TOGETHER = 3 };

void make_listed(struct problem *p, struct tf_rng *g, bool small)
{
    make_batch(p, g, small);
    p->N = PICK(g, 1, 2, 7, 40, 60, 130);
    p->K = PICK(g, 1, 5, 8, 33, 64, 130, 264);
    const size_t N = (size_t)p->N, K = (size_t)p->K;
    add_normal(p, g, "x", TF_ELEM_ACT, PER_Q, K, 1);
    add_normal(p, g, "w", TF_ELEM_PARAM, WHOLE, K * N, 1 / sqrt((double)K));
    if (chance(g, 0.5))
        add_normal(p, g, "b", TF_ELEM_PARAM, WHOLE, N, 1);
    if (chance(g, 0.5))
        add_normal(p, g, "acc0", TF_ELEM_STAT, PER_Q, N, 1);
    add_input(p, "turn", TF_ELEM_U32, WHOLE, 1)[0] = (double)tf_rng_below(g, 5);
    label(p, "K %d N %d b %d acc %d", p->K, p->N, find_input(p, "b") != NULL,
          find_input(p, "acc0") != NULL);
}

/* The lists of the sentences that the rows from r->from on are of. Rows before it are not there. */
struct listed {
    size_t n;
    uint32_t *row0, *live, *off, *ids;
};

static struct listed lists_of(struct run *r, const struct problem *p)
{
    const size_t first = r->from / TOGETHER, N = (size_t)p->N,
                 n = r->rows > 0 ? (r->from + r->rows - 1) / TOGETHER - first + 1 : 0;
    const size_t turn = (size_t)find_input(p, "turn")->v[0];
    uint32_t *v = tf_arena_alloc(&r->mem, (3 * n + 1 + n * N) * sizeof *v);
    const struct listed l = {n, v, v + n, v + 2 * n, v + 3 * n + 1};
    uint32_t used = 0;
    l.off[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t s = first + i, from = s * TOGETHER > r->from ? s * TOGETHER - r->from : 0,
                     end = (s + 1) * TOGETHER - r->from;
        l.row0[i] = (uint32_t)from;
        l.live[i] = (uint32_t)((end < r->rows ? end : r->rows) - from);
        for (size_t j = 0; j < N; j++)
            if ((j * 7 + s + turn) % 5 < 2 || j == s % N)
                l.ids[used++] = (uint32_t)j;
        l.off[i + 1] = used;
    }
    return l;
}

static tf_mem *ids_to(struct run *r, const uint32_t *v, size_t n)
{
    tf_mem *p = want(r, TF_ELEM_U32, WHOLE, n + 1);
    r->l->be->upload(r->l->c, p, TF_ELEM_U32, v, n);
    return p;
}

/* On the host of all columns, of which the lists' are taken; on a device of them alone. The others
 * are 0. Logits, then their logarithms. */
void run_listed(struct run *r, const struct problem *p)
{
    const struct tf_backend *be = r->l->be;
    struct tf_ctx *c = r->l->c;
    struct tf_err err = {0};
    const size_t N = (size_t)p->N, size = be->elem_size[TF_ELEM_STAT];
    const struct listed v = lists_of(r, p);
    tf_mem *x = give(r, "x"), *b = give(r, "b"), *w = give(r, "w"),
           *z = want(r, TF_ELEM_STAT, PER_Q, N), *lp = want(r, TF_ELEM_STAT, PER_Q, N),
           *acc = give_inout(r, "acc0"), *to = acc != NULL ? acc : lp;
    struct tf_packed *packed = tf_pack_all(be, c, w, p->K, p->N, true, 0, &err);
    if (packed == NULL)
        TF_BUG("%s: %s", be->name, err.msg);
    void *zeros = tf_arena_alloc(&r->mem, r->rows * N * size + 1);
    memset(zeros, 0, r->rows * N * size);
    be->upload(c, z, TF_ELEM_STAT, zeros, r->rows * N);
    be->upload(c, lp, TF_ELEM_STAT, zeros, r->rows * N);
    const struct tf_lists l = {.row0 = ids_to(r, v.row0, v.n),
                               .live = ids_to(r, v.live, v.n),
                               .off = ids_to(r, v.off, v.n + 1),
                               .ids = ids_to(r, v.ids, v.off[v.n]),
                               .n = v.n,
                               .most = TOGETHER,
                               .ld = N};
    if (be->linear_listed != NULL) {
        be->linear_listed(c, z, x, packed, b, &l);
        be->linear_listed(c, lp, x, packed, b, &l);
        be->log_softmax_listed(c, lp, acc, &l, 0.25f);
    } else {
        char *all = tf_arena_alloc(&r->mem, (r->rows + 1) * N * size);
        be->linear_packed(c, all, x, packed, b, r->rows, TF_LIN_STAT);
        for (size_t i = 0; i < v.n; i++)
            for (size_t row = v.row0[i]; row < v.row0[i] + v.live[i]; row++) {
                const size_t from = row * N, own = v.off[i + 1] - v.off[i];
                for (size_t j = 0; j < own; j++)
                    memcpy((char *)z + (from + j) * size,
                           all + (from + v.ids[v.off[i] + j]) * size, size);
                memcpy((char *)lp + from * size, (char *)z + from * size, own * size);
                be->log_softmax(c, (char *)lp + from * size,
                                acc != NULL ? (char *)acc + from * size : NULL, 1, (int)own, 0.25f);
            }
    }
    take(r, "z", z, TF_ELEM_STAT, PER_Q, N, 0);
    take(r, "logp", to, TF_ELEM_STAT, PER_Q, N, 1);
    be->pack_free(c, packed);
}
