/* text_table_private.h - a table of texts, each with a number. Its hash function has a key, so that
 * no input can make its texts collide. */
#ifndef TF_TEXT_TEXT_TABLE_PRIVATE_H
#define TF_TEXT_TEXT_TABLE_PRIVATE_H

#include "base/table_hash.h"
#include "text/text.h"

#define TF_NO_TEXT UINT32_MAX /* no number is this */

struct tf_text_entry {
    struct tf_text text;
    uint32_t number;
};

/* Zero-initialised is empty. */
struct tf_text_table {
    struct tf_text_entry *v; /* [slots], of which n are in use; text.p NULL: free */
    size_t slots, n;
    struct tf_table_key key;
};

/* The number of a text, or TF_NO_TEXT. */
uint32_t tf_text_table_find(const struct tf_text_table *t, const char *p, size_t n);
/* Add a text that is not there. Its bytes are not copied. */
void tf_text_table_add(struct tf_text_table *t, const char *p, size_t n, uint32_t number);
void tf_text_table_release(struct tf_text_table *t);

#endif
