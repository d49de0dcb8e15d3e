/* rows.c - one line of every file makes a row. */
#include "metrics/rows.h"
#include "text/unicode.h"
#include <stdlib.h>
#include <string.h>

int tf_inputs_once(struct tf_strs *systems, bool paired, struct tf_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < systems->n; i++) {
        const char *name = systems->v[i];
        bool again = false;
        for (size_t k = 0; k < n; k++)
            again |= !strcmp(name, systems->v[k]);
        if (again && !(paired && !strcmp(name, systems->v[0])))
            return tf_fail_status(err, TF_USAGE, "--input %s: given twice", name);
        if (!again)
            systems->v[n++] = name;
    }
    systems->n = n;
    return 0;
}

int tf_segment_rows_open(struct tf_segment_rows *r, const struct tf_inputs *in, struct tf_err *err)
{
    static const char *const standard[] = {"-"};
    size_t ns = in->nsystems ? in->nsystems : 1;
    const char *const *systems = in->nsystems ? in->systems : standard;
    *r = (struct tf_segment_rows){.in = in, .nfiles = in->nrefs + ns, .nref_files = in->nrefs};
    r->file = tf_xcalloc(r->nfiles, sizeof *r->file);
    r->nrefs = in->num_refs > 1 ? in->num_refs : in->nrefs;
    r->nsys = in->nsystems;
    r->ref = tf_xcalloc(r->nrefs + 1, sizeof *r->ref);
    r->sys = tf_xcalloc(in->nsystems ? in->nsystems : TF_ROWS_COLUMNS, sizeof *r->sys);
    for (size_t i = 0; i < in->nrefs; i++)
        if (tf_lines_open(&r->file[i], in->refs[i], in->encoding, false, err) < 0)
            return -1;
    for (size_t i = 0; i < ns; i++)
        if (tf_lines_open(&r->file[in->nrefs + i], systems[i], in->encoding, !in->nsystems, err) <
            0)
            return -1;
    return 0;
}

void tf_segment_rows_close(struct tf_segment_rows *r)
{
    for (size_t i = 0; i < r->nfiles; i++)
        tf_lines_close(&r->file[i]);
    free(r->file);
    free(r->ref);
    free(r->sys);
    *r = (struct tf_segment_rows){0};
}

/* Some files have ended and others have not: read those to their ends, so that the message has
 * numbers. */
static int uneven(struct tf_segment_rows *r, struct tf_err *err)
{
    const struct tf_lines *f = r->file;
    for (size_t i = 0; i < r->nfiles; i++) {
        struct tf_text line;
        int rc;
        while ((rc = tf_lines_next(&r->file[i], &line, err)) > 0)
            continue;
        if (rc < 0)
            return -1;
    }
    for (size_t i = 0; i < r->nfiles; i++)
        if (!f[i].n)
            return tf_fail(err, "%s: no lines", f[i].name);
    for (size_t i = 1; i < r->nfiles; i++)
        if (f[i].n != f[0].n && i < r->nref_files)
            return tf_fail(err, "%s has %ju lines, %s has %ju", f[0].name, (uintmax_t)f[0].n,
                           f[i].name, (uintmax_t)f[i].n);
        else if (f[i].n != f[0].n)
            return tf_fail(err, "%s has %ju lines, the reference %s has %ju", f[i].name,
                           (uintmax_t)f[i].n, f[0].name, (uintmax_t)f[0].n);
    return tf_fail(err, "the files changed while they were read");
}

/* Cut a line at its tabs. As in sacreBLEU, references have no more than `fields` columns, the last
 * of which takes the tabs that are left; systems have exactly so many, and lose the white space at
 * their ends in all lines but the first. */
static int cut(struct tf_text *out, size_t fields, struct tf_text line, bool rest, bool strip,
               const struct tf_lines *file, struct tf_err *err)
{
    const char *p = line.p, *end = line.p + line.n;
    size_t f = 0;
    for (;; f++) {
        const char *tab = f + 1 < fields || !rest ? memchr(p, '\t', (size_t)(end - p)) : NULL;
        const char *e = tab ? tab : end;
        if (f < fields)
            out[f] =
                (struct tf_text){p, strip ? tf_uc_rstrip(p, (size_t)(e - p)) : (size_t)(e - p)};
        if (!tab)
            break;
        p = tab + 1;
    }
    if (f + 1 != fields)
        return tf_fail(err, "%s: line %ju: %zu fields between tabs, expected %zu", file->name,
                       (uintmax_t)file->n, f + 1, fields);
    return 0;
}

static int count_columns(struct tf_segment_rows *r, struct tf_text line, struct tf_err *err)
{
    r->nsys = 1;
    for (size_t i = 0; i < line.n; i++)
        r->nsys += line.p[i] == '\t';
    if (r->nsys > TF_ROWS_COLUMNS)
        return tf_fail(err, "stdin: %zu systems between tabs, maximum %d", r->nsys,
                       TF_ROWS_COLUMNS);
    return 0;
}

static int place(struct tf_segment_rows *r, size_t i, struct tf_text line, struct tf_err *err)
{
    if (i < r->nref_files) {
        if (r->in->num_refs > 1)
            return cut(r->ref, r->nrefs, line, true, false, &r->file[i], err);
        r->ref[i] = line;
    } else if (r->in->nsystems) {
        r->sys[i - r->nref_files] = line;
    } else {
        if (!r->n && count_columns(r, line, err) < 0)
            return -1;
        return cut(r->sys, r->nsys, line, false, r->n > 0, &r->file[i], err);
    }
    return 0;
}

int tf_segment_rows_next(struct tf_segment_rows *r, struct tf_err *err)
{
    size_t ended = 0;
    for (size_t i = 0; i < r->nfiles; i++) {
        struct tf_text line;
        int rc = tf_lines_next(&r->file[i], &line, err);
        if (rc < 0)
            return -1;
        ended += rc == 0;
        if (rc && place(r, i, line, err) < 0)
            return -1;
    }
    if (!ended) {
        r->n++;
        return 1;
    }
    if (ended == r->nfiles && r->n)
        return 0;
    if (ended == r->nfiles)
        return tf_fail(err, "%s: no lines", r->file[r->nfiles - 1].name);
    return uneven(r, err);
}
