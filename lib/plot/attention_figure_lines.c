/* attention_figure_lines.c - attention weights as lines between tokens. */
#include "base/memory.h"
#include "plot/attention_parts_private.h"
#include <math.h>
#include <stdlib.h>

/* The seven hues of tf_svg_line_color and indigo, then a darker or lighter version of each, chosen
 * to keep the 16 colours apart for colour-blind readers (distances in Oklab after the simulation of
 * Machado et al., 2009). */
static const char *head_color(const struct tf_attention_figure *f, size_t h)
{
    static const char *const more[] = {"#332288", "#004a74", "#753400", "#99d8c7", "#472a3a",
                                       "#efc159", "#2f6380", "#afafaf", "#140e36"};
    /* by its number, so that a head has the same colour in every figure */
    size_t head = (uint64_t)(f->heads[h] - 1) % 16;
    return head < 7 ? tf_svg_line_color(head) : more[head - 7];
}

enum { STEPS = 20 }; /* of opacity */

static int step_of(double x)
{
    return (int)lround(fmin(1, x) * STEPS);
}

/* The opacity of a line: 0 for none, else at least one step, so that it is visible. */
static int line_step(const struct tf_attention_figure *f, double w)
{
    return w <= 0 || w < f->least ? 0 : step_of(fmax(w, 1.0 / STEPS));
}

static bool drawn(const struct tf_attention_figure *f, size_t row)
{
    return f->only == NULL || f->only[row];
}

struct layout {
    double label, pitch;       /* size of the labels; distance between tokens */
    double rows_w, cols_w;     /* room for labels */
    double square_w, square_h; /* of one head */
    double from, to;           /* x of the ends of the lines */
    double top, width, height;
    size_t names; /* per row of the legend */
    double name_w;
};

static int lay_out(struct layout *l, const struct tf_attention_figure *f, struct tf_err *err)
{
    double heads = (double)f->n_heads,
           tokens = (double)(f->n_rows > f->n_cols ? f->n_rows : f->n_cols),
           most = fmin(220, f->figure.width / 4);
    *l = (struct layout){.pitch = fmax(15, fmin(22, floor(900 / tokens)))};
    l->label = fmin(13, l->pitch - 4);
    l->rows_w = tf_attention_label_room(f->rows, f->n_rows, l->label, most);
    l->cols_w = tf_attention_label_room(f->cols, f->n_cols, l->label, most);
    l->square_w = fmax(2, fmin(11, floor(fmin(96, f->figure.width / 9) / heads)));
    l->square_h = fmin(12, l->pitch - 5);
    double side = TF_ATTENTION_SPACE + heads * l->square_w + TF_ATTENTION_SPACE,
           sides = TF_ATTENTION_MARGIN + l->rows_w + side + side + l->cols_w + TF_ATTENTION_MARGIN;
    if (!(f->figure.width - sides >= 60))
        return tf_attention_too_narrow(f, err);
    l->from = TF_ATTENTION_MARGIN + l->rows_w + side;
    l->to = l->from + fmin(f->figure.width - sides, fmax(280, l->pitch * tokens));
    l->width = fmax(l->to + side + l->cols_w + TF_ATTENTION_MARGIN,
                    tf_attention_title_width(f, TF_ATTENTION_MARGIN));
    l->name_w = 17 + tf_attention_widest_head_name(f) + 14;
    double names =
        fmax(1, fmin(heads, floor((l->width - 2 * TF_ATTENTION_MARGIN + 14) / l->name_w)));
    l->names = (size_t)ceil(heads / ceil(heads / names)); /* rows of equal length */
    l->top = (f->figure.title != NULL ? 68 : 38) + 20 * (double)((f->n_heads - 1) / l->names);
    l->height = l->top + l->pitch * tokens + 12;
    return 0;
}

/* The y of the middle of token i. */
static double token_y(const struct layout *l, size_t i)
{
    return l->top + ((double)i + 0.5) * l->pitch;
}

static void legend(struct tf_buf *out, const struct tf_attention_figure *f, const struct layout *l)
{
    for (size_t h = 0; h < f->n_heads; h++) {
        double x = TF_ATTENTION_MARGIN + l->name_w * (double)(h % l->names),
               y = (f->figure.title != NULL ? 54 : 24) + 20 * (double)(h / l->names);
        char name[32];
        tf_attention_head_name(name, f, h);
        tf_svg_rect(out, x, y - 10, 11, 11, head_color(f, h));
        tf_svg_text(out, x + 17, y, name, TF_ATTENTION_HEAD_SIZE, TF_SVG_INK, TF_SVG_START, 0);
    }
}

static void put_column(struct tf_buf *out, const struct tf_attention_figure *f,
                       const struct layout *l, bool rows)
{
    double side = 2 * TF_ATTENTION_SPACE + l->square_w * (double)f->n_heads - 1,
           x = rows ? l->from - side : l->to + side;
    for (size_t i = 0; i < (rows ? f->n_rows : f->n_cols); i++)
        tf_attention_label(out, rows ? f->rows[i] : f->cols[i], x, token_y(l, i) + l->label * 0.35,
                           l->label, rows ? l->rows_w : l->cols_w,
                           !rows || drawn(f, i) ? TF_SVG_INK : TF_SVG_AXIS,
                           rows ? TF_SVG_END : TF_SVG_START, 0);
}

static void path(struct tf_buf *out, const char *paint, const char *color, int step,
                 const struct tf_buf *d)
{
    if (!d->len)
        return;
    tf_buf_printf(out, "<path %s=\"%s\" %s", paint, color, paint);
    TF_SVG(out, "-opacity=\"@\"", (double)step / STEPS);
    tf_buf_printf(out, " d=\"%s\"/>\n", d->p);
}

/* Draw squares of n tokens from x on with opacities amount: [n_heads, n], 0 to 1. */
static void squares(struct tf_buf *out, const struct tf_attention_figure *f, const struct layout *l,
                    double x, const double *amount, size_t n)
{
    struct tf_buf d = {0};
    for (size_t h = 0; h < f->n_heads; h++)
        for (int step = 1; step <= STEPS; step++) {
            tf_buf_clear(&d);
            for (size_t i = 0; i < n; i++)
                if (step_of(amount[h * n + i]) == step)
                    TF_SVG(&d, "M@ @h@v@h@z", x + (double)h * l->square_w,
                           token_y(l, i) - l->square_h / 2, l->square_w - 1, l->square_h,
                           1 - l->square_w);
            path(out, "fill", head_color(f, h), step, &d);
        }
    tf_buf_release(&d);
}

static void all_squares(struct tf_buf *out, const struct tf_attention_figure *f,
                        const struct layout *l)
{
    double *from = tf_xcalloc(f->n_heads * f->n_rows, sizeof *from),
           *to = tf_xcalloc(f->n_heads * f->n_cols, sizeof *to);
    for (size_t h = 0; h < f->n_heads; h++)
        for (size_t r = 0; r < f->n_rows; r++) {
            if (!drawn(f, r))
                continue;
            from[h * f->n_rows + r] = 1;
            for (size_t c = 0; c < f->n_cols; c++)
                to[h * f->n_cols + c] += tf_attention_weight(f, h, r, c);
        }
    tf_buf_str(out, "<g class=\"rows\">\n");
    squares(out, f, l, l->from - TF_ATTENTION_SPACE - l->square_w * (double)f->n_heads + 1, from,
            f->n_rows);
    tf_buf_str(out, "</g>\n<g class=\"columns\">\n");
    squares(out, f, l, l->to + TF_ATTENTION_SPACE, to, f->n_cols);
    tf_buf_str(out, "</g>\n");
    free(from);
    free(to);
}

/* Draw one path per opacity and head, the strongest on top. The lines of the heads leave each token
 * side by side, so that none hides another. */
static void all_lines(struct tf_buf *out, const struct tf_attention_figure *f,
                      const struct layout *l)
{
    double heads = (double)f->n_heads, apart = fmin(2, 0.6 * l->pitch / heads);
    struct tf_buf d = {0};
    tf_buf_str(out, "<g class=\"lines\" fill=\"none\" stroke-width=\"1.75\">\n");
    for (int step = 1; step <= STEPS; step++)
        for (size_t h = 0; h < f->n_heads; h++) {
            double beside = ((double)h - (heads - 1) / 2) * apart;
            tf_buf_clear(&d);
            for (size_t r = 0; r < f->n_rows; r++)
                for (size_t c = 0; drawn(f, r) && c < f->n_cols; c++)
                    if (line_step(f, tf_attention_weight(f, h, r, c)) == step)
                        TF_SVG(&d, "M@ @L@ @", l->from, token_y(l, r) + beside, l->to,
                               token_y(l, c) + beside);
            path(out, "stroke", head_color(f, h), step, &d);
        }
    tf_buf_str(out, "</g>\n");
    tf_buf_release(&d);
}

int tf_attention_lines(struct tf_buf *out, const struct tf_attention_figure *f, struct tf_err *err)
{
    struct layout l;
    struct tf_buf desc = {0};
    size_t chosen = 0;
    if (tf_attention_check(f, err) != 0)
        return -1;
    for (size_t r = 0; r < f->n_rows; r++)
        chosen += drawn(f, r);
    if (!chosen)
        return tf_fail(err, "nothing to draw: none of the %zu rows is chosen", f->n_rows);
    if (lay_out(&l, f, err) != 0)
        return -1;

    tf_buf_printf(
        &desc,
        "Attention of %zu head%s: lines from %zu of %zu tokens on the left to %zu on the right, ",
        f->n_heads, f->n_heads == 1 ? "" : "s", chosen, f->n_rows, f->n_cols);
    tf_buf_str(&desc, "the more opaque the greater the weight.");
    tf_svg_begin(out, l.width, l.height, f->figure.title != NULL ? f->figure.title : "Attention",
                 desc.p);
    tf_buf_release(&desc);
    if (f->figure.title != NULL)
        tf_svg_title(out, TF_ATTENTION_MARGIN, l.width, f->figure.title);
    legend(out, f, &l);
    all_lines(out, f, &l);
    all_squares(out, f, &l);
    put_column(out, f, &l, true);
    put_column(out, f, &l, false);
    tf_svg_end(out);
    return 0;
}
