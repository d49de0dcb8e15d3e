/* evalb_quotes_private.h - EVALB's repair of apostrophes that only one of two sentences tags as
 * quotation marks. */
#ifndef TF_TREE_EVALB_QUOTES_PRIVATE_H
#define TF_TREE_EVALB_QUOTES_PRIVATE_H

#include "tree/evalb_parse_private.h"

/* Where one sentence deleted a quote (by DELETE_LABEL) that the other kept under another tag, put
 * it back into the first. */
void tf_evalb_fix_quotes(struct tf_evalb_context *c, struct tf_evalb_sentence *gold,
                         struct tf_evalb_sentence *test);

#endif
