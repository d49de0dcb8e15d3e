/* journal.h - what a run tells machines: JSON Lines in RUN/log.jsonl and, when asked for, in a
 * second place. */
#ifndef TF_TRAIN_JOURNAL_H
#define TF_TRAIN_JOURNAL_H

#include "base/json.h"

/* Lines are objects {"event": "start" | "step" | "valid" | "save" | "end", "step": N, ...}. A line
 * is written by one call as soon as it is complete. */
struct tf_journal {
    int fd[2];          /* -1: not open */
    char *name[2];
    struct tf_buf buf;
    struct tf_json json;
};

/* path is cut back first: lines of later steps than `step` go, and those of validations later than
 * `valid_step`. extra: a file to append to, "-" for stdout, or NULL. */
int tf_journal_open(struct tf_journal *j, const char *path, uint64_t step, uint64_t valid_step,
                    const char *extra, struct tf_err *err) TF_MUST_CHECK;
void tf_journal_close(struct tf_journal *j);
/* Begin a line; the caller adds keys and values and ends with tf_journal_put. */
struct tf_json *tf_journal_line(struct tf_journal *j, const char *event, uint64_t step);
int tf_journal_put(struct tf_journal *j, struct tf_err *err) TF_MUST_CHECK;

#endif
