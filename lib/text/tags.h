/* tags.h - the tags of languages in the vocabulary of a model of many languages: >>fra<< (OPUS-MT),
 * fra_Latn (NLLB), __fr__ (M2M100), fr_XX (mBART-50). They are user-defined or control pieces,
 * mostly with a space before them. */
#ifndef TF_TEXT_TAGS_H
#define TF_TEXT_TAGS_H

#include "base/arena.h"
#include "base/buf.h"
#include "cbor/value.h"

/* Does a text have the form of a tag? */
bool tf_is_tag(const char *text);
/* The bytes of the tag, or of <2fr>, that the n bytes of a text begin with, or 0. >>fra<< ends
 * where its form does, the others before a space or at the end. */
size_t tf_tag_length(const char *s, size_t n);

struct tf_tags {
    struct tf_arena mem;
    const char **v; /* sorted, without spaces */
    size_t n;
    bool of_text; /* the first ones stand in text, as in OPUS-MT; others begin outputs, too */
    bool first;   /* they are tags at the start of a line alone, with no space before them */
};

/* The tags of the n bytes of a vocabulary; of one that is damaged those before that. */
void tf_tags_read(struct tf_tags *t, const void *bytes, size_t n);
void tf_tags_release(struct tf_tags *t);

/* What a model with tags expects at the start of a text. */
enum tf_tag { TF_TAG_KNOWN, TF_TAG_UNKNOWN, TF_TAG_NONE };
/* How the n bytes of a line begin. *tag gets the word of an unknown one, whose length is *tag_n. */
enum tf_tag tf_tags_begin(const struct tf_tags *t, const char *line, size_t n, const char **tag,
                          size_t *tag_n);

/* Append "; did you mean A, B?" or "; its tags are A, B, C, ... (tf-info lists all N)", or nothing
 * if there are none. */
void tf_tags_suggest(struct tf_buf *out, const struct tf_tags *t, const char *text);

/* For tf_describe_file: the keys "tags" and "added_tokens" for a vocabulary that has some. */
void tf_tags_describe(struct tf_arena *a, struct tf_value *info, const void *bytes, size_t n);

#endif
