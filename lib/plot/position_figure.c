/* position_figure.c - a heat map and, below it on the same axis, one curve per dimension. */
#include "plot/position_figure.h"
#include "base/memory.h"
#include "base/parse.h"
#include "plot/axis_private.h"
#include "plot/chart_private.h"
#include "plot/heat.h"
#include "plot/svg_private.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const tf_position_forms[] = {"paper", "t2t", "shifted", NULL};

enum { MAX_CURVES = 128 };

/* The number of the first position and of the first dimension. */
static size_t first(const struct tf_position_figure *p)
{
    return p->form == TF_POSITIONS_SHIFTED;
}

static double exponent(const struct tf_position_figure *p, size_t k)
{
    double d = (double)p->dims;
    if (p->form == TF_POSITIONS_SHIFTED)
        return (double)k / d;
    if (p->form == TF_POSITIONS_T2T)
        return p->dims > 2 ? (double)(k % (p->dims / 2)) / (d / 2 - 1) : 0;
    return (double)(k - k % 2) / d;
}

static bool is_sine(const struct tf_position_figure *p, size_t k)
{
    return p->form == TF_POSITIONS_T2T ? k < p->dims / 2 : k % 2 == 0;
}

double tf_position_value(const struct tf_position_figure *p, size_t row, size_t t)
{
    size_t k = row + first(p);
    double angle = (double)(t + first(p)) / pow(p->base, exponent(p, k));
    return is_sine(p, k) ? sin(angle) : cos(angle);
}

double tf_position_product(const struct tf_position_figure *p, size_t k)
{
    double sum = 0;
    for (size_t row = 0; row < p->dims; row++)
        sum += tf_position_value(p, row, 0) * tf_position_value(p, row, k);
    return sum;
}

/* The table with one row per dimension. */
static struct tf_matrix table(const struct tf_position_figure *p)
{
    struct tf_matrix m = {.rows = p->dims, .cols = p->length};
    m.v = tf_xarray(NULL, m.rows * m.cols, sizeof *m.v);
    for (size_t k = 0; k < m.rows; k++)
        for (size_t t = 0; t < m.cols; t++)
            m.v[k * m.cols + t] = tf_position_value(p, k, t);
    return m;
}

static void heat(struct tf_buf *out, const struct tf_matrix *m, size_t number, double left,
                 double top, double cell_w, double cell_h)
{
    const struct tf_heat_scale scale = {-1, 1, TF_COLORS_SIGNED};
    size_t step = cell_h >= 12 ? 1 : cell_h >= 6 ? 2 : cell_h >= 1.5 ? 10 : 100;
    char label[32];
    tf_heat_cells(out, m, &scale, left, top, cell_w, cell_h);
    for (size_t k = 0; k < m->rows; k += step) {
        snprintf(label, sizeof label, "%zu", k + number);
        tf_svg_text(out, left - 8, top + ((double)k + 0.5) * cell_h + 4, label, 11, TF_SVG_SOFT,
                    TF_SVG_END, 0);
    }
    tf_heat_bar(out, &scale, left + cell_w * (double)m->cols + 16, top, 12,
                fmin(cell_h * (double)m->rows, 220));
}

/* The label of a curve: its wavelength to three digits. */
static void wavelength(char label[64], const struct tf_position_figure *p, size_t k)
{
    double w = 2 * 3.14159265358979323846 * pow(p->base, exponent(p, k)),
           digit = pow(10, floor(log10(w)) - 2);
    char number[32];
    tf_axis_label(number, round(w / digit) * digit, digit * 100);
    snprintf(label, 64, "\xCE\xBB = %s", number);
}

static void curves(struct tf_buf *out, const struct tf_position_figure *p,
                   const struct tf_matrix *m, const struct tf_axis *ax, double top, double row)
{
    double *x = tf_xarray(NULL, m->cols, sizeof *x);
    char label[64];
    for (size_t t = 0; t < m->cols; t++)
        x[t] = (double)t;
    for (size_t k = 0; k < m->rows; k++) {
        double y = top + row * (double)k;
        struct tf_axis ay = {-1, 1, y + row - 4, y + 4, false};
        tf_svg_line(out, ax->from, y + row / 2, ax->to, y + row / 2, TF_SVG_GRID);
        tf_chart_line(out, x, m->v + k * m->cols, m->cols, ax, &ay,
                      tf_svg_line_color(is_sine(p, k + first(p)) ? 0 : 1), "", 1.5, 1);
        snprintf(label, sizeof label, "%zu", k + first(p));
        tf_svg_text(out, ax->from - 8, y + row / 2 + 4, label, 11, TF_SVG_SOFT, TF_SVG_END, 0);
        wavelength(label, p, k + first(p));
        tf_svg_text(out, ax->to + 10, y + row / 2 + 4, label, 10.5, TF_SVG_SOFT, TF_SVG_START, 0);
    }
    free(x);
}

static int draw_products(struct tf_buf *out, const struct tf_position_figure *p,
                         struct tf_err *err)
{
    char title[160], number[32];
    struct tf_series s = {.name = "", .n = p->length};
    s.x = tf_xarray(NULL, s.n, sizeof *s.x);
    s.y = tf_xarray(NULL, s.n, sizeof *s.y);
    for (size_t k = 0; k < s.n; k++) {
        s.x[k] = (double)k;
        s.y[k] = tf_position_product(p, k);
    }
    snprintf(title, sizeof title, "Dot products of positions: d = %zu, N = %s", p->dims,
             tf_format_real(number, p->base));
    struct tf_chart chart = {.figure = p->figure,
                             .x_min = NAN,
                             .x_max = NAN,
                             .y_min = NAN,
                             .y_max = NAN,
                             .series = &s,
                             .n = 1};
    chart.figure.title = p->figure.title != NULL ? p->figure.title : title;
    chart.figure.x_label = "distance k";
    chart.figure.y_label = "PE(t) \xC2\xB7 PE(t + k)";
    int rc = tf_chart_draw(out, &chart, err);
    free(s.x);
    free(s.y);
    return rc;
}

static int check(const struct tf_position_figure *p, struct tf_err *err)
{
    if (p->form == TF_POSITIONS_T2T && p->dims % 2)
        return tf_fail_status(err, TF_USAGE,
                              "%zu dimensions: tensor2tensor's form needs an even number", p->dims);
    if (p->dims > TF_MATRIX_CELLS / p->length)
        return tf_fail_status(
            err, TF_USAGE,
            "%zu positions of %zu dimensions are too many to draw, maximum %d values", p->length,
            p->dims, TF_MATRIX_CELLS);
    if (p->products && (p->form == TF_POSITIONS_SHIFTED || p->dims % 2))
        return tf_fail_status(
            err, TF_USAGE,
            "dot products depend on the distance alone only for pairs of a sine and "
            "a cosine: --variant paper or t2t, --dims even");
    return 0;
}

static void add_number(struct tf_buf *out, double x)
{
    char number[32];
    tf_buf_printf(out, ",%s", tf_format_real(number, x));
}

int tf_position_csv(struct tf_buf *out, const struct tf_position_figure *p, struct tf_err *err)
{
    if (check(p, err) != 0)
        return -1;
    tf_buf_printf(out, p->products ? "distance,product" : "position");
    for (size_t k = 0; !p->products && k < p->dims; k++)
        tf_buf_printf(out, ",%zu", k + first(p));
    tf_buf_byte(out, '\n');
    for (size_t t = 0; t < p->length; t++) {
        tf_buf_printf(out, "%zu", t + first(p));
        if (p->products)
            add_number(out, tf_position_product(p, t));
        for (size_t k = 0; !p->products && k < p->dims; k++)
            add_number(out, tf_position_value(p, k, t));
        tf_buf_byte(out, '\n');
    }
    return 0;
}

int tf_position_figure_draw(struct tf_buf *out, const struct tf_position_figure *p,
                            struct tf_err *err)
{
    char title[160], number[32];
    const double left = 64, right = p->figure.width - 88;
    if (check(p, err) != 0)
        return -1;
    if (p->products)
        return draw_products(out, p, err);
    if (p->curves && p->dims > MAX_CURVES)
        return tf_fail_status(err, TF_USAGE,
                              "%zu dimensions are too many for one curve each, maximum %d", p->dims,
                              MAX_CURVES);
    if (right - left < 100)
        return tf_fail(err, "%g pixels are too few for this picture", p->figure.width);
    snprintf(title, sizeof title, "Positions: L = %zu, d = %zu, N = %s%s", p->length, p->dims,
             tf_format_real(number, p->base),
             p->form == TF_POSITIONS_T2T       ? ", sines before cosines"
             : p->form == TF_POSITIONS_SHIFTED ? ", t = 1..L, k = 1..d, exponent k/d"
                                               : "");
    const char *name = p->figure.title != NULL ? p->figure.title : title;
    double cell_h = p->heat ? fmin(18, fmax(1, floor(360 / (double)p->dims))) : 0,
           row = p->curves ? fmin(44, fmax(22, 420 / (double)p->dims)) : 0;
    double heat_top = 58, heat_end = heat_top + cell_h * (double)p->dims;
    double curve_top = p->heat && p->curves ? heat_end + 22 : heat_top,
           end = p->curves ? curve_top + row * (double)p->dims : heat_end;

    struct tf_matrix m = table(p);
    tf_svg_begin(out, p->figure.width, end + 56, name,
                 "Sinusoidal position table: dimensions from top to bottom, positions from left to "
                 "right, values from -1 to 1.");
    tf_svg_title(out, left, p->figure.width, name);
    if (p->heat)
        heat(out, &m, first(p), left, heat_top, (right - left) / (double)p->length, cell_h);
    /* curves go through the middle of the cells */
    double half = (right - left) / (double)p->length / 2;
    struct tf_axis ax = {0, fmax(1, (double)p->length - 1), left + half,
                         p->length > 1 ? right - half : right, false};
    if (p->curves)
        curves(out, p, &m, &ax, curve_top, row);
    free(m.v);

    struct tf_axis labels = ax;
    struct tf_ticks ticks;
    labels.lo += (double)first(p);
    labels.hi += (double)first(p);
    tf_axis_ticks(&ticks, &labels, (int)fmax(2, p->figure.width / 90));
    for (size_t i = 0; i < ticks.n; i++) {
        double x = tf_axis_at(&labels, ticks.v[i].at);
        if (fabs(ticks.v[i].at - round(ticks.v[i].at)) > 1e-6)
            continue; /* ticks at fractions, when there are few positions */
        tf_svg_line(out, x, end + 4, x, end + 9, TF_SVG_AXIS);
        tf_svg_text(out, x, end + 23, ticks.v[i].label, 11.5, TF_SVG_SOFT, TF_SVG_MIDDLE, 0);
    }
    tf_svg_text(out, (left + right) / 2, end + 44, first(p) ? "position t = 1..L" : "position",
                12.5, TF_SVG_INK, TF_SVG_MIDDLE, 0);
    tf_svg_text(out, 20, (heat_top + end) / 2, "dimension", 12.5, TF_SVG_INK, TF_SVG_MIDDLE, -90);
    tf_svg_end(out);
    return 0;
}
