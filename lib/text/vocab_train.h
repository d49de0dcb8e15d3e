/* vocab_train.h - training a vocabulary on text files. */
#ifndef TF_TEXT_VOCAB_TRAIN_H
#define TF_TEXT_VOCAB_TRAIN_H

#include "base/input.h"
#include "base/output.h"
#include "text/sp.h"
#include "text/text.h"

enum { TF_TRAINING_FIELDS = 1024 };

/* Sentences for training from text files, one after the other. Lines that are not valid UTF-8,
 * contain NUL or are over max bytes are skipped and counted; empty lines are skipped.
 * Zero-initialise, then set the first seven. */
struct tf_training_text {
    const char *const *paths; /* n; "-" is stdin */
    int n;
    size_t max; /* bytes of a line */
    bool crlf;  /* drop a CR before the LF */
    /* Each field, number i + 1 of TF_TRAINING_FIELDS, with fields[i] is a line; NULL: no fields. */
    const bool *fields;
    size_t sample; /* train on a random sample of so many lines; 0: on all, in order */
    uint64_t seed; /* of the sample */
    uint64_t bad_utf8, with_nul, too_long;
    /* private */
    bool open, sampled;
    int at;
    struct tf_in in;
    struct tf_text rest; /* of a line with fields; the first of it has number field + 1 */
    size_t field;
    struct tf_text *kept; /* on the heap */
    size_t n_kept, next;
};
/* The fields of a list such as "1,3-5" (--field); *last is the number of the last one. With several
 * only if `several`. Errors are of usage. fields is zeroed. */
int tf_training_fields(bool fields[TF_TRAINING_FIELDS], size_t *last, const char *list,
                       bool several, struct tf_err *err) TF_MUST_CHECK;
/* Train on `text` with the settings of t (whose source is set here) and write the model. Reports on
 * stderr which lines were skipped, and if there are fewer pieces than requested. It is an error if
 * the model can't be loaded again, and a usage error if a symbol is empty or over TF_MAX_PIECE
 * bytes, is no UTF-8, has a space or control character, or is already a piece. Releases the
 * text. */
int tf_vocab_train(struct tf_sp_train *t, struct tf_training_text *text, struct tf_out *out,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
