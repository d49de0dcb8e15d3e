/* copy_unknown_private.h - put into a translation what the vocabulary did not have of its source.
 *
 * A word of the translation that is the mark of an unknown piece (U+2047) becomes the unknown part
 * of the source word that it is linked to (from the first unknown character to the last; where
 * letters of a script without spaces are known between, there are several parts), or that word if
 * all of it is known (Luong et al., Addressing the Rare Word Problem in Neural Machine Translation,
 * 2015, section 3: the copy by alignment).
 *
 * An unknown part of a source word that the translation then has nowhere comes into the first word
 * that is linked to that: after the text that precedes the part, or before what follows it, where
 * the word has that, else at the end on which it was. What the word has between these gives way if
 * its letters are those of the part (M'ller for one with a letter that is unknown). Signs around
 * what is known, such as quotation marks, come around the only word that is linked to it, in place
 * of its own. Without such a word, or if the source word has nothing else, the part is a word of
 * its own, after the last word that is linked to the source word before it, or to those before
 * that. A part with such letters before it in its word comes into the last word that is linked, not
 * the first. An apostrophe (U+2019) within a word is not copied.
 *
 * If no letter or digit of a source word is known, and words are linked to it, the part comes
 * beside these and not into them: before the first, or after the only one if signs follow the part.
 * After a number (digits without a letter before them), as in "8 <euro>.", it comes in place of
 * one: the only one, or the one after the number's, as models make up a unit there. A word with a
 * digit does not give way, nor does one that may be the translation of a word beside the source
 * word, because that is linked to none; nor one of a script without spaces, which may be a
 * sentence. Where the number and the unit are the whole text, all that follows the number gives
 * way. */
#ifndef TF_TEXT_COPY_UNKNOWN_PRIVATE_H
#define TF_TEXT_COPY_UNKNOWN_PRIVATE_H

#include "base/buf.h"
#include "text/text.h"

/* Append the translation with what is copied. links: hard links with unknown parts (links.h);
 * new_links, which is empty, gets those of the result without. Words are what spaces separate. */
void tf_copy_unknown(struct tf_buf *out, struct tf_text source, struct tf_text translation,
                     struct tf_text links, struct tf_buf *new_links);

#endif
