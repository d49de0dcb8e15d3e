/* heat.c - colours of values, cells, and the figure around them. */
#include "plot/heat.h"
#include "base/memory.h"
#include "base/parse.h"
#include "plot/axis_private.h"
#include "plot/svg_private.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tf_colors_names[] = {"auto", "amount", "signed", NULL};

/* The number of colours, odd so that 0 has the middle one, and the index for cells without a
 * value. */
enum { SHADES = 101, NO_VALUE = SHADES };

struct rgb {
    int r, g, b;
};

/* Interpolate between n equidistant colours. t: 0 to 1 */
static struct rgb blend(const struct rgb *stops, int n, double t)
{
    double at = t * (n - 1);
    int i = (int)fmin(n - 2, floor(at));
    double f = at - i;
    const struct rgb a = stops[i], b = stops[i + 1];
    return (struct rgb){(int)lround(a.r + f * (b.r - a.r)), (int)lround(a.g + f * (b.g - a.g)),
                        (int)lround(a.b + f * (b.b - a.b))};
}

/* Lightness falls evenly, so that the figure can be read in grey, too. */
static struct rgb shade_color(enum tf_colors colors, int shade)
{
    static const struct rgb amount[] = {{247, 250, 252}, {210, 228, 240}, {157, 199, 224},
                                        {92, 158, 203},  {38, 112, 168},  {11, 67, 120},
                                        {6, 32, 66}};
    static const struct rgb both[] = {{122, 47, 4},    {190, 92, 24},   {228, 156, 92},
                                      {246, 213, 180}, {247, 247, 247}, {188, 216, 235},
                                      {116, 174, 215}, {44, 121, 178},  {8, 66, 117}};
    if (shade == NO_VALUE)
        return (struct rgb){222, 222, 222};
    double t = (double)shade / (SHADES - 1);
    return colors == TF_COLORS_SIGNED ? blend(both, 9, t) : blend(amount, 7, t);
}

static int shade_of(const struct tf_heat_scale *s, double x)
{
    if (isnan(x))
        return NO_VALUE;
    x = fmin(s->max, fmax(s->min, x));
    double t = s->colors != TF_COLORS_SIGNED ? (x - s->min) / (s->max - s->min)
               /* in the middle, wherever the ends are */
               : x == 0 ? 0.5
                        : 0.5 + 0.5 * (x > 0 ? x / s->max : -x / s->min);
    return (int)lround(t * (SHADES - 1));
}

static struct tf_heat_scale scale_of(const struct tf_matrix *m, const struct tf_heat *h)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < m->rows * m->cols; i++)
        if (!isnan(m->v[i])) {
            lo = fmin(lo, m->v[i]);
            hi = fmax(hi, m->v[i]);
        }
    if (lo > hi)
        lo = hi = 0;
    struct tf_heat_scale s = {lo, hi, (enum tf_colors)h->colors};
    if (s.colors == TF_COLORS_AUTO)
        s.colors = lo < 0 && hi > 0 ? TF_COLORS_SIGNED : TF_COLORS_AMOUNT;
    if (s.colors == TF_COLORS_SIGNED) { /* 0 in the middle */
        s.max = fmax(fabs(lo), fabs(hi));
        s.min = -s.max;
    } else if (lo > 0 && (lo < 0.3 * hi || lo == hi)) { /* begin at 0 if that is near */
        s.min = 0;
    }
    s.min = isnan(h->min) ? s.min : h->min;
    s.max = isnan(h->max) ? s.max : h->max;
    double most = fmax(fabs(s.min), fabs(s.max));
    if (!(s.max - s.min > fmax(1e-290, 1e-9 * most)))
        s.max = s.min + fmax(1, most);
    return s;
}

/* The runs of cells with one shade in a row. */
static void put_row(struct tf_buf *out, const uint8_t *cell, size_t n, size_t row, uint8_t shade)
{
    const uint8_t *at, *end = cell + n;
    size_t run;
    for (const uint8_t *p = cell; (at = memchr(p, shade, (size_t)(end - p))) != NULL;
         p = at + run) {
        for (run = 1; at + run < end && at[run] == shade; run++)
            continue;
        tf_buf_printf(out, "M%zu %zuh%zuv1h-%zuz", (size_t)(at - cell), row, run, run);
    }
}

void tf_heat_cells(struct tf_buf *out, const struct tf_matrix *m, const struct tf_heat_scale *s,
                   double x, double y, double w, double h)
{
    uint8_t *shade = tf_xarray(NULL, m->rows * m->cols, sizeof *shade);
    size_t cells[SHADES + 1] = {0};
    for (size_t i = 0; i < m->rows * m->cols; i++)
        cells[shade[i] = (uint8_t)shade_of(s, m->v[i])]++;
    TF_SVG(out, "<g shape-rendering=\"crispEdges\" transform=\"translate(@ @", x, y);
    tf_buf_printf(out, ") scale(%.6f %.6f)\">\n", w, h);
    for (int i = 0; i <= SHADES; i++) {
        struct rgb c = shade_color(s->colors, i);
        if (cells[i] == 0)
            continue;
        tf_buf_printf(out, "<path fill=\"#%02x%02x%02x\" d=\"", c.r, c.g, c.b);
        for (size_t r = 0; r < m->rows; r++)
            put_row(out, shade + r * m->cols, m->cols, r, (uint8_t)i);
        tf_buf_str(out, "\"/>\n");
    }
    free(shade);
    tf_buf_str(out, "</g>\n");
}

void tf_heat_bar(struct tf_buf *out, const struct tf_heat_scale *s, double x, double y, double w,
                 double h)
{
    double v[SHADES];
    for (int i = 0; i < SHADES; i++)
        v[i] = s->max - (s->max - s->min) * i / (SHADES - 1);
    const struct tf_matrix bar = {.v = v, .rows = SHADES, .cols = 1};
    tf_heat_cells(out, &bar, s, x, y, w, h / SHADES);
    struct tf_axis a = {s->min, s->max, y + h, y, false};
    struct tf_ticks t;
    tf_axis_ticks(&t, &a, (int)fmax(2, fmin(6, h / 40)));
    for (size_t i = 0; i < t.n; i++) {
        double at = tf_axis_at(&a, t.v[i].at);
        tf_svg_line(out, x + w, at, x + w + 4, at, TF_SVG_AXIS);
        tf_svg_text(out, x + w + 8, at + 4, t.v[i].label, 11, TF_SVG_SOFT, TF_SVG_START, 0);
    }
}

/* ---- the figure ---- */

static const double label_size = 11.5, label_room = 220, bar_room = 78, max_cell = 44;

/* Draw the label of a row or column: its name, cut to the room, or its number. */
static void draw_label(struct tf_buf *out, char *const *labels, size_t i, double x, double y,
                       enum tf_svg_anchor anchor, double turn)
{
    char number[32];
    snprintf(number, sizeof number, "%zu", i);
    tf_svg_text_in(out, x, y, labels != NULL ? labels[i] : number, label_size, label_room,
                   TF_SVG_SOFT, anchor, turn);
}

/* Every n-th label is drawn, so that they do not touch. */
static size_t label_step(size_t n, double cell, double need)
{
    static const size_t steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if ((double)steps[i] * cell >= need)
            return steps[i];
    return n;
}

/* The width of the widest label. */
static double widest(char *const *labels, size_t n)
{
    double w = 0;
    char buf[32];
    if (labels == NULL) {
        snprintf(buf, sizeof buf, "%zu", n - 1);
        return tf_svg_text_width(buf, label_size);
    }
    for (size_t i = 0; i < n; i++)
        w = fmax(w, tf_svg_text_width(labels[i], label_size));
    return fmin(w, label_room);
}

/* Draw the labels of the rows and columns of a map at (left, top) with cells of cw by ch. */
static void draw_labels(struct tf_buf *out, const struct tf_matrix *m, double left, double top,
                        double cw, double ch)
{
    bool turned = m->col_labels != NULL;
    size_t step = label_step(m->rows, ch, 12);
    for (size_t r = 0; r < m->rows; r += step)
        draw_label(out, m->row_labels, r, left - 7, top + ((double)r + 0.5) * ch + 4, TF_SVG_END,
                   0);
    step = label_step(m->cols, cw, turned ? 12 : widest(NULL, m->cols) + 8);
    for (size_t c = 0; c < m->cols; c += step) {
        double x = left + ((double)c + 0.5) * cw;
        if (turned)
            draw_label(out, m->col_labels, c, x + 4, top - 7, TF_SVG_START, -90);
        else
            draw_label(out, NULL, c, x, top + ch * (double)m->rows + 17, TF_SVG_MIDDLE, 0);
    }
}

/* A value with five significant digits of its own, and all before the point. */
static char *value_text(char text[32], double x)
{
    snprintf(text, 32, fabs(x) < 1e5 || fabs(x) >= 1e15 ? "%.4e" : "%.0f", x);
    double rounded = strtod(text, NULL) + 0.0;
    return tf_format_real(text, isfinite(rounded) ? rounded : x);
}

static void write_values(struct tf_buf *out, const struct tf_matrix *m,
                         const struct tf_heat_scale *s, double x, double y, double cw, double ch)
{
    char label[32];
    double widest = 1; /* in units of the size */
    for (size_t i = 0; i < m->rows * m->cols; i++)
        if (!isnan(m->v[i]))
            widest = fmax(widest, tf_svg_text_width(value_text(label, m->v[i]), 1));
    double size = fmin(12, fmin(ch * 0.5, 0.92 * cw / widest));
    for (size_t i = 0; i < m->rows * m->cols; i++) {
        if (isnan(m->v[i]))
            continue;
        struct rgb c = shade_color(s->colors, shade_of(s, m->v[i]));
        bool dark = 0.299 * c.r + 0.587 * c.g + 0.114 * c.b < 140;
        tf_svg_text(out, x + (double)(i % m->cols) * cw + cw / 2,
                    y + (double)(i / m->cols) * ch + ch / 2 + size * 0.35,
                    value_text(label, m->v[i]), size, dark ? "#ffffff" : TF_SVG_INK, TF_SVG_MIDDLE,
                    0);
    }
}

static void describe_heat(struct tf_buf *desc, const struct tf_matrix *m,
                          const struct tf_heat_scale *s)
{
    char a[32], b[32];
    tf_axis_number(a, s->min);
    tf_axis_number(b, s->max);
    tf_buf_printf(desc, "Heat map of %zu rows and %zu columns, colours from %s to %s.", m->rows,
                  m->cols, a, b);
}

int tf_heat_draw(struct tf_buf *out, const struct tf_heat *h, const struct tf_matrix *m,
                 struct tf_err *err)
{
    if (m->rows * m->cols > TF_MATRIX_CELLS)
        return tf_fail(err, "%zu by %zu values are too many to draw, maximum %d", m->rows, m->cols,
                       TF_MATRIX_CELLS);
    struct tf_heat_scale s = scale_of(m, h);
    if (!tf_axis_shows(s.min, false) || !tf_axis_shows(s.max, false))
        return tf_fail(err, "values beyond 1e300");
    if (h->min >= h->max)
        return tf_fail_status(
            err, TF_USAGE, "the value of the first colour, %g, is not below that of the last, %g",
            h->min, h->max);
    bool turned = m->col_labels != NULL;
    double left = 24 + widest(m->row_labels, m->rows) + (h->figure.y_label != NULL ? 20 : 0);
    double top =
        (h->figure.title != NULL ? 52 : 20) + (turned ? widest(m->col_labels, m->cols) + 6 : 0);
    double cw = fmin(max_cell, (h->figure.width - left - bar_room) / (double)m->cols);
    if (cw * (double)m->cols < 40)
        return tf_fail(err, "%g pixels are too few for this heat map", h->figure.width);
    /* Square cells, unless the figure would be more than 1.5 times as high as wide; at least as
     * high as a line of text if rows are few or have names. */
    double ch =
        fmin(fmax(cw, fmin(12, 360 / (double)m->rows)), 1.5 * h->figure.width / (double)m->rows);
    if (m->row_labels != NULL && ch < 14)
        ch = fmin(14, fmax(ch, 3 * h->figure.width / (double)m->rows));
    double plot_w = cw * (double)m->cols, plot_h = ch * (double)m->rows,
           bar_h = fmax(80, fmin(260, plot_h)), labelled = top + plot_h + (turned ? 0 : 22);
    double bottom = fmax(labelled + (h->figure.x_label != NULL ? 26 : 10), top + bar_h),
           width = left + plot_w + bar_room;
    /* room for the title and the name of the columns beside a small matrix */
    if (h->figure.title != NULL)
        width =
            fmax(width, fmin(h->figure.width, left + tf_svg_text_width(h->figure.title, 16) + 16));
    if (h->figure.x_label != NULL)
        width = fmax(width, fmin(h->figure.width, tf_svg_axis_name_length(h->figure.x_label)));

    struct tf_buf desc = {0};
    describe_heat(&desc, m, &s);
    tf_svg_begin(out, width, bottom + 8, h->figure.title != NULL ? h->figure.title : "Heat map",
                 desc.p);
    tf_buf_release(&desc);
    if (h->figure.title != NULL)
        tf_svg_title(out, left, width, h->figure.title);
    tf_heat_cells(out, m, &s, left, top, cw, ch);
    if (h->values)
        write_values(out, m, &s, left, top, cw, ch);
    draw_labels(out, m, left, top, cw, ch);
    if (h->figure.x_label != NULL)
        tf_svg_axis_name(out, left + plot_w / 2, labelled + 22, h->figure.x_label, false, width);
    if (h->figure.y_label != NULL)
        tf_svg_axis_name(out, 20, top + plot_h / 2, h->figure.y_label, true, bottom + 8);
    tf_heat_bar(out, &s, left + plot_w + 18, top, 14, bar_h);
    tf_svg_end(out);
    return 0;
}
