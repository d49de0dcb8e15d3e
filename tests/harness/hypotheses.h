/* hypotheses.h - what a beam search written out over whole hypotheses needs, for the tests that
 * compare a search of ours with one: random models, the order of candidates, the list of ends. */
#ifndef TF_TESTS_HYPOTHESES_H
#define TF_TESTS_HYPOTHESES_H

#include "ops/search_state.h"

enum { MAX_LEN = 12 };

struct hyp {
    uint32_t ids[MAX_LEN + 1];
    double lp[MAX_LEN + 2]; /* of each id and of the end */
    size_t n;
    double logp, score;
};

/* A hypothesis of the step before and the id that continues it. */
struct cand {
    double logp, x; /* with the id, and of the id alone */
    size_t row;
    uint32_t id;
};

/* The order in which a search takes them, for qsort: log P, row, x, id. Of larger structs, if a
 * struct cand is their first member. */
int by_rule(const void *a, const void *b);
/* The hypothesis with the candidate's id, which an end does not have among its ids. */
struct hyp continued(const struct hyp *from, const struct cand *c, bool end);
/* Keep h in v [*n], at most `most` of them, in order of scores; the earlier of equal ones first. */
void keep(struct hyp *v, size_t *n, size_t most, struct hyp h);
bool same_ids(const struct hyp *a, const struct hyp *b);

/* A model by a hash: each history has its own log-probabilities. */
struct hash_model {
    uint64_t seed;
    int levels;    /* > 0: few values, so many equal ones */
    bool holes;    /* one id of nine is impossible */
    size_t copies; /* sentences one after the other that are the same */
};

float hash_logp(const struct hash_model *m, size_t sentence, const uint32_t *ids, size_t n,
                uint32_t v);
/* lp [rows, V] of the next step of a search by a CPU backend, whose memory is the host's. */
void fill_logp(float *lp, const struct hash_model *m, const struct tf_search *q);

#endif
