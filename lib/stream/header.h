/* header.h - the label and header of a part of a stream, and the languages and vocabulary that
 * headers name. formats/stream.md specifies them. */
#ifndef TF_STREAM_HEADER_H
#define TF_STREAM_HEADER_H

#include "base/buf.h"
#include "cbor/value.h"

struct tf_special {
    int64_t pad, unk, bos, eos; /* -1: none */
};

/* The label before each part: 55800(1413894996('BOR')) (RFC 9277). */
enum { TF_LABEL_N = 12 };
extern const uint8_t tf_label[TF_LABEL_N];
/* Do n bytes begin with the label or, if n is smaller, are they the beginning of it? */
bool tf_label_begins(const void *p, size_t n);

/* Limits of a model that its header names by number: layers of a stack, heads of a layer. */
enum { TF_MAX_LAYERS = 256, TF_MAX_HEADS = 1024 };

#define TF_LANG_MAX 35 /* bytes of a language label, as RFC 5646 recommends */

/* The description of a stream. Its memory is an arena of the reader or the caller. */
struct tf_header {
    /* "tokens", "pairs", "batch", "nbest", "scores", "stats", "model", "checkpoint", ... */
    const char *kind;
    bool has_vocab, has_model;
    uint8_t vocab[32]; /* SHA-256 of the SentencePiece model bytes */
    uint8_t model[32]; /* fingerprint of the model */
    int64_t size;      /* vocabulary size, 0 unknown; with source_size, the larger of the two */
    /* of batches whose sources have ids of their own: their number; else 0. The special ids are
     * those of the targets then. */
    int64_t source_size;
    struct tf_special special;
    /* Labels of languages, such as "en"; empty: unknown. lang is that of the text of a stream of
     * tokens or n-best lists, and where there are two sides (pairs, batches, models) that of the
     * source; target_lang is that of the target. */
    char lang[TF_LANG_MAX + 1], target_lang[TF_LANG_MAX + 1];
    struct tf_value config; /* MAP: kind-specific (model configuration; batch settings) */
    /* ARRAY of {"prog": text, "version": text, "opts": {...}, "in": {role: sha256}, ...}: the
     * pipeline so far, first stage first */
    struct tf_value made;
    struct tf_value search; /* MAP, of a model: the search that it was made for */
    struct tf_value extra; /* MAP: unknown keys */
};

/* Append a stage to h->made: the program, the values of the semantic options in the table, and the
 * hash of each input by its role (a MAP). */
struct tf_opt;
void tf_header_made(struct tf_header *h, struct tf_arena *a, const char *prog,
                    const struct tf_opt *opts, const struct tf_value *inputs);
/* Add to the options of the last stage one that not every run has. name is not copied. */
void tf_header_add_opt(struct tf_header *h, struct tf_arena *a, const char *name,
                       struct tf_value v);
/* Set h->made to the stages of one input, or of two (b is not NULL): those of b that a does not
 * have come after those of a. */
void tf_header_made_from(struct tf_header *h, struct tf_arena *mem, const struct tf_header *a,
                         const struct tf_header *b);
/* Put what h says, but its extra keys, into a map; size: the key of the size of its vocabulary. */
void tf_header_put(struct tf_value *map, struct tf_arena *a, const char *size,
                   const struct tf_header *h);
void tf_header_encode(struct tf_buf *b, const struct tf_header *h); /* the header record */
int tf_header_decode(struct tf_header *h, struct tf_arena *a, const void *p, size_t n,
                     struct tf_err *err) TF_MUST_CHECK;
/* Fail if both headers have a hash of the vocabulary and they differ. The names are those of the
 * inputs, for the message. */
int tf_same_vocab(const struct tf_header *a, const char *a_name, const struct tf_header *b,
                  const char *b_name, struct tf_err *err) TF_MUST_CHECK;
/* Copy a label; false if it is empty, longer than TF_LANG_MAX, or has other bytes than ASCII
 * letters, digits, - and _. */
bool tf_lang_set(char out[TF_LANG_MAX + 1], const char *label) TF_MUST_CHECK;
/* The same for the value of --option; NULL: not given. A usage error if it is no label. */
int tf_lang_option(char out[TF_LANG_MAX + 1], const char *option, const char *label,
                   struct tf_err *err) TF_MUST_CHECK;
/* Are both labels known, and different? */
bool tf_label_differs(const char *a, const char *b);
/* Are two labels of one language, whatever follows it, such as a country? -1: unknown, as of codes
 * of two lengths (de and deu), or mul, which is any language. */
int tf_language_same(const char *a, const char *b);
/* Format both labels of a header with two sides: "'en' to 'de'". */
#define TF_LANGS_TEXT (2 * TF_LANG_MAX + 16)
const char *tf_langs_describe(char buf[TF_LANGS_TEXT], const struct tf_header *h);
/* Fail if a label of h, which has two sides, differs from that of the model. name: of h. */
int tf_langs_fit(const struct tf_header *h, const char *name, const struct tf_header *model,
                 struct tf_err *err) TF_MUST_CHECK;
/* The vocabulary and languages of several inputs, by their headers: each fact is from the first
 * that states it. Begin with TF_NO_VOCAB. */
struct tf_one_vocab {
    struct tf_header h; /* has_vocab, vocab, size, special, lang, target_lang */
    char name[256];     /* of the input with the hash */
};
#define TF_NO_VOCAB ((struct tf_one_vocab){.h.special = {-1, -1, -1, -1}})
/* Add what *h states; fail where that contradicts an earlier header. name: of its input. */
int tf_one_vocab_add(struct tf_one_vocab *all, const struct tf_header *h, const char *name,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
