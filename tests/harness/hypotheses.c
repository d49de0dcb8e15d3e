/* hypotheses.c - see hypotheses.h. */
#include "hypotheses.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

int by_rule(const void *pa, const void *pb)
{
    const struct cand *a = pa, *b = pb;
    if (a->logp != b->logp)
        return a->logp > b->logp ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->x != b->x ? (a->x > b->x ? -1 : 1) : (a->id > b->id) - (a->id < b->id);
}

struct hyp continued(const struct hyp *from, const struct cand *c, bool end)
{
    struct hyp h = *from;
    h.logp = c->logp;
    h.lp[h.n] = c->x;
    if (!end)
        h.ids[h.n++] = c->id;
    return h;
}

void keep(struct hyp *v, size_t *n, size_t most, struct hyp h)
{
    size_t at = *n;
    while (at > 0 && v[at - 1].score < h.score)
        at--;
    if (at == most)
        return;
    *n += *n < most;
    for (size_t j = *n - 1; j > at; j--)
        v[j] = v[j - 1];
    v[at] = h;
}

bool same_ids(const struct hyp *a, const struct hyp *b)
{
    return a->n == b->n && memcmp(a->ids, b->ids, a->n * sizeof *a->ids) == 0;
}

float hash_logp(const struct hash_model *m, size_t sentence, const uint32_t *ids, size_t n,
                uint32_t v)
{
    uint64_t h = m->seed + sentence;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (ids[i] + 1)) * 0x9e3779b97f4a7c15u;
    struct tf_rng r = tf_rng_new(h * 0x9e3779b97f4a7c15u + v, 7);
    const double u = tf_rng_real(&r);
    if (m->holes && tf_rng_below(&r, 9) == 0)
        return -INFINITY;
    return m->levels > 0 ? -0.5F * (float)(1 + (int)(u * m->levels)) : (float)(-0.1 - 5 * u);
}

void fill_logp(float *lp, const struct hash_model *m, const struct tf_search *q)
{
    for (size_t i = 0; i < q->S; i++)
        for (size_t row = q->row0[i]; row < q->row0[i] + q->live[i]; row++) {
            uint32_t ids[MAX_LEN + 1];
            const size_t t = q->step[i];
            for (size_t k = 0; k < t; k++)
                ids[k] = q->hist_id[q->table[row * q->ld + k + 1]];
            for (uint32_t v = 0; v < q->opts.V; v++)
                lp[row * q->opts.V + v] = hash_logp(m, i / m->copies, ids, t, v);
        }
}
