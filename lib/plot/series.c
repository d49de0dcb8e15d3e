/* series.c - read the lines of a chart from logs.
 *
 * Each line is read token by token, not as a tree of values: logs are long, most keys are skipped,
 * and --where compares a number as it is written. */
#include "plot/series_private.h"
#include "base/input.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "text/text_file.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t max_line = (size_t)16 << 20;

static void add_point(struct tf_series *s, double x, double y, const char *name)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 1024;
        s->x = tf_xarray(s->x, s->cap, sizeof *s->x);
        s->y = tf_xarray(s->y, s->cap, sizeof *s->y);
        if (name != NULL)
            s->names = tf_xarray(s->names, s->cap, sizeof *s->names);
    }
    if (name != NULL)
        s->names[s->n] = tf_xstrdup(name);
    s->x[s->n] = x;
    s->y[s->n++] = y;
}

void tf_series_release(struct tf_series_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].name);
        free(l->v[i].group);
        for (size_t k = 0; l->v[i].names != NULL && k < l->v[i].n; k++)
            free(l->v[i].names[k]);
        free(l->v[i].names);
        free(l->v[i].x);
        free(l->v[i].y);
    }
    free(l->v);
    *l = (struct tf_series_list){0};
}

/* The values of one object. */
struct found {
    bool has_x, matches, has[TF_SERIES_MAX];
    double x, y[TF_SERIES_MAX];
    char *group, *name;
    struct tf_err wrong; /* why the object can't be used, if it matches */
};

/* The value of a key. */
struct scalar {
    enum tf_json_kind kind;
    const char *text; /* for comparison with --where; "" for arrays and objects */
    double real;
};

/* Set *x to the number that a string has, as some programs write numbers. */
static bool parse(double *x, const char *s)
{
    char *end;
    *x = strtod(s, &end);
    return end > s && !*end && strpbrk(s, "xX \t\r\n\v\f") == NULL;
}

static int read_scalar(struct tf_json_reader *r, struct scalar *v, struct tf_err *err)
{
    int depth = r->depth;
    enum tf_json_kind kind;
    if (tf_json_next(r, &v->kind, err) != 0)
        return -1;
    v->real = v->kind == TF_JSON_NULL ? NAN : r->real;
    v->text = v->kind == TF_JSON_BOOL   ? (r->boolean ? "true" : "false")
              : v->kind == TF_JSON_NULL ? "null"
                                        : "";
    if (v->kind == TF_JSON_STRING || v->kind == TF_JSON_NUMBER)
        v->text = r->text.p;
    while (r->depth > depth)
        if (tf_json_next(r, &kind, err) != 0)
            return -1;
    return 0;
}

static bool wanted(const struct tf_series_keys *k, const char *key)
{
    bool any = strcmp(key, k->x) == 0 || (k->where != NULL && strcmp(key, k->where) == 0) ||
               (k->by != NULL && strcmp(key, k->by) == 0) ||
               (k->points != NULL && strcmp(key, k->points) == 0);
    for (size_t i = 0; i < k->ny && !any; i++)
        any = strcmp(key, k->y[i]) == 0;
    return any;
}

static void use(struct found *f, const struct tf_series_keys *k, const char *key,
                const struct scalar *v)
{
    double x = v->real;
    bool number = v->kind == TF_JSON_NULL || v->kind == TF_JSON_NUMBER ||
                  (v->kind == TF_JSON_STRING && parse(&x, v->text)),
         misused = false;
    if (!isfinite(x))
        x = NAN; /* a gap */
    if (k->where != NULL && strcmp(key, k->where) == 0)
        f->matches = strcmp(v->text, k->value) == 0;
    if (k->by != NULL && strcmp(key, k->by) == 0) {
        free(f->group);
        f->group = tf_xstrdup(v->text);
    }
    if (k->points != NULL && strcmp(key, k->points) == 0) {
        free(f->name);
        f->name = tf_xstrdup(v->text);
    }
    if (strcmp(key, k->x) == 0) {
        f->has_x = true;
        f->x = x;
        misused |= !number;
    }
    for (size_t i = 0; i < k->ny; i++)
        if (strcmp(key, k->y[i]) == 0) {
            f->has[i] = true;
            f->y[i] = x;
            misused |= !number;
        }
    if (misused && f->wrong.status == 0)
        tf_fail(&f->wrong, "\"%s\" is not a number", key);
}

static int member(struct tf_json_reader *r, const struct tf_series_keys *k, struct found *f,
                  struct tf_err *err)
{
    const char *name = r->text.p;
    if (!wanted(k, name))
        return tf_json_skip(r, err);
    char *key = tf_xstrdup(name);
    struct scalar v;
    int rc = read_scalar(r, &v, err);
    if (!rc)
        use(f, k, key, &v);
    free(key);
    return rc;
}

/* Read an object. -1 if it is not JSON; other problems go to f->wrong. */
static int object(struct tf_json_reader *r, const struct tf_series_keys *k, struct found *f,
                  struct tf_err *err)
{
    enum tf_json_kind kind;
    *f = (struct found){.matches = k->where == NULL};
    if (tf_json_next(r, &kind, err) != 0)
        return -1;
    if (kind != TF_JSON_OBJECT) {
        f->matches = true;
        tf_fail(&f->wrong, "not a JSON object");
        while (kind != TF_JSON_END)
            if (tf_json_next(r, &kind, err) != 0)
                return -1;
        return 0;
    }
    int rc;
    while ((rc = tf_json_more(r, &kind, err)) > 0)
        if (member(r, k, f, err) != 0)
            return -1;
    return rc < 0 ? -1 : tf_json_next(r, &kind, err); /* nothing may follow */
}

/* Find or add the line of a key and group. Returns NULL if there are too many. */
static struct tf_series *series(struct tf_series_list *l, size_t key, const char *group)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct tf_series *s = &l->v[i];
        if (s->key == key &&
            (s->group != NULL && group != NULL ? strcmp(s->group, group) == 0 : s->group == group))
            return &l->v[i];
    }
    if (l->n == TF_SERIES_MAX)
        return NULL;
    l->v = tf_xarray(l->v, l->n + 1, sizeof *l->v);
    l->v[l->n] = (struct tf_series){.key = key, .group = group != NULL ? tf_xstrdup(group) : NULL};
    return &l->v[l->n++];
}

static int add_found(struct tf_series_list *l, const struct tf_series_keys *k,
                     const struct found *f, struct tf_err *err)
{
    for (size_t i = 0; i < k->ny; i++) {
        if (!f->has[i])
            continue;
        struct tf_series *s = series(l, i, f->group);
        if (s == NULL)
            return tf_fail(err, "\"%s\" has more values than the %d that can be drawn", k->by,
                           TF_SERIES_MAX);
        add_point(s, f->x, f->y[i], k->points != NULL ? f->name != NULL ? f->name : "" : NULL);
    }
    return 0;
}

enum { NO_JSON = 1 };

static int read_line(struct tf_series_list *l, const struct tf_series_keys *k, const char *line,
                     size_t n, struct tf_err *err)
{
    struct tf_json_reader r;
    struct found f;
    tf_json_read(&r, line, n);
    r.not_finite = true;
    int rc = object(&r, k, &f, err) != 0 ? NO_JSON : 0;
    tf_json_read_release(&r);
    if (rc == 0 && f.matches && f.wrong.status != 0) {
        *err = f.wrong;
        rc = -1;
    }
    if (rc == 0 && f.matches && f.has_x && !isnan(f.x))
        rc = add_found(l, k, &f, err);
    free(f.group);
    free(f.name);
    return rc;
}

/* Move the lines of one log to out, sorted by key. */
static int append(struct tf_series_list *out, struct tf_series_list *log, size_t ny,
                  struct tf_err *err)
{
    if (log->n > TF_SERIES_MAX - out->n)
        return tf_fail(err, "more than %d lines in one chart", TF_SERIES_MAX);
    out->v = tf_xarray(out->v, out->n + log->n + 1, sizeof *out->v);
    for (size_t key = 0; key < ny; key++)
        for (size_t i = 0; i < log->n; i++)
            if (log->v[i].key == key)
                out->v[out->n++] = log->v[i];
    log->n = 0;
    return 0;
}

/* Of the directory of a run, the message names the log. */
static int open_log(struct tf_in *in, const char *path, struct tf_err *err)
{
    int rc = tf_text_open(in, path, TF_TEXT_UTF8, err);
    if (rc == 0 || err->sys != EISDIR)
        return rc;
    struct tf_buf log = {0};
    tf_buf_printf(&log, "%s/log.jsonl", path);
    if (access(log.p, F_OK) == 0)
        tf_fail(err, "%s: is a directory; the log in it is %s", path, log.p);
    tf_buf_release(&log);
    return rc;
}

int tf_series_read(struct tf_series_list *out, const struct tf_series_keys *keys, const char *path,
                   struct tf_run_facts *facts, struct tf_err *err)
{
    struct tf_in in;
    const char *line;
    size_t n;
    int got, rc = 0;
    struct tf_series_list log = {0};
    TF_ASSERT(keys->ny <= TF_SERIES_MAX);
    if (open_log(&in, path, err) != 0)
        return -1;
    tf_in_may_grow(&in); /* a run may be writing its log */
    for (uint64_t number = 1; !rc && (got = tf_in_line(&in, &line, &n, max_line, err)) != 0;
         number++) {
        if (got == 1 && number == 1)
            tf_run_facts_read(facts, line, n);
        if (got < 0) {
            rc = -1;
        } else if (got == 2) {
            rc = tf_fail(err, "%s: line %ju: longer than %zu bytes", in.name, (uintmax_t)number,
                         max_line);
        } else if (n && (rc = read_line(&log, keys, line, n, err)) != 0) {
            bool cut = rc == NO_JSON && in.eof && in.pos == in.len && in.buf[in.pos - 1] != '\n';
            rc = tf_context(err, "%s: line %ju", in.name, (uintmax_t)number);
            if (cut) {
                tf_warn("%s; dropped, since it is incomplete", err->msg);
                *err = (struct tf_err){0};
                rc = 0;
            }
        }
    }
    tf_in_close(&in);
    if (!rc)
        rc = append(out, &log, keys->ny, err);
    tf_series_release(&log);
    return rc;
}
