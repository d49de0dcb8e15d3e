/* tally.c - see tally_private.h. Sums are doubles, added in the order of the lines as in
 * sacreBLEU. */
#include "metrics/tally_private.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

void tf_tally_systems(struct tf_tally *t, size_t n)
{
    size_t cells = n * t->nmetrics;
    t->nsystems = n;
    t->names = tf_xcalloc(n, sizeof *t->names);
    t->sums = tf_xcalloc(cells, sizeof *t->sums);
    t->counts = tf_xcalloc(cells, sizeof *t->counts);
    for (size_t i = 0; i < cells; i++)
        t->sums[i] = tf_xcalloc(t->metrics[i % t->nmetrics].width + 1, sizeof **t->sums);
}

void tf_tally_grow(struct tf_tally *t)
{
    if (!t->keep || t->nlines < t->room)
        return;
    t->room = t->room ? 2 * t->room : 4096;
    for (size_t i = 0; i < t->nsystems * t->nmetrics; i++)
        t->counts[i] = tf_xarray(t->counts[i], t->room * t->metrics[i % t->nmetrics].width + 1,
                                 sizeof **t->counts);
}

void tf_tally_add(struct tf_tally *t, size_t system, size_t metric, const uint32_t *counts)
{
    const struct tf_metric *m = &t->metrics[metric];
    size_t cell = system * t->nmetrics + metric;
    for (size_t i = 0; i < m->width; i++)
        t->sums[cell][i] += tf_metric_value(m, i, counts[i]);
    if (t->keep)
        memcpy(t->counts[cell] + t->nlines * m->width, counts, m->width * sizeof *counts);
}

void tf_tally_release(struct tf_tally *t)
{
    for (size_t i = 0; i < t->nsystems * t->nmetrics; i++) {
        free(t->sums[i]);
        free(t->counts[i]);
    }
    for (size_t i = 0; i < t->nsystems; i++)
        free(t->names[i]);
    for (size_t i = 0; i < t->nmetrics; i++)
        tf_metric_release(&t->metrics[i]);
    free(t->names);
    free(t->sums);
    free(t->counts);
    *t = (struct tf_tally){0};
}
