/* hidden.h - a sentence as a model is to see it, with names in place of what it must not change
 * (placeholders_private.h), and its translation with that again, and with what the vocabulary lacks
 * (copy_unknown_private.h). */
#ifndef TF_TEXT_HIDDEN_H
#define TF_TEXT_HIDDEN_H

#include "base/buf.h"
#include "text/glossary.h"

struct tf_hidden;

/* Append the sentence as a model is to see it: nothing, if it consists of names, and so is its own
 * translation. named: it has names already, as HTML makes them. NULL: the translation needs
 * nothing. */
struct tf_hidden *tf_hidden_new(struct tf_text sentence, struct tf_hide hide, bool copy_unknown,
                                bool named, struct tf_buf *out);
void tf_hidden_free(struct tf_hidden *h); /* may be NULL */

/* Append the translation as a user is to see it. links: of its words, with copy_unknown hard ones
 * with unknown parts (links.h); new_links, which is empty, gets those of the result, or stays so if
 * there are names, whose words are others. Returns the number of names that it has lost, which
 * stand at its end. */
size_t tf_hidden_show(const struct tf_hidden *h, struct tf_text translation, struct tf_text links,
                      struct tf_buf *out, struct tf_buf *new_links);

#endif
