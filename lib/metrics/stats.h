/* stats.h - counts of segments as a stream of the kind "stats" (formats/tokens.md): made where the
 * text is, added up where the score is wanted. */
#ifndef TF_METRICS_STATS_H
#define TF_METRICS_STATS_H

#include "metrics/tally.h"
#include "stream/stream.h"

struct tf_opt;

/* Begin a stream for the metrics of a tally. table: the tool's options, for the stream's
 * provenance. */
int tf_stats_begin(struct tf_writer *w, struct tf_out *out, const struct tf_metric *metrics,
                   size_t n, const struct tf_opt *table, struct tf_err *err) TF_MUST_CHECK;

/* Streams of several systems read side by side. Zero-initialise. */
struct tf_stats {
    struct tf_in *in;
    struct tf_reader **reader;
    const char *const *names;
    struct tf_record *rec; /* the latest of each system: rec->ids */
    size_t n;
    uint64_t lines;
    struct tf_arena arena;
    struct tf_value config; /* the first header's: all others must say the same */
};
/* Open files ("-" is stdin) and take metrics (room for TF_METRICS) from their headers. Returns how
 * many, -1 on error. */
int tf_stats_open(struct tf_stats *s, const char *const *names, size_t n, struct tf_metric *metrics,
                  struct tf_err *err) TF_MUST_CHECK;
/* The next segment of every system: 1; 0 when all have ended together; -1 on error. `width`: of all
 * metrics together. */
int tf_stats_next(struct tf_stats *s, size_t width, struct tf_err *err) TF_MUST_CHECK;
void tf_stats_close(struct tf_stats *s);

#endif
