/* text_file.h - open a file of text. */
#ifndef TF_TEXT_TEXT_FILE_H
#define TF_TEXT_TEXT_FILE_H

#include "base/input.h"

enum tf_text_kind {
    TF_TEXT_UTF8,    /* UTF-8, without the byte-order mark that it may begin with */
    TF_TEXT_AS_IS,   /* UTF-8, in which such a mark is text: U+FEFF */
    TF_TEXT_ENCODED, /* text that will be converted: only uncompress it */
};

/* Open a path for reading lines of text; "-" is stdin. Data compressed by gzip are uncompressed, by
 * their first bytes or the name's ".gz". Another known format (stream/recognise.h) fails at the
 * first read, with its name and what to do, unless the text is encoded. Nothing waits longer for a
 * line than a plain tf_in does. */
int tf_text_open(struct tf_in *in, const char *path, enum tf_text_kind kind,
                 struct tf_err *err) TF_MUST_CHECK;
/* A whole file of TF_TEXT_UTF8, as tf_read_file. */
int tf_text_read_file(char **data, size_t *n, const char *path, size_t max,
                      struct tf_err *err) TF_MUST_CHECK;

#endif
