/* chart.c - layout from top to bottom: title, legend, plot, labels of the x axis. */
#include "plot/chart_private.h"
#include "base/memory.h"
#include "plot/axis_private.h"
#include "plot/points_private.h"
#include "plot/svg_private.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A path under construction. Of the points in one pixel column, only the first, lowest, highest and
 * last are drawn. */
struct path {
    struct tf_buf *out;
    bool open; /* the next point continues the line */
    double column, first, last, lo, hi, lo_at, hi_at;
    size_t waiting;
};

static void point(struct path *p, double x, double y)
{
    TF_SVG(p->out, p->open ? "L@ @" : "M@ @", x, y);
    p->open = true;
}

/* Draw the points of the column, in the order of the data. */
static void flush_column(struct path *p)
{
    if (p->waiting) {
        double x = p->column;
        bool lo_first = p->lo_at <= p->hi_at;
        point(p, x, p->first);
        if (p->waiting > 2) {
            point(p, x, lo_first ? p->lo : p->hi);
            point(p, x, lo_first ? p->hi : p->lo);
        }
        if (p->waiting > 1)
            point(p, x, p->last);
    }
    p->waiting = 0;
}

static void thin(struct path *p, double x, double y)
{
    double column = floor(x * 2) / 2;
    if (p->waiting && column != p->column)
        flush_column(p);
    if (!p->waiting) {
        p->column = column;
        p->first = p->lo = p->hi = y;
        p->lo_at = p->hi_at = 0;
    }
    if (y < p->lo) {
        p->lo = y;
        p->lo_at = (double)p->waiting;
    }
    if (y > p->hi) {
        p->hi = y;
        p->hi_at = (double)p->waiting;
    }
    p->last = y;
    p->waiting++;
}

static bool drawable(const struct tf_axis *a, double v)
{
    return tf_axis_shows(v, a->log);
}

/* Keeps coordinates far outside of the chart short. */
static double clamp(double x)
{
    return fmax(-1e5, fmin(1e5, x));
}

void tf_chart_line(struct tf_buf *out, const double *x, const double *y, size_t n,
                   const struct tf_axis *ax, const struct tf_axis *ay, const char *color,
                   const char *dash, double stroke, double opacity)
{
    bool many = (double)n > 4 * fabs(ax->to - ax->from);
    struct path p = {.out = out};
    tf_buf_str(out, "<path d=\"");
    for (size_t i = 0; i < n; i++) {
        if (!drawable(ax, x[i]) || !drawable(ay, y[i])) {
            flush_column(&p);
            p.open = false;
            continue;
        }
        double px = clamp(tf_axis_at(ax, x[i])), py = clamp(tf_axis_at(ay, y[i]));
        if (many)
            thin(&p, px, py);
        else
            point(&p, px, py);
    }
    flush_column(&p);
    tf_buf_printf(out, "\" fill=\"none\" stroke=\"%s\"", color);
    TF_SVG(out, " stroke-width=\"@\" stroke-linejoin=\"round\" stroke-linecap=\"round\"", stroke);
    if (*dash)
        tf_buf_printf(out, " stroke-dasharray=\"%s\"", dash);
    if (opacity < 1)
        TF_SVG(out, " stroke-opacity=\"@\"", opacity);
    tf_buf_str(out, "/>\n");
}

static void markers(struct tf_buf *out, const struct tf_series *s, const double *y,
                    const struct tf_axis *ax, const struct tf_axis *ay, const char *color)
{
    tf_buf_printf(out, "<g fill=\"%s\" stroke=\"%s\" stroke-width=\"1\">\n", color, TF_SVG_PAPER);
    for (size_t i = 0; i < s->n; i++)
        if (drawable(ax, s->x[i]) && drawable(ay, y[i]))
            TF_SVG(out, "<circle cx=\"@\" cy=\"@\" r=\"3.5\"/>\n",
                   clamp(tf_axis_at(ax, s->x[i])), clamp(tf_axis_at(ay, y[i])));
    tf_buf_str(out, "</g>\n");
}

static void smooth(double *out, const double *y, size_t n, double w, bool log)
{
    double s = 0, weight = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = NAN;
        if (!tf_axis_shows(y[i], log))
            continue;
        s = w * s + (1 - w) * y[i];
        weight = w * weight + (1 - w);
        out[i] = s / weight;
    }
}

struct range {
    double lo, hi;
};

static void widen(struct range *r, double v)
{
    r->lo = fmin(r->lo, v);
    r->hi = fmax(r->hi, v);
}

/* The range of the points that can be drawn, with the given ends. */
static int ranges(struct range *rx, struct range *ry, const struct tf_chart *c, struct tf_err *err)
{
    const struct tf_axis x = {.log = c->log_x}, y = {.log = c->log_y};
    bool positive = true;
    *rx = *ry = (struct range){INFINITY, -INFINITY};
    if (c->x_min > c->x_max || c->y_min > c->y_max)
        return tf_fail_status(err, TF_USAGE, "empty range: the least value is above the greatest");
    if ((c->log_x && c->x_min <= 0) || (c->log_y && c->y_min <= 0))
        return tf_fail_status(err, TF_USAGE, "a logarithmic axis can't begin at or below 0");
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->series[k].n; i++) {
            double vx = c->series[k].x[i], vy = c->series[k].y[i];
            positive = positive && !(x.log && vx <= 0) && !(y.log && vy <= 0);
            if (!drawable(&x, vx) || !drawable(&y, vy) || vx < c->x_min || vx > c->x_max)
                continue;
            widen(rx, vx);
            widen(ry, vy);
        }
    if (rx->lo > rx->hi)
        return tf_fail(err, "nothing to draw%s", positive ? "" : ": no positive values");
    rx->lo = isnan(c->x_min) ? rx->lo : c->x_min;
    rx->hi = isnan(c->x_max) ? rx->hi : c->x_max;
    ry->lo = isnan(c->y_min) ? ry->lo : c->y_min;
    ry->hi = isnan(c->y_max) ? ry->hi : c->y_max;
    if (rx->lo > rx->hi || ry->lo > ry->hi)
        return tf_fail(err, "empty range: the least value is above the greatest");
    if (!drawable(&x, rx->lo) || !drawable(&y, ry->lo))
        return tf_fail(err, "a logarithmic axis can't begin at or below 0");
    return 0;
}

struct box {
    double left, top, right, bottom;
};

/* Draw the legend in as many rows as it takes. Long names are cut in the middle: the end is that of
 * training or validation. Returns the y of the last row. */
static double legend(struct tf_buf *out, const struct tf_chart *c, double left, double y)
{
    const double size = 12, row = 20, swatch = 22;
    double x = left, most = c->figure.width - 10 - left - swatch - 7;
    for (size_t i = 0; i < c->n; i++) {
        struct tf_buf fitted = {0};
        tf_svg_fit_ends(&fitted, c->series[i].name != NULL ? c->series[i].name : "", size, most);
        double w = swatch + 7 + tf_svg_text_width(fitted.p, size) + 18;
        if (x > left && x + w > c->figure.width - 10) {
            x = left;
            y += row;
        }
        if (c->series[i].names != NULL) {
            tf_svg_dot(out, x + swatch / 2, y - 4.5, 4, tf_svg_line_color(i));
        } else {
            const double lx[] = {0, 1}, ly[] = {0, 0};
            struct tf_axis ax = {0, 1, x, x + swatch, false}, ay = {0, 1, y - 4, y - 5, false};
            tf_chart_line(out, lx, ly, 2, &ax, &ay, tf_svg_line_color(i), tf_svg_line_dash(i), 2.5,
                          1);
        }
        tf_svg_text(out, x + swatch + 7, y, fitted.p, size, TF_SVG_INK, TF_SVG_START, 0);
        tf_buf_release(&fitted);
        x += w;
    }
    return y;
}

static void axes(struct tf_buf *out, const struct box *b, const struct tf_axis *ax,
                 const struct tf_axis *ay, const struct tf_ticks *tx, const struct tf_ticks *ty)
{
    for (size_t i = 0; i < ty->n; i++) {
        double y = tf_axis_at(ay, ty->v[i].at);
        if (ty->v[i].label[0]) {
            tf_svg_line(out, b->left, y, b->right, y, TF_SVG_GRID);
            tf_svg_text(out, b->left - 8, y + 4, ty->v[i].label, 11.5, TF_SVG_SOFT, TF_SVG_END, 0);
        } else {
            tf_svg_line(out, b->left - 3, y, b->left, y, TF_SVG_AXIS);
        }
    }
    for (size_t i = 0; i < tx->n; i++) {
        double x = tf_axis_at(ax, tx->v[i].at);
        bool major = tx->v[i].label[0] != 0;
        tf_svg_line(out, x, b->bottom, x, b->bottom + (major ? 5 : 3), TF_SVG_AXIS);
        if (major)
            tf_svg_text(out, x, b->bottom + 19, tx->v[i].label, 11.5, TF_SVG_SOFT, TF_SVG_MIDDLE,
                        0);
    }
    tf_svg_line(out, b->left, b->bottom, b->right, b->bottom, TF_SVG_AXIS);
}

/* The width of the widest label. */
static double label_width(const struct tf_ticks *t)
{
    double w = 0;
    for (size_t i = 0; i < t->n; i++)
        w = fmax(w, tf_svg_text_width(t->v[i].label, 11.5));
    return w;
}

enum { FEW = 40 }; /* lines with at most so many points get markers and are not smoothed */

static void draw_line(struct tf_buf *out, const struct tf_chart *c, size_t i,
                      const struct tf_axis *ax, const struct tf_axis *ay)
{
    const struct tf_series *s = &c->series[i];
    const char *color = tf_svg_line_color(i), *dash = tf_svg_line_dash(i);
    bool crowded = (double)s->n > ax->to - ax->from;
    double *soft = NULL;
    if (c->smooth > 0 && s->n > FEW) {
        soft = tf_xarray(NULL, s->n, sizeof *soft);
        smooth(soft, s->y, s->n, c->smooth, c->log_y);
        tf_chart_line(out, s->x, s->y, s->n, ax, ay, color, "", 1, 0.28);
    }
    tf_chart_line(out, s->x, soft != NULL ? soft : s->y, s->n, ax, ay, color, dash,
                  crowded && soft == NULL ? 1.2 : 2, 1);
    if (s->n <= FEW)
        markers(out, s, soft != NULL ? soft : s->y, ax, ay, color);
    free(soft);
}

/* Lines with few points, such as validation, are drawn on top. */
static void lines(struct tf_buf *out, const struct tf_chart *c, const struct tf_axis *ax,
                  const struct tf_axis *ay)
{
    for (int few = 0; few < 2; few++)
        for (size_t i = 0; i < c->n; i++)
            if (c->series[i].names == NULL && (c->series[i].n <= FEW) == few)
                draw_line(out, c, i, ax, ay);
}

static void describe_chart(struct tf_buf *desc, const struct tf_chart *c, const struct range *rx,
                           const struct range *ry)
{
    char a[32], b[32];
    const char *kind = c->n && c->series[0].names != NULL ? "Points in" : "Line chart with",
               *part = c->n && c->series[0].names != NULL ? "group" : "line";
    tf_buf_printf(desc, "%s %zu %s%s:", kind, c->n, part, c->n == 1 ? "" : "s");
    for (size_t i = 0; i < c->n; i++)
        tf_buf_printf(desc, "%s %s", i ? "," : "",
                      c->series[i].name != NULL ? c->series[i].name : "");
    tf_axis_number(a, rx->lo);
    tf_axis_number(b, rx->hi);
    tf_buf_printf(desc, ". %s from %s to %s", c->figure.x_label != NULL ? c->figure.x_label : "x",
                  a, b);
    tf_axis_number(a, ry->lo);
    tf_axis_number(b, ry->hi);
    tf_buf_printf(desc, ", %s from %s to %s.", c->figure.y_label != NULL ? c->figure.y_label : "y",
                  a, b);
}

int tf_chart_draw(struct tf_buf *out, const struct tf_chart *c, struct tf_err *err)
{
    struct range rx, ry;
    struct tf_ticks tx, ty;
    if (ranges(&rx, &ry, c, err) != 0)
        return -1;
    struct tf_axis ay =
        tf_axis_make(ry.lo, ry.hi, c->log_y, isnan(c->y_min) && isnan(c->y_max), 0, 1);
    tf_axis_ticks(&ty, &ay, (int)fmax(3, fmin(8, c->figure.height / 70)));

    struct tf_buf desc = {0};
    describe_chart(&desc, c, &rx, &ry);
    const char *title = c->figure.title != NULL ? c->figure.title : "Line chart";
    if (c->part == 0)
        tf_svg_begin(out, c->figure.width, c->figure.height, title, desc.p);
    else
        tf_svg_begin_part(out, c->part_x, c->part_y, c->figure.width, c->figure.height, desc.p);
    tf_buf_release(&desc);

    struct box b = {.left = 22 + label_width(&ty) + (c->figure.y_label != NULL ? 20 : 0),
                    .right = c->figure.width - 24,
                    .top = 20,
                    .bottom = c->figure.height - 34 - (c->figure.x_label != NULL ? 20 : 0)};
    if (c->figure.title != NULL) {
        tf_svg_title(out, b.left, c->figure.width, c->figure.title);
        b.top = 46;
    }
    if (c->n > 1 || c->figure.y_label == NULL)
        b.top = legend(out, c, b.left, b.top + 10) + 16;
    if (b.bottom - b.top < 40 || b.right - b.left < 60)
        return tf_fail(err, "%g by %g pixels is too small for this chart", c->figure.width,
                       c->figure.height);

    struct tf_axis ax = tf_axis_make(rx.lo, rx.hi, c->log_x, false, b.left, b.right);
    ay.from = b.bottom;
    ay.to = b.top;
    tf_axis_ticks(&tx, &ax, (int)fmax(2, fmin(10, c->figure.width / 90)));
    axes(out, &b, &ax, &ay, &tx, &ty);
    if (c->figure.x_label != NULL)
        tf_svg_axis_name(out, (b.left + b.right) / 2, c->figure.height - 14, c->figure.x_label,
                         false, c->figure.width);
    if (c->figure.y_label != NULL)
        tf_svg_axis_name(out, 20, (b.top + b.bottom) / 2, c->figure.y_label, true,
                         c->figure.height);
    char id[32] = "plot";
    if (c->part > 0)
        snprintf(id, sizeof id, "plot%d", c->part);
    tf_buf_printf(out, "<clipPath id=\"%s\">", id);
    tf_svg_rect(out, b.left - 4, b.top - 4, b.right - b.left + 8, b.bottom - b.top + 8, "none");
    tf_buf_printf(out, "</clipPath>\n<g clip-path=\"url(#%s)\">\n", id);
    lines(out, c, &ax, &ay);
    tf_buf_str(out, "</g>\n");
    tf_points_draw(out, c->series, c->n, &ax, &ay);
    tf_svg_end(out);
    return 0;
}
