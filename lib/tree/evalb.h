/* evalb.h - labelled bracketing recall, precision and F1 of constituency trees, as EVALB (Sekine
 * and Collins, 1997; version 2013) computes and prints them, but without its limits on words,
 * brackets, labels and lines. */
#ifndef TF_TREE_EVALB_H
#define TF_TREE_EVALB_H

#include "base/input.h"
#include "base/output.h"
#include "tree/evalb_params.h"

struct tf_evalb_opts {
    struct tf_evalb_params params;
    bool json;       /* one JSON object instead of the text report */
    bool exact;      /* the text report ends where EVALB's ends */
    int bad;         /* enum tf_on_bad: what to do after sentences in error */
    size_t max_line; /* bytes, at most TF_EVALB_MAX_LINE; a longer line is an error */
};

/* Compare the trees of `test` with those of `gold`, line by line, and write the report. Warnings
 * name the sentences in error. Returns
 * 0 when the report is complete; err->status is then TF_PARTIAL if there were sentences in error
 *   (and bad is TF_ON_BAD_MARK), TF_FAILED if the files have different numbers of lines;
 * -1 for failures of reading or writing, a line over the limit, the first sentence in error with
 *   TF_ON_BAD_FAIL, more errors than MAX_ERROR allows: the text report then ends with the last
 *   sentence compared. */
int tf_evalb(const struct tf_evalb_opts *o, struct tf_in *gold, struct tf_in *test,
             struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;

#endif
