/* sacrebleu_resample.c - see sacrebleu_resample_private.h. */
#include "metrics/sacrebleu_resample_private.h"
#include <string.h>

bool tf_sacrebleu_paired(const struct tf_sacrebleu_resampling *r)
{
    return r->test == TF_TEST_BOOTSTRAP || r->test == TF_TEST_RANDOMIZE;
}

int64_t tf_sacrebleu_samples(const struct tf_sacrebleu_resampling *r)
{
    if (r->samples > 0 || r->test == TF_TEST_CONFIDENCE)
        return r->samples;
    return r->test == TF_TEST_BOOTSTRAP ? 1000 : 10000;
}

const char *tf_sacrebleu_seed(const struct tf_sacrebleu_resampling *r)
{
    const char *s = r->seed != NULL ? r->seed : "12345";
    if (tf_sacrebleu_paired(r))
        while (s[0] == '0' && s[1])
            s++;
    return s;
}

/* In paired tests, seed 0 means none. */
static const char *effective_seed(const struct tf_sacrebleu_resampling *r)
{
    const char *s = tf_sacrebleu_seed(r);
    return strcmp(s, "none") == 0 || (tf_sacrebleu_paired(r) && strcmp(s, "0") == 0) ? NULL : s;
}

int tf_sacrebleu_resample(struct tf_resample *out, const struct tf_tally *t,
                          const struct tf_sacrebleu_resampling *r, struct tf_err *err)
{
    size_t n = (size_t)tf_sacrebleu_samples(r);
    if (t->nlines > TF_RESAMPLE_LINES)
        return tf_fail(err, "too many lines to resample");
    if (r->test == TF_TEST_RANDOMIZE)
        return tf_sacrebleu_randomize(out, t, n, effective_seed(r), err);
    return tf_sacrebleu_bootstrap(out, t, n, effective_seed(r), r->test == TF_TEST_CONFIDENCE, err);
}
