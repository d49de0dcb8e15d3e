/* curves.c - see curves.h. */
#include "plot/curves.h"
#include "base/log.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

/* Split at the commas, in place. Returns the number of keys; 0 if one is empty or there are too
 * many. */
static size_t split(char *list, const char **keys)
{
    size_t n = 0;
    for (char *p = list; p; n++) {
        char *comma = strchr(p, ',');
        if (comma)
            *comma = 0;
        if (!*p || n == TF_SERIES_MAX)
            return 0;
        keys[n] = p;
        p = comma ? comma + 1 : NULL;
    }
    return n;
}

/* "runs/base/log.jsonl" and "runs/base.jsonl" are both "base". */
static char *log_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path,
               *end = base + strlen(base);
    if (!strcmp(path, "-"))
        return tf_xstrdup("stdin");
    if (slash && slash > path && !strcmp(base, "log.jsonl")) {
        for (end = slash; end > path && end[-1] == '/'; end--)
            ;
        for (base = end; base > path && base[-1] != '/'; base--)
            ;
    } else {
        const char *dot = strrchr(base, '.');
        end = dot && dot > base ? dot : end;
    }
    return tf_xstrndup(base, (size_t)(end - base));
}

/* Whether a log, whose lines are list[from ..], has several lines for a key. */
static bool divided(const struct tf_series_list *l, size_t from, size_t key)
{
    size_t n = 0;
    for (size_t i = from; i < l->n; i++)
        n += l->v[i].key == key;
    return n > 1;
}

static char *line_name(const struct tf_curves *c, size_t log, const char *key, size_t nkeys,
                       const char *group)
{
    struct tf_buf name = {0};
    bool one_log = c->nlogs == 1 && !c->nlabels;
    if (!one_log) {
        char *from_path = c->nlabels ? NULL : log_name(c->logs[log]);
        tf_buf_printf(&name, "%s%s", c->nlabels ? c->labels[log] : from_path,
                      nkeys > 1 ? ": " : "");
        free(from_path);
    }
    if (nkeys > 1 || one_log)
        tf_buf_str(&name, key);
    if (group)
        tf_buf_printf(&name, " (%s)", group);
    return name.p;
}

static int read_log(struct tf_series_list *l, const struct tf_curves *c,
                    const struct tf_series_keys *k, size_t log, struct tf_err *err)
{
    size_t from = l->n;
    if (tf_series_read(l, k, c->logs[log], err) < 0)
        return -1;
    for (size_t key = 0; key < k->ny; key++) {
        size_t lines = 0;
        for (size_t i = from; i < l->n; i++) {
            struct tf_series *s = &l->v[i];
            if (s->key != key)
                continue;
            s->name = line_name(c, log, k->y[key], k->ny,
                                divided(l, from, key) ? s->group ? s->group : "other" : NULL);
            lines++;
        }
        if (!lines)
            tf_warn("%s: no values of \"%s\" over \"%s\"", c->logs[log], k->y[key], k->x);
    }
    return 0;
}

static int draw(struct tf_buf *out, const struct tf_curves *c, const struct tf_series_keys *k,
                struct tf_err *err)
{
    struct tf_series_list lines = {0};
    int rc = 0;
    for (size_t log = 0; log < c->nlogs && !rc; log++)
        rc = read_log(&lines, c, k, log, err);
    if (!rc) {
        struct tf_chart chart = c->chart;
        chart.series = lines.v;
        chart.n = lines.n;
        chart.figure.x_label = chart.figure.x_label ? chart.figure.x_label : k->x;
        chart.figure.y_label = chart.figure.y_label || k->ny > 1 ? chart.figure.y_label : k->y[0];
        rc = tf_chart_draw(out, &chart, err);
    }
    tf_series_release(&lines);
    return rc;
}

int tf_curves_draw(struct tf_buf *out, const struct tf_curves *c, struct tf_err *err)
{
    const char *keys[TF_SERIES_MAX];
    char *list = tf_xstrdup(c->y), *where = c->where ? tf_xstrdup(c->where) : NULL,
         *equals = where ? strchr(where, '=') : NULL;
    struct tf_series_keys k = {.x = c->x,
                               .y = keys,
                               .ny = split(list, keys),
                               .by = c->by && *c->by ? c->by : NULL};
    int rc = 0;
    if (!k.ny)
        rc = tf_fail_status(err, TF_USAGE,
                            "--y %s: not a list of at most %d keys with commas between", c->y,
                            TF_SERIES_MAX);
    else if (where && !equals)
        rc = tf_fail_status(err, TF_USAGE, "--where %s: not of the form KEY=VALUE", c->where);
    else if (c->nlabels && c->nlabels != c->nlogs)
        rc = tf_fail_status(err, TF_USAGE, "%zu labels for %zu logs", c->nlabels, c->nlogs);
    if (!rc && where) {
        *equals = 0;
        k.where = where;
        k.value = equals + 1;
    }
    if (!rc)
        rc = draw(out, c, &k, err);
    free(list);
    free(where);
    return rc;
}
