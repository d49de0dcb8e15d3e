/* evalb_report_private.h - totals over sentences, and their report: EVALB's text, byte for byte, or
 * JSON.
 */
#ifndef TF_TREE_EVALB_REPORT_PRIVATE_H
#define TF_TREE_EVALB_REPORT_PRIVATE_H

#include "base/json.h"
#include "tree/evalb_score_private.h"

struct tf_evalb_totals {
    int64_t sentences, errors, skipped, complete;
    int64_t gold, test, matched, words, tags, crossing, no_crossing, two_crossing;
};
void tf_evalb_add(struct tf_evalb_totals *t, const struct tf_evalb_row *row);

struct tf_evalb_summary {
    struct tf_evalb_totals all, cut;  /* all sentences; those up to the cutoff */
    int64_t cutoff;                   /* CUTOFF_LEN */
    int64_t missed_gold, missed_test; /* brackets of sentences that were not scored */
    uint64_t no_partner;              /* gold lines after the end of test */
};

/* Text: header, a row per sentence, summary. exact: the summary ends where EVALB's ends; else a
 * block follows in which every sentence that was not scored counts as missed. */
void tf_evalb_text_header(struct tf_buf *out);
void tf_evalb_text_row(struct tf_buf *out, const struct tf_evalb_row *row);
void tf_evalb_text_summary(struct tf_buf *out, const struct tf_evalb_summary *s, bool exact);

/* JSON: one object with the rows and the totals. */
void tf_evalb_json_begin(struct tf_json *j);
void tf_evalb_json_row(struct tf_json *j, const struct tf_evalb_row *row);
void tf_evalb_json_end(struct tf_json *j, const struct tf_evalb_summary *s);

#endif
