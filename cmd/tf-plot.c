/* tf-plot - learning curves, heat maps, attention and position tables as SVG: options, one drawing,
 * one file. */
#include "base/file.h"
#include "plot/attention_record.h"
#include "plot/curves.h"
#include "plot/heat.h"
#include "plot/position_figure.h"
#include "modes.h"
#include "rows.h"
#include <math.h>
#include <string.h>

static const char *output, *title, *x_label, *y_label;
static int64_t width, height, length, dims;
static struct tf_curves curves;
static struct tf_strs labels;
static double x_min, x_max, y_min, y_max, v_min, v_max, base;
static int colors, form, show;
static struct tf_heat heat;
static struct tf_attention_record attention;
static struct tf_figure figure; /* title, labels and size of any of them */
static int kind;

enum { SHOW_BOTH, SHOW_HEAT, SHOW_CURVES, SHOW_LINES };
static const char *const shows[] = {"both", "heat", "curves", "lines", NULL},
                         *const kinds[] = {"any", "encoder", "decoder", "cross", NULL};

static struct tf_opt opts[] = {
    {.kind = TF_OPT_GROUP, .help = "What to draw"},
    {.kind = TF_OPT_WORD, .arg = "curve",
     .help = "numbers of JSON Lines over steps, such as tf-train's log"},
    {.kind = TF_OPT_WORD, .arg = "heat", .help = "a matrix as a heat map"},
    {.kind = TF_OPT_WORD, .arg = "attention", .help = "where a model looks, from tf-attn's stream"},
    {.kind = TF_OPT_WORD, .arg = "positions", .help = "the sinusoids that tell positions apart"},
    {.kind = TF_OPT_GROUP, .help = "Picture"},
    ROW_OUTPUT(output),
    {.kind = TF_OPT_STR, .letter = 't', .name = "title", .target = &title, .arg = "TEXT",
     .help = "above the picture"},
    {.kind = TF_OPT_INT, .letter = 'w', .name = "width", .target = &width, .arg = "PIXELS",
     .def = "840", .lo = 160, .hi = 20000,
     .help = "of the picture; the most, for a heat map and attention"},
    {.kind = TF_OPT_STR, .name = "x-label", .target = &x_label, .arg = "TEXT",
     .help = "below the x axis"},
    {.kind = TF_OPT_STR, .name = "y-label", .target = &y_label, .arg = "TEXT",
     .help = "beside the y axis"},
    {.kind = TF_OPT_GROUP, .help = "Curves"},
    {.kind = TF_OPT_INT, .name = "height", .target = &height, .arg = "PIXELS", .def = "480",
     .lo = 120, .hi = 20000, .help = "of the picture"},
    {.kind = TF_OPT_STR, .letter = 'x', .name = "x", .target = &curves.x, .arg = "KEY",
     .def = "step", .help = "what goes to the right"},
    {.kind = TF_OPT_STR, .letter = 'y', .name = "y", .target = &curves.y, .arg = "KEY[,KEY]...",
     .def = "loss", .help = "what goes up, one line each"},
    {.kind = TF_OPT_STR, .name = "where", .target = &curves.where, .arg = "KEY=VALUE",
     .help = "only objects that say so, as in event=valid"},
    {.kind = TF_OPT_STR, .name = "by", .target = &curves.by, .arg = "KEY", .def = "event",
     .help = "a line for every value of KEY; '' for none"},
    {.kind = TF_OPT_LIST, .letter = 'l', .name = "label", .target = &labels, .arg = "TEXT",
     .help = "name of a log in the legend, in their order"},
    {.kind = TF_OPT_REAL, .letter = 's', .name = "smooth", .target = &curves.chart.smooth,
     .arg = "W", .def = "0", .lo = 0, .hi = 0.9999,
     .help = "moving average in which the past weighs W"},
    {.kind = TF_OPT_FLAG, .name = "log-x", .target = &curves.chart.log_x,
     .help = "logarithmic x axis"},
    {.kind = TF_OPT_FLAG, .name = "log-y", .target = &curves.chart.log_y,
     .help = "logarithmic y axis"},
    {.kind = TF_OPT_REAL, .name = "x-min", .target = &x_min, .arg = "X", .lo = -1e300, .hi = 1e300,
     .help = "where the x axis begins"},
    {.kind = TF_OPT_REAL, .name = "x-max", .target = &x_max, .arg = "X", .lo = -1e300, .hi = 1e300,
     .help = "where it ends"},
    {.kind = TF_OPT_REAL, .name = "y-min", .target = &y_min, .arg = "Y", .lo = -1e300, .hi = 1e300,
     .help = "where the y axis begins"},
    {.kind = TF_OPT_REAL, .name = "y-max", .target = &y_max, .arg = "Y", .lo = -1e300, .hi = 1e300,
     .help = "where it ends"},
    {.kind = TF_OPT_GROUP, .help = "Heat maps"},
    {.kind = TF_OPT_REAL, .name = "min", .target = &v_min, .arg = "V", .lo = -1e300, .hi = 1e300,
     .help = "value of the first colour"},
    {.kind = TF_OPT_REAL, .name = "max", .target = &v_max, .arg = "V", .lo = -1e300, .hi = 1e300,
     .help = "value of the last colour"},
    {.kind = TF_OPT_CHOICE, .name = "colors", .target = &colors, .arg = "NAME", .def = "auto",
     .choices = tf_colors_names, .help = "from pale to dark, or two hues around 0"},
    {.kind = TF_OPT_FLAG, .name = "values", .target = &heat.values,
     .help = "write each value into its cell"},
    {.kind = TF_OPT_GROUP, .help = "Attention"},
    {.kind = TF_OPT_INT, .letter = 'i', .name = "idx", .target = &attention.idx, .arg = "N",
     .def = "-1", .lo = -1, .hi = 9e15,
     .help = "the sentence, counted from 0; default: the first in the stream"},
    {.kind = TF_OPT_CHOICE, .letter = 'k', .name = "kind", .target = &kind, .arg = "KIND",
     .def = "any", .choices = kinds, .help = "of attention"},
    {.kind = TF_OPT_INT, .name = "layer", .target = &attention.layer, .arg = "N", .def = "0",
     .lo = 0, .hi = 9e15, .help = "the layer, from 1 on; 0: the first in the stream"},
    {.kind = TF_OPT_STR, .letter = 'H', .name = "head", .target = &attention.heads, .arg = "LIST",
     .def = "all", .help = "heads, as in 5 or 1,3-5"},
    {.kind = TF_OPT_LIST, .name = "token", .target = &attention.tokens, .arg = "TEXT",
     .help = "only lines from rows of this piece; several times: from any of them"},
    {.kind = TF_OPT_REAL, .name = "least", .target = &attention.least, .arg = "W", .def = "0.02",
     .lo = 0, .hi = 1, .help = "weights below have no line"},
    {.kind = TF_OPT_GROUP, .help = "Positions"},
    {.kind = TF_OPT_INT, .letter = 'L', .name = "length", .target = &length, .arg = "L",
     .def = "512", .lo = 1, .hi = TF_MATRIX_CELLS, .help = "positions"},
    {.kind = TF_OPT_INT, .letter = 'd', .name = "dims", .target = &dims, .arg = "D", .def = "14",
     .lo = 1, .hi = 65536, .help = "dimensions"},
    {.kind = TF_OPT_REAL, .letter = 'N', .name = "base", .target = &base, .arg = "N",
     .def = "10000", .lo = 1.001, .hi = 1e12, .help = "base of the wavelengths"},
    {.kind = TF_OPT_CHOICE, .name = "variant", .target = &form, .arg = "NAME", .def = "paper",
     .choices = tf_position_forms, .help = "the paper's formula or a relative of it"},
    {.kind = TF_OPT_CHOICE, .name = "show", .target = &show, .arg = "WHAT", .def = "both",
     .choices = shows,
     .help = "positions: heat, curves or both; attention: lines (its default) or heat"},
    {.kind = TF_OPT_END},
};

enum { CURVE = 1, HEAT = 2, ATTENTION = 4, POSITIONS = 8 };
static const struct mode_row modes[] = {
    {CURVE | HEAT, "curves and heat maps", {"x-label", "y-label"}},
    {CURVE,
     "curves",
     {"height", "x", "y", "where", "by", "label", "smooth", "log-x", "log-y", "x-min", "x-max",
      "y-min", "y-max"}},
    {HEAT, "heat maps", {"min", "max", "colors", "values"}},
    {ATTENTION, "attention", {"idx", "kind", "layer", "head", "token", "least"}},
    {POSITIONS, "positions", {"length", "dims", "base", "variant"}},
    {ATTENTION | POSITIONS, "attention and positions", {"show"}},
    {0},
};

static const struct tf_tool tool = {
    .name = "tf-plot",
    .synopsis = "[options] curve LOG...\n"
                "[options] heat MATRIX\n"
                "[options] attention ATTENTION.tfs\n"
                "[options] positions",
    .summary = "draw learning curves, heat maps, attention and position tables as SVG",
    .opts = opts,
    .min_args = 1,
    .max_args = -1,
    .n_words = 1,
};

/* A number that the user gave, or NaN. */
static double given(const char *name, double value)
{
    return tf_opt_find(opts, name)->set ? value : NAN;
}

static int draw_curves(struct tf_buf *out, const char *const *files, size_t n, struct tf_err *err)
{
    if (!n || tf_count_stdin(files, n) > 1)
        return tf_fail_status(err, TF_USAGE,
                              n ? "only one log can be stdin" : "curve: no log given");
    curves.logs = files;
    curves.nlogs = n;
    curves.labels = labels.v;
    curves.nlabels = labels.n;
    struct tf_chart *c = &curves.chart;
    c->figure = figure;
    c->x_min = given("x-min", x_min);
    c->x_max = given("x-max", x_max);
    c->y_min = given("y-min", y_min);
    c->y_max = given("y-max", y_max);
    return tf_curves_draw(out, &curves, err);
}

static int draw_heat(struct tf_buf *out, const char *const *files, size_t n, struct tf_err *err)
{
    struct tf_matrix m = {0};
    if (n != 1)
        return tf_fail_status(err, TF_USAGE, "heat: one matrix, not %zu", n);
    heat.figure = figure;
    heat.min = given("min", v_min);
    heat.max = given("max", v_max);
    heat.colors = colors;
    int rc = tf_matrix_read(&m, files[0], err);
    if (!rc)
        rc = tf_heat_draw(out, &heat, &m, err);
    tf_matrix_release(&m);
    return rc;
}

static int draw_attention(struct tf_buf *out, const char *const *files, size_t n,
                          struct tf_err *err)
{
    if (n != 1)
        return tf_fail_status(err, TF_USAGE, "attention: one stream, not %zu", n);
    bool given_show = tf_opt_find(opts, "show")->set;
    if (given_show && show != SHOW_LINES && show != SHOW_HEAT)
        return tf_fail_status(err, TF_USAGE, "attention: --show lines or heat, not %s",
                              shows[show]);
    if (given_show && show == SHOW_HEAT &&
        (attention.tokens.n > 0 || tf_opt_find(opts, "least")->set))
        return tf_fail_status(err, TF_USAGE,
                              "attention: --token and --least are for lines, not for --show heat");
    attention.kind = kind ? kinds[kind] : NULL;
    attention.figure = figure;
    attention.heat = given_show && show == SHOW_HEAT;
    return tf_attention_record_draw(out, &attention, files[0], err);
}

static int draw_positions(struct tf_buf *out, const char *const *files, size_t n,
                          struct tf_err *err)
{
    if (n)
        return tf_fail_status(err, TF_USAGE, "positions: reads no file, but '%s' was given",
                              files[0]);
    if (show == SHOW_LINES)
        return tf_fail_status(err, TF_USAGE, "positions: --show heat, curves or both, not lines");
    const struct tf_position_figure p = {.figure = figure,
                                         .length = (size_t)length,
                                         .dims = (size_t)dims,
                                         .base = base,
                                         .form = (enum tf_position_form)form,
                                         .heat = show != SHOW_CURVES,
                                         .curves = show != SHOW_HEAT};
    return tf_position_figure_draw(out, &p, err);
}

static int draw(struct tf_buf *out, const struct tf_args *args, struct tf_err *err)
{
    static const struct {
        const char *name;
        unsigned mode;
        int (*draw)(struct tf_buf *, const char *const *, size_t, struct tf_err *);
    } pictures[] = {{"curve", CURVE, draw_curves},
                    {"heat", HEAT, draw_heat},
                    {"attention", ATTENTION, draw_attention},
                    {"positions", POSITIONS, draw_positions}};
    figure = (struct tf_figure){.title = title,
                                .x_label = x_label,
                                .y_label = y_label,
                                .width = (double)width,
                                .height = (double)height};
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        if (strcmp(args->v[0], pictures[i].name) == 0)
            return check_modes(opts, modes, pictures[i].mode, err) < 0
                       ? -1
                       : pictures[i].draw(out, args->v + 1, (size_t)args->n - 1, err);
    return tf_fail_status(err, TF_USAGE, "'%s': one of curve, heat, attention, positions",
                          args->v[0]);
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    struct tf_buf svg = {0};
    struct tf_out out = {0};
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    if (!rc)
        rc = draw(&svg, &args, &err);
    if (!rc)
        rc = tf_out_open(&out, output, 0, &err);
    if (!rc) {
        rc = tf_out_write(&out, svg.p, svg.len, &err);
        rc = tf_out_finish(&out, rc, &err);
    }
    tf_buf_release(&svg);
    return tf_finish(rc, &err);
}
