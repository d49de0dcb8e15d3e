/* unknown_private.h - the characters of a text that a vocabulary has no piece for. */
#ifndef TF_TEXT_UNKNOWN_PRIVATE_H
#define TF_TEXT_UNKNOWN_PRIVATE_H

#include "base/buf.h"
#include "text/segment_private.h"
#include "text/vocab.h"

struct tf_unknown;

struct tf_unknown *tf_unknown_new(void);
void tf_unknown_free(struct tf_unknown *u); /* may be NULL */

/* Count those characters of a text (checked UTF-8) that are unknown by themselves. For a text whose
 * segmentation has the unknown piece. Thread-safe, each thread with a room of its own. */
void tf_unknown_count(struct tf_unknown *u, const struct tf_vocab *v, struct tf_segment_room *room,
                      const char *s, size_t n);
/* Append a list of at most so many, the most frequent first, and how many there are more. Returns
 * the number of all. */
size_t tf_unknown_list(const struct tf_unknown *u, struct tf_buf *out, size_t most);

#endif
