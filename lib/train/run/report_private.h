/* report_private.h - what a run reports while it trains: lines of log.jsonl and progress on
 * stderr. */
#ifndef TF_TRAIN_RUN_REPORT_PRIVATE_H
#define TF_TRAIN_RUN_REPORT_PRIVATE_H

#include "base/log.h"
#include "train/store/journal.h"
#include "train/run/setup_private.h"

/* What one update did. */
struct tf_update_metrics {
    struct tf_run_state at; /* after it */
    double lr, norm;        /* norm: of the gradient per target token */
    struct tf_sums sums;    /* over all of its batches */
};

/* Sums over the updates since the last line, of the log or of progress. */
struct tf_interval {
    struct tf_sums sums;
    double since; /* tf_now() */
};

struct tf_run_report {
    const struct tf_settings *o;
    const struct tf_run_env *env;
    struct tf_journal journal;
    struct tf_progress progress;
    double untuned;   /* what --valid-command said of the model of --init; NAN: not known */
    double started;   /* tf_now() */
    uint64_t updates; /* by this process */
    struct tf_update_metrics last;
    struct tf_interval logged, shown;
};

/* A validation. */
struct tf_validation {
    struct tf_sums sums;
    double metric;  /* of --valid-command; NAN: none */
    const char *text; /* what it printed before, or "" */
    double seconds; /* that it took; they count as no training time */
    bool best;
};

/* What a run starts from. */
struct tf_run_origin {
    const struct tf_setup *setup;
    const struct tf_stepper *stepper;
    const struct tf_run_state *state;
    const struct tf_batch_cursor *data; /* of the first batch; NULL: not known */
    const char *checkpoint;             /* its path; NULL: a new run */
};

/* Open RUN/log.jsonl and the --log file; lines after the state that the run starts from (NULL: a
 * new run) are removed (tf_journal_open). A zero struct may be closed. */
int tf_run_report_open(struct tf_run_report *r, const struct tf_settings *o,
                       const struct tf_run_env *env, const struct tf_rundir *d,
                       const struct tf_run_state *from, struct tf_err *err) TF_MUST_CHECK;
void tf_run_report_close(struct tf_run_report *r);

/* The lines "start" (all that is needed to repeat the run), "step" (every --log-every updates, and
 * for those that are left at the end), "valid", "save" and "end". */
int tf_run_report_start(struct tf_run_report *r, const struct tf_run_origin *from,
                        struct tf_err *err) TF_MUST_CHECK;
int tf_run_report_update(struct tf_run_report *r, const struct tf_update_metrics *u,
                         struct tf_err *err) TF_MUST_CHECK;
/* Also prints the result. */
int tf_run_report_valid(struct tf_run_report *r, const struct tf_run_state *s,
                        const struct tf_validation *v, struct tf_err *err) TF_MUST_CHECK;
int tf_run_report_save(struct tf_run_report *r, uint64_t step, const char *name,
                       struct tf_err *err) TF_MUST_CHECK;
int tf_run_report_end(struct tf_run_report *r, const struct tf_run_state *s, const char *reason,
                      size_t memory, struct tf_err *err) TF_MUST_CHECK;
/* Print the best checkpoint, or without validation the last (NULL: none), and the next command.
 * much_worse: the last validation, than the best. */
void tf_run_report_complete(const struct tf_settings *o, const struct tf_run_state *s,
                            const char *last, bool much_worse);

#endif
