/* attention_figure_heat.c - attention weights as heat maps, one per head. */
#include "base/memory.h"
#include "plot/attention_parts_private.h"
#include "plot/heat.h"
#include <math.h>
#include <stdlib.h>

/* Distance between maps, room for the colour bar, and the least distance between labels. */
static const double between = 24, bar_room = 78, legible = 10;

struct grid {
    size_t across, down; /* maps */
    double cell_w, cell_h, label;
    double rows_w, cols_h; /* room for labels */
    double left, top;      /* of the first map */
    double map_w, map_h;   /* from one map to the next */
};

/* How many maps of at least width w fit side by side. */
static double fit(double room, double w)
{
    return floor((room + between) / (w + between));
}

/* Put as many maps side by side as leave room for the label of every token. For long sentences,
 * omit labels rather than put all maps below each other. */
static int make_grid(struct grid *g, const struct tf_attention_figure *f, struct tf_err *err)
{
    double heads = (double)f->n_heads, cols = (double)f->n_cols, rows = (double)f->n_rows,
           name = tf_attention_widest_head_name(f);
    double most = fmax(14, fmin(36, 360 / fmax(rows, cols)));
    *g = (struct grid){.rows_w = tf_attention_label_room(f->rows, f->n_rows, 11.5,
                                                         fmin(160, f->figure.width / 4))};
    g->left = TF_ATTENTION_MARGIN + g->rows_w + TF_ATTENTION_SPACE;
    double room = f->figure.width - g->left - bar_room,
           across = fmin(heads, fit(room, fmax(legible * cols, name)));
    if (across < 2)
        across = fmin(fmin(heads, 2), fit(room, fmax(fmin(legible * cols, 160), name)));
    if (!(across >= 1))
        return tf_attention_too_narrow(f, err);
    g->down = (size_t)ceil(heads / across);
    g->across = (f->n_heads + g->down - 1) / g->down;
    g->cell_w = fmin(most, ((room + between) / (double)g->across - between) / cols);
    /* square, but rows are at least as high as their labels if there are few */
    g->cell_h = fmin(fmax(g->cell_w, fmin(12, 360 / rows)), 3 * f->figure.width / rows);
    g->label = fmax(9, fmin(11.5, 0.95 * fmin(g->cell_w, g->cell_h)));
    g->cols_h = tf_attention_label_room(f->cols, f->n_cols, g->label, 120);
    g->top = (f->figure.title != NULL ? 52 : 14) + 20 + g->cols_h + 8;
    g->map_w = fmax(g->cell_w * cols, name) + between;
    g->map_h = 20 + g->cols_h + 8 + g->cell_h * rows + 22;
    return 0;
}

/* Every n-th label is drawn. */
static size_t label_step(double cell)
{
    return cell >= legible ? 1 : (size_t)ceil(legible / cell);
}

static void map(struct tf_buf *out, const struct tf_attention_figure *f, const struct grid *g,
                size_t head, double *v)
{
    static const struct tf_heat_scale scale = {0, 1, TF_COLORS_AMOUNT};
    const struct tf_matrix m = {.v = v, .rows = f->n_rows, .cols = f->n_cols};
    double x = g->left + g->map_w * (double)(head % g->across),
           y = g->top + g->map_h * (double)(head / g->across);
    char name[32];
    for (size_t i = 0; i < m.rows * m.cols; i++)
        v[i] = tf_attention_weight(f, head, 0, i);
    tf_attention_head_name(name, f, head);
    tf_svg_text(out, x, y - 8 - g->cols_h - 8, name, TF_ATTENTION_HEAD_SIZE, TF_SVG_INK,
                TF_SVG_START, 0);
    tf_heat_cells(out, &m, &scale, x, y, g->cell_w, g->cell_h);
    for (size_t c = 0; c < f->n_cols; c += label_step(g->cell_w))
        tf_attention_label(out, f->cols[c], x + ((double)c + 0.5) * g->cell_w + g->label * 0.35,
                           y - 5, g->label, g->cols_h, TF_SVG_SOFT, TF_SVG_START, -90);
    for (size_t r = 0; head % g->across == 0 && r < f->n_rows; r += label_step(g->cell_h))
        tf_attention_label(out, f->rows[r], x - TF_ATTENTION_SPACE,
                           y + ((double)r + 0.5) * g->cell_h + g->label * 0.35, g->label, g->rows_w,
                           TF_SVG_SOFT, TF_SVG_END, 0);
    if (head == g->across - 1)
        tf_heat_bar(out, &scale, x + g->map_w - between + 18, y, 14,
                    fmax(80, fmin(260, g->cell_h * (double)f->n_rows)));
}

int tf_attention_heat(struct tf_buf *out, const struct tf_attention_figure *f, struct tf_err *err)
{
    struct grid g;
    struct tf_buf desc = {0};
    if (tf_attention_check(f, err) != 0 || make_grid(&g, f, err) != 0)
        return -1;
    double width = g.left + g.map_w * (double)g.across - between + bar_room;
    double bottom = g.top + g.map_h * (double)(g.down - 1) +
                    fmax(g.cell_h * (double)f->n_rows, g.down == 1 ? 80 : 0);
    width = fmax(width, tf_attention_title_width(f, g.left));
    tf_buf_printf(
        &desc,
        "Attention of %zu head%s: heat maps of %zu rows and %zu columns, colours from 0 to 1.",
        f->n_heads, f->n_heads == 1 ? "" : "s", f->n_rows, f->n_cols);
    tf_svg_begin(out, width, bottom + 16, f->figure.title != NULL ? f->figure.title : "Attention",
                 desc.p);
    tf_buf_release(&desc);
    if (f->figure.title != NULL)
        tf_svg_title(out, g.left, width, f->figure.title);
    double *v = tf_xarray(NULL, f->n_rows * f->n_cols, sizeof *v);
    for (size_t h = 0; h < f->n_heads; h++)
        map(out, f, &g, h, v);
    free(v);
    tf_svg_end(out);
    return 0;
}
