/* journal.h - the log of a run: JSON Lines in RUN/log.jsonl and optionally in a second file. */
#ifndef TF_TRAIN_STORE_JOURNAL_H
#define TF_TRAIN_STORE_JOURNAL_H

#include "base/json.h"
#include "train/store/rundir.h"
#include "train/store/state.h"

/* Lines are objects {"event": "start" | "step" | "valid" | "save" | "end", "step": N, ...}. Each is
 * written by one write(2) as soon as it is complete. A zero struct may be closed. */
struct tf_journal {
    int fd[2]; /* -1: not open */
    char *name[2];
    struct tf_buf buf;
    struct tf_json json;
};

/* Open the log of d for appending, after removing what a run that resumes from this state writes
 * again: lines of later steps and of later validations. NULL: a new run, all lines are removed.
 * extra: a second file to append to, "-" for stdout, or NULL. */
int tf_journal_open(struct tf_journal *j, const struct tf_rundir *d,
                    const struct tf_run_state *from, const char *extra,
                    struct tf_err *err) TF_MUST_CHECK;
void tf_journal_close(struct tf_journal *j);
/* Begin a line; the caller adds keys and values and ends with tf_journal_put. */
struct tf_json *tf_journal_line(struct tf_journal *j, const char *event, uint64_t step);
int tf_journal_put(struct tf_journal *j, struct tf_err *err) TF_MUST_CHECK;
/* fsync the log. */
int tf_journal_sync(const struct tf_journal *j, struct tf_err *err) TF_MUST_CHECK;

#endif
