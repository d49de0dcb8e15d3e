/* sacrebleu_signature_private.h - sacreBLEU's signature of a score: how it was computed, as pairs
 * such as tok:13a, in a long and a short form. Only the version differs: v:tf-bleu-VERSION. */
#ifndef TF_METRICS_SACREBLEU_SIGNATURE_PRIVATE_H
#define TF_METRICS_SACREBLEU_SIGNATURE_PRIVATE_H

#include "metrics/metric.h"
#include "metrics/sacrebleu_resample_private.h"

struct tf_signature {
    struct {
        const char *key, *brief;
        char value[320];
    } pair[16];
    int n;
};

/* The signature of a metric. r: how the score was resampled, NULL for not at all. */
void tf_signature_of(struct tf_signature *s, const struct tf_metric *m,
                     const struct tf_sacrebleu_resampling *r);
/* Append "nrefs:1|case:mixed|..." or, brief, "#:1|c:mixed|...". */
void tf_signature_text(struct tf_buf *out, const struct tf_signature *s, bool brief);

#endif
