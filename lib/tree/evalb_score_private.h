/* evalb_score_private.h - one sentence scored: which brackets count, which match, which cross. */
#ifndef TF_TREE_EVALB_SCORE_PRIVATE_H
#define TF_TREE_EVALB_SCORE_PRIVATE_H

#include "tree/evalb_parse_private.h"

/* The scores of a sentence: one row of the report. */
struct tf_evalb_row {
    uint64_t line;
    int64_t length;              /* in words, without DELETE_LABEL_FOR_LENGTH */
    int64_t matched, gold, test; /* brackets */
    int64_t crossing;            /* brackets of test */
    int64_t words, tags;         /* words; correct tags */
    int status;
};

/* Compare two parsed sentences and fill in the row. Cuts the labels of brackets, and may insert
 * deleted quotes. Sentences with different words are errors. */
void tf_evalb_compare(struct tf_evalb_context *c, struct tf_evalb_sentence *gold,
                      struct tf_evalb_sentence *test, struct tf_evalb_row *row);
/* The number of brackets that count in a sentence not yet compared. */
int64_t tf_evalb_kept(const struct tf_evalb_params *p, const struct tf_evalb_sentence *s);

#endif
