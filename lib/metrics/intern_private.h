/* intern_private.h - numbers pieces of text, so that equal texts have equal numbers. */
#ifndef TF_METRICS_INTERN_PRIVATE_H
#define TF_METRICS_INTERN_PRIVATE_H

#include "base/table_hash.h"
#include "metrics/tokenizers_private.h"

/* Zero-initialise, and call tf_intern_start for each segment. */
struct tf_intern {
    struct tf_text *text; /* by number */
    uint64_t *hash;
    uint32_t *slot; /* number + 1; 0: free */
    size_t n, cap, mask;
    struct tf_table_key key;
};
/* Remove everything and make room for n pieces. */
void tf_intern_start(struct tf_intern *t, size_t n);
/* The number of s, from 0 in order of first use. s.p must stay valid until the next start. */
uint32_t tf_intern(struct tf_intern *t, struct tf_text s);
/* Set t->number to the numbers of its tokens. */
void tf_tokens_number(struct tf_tokens *t, struct tf_intern *i);
void tf_intern_release(struct tf_intern *t);

#endif
