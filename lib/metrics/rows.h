/* rows.h - several files of segments read side by side: references and systems, in files of their
 * own or in columns between tabs. */
#ifndef TF_METRICS_ROWS_H
#define TF_METRICS_ROWS_H

#include "base/opt.h"
#include "text/lines.h"

enum { TF_ROWS_COLUMNS = 1000 }; /* between tabs */

struct tf_inputs {
    const char *const *refs;
    size_t nrefs;
    size_t num_refs; /* columns in the one reference file; 1: each file is one reference */
    const char *const *systems;
    size_t nsystems; /* 0: columns of stdin, as many as its first line has */
    const char *encoding;
};

/* Each system once. The same file twice is a usage error, except that a paired test takes its
 * baseline, the first, again: that is left out. */
int tf_inputs_once(struct tf_strs *systems, bool paired, struct tf_err *err) TF_MUST_CHECK;

/* Zero-initialise. */
struct tf_segment_rows {
    const struct tf_inputs *in;
    struct tf_lines *file; /* references, then systems */
    size_t nfiles, nref_files;
    struct tf_text *ref, *sys; /* of the row at hand */
    size_t nrefs, nsys;        /* columns; nsys is known from the first row on */
    uint64_t n;                /* rows so far */
};
int tf_segment_rows_open(struct tf_segment_rows *r, const struct tf_inputs *in,
                         struct tf_err *err) TF_MUST_CHECK;
/* The next row: 1; 0 when all files have ended together; -1 on error, such as files of different
 * length, no lines, columns that are missing. */
int tf_segment_rows_next(struct tf_segment_rows *r, struct tf_err *err) TF_MUST_CHECK;
void tf_segment_rows_close(struct tf_segment_rows *r);

#endif
