/* forbidden_private.h - words that must not come in an output: a constraint on the search over the
 * text that ids spell. CPU only.
 *
 * The text of a hypothesis is that of its ids, one after the other (text/spelling.h); that of the
 * unknown one is U+2047 between spaces. An id is no candidate if the text with it contains a
 * forbidden phrase that begins and ends at the edge of a word (tf_is_word_edge), where the end of
 * the text so far is an edge, too. No output contains a phrase then, however it is cut into pieces;
 * and none has a longer word of which a first piece spells one. A phrase in lower case stands for
 * itself in any case, another as it is, also where ids spell the bytes of a letter. */
#ifndef TF_INFER_FORBIDDEN_PRIVATE_H
#define TF_INFER_FORBIDDEN_PRIVATE_H

#include "infer/ensemble_private.h"
#include "ops/search_state.h"
#include "text/spelling.h"

/* Ids after a text that ends in `start`, the first bytes of a phrase. */
struct tf_forbidden_start {
    struct tf_text start;
    bool word; /* which begins at the edge of a word */
    const uint32_t *ids;
    size_t n;
};

/* As phrases and pieces are, and in lower case. Zero-initialise. */
struct tf_forbidden {
    struct tf_arena mem;
    struct tf_forbidden_case {
        struct tf_spelling spelling;
        struct tf_forbidden_start *starts; /* by their bytes */
        size_t n, cap;
        size_t longest;   /* bytes of a start */
        bool *has_length; /* [longest + 1] */
    } as[2];
    uint32_t *always; /* ids that spell a phrase whatever comes before */
    size_t n_always;
};

/* Read phrases, a line each, of a text file; empty lines are skipped. Adds its SHA-256 to the
 * models' inputs as "forbid". A model without a vocabulary, invalid UTF-8 and a file without
 * phrases are errors. */
int tf_forbidden_read(struct tf_forbidden *f, const char *path, struct tf_ensemble *m,
                      struct tf_err *err) TF_MUST_CHECK;
void tf_forbidden_release(struct tf_forbidden *f);

/* Before a search_step with log-probabilities lp [rows, V]: set to -infinity those of the ids that
 * may not follow, but for what the prefix or the limit forces. */
void tf_forbidden_mask(const struct tf_forbidden *f, const struct tf_search *q, tf_mem *lp);

#endif
