/* tf-plot - learning curves, heat maps, attention and position tables as SVG. */
#include "common_options.h"
#include "base/output.h"
#include "base/sandbox.h"
#include "plot/attention_record.h"
#include "plot/curves.h"
#include "plot/heat.h"
#include "plot/position_figure.h"
#include "plot/run_figure.h"

#include <math.h>
#include <sys/stat.h>

enum { CURVE = 1, HEAT = 2, ATTENTION = 4, POSITIONS = 8, RUN = 16 };

enum { SHOW_BOTH, SHOW_HEAT, SHOW_CURVES, SHOW_PRODUCTS, SHOW_LINES };
static const char *const shows[] = {"both", "heat", "curves", "products", "lines", NULL},
                         *const kinds[] = {"any", "encoder", "decoder", "cross", NULL};

static const char *output;
static int64_t width, height, length, dims;
static struct tf_strs labels;
static bool header, names, csv;
static int show, kind;
static struct tf_curves curves = {.chart = {.x_min = NAN, .x_max = NAN, .y_min = NAN,
                                            .y_max = NAN}};
static struct tf_heat heat = {.min = NAN, .max = NAN};
static struct tf_attention_record attention;
static struct tf_position_figure positions;
static struct tf_figure figure; /* title, labels and size of any of them */

static struct tf_opt opts[] = {
    OPT_GROUP("What to draw"),
    OPT_WORD("curve", CURVE, "curves over steps from JSON Lines, such as the log of tf-train"),
    OPT_WORD("run", RUN, "runs of tf-train at a glance: curves, and the last sample translations"),
    OPT_WORD("heat", HEAT, "a matrix as a heat map"),
    OPT_WORD("attention", ATTENTION, "attention weights from a stream of tf-attn"),
    OPT_WORD("positions", POSITIONS, "sinusoidal position encodings"),
    OPT_GROUP("Picture"),
    COMMON_OUTPUT(&output),
    OPT_STR('t', "title", &figure.title, .arg = "TEXT", .help = "title above the picture"),
    OPT_INT('w', "width", &width, .arg = "PIXELS", .def = "840", .lo = 160, .hi = 20000,
            .help = "width of the picture; the maximum for heat and attention"),
    OPT_STR(0, "x-label", &figure.x_label, .arg = "TEXT", .modes = CURVE | HEAT,
            .help = "label of the x axis"),
    OPT_STR(0, "y-label", &figure.y_label, .arg = "TEXT", .modes = CURVE | HEAT,
            .help = "label of the y axis"),
    OPT_GROUP("Curves"),
    OPT_INT(0, "height", &height, .arg = "PIXELS", .def = "480", .lo = 120, .hi = 20000,
            .modes = CURVE, .help = "height of the picture"),
    OPT_STR('x', "x", &curves.x, .arg = "KEY", .def = "step", .modes = CURVE | RUN,
            .help = "key of the x values"),
    OPT_STR('y', "y", &curves.y, .arg = "KEY[,KEY]...", .def = "loss", .modes = CURVE,
            .help = "keys of the y values, one curve each"),
    OPT_STR(0, "where", &curves.where, .arg = "KEY=VALUE", .modes = CURVE,
            .help = "use only objects with this value, such as event=valid"),
    OPT_STR(0, "by", &curves.by, .arg = "KEY", .def = "event", .modes = CURVE,
            .help = "draw one curve for every value of KEY; '' for no division"),
    OPT_STR(0, "points", &curves.points, .arg = "KEY", .modes = CURVE,
            .help = "draw points, not lines, each named by its value of KEY"),
    OPT_LIST('l', "label", &labels, .arg = "TEXT", .modes = CURVE | RUN,
             .help = "name of a log in the legend; repeat in the order of the logs"),
    OPT_REAL('s', "smooth", &curves.chart.smooth, .arg = "W", .def = "0", .lo = 0, .hi = 0.9999,
             .modes = CURVE | RUN, .help = "draw a moving average in which the past has weight W"),
    OPT_FLAG(0, "log-x", &curves.chart.log_x, .modes = CURVE, .help = "logarithmic x axis"),
    OPT_FLAG(0, "log-y", &curves.chart.log_y, .modes = CURVE, .help = "logarithmic y axis"),
    OPT_REAL(0, "x-min", &curves.chart.x_min, .arg = "X", .lo = -1e300, .hi = 1e300, .modes = CURVE,
             .help = "start of the x axis"),
    OPT_REAL(0, "x-max", &curves.chart.x_max, .arg = "X", .lo = -1e300, .hi = 1e300, .modes = CURVE,
             .help = "end of the x axis"),
    OPT_REAL(0, "y-min", &curves.chart.y_min, .arg = "Y", .lo = -1e300, .hi = 1e300, .modes = CURVE,
             .help = "start of the y axis"),
    OPT_REAL(0, "y-max", &curves.chart.y_max, .arg = "Y", .lo = -1e300, .hi = 1e300, .modes = CURVE,
             .help = "end of the y axis"),
    OPT_GROUP("Heat maps"),
    OPT_REAL(0, "min", &heat.min, .arg = "V", .lo = -1e300, .hi = 1e300, .modes = HEAT,
             .help = "value of the first colour"),
    OPT_REAL(0, "max", &heat.max, .arg = "V", .lo = -1e300, .hi = 1e300, .modes = HEAT,
             .help = "value of the last colour"),
    OPT_CHOICE(0, "colors", &heat.colors, tf_colors_names, .arg = "NAME", .def = "auto",
               .modes = HEAT, .help = "colour map: from pale to dark, or two hues around 0"),
    OPT_FLAG(0, "header", &header, .flags = TF_OPT_NEGATABLE, .modes = HEAT,
             .help = "the first line has the names of the columns (default: if it looks so)"),
    OPT_FLAG(0, "names", &names, .flags = TF_OPT_NEGATABLE, .modes = HEAT,
             .help = "the first column has the names of the rows (default: if it looks so)"),
    OPT_FLAG(0, "values", &heat.values, .modes = HEAT, .help = "print each value in its cell"),
    OPT_GROUP("Attention"),
    OPT_INT('i', "idx", &attention.idx, .arg = "N", .def = "-1", .lo = -1, .hi = 9e15,
            .modes = ATTENTION, .help = "sentence, counted from 0; -1: the first in the stream"),
    OPT_CHOICE('k', "kind", &kind, kinds, .arg = "KIND", .def = "any", .modes = ATTENTION,
               .help = "kind of attention"),
    OPT_INT(0, "layer", &attention.layer, .arg = "N", .def = "0", .lo = 0, .hi = 9e15,
            .modes = ATTENTION, .help = "layer, counted from 1; 0: the first in the stream"),
    OPT_STR('H', "head", &attention.heads, .arg = "LIST", .def = "all", .modes = ATTENTION,
            .help = "heads, such as 5 or 1,3-5"),
    OPT_LIST(0, "token", &attention.tokens, .arg = "TEXT", .modes = ATTENTION,
             .excludes = "show=heat",
             .help = "draw only lines from rows of this piece; repeat for several pieces"),
    OPT_REAL(0, "least", &attention.least, .arg = "W", .def = "0.02", .lo = 0, .hi = 1,
             .modes = ATTENTION, .excludes = "show=heat",
             .help = "draw no lines for weights below W"),
    OPT_GROUP("Positions"),
    OPT_INT('L', "length", &length, .arg = "L", .def = "512", .lo = 1, .hi = TF_MATRIX_CELLS,
            .modes = POSITIONS, .help = "number of positions"),
    OPT_INT('d', "dims", &dims, .arg = "D", .def = "14", .lo = 1, .hi = 65536, .modes = POSITIONS,
            .help = "number of dimensions"),
    OPT_REAL('N', "base", &positions.base, .arg = "N", .def = "10000", .lo = 1.001, .hi = 1e12,
             .modes = POSITIONS, .help = "base of the wavelengths"),
    OPT_CHOICE(0, "variant", &positions.form, tf_position_forms, .arg = "NAME", .def = "paper",
               .modes = POSITIONS, .help = "formula: the paper's or a variant"),
    OPT_FLAG(0, "csv", &csv, .modes = POSITIONS, .help = "print the numbers instead of a picture"),
    OPT_CHOICE(
        0, "show", &show, shows, .arg = "WHAT", .def = "both", .modes = ATTENTION | POSITIONS,
        .help =
            "positions: heat, curves, both or products; attention: lines (its default) or heat"),
    OPT_END,
};

/* The logs of a word, of which some may be in the directory of a run. */
static struct tf_strs logs;

static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    if (args->mode != RUN)
        return;
    static const char *const usual[] = {"run"};
    const char *const *v = args->n > 0 ? args->v : usual;
    for (int i = 0; i < (args->n > 0 ? args->n : 1); i++) {
        struct stat st;
        const bool dir = stat(v[i], &st) == 0 && S_ISDIR(st.st_mode);
        struct tf_buf log = {0};
        tf_buf_printf(&log, "%s%s", v[i], dir ? "/log.jsonl" : "");
        tf_strs_add(&logs, log.p); /* as long as the process */
        tf_strs_add(&sandbox->read, log.p);
    }
}

static const struct tf_tool tool = {
    .name = "tf-plot",
    .synopsis = "[options] curve LOG...\n"
                "[options] run [LOG]...\n"
                "[options] heat MATRIX\n"
                "[options] attention ATTENTION.tfs\n"
                "[options] positions",
    .summary = "draw learning curves, heat maps, attention and position tables as SVG",
    .opts = opts,
    .max_args = -1,
    .ending = ".jsonl",
    .ending_mode = CURVE,
    .widen = widen,
};

static int draw_curves(struct tf_buf *svg, const char *const *v, size_t n, struct tf_err *err)
{
    if (n == 0)
        return tf_fail_status(err, TF_USAGE, "curve: no log given");
    curves.logs = v;
    curves.nlogs = n;
    curves.labels = labels.v;
    curves.nlabels = labels.n;
    curves.chart.figure = figure;
    return v == logs.v ? tf_run_figure_draw(svg, &curves, err) : tf_curves_draw(svg, &curves, err);
}

static enum tf_labelled labelled(const char *option, bool yes)
{
    return !tf_opt_given(opts, option) ? TF_LABELLED_AUTO : yes ? TF_LABELLED_YES : TF_LABELLED_NO;
}

static int draw_heat(struct tf_buf *svg, const struct tf_args *files, struct tf_err *err)
{
    struct tf_matrix m = {0};
    if (files->n != 1)
        return tf_fail_status(err, TF_USAGE, "heat takes one matrix, not %d", files->n);
    heat.figure = figure;
    int rc =
        tf_matrix_read(&m, files->v[0], labelled("header", header), labelled("names", names), err);
    if (rc == 0)
        rc = tf_heat_draw(svg, &heat, &m, err);
    tf_matrix_release(&m);
    return rc;
}

static int draw_attention(struct tf_buf *svg, const struct tf_args *files, struct tf_err *err)
{
    if (files->n != 1)
        return tf_fail_status(err, TF_USAGE, "attention takes one stream (- is stdin), not %d",
                              files->n);
    bool given = tf_opt_given(opts, "show");
    if (given && show != SHOW_LINES && show != SHOW_HEAT)
        return tf_fail_status(err, TF_USAGE, "attention: --show lines or heat, not %s",
                              shows[show]);
    attention.kind = kind > 0 ? kinds[kind] : NULL;
    attention.figure = figure;
    attention.heat = given && show == SHOW_HEAT;
    return tf_attention_record_draw(svg, &attention, files->v[0], err);
}

static int draw_positions(struct tf_buf *svg, const struct tf_args *files, struct tf_err *err)
{
    if (files->n > 0)
        return tf_fail_status(err, TF_USAGE, "unexpected operand '%s' (try --help)",
                              files->v[0]);
    if (show == SHOW_LINES)
        return tf_fail_status(err, TF_USAGE,
                              "positions: --show heat, curves, both or products, not lines");
    positions.length = (size_t)length;
    positions.dims = (size_t)dims;
    positions.figure = figure;
    positions.heat = show != SHOW_CURVES;
    positions.curves = show != SHOW_HEAT;
    positions.products = show == SHOW_PRODUCTS;
    return csv ? tf_position_csv(svg, &positions, err)
               : tf_position_figure_draw(svg, &positions, err);
}

static int run(const struct tf_args *args, struct tf_err *err)
{
    struct tf_buf svg = {0};
    struct tf_out out = {0};
    figure.width = (double)width;
    figure.height = (double)height;
    int rc = args->mode == CURVE       ? draw_curves(&svg, args->v, (size_t)args->n, err)
             : args->mode == RUN       ? draw_curves(&svg, logs.v, logs.n, err)
             : args->mode == HEAT      ? draw_heat(&svg, args, err)
             : args->mode == ATTENTION ? draw_attention(&svg, args, err)
                                       : draw_positions(&svg, args, err);
    if (rc == 0)
        rc = tf_out_open(&out, output, 0, err);
    if (rc == 0) {
        rc = tf_out_write(&out, svg.p, svg.len, err);
        rc = tf_out_finish(&out, rc, err);
    }
    tf_buf_release(&svg);
    return rc;
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
