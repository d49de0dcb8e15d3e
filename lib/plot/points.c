/* points.c - see points_private.h. */
#include "plot/points_private.h"
#include "base/memory.h"
#include "plot/svg_private.h"
#include <math.h>
#include <stdlib.h>

static const double radius = 4, gap = 4, size = 11.5;
enum { SEARCHED = 2000 }; /* so many names look for a free place; nobody can read more */

struct point {
    double x, y; /* pixels */
    const char *name;
    size_t series;
};

struct box {
    double left, top, right, bottom;
};

/* The boxes of all points, then of the names drawn so far. */
struct places {
    struct box *v;
    size_t n;
};

static bool in_range(const struct tf_axis *a, double v)
{
    return tf_axis_shows(v, a->log) && v >= a->lo && v <= a->hi;
}

/* Collect the points inside the axes. Returns their number. */
static size_t collect_points(struct point *v, const struct tf_series *series, size_t nseries,
                             const struct tf_axis *ax, const struct tf_axis *ay)
{
    size_t n = 0;
    for (size_t k = 0; k < nseries; k++) {
        const struct tf_series *s = &series[k];
        for (size_t i = 0; s->names != NULL && i < s->n; i++)
            if (in_range(ax, s->x[i]) && in_range(ay, s->y[i]))
                v[n++] = (struct point){tf_axis_at(ax, s->x[i]), tf_axis_at(ay, s->y[i]),
                                        s->names[i], k};
    }
    return n;
}

static bool is_free(const struct places *p, const struct box *b)
{
    for (size_t i = 0; i < p->n; i++)
        if (b->left < p->v[i].right && p->v[i].left < b->right && b->top < p->v[i].bottom &&
            p->v[i].top < b->bottom)
            return false;
    return true;
}

/* Where a name of this width may be: right, left, above or below its point. Above and below it is
 * moved to be between the ends of the axis. */
static struct box beside(int side, const struct point *p, double width, const struct tf_axis *ax)
{
    double dx = radius + gap, dy = radius + 2;
    double left = side == 0   ? p->x + dx
                  : side == 1 ? p->x - dx - width
                              : fmax(ax->from, fmin(p->x - width / 2, ax->to - width));
    double top = side < 2 ? p->y - size / 2 : side == 2 ? p->y - dy - size : p->y + dy;
    return (struct box){left, top, left + width, top + size};
}

/* Whether a name is between the axes. Beside a point at the very edge half of it may be outside. */
static bool is_inside(const struct box *b, const struct tf_axis *ax, const struct tf_axis *ay)
{
    const double rounding = 1e-6, over = size / 2 + rounding;
    return b->left >= ax->from - rounding && b->right <= ax->to + rounding &&
           b->top >= ay->to - over && b->bottom <= ay->from + over;
}

static void draw_name(struct tf_buf *out, struct places *places, bool search, const struct point *p,
                      const struct tf_axis *ax, const struct tf_axis *ay)
{
    struct tf_buf name = {0};
    tf_svg_fit_ends(&name, p->name, size, ax->to - ax->from);
    double width = tf_svg_text_width(name.p, size);
    struct box best = {0};
    for (int side = 3; side > 0; side--) { /* in case no place is free */
        struct box b = beside(side, p, width, ax);
        if (is_inside(&b, ax, ay))
            best = b;
    }
    for (int side = 3; side >= 0 && search; side--) { /* the last that is free is the best */
        struct box b = beside(side, p, width, ax);
        if (is_inside(&b, ax, ay) && is_free(places, &b))
            best = b;
    }
    places->v[places->n++] = best;
    tf_svg_text(out, best.left, best.bottom - 2, name.p, size, TF_SVG_INK, TF_SVG_START, 0);
    tf_buf_release(&name);
}

void tf_points_draw(struct tf_buf *out, const struct tf_series *series, size_t nseries,
                    const struct tf_axis *ax, const struct tf_axis *ay)
{
    size_t most = 1;
    for (size_t i = 0; i < nseries; i++)
        most += series[i].n;
    struct point *points = tf_xarray(NULL, most, sizeof *points);
    struct places places = {.v = tf_xarray(NULL, 2 * most, sizeof *places.v)};
    size_t n = collect_points(points, series, nseries, ax, ay);
    for (size_t i = 0; i < n; i++) {
        const struct point *p = &points[i];
        tf_svg_dot(out, p->x, p->y, radius, tf_svg_line_color(p->series));
        places.v[places.n++] =
            (struct box){p->x - radius, p->y - radius, p->x + radius, p->y + radius};
    }
    for (size_t i = 0; i < n; i++)
        if (*points[i].name)
            draw_name(out, &places, places.n < n + SEARCHED, &points[i], ax, ay);
    free(places.v);
    free(points);
}
