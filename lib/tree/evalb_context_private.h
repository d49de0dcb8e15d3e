/* evalb_context_private.h - what the stages of one comparison share: parameters and the errors of
 * the current line. */
#ifndef TF_TREE_EVALB_CONTEXT_PRIVATE_H
#define TF_TREE_EVALB_CONTEXT_PRIVATE_H

#include "tree/evalb_params.h"

/* The status of a sentence, in EVALB's numbers. */
enum { TF_EVALB_FINE = 0, TF_EVALB_ERROR = 1, TF_EVALB_SKIP = 2 };

struct tf_evalb_context {
    const struct tf_evalb_params *p;
    uint64_t line;     /* number of the current line */
    bool quiet;        /* ignore errors */
    int status;        /* of the current sentence */
    bool in_error;     /* the current sentence, also where EVALB's status says that it is skipped */
    int64_t error_count; /* number of errors, as MAX_ERROR counts them */
    bool stop;           /* there were too many errors */
};

/* Report an error of the current sentence: set status and in_error, print a warning, count it, and
 * set c->stop when there are more than MAX_ERROR allows. Does nothing if c->quiet or c->stop. */
void tf_evalb_error(struct tf_evalb_context *c, const char *fmt, ...) TF_PRINTF(2, 3);

#endif
