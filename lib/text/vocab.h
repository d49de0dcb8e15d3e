/* vocab.h - loads vocabularies: from a SentencePiece .model file, or from a model or
 * checkpoint of tf-train, which contain one. */
#ifndef TF_TEXT_VOCAB_H
#define TF_TEXT_VOCAB_H

#include "base/output.h"
#include "stream/header.h"
#include "text/bpe_private.h"
#include "text/sp.h"

struct tf_vocab {
    struct tf_sp *sp;
    struct tf_bpe *bpe; /* what splits text, if it is not sp; else NULL */
    struct tf_segmenter *segmenter; /* text to ids, or NULL: the library or codes split */
    char *bytes; /* of the SentencePiece model, n */
    size_t n;
    /* SHA-256 of the bytes, which identifies the vocabulary in streams; of a segmenter of targets,
     * that of the vocabulary whose ids it has */
    uint8_t hash[32];
    /* of sources, read but not parsed, where this one is the model's own of targets; else NULL */
    struct tf_vocab *source;
};

/* Read from a path, "-" or /dev/fd/N. The first bytes decide the format, not the name. Errors name
 * the path: reading, a model that sp_check.h rejects, a model of tf-train without a vocabulary.
 * head: of a model read no more than that, since another process checks the rest. */
int tf_vocab_read(struct tf_vocab *v, const char *path, bool target, bool head,
                  struct tf_err *err) TF_MUST_CHECK;
/* What a vocabulary is parsed for. */
enum tf_vocab_use {
    TF_VOCAB_DECODES, /* pieces, and ids to text */
    TF_VOCAB_ENCODES, /* also text to ids, by a segmenter of ours where there is one for it */
    TF_VOCAB_SAMPLES  /* all that the library can */
};
/* Let SentencePiece parse the bytes, which opens no file. */
int tf_vocab_parse(struct tf_vocab *v, enum tf_vocab_use use, const char *path,
                   struct tf_err *err) TF_MUST_CHECK;
void tf_vocab_release(struct tf_vocab *v);
/* Set the hash, size and special ids of a stream's header. */
void tf_vocab_header(const struct tf_vocab *v, struct tf_header *h);

/* Write "piece TAB score LF" for every id in order. */
int tf_vocab_export(const struct tf_vocab *v, struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;

#endif
