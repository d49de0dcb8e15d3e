/* matrix.c - read matrices from JSON or separated values. */
#include "plot/matrix.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "text/text_file.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const size_t max_file = (size_t)256 << 20;

static void free_labels(char **v, size_t n)
{
    for (size_t i = 0; v != NULL && i < n; i++)
        free(v[i]);
    free(v);
}

void tf_matrix_release(struct tf_matrix *m)
{
    free(m->v);
    free_labels(m->row_labels, m->rows);
    free_labels(m->col_labels, m->cols);
    *m = (struct tf_matrix){0};
}

/* A growing list of strings: labels. */
struct words {
    char **v;
    size_t n, cap;
};

static void add_word(struct words *w, const char *s, size_t n)
{
    TF_GROW(w->v, w->n, w->cap);
    w->v[w->n++] = tf_xstrndup(s, n);
}

struct values {
    double *v;
    size_t n, cap;
};

static int add_value(struct values *a, double x, struct tf_err *err)
{
    if (a->n == TF_MATRIX_CELLS)
        return tf_fail(err, "more than %d values", TF_MATRIX_CELLS);
    TF_GROW(a->v, a->n, a->cap);
    a->v[a->n++] = x;
    return 0;
}

/* ---- JSON ----
 * Read token by token, not as a tree of values: a value of a tree takes eight times the memory of a
 * cell, and labels that are numbers must stay as they are written. */

static int json_row(struct tf_json_reader *r, struct values *a, struct tf_err *err)
{
    enum tf_json_kind kind;
    int rc;
    while ((rc = tf_json_more(r, &kind, err)) > 0) {
        if (kind != TF_JSON_NULL && !(kind == TF_JSON_NUMBER && isfinite(r->real)))
            return tf_fail(err, "a row holds something other than numbers and null");
        if (add_value(a, kind == TF_JSON_NULL ? NAN : r->real, err) != 0)
            return -1;
    }
    return rc;
}

/* The rows, after the opening bracket of the array that holds them. */
static int json_rows(struct tf_json_reader *r, struct tf_matrix *m, struct values *a,
                     struct tf_err *err)
{
    enum tf_json_kind kind;
    int rc;
    while ((rc = tf_json_more(r, &kind, err)) > 0) {
        size_t before = a->n;
        if (kind != TF_JSON_ARRAY)
            return tf_fail(err, "row %zu is not an array", m->rows + 1);
        if (json_row(r, a, err) != 0)
            return -1;
        if (m->rows && a->n - before != m->cols)
            return tf_fail(err, "row %zu has %zu values, the first has %zu", m->rows + 1,
                           a->n - before, m->cols);
        m->cols = a->n - before;
        m->rows++;
    }
    return rc;
}

static int json_labels(struct tf_json_reader *r, struct words *w, struct tf_err *err)
{
    enum tf_json_kind kind;
    int rc;
    if (tf_json_expect(r, TF_JSON_ARRAY, "labels are not an array", err) != 0)
        return -1;
    while ((rc = tf_json_more(r, &kind, err)) > 0) {
        if ((kind != TF_JSON_STRING && kind != TF_JSON_NUMBER) || w->n == TF_MATRIX_CELLS)
            return tf_fail(err, "labels that are neither text nor numbers, or too many");
        add_word(w, r->text.p, r->text.len);
    }
    return rc;
}

static int json_object(struct tf_json_reader *r, struct tf_matrix *m, struct values *a,
                       struct words *rows, struct words *cols, struct tf_err *err)
{
    enum tf_json_kind kind;
    int rc;
    while ((rc = tf_json_more(r, &kind, err)) > 0) {
        const char *key = r->text.p;
        if (strcmp(key, "data") == 0 && !m->rows) {
            rc = tf_json_expect(r, TF_JSON_ARRAY, "\"data\" is not an array", err) != 0
                     ? -1
                     : json_rows(r, m, a, err);
        } else if (strcmp(key, "rows") == 0 && !rows->n) {
            rc = json_labels(r, rows, err);
        } else if (strcmp(key, "cols") == 0 && !cols->n) {
            rc = json_labels(r, cols, err);
        } else {
            rc = tf_json_skip(r, err);
        }
        if (rc < 0)
            return -1;
    }
    return rc;
}

static int read_json(struct tf_matrix *m, struct values *a, struct words *rows, struct words *cols,
                     const char *text, size_t n, struct tf_err *err)
{
    struct tf_json_reader r;
    enum tf_json_kind kind;
    tf_json_read(&r, text, n);
    r.not_finite = true;
    int rc = tf_json_next(&r, &kind, err);
    if (!rc)
        rc = kind == TF_JSON_OBJECT ? json_object(&r, m, a, rows, cols, err)
                                    : json_rows(&r, m, a, err);
    if (!rc)
        rc = tf_json_next(&r, &kind, err); /* nothing may follow */
    tf_json_read_release(&r);
    return rc;
}

/* ---- separated values ---- */

static const char semicolons[] = ": cells are separated by commas or tabs, not by semicolons";

/* Read the cell at p, without quotes. Returns its end: a separator, LF or `end`. */
static const char *read_cell(struct tf_buf *cell, const char *p, const char *end, char sep)
{
    tf_buf_clear(cell);
    bool quoted = p < end && *p == '"';
    if (quoted)
        p++;
    for (; p < end; p++) {
        if (quoted && *p == '"') {
            if (p + 1 < end && p[1] == '"')
                p++;
            else {
                quoted = false;
                continue;
            }
        } else if (!quoted && (*p == sep || *p == '\n')) {
            break;
        }
        tf_buf_byte(cell, (unsigned char)*p);
    }
    while (cell->len && (cell->p[cell->len - 1] == '\r' || cell->p[cell->len - 1] == ' '))
        cell->p[--cell->len] = 0;
    return p;
}

enum cell { EMPTY, MISSING, NUMBER, NOT_FINITE, NAME };

/* Set *x to the number, NaN if there is none. */
static enum cell read_value(const struct tf_buf *cell, double *x)
{
    struct tf_err ignored = {0};
    const char *s = cell->p != NULL ? cell->p : "";
    char *end;
    while (*s == ' ')
        s++;
    *x = NAN;
    if (!*s)
        return EMPTY;
    if (strcasecmp(s, "na") == 0 || strcasecmp(s, "nan") == 0)
        return MISSING;
    if (tf_parse_real(x, s + (*s == '+' && s[1] != '-'), -DBL_MAX, DBL_MAX, &ignored) == 0)
        return NUMBER;
    return isinf(strtod(s, &end)) && !*end ? NOT_FINITE : NAME;
}

/* Decide what is AUTO; text begins with the first line. */
static void find_labels(enum tf_labelled *line, enum tf_labelled *column, const char *text,
                        const char *end, char sep)
{
    struct tf_buf cell = {0};
    double x;
    const char *p = read_cell(&cell, text, end, sep);
    const enum cell corner = read_value(&cell, &x);
    bool alone = p >= end || *p != sep, in_line = false, in_column = false, both;
    for (; p < end && *p == sep; in_line |= read_value(&cell, &x) == NAME)
        p = read_cell(&cell, p + 1, end, sep);
    while (p < end) { /* at the end of a line */
        p = read_cell(&cell, p + 1, end, sep);
        in_column |= read_value(&cell, &x) == NAME;
        while (p < end && *p == sep)
            p = read_cell(&cell, p + 1, end, sep);
    }
    tf_buf_release(&cell);
    both = !alone && (corner == EMPTY || (corner == NAME && !in_line));
    if (*line == TF_LABELLED_AUTO)
        *line = both || in_line || corner == NAME ? TF_LABELLED_YES : TF_LABELLED_NO;
    if (*column == TF_LABELLED_AUTO)
        *column = both || in_column ? TF_LABELLED_YES : TF_LABELLED_NO;
}

static int read_separated(struct tf_matrix *m, struct values *a, struct words *rows,
                          struct words *cols, enum tf_labelled line_labels,
                          enum tf_labelled column_labels, const char *text, size_t n,
                          struct tf_err *err)
{
    const char *end = text + n, *p = text;
    size_t line = 1;
    for (; p < end && (*p == '\r' || *p == '\n'); p++)
        line += *p == '\n';
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    char sep = memchr(p, '\t', (size_t)((lf != NULL ? lf : end) - p)) != NULL ? '\t' : ',';
    find_labels(&line_labels, &column_labels, p, end, sep);
    bool head = line_labels == TF_LABELLED_YES, side = column_labels == TF_LABELLED_YES;
    struct tf_buf cell = {0};
    int rc = 0;
    for (; p < end && !rc; line++) {
        if (*p == '\n' || (*p == '\r' && p + 1 < end && p[1] == '\n')) {
            p += *p == '\n' ? 1 : 2;
            continue;
        }
        size_t before = a->n;
        for (size_t column = 0; !rc; column++) {
            double x;
            p = read_cell(&cell, p, end, sep);
            const char *s = cell.p != NULL ? cell.p : "";
            const enum cell kind = read_value(&cell, &x);
            if (side && column == 0) {
                if (!head)
                    add_word(rows, s, cell.len);
            } else if (head) {
                add_word(cols, s, cell.len);
            } else if (kind == NAME || kind == NOT_FINITE) {
                rc = tf_fail(err, "line %zu: '%.40s' is not a %snumber%s", line, s,
                             kind == NAME ? "" : "finite ",
                             strchr(s, ';') != NULL ? semicolons : "");
            } else {
                rc = add_value(a, x, err);
            }
            if (p >= end || *p == '\n')
                break;
            p++;
        }
        p++;
        if (!rc && !head) {
            if (m->rows && a->n - before != m->cols)
                rc = tf_fail(err, "line %zu: %zu values, the first row has %zu", line,
                             a->n - before, m->cols);
            m->cols = a->n - before;
            m->rows++;
        }
        head = false;
    }
    tf_buf_release(&cell);
    return rc;
}

/* ---- both ---- */

static int labels(char ***out, struct words *w, size_t n, const char *what, struct tf_err *err)
{
    if (!w->n)
        return 0;
    if (w->n != n)
        return tf_fail(err, "%zu labels for %zu %s", w->n, n, what);
    *out = w->v;
    *w = (struct words){0};
    return 0;
}

int tf_matrix_read(struct tf_matrix *m, const char *path, enum tf_labelled line,
                   enum tf_labelled column, struct tf_err *err)
{
    struct values a = {0};
    struct words rows = {0}, cols = {0};
    char *text = NULL;
    size_t n = 0, start = 0;
    if (tf_text_read_file(&text, &n, path, max_file, err) != 0)
        return -1;
    while (start < n && strchr(" \t\r\n", text[start]) != NULL)
        start++;
    int rc;
    if (start == n || (text[start] != '[' && text[start] != '{'))
        rc = read_separated(m, &a, &rows, &cols, line, column, text, n, err);
    else if (line != TF_LABELLED_AUTO || column != TF_LABELLED_AUTO)
        rc = tf_fail(err, "JSON has labels in \"rows\" and \"cols\", not in its cells");
    else
        rc = read_json(m, &a, &rows, &cols, text, n, err);
    if (!rc && (!m->rows || !m->cols))
        rc = tf_fail(err, "no values%s", memchr(text, ';', n) != NULL ? semicolons : "");
    if (!rc)
        rc = labels(&m->row_labels, &rows, m->rows, "rows", err);
    if (!rc)
        rc = labels(&m->col_labels, &cols, m->cols, "columns", err);
    m->v = a.v;
    if (rc)
        tf_context(err, "%s", strcmp(path, "-") != 0 ? path : "stdin");
    free_labels(rows.v, rows.n);
    free_labels(cols.v, cols.n);
    free(text);
    if (rc)
        tf_matrix_release(m);
    return rc;
}
