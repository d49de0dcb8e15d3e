/* running_private.h - a training run while it runs, for the files of its loop and no others:
 * start.c, metrics.c, checkpoints.c, update.c, boundary.c, run.c (each uses only those before it).
 *
 * A run alternates between updates and step boundaries. It is validated, saved and stopped only at
 * a boundary, where weights, optimiser state and r->state describe the same update. A checkpoint
 * therefore always describes a boundary, and work after it is redone from the same batches. */
#ifndef TF_TRAIN_RUN_RUNNING_PRIVATE_H
#define TF_TRAIN_RUN_RUNNING_PRIVATE_H

#include "train/run/report_private.h"
#include "train/run/collapse_private.h"
#include "train/run/setup_private.h"

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
        uint64_t best_step;     /* of best.tfm; UINT64_MAX: there is none, or it is not known */
        enum tf_save_kind kind; /* the save that began last, and its step */
        uint64_t from;
        /* tf_now() of the last save, or without save_every of the last regular one */
        double time;
        bool impossible; /* the run diverged, the device failed, or a save failed */
    } saved;
    struct tf_run_report report;
    struct tf_collapse collapse; /* with --valid */
    bool begun_valid;            /* the model of --init was validated before the first update */
    bool other_valid;            /* not the validation data of the checkpoint */
    bool collapsed;              /* at the last validation: a warning was given */
    bool much_worse;             /* the last validation: by a twentieth than the best */
};

/* Ends of a run and of attempts at an update, besides 0 (continue) and -1 (*err). */
enum tf_run_end {
    TF_RUN_ENDED = 1, /* all is saved and reported */
    TF_RUN_NO_BATCH,  /* the stream ended or a stop was requested, within or before an update */
    TF_RUN_BAD_INPUT, /* the stream failed: *err */
    TF_RUN_COLLAPSED, /* stopped by --on-collapse, nothing was saved: *err */
};

#endif
