/* loop.h - the parts of a training run, for the files of its loop: start.c, metrics.c,
 * checkpoints.c, update.c, boundary.c, loop.c (each uses only those before it) and no others.
 *
 * A run alternates between updates and step boundaries. It is validated, saved and stopped only at
 * a boundary, where weights, optimiser state and r->state describe the same update. A checkpoint
 * therefore always describes a boundary, and work after it is redone from the same batches. */
#ifndef TF_TRAIN_RUN_LOOP_H
#define TF_TRAIN_RUN_LOOP_H

#include "train/run/report.h"
#include "train/run/collapse.h"
#include "train/run/setup.h"

/* An update whose computation is queued. */
struct tf_update {
    bool pending; /* not reported yet */
    bool known;   /* its metrics have arrived: done.norm, done.sums */
    struct tf_update_metrics done;
    struct tf_stepper_metrics arriving;
};

struct tf_run {
    const struct tf_settings *o; /* what is requested */
    const struct tf_run_env *env;
    struct tf_setup setup;       /* what the run works on */
    struct tf_rundir dir;        /* locked */
    struct tf_stepper stepper;   /* weights, optimiser state, lanes */
    struct tf_run_state state;   /* where it stands: the last step boundary */
    struct tf_update updates[2]; /* the last update and the one before it */
    int last;                    /* index of the last */
    struct {                     /* checkpoints.c */
        struct tf_saver *saver;
        uint64_t step;          /* of the newest save but best.tfm; UINT64_MAX: none */
        uint64_t regular_step;  /* of the newest regular checkpoint */
        uint64_t best_step;     /* of best.tfm; 0: there is none, or it is not known */
        enum tf_save_kind kind; /* the save that began last, and its step */
        uint64_t from;
        double time;     /* of the last save, tf_now() */
        bool impossible; /* the run diverged, the device failed, or a save failed */
    } saved;
    struct tf_run_report report;
    struct tf_collapse collapse; /* with --valid */
    bool collapsed;              /* at the last validation: a warning was given */
};

/* Ends of a run and of attempts at an update, besides 0 (continue) and -1 (*err). */
enum tf_run_end {
    TF_RUN_ENDED = 1, /* all is saved and reported */
    TF_RUN_NO_BATCH,  /* the stream ended or a stop was requested, within or before an update */
    TF_RUN_BAD_INPUT, /* the stream failed: *err */
    TF_RUN_COLLAPSED, /* stopped by --on-collapse, nothing was saved: *err */
};

/* ---- start.c ---- */

/* Everything up to the first batch. TF_RUN_ENDED: the run was finished already. */
int tf_run_start(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
void tf_run_release(struct tf_run *r);

/* ---- metrics.c ----
 *
 * A device may run ahead of the host: it applies an update while the host reads the metrics of the
 * one before. No result depends on that. Metrics are collected before anything is saved, validated
 * or waited for, and an update whose gradient is not finite changes nothing. */

bool tf_run_device_is_ahead(const struct tf_run *r);
/* Wait for the metrics of an update. A divergence is an error and makes saving impossible. */
int tf_run_wait_metrics(struct tf_run *r, struct tf_update *u, struct tf_err *err) TF_MUST_CHECK;
/* Wait for them and report them, unless that has been done. */
int tf_run_collect_metrics(struct tf_run *r, struct tf_update *u, struct tf_err *err) TF_MUST_CHECK;
int tf_run_collect_last(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;

/* ---- checkpoints.c ---- */

/* Start to save the state of this boundary. best (regular checkpoints): also make it best.tfm. */
int tf_run_save(struct tf_run *r, enum tf_save_kind kind, bool best,
                struct tf_err *err) TF_MUST_CHECK;
/* Save resume.tfm when USR1 or --save-minutes requests it. */
int tf_run_save_requested(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* Report a save that ended, or wait until it has. */
int tf_run_poll_save(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
int tf_run_wait_save(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* The boundary is a multiple of `every` (0: never). */
bool tf_run_is_multiple(const struct tf_run *r, int64_t every);
/* A regular checkpoint of this boundary is due. */
bool tf_run_save_due(const struct tf_run *r);
/* Append the name of the last good checkpoint to *err. */
void tf_run_add_last_good(const struct tf_run *r, struct tf_err *err);

/* ---- update.c ---- */

/* One update: its micro-batches through the stepper. On any other return than 0, weights and
 * r->state are those of the last boundary. */
int tf_run_update(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;

/* ---- boundary.c ---- */

/* Validate, save and stop, whatever is due. */
int tf_run_boundary(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* Save what is not saved yet, and wait until it is. */
int tf_run_save_rest(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* The run stops here because of a signal, or is complete for this reason. */
int tf_run_stop(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
int tf_run_complete(struct tf_run *r, const char *reason, struct tf_err *err) TF_MUST_CHECK;

#endif
