/* vocab.h - where vocabularies come from: a SentencePiece .model file, or a model or checkpoint of
 * ours that carries one. */
#ifndef TF_TEXT_VOCAB_H
#define TF_TEXT_VOCAB_H

#include "text/sp.h"
#include "stream/stream.h"

struct tf_vocab {
    struct tf_sp *sp;
    char *bytes; /* of the SentencePiece model, n */
    size_t n;
    uint8_t hash[32]; /* SHA-256 of the bytes: the vocabulary's identity in streams */
};

/* Load from a path, "-" or /dev/fd/N; the kind of file is told by its first bytes, never by its
 * name. Messages start with the path. */
int tf_vocab_load(struct tf_vocab *v, const char *path, struct tf_err *err) TF_MUST_CHECK;
void tf_vocab_release(struct tf_vocab *v);
/* Hash, size and special ids into a stream's header. */
void tf_vocab_header(const struct tf_vocab *v, struct tf_header *h);

/* Write "piece TAB score LF" for every id in order. */
int tf_vocab_export(const struct tf_vocab *v, struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;

/* Sentences for training out of text files, one after the other. Lines that can't be used
 * (ill-formed UTF-8, NUL, over max bytes) are skipped and counted; so are empty ones, without a
 * count. Zero-initialise, then fill in the first six. */
struct tf_training_text {
    const char *const *paths; /* n */
    int n;
    size_t max;
    bool crlf;                /* a CR before the LF is dropped */
    size_t sample;            /* a random sample of so many lines; 0: all, in order */
    uint64_t seed;            /* of the sample */
    uint64_t bad_utf8, with_nul, too_long;
    /* private */
    bool open, sampled;
    int at;
    struct tf_in in;
    char **kept;
    size_t *kept_n, n_kept, next;
};
/* Train on `text`, as t says (its source is set here), and write the model. Says on stderr what was
 * left out, and when fewer pieces came out than were asked for. A model that can't be loaded again
 * is an error. Releases the text. */
int tf_vocab_train(struct tf_sp_train *t, struct tf_training_text *text, struct tf_out *out,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
