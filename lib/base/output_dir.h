/* output_dir.h - a directory of several files that appears whole or not at all. */
#ifndef TF_BASE_OUTPUT_DIR_H
#define TF_BASE_OUTPUT_DIR_H

#include "base/err.h"

struct tf_out_dir {
    int fd;               /* for tf_out_open_at */
    struct tf_temp *temp; /* until it is complete, or NULL */
};

/* Create a directory beside path, which must not exist, for files of these n names (static). -1:
 * nothing was created. */
int tf_out_dir_open(struct tf_out_dir *d, const char *path, const char *const *names, size_t n,
                    struct tf_err *err) TF_MUST_CHECK;
/* Give the complete directory its name, and release d. */
int tf_out_dir_commit(struct tf_out_dir *d, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* Remove it and release d. Exit and signals that end the process do so, too. */
void tf_out_dir_abort(struct tf_out_dir *d);

#endif
