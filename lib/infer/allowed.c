/* allowed.c - see allowed_private.h. */
#include "infer/allowed_private.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void tf_allowed_release(struct tf_allowed_group *g)
{
    free(g->sentence);
    free(g->columns);
    free(g->from);
    free(g->place);
    tf_ids_release(&g->all);
    tf_ids_release(&g->ids);
    *g = (struct tf_allowed_group){0};
}

/* Marks of ids, and how many there are. */
struct marks {
    uint32_t *v;
    size_t ids, n;
};

static void mark_id(struct marks *m, size_t id)
{
    if (id < m->ids && m->v[id] == 0) {
        m->v[id] = 1;
        m->n++;
    }
}

static void mark_source(struct marks *m, const struct tf_allowed_rule *rule, uint32_t id)
{
    const struct tf_shortlist *s = rule->list;
    if (rule->one_vocab)
        mark_id(m, id);
    for (size_t i = id < s->n ? s->off[id] : 0; id < s->n && i < s->off[id + 1]; i++)
        mark_id(m, s->ids[i]);
}

static void mark_sentence(struct marks *m, const struct tf_allowed_rule *rule,
                          const struct tf_allowed_sentence *s)
{
    for (size_t i = 0; i < rule->list->first; i++)
        mark_id(m, i);
    for (size_t i = 0; i < s->n_src; i++)
        mark_source(m, rule, s->src[i]);
    if (rule->source_eos)
        mark_source(m, rule, rule->eos);
    for (size_t i = rule->list->first; i < m->ids && m->n % 8 != 0; i++)
        mark_id(m, i);
    mark_id(m, rule->eos);
    for (size_t i = 0; i < s->n_prefix; i++)
        mark_id(m, s->prefix[i]);
    for (size_t i = 0; i < s->wanted->n; i++)
        for (size_t k = 0; k < s->wanted->v[i].n; k++)
            for (size_t j = 0; j < s->wanted->v[i].v[k].n; j++)
                mark_id(m, s->wanted->v[i].v[k].ids[j]);
}

/* Append the marked ids in order, and clear the marks. */
static void collect(struct tf_ids *to, struct marks *m)
{
    for (uint32_t id = 0; id < m->ids; id++)
        if (m->v[id] != 0) {
            tf_ids_add(to, &id, 1);
            m->v[id] = 0;
        }
    m->n = 0;
}

/* The union, and where each sentence has its ids in it. */
static void unite(struct tf_allowed_group *g, struct marks *m)
{
    const size_t total = g->ids.n;
    if (total > g->columns_cap) {
        g->columns_cap = total + total / 2;
        g->columns = tf_xarray(g->columns, g->columns_cap, sizeof *g->columns);
    }
    for (size_t i = 0; i < total; i++)
        mark_id(m, g->ids.v[i]);
    g->all.n = 0;
    collect(&g->all, m);
    for (size_t i = 0; i < g->all.n; i++)
        m->v[g->all.v[i]] = (uint32_t)i;
    for (size_t i = 0; i < total; i++)
        g->columns[i] = m->v[g->ids.v[i]];
}

void tf_allowed_set(struct tf_allowed_group *g, const struct tf_allowed_rule *rule,
                    const struct tf_allowed_sentence *sentences, size_t n)
{
    if (n > g->cap) {
        g->cap = n + n / 2;
        g->sentence = tf_xarray(g->sentence, g->cap, sizeof *g->sentence);
        g->from = tf_xarray(g->from, g->cap + 1, sizeof *g->from);
    }
    if (rule->ids > g->place_cap) {
        g->place_cap = rule->ids;
        g->place = tf_xarray(g->place, g->place_cap, sizeof *g->place);
    }
    struct marks m = {.v = g->place, .ids = rule->ids};
    memset(m.v, 0, m.ids * sizeof *m.v);
    g->n = n;
    g->ids.n = 0;
    g->from[0] = 0;
    for (size_t i = 0; i < n; i++) {
        mark_sentence(&m, rule, &sentences[i]);
        collect(&g->ids, &m);
        g->from[i + 1] = g->ids.n;
    }
    for (size_t i = 0; i < n; i++)
        g->sentence[i] = (struct tf_allowed){g->ids.v + g->from[i], g->from[i + 1] - g->from[i]};
    unite(g, &m);
}

void tf_allowed_gather(const struct tf_allowed_group *g, const struct tf_search *q, tf_mem *z)
{
    const size_t ld = g->all.n;
    for (size_t i = 0; i < g->n; i++) {
        const uint32_t *column = g->columns + g->from[i];
        const size_t n = g->sentence[i].n;
        if (n == ld)
            continue;
        for (size_t r = q->row0[i]; r < q->row0[i] + q->live[i]; r++)
            for (size_t j = 0; j < n; j++) /* column[j] >= j */
                if (q->be->elem_size[TF_ELEM_STAT] == sizeof(float))
                    ((float *)z)[r * ld + j] = ((const float *)z)[r * ld + column[j]];
                else
                    ((double *)z)[r * ld + j] = ((const double *)z)[r * ld + column[j]];
    }
}
