/* through.h - send the sentences of a text through a pipe of tools that write a line for each line,
 * and put what comes back where they were. The text may be endless: only so many sentences are
 * under way. */
#ifndef TF_TEXT_THROUGH_H
#define TF_TEXT_THROUGH_H

#include "base/output.h"
#include "text/document.h"

struct tf_through {
    struct tf_document_opts text;
    const char *input, *output; /* paths; output: see TF_OUT_PART */
    bool copy_unknown;          /* the tools print links with unknown parts: see links.h */
    bool resume;                /* continue the output of a run that was interrupted */
    bool resumable;             /* the other options go with --resume */
    bool quiet, progress;
    const char *several; /* what to do about a line of several sentences that is not split, a
                            note printed once; NULL: nothing */
    const char *const *const *tools;
    size_t n_tools;
};

/* Returns as tf_pipeline_wait, with bad lines as tf_bad_status. The tools are started before the
 * process enters a sandbox. Nothing is in the output that is not complete: it ends with a line.
 *
 * SIGTERM and SIGINT: what has been sent is finished and written. SIGTERM is TF_AGAIN then; SIGINT
 * ends the process. The second one ends it at once.
 *
 * resume: the last line, or block, that the output has is made again, and must be the same. */
int tf_through(const struct tf_through *o, struct tf_err *err) TF_MUST_CHECK;

#endif
