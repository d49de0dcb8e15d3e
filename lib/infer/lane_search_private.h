/* lane_search_private.h - what one lane does in decoding: encode a group of sentences, then search
 * (beam search, greedy search or sampling, see ops/search_state.h) step by step until all are
 * finished.
 */
#ifndef TF_INFER_LANE_SEARCH_PRIVATE_H
#define TF_INFER_LANE_SEARCH_PRIVATE_H

#include "infer/allowed_private.h"
#include "infer/diverse_private.h"
#include "infer/forbidden_private.h"
#include "infer/insertions_private.h"
#include "infer/lanes_private.h"
#include "infer/wanted_private.h"
#include "ops/search_state.h"
#include "stream/record.h"

/* A sentence to decode, and the result. */
struct tf_sentence {
    const uint32_t *src, *prefix; /* borrowed; without EOS */
    uint32_t n_src, n_prefix;     /* n_src >= 1 */
    uint32_t limit;               /* most tokens of the output, EOS not counted; >= n_prefix */
    uint64_t key;                 /* of its random draws, when sampling */
    struct tf_wanted wanted;      /* for a search with `continues` */
    struct tf_hyp *hyps; /* out: best first, with token_logp; one block for the caller to free() */
    size_t n_hyps;
    bool ready; /* the owner's */
};
/* Called by a lane when sentences of its group have their hypotheses, for each of them and then
 * with NULL: on the CPU and where others enter while the rest is searched still. */
typedef void tf_sentence_fn(void *arg, struct tf_sentence *s);

/* Memory that groups take, in bytes, as cost and budget of tf_lanes. */
struct tf_search_memory {
    size_t slot, hypothesis; /* of a cache slot; of a row of logits */
    size_t token; /* of a source token in the encoders of all models, and on its way from there into
                   * a group; CPU: 0 */
    size_t source_end;       /* 1 if sources end with eos */
    size_t budget;           /* of a group; of a GPU half of the memory that is free now */
    size_t copies;           /* searches of a sentence: groups of a diverse beam, or 1 */
};
struct tf_search_memory tf_search_memory(const struct tf_ensemble *m,
                                         const struct tf_search_opts *opts);
struct tf_lane_item tf_search_item(struct tf_sentence *s, const struct tf_search_opts *opts,
                                   const struct tf_search_memory *memory);

/* Constraints on the search, each NULL or one that needs backend memory on the host. allowed: with
 * models that were loaded for selecting. */
struct tf_search_limits {
    const struct tf_insertions *insertions;
    const struct tf_forbidden *forbidden;
    const struct tf_allowed_rule *allowed;
    const struct tf_continues *continues; /* of words: outputs have all terms of their sentence */
    struct tf_wanted_rule wanted;         /* then */
    const struct tf_diverse *diverse;     /* groups of the beam; opts.K and N are of a group */
};

struct tf_lane_search;
/* One for each lane. V, start and eos in opts are those of the first model. All is borrowed. */
struct tf_lane_search **tf_lane_search_new(struct tf_lanes *l,
                                           const struct tf_search_opts *opts,
                                           struct tf_search_limits limits);
void tf_lane_search_free(struct tf_lane_search **s, const struct tf_lanes *l);
/* Decode a group whose items are struct tf_sentence, but those with hyps, and call done(arg,
 * sentence) for each. On a device waiting sentences of the lanes enter the group when a quarter of
 * its places is free. What a sentence gets does not depend on the others. */
int tf_lane_search_run(struct tf_lane_search *s, const struct tf_lane_item *group, size_t n,
                       tf_sentence_fn *done, void *arg, struct tf_err *err) TF_MUST_CHECK;

#endif
