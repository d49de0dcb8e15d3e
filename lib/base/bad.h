/* bad.h - the option --bad: count the bad records, lines or trees of a filter and report them. */
#ifndef TF_BASE_BAD_H
#define TF_BASE_BAD_H

#include "base/err.h"
#include "base/places.h"
#include <stdbool.h>
#include <stdint.h>

/* --bad=mark|fail|ok, for records, lines or trees that cannot be processed: finish with TF_PARTIAL,
 * stop at the first one, or finish with TF_OK. */
enum tf_on_bad { TF_ON_BAD_MARK, TF_ON_BAD_FAIL, TF_ON_BAD_OK };
extern const char *const tf_on_bad_words[]; /* ends with NULL */

/* A text of which so many lines at the start are all bad is the wrong file: tf_bad_add fails,
 * unless on_bad is TF_ON_BAD_OK. */
enum { TF_BAD_START = 16 };

/* Zero-initialise and set the first three, and `text` if lines are numbered from 1. */
struct tf_bad_count {
    int on_bad;        /* enum tf_on_bad */
    const char *items; /* what is counted: "records" */
    const char *place; /* what a number refers to: "record" */
    bool text;         /* items are the lines of a text: see TF_BAD_START */
    uint64_t total;    /* items so far; the caller increments it */
    uint64_t bad;      /* bad ones among them */
    uint64_t found;    /* those of them that were not bad in the input */
    struct tf_place_of at; /* of the first bad one */
    char reason[256];  /* why that one is bad */
};
/* Count a bad item, and with TF_ON_BAD_MARK print a warning (log.h limits their number). reported:
 * it was bad already in the input, and the tool that found it printed the warning. -1, with a
 * message, for TF_ON_BAD_FAIL and at the start of a wrong file. input: the name of the input. */
int tf_bad_add(struct tf_bad_count *c, const char *input, uint64_t number, const char *reason,
               bool reported, struct tf_err *err) TF_MUST_CHECK;
/* At the end: if there were bad items and on_bad is TF_ON_BAD_MARK, set err to TF_PARTIAL with a
 * message and return that status; else return 0. In a pipeline (pipeline.h) the tool that found
 * them has said so: if there are no others, there is no message. */
int tf_bad_status(const struct tf_bad_count *c, const char *input, struct tf_err *err);
/* Append to a message about lines that are not UTF-8 what they mostly are. */
void tf_bad_hint(const struct tf_bad_count *c, struct tf_err *err);

#endif
