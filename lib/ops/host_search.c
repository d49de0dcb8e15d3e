/* host_search.c - point 2 of the rule in ops/search_state.h, for backends on host memory: what
 * min_length, ngram and repetition change in the log-probabilities of a row. */
#include "base/memory.h"
#include "ops/host_search.h"

#include <stdlib.h>

/* Element i of a row in float or, if wide, in double. */
static double get_element(const void *row, bool wide, size_t i)
{
    return wide ? ((const double *)row)[i] : (double)((const float *)row)[i];
}

static void put_element(void *row, bool wide, size_t i, double x)
{
    if (wide)
        ((double *)row)[i] = x;
    else
        ((float *)row)[i] = (float)x;
}

/* The element of ids[j] times the penalty, once for an id that occurs several times: all are read
 * first. at: columns of the ids, and last of EOS. */
static void apply_rules(const struct tf_search_opts *o, void *row, bool wide, const uint32_t *ids,
                        const size_t *at, size_t t, double *old)
{
    for (size_t j = 0; j < t; j++)
        old[j] = get_element(row, wide, at[j]);
    for (size_t j = 0; j < t && o->repetition > 0; j++)
        put_element(row, wide, at[j], o->repetition * old[j]);
    for (size_t j = 0; j < t; j++)
        if (tf_search_repeats(ids, t, (size_t)o->ngram, j))
            put_element(row, wide, at[j], -INFINITY);
    if ((int64_t)t < o->min_length)
        put_element(row, wide, at[t], -INFINITY);
}

void tf_search_rules(const struct tf_search *s, tf_mem *lp)
{
    const size_t size = s->be->elem_size[TF_ELEM_STAT];
    if (!tf_search_has_rules(&s->opts))
        return;
    uint32_t *ids = tf_xarray(NULL, s->max_steps, sizeof *ids);
    size_t *at = tf_xarray(NULL, s->max_steps, sizeof *at);
    double *old = tf_xarray(NULL, s->max_steps, sizeof *old);
    for (size_t i = 0; i < s->S; i++) {
        const struct tf_search_view v = tf_search_view_of(s, i);
        for (size_t r = v.row0; r < v.row0 + v.live && !v.forced; r++) {
            for (size_t j = 0; j <= v.t; j++) {
                ids[j] = j < v.t ? tf_search_token(s, r, j) : s->opts.eos;
                at[j] = tf_search_column(&v, ids[j]);
                TF_ASSERT(at[j] < v.columns);
            }
            apply_rules(&s->opts, (char *)lp + r * s->lp_ld * size, size == sizeof(double), ids, at,
                        v.t, old);
        }
    }
    free(ids);
    free(at);
    free(old);
}
