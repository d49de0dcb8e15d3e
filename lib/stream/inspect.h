/* inspect.h - the commands of tf-cbor. Each function reads an open input (borrowed, as is the
 * output) to its end and also works on pipes. Output is flushed while the input is idle, which only
 * in tf_inspect_from_json changes its bytes (tf_writer_flush). */
#ifndef TF_STREAM_INSPECT_H
#define TF_STREAM_INSPECT_H

#include "stream/model.h"

struct tf_inspect {
    uint64_t max_tensor; /* bytes of one tensor; 0: TF_MAX_TENSOR, and to check a file any */
    /* diag: byte strings longer than this are cut short, with a comment; SIZE_MAX: never */
    size_t max_bytes;
    uint64_t records; /* head: how many */
    bool allow_nan;   /* check: accept NaN and infinities in tensors */
    /* check: called with each model or checkpoint, without the data of tensors; NULL: none */
    int (*model)(const struct tf_model_file *m, struct tf_err *err);
    /* from JSON: a stage of provenance to append to every header (borrowed); NULL: none */
    const struct tf_value *stage;
    /* from JSON: called with the `config` of each model, a map whose items it may change, since
     * JSON does not keep the kinds of its numbers; NULL: none */
    void (*config)(struct tf_value *map);
};

/* Diagnostic notation (RFC 8949, section 8), one item of the sequence a line; takes any CBOR
 * sequence within the limits. Heads and floats that are not the shortest carry an encoding
 * indicator (_0 to _3). */
int tf_inspect_diag(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                    struct tf_err *err) TF_MUST_CHECK;
/* JSON Lines, one object a record. tf_inspect_from_json converts them back to the same bytes if the
 * stream was written by these programs. It fails after an error record, which it writes. */
int tf_inspect_json(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_inspect_from_json(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                         struct tf_err *err) TF_MUST_CHECK;
/* A stage of provenance from text: the name of a program, or a JSON object that has it as "prog",
 * with "version", "opts" and "in" as tf_header.made has them. The value lives in the arena. */
int tf_inspect_stage(struct tf_value *stage, struct tf_arena *a, const char *text,
                     struct tf_err *err) TF_MUST_CHECK;
/* Read and verify everything: 0 when whole, sound and finite. */
int tf_inspect_check(struct tf_in *in, const struct tf_inspect *how,
                     struct tf_err *err) TF_MUST_CHECK;
/* Lines "type TAB count", in the order of the types' numbers. */
int tf_inspect_count(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                     struct tf_err *err) TF_MUST_CHECK;
/* The first records of the first part, as a stream that ends. Models have no such head. */
int tf_inspect_head(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                    struct tf_err *err) TF_MUST_CHECK;
/* The same stream with every CRC filled in, and checks where more than TF_MAX_CHECK bytes have
 * none. Verifies what the reader does, not what tf_inspect_check adds. */
int tf_inspect_seal(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
