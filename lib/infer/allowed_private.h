/* allowed_private.h - the ids that the sentences of a group are searched for, from a shortlist
 * (text/shortlist.h), and their union, which the model computes on the host.
 *
 * The ids of a sentence: 0 .. first - 1; for each id of the source, its end included, those of the
 * list; the ids of the source itself, where both sides have one vocabulary; from `first` on, in
 * order, as many others as make their number a multiple of 8. So do Marian and Bergamot, with a
 * batch in place of a sentence; 8 is what their products need. Then the end of the output, its
 * forced prefix, and the phrases that it must contain. Ids that only the model has, not its
 * vocabulary, are left out. */
#ifndef TF_INFER_ALLOWED_PRIVATE_H
#define TF_INFER_ALLOWED_PRIVATE_H

#include "infer/wanted_private.h"
#include "ops/search_state.h"
#include "text/ids.h"
#include "text/shortlist.h"

/* What a sentence is searched for. */
struct tf_allowed_sentence {
    const uint32_t *src, *prefix; /* without EOS */
    size_t n_src, n_prefix;
    const struct tf_wanted *wanted;
    bool kept; /* it is in the group already, at its place */
};

/* What holds for all of them; constant. */
struct tf_allowed_rule {
    const struct tf_shortlist *list;
    size_t ids; /* of the vocabulary of outputs */
    uint32_t eos;
    bool source_eos; /* sources end with it */
    bool one_vocab;
};

/* Of a group, in memory that is kept for the next. Zero-initialise. */
struct tf_allowed_group {
    struct tf_allowed *sentence; /* n, as a search takes them */
    size_t *from;                /* where those of a sentence begin in ids; n + 1 */
    struct tf_ids ids, before;   /* of the sentences, one after the other; scratch */
    size_t longest;              /* ids of a sentence */
    /* by tf_allowed_unite */
    struct tf_ids all; /* the union, ascending */
    uint32_t *columns; /* for each of ids, its place there */
    uint64_t *marks;   /* scratch: a bit for each id */
    uint32_t *place;   /* scratch */
    size_t n, cap, columns_cap, marks_cap, place_cap;
};
void tf_allowed_set(struct tf_allowed_group *g, const struct tf_allowed_rule *rule,
                    const struct tf_allowed_sentence *sentences, size_t n);
void tf_allowed_unite(struct tf_allowed_group *g, const struct tf_allowed_rule *rule);
void tf_allowed_release(struct tf_allowed_group *g);

/* In each live row of z [rows, all.n], move the columns of its sentence to the front. q: before a
 * step of the group. */
void tf_allowed_gather(const struct tf_allowed_group *g, const struct tf_search *q, tf_mem *z);

#endif
