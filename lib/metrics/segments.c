/* segments.c - see segments.h. */
#include "metrics/segments.h"
#include "base/memory.h"
#include "text/unicode.h"
#include <stdlib.h>
#include <string.h>

int tf_segment_files_unique(struct tf_strs *systems, bool paired, struct tf_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < systems->n; i++) {
        const char *name = systems->v[i];
        bool again = false;
        for (size_t k = 0; k < n; k++)
            again |= strcmp(name, systems->v[k]) == 0;
        if (again && !(paired && strcmp(name, systems->v[0]) == 0))
            return tf_fail_status(err, TF_USAGE, "--input %s: given twice", name);
        if (!again)
            systems->v[n++] = name;
    }
    systems->n = n;
    return 0;
}

int tf_segments_open(struct tf_segments *s, const struct tf_segment_files *in, struct tf_err *err)
{
    static const char *const standard[] = {"-"};
    size_t ns = in->nsystems ? in->nsystems : 1;
    const char *const *systems = in->nsystems ? in->systems : standard;
    *s = (struct tf_segments){.in = in, .nfiles = in->nrefs + ns, .nref_files = in->nrefs};
    s->file = tf_xcalloc(s->nfiles, sizeof *s->file);
    s->nrefs = in->num_refs > 1 ? (size_t)in->num_refs : in->nrefs;
    s->nsys = in->nsystems;
    s->ref = tf_xcalloc(s->nrefs + 1, sizeof *s->ref);
    s->sys = tf_xcalloc(in->nsystems ? in->nsystems : TF_SEGMENT_COLUMNS, sizeof *s->sys);
    for (size_t i = 0; i < in->nrefs; i++)
        if (tf_lines_open(&s->file[i], in->refs[i], in->encoding, false, err) != 0)
            return -1;
    for (size_t i = 0; i < ns; i++)
        if (tf_lines_open(&s->file[in->nrefs + i], systems[i], in->encoding, !in->nsystems, err) <
            0)
            return -1;
    return 0;
}

void tf_segments_close(struct tf_segments *s)
{
    for (size_t i = 0; i < s->nfiles; i++)
        tf_lines_close(&s->file[i]);
    free(s->file);
    free(s->ref);
    free(s->sys);
    *s = (struct tf_segments){0};
}

/* Some files have ended before others: read those to their ends, so that the message can give
 * numbers of lines. */
static int uneven(struct tf_segments *s, struct tf_err *err)
{
    const struct tf_lines *f = s->file;
    for (size_t i = 0; i < s->nfiles; i++) {
        struct tf_text line;
        int rc;
        while ((rc = tf_lines_next(&s->file[i], &line, err)) > 0)
            continue;
        if (rc < 0)
            return -1;
    }
    for (size_t i = 0; i < s->nfiles; i++)
        if (!f[i].n)
            return tf_fail(err, "%s: no lines", f[i].name);
    for (size_t i = 1; i < s->nfiles; i++)
        if (f[i].n != f[0].n && i < s->nref_files)
            return tf_fail(err, "%s has %ju lines, %s has %ju", f[0].name, (uintmax_t)f[0].n,
                           f[i].name, (uintmax_t)f[i].n);
        else if (f[i].n != f[0].n)
            return tf_fail(err, "%s has %ju lines, the reference %s has %ju", f[i].name,
                           (uintmax_t)f[i].n, f[0].name, (uintmax_t)f[0].n);
    return tf_fail(err, "the files changed while they were read");
}

/* Split a line at its tabs. As in sacreBLEU, the last of `fields` columns of references takes the
 * rest of the line with its tabs (rest); systems have exactly so many columns, and lose trailing
 * white space in all lines but the first (strip). */
static int split_fields(struct tf_text *out, size_t fields, struct tf_text line, bool rest,
                        bool strip, const struct tf_lines *file, struct tf_err *err)
{
    const char *p = line.p, *end = line.p + line.n;
    size_t f = 0;
    for (;; f++) {
        const char *tab = f + 1 < fields || !rest ? memchr(p, '\t', (size_t)(end - p)) : NULL;
        const char *e = tab != NULL ? tab : end;
        if (f < fields)
            out[f] =
                (struct tf_text){p, strip ? tf_uc_rstrip(p, (size_t)(e - p)) : (size_t)(e - p)};
        if (tab == NULL)
            break;
        p = tab + 1;
    }
    if (f + 1 != fields)
        return tf_fail(err, "%s: line %ju: %zu fields between tabs, expected %zu", file->name,
                       (uintmax_t)file->n, f + 1, fields);
    return 0;
}

static int count_columns(struct tf_segments *s, struct tf_text line, struct tf_err *err)
{
    s->nsys = 1;
    for (size_t i = 0; i < line.n; i++)
        s->nsys += line.p[i] == '\t';
    if (s->nsys > TF_SEGMENT_COLUMNS)
        return tf_fail(err, "stdin: %zu systems between tabs, maximum %d", s->nsys,
                       TF_SEGMENT_COLUMNS);
    return 0;
}

static int assign(struct tf_segments *s, size_t i, struct tf_text line, struct tf_err *err)
{
    if (i < s->nref_files) {
        if (s->in->num_refs > 1)
            return split_fields(s->ref, s->nrefs, line, true, false, &s->file[i], err);
        s->ref[i] = line;
    } else if (s->in->nsystems) {
        s->sys[i - s->nref_files] = line;
    } else {
        if (!s->n && count_columns(s, line, err) != 0)
            return -1;
        return split_fields(s->sys, s->nsys, line, false, s->n > 0, &s->file[i], err);
    }
    return 0;
}

int tf_segments_next(struct tf_segments *s, struct tf_err *err)
{
    size_t ended = 0;
    for (size_t i = 0; i < s->nfiles; i++) {
        struct tf_text line;
        int rc = tf_lines_next(&s->file[i], &line, err);
        if (rc < 0)
            return -1;
        ended += rc == 0;
        if (rc && assign(s, i, line, err) != 0)
            return -1;
    }
    if (!ended) {
        s->n++;
        return 1;
    }
    if (ended == s->nfiles && s->n)
        return 0;
    if (ended == s->nfiles)
        return tf_fail(err, "%s: no lines", s->file[s->nfiles - 1].name);
    return uneven(s, err);
}
