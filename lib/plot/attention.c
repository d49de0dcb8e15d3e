/* attention.c - two layouts of the same weights. */
#include "plot/attention.h"
#include "plot/heat.h"
#include "plot/svg.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what both have: checks, labels ---- */

static const double margin = 20, head_size = 12.5;

static int check(const struct tf_attention_picture *p, struct tf_err *err)
{
    if (!p->n_rows || !p->n_cols || !p->n_heads)
        return tf_fail(err, "nothing to draw: %zu rows, %zu columns, %zu heads", p->n_rows,
                       p->n_cols, p->n_heads);
    if (p->n_cols > TF_MATRIX_CELLS / p->n_rows ||
        p->n_heads > TF_MATRIX_CELLS / (p->n_rows * p->n_cols))
        return tf_fail(err,
                       "%zu heads of %zu by %zu weights are too many to draw, maximum %d weights",
                       p->n_heads, p->n_rows, p->n_cols, TF_MATRIX_CELLS);
    size_t cells = p->n_rows * p->n_cols;
    for (size_t i = 0; i < p->n_heads * cells; i++)
        if (!(p->weights[i] >= 0 && p->weights[i] <= 1.001f))
            return tf_fail(err,
                           "head %" PRId64
                           ", row %zu, column %zu: %g is not a weight between 0 and 1",
                           p->heads[i / cells], i % cells / p->n_cols, i % p->n_cols,
                           (double)p->weights[i]);
    return 0;
}

static int too_narrow(const struct tf_attention_picture *p, struct tf_err *err)
{
    return tf_fail(err, "%g pixels are too few for this picture", p->width);
}

static double weight(const struct tf_attention_picture *p, size_t head, size_t row, size_t col)
{
    return fmin(1, (double)p->weights[(head * p->n_rows + row) * p->n_cols + col]);
}

/* A token without its mark of a space; the mark alone is an open box. */
static const char *shown(const char *token)
{
    static const char mark[] = "\xE2\x96\x81";
    if (strncmp(token, mark, 3))
        return token;
    return token[3] ? token + 3 : "\xE2\x90\xA3";
}

/* Estimated widths of text, and what some fonts need beyond. */
static double text_room(const char *s, double size)
{
    return 1.1 * tf_svg_text_width(s, size);
}

static double label_room(const char *const *tokens, size_t n, double size, double most)
{
    double w = 0;
    for (size_t i = 0; i < n; i++)
        w = fmax(w, text_room(shown(tokens[i]), size));
    return ceil(fmin(w, most));
}

static void draw_label(struct tf_buf *out, const char *token, double x, double y, double size,
                       double room, const char *fill, enum tf_svg_anchor anchor, double turn)
{
    struct tf_buf text = {0};
    tf_svg_fit(&text, shown(token), size, room / 1.1);
    tf_svg_text(out, x, y, text.p ? text.p : "", size, fill, anchor, turn);
    tf_buf_release(&text);
}

static void head_name(char name[32], const struct tf_attention_picture *p, size_t head)
{
    snprintf(name, 32, "head %" PRId64, p->heads[head]);
}

static double widest_name(const struct tf_attention_picture *p)
{
    double w = 0;
    for (size_t h = 0; h < p->n_heads; h++) {
        char name[32];
        head_name(name, p, h);
        w = fmax(w, text_room(name, head_size));
    }
    return w;
}

/* The width that shows the whole title, as far as it is to be had. */
static double title_width(const struct tf_attention_picture *p, double left)
{
    return p->title ? fmin(p->width, left + text_room(p->title, 16) + 20) : 0;
}

/* ---- lines ---- */

/* The seven hues of tf_svg_line_color and an indigo, then each of them darker or lighter, whichever
 * keeps the 16 further apart for colour-blind eyes (distances in Oklab after the simulation of
 * Machado et al., 2009). */
static const char *head_color(const struct tf_attention_picture *p, size_t h)
{
    static const char *const more[] = {"#332288", "#004a74", "#753400", "#99d8c7", "#472a3a",
                                       "#efc159", "#2f6380", "#afafaf", "#140e36"};
    /* by its number, so that it is the same in every picture */
    size_t head = (uint64_t)(p->heads[h] - 1) % 16;
    return head < 7 ? tf_svg_line_color(head) : more[head - 7];
}

/* Opacities are drawn in so many steps. */
enum { STEPS = 20 };

static int step_of(double x)
{
    return (int)lround(fmin(1, x) * STEPS);
}

/* Weights that are drawn at all are to be seen. */
static int line_step(const struct tf_attention_picture *p, double w)
{
    return w <= 0 || w < p->least ? 0 : step_of(fmax(w, 1.0 / STEPS));
}

static bool drawn(const struct tf_attention_picture *p, size_t row)
{
    return !p->only || p->only[row];
}

struct layout {
    double label, pitch;       /* size of the labels; distance between tokens */
    double rows_w, cols_w;     /* room for labels */
    double square_w, square_h; /* of one head */
    double from, to;           /* x of the ends of the lines */
    double top, width, height;
    size_t names;              /* in a row of the legend */
    double name_w;
};

/* Between labels, squares and lines. */
static const double space = 7;

static int lay_out(struct layout *l, const struct tf_attention_picture *p, struct tf_err *err)
{
    double heads = (double)p->n_heads,
           tokens = (double)(p->n_rows > p->n_cols ? p->n_rows : p->n_cols),
           most = fmin(220, p->width / 4);
    *l = (struct layout){.pitch = fmax(15, fmin(22, floor(900 / tokens)))};
    l->label = fmin(13, l->pitch - 4);
    l->rows_w = label_room(p->rows, p->n_rows, l->label, most);
    l->cols_w = label_room(p->cols, p->n_cols, l->label, most);
    l->square_w = fmax(2, fmin(11, floor(fmin(96, p->width / 9) / heads)));
    l->square_h = fmin(12, l->pitch - 5);
    double side = space + heads * l->square_w + space,
           sides = margin + l->rows_w + side + side + l->cols_w + margin;
    if (!(p->width - sides >= 60))
        return too_narrow(p, err);
    l->from = margin + l->rows_w + side;
    l->to = l->from + fmin(p->width - sides, fmax(280, l->pitch * tokens));
    l->width = fmax(l->to + side + l->cols_w + margin, title_width(p, margin));
    l->name_w = 17 + widest_name(p) + 14;
    double names = fmax(1, fmin(heads, floor((l->width - 2 * margin + 14) / l->name_w)));
    l->names = (size_t)ceil(heads / ceil(heads / names)); /* rows of equal length */
    l->top = (p->title ? 68 : 38) + 20 * (double)((p->n_heads - 1) / l->names);
    l->height = l->top + l->pitch * tokens + 12;
    return 0;
}

/* The middle of a token. */
static double token_y(const struct layout *l, size_t i)
{
    return l->top + ((double)i + 0.5) * l->pitch;
}

static void legend(struct tf_buf *out, const struct tf_attention_picture *p, const struct layout *l)
{
    for (size_t h = 0; h < p->n_heads; h++) {
        double x = margin + l->name_w * (double)(h % l->names),
               y = (p->title ? 54 : 24) + 20 * (double)(h / l->names);
        char name[32];
        head_name(name, p, h);
        tf_svg_rect(out, x, y - 10, 11, 11, head_color(p, h));
        tf_svg_text(out, x + 17, y, name, head_size, TF_SVG_INK, TF_SVG_START, 0);
    }
}

static void column(struct tf_buf *out, const struct tf_attention_picture *p, const struct layout *l,
                   bool rows)
{
    double side = 2 * space + l->square_w * (double)p->n_heads - 1,
           x = rows ? l->from - side : l->to + side;
    for (size_t i = 0; i < (rows ? p->n_rows : p->n_cols); i++)
        draw_label(out, rows ? p->rows[i] : p->cols[i], x, token_y(l, i) + l->label * 0.35,
                   l->label, rows ? l->rows_w : l->cols_w,
                   !rows || drawn(p, i) ? TF_SVG_INK : TF_SVG_AXIS,
                   rows ? TF_SVG_END : TF_SVG_START, 0);
}

static void path(struct tf_buf *out, const char *paint, const char *color, int step,
                 const struct tf_buf *d)
{
    if (!d->len)
        return;
    tf_buf_printf(out, "<path %s=\"%s\" %s-opacity=\"", paint, color, paint);
    tf_svg_num(out, (double)step / STEPS);
    tf_buf_printf(out, "\" d=\"%s\"/>\n", d->p);
}

static void put(struct tf_buf *out, char verb, double x, double y)
{
    tf_buf_byte(out, (unsigned char)verb);
    tf_svg_num(out, x);
    tf_buf_byte(out, ' ');
    tf_svg_num(out, y);
}

/* Squares of n tokens from x on; amount: [n_heads, n], 0 to 1. */
static void squares(struct tf_buf *out, const struct tf_attention_picture *p,
                    const struct layout *l, double x, const double *amount, size_t n)
{
    struct tf_buf d = {0};
    for (size_t h = 0; h < p->n_heads; h++)
        for (int step = 1; step <= STEPS; step++) {
            tf_buf_clear(&d);
            for (size_t i = 0; i < n; i++) {
                if (step_of(amount[h * n + i]) != step)
                    continue;
                put(&d, 'M', x + (double)h * l->square_w, token_y(l, i) - l->square_h / 2);
                tf_buf_byte(&d, 'h');
                tf_svg_num(&d, l->square_w - 1);
                tf_buf_byte(&d, 'v');
                tf_svg_num(&d, l->square_h);
                tf_buf_byte(&d, 'h');
                tf_svg_num(&d, 1 - l->square_w);
                tf_buf_byte(&d, 'z');
            }
            path(out, "fill", head_color(p, h), step, &d);
        }
    tf_buf_release(&d);
}

static void all_squares(struct tf_buf *out, const struct tf_attention_picture *p,
                        const struct layout *l)
{
    double *asks = tf_xcalloc(p->n_heads * p->n_rows, sizeof *asks),
           *gets = tf_xcalloc(p->n_heads * p->n_cols, sizeof *gets);
    for (size_t h = 0; h < p->n_heads; h++)
        for (size_t r = 0; r < p->n_rows; r++) {
            if (!drawn(p, r))
                continue;
            asks[h * p->n_rows + r] = 1;
            for (size_t c = 0; c < p->n_cols; c++)
                gets[h * p->n_cols + c] += weight(p, h, r, c);
        }
    tf_buf_str(out, "<g class=\"rows\">\n");
    squares(out, p, l, l->from - space - l->square_w * (double)p->n_heads + 1, asks, p->n_rows);
    tf_buf_str(out, "</g>\n<g class=\"columns\">\n");
    squares(out, p, l, l->to + space, gets, p->n_cols);
    tf_buf_str(out, "</g>\n");
    free(asks);
    free(gets);
}

/* A path per opacity and head, the strongest on top. The heads leave each token side by side, so
 * that none hides another. */
static void all_lines(struct tf_buf *out, const struct tf_attention_picture *p,
                      const struct layout *l)
{
    double heads = (double)p->n_heads, apart = fmin(2, 0.6 * l->pitch / heads);
    struct tf_buf d = {0};
    tf_buf_str(out, "<g class=\"lines\" fill=\"none\" stroke-width=\"1.75\">\n");
    for (int step = 1; step <= STEPS; step++)
        for (size_t h = 0; h < p->n_heads; h++) {
            double beside = ((double)h - (heads - 1) / 2) * apart;
            tf_buf_clear(&d);
            for (size_t r = 0; r < p->n_rows; r++)
                for (size_t c = 0; drawn(p, r) && c < p->n_cols; c++) {
                    if (line_step(p, weight(p, h, r, c)) != step)
                        continue;
                    put(&d, 'M', l->from, token_y(l, r) + beside);
                    put(&d, 'L', l->to, token_y(l, c) + beside);
                }
            path(out, "stroke", head_color(p, h), step, &d);
        }
    tf_buf_str(out, "</g>\n");
    tf_buf_release(&d);
}

int tf_attention_lines(struct tf_buf *out, const struct tf_attention_picture *p, struct tf_err *err)
{
    struct layout l;
    struct tf_buf desc = {0};
    size_t asking = 0;
    if (check(p, err) < 0)
        return -1;
    for (size_t r = 0; r < p->n_rows; r++)
        asking += drawn(p, r);
    if (!asking)
        return tf_fail(err, "nothing to draw: none of the %zu rows is chosen", p->n_rows);
    if (lay_out(&l, p, err) < 0)
        return -1;

    tf_buf_printf(
        &desc,
        "Attention of %zu head%s: lines from %zu of %zu tokens on the left to %zu on the right, ",
        p->n_heads, p->n_heads == 1 ? "" : "s", asking, p->n_rows, p->n_cols);
    tf_buf_str(&desc, "the more opaque the greater the weight.");
    tf_svg_begin(out, l.width, l.height, p->title ? p->title : "Attention", desc.p);
    tf_buf_release(&desc);
    if (p->title)
        tf_svg_title(out, margin, l.width, p->title);
    legend(out, p, &l);
    all_lines(out, p, &l);
    all_squares(out, p, &l);
    column(out, p, &l, true);
    column(out, p, &l, false);
    tf_svg_end(out);
    return 0;
}

/* ---- heat ---- */

static const double between = 24, bar_room = 78, legible = 10;

struct grid {
    size_t across, down;    /* maps */
    double cell_w, cell_h, label;
    double rows_w, cols_h;  /* room for labels */
    double left, top;       /* of the first map */
    double map_w, map_h;    /* from one map to the next */
};

/* How many maps at least w wide stand side by side. */
static double fit(double room, double w)
{
    return floor((room + between) / (w + between));
}

/* As many maps side by side as let each token have its label. Long sentences lose labels rather
 * than make pictures of one map below the other. */
static int make_grid(struct grid *g, const struct tf_attention_picture *p, struct tf_err *err)
{
    double heads = (double)p->n_heads, cols = (double)p->n_cols, rows = (double)p->n_rows,
           name = widest_name(p);
    double most = fmax(14, fmin(36, 360 / fmax(rows, cols)));
    *g = (struct grid){.rows_w = label_room(p->rows, p->n_rows, 11.5, fmin(160, p->width / 4))};
    g->left = margin + g->rows_w + space;
    double room = p->width - g->left - bar_room,
           across = fmin(heads, fit(room, fmax(legible * cols, name)));
    if (across < 2)
        across = fmin(fmin(heads, 2), fit(room, fmax(fmin(legible * cols, 160), name)));
    if (!(across >= 1))
        return too_narrow(p, err);
    g->down = (size_t)ceil(heads / across);
    g->across = (p->n_heads + g->down - 1) / g->down;
    g->cell_w = fmin(most, ((room + between) / (double)g->across - between) / cols);
    /* square, but few rows are never lower than their labels */
    g->cell_h = fmin(fmax(g->cell_w, fmin(12, 360 / rows)), 3 * p->width / rows);
    g->label = fmax(9, fmin(11.5, 0.95 * fmin(g->cell_w, g->cell_h)));
    g->cols_h = label_room(p->cols, p->n_cols, g->label, 120);
    g->top = (p->title ? 52 : 14) + 20 + g->cols_h + 8;
    g->map_w = fmax(g->cell_w * cols, name) + between;
    g->map_h = 20 + g->cols_h + 8 + g->cell_h * rows + 22;
    return 0;
}

/* Every how manyth label is drawn. */
static size_t label_step(double cell)
{
    return cell >= legible ? 1 : (size_t)ceil(legible / cell);
}

static void map(struct tf_buf *out, const struct tf_attention_picture *p, const struct grid *g,
                size_t head, double *v)
{
    static const struct tf_heat_scale scale = {0, 1, TF_COLORS_AMOUNT};
    const struct tf_matrix m = {.v = v, .rows = p->n_rows, .cols = p->n_cols};
    double x = g->left + g->map_w * (double)(head % g->across),
           y = g->top + g->map_h * (double)(head / g->across);
    char name[32];
    for (size_t i = 0; i < m.rows * m.cols; i++)
        v[i] = weight(p, head, 0, i);
    head_name(name, p, head);
    tf_svg_text(out, x, y - 8 - g->cols_h - 8, name, head_size, TF_SVG_INK, TF_SVG_START, 0);
    tf_heat_cells(out, &m, &scale, x, y, g->cell_w, g->cell_h);
    for (size_t c = 0; c < p->n_cols; c += label_step(g->cell_w))
        draw_label(out, p->cols[c], x + ((double)c + 0.5) * g->cell_w + g->label * 0.35, y - 5,
                   g->label, g->cols_h, TF_SVG_SOFT, TF_SVG_START, -90);
    for (size_t r = 0; head % g->across == 0 && r < p->n_rows; r += label_step(g->cell_h))
        draw_label(out, p->rows[r], x - space, y + ((double)r + 0.5) * g->cell_h + g->label * 0.35,
                   g->label, g->rows_w, TF_SVG_SOFT, TF_SVG_END, 0);
    if (head == g->across - 1)
        tf_heat_bar(out, &scale, x + g->map_w - between + 18, y, 14,
                    fmax(80, fmin(260, g->cell_h * (double)p->n_rows)));
}

int tf_attention_heat(struct tf_buf *out, const struct tf_attention_picture *p, struct tf_err *err)
{
    struct grid g;
    struct tf_buf desc = {0};
    if (check(p, err) < 0 || make_grid(&g, p, err) < 0)
        return -1;
    double width = g.left + g.map_w * (double)g.across - between + bar_room;
    double bottom = g.top + g.map_h * (double)(g.down - 1) +
                    fmax(g.cell_h * (double)p->n_rows, g.down == 1 ? 80 : 0);
    width = fmax(width, title_width(p, g.left));
    tf_buf_printf(
        &desc,
        "Attention of %zu head%s: heat maps of %zu rows and %zu columns, colours from 0 to 1.",
        p->n_heads, p->n_heads == 1 ? "" : "s", p->n_rows, p->n_cols);
    tf_svg_begin(out, width, bottom + 16, p->title ? p->title : "Attention", desc.p);
    tf_buf_release(&desc);
    if (p->title)
        tf_svg_title(out, g.left, width, p->title);
    double *v = tf_xarray(NULL, p->n_rows * p->n_cols, sizeof *v);
    for (size_t h = 0; h < p->n_heads; h++)
        map(out, p, &g, h, v);
    free(v);
    tf_svg_end(out);
    return 0;
}
