/* ter_private.h - translation edit rate (Snover et al., "A study of translation edit rate with
 * targeted human annotation", AMTA 2006) as sacreBLEU 2.6 computes it, which follows Tercom:
 *
 *     TER = 100 edits / mean length of the references
 *
 * Edits are insertions, deletions and substitutions of words, and shifts of blocks of words; the
 * shifts are found by a greedy search. */
#ifndef TF_METRICS_TER_PRIVATE_H
#define TF_METRICS_TER_PRIVATE_H

#include "metrics/intern_private.h"
#include "metrics/tokenizers_private.h"

struct tf_ter_opts {
    bool case_sensitive, normalized, no_punct, asian;
};

/* Counts segments one after the other. Zero-initialise and set opts. */
struct tf_ter {
    struct tf_ter_opts opts;
    struct tf_tokens hyp, ref;
    struct tf_buf scratch;
    struct tf_intern intern;
    struct tf_ter_work *work;
};
void tf_ter_release(struct tf_ter *t);
/* counts[0]: the fewest edits that turn the hypothesis into one of its references; counts[1]: the
 * sum of the references' lengths in words. -1 when there are too many words. */
int tf_ter_segment(struct tf_ter *t, uint32_t counts[2], struct tf_text hyp,
                   const struct tf_text *refs, size_t nrefs, struct tf_err *err) TF_MUST_CHECK;

/* The score of sums: edits, mean lengths of the references. 0 and up; 100 for edits against empty
 * references. */
double tf_ter_score(const double sums[2]);

/* Replace t's tokens by the words of the line after Tercom's normalisation. They point into t or
 * into the line. */
void tf_tokenize_ter(struct tf_tokens *t, struct tf_buf *scratch, struct tf_text line,
                     const struct tf_ter_opts *o);

#endif
