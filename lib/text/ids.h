/* ids.h - a growing array of token ids. */
#ifndef TF_TEXT_IDS_H
#define TF_TEXT_IDS_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct tf_ids {
    uint32_t *v;
    size_t n, cap;
};
/* Append n > 0 ids, which the caller fills in. */
uint32_t *tf_ids_room(struct tf_ids *ids, size_t n);
/* Append n ids. */
void tf_ids_add(struct tf_ids *ids, const uint32_t *v, size_t n);
void tf_ids_release(struct tf_ids *ids);

#endif
