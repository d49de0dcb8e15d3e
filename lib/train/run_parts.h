/* run_parts.h - what start.c, loop.c and report.c share of a run; not for others. */
#ifndef TF_TRAIN_RUN_PARTS_H
#define TF_TRAIN_RUN_PARTS_H

#include "base/log.h"
#include "train/feed.h"
#include "train/journal.h"
#include "train/run.h"
#include "train/save.h"
#include "train/validate.h"

/* Sums since something was last told. */
struct tf_interval {
    struct tf_sums sums;
    double since; /* tf_now() at its start */
};

/* An update that is queued, and what it found once that is known. */
struct tf_update {
    bool open, known;
    struct tf_run_state at; /* behind it */
    double lr, norm;
    struct tf_sums sums;
    struct tf_step_figures figures;
};

struct tf_run {
    const struct tf_run_opts *o;
    struct tf_arena arena;
    struct tf_config config;       /* with what the stream says */
    struct tf_schedule schedule;
    struct tf_rundir dir;
    struct tf_feed *feed;
    struct tf_save_common common;
    char *vocab;
    char *tuning;                  /* the tuning file, or NULL */
    size_t tuning_n;
    uint8_t tuning_sha[32];
    struct tf_run_state state;
    /* overridden: --force lets something differ from the checkpoint */
    bool resumed, overridden;
    const struct tf_backend *be;
    struct tf_stepper stepper;
    bool has_stepper;
    struct tf_saver *saver;
    uint64_t saved_step;           /* of the last save of any kind but best; UINT64_MAX: none */
    uint64_t grid_step;            /* of the last grid save */
    double saved_at;               /* tf_now() */
    struct tf_journal journal;
    bool lost;                     /* nothing more can be saved */
    struct tf_progress progress;
    double started;
    uint64_t steps_here;           /* updates by this process */
    struct tf_update updates[2];   /* the last and the one before, in turn */
    int turn;                      /* which is the last */
    struct tf_interval logged, shown;
};

/* start.c: everything up to the first batch. 1: the run was finished already. */
int tf_run_start(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* The same for measuring: no directory, fresh weights. */
int tf_run_start_tuning(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
void tf_run_release(struct tf_run *r);

/* report.c: lines of the log and of progress. */
int tf_report_start(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
int tf_report_step(struct tf_run *r, const struct tf_update *u, struct tf_err *err) TF_MUST_CHECK;
int tf_report_valid(struct tf_run *r, const struct tf_sums *sums, bool best, double seconds,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_report_save(struct tf_run *r, const char *name, struct tf_err *err) TF_MUST_CHECK;
int tf_report_end(struct tf_run *r, const char *reason, struct tf_err *err) TF_MUST_CHECK;

#endif
