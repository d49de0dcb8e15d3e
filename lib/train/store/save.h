/* save.h - checkpoints, written by a thread of their own while training continues, and checked by
 * reading them back. The thread reads the weights and the optimiser state where they are, if this
 * process has them all in its memory, and otherwise copies: the next update computes its gradient
 * meanwhile, and before it changes them it waits (tf_saver_release). */
#ifndef TF_TRAIN_STORE_SAVE_H
#define TF_TRAIN_STORE_SAVE_H

#include "train/store/rundir.h"
#include "train/store/state.h"
#include "train/step/stepper.h"

/* What all checkpoints of a run share. Borrowed. */
struct tf_save_common {
    struct tf_header header; /* kind "checkpoint"; config, vocabulary hash, provenance */
    const uint8_t *vocab;    /* SentencePiece model bytes, or NULL */
    size_t vocab_n;
    struct tf_value vocab_target; /* the state of that name (formats/model.md), or null */
    struct tf_value settings, batches;
    bool weights_only; /* checkpoints lack the moments, and no run resumes from them */
};

enum tf_save_kind {
    TF_SAVE_REGULAR, /* ckpt-STEP.tfm; then tf_rundir_retain */
    TF_SAVE_RESUME,  /* resume.tfm */
    TF_SAVE_BEST,    /* best.tfm as a file of its own: no regular checkpoint is due at this step */
    TF_SAVE_VALID,   /* valid.tfm: the weights alone, as a model */
};

/* The name of such a file, on the heap. */
char *tf_save_name(enum tf_save_kind kind, uint64_t step);

struct tf_saver; /* opaque */

/* dir, common and from are borrowed; keep, end: of tf_rundir_retain. Nothing gets its name after
 * another run may have taken the directory (tf_rundir_check_lock). */
struct tf_saver *tf_saver_new(const struct tf_rundir *dir, const struct tf_save_common *common,
                              struct tf_stepper *from, uint64_t keep, uint64_t end);
void tf_saver_free(struct tf_saver *s); /* waits */
/* Wait for an earlier save, start to write the weights and optimiser state of `from`; tf_saver_wait
 * or tf_saver_poll says how it ended. best (with REGULAR): also make it best.tfm. */
int tf_saver_start(struct tf_saver *s, const struct tf_run_state *state, enum tf_save_kind kind,
                   bool best, struct tf_err *err) TF_MUST_CHECK;
/* Wait until the thread no longer reads what tf_stepper_apply changes. */
void tf_saver_release(struct tf_saver *s);
/* Wait until nothing is being written. 1 when a save ended, -1 when it failed, each once; 0: there
 * was none. */
int tf_saver_wait(struct tf_saver *s, struct tf_err *err) TF_MUST_CHECK;
bool tf_saver_writing(const struct tf_saver *s); /* tf_saver_wait would wait */
/* The same without waiting: 0 also while the thread is writing. */
int tf_saver_poll(struct tf_saver *s, struct tf_err *err) TF_MUST_CHECK;
/* The path of the newest complete checkpoint, or NULL; at first that of tf_saver_set_last. */
const char *tf_saver_last(const struct tf_saver *s);
void tf_saver_set_last(struct tf_saver *s, const char *path);

#endif
