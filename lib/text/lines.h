/* lines.h - text files of segments, one a line, read one at a time. */
#ifndef TF_TEXT_LINES_H
#define TF_TEXT_LINES_H

#include "base/input.h"
#include "text/text.h"

enum { TF_LINES_MAX = 64 << 20 }; /* bytes of a line */

/* A file being read. Zero-initialise. */
struct tf_lines {
    struct tf_in in;
    const char *name; /* for messages: the path, or "stdin" */
    uint64_t n;       /* lines so far */
    bool open, universal, skip_lf;
    bool keep; /* keep white space at the ends of lines; set after opening */
};

/* Open a file as tf_text_open does; "-" is stdin. A byte-order mark is text, as in sacreBLEU.
 * encoding: NULL or a name of UTF-8, or another of recode_private.h. universal: CR and CR LF also
 * end a line, as sacreBLEU reads stdin. Close it even after a failure. */
int tf_lines_open(struct tf_lines *l, const char *path, const char *encoding, bool universal,
                  struct tf_err *err) TF_MUST_CHECK;
/* The next line, without LF and without the white space at its end: 1; 0 at the end of the file; -1
 * on error ("NAME: line 7: invalid UTF-8 at byte 12", "NAME: gzip: the file is truncated"). Valid
 * until the next call. A last line without LF counts. */
int tf_lines_next(struct tf_lines *l, struct tf_text *line, struct tf_err *err) TF_MUST_CHECK;
void tf_lines_close(struct tf_lines *l);

#endif
