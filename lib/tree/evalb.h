/* evalb.h - labelled bracketing recall and precision of constituency trees, as EVALB (Sekine and
 * Collins, 1997; version 2013) computes and prints them. Without its limits on words, brackets,
 * labels and lines, and with a second figure in which a sentence that could not be scored counts as
 * missed. */
#ifndef TF_TREE_EVALB_H
#define TF_TREE_EVALB_H

#include "base/arena.h"
#include "base/file.h"
#include "text/lines.h"
#include <stdbool.h>
#include <stdint.h>

struct tf_evalb_list {
    struct tf_text *v;
    size_t n, cap;
};

/* What EVALB's parameter file says. Zero-initialise; then load. */
struct tf_evalb_params {
    int64_t debug;     /* DEBUG: 1 tables of each sentence, 2 all steps */
    int64_t max_error; /* MAX_ERROR: error number max_error + 2 ends the run */
    int64_t cutoff;    /* CUTOFF_LEN: longest sentence of the second block */
    int64_t labeled;   /* LABELED: 0 compares spans alone */
    struct tf_evalb_list deleted;        /* DELETE_LABEL */
    struct tf_evalb_list deleted_length; /* DELETE_LABEL_FOR_LENGTH */
    struct tf_evalb_list quotes;         /* QUOTE_LABEL */
    struct tf_evalb_list eq_labels;      /* EQ_LABEL: pairs, one after the other */
    struct tf_evalb_list eq_words;       /* EQ_WORD: the same */
    struct tf_arena mem;                 /* holds the texts */
};

/* EVALB's defaults, then the values of a file: "COLLINS" and "new" are built in, "none" is the
 * defaults alone; COLLINS.prm and new.prm are built in where there is no such file. An unknown
 * keyword, or EQ_LABEL without two values, is a warning as in EVALB. Errors: reading, a keyword
 * without value, numbers. */
int tf_evalb_params_load(struct tf_evalb_params *p, const char *name,
                         struct tf_err *err) TF_MUST_CHECK;
void tf_evalb_params_release(struct tf_evalb_params *p);

struct tf_evalb_opts {
    struct tf_evalb_params params;
    bool json;        /* one JSON object instead of the report */
    bool exact;       /* the report ends where EVALB's ends */
    /* enum tf_on_bad: sentences in error finish with status 4, end the run, finish with 0 */
    int bad;
    size_t max_line;  /* bytes; a longer line is an error */
};

/* Compare the trees of `test` with those of `gold`, line by line, and write the report. Sentences
 * in error are named by warnings. 0 with err->status TF_PARTIAL when there were any, TF_FAILED when
 * the files have different numbers of lines: the report is complete. -1: reading and writing, a
 * line over the limit, more errors than max_error allows: what was compared is in the text report,
 * and there is no summary. */
int tf_evalb(const struct tf_evalb_opts *o, struct tf_in *gold, struct tf_in *test,
             struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;

#endif
