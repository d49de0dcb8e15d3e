/* evalb_trace.h - what EVALB prints for each sentence with -d and -D. */
#ifndef TF_TREE_EVALB_TRACE_H
#define TF_TREE_EVALB_TRACE_H

#include "tree/evalb_parse.h"

/* Begin the steps of a sentence's comparison. */
void tf_evalb_trace_begin(struct tf_evalb_context *c);
/* Steps grow with the square of a sentence: beyond TF_EVALB_MAX_STEPS bytes of them, or words and
 * brackets moved, say so and set c->trace to false for the rest of it. */
enum { TF_EVALB_MAX_STEPS = 4 << 20 };
void tf_evalb_trace_limit(struct tf_evalb_context *c);
/* Match brackets, and count crossing ones, pair by pair, printing each step as -D does. The results
 * are those of tf_evalb_compare. Return the counts, or -1 where the limit was reached; then no
 * bracket is matched. */
int64_t tf_evalb_trace_matches(struct tf_evalb_context *c, struct tf_evalb_sentence *gold,
                               struct tf_evalb_sentence *test);
int64_t tf_evalb_trace_crossing(struct tf_evalb_context *c, const struct tf_evalb_sentence *gold,
                                const struct tf_evalb_sentence *test);
/* Print the tables of -d. */
void tf_evalb_trace_tables(struct tf_evalb_context *c, const struct tf_evalb_sentence *gold,
                           const struct tf_evalb_sentence *test);

#endif
