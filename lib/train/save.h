/* save.h - checkpoints: written from a copy by a thread of its own, so that training goes on
 * meanwhile; checked by reading them back. */
#ifndef TF_TRAIN_SAVE_H
#define TF_TRAIN_SAVE_H

#include "train/rundir.h"
#include "train/state.h"
#include "train/step.h"

/* What all checkpoints of a run share. Borrowed. */
struct tf_save_common {
    struct tf_header header;   /* kind "checkpoint"; config, vocabulary hash, provenance */
    const uint8_t *vocab;      /* SentencePiece model bytes, or NULL */
    size_t vocab_n;
    struct tf_value settings, batches;
};

enum tf_save_kind {
    TF_SAVE_GRID,   /* ckpt-STEP.tfm; then retention */
    TF_SAVE_RESUME, /* resume.tfm */
    TF_SAVE_BEST,   /* best.tfm as a file of its own: a best validation off the grid */
};

/* The name of such a file, on the heap. */
char *tf_save_name(enum tf_save_kind kind, uint64_t step);

struct tf_saver; /* opaque */

/* params, common and dir are borrowed; keep, every: of tf_rundir_retain. */
struct tf_saver *tf_saver_new(const char *dir, const struct tf_save_common *common,
                              const struct tf_params *params, bool ema, uint64_t keep,
                              uint64_t every);
void tf_saver_free(struct tf_saver *s); /* waits */
/* Wait for an earlier save, copy weights and moments, begin to write. best (with GRID): also make
 * it best.tfm. */
int tf_saver_start(struct tf_saver *s, struct tf_stepper *from, const struct tf_run_state *state,
                   enum tf_save_kind kind, bool best, struct tf_err *err) TF_MUST_CHECK;
/* Wait until nothing is being written: the error of the last save, once. */
int tf_saver_wait(struct tf_saver *s, struct tf_err *err) TF_MUST_CHECK;
/* The same without waiting: 0 while it is at work. */
int tf_saver_poll(struct tf_saver *s, struct tf_err *err) TF_MUST_CHECK;
/* The newest whole checkpoint: its path, or NULL when there is none. What was there at the start is
 * told by tf_saver_had. */
const char *tf_saver_last(struct tf_saver *s, uint64_t *step);
void tf_saver_had(struct tf_saver *s, const char *path, uint64_t step);

#endif
