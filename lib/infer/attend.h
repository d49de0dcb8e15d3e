/* attend.h - tf-attn's stream: pairs in, the attention weights of a model out. */
#ifndef TF_INFER_ATTEND_H
#define TF_INFER_ATTEND_H

#include "infer/stage.h"

/* "all", then the names by enum tf_attention_kind; NULL at the end */
extern const char *const tf_attend_kinds[];

struct tf_attend_opts {
    struct tf_stage_opts run;   /* of one model */
    int kind;                   /* index into tf_attend_kinds */
    const char *layers, *heads; /* "all", or numbers from 1 on: "1,3-5" */
};

/* The whole job of tf-attn: one input (pairs, batches, or the tokens of sources alone) or two
 * (source and target tokens). 0, TF_PARTIAL or -1. */
int tf_attend_run(const struct tf_attend_opts *o, const char *const *inputs, size_t n,
                  const char *output, const struct tf_opt *table, struct tf_err *err) TF_MUST_CHECK;

#endif
