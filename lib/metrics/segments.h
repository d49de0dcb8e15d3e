/* segments.h - the segments of several text files read side by side: references and
 * systems, each in a file of its own or in columns between tabs. */
#ifndef TF_METRICS_SEGMENTS_H
#define TF_METRICS_SEGMENTS_H

#include "base/opt.h"
#include "text/lines.h"

enum { TF_SEGMENT_COLUMNS = 1000 }; /* the most columns of systems */

struct tf_segment_files {
    const char *const *refs; /* paths; "-" is stdin */
    size_t nrefs;
    int64_t num_refs; /* columns of the one reference file; 1: each file is one reference */
    const char *const *systems;
    size_t nsystems;      /* 0: columns of stdin, as many as its first line has */
    const char *encoding; /* of all files; NULL: UTF-8 */
};

/* Remove repeated systems. A file given twice is a usage error, except that in a paired test the
 * first one, the baseline, may come again. */
int tf_segment_files_unique(struct tf_strs *systems, bool paired, struct tf_err *err) TF_MUST_CHECK;

/* Reads the files. Zero-initialise. */
struct tf_segments {
    const struct tf_segment_files *in;
    struct tf_lines *file; /* references, then systems */
    size_t nfiles, nref_files;
    struct tf_text *ref, *sys; /* of the current segment; valid until the next call */
    size_t nrefs, nsys;        /* nsys is known once the first segment was read */
    uint64_t n;                /* segments so far */
};
/* Open the files. Close after a failure, too. */
int tf_segments_open(struct tf_segments *s, const struct tf_segment_files *in,
                     struct tf_err *err) TF_MUST_CHECK;
/* Read the next segment: 1; 0 when all files have ended together; -1 on error, such as files of
 * different lengths, no lines, missing columns. */
int tf_segments_next(struct tf_segments *s, struct tf_err *err) TF_MUST_CHECK;
void tf_segments_close(struct tf_segments *s);

#endif
