/* curves.c - see curves.h. */
#include "plot/curves.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include <stdlib.h>
#include <string.h>

/* Split at the commas, in place. Returns the number of keys; 0 if one is empty or there are too
 * many. */
static size_t split_keys(char *list, const char **keys)
{
    size_t n = 0;
    for (char *p = list; p != NULL; n++) {
        char *comma = strchr(p, ',');
        if (comma != NULL)
            *comma = 0;
        if (!*p || n == TF_SERIES_MAX)
            return 0;
        keys[n] = p;
        p = comma != NULL ? comma + 1 : NULL;
    }
    return n;
}

/* "runs/base/log.jsonl" and "runs/base.jsonl" are both "base", and with one or more directories
 * "runs/base". */
static char *log_name(const char *path, size_t dirs)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path,
               *end = base + strlen(base);
    if (strcmp(path, "-") == 0)
        return tf_xstrdup("stdin");
    if (slash != NULL && slash > path && strcmp(base, "log.jsonl") == 0) {
        for (end = slash; end > path && end[-1] == '/'; end--)
            ;
        for (base = end; base > path && base[-1] != '/'; base--)
            ;
    } else {
        const char *dot = strrchr(base, '.');
        end = dot != NULL && dot > base ? dot : end;
    }
    for (; dirs > 0 && base > path; dirs--) {
        while (base > path && base[-1] == '/')
            base--;
        while (base > path && base[-1] != '/')
            base--;
    }
    return tf_xstrndup(base, (size_t)(end - base));
}

/* Whether another path has the same name. */
static bool is_ambiguous(const struct tf_curves *c, size_t log, const char *name, size_t dirs)
{
    bool same = false;
    for (size_t i = 0; i < c->nlogs && !same; i++) {
        if (strcmp(c->logs[i], c->logs[log]) == 0)
            continue;
        char *other = log_name(c->logs[i], dirs);
        same = strcmp(name, other) == 0;
        free(other);
    }
    return same;
}

/* The name of a log with as many directories as distinguish it from the others. */
static char *unique_name(const struct tf_curves *c, size_t log)
{
    size_t most = 0;
    for (size_t i = 0; i < c->nlogs; i++)
        most = strlen(c->logs[i]) > most ? strlen(c->logs[i]) : most;
    for (size_t dirs = 0; dirs <= most; dirs++) {
        char *name = log_name(c->logs[log], dirs);
        if (!is_ambiguous(c, log, name, dirs))
            return name;
        free(name);
    }
    return tf_xstrdup(c->logs[log]);
}

char *tf_curves_log_name(const struct tf_curves *c, size_t log)
{
    return c->nlabels > 0 ? tf_xstrdup(c->labels[log]) : unique_name(c, log);
}

/* Whether a log, whose lines are list[from .. to), has several lines for a key. */
static bool divided(const struct tf_series_list *l, size_t from, size_t to, size_t key)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        n += l->v[i].key == key;
    return n > 1;
}

/* A run is called like its log, and described by what distinguishes it from the others. NULL if
 * there is only one. */
static char *run_name(const struct tf_curves *c, size_t log, const struct tf_run_facts *facts)
{
    struct tf_buf name = {0};
    if (c->nlabels) {
        tf_buf_str(&name, c->labels[log]);
    } else if (c->nlogs > 1) {
        char *from_path = unique_name(c, log),
             *difference = tf_run_facts_difference(facts, c->nlogs, log);
        tf_buf_printf(&name, "%s%s%s", from_path, difference != NULL ? ", " : "",
                      difference != NULL ? difference : "");
        free(difference);
        free(from_path);
    }
    return name.p;
}

/* The legend of a line. */
static char *line_name(const char *run, const char *key, size_t nkeys, const char *group)
{
    struct tf_buf name = {0};
    if (run != NULL)
        tf_buf_str(&name, run);
    if (nkeys > 1 && run != NULL)
        tf_buf_str(&name, ": ");
    if (nkeys > 1 || run == NULL)
        tf_buf_str(&name, key);
    if (group != NULL)
        tf_buf_printf(&name, " (%s)", group);
    return name.p;
}

/* What a value of the key `by` is called: tf-train's kinds of event are abbreviations. */
static const char *group_name(const struct tf_series_keys *k, const char *group)
{
    if (group == NULL)
        return "other";
    if (strcmp(k->by, "event") != 0)
        return group;
    return strcmp(group, "step") == 0    ? "training"
           : strcmp(group, "valid") == 0 ? "validation"
                                         : group;
}

/* Name the lines of a log, list[from .. to). */
static void name_lines(struct tf_series_list *list, size_t from, size_t to,
                       const struct tf_curves *c, const struct tf_series_keys *k, size_t log,
                       const struct tf_run_facts *facts)
{
    char *run = to > from ? run_name(c, log, facts) : NULL;
    const size_t things = c->may_lack_y ? 1 : k->ny;
    for (size_t key = 0; key < k->ny; key++) {
        size_t lines = 0;
        bool several = divided(list, from, to, key);
        for (size_t i = from; i < to; i++) {
            struct tf_series *s = &list->v[i];
            if (s->key != key)
                continue;
            s->name = line_name(run, k->y[key], things, several ? group_name(k, s->group) : NULL);
            lines++;
        }
        if (!lines && !c->may_lack_y)
            tf_warn("%s: no values of \"%s\" over \"%s\"",
                    tf_is_std(c->logs[log]) ? "stdin" : c->logs[log], k->y[key], k->x);
    }
    free(run);
}

/* Read and name the lines of all logs. */
static int read_logs(struct tf_series_list *lines, const struct tf_curves *c,
                     const struct tf_series_keys *k, struct tf_err *err)
{
    size_t *end = tf_xarray(NULL, c->nlogs, sizeof *end);
    struct tf_run_facts *facts = tf_xcalloc(c->nlogs, sizeof *facts);
    int rc = 0;
    for (size_t log = 0; log < c->nlogs && !rc; log++) {
        rc = tf_series_read(lines, k, c->logs[log], &facts[log], err);
        end[log] = lines->n;
    }
    for (size_t log = 0; log < c->nlogs && !rc; log++)
        name_lines(lines, log ? end[log - 1] : 0, end[log], c, k, log, facts);
    for (size_t log = 0; log < c->nlogs; log++)
        tf_run_facts_release(&facts[log]);
    free(facts);
    free(end);
    return rc;
}

static int draw_curves(struct tf_buf *out, const struct tf_curves *c,
                       const struct tf_series_keys *k, struct tf_err *err)
{
    struct tf_series_list lines = {0};
    int rc = read_logs(&lines, c, k, err);
    if (!rc && lines.n == 0 && c->may_lack_y)
        rc = 1;
    if (!rc && lines.n == 0 && c->where != NULL)
        rc = tf_fail(err, "nothing to draw: no line with %s and %s matches --where %s", c->x, c->y,
                     c->where);
    if (!rc) {
        struct tf_chart chart = c->chart;
        chart.series = lines.v;
        chart.n = lines.n;
        chart.figure.x_label = chart.figure.x_label != NULL ? chart.figure.x_label : k->x;
        chart.figure.y_label =
            chart.figure.y_label != NULL || k->ny > 1 ? chart.figure.y_label : k->y[0];
        rc = tf_chart_draw(out, &chart, err);
    }
    tf_series_release(&lines);
    return rc;
}

int tf_curves_draw(struct tf_buf *out, const struct tf_curves *c, struct tf_err *err)
{
    const char *keys[TF_SERIES_MAX];
    char *list = tf_xstrdup(c->y), *where = c->where != NULL ? tf_xstrdup(c->where) : NULL,
         *equals = where != NULL ? strchr(where, '=') : NULL;
    struct tf_series_keys k = {.x = c->x,
                               .y = keys,
                               .ny = split_keys(list, keys),
                               .points = c->points,
                               .by = c->by != NULL && *c->by ? c->by : NULL};
    int rc = 0;
    if (!k.ny)
        rc = tf_fail_status(err, TF_USAGE,
                            "--y %s: not a list of at most %d keys with commas between", c->y,
                            TF_SERIES_MAX);
    else if (where != NULL && equals == NULL)
        rc = tf_fail_status(err, TF_USAGE, "--where %s: not of the form KEY=VALUE", c->where);
    else if (c->nlabels && c->nlabels != c->nlogs)
        rc = tf_fail_status(err, TF_USAGE, "%zu labels for %zu logs", c->nlabels, c->nlogs);
    if (!rc && where != NULL) {
        *equals = 0;
        k.where = where;
        k.value = equals + 1;
    }
    if (!rc)
        rc = draw_curves(out, c, &k, err);
    free(list);
    free(where);
    return rc;
}
