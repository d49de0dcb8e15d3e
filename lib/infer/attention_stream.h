/* attention_stream.h - the job of tf-attn: a stream of pairs, or of sources alone, to a stream of
 * the attention weights of a model, in the order of the input. */
#ifndef TF_INFER_ATTENTION_STREAM_H
#define TF_INFER_ATTENTION_STREAM_H

#include "base/opt.h"
#include "infer/session.h"
#include "model/transformer.h"

/* "all", then the kinds in the order of enum tf_attention_kind; NULL at the end. */
extern const char *const tf_attention_choices[];

struct tf_attention_opts {
    struct tf_session_opts run; /* with one model */
    int kind;                   /* index into tf_attention_choices */
    const char *layers, *heads; /* "all", or numbers from 1: "1,3-5" */
    /* Write the targets with their alignments instead, as tf_decode_stream does; the three above
     * do not count then. */
    bool alignment;
    const char *alignment_head; /* see alignment_private.h; NULL: the model's */
};

/* Run the whole job: a record for each pair, kind and layer. inputs: one path (pairs, batches, or
 * the tokens of sources alone) or two (source and target tokens), "-" for stdin. table: the tool's
 * options, for provenance. Returns 0, TF_PARTIAL when records were bad (see --bad), or -1. */
int tf_attention_stream(const struct tf_attention_opts *o, const char *const *inputs, size_t n,
                        const char *output, const struct tf_opt *table,
                        struct tf_err *err) TF_MUST_CHECK;

#endif
