/* decode.h - tf-decode's stream: sources in, and prefixes where they are given, what the decoder
 * makes of them out, in the order of the input. */
#ifndef TF_INFER_DECODE_H
#define TF_INFER_DECODE_H

#include "infer/decoder.h"
#include "infer/stage.h"

struct tf_decode_opts {
    struct tf_stage_opts run;
    const char *prefix; /* a token stream of forced beginnings, or NULL */
    int64_t beam, nbest, max_extra, seed, top_k;
    double alpha, temperature, top_p;
    bool nbest_out; /* n-best records rather than token records */
    bool token_scores, sample, allow_unk;
};

/* The whole job of tf-decode: models, input (path), output (path). table: for provenance. 0,
 * TF_PARTIAL when records were bad, or -1. */
int tf_decode_run(const struct tf_decode_opts *o, const char *input, const char *output,
                  const struct tf_opt *table, struct tf_err *err) TF_MUST_CHECK;

#endif
