/* spelling.h - the text that each id of a vocabulary adds to an output, and where words begin and
 * end in it. Needs no SentencePiece. */
#ifndef TF_TEXT_SPELLING_H
#define TF_TEXT_SPELLING_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "text/text.h"

#include <stdbool.h>

/* The texts by id, in memory of the arena: of a piece with a space for U+2581; of a byte piece its
 * byte; of a control piece and of the unknown one nothing; of a token of a vocabulary of words
 * (bpe_codes.h) with a space after the end of a word, and there of the unknown one a space, which
 * ends a word. lower: each in lower case (tf_lower_part). The vocabulary's n bytes are checked
 * (tf_sp_check). */
struct tf_spelling {
    struct tf_text *v;
    size_t n;
    bool spaces_follow; /* a word has the space after it, not before */
};
int tf_spelling_read(struct tf_spelling *s, struct tf_arena *a, const void *bytes, size_t n,
                     bool lower, struct tf_err *err) TF_MUST_CHECK;

/* Append a text as ids spell it: normalised as the vocabulary says, whose n bytes are checked. */
void tf_spell_text(struct tf_buf *out, const void *bytes, size_t n, struct tf_text text);

/* The words of the n bytes at s with one space between, in memory of the arena. */
struct tf_text tf_plain_phrase(struct tf_arena *a, const char *s, size_t n);
/* Append a part of a text in lower case; bytes that are not UTF-8 stay. A sigma has the form of
 * those within a word: that of one at the end depends on what follows the part. */
void tf_lower_part(struct tf_buf *out, struct tf_text part);
/* Is a text, checked UTF-8, its own lower case? */
bool tf_is_lower(struct tf_text s);

/* Is the character before or at this place, between characters of the n bytes at s, part of a word:
 * no white space, punctuation or symbol? At the start and the end there is none. Bytes that are not
 * UTF-8 count as letters. */
bool tf_word_before(const char *s, size_t at);
bool tf_word_at(const char *s, size_t n, size_t at);
/* Can a word begin or end there? */
static inline bool tf_is_word_edge(const char *s, size_t n, size_t at)
{
    return !tf_word_before(s, at) || !tf_word_at(s, n, at);
}

#endif
