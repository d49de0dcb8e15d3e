/* user_lines.h - a file that a user writes with an entry on each line, such as a glossary. */
#ifndef TF_TEXT_USER_LINES_H
#define TF_TEXT_USER_LINES_H

#include "base/input.h"
#include "text/text.h"

/* How a file is read, and what was read. */
struct tf_user_lines {
    /* Take a line, without its end (LF or CR LF) and without a byte-order mark. */
    int (*add)(const struct tf_user_lines *l, struct tf_text line, struct tf_err *err);
    void *arg;        /* for `add` */
    size_t longest;   /* bytes of a line */
    const char *name; /* of the file in messages; NULL: that of the input */
    uint64_t n;       /* lines so far, with the one that `add` gets */
    uint8_t sum[32];  /* SHA-256 of all lines as they are, each with an LF */
};

/* Read the input to its end. Errors begin with "NAME: line N: ": those of `add`, a line that is too
 * long, not UTF-8, or has a NUL. */
int tf_user_lines(struct tf_user_lines *l, struct tf_in *in, struct tf_err *err) TF_MUST_CHECK;
/* The same of a file, which tf_text_open opens. */
int tf_user_lines_read(struct tf_user_lines *l, const char *path, struct tf_err *err) TF_MUST_CHECK;

#endif
