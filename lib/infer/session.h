/* session.h - one lane of decoding: a group of sentences is encoded, searched step by step until
 * all are done, and read back. */
#ifndef TF_INFER_SESSION_H
#define TF_INFER_SESSION_H

#include "infer/models.h"
#include "ops/search.h"

/* A sentence to decode, and what came of it. */
struct tf_sentence {
    const uint32_t *src, *prefix; /* borrowed; without EOS */
    uint32_t n_src, n_prefix;
    uint32_t limit;      /* most tokens, EOS not counted; >= n_prefix */
    uint64_t key;        /* of its draws, when sampling */
    struct tf_hyp *hyps; /* out: best first; one block, the caller's to free() */
    size_t n_hyps;
};

struct tf_session;
/* A lane over the models, or NULL. The rule's V, start and eos are those of the models. */
struct tf_session *tf_session_new(const struct tf_model_set *m, const struct tf_search_opts *rule,
                                  int threads, struct tf_err *err);
void tf_session_free(struct tf_session *s);
/* Decode n >= 1 sentences together. Positions must exist (tf_models_positions). token_logp of the
 * hypotheses is filled in too. What a sentence gets does not depend on the others. */
int tf_session_decode(struct tf_session *s, struct tf_sentence *const *v, size_t n,
                      struct tf_err *err) TF_MUST_CHECK;

#endif
