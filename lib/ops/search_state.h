/* search_state.h - beam search and sampling over a group of sentences: the state in backend memory,
 * and the rule that every backend's search_step follows.
 *
 * The rule, for one sentence with beam K, limit L (most tokens of an output, EOS not counted), N
 * wanted hypotheses and a forced prefix of P tokens:
 * 1. lp(len) = ((5 + len) / 6)^alpha (Wu et al. 2016); a finished hypothesis of t tokens has len =
 *    t + 1, EOS counted, and score = logp / lp(len), logp with EOS's term.
 * 2. At step t every live hypothesis has t tokens. Its candidates are the ids v with
 *    log-probability x = min(lp[row][v], 0) finite, minus the banned ids (pad, bos, unk); at t < P
 *    only prefix[t] (banned or not), at t = L only EOS. logp of a candidate = logp of its row + x,
 *    in double.
 * 3. Candidates are ordered by logp, highest first; ties by row, lowest first; then by lp[row][v],
 *    highest first; then by id, lowest first. The best 2K are grown (K = 1: the best one, which is
 *    greedy search).
 * 4. Grown candidates that end (EOS at t >= P) join the finished set in order; it keeps the best N
 *    by score, ties in favour of the earlier one. The first K of the others live on, in order.
 * 5. Since x <= 0, whatever comes of a live hypothesis scores at most bound = logp / lp(L + 1).
 *    Once N are finished, live ones with bound <= the N-th score are dropped: what they and those
 *    behind them become can't enter the set, so the N results are the ones that the search would
 *    have without this. The sentence is done when nothing lives.
 *
 * This is the search of Tensor2Tensor with alive and finished hypotheses apart and its early stop,
 * but for three things: the stop looks at the N-th finished, not at the K-th (the same result,
 * sooner); a hypothesis at the limit ends with EOS at EOS's true cost, instead of being cut off, so
 * every output is complete and its logp is that of tf-score; and K = 1 is plain greedy. Fewer than
 * N hypotheses come out only where fewer exist. A sentence may end with none, when no probability
 * is finite.
 *
 * Sampling: in place of 3, every live hypothesis draws one candidate, with probability proportional
 * to exp(lp / temperature) among those of step 2; at t = P (or 0) the one live row draws K. With
 * top_k only so many of a row can be drawn, the likeliest by lp and among equals those of lowest
 * ids; with top_p, of these only the fewest, likeliest first, that hold that share of their sum of
 * exp(lp / temperature) (Holtzman et al. 2020). The draw: u = (w0 * 2^32 + w1 + 0.5) / 2^64 of
 * Philox with key = seed, counter = (key of the sentence low, high, t, draw within the sentence);
 * the first id, in order of ids, at which the running sum of exp((x - max) / temperature), in
 * double, exceeds u * total, both over those that can be drawn. Candidates are then taken by draw,
 * and 4 and 5 hold with N = K. A draw of a sentence depends on nothing but these.
 *
 * Rows. lp has one row for each live hypothesis, those of a sentence together and best first,
 * sentences in order. The arrays of the next decoding step (ids ... n_src) are of the same rows, so
 * that model/transformer.h's tf_decode_step takes them as they are. search_step packs: rows of
 * ended sentences and hypotheses go, and counts tells how many rows live. The host passes in `rows`
 * a number >= counts[TF_SEARCH_LIVE]: rows from there on are dead, their lp is not looked at, and
 * search_step leaves in dead rows up to `rows` something harmless (id 0 at position 0, its slot the
 * last one). A host that wants exact numbers downloads counts after each step. One that would
 * rather not wait looks now and then, and takes counts[TF_SEARCH_BOUND], which no later step
 * exceeds: a sentence of fewer live hypotheses than K may have more of them later.
 *
 * Slots of the self-attention cache are handed out one after the other and never used twice in a
 * group. */
#ifndef TF_OPS_SEARCH_STATE_H
#define TF_OPS_SEARCH_STATE_H

#include "ops/backend.h"

#define TF_SEARCH_MAX_BEAM 1024
#define TF_SEARCH_BANS 4

/* What a search is; fixed for its life. */
struct tf_search_opts {
    size_t V, K, N;               /* vocabulary; beam, 1 .. TF_SEARCH_MAX_BEAM; results, 1 .. K */
    double alpha;                 /* >= 0 */
    uint32_t start, eos;          /* first id (TF_NO_ID: zero vector); the end */
    uint32_t ban[TF_SEARCH_BANS]; /* ids that are never produced; n_ban of them; never eos */
    size_t n_ban;
    bool sample;        /* draw; N must be K */
    double temperature; /* > 0 */
    size_t top_k;       /* 0: all */
    double top_p;       /* > 0, < 1; 0 or 1: all */
    uint64_t seed;
};

/* counts: live rows, t of the next search_step, next free slot, K for each sentence that is not
 * done. */
enum { TF_SEARCH_LIVE, TF_SEARCH_STEP, TF_SEARCH_SLOT, TF_SEARCH_BOUND, TF_SEARCH_COUNTS };

struct tf_search {
    struct tf_search_opts rule;
    const struct tf_backend *be;
    struct tf_ctx *ctx; /* the lane that owns the memory; borrowed */

    /* The group at hand: host values, constant while it runs but for rows. */
    size_t S; /* sentences */
    /* longest limit + 1 or more, up to what an earlier group took: no more calls of search_step
     * than that */
    size_t max_steps;
    size_t max_rows; /* S * K: stride of a step in the histories */
    size_t ld;       /* stride of table, >= max_steps */
    size_t slots;    /* of the cache, the dead rows' one (slots - 1) included, and maybe more */
    size_t rows;     /* rows of lp in the next call */

    /* The next decoding step: U32 [max_rows], table U32 [max_rows, ld] with n_past entries of a row
     * in use. table_next is search_step's scratch; it may swap the two pointers. */
    tf_mem *ids, *at, *slot, *table, *n_past, *first, *n_src, *table_next;
    tf_mem *logp, *logp_next; /* F64 [max_rows]: of the live rows; likewise */

    /* Sentences: U32 [S]. Rows of sentence s are row0[s] .. row0[s] + live[s] - 1. */
    tf_mem *row0, *live, *limit, *src_first, *src_rows;
    tf_mem *prefix, *prefix_off; /* U32: prefixes packed, offsets [S + 1] */
    /* U32 [S, 2]: low and high word of the sentence's key, for sampling */
    tf_mem *key;
    tf_mem *counts;  /* U32 [TF_SEARCH_COUNTS] */
    tf_mem *penalty; /* F64 [max_steps + 1]: lp(len) */

    /* Histories: row r after step t took token hist_id[t][r] at hist_lp[t][r], and came from row
     * hist_parent[t][r] of before. [max_steps, max_rows]
     */
    tf_mem *hist_id, *hist_parent; /* U32 */
    tf_mem *hist_lp;               /* F64 */

    /* Finished: [S, N], best first, n_fin[s] in use. fin_len tokens without EOS, of which the last
     * is that of row fin_row after step fin_len - 1;
     * fin_eos: EOS's log-probability. */
    tf_mem *n_fin, *fin_row, *fin_len;      /* U32 */
    tf_mem *fin_logp, *fin_score, *fin_eos; /* F64 */

    struct tf_search_host *host; /* of search.c: capacities and the results' copies */
};

/* One group. Everything is borrowed for the call. */
struct tf_search_group {
    size_t n;
    /* n + 1: rows of the encoder's output, EOS included (tf_memory.off) */
    const uint32_t *src_off;
    const uint32_t *limit; /* n */
    /* packed, n + 1 offsets; NULL: none. A prefix is no longer than its limit and holds no EOS */
    const uint32_t *prefix, *prefix_off;
    const uint64_t *key; /* n, for sampling; else NULL */
};

/* lp(len) of the rule. */
double tf_search_penalty(size_t len, double alpha);
void tf_search_init(struct tf_search *s, const struct tf_search_opts *rule,
                    const struct tf_backend *be, struct tf_ctx *ctx);
void tf_search_release(struct tf_search *s);
/* Slots that a sentence of that limit may take; a group takes their sum and one more. */
size_t tf_search_slots(const struct tf_search_opts *rule, uint32_t limit);
/* Begin a group: one live row a sentence, at position 0. Memory is kept from group to group and
 * grows. */
int tf_search_start(struct tf_search *s, const struct tf_search_group *g,
                    struct tf_err *err) TF_MUST_CHECK;
/* After a search_step: waits, and takes a number of rows over into s->rows: of those alive, or with
 * `lag` one that holds until the next call, however many steps later. */
int tf_search_poll(struct tf_search *s, bool lag, struct tf_err *err) TF_MUST_CHECK;

/* A result. */
struct tf_search_hyp {
    size_t n; /* tokens without EOS */
    double logp, score;
};
/* Fetch the results of the group to the host. */
int tf_search_fetch(struct tf_search *s, struct tf_err *err) TF_MUST_CHECK;
/* Then: how many hypotheses sentence i has, and the one of that rank (0 best); ids [n] and
 * token_logp [n + 1] (EOS last) or NULL. */
size_t tf_search_count(const struct tf_search *s, size_t i);
struct tf_search_hyp tf_search_result(const struct tf_search *s, size_t i, size_t rank);
void tf_search_trace(const struct tf_search *s, size_t i, size_t rank, uint32_t *ids,
                     float *token_logp);

#endif
