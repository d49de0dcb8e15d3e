/* sentence.h - which ids a sentence may have, in token streams and in batches, and what may stand
 * beside sentences: alignments, links, the order of batches. formats/tokens.md and formats/batch.md
 * have the rules, and every reader applies them by these functions. */
#ifndef TF_STREAM_SENTENCE_H
#define TF_STREAM_SENTENCE_H

#include "stream/header.h"
#include "stream/record.h"

/* Of one side. -1: there is no such id. */
struct tf_sentence_rule {
    int64_t size;          /* ids are below it; 0: not known */
    int64_t end[2], pad[2]; /* eos and pad, as up to two sources name them */
    int64_t begin;         /* bos, where it is neither of them */
};
#define TF_ANY_SENTENCE ((struct tf_sentence_rule){0, {-1, -1}, {-1, -1}, -1})

/* Add special ids to a rule. A vocabulary whose padding is its unknown piece has none. */
void tf_sentence_rule_add(struct tf_sentence_rule *r, const struct tf_special *s);
/* The rule for a side (0: source, 1: target) of the records that follow a header. */
struct tf_sentence_rule tf_sentence_rule_of(const struct tf_header *h, int side);

enum tf_sentence_fault {
    TF_SENTENCE_GOOD,
    TF_SENTENCE_BEGINS, /* has bos: good, but unusual */
    TF_SENTENCE_ENDS,   /* has eos: bad, as all from here on */
    TF_SENTENCE_PADDED,
    TF_SENTENCE_UNKNOWN
};
/* The worst fault of a sentence. *id: the first id that has it. */
enum tf_sentence_fault tf_sentence_check(const struct tf_sentence_rule *r, const uint32_t *ids,
                                         size_t n, uint32_t *id);
/* What is wrong with it, such as "source with id 3, which is the end of a sentence"; side:
 * "source", or how else the text begins. */
#define TF_SENTENCE_TEXT 160
/* How a warning about bos ends. */
#define TF_SENTENCE_BOS                                                                            \
    "a model adds on its own what begins a sentence, and knows no other unless it was trained "    \
    "with one (further ones are not reported)"
const char *tf_sentence_describe(char buf[TF_SENTENCE_TEXT], const struct tf_sentence_rule *r,
                                 enum tf_sentence_fault fault, const char *side, uint32_t id);
/* After one sentence of a record, whose worst fault so far is `worst`, another: the worse of both,
 * and if that is new, its description. */
enum tf_sentence_fault tf_sentence_worse(enum tf_sentence_fault worst,
                                         const struct tf_sentence_rule *r, const char *side,
                                         const uint32_t *ids, size_t n,
                                         char text[TF_SENTENCE_TEXT]);
/* The worst fault of all sentences of a batch, and a description of it. rule: of both sides. */
enum tf_sentence_fault tf_batch_check_ids(const struct tf_batch *b,
                                          const struct tf_sentence_rule rule[2],
                                          char text[TF_SENTENCE_TEXT]);

/* Which batch must come next. Zero where a part begins. */
struct tf_batch_turn {
    bool begun;
    uint64_t next; /* the ordinal after that of the last batch; any where none was seen */
};
/* Fail if a batch has no sentence, or is not the one that must come next. */
int tf_batch_take_turn(struct tf_batch_turn *t, const struct tf_batch *b,
                       struct tf_err *err) TF_MUST_CHECK;
/* Fail if the links of a batch, which has some, are not pairs of positions in its sentences. */
int tf_batch_check_links(const struct tf_batch *b, struct tf_err *err) TF_MUST_CHECK;
/* Fail if these are no weights of n + 1 rows and n_source or n_source + 1 columns (none, if there
 * is no source), finite and not negative. */
int tf_alignment_check(size_t n, size_t n_source, const float *weights, size_t n_weights,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
