/* log.h - warnings, notes and progress on stderr. */
#ifndef TF_BASE_LOG_H
#define TF_BASE_LOG_H

#include "base/err.h"
#include <stdbool.h>

/* Print "tf-x: warning: ...". After ten warnings of one format, further ones are only counted. */
void tf_warn(const char *fmt, ...) TF_PRINTF(1, 2);
/* Print those counts; tf_tool_finish calls it. */
void tf_warn_summary(void);
/* Print "tf-x: ...". */
void tf_note(const char *fmt, ...) TF_PRINTF(1, 2);
/* Print no notes from now on: --quiet of a tool that shows no progress. */
void tf_notes_off(void);
/* Print "tf-x: ..." always: why a tool fails. */
void tf_error(const char *fmt, ...) TF_PRINTF(1, 2);
/* Seconds on the monotonic clock; for rates, never in output. */
double tf_now(void);

/* A progress line on stderr. On a terminal it is rewritten at most 5 times a second and cut to the
 * terminal's width (assuming ASCII), and of the tools that share it only one shows its line
 * (terminal_private.h); elsewhere, if forced, it is a new line every 5 seconds. */
struct tf_progress {
    bool on;
    double start, last;
    bool terminal;
};
void tf_progress_begin(struct tf_progress *p, bool force, bool quiet);
bool tf_progress_due(struct tf_progress *p); /* would tf_progress_show print now? */
void tf_progress_show(struct tf_progress *p, const char *fmt, ...) TF_PRINTF(2, 3);
void tf_progress_end(struct tf_progress *p); /* clear the line */

/* For a wait inside another library: unless this is called again before, the process prints the
 * text as an error (nothing if it is empty) and ends with TF_FAILED after so many seconds. 0: no
 * deadline from now on. Uses SIGALRM. */
void tf_deadline(double seconds, const char *text);

#endif
