/* evalb_params.h - EVALB's parameter files. */
#ifndef TF_TREE_EVALB_PARAMS_H
#define TF_TREE_EVALB_PARAMS_H

#include "base/arena.h"
#include "base/err.h"
#include "text/text.h"
#include <stdint.h>

enum { TF_EVALB_MAX_LINE = INT32_MAX - 1 }; /* bytes of a tree: words are counted in int32_t */

struct tf_evalb_list { /* sorted */
    struct tf_text *v;
    size_t n, cap;
};

/* Zero-initialise, then load. */
struct tf_evalb_params {
    int64_t max_error;                   /* MAX_ERROR: error number max_error + 2 ends the run */
    int64_t cutoff;                      /* CUTOFF_LEN: longest sentence of the second block */
    int64_t labeled;                     /* LABELED: 0 compares spans without their labels */
    struct tf_evalb_list deleted;        /* DELETE_LABEL */
    struct tf_evalb_list deleted_equal;  /* and what EQ_LABEL makes equal to those */
    struct tf_evalb_list deleted_length; /* DELETE_LABEL_FOR_LENGTH */
    struct tf_evalb_list quotes;         /* QUOTE_LABEL */
    struct tf_evalb_list eq_labels;      /* EQ_LABEL: pairs, each in both orders */
    struct tf_evalb_list eq_words;       /* EQ_WORD: the same */
    struct tf_arena mem;                 /* owns the texts */
};

/* EVALB's defaults, then the values of a file. "COLLINS" and "new" are built in, "none" is the
 * defaults alone; COLLINS.prm and new.prm are built in unless there is such a file. As in EVALB, an
 * unknown keyword, or EQ_LABEL without two values, is only a warning; so is DEBUG above 0, which we
 * lack. Errors: reading, a keyword without value, an invalid number, a label with more than 1000
 * partners in EQ_LABEL. */
int tf_evalb_params_load(struct tf_evalb_params *p, const char *name,
                         struct tf_err *err) TF_MUST_CHECK;
void tf_evalb_params_release(struct tf_evalb_params *p);

/* Whether a and b are the same text or a pair of the list. */
bool tf_evalb_equal(const struct tf_evalb_list *pairs, struct tf_text a, struct tf_text b);
/* The pairs whose first text is a, one after the other, and their number; NULL if there are none.
 */
const struct tf_text *tf_evalb_partners(const struct tf_evalb_list *pairs, struct tf_text a,
                                        size_t *n);
bool tf_evalb_listed(const struct tf_evalb_list *list, struct tf_text s);

#endif
