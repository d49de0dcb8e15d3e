/* bpe_codes_private.h - codes of byte-pair encoding as tables: symbols by their text, merges by
 * two symbols. Read-only once created; may be shared between threads. */
#ifndef TF_TEXT_BPE_CODES_PRIVATE_H
#define TF_TEXT_BPE_CODES_PRIVATE_H

#include "text/bpe_codes.h"
#include "text/text_table_private.h"

struct tf_bpe_merge {
    uint32_t left, right; /* symbols; TF_NO_TEXT: a free slot */
    uint32_t rank, joined;
};

struct tf_bpe_merges {
    struct tf_text_table symbols; /* in text, or in the lines of the codes */
    struct tf_bpe_merge *v;       /* [slots] */
    size_t slots;
    struct tf_table_key key;
    char *text; /* of the symbols that merges make */
};

/* From codes, whose lines have to stay. Errors: see tf_bpe_codes_check. */
int tf_bpe_merges_new(struct tf_bpe_merges *m, const struct tf_bpe_codes *codes,
                      struct tf_err *err) TF_MUST_CHECK;
void tf_bpe_merges_release(struct tf_bpe_merges *m);

/* A line without the spaces and CRs at its ends. */
struct tf_text tf_bpe_trim(struct tf_text line);

/* The merge of two symbols, or NULL; of TF_NO_TEXT there is none. */
const struct tf_bpe_merge *tf_bpe_merge_of(const struct tf_bpe_merges *m, uint32_t left,
                                           uint32_t right);

#endif
