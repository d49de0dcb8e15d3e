/* run_figure.c - see run_figure.h. */
#include "plot/run_figure.h"
#include "base/memory.h"
#include "cbor/json.h"
#include "plot/svg_private.h"
#include "text/text_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COLUMNS = 2, HEIGHT = 250, TOP = 46, LINE = 17, MOST_LINES = 12, LONGEST = 1 << 24 };

/* Keys of the log, ours and those of transformers and fairseq, and what they are. */
static const struct {
    const char *key, *label;
} panels[] = {{"loss", "loss"},
              {"metric", "number of --valid-command"},
              {"lr,learning_rate", "learning rate"},
              {"grad_norm,gnorm", "norm of the gradient"},
              {"tok_s", "target tokens/s"}};
enum { PANELS = sizeof panels / sizeof *panels };

/* Append the panels that have something to draw; *n counts them. */
static int draw_panels(struct tf_buf *out, const struct tf_curves *all, size_t *n,
                       struct tf_err *err)
{
    const double width = all->chart.figure.width / COLUMNS;
    *n = 0;
    for (size_t i = 0; i < PANELS; i++) {
        struct tf_curves c = *all;
        c.y = panels[i].key;
        c.by = "event";
        c.may_lack_y = true;
        c.chart.figure = (struct tf_figure){
            .x_label = all->x, .y_label = panels[i].label, .width = width, .height = HEIGHT};
        c.chart.part = (int)*n + 1;
        c.chart.part_x = width * (double)(*n % COLUMNS);
        c.chart.part_y = (double)(TOP + *n / COLUMNS * HEIGHT);
        const int rc = tf_curves_draw(out, &c, err);
        if (rc < 0)
            return -1;
        *n += rc == 0;
    }
    if (*n > 0)
        return 0;
    return tf_fail(err, "%s: nothing to draw: no line has \"%s\" and one of loss, metric, lr, "
                   "grad_norm and tok_s", all->logs[0], all->x);
}

/* The output of --valid-command in a line of a log, if it has one. */
static void take_output(struct tf_buf *text, const char *line, size_t n)
{
    struct tf_arena a = {0};
    struct tf_value v;
    struct tf_err err = {0};
    const char *output;
    int64_t step;
    if (tf_value_from_json_text(&v, &a, line, n, TF_JSON_PLAIN, "line", &err) == 0 &&
        tf_value_text_of(&v, "output", &output, &err) == 0 &&
        tf_value_int_of(&v, "step", 0, INT64_MAX, &step, &err) == 0) {
        text->len = 0;
        tf_buf_printf(text, "step %lld:\n%s", (long long)step, output);
    }
    tf_arena_release(&a);
}

static int last_output(struct tf_buf *text, const char *path, struct tf_err *err)
{
    struct tf_in in;
    const char *line;
    size_t n;
    int rc;
    if (tf_text_open(&in, path, TF_TEXT_UTF8, err) != 0)
        return -1;
    tf_in_may_grow(&in);
    while ((rc = tf_in_line(&in, &line, &n, LONGEST, err)) > 0)
        if (rc == 1 && memmem(line, n, "\"output\"", 8) != NULL)
            take_output(text, line, n);
    tf_in_close(&in);
    return rc;
}

/* Append the lines of a text in a column; returns how many. */
static int draw_text(struct tf_buf *out, char *text, double x, double y, double width)
{
    int n = 0;
    for (char *at = text, *end; at != NULL && *at != 0 && n < MOST_LINES; at = end, n++) {
        if ((end = strchr(at, '\n')) != NULL)
            *end++ = 0;
        tf_svg_text_in(out, x, y + n * LINE, at, 12, width, n == 0 ? TF_SVG_SOFT : TF_SVG_INK,
                       TF_SVG_START, 0);
    }
    return n;
}

/* The last sample translations of all logs, side by side. *y is moved to their end. */
static int draw_samples(struct tf_buf *out, const struct tf_curves *c, const char *const *names,
                        double *y, struct tf_err *err)
{
    const double width = c->chart.figure.width / (c->nlogs < COLUMNS ? 1 : COLUMNS);
    int rc = 0, most = 0;
    size_t n = 0;
    for (size_t log = 0; rc == 0 && log < c->nlogs; log++) {
        struct tf_buf text = {0}, named = {0};
        if ((rc = last_output(&text, c->logs[log], err)) == 0 && text.len > 0) {
            if (n > 0 && n % COLUMNS == 0) {
                *y += (most + 1) * LINE;
                most = 0;
            }
            if (c->nlogs > 1)
                tf_buf_printf(&named, "%s, ", names[log]);
            tf_buf_add(&named, text.p, text.len);
            tf_buf_byte(&named, 0);
            const int lines =
                draw_text(out, named.p, 24 + width * (double)(n++ % COLUMNS), *y + 20, width - 40);
            most = lines > most ? lines : most;
        }
        tf_buf_release(&text);
        tf_buf_release(&named);
    }
    if (n > 0)
        *y += 20 + most * LINE;
    return rc;
}

/* Is it stdin or a pipe, which can be read once only? */
static bool is_stream(const char *path)
{
    struct stat st;
    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

/* *c has names for the legend. */
static int draw(struct tf_buf *out, const struct tf_curves *c, const char *const *names,
                const char *title, struct tf_err *err)
{
    struct tf_buf parts = {0};
    size_t n;
    int rc = draw_panels(&parts, c, &n, err);
    double y = (double)(TOP + (n + COLUMNS - 1) / COLUMNS * HEIGHT);
    if (rc == 0)
        rc = draw_samples(&parts, c, names, &y, err);
    if (rc == 0) {
        tf_svg_begin(out, c->chart.figure.width, y + 10, title, "Charts of training runs.");
        tf_svg_title(out, 22, c->chart.figure.width, title);
        tf_buf_add(out, parts.p, parts.len);
        tf_svg_end(out);
    }
    tf_buf_release(&parts);
    return rc;
}

int tf_run_figure_draw(struct tf_buf *out, const struct tf_curves *c, struct tf_err *err)
{
    struct tf_curves named = *c;
    struct tf_buf title = {0};
    if (c->nlabels > 0 && c->nlabels != c->nlogs)
        return tf_fail_status(err, TF_USAGE, "%zu labels for %zu logs", c->nlabels, c->nlogs);
    for (size_t i = 0; i < c->nlogs; i++)
        if (is_stream(c->logs[i]))
            return tf_fail_status(err, TF_USAGE,
                                  "run: logs are read more than once: no stdin and no pipe");
    char **names = tf_xcalloc(c->nlogs, sizeof *names);
    for (size_t i = 0; i < c->nlogs; i++) {
        names[i] = tf_curves_log_name(c, i);
        tf_buf_printf(&title, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    if (c->nlogs > 1) { /* without what distinguishes the runs, for which there is no room */
        named.labels = (const char *const *)names;
        named.nlabels = c->nlogs;
    }
    const int rc = draw(out, &named, (const char *const *)names,
                        c->chart.figure.title != NULL ? c->chart.figure.title : title.p, err);
    for (size_t i = 0; i < c->nlogs; i++)
        free(names[i]);
    free(names);
    tf_buf_release(&title);
    return rc;
}
