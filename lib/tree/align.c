/* align.c - see align_private.h. */
#include "tree/align_private.h"
#include "base/memory.h"

#include <stdlib.h>

/* The edit graph of what lies between the common beginning and end: step x takes a word of a, y one
 * of b, and a diagonal step both, where they are the same. */
struct graph {
    const struct tf_text *a, *b;
    long na, nb;
};

static long follow_diagonal(const struct graph *g, long x, long y)
{
    while (x < g->na && y < g->nb && tf_text_same(g->a[x], g->b[y])) {
        x++;
        y++;
    }
    return x;
}

/* The furthest x on diagonal k = x - y with d differences, before its diagonal steps; `v` has those
 * of d - 1 by diagonal. *down: whether the last step took a word of b. */
static long furthest_x(const long *v, long d, long k, bool *down)
{
    *down = k == -d || (k != d && v[k - 1] < v[k + 1]);
    return *down ? v[k + 1] : v[k - 1] + 1;
}

/* Row d of the history has diagonals -d ... d: where row d starts, plus d, is diagonal 0. */
static long *history_row(long *history, long d)
{
    return history + d * d + d;
}

/* From the end back to the start, along the rows. */
static size_t trace(const struct graph *g, long *history, long d, size_t offset, size_t *match)
{
    size_t n = 0;
    long x = g->na, y = g->nb;
    for (; d >= 0; d--) {
        bool down = true;
        long k = x - y, from = d > 0 ? furthest_x(history_row(history, d - 1), d, k, &down) : 0;
        while (x > from) {
            match[--x] = (size_t)--y + offset;
            n++;
        }
        if (d > 0 && down)
            y--;
        else if (d > 0)
            x--;
    }
    return n;
}

static size_t align_middle(const struct graph *g, size_t offset, size_t *match)
{
    size_t n = 0, room = 0;
    long *history = NULL, d = 0;
    for (bool found = g->na == 0 || g->nb == 0; !found && d <= TF_ALIGN_MAX; d += !found) {
        if (room < (size_t)((d + 1) * (d + 1))) {
            room = 2 * (size_t)((d + 1) * (d + 1));
            history = tf_xarray(history, room, sizeof *history);
        }
        for (long k = -d; k <= d && !found; k += 2) {
            bool down;
            long x = d > 0 ? furthest_x(history_row(history, d - 1), d, k, &down) : 0, y = x - k;
            /* beyond an edge of the graph: never the furthest */
            x = x > g->na || y > g->nb ? x : follow_diagonal(g, x, y);
            history_row(history, d)[k] = x;
            found = x >= g->na && x - k >= g->nb;
        }
        if (found)
            n = trace(g, history, d, offset, match);
    }
    free(history);
    return n;
}

size_t tf_align(const struct tf_text *a, size_t na, const struct tf_text *b, size_t nb,
                size_t *match)
{
    size_t start = 0, end = 0;
    for (size_t i = 0; i < na; i++)
        match[i] = SIZE_MAX;
    while (start < na && start < nb && tf_text_same(a[start], b[start])) {
        match[start] = start;
        start++;
    }
    while (start + end < na && start + end < nb && tf_text_same(a[na - 1 - end], b[nb - 1 - end])) {
        match[na - 1 - end] = nb - 1 - end;
        end++;
    }
    struct graph g = {a + start, b + start, (long)(na - start - end), (long)(nb - start - end)};
    return start + end + align_middle(&g, start, match + start);
}
