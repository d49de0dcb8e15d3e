/* stats_private.h - counts of segments as a stream of the kind "stats" (formats/tokens.md): written
 * where the text is, and scored elsewhere. */
#ifndef TF_METRICS_STATS_PRIVATE_H
#define TF_METRICS_STATS_PRIVATE_H

#include "metrics/tally_private.h"
#include "stream/reader.h"
#include "stream/writer.h"

struct tf_opt;

/* Begin a stream for n metrics. table: the tool's options, for the provenance. */
int tf_stats_begin(struct tf_writer *w, struct tf_out *out, const struct tf_metric *metrics,
                   size_t n, const struct tf_opt *table, struct tf_err *err) TF_MUST_CHECK;

/* Reads the streams of several systems side by side. Zero-initialise. */
struct tf_stats {
    struct tf_in *in;
    struct tf_reader **reader;
    struct tf_record *rec; /* the current one of each system; ids are the counts */
    size_t n;
    uint64_t lines;
    struct tf_arena arena;
    struct tf_value config; /* of the first header; all others must be equal */
};
/* Open n files ("-" is stdin) and set up the metrics of their headers (room for TF_METRICS).
 * Returns their number, -1 on error. Close after a failure, too. */
int tf_stats_open(struct tf_stats *s, const char *const *names, size_t n, struct tf_metric *metrics,
                  struct tf_err *err) TF_MUST_CHECK;
/* Read the next segment of every system: 1; 0 when all have ended together; -1 on error. width: the
 * counts of all metrics together. */
int tf_stats_next(struct tf_stats *s, size_t width, struct tf_err *err) TF_MUST_CHECK;
void tf_stats_close(struct tf_stats *s);

#endif
