/* bad.h - what a filter does about bad records: count them, remember the first, say so at the
 * end. */
#ifndef TF_INFER_BAD_H
#define TF_INFER_BAD_H

#include "base/err.h"
#include <stdint.h>

struct tf_bads {
    int policy;          /* enum tf_on_bad */
    uint64_t lines, bad; /* records in all, bad ones among them */
    uint64_t first;
    char why[192]; /* of the first */
};

/* A record goes out; code 0: a good one. -1 when the policy is to fail at the first bad one. */
int tf_bads_count(struct tf_bads *b, uint64_t idx, int code, const char *text, const char *input,
                  struct tf_err *err) TF_MUST_CHECK;
/* At the end: 0, or TF_PARTIAL with a message. */
int tf_bads_verdict(const struct tf_bads *b, const char *input, struct tf_err *err) TF_MUST_CHECK;

#endif
