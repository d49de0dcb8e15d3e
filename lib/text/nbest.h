/* nbest.h - lines of n-best lists as text: idx, rank, score and text between tabs, as
 * tf-tokenize -d --nbest writes them, and maybe further scores. */
#ifndef TF_TEXT_NBEST_H
#define TF_TEXT_NBEST_H

#include "base/err.h"
#include "text/text.h"
#include <stdint.h>

struct tf_nbest {
    uint64_t idx;              /* of the list */
    bool none;                 /* rank 0: the list has no hypothesis */
    double score;              /* finite */
    struct tf_text text, rest; /* rest.p is NULL if nothing follows the text */
};

/* Parse a line, without LF, up to the rank, so that the list before it can end whatever follows;
 * texts are views of it. Errors say what it lacks, such as "no rank". */
int tf_nbest_begin(struct tf_nbest *h, struct tf_text line, struct tf_err *err) TF_MUST_CHECK;
/* Then, unless there is none, its score and text. */
int tf_nbest_hypothesis(struct tf_nbest *h, struct tf_err *err) TF_MUST_CHECK;
/* Cut off the next field, a finite number. Its lack is the error. */
int tf_nbest_number(struct tf_text *rest, double *x, const char *lack,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
