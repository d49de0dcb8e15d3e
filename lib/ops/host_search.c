/* host_search.c - point 2 of the rule in ops/search_state.h, for backends on host memory: what
 * min_length, ngram and repetition change in the log-probabilities of a row. */
#include "base/memory.h"
#include "ops/host_search.h"

#include <stdlib.h>

/* The t tokens of live row r, first to last. */
static void history(uint32_t *ids, const struct tf_search *s, size_t t, size_t r)
{
    while (t-- > 0) {
        const size_t past = t * s->max_rows + r;
        ids[t] = s->hist_id[past];
        r = s->hist_parent[past];
    }
}

/* x[ids[j]] times the penalty, once for an id that occurs several times: all are read first. */
#define DEFINE_RULES(name, real)                                                          \
    static void name(const struct tf_search_opts *o, real *x, const uint32_t *ids, size_t t, \
                     double *old)                                                         \
    {                                                                                     \
        for (size_t j = 0; j < t; j++)                                                    \
            old[j] = (double)x[ids[j]];                                                   \
        for (size_t j = 0; j < t && o->repetition > 0; j++)                               \
            x[ids[j]] = (real)(o->repetition * old[j]);                                   \
        for (size_t j = 0; j < t; j++)                                                    \
            if (tf_search_repeats(ids, t, (size_t)o->ngram, j))                           \
                x[ids[j]] = -(real)INFINITY;                                              \
        if ((int64_t)t < o->min_length)                                                   \
            x[o->eos] = -(real)INFINITY;                                                  \
    }
DEFINE_RULES(rules_of_floats, float)
DEFINE_RULES(rules_of_doubles, double)

void tf_search_rules(const struct tf_search *s, tf_mem *lp)
{
    const struct tf_search_pass w = tf_search_begin_pass(s);
    const size_t V = s->opts.V;
    if (!tf_search_has_rules(&s->opts))
        return;
    uint32_t *ids = tf_xarray(NULL, w.t + 1, sizeof *ids);
    double *old = tf_xarray(NULL, w.t + 1, sizeof *old);
    for (size_t i = 0; i < s->S; i++) {
        const struct tf_search_view v = tf_search_view_of(s, &w, i);
        for (size_t r = v.row0; r < v.row0 + v.live && !v.forced; r++) {
            history(ids, s, w.t, r);
            if (s->be->elem_size[TF_ELEM_STAT] == sizeof(float))
                rules_of_floats(&s->opts, (float *)lp + r * V, ids, w.t, old);
            else
                rules_of_doubles(&s->opts, (double *)lp + r * V, ids, w.t, old);
        }
    }
    free(ids);
    free(old);
}
