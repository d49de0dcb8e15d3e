/* output_private.h - the output of tf-decode, tf-score and tf-attn: a stream with a part for each
 * part of the input, or text. It also counts bad records, for --bad. */
#ifndef TF_INFER_OUTPUT_PRIVATE_H
#define TF_INFER_OUTPUT_PRIVATE_H

#include "base/bad.h"
#include "infer/input_private.h"
#include "stream/writer.h"

/* Zero-initialised is closed. */
struct tf_output {
    struct tf_out file;
    struct tf_writer writer; /* into file: the part being written, where the output is a stream */
    bool text;               /* no stream: the tool writes to file */
    bool in_part;            /* the part has a header and no end yet */
    struct tf_bad_count count;
};

/* Open the output file. A stream refuses a terminal. */
int tf_output_open(struct tf_output *o, const char *path, bool text, int on_bad,
                   struct tf_err *err) TF_MUST_CHECK;
/* End the part being written and begin the next one. Does nothing for text. */
int tf_output_begin(struct tf_output *o, const struct tf_header *h,
                    struct tf_err *err) TF_MUST_CHECK;
/* Count an item. Returns 1: it is good; 0: it is bad, and a stream has its bad record now; -1:
 * failed, or it is bad and --bad=fail. input: name, for the message. */
int tf_output_count(struct tf_output *o, const struct tf_item *it, const char *input,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_output_flush(struct tf_output *o, struct tf_err *err) TF_MUST_CHECK;
/* End the part being written and commit the file; with rc < 0, write an error record into that part
 * and drop the file. Returns 0, TF_PARTIAL with a message when --bad=mark and records were bad, or
 * -1. */
int tf_output_close(struct tf_output *o, int rc, const char *input,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
