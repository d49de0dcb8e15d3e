/* split.h - tf-split: a text to one sentence a line, and back. */
#ifndef TF_TEXT_SPLIT_H
#define TF_TEXT_SPLIT_H

#include "base/output.h"
#include "text/document.h"

/* Write the sentences of `in`, one a line, and to layout, unless it is NULL, where they were. What
 * a reader of the sentences needs of the layout is in that file before they are written. With bad
 * lines as tf_bad_status. */
int tf_split(const struct tf_document_opts *o, struct tf_in *in, struct tf_out *out,
             struct tf_out *layout, struct tf_err *err) TF_MUST_CHECK;
/* The reverse. The layout is opened when there is a sentence, or at the end, unless it is a pipe,
 * so that tf_split may still be writing it. */
int tf_split_join(struct tf_in *in, const char *layout, struct tf_out *out,
                  struct tf_err *err) TF_MUST_CHECK;

#endif
