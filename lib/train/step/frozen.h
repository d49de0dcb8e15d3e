/* frozen.h - parameters that a run leaves as they are (--freeze). */
#ifndef TF_TRAIN_STEP_FROZEN_H
#define TF_TRAIN_STEP_FROZEN_H

#include "base/err.h"
#include "model/params.h"

enum { TF_FREEZE_MOST = 255 }; /* bytes of the patterns */

/* Elements of a flat block. */
struct tf_range {
    size_t from, to;
    bool frozen;
};

/* The flat block as ranges that are frozen and not in turn. */
struct tf_frozen {
    struct tf_range *range; /* on the heap */
    size_t n;
    uint64_t count; /* of parameters that are frozen, without padding */
    bool encoder;   /* so is all that the encoder's backward pass has gradients of */
};

/* patterns: as fnmatch(3) has them, with commas between, or NULL: nothing is frozen. One that
 * matches no name is TF_USAGE, and so are patterns that leave nothing to train. */
int tf_frozen_init(struct tf_frozen *f, const struct tf_params *p, const char *patterns,
                   struct tf_err *err) TF_MUST_CHECK;
void tf_frozen_release(struct tf_frozen *f);

#endif
