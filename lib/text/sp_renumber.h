/* sp_renumber.h - a SentencePiece model whose ids are those of another vocabulary, as published
 * models have them: two segmenters, for source and target, and one list of pieces and ids; or no
 * segmenter at all. */
#ifndef TF_TEXT_SP_RENUMBER_H
#define TF_TEXT_SP_RENUMBER_H

#include "base/arena.h"
#include "base/buf.h"
#include "text/bpe_codes.h"
#include "text/piece_list.h"

/* Whose pieces they are. NLLB and M2M100 begin targets with a tag, other models with a piece that
 * their package names (begin, or NULL): there these are control pieces, which leave no text. */
struct tf_sp_side {
    bool target;
    const char *begin;
    bool own_tags; /* tags are control pieces of the model: an added token of such a form is none */
};

/* Append to *out the model of bytes [n] with the pieces of a list in place of its own, by id.
 * Scores do not depend on ids, so text is segmented as before; then each piece is looked up in the
 * list, as Marian and transformers do: one that is not in it is unknown, and a run of characters
 * that the model does not know may be in it. <unk> is the unknown piece, </s>, <s> and <pad> are
 * control pieces, and a tag of a language (tags.h) is a symbol that text may contain, followed by a
 * space; >>fra<< is one only at its start (TF_ADDED_FIRST of sp_piece.h), followed by anything. At
 * added tokens (flags of added.h by id; NULL: there are none) text is cut before it is segmented.
 * Errors: a model that tf_sp_check refuses; no <unk>; a piece twice, or without text. */
int tf_sp_renumber(struct tf_buf *out, const void *bytes, size_t n,
                   const struct tf_piece_list *list, const uint8_t *added,
                   const struct tf_sp_side *side, struct tf_err *err) TF_MUST_CHECK;

/* Append to *out a SentencePiece model, of the kind that splits text at spaces only, with these
 * words by id: for text that another program has segmented, or that these codes split
 * (bpe_private.h), which are checked already; NULL: none. Each unknown word is one unknown piece.
 * The special pieces are as above, and so is `side`. Errors: no <unk>; a word twice; a word without
 * text, or without codes with SentencePiece's sign for a space, which only a segmenter can handle.
 * One with a space is no word of any text. */
int tf_sp_words(struct tf_buf *out, const char *const *texts, size_t n_texts,
                const struct tf_bpe_codes *codes, const struct tf_sp_side *side,
                struct tf_err *err) TF_MUST_CHECK;

/* The texts of the pieces as in tf_sp_texts, but tags by the names that other programs have for
 * them, which are those of tf_sp_renumber's list. */
int tf_sp_foreign_texts(struct tf_arena *a, const void *bytes, size_t n, const char *const **texts,
                        size_t *n_texts, struct tf_err *err) TF_MUST_CHECK;

/* Append to *out the model as other programs read it that look ids up by text, in a list beside it:
 * pieces that have no id are pieces like the others, after them. */
void tf_sp_put_foreign(struct tf_buf *out, const void *bytes, size_t n);

struct tf_sp_token {
    const char *text;
    int64_t id;
    unsigned flags; /* of added.h */
};
/* The added tokens of a model of tf_sp_renumber, also of version 0.1; *n_tokens of them. */
struct tf_sp_token *tf_sp_added(struct tf_arena *a, const void *bytes, size_t n, size_t *n_tokens);

#endif
