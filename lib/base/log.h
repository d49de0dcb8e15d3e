/* log.h - talk on stderr: warnings, notes, progress. Data never goes here. */
#ifndef TF_BASE_LOG_H
#define TF_BASE_LOG_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* "tf-x: warning: ..."; from the 11th of one format on only counted; tf_finish prints the sum */
void tf_warn(const char *fmt, ...) TF_PRINTF(1, 2);
/* the counts of what was not shown; called by tf_finish */
void tf_warn_summary(void);
void tf_note(const char *fmt, ...) TF_PRINTF(1, 2); /* "tf-x: ..." */
/* seconds on the monotonic clock; for rates, never in output */
double tf_now(void);

/* One line on stderr that is rewritten at most 5 times a second and cut to the terminal's width (of
 * ASCII: a byte is a column); silent unless stderr is a terminal or `force`d. */
struct tf_progress {
    bool on;
    double start, last;
    bool terminal; /* where stderr is none: a line of its own every 5 seconds */
};
void tf_progress_begin(struct tf_progress *p, bool force, bool quiet);
bool tf_progress_due(struct tf_progress *p); /* true when a new line would be shown now */
void tf_progress_show(struct tf_progress *p, const char *fmt, ...) TF_PRINTF(2, 3);
void tf_progress_end(struct tf_progress *p); /* clear the line */

#endif
