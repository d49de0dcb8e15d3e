/* searches.h - searches over a made-up model, from the first step to the last, in any backend. */
#ifndef TF_TESTS_SEARCHES_H
#define TF_TESTS_SEARCHES_H

#include "fake_model.h"
#include "hypotheses.h"
#include "ops/search_state.h"

enum { MAX_K = 40, MAX_V = 9000, MAX_S = 6 };

#define LP TF_ELEM_STAT /* what log-probabilities are */

struct results {
    struct hyp v[MAX_S][MAX_K];
    size_t n[MAX_S];
};

struct group {
    size_t n;
    uint32_t limit[MAX_S], src_off[MAX_S + 1], prefix[MAX_S * MAX_LEN], prefix_off[MAX_S + 1];
    uint64_t key[MAX_S];
    bool listed; /* sentence i is for the ids of allowed[i] alone, which are in list */
    struct tf_allowed allowed[MAX_S];
    size_t longest;
};

/* A body of search_step: a backend, and a lane of it. */
struct body {
    const struct tf_backend *be;
    struct tf_ctx *ctx;
};

/* The rows of the next step as the model would read them. */
struct reads {
    uint32_t *ids, *slot, *at, *n_past, *first, *n_src, *table, *counts;
    size_t live, ld;
};
struct reads look(const struct tf_search *s);
void forget(struct reads *r);

/* One call of search_step with these floats. */
void step(struct tf_search *s, const float *lp, size_t n);
/* A search to its end. *tables_ok becomes false where rows do not read their own past, which comes
 * from the tables of the search: what the cache would hold. lag: the host looks at every third step
 * only. */
void run(struct results *out, struct tf_search *s, const struct fake *f, const struct group *g,
         bool lag, bool *tables_ok);
/* With fewer places than sentences, of which the others enter where some are done. */
void run_at(struct results *out, struct tf_search *s, const struct fake *f, const struct group *g,
            size_t places, bool lag, bool *tables_ok);

#endif
