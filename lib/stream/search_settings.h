/* search_settings.h - the search that a model was made for: the map "search" of its header
 * (formats/model.md). Keys are options of tf-decode, whose defaults they become. */
#ifndef TF_STREAM_SEARCH_SETTINGS_H
#define TF_STREAM_SEARCH_SETTINGS_H

#include "base/buf.h"
#include "cbor/value.h"

enum { TF_SEARCH_MAX_LENGTH = 1 << 20 /* of "max-extra", "min-length", "no-repeat-ngram" */ };

/* The key of the head of cross-attention that aligns: "LAYER,HEAD", or "LAYER" for the mean of its
 * heads, counted from 1. */
#define TF_ALIGNMENT_HEAD "alignment-head"
/* Take such a text apart; *head is 0 for the mean. */
int tf_alignment_head_parse(const char *text, int64_t *layer, int64_t *head,
                            struct tf_err *err) TF_MUST_CHECK;

/* The words of the key "search", and of the option; the first is that of a model without the key,
 * and no value of it. The others are enum tf_search_rule plus 1. */
extern const char *const tf_search_words[];

/* Check the map of a header: keys that are known, values of their kind and range, not both "alpha"
 * and "normalize". */
int tf_search_settings_check(const struct tf_value *map, struct tf_err *err) TF_MUST_CHECK;
/* Set a key from text, as the option takes it; a flag from "yes" or "no". Empty text removes it. */
int tf_search_settings_set(struct tf_value *map, struct tf_arena *a, const char *key,
                           const char *text, struct tf_err *err) TF_MUST_CHECK;
/* The value as text that the option takes; a flag as "true" or "false". */
void tf_search_settings_text(struct tf_buf *b, const struct tf_value *v);
/* All of them as options: "--beam 4 --normalize 1". */
void tf_search_settings_line(struct tf_buf *b, const struct tf_value *map);

#endif
