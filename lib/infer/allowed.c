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
    free(g->marks);
    free(g->place);
    tf_ids_release(&g->all);
    tf_ids_release(&g->ids);
    tf_ids_release(&g->before);
    *g = (struct tf_allowed_group){0};
}

enum { BITS = 64 };

/* Marks of ids, a bit each. */
struct marks {
    uint64_t *v;
    size_t ids, words;
};

static void mark_id(struct marks *m, size_t id)
{
    if (id < m->ids)
        m->v[id / BITS] |= (uint64_t)1 << id % BITS;
}

static bool is_marked(const struct marks *m, size_t id)
{
    return (m->v[id / BITS] >> id % BITS & 1) != 0;
}

static size_t count(const struct marks *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->words; i++)
        n += (size_t)__builtin_popcountll(m->v[i]);
    return n;
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
    size_t n = count(m);
    for (size_t i = rule->list->first; i < m->ids && n % 8 != 0; i++) {
        n += !is_marked(m, i);
        mark_id(m, i);
    }
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
    uint32_t *id = tf_ids_room(to, count(m));
    for (size_t i = 0; i < m->words; i++) {
        for (uint64_t left = m->v[i]; left != 0; left &= left - 1)
            *id++ = (uint32_t)(i * BITS) + (uint32_t)__builtin_ctzll(left);
        m->v[i] = 0;
    }
}

static struct marks marks_in(const struct tf_allowed_group *g, const struct tf_allowed_rule *rule)
{
    return (struct marks){g->marks, rule->ids, (rule->ids + BITS - 1) / BITS};
}

void tf_allowed_unite(struct tf_allowed_group *g, const struct tf_allowed_rule *rule)
{
    struct marks m = marks_in(g, rule);
    const size_t total = g->ids.n;
    if (total > g->columns_cap) {
        g->columns_cap = total + total / 2;
        g->columns = tf_xarray(g->columns, g->columns_cap, sizeof *g->columns);
    }
    if (rule->ids > g->place_cap) {
        g->place_cap = rule->ids;
        g->place = tf_xarray(g->place, g->place_cap, sizeof *g->place);
    }
    for (size_t i = 0; i < total; i++)
        mark_id(&m, g->ids.v[i]);
    g->all.n = 0;
    collect(&g->all, &m);
    for (size_t i = 0; i < g->all.n; i++)
        g->place[g->all.v[i]] = (uint32_t)i;
    for (size_t i = 0; i < total; i++)
        g->columns[i] = g->place[g->ids.v[i]];
}

void tf_allowed_set(struct tf_allowed_group *g, const struct tf_allowed_rule *rule,
                    const struct tf_allowed_sentence *sentences, size_t n)
{
    if (n > g->cap) {
        g->cap = n + n / 2;
        g->sentence = tf_xarray(g->sentence, g->cap, sizeof *g->sentence);
        g->from = tf_xarray(g->from, g->cap + 1, sizeof *g->from);
    }
    const size_t words = marks_in(g, rule).words;
    if (words > g->marks_cap) {
        g->marks_cap = words;
        g->marks = tf_xarray(g->marks, words, sizeof *g->marks);
    }
    struct marks m = marks_in(g, rule);
    memset(m.v, 0, words * sizeof *m.v);
    const struct tf_ids before = g->ids;
    g->ids = g->before;
    g->before = before; /* where those that are kept are */
    g->n = n;
    g->ids.n = 0;
    g->longest = 0;
    g->from[0] = 0;
    for (size_t i = 0; i < n; i++) {
        if (sentences[i].kept) {
            tf_ids_add(&g->ids, g->sentence[i].ids, g->sentence[i].n);
        } else {
            mark_sentence(&m, rule, &sentences[i]);
            collect(&g->ids, &m);
        }
        g->from[i + 1] = g->ids.n;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t own = g->from[i + 1] - g->from[i];
        g->sentence[i] = (struct tf_allowed){g->ids.v + g->from[i], own};
        g->longest = own > g->longest ? own : g->longest;
    }
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
