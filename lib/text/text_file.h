/* text_file.h - open a file of text. */
#ifndef TF_TEXT_TEXT_FILE_H
#define TF_TEXT_TEXT_FILE_H

#include "base/input.h"

/* Open a path for reading lines of UTF-8; "-" is stdin. Data compressed by gzip are uncompressed,
 * by their first bytes or the name's ".gz". Another known format (stream/recognise.h) fails at the
 * first read, with its name and what to do. Nothing waits longer for a line than a plain tf_in
 * does. any_encoding: the text will be converted; only uncompress it. */
int tf_text_open(struct tf_in *in, const char *path, bool any_encoding,
                 struct tf_err *err) TF_MUST_CHECK;
/* A whole file of text, as tf_read_file. */
int tf_text_read_file(char **data, size_t *n, const char *path, size_t max,
                      struct tf_err *err) TF_MUST_CHECK;

#endif
