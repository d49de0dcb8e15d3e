/* search_state.h - beam search and sampling over a group of sentences: the state in backend memory,
 * and the algorithm that search_step of every backend follows.
 *
 * The algorithm, for one sentence with beam K, limit L (most tokens of an output, EOS not counted),
 * N requested hypotheses and a forced prefix of P tokens:
 * 1. lp(len) = ((5 + len) / 6)^alpha len^normalize: the former of Wu et al. 2016, the latter of
 *    Marian and others. A finished hypothesis of t tokens has len = t + 1, EOS counted, and score =
 *    logp / lp(len), with EOS's term in logp. With free_prefix the terms of the forced prefix are 0
 *    in logp, as in transformers and CTranslate2; its tokens count in len all the same.
 * 2. At step t every live hypothesis has t tokens. Its candidates are the ids v with a finite
 *    lp[row][v], which have the log-probability x = min(lp[row][v], 0), minus the banned ids (pad,
 *    bos, unk) and those from opts.ids on; at t < P only prefix[t] (banned or not), at t = L only
 *    EOS. logp of a candidate = logp of its row + x, in double.
 *    Where it is not forced by the prefix or the limit: with ngram n, an id that would repeat n
 *    tokens which the hypothesis has, prefix included, is no candidate; nor is EOS at t <
 *    min_length; and x of an id that the hypothesis has is multiplied by repetition.
 * 3. Candidates are ordered by logp, highest first; ties by row, lowest first; then by lp[row][v],
 *    highest first; then by id, lowest first. The best 2K are selected (K = 1: the best one, which
 *    is greedy search).
 * 4. Selected candidates that end (EOS at t >= P) join the finished set in order; it keeps the best
 *    N by score, ties in favour of the earlier one. The first K of the others stay live, in order.
 * 5. Since x <= 0, every continuation of a live hypothesis scores at most bound = logp / lp(L + 1).
 *    Once N are finished, live hypotheses with bound <= the N-th score are dropped: neither they
 *    nor lower ones can enter the set, so the N results are those of a search without this rule.
 *    The sentence is done when no hypothesis is live.
 *
 * This is the rule TF_SEARCH_PAPER. With TF_SEARCH_FAIRSEQ, 4 and 5 are those of fairseq
 * (sequence_generator.py) and of transformers with early_stopping=True (generation/utils.py)
 * instead:
 * 4. Of the first K selected candidates those that end (EOS at t >= P) join the finished set, and
 *    are counted. Ends after the first K are left out. The first K others stay live, in order.
 * 5. The sentence is done once K or more are counted, or when no hypothesis is live. None is
 *    dropped alone, because its ends would count; but once N are finished and the best live
 *    hypothesis has bound <= the N-th score, all are dropped: nothing can enter the set any more.
 * Of the ends of the step in which the count reaches K, fairseq takes the best, K in all, and this
 * takes all of them, which only results after the first can show.
 *
 * With TF_SEARCH_CTRANSLATE2, these are changed as CTranslate2 does (src/decoding.cc, BeamSearch,
 * patience 1):
 * 4. At t = P > 0, an end that is not the first candidate is left out, and so is one hypothesis
 *    that would stay live.
 * 5. With alpha and normalize 0 the count does not matter: there CTranslate2 stops when a step's
 *    best candidate ends and N are finished, whose first is that of this rule.
 * 6. A hypothesis that ends at t = L > 0 has len = L, and EOS's term is not in the logp of its
 *    score: CTranslate2 takes hypotheses at the limit as they are, without EOS. The output is the
 *    same; the logp that is reported has the term all the same.
 *
 * With TF_SEARCH_TRANSFORMERS, 4 is that of TF_SEARCH_FAIRSEQ, N is K, and 5 is that of
 * transformers with early_stopping=False:
 * 5. The sentence is done once K are finished and the best live hypothesis, of t + 1 tokens after
 *    step t, has logp / lp(t + 1) <= the K-th score; or when no hypothesis is live.
 *
 * With TF_SEARCH_MARIAN, 4 and 5 are those of Marian (src/translator/beam_search.cpp), whose beam
 * shrinks by each end:
 * 4. Of the first K - E selected candidates, E ends so far, those that end join the finished set,
 *    and are counted; the others stay live, in order.
 * 5. The sentence is done when no hypothesis is live. All are dropped as with TF_SEARCH_FAIRSEQ.
 * 6. As with TF_SEARCH_CTRANSLATE2; Marian's limit is three times the source.
 *
 * TF_SEARCH_PAPER is the search of Tensor2Tensor, with separate alive and finished hypotheses and
 * its early stop, except for three things: the stop compares with the N-th finished hypothesis, not
 * the K-th (the same result, sooner); a hypothesis at the limit ends with EOS at EOS's true cost
 * instead of being cut off, so every output is complete and its logp is that of tf-score up to
 * rounding; and K = 1 is plain greedy search, which it is with the other rules, too. There are
 * fewer than N results only where fewer hypotheses exist, or, with the other rules, fewer are
 * counted; a sentence has none when no probability is finite.
 *
 * Sampling: instead of 3, every live hypothesis draws one candidate, with probability proportional
 * to exp(lp / temperature) among those of step 2; at t = P (or 0) the one live row draws K. With
 * top_k only the k candidates of a row with the highest lp can be drawn (ties: lowest ids); with
 * top_p, of these only the fewest, likeliest first, that have that share of their sum of exp(lp /
 * temperature) (Holtzman et al. 2020). The draw: u = (w0 * 2^32 + w1 + 0.5) / 2^64 of Philox with
 * key = seed, counter = (key of the sentence low, high, t, draw within the sentence); the first id,
 * in order of ids, at which the running sum of exp((x - max) / temperature), in double, exceeds u *
 * total, both over those that can be drawn. Candidates are then taken in the order of the draws,
 * and 4 and 5 apply with N = K. A draw depends on nothing else.
 *
 * Rows. lp has one row for each live hypothesis, those of a sentence together and best first,
 * sentences in order. The arrays of the next decoding step (ids ... n_src) have the same rows, as
 * tf_decode_step (model/incremental.h) takes them. search_step packs: rows of finished sentences
 * and hypotheses are removed, and counts has the number of live rows. The host passes in `rows` a
 * number >= counts[TF_SEARCH_LIVE]: rows from there on are dead, their lp is ignored, and
 * search_step writes harmless values into dead rows up to `rows` (id 0 at position 0, in the last
 * slot). A host that needs exact numbers downloads counts after each step. One that avoids waiting
 * reads counts now and then and uses counts[TF_SEARCH_BOUND], which no later step exceeds: a
 * sentence with fewer live hypotheses than K may have more of them later.
 *
 * Columns. A row of lp has a column for each id, in order. With `allowed` a sentence has a list of
 * ids instead, ascending, EOS and those of its prefix among them: column j of its rows is for id j
 * of its list, and the other ids do not exist. Rows are lp_ld apart. Devices have a copy of the
 * lists, list and list_off.
 *
 * Slots of the self-attention cache are one for each token of each hypothesis, and histories are by
 * slot. Those of a group on the host are assigned in order, so that it touches no more memory than
 * it needs. On a device, and in a group whose places are given to others, those of place i begin at
 * slot0[i]: its start, and K for each token that its limit allows.
 *
 * Places. A group has S places, one for each sentence of its start. Between two steps a sentence
 * may enter a place whose sentence is done (tf_search_enter), if that place has the slots and the
 * source rows that it needs: it has a step of its own, and its first row comes after the live ones.
 * The next step packs rows by place again. */
#ifndef TF_OPS_SEARCH_STATE_H
#define TF_OPS_SEARCH_STATE_H

#include "ops/backend.h"

#define TF_SEARCH_MAX_BEAM 1024
#define TF_SEARCH_BANS 4

/* Which hypotheses finish, and when a sentence is done: points 4 and 5. */
enum tf_search_rule {
    TF_SEARCH_PAPER,
    TF_SEARCH_FAIRSEQ,
    TF_SEARCH_CTRANSLATE2,
    TF_SEARCH_TRANSFORMERS, /* N must be K */
    TF_SEARCH_MARIAN,
};

/* Settings, fixed for the life of a search. */
struct tf_search_opts {
    size_t V, K, N;               /* vocabulary; beam, 1 .. TF_SEARCH_MAX_BEAM; results, 1 .. K */
    double alpha, normalize;      /* >= 0 */
    uint32_t start, eos;          /* first id (TF_NO_ID: zero vector); the end */
    uint32_t ban[TF_SEARCH_BANS]; /* n_ban ids that are never produced; not eos */
    size_t n_ban;
    size_t ids;         /* nor are ids from this one on, which are > eos; 0: V */
    bool sample;        /* draw; N must be K */
    double temperature; /* > 0 */
    int64_t top_k;      /* 0: all */
    double top_p;       /* > 0, < 1; 0 or 1: all */
    uint64_t seed;
    int64_t min_length, ngram; /* 0: none */
    double repetition;         /* > 0; 0: none */
    enum tf_search_rule rule;  /* TF_SEARCH_PAPER with sample */
    bool free_prefix;          /* the forced prefix costs nothing */
};
/* Is min_length, ngram or repetition set? */
static inline bool tf_search_has_rules(const struct tf_search_opts *r)
{
    return r->min_length > 0 || r->ngram > 0 || r->repetition > 0;
}

/* Is a sentence done once K ends are counted? */
static inline bool tf_search_counts_ends(const struct tf_search_opts *r)
{
    return r->rule == TF_SEARCH_FAIRSEQ ||
           (r->rule == TF_SEARCH_CTRANSLATE2 && (r->alpha > 0 || r->normalize > 0));
}

/* Point 6: does the end cost nothing at the limit? */
static inline bool tf_search_cuts_off(const struct tf_search_opts *r)
{
    return r->rule == TF_SEARCH_MARIAN || r->rule == TF_SEARCH_CTRANSLATE2;
}

/* counts: live rows, next free slot where slots are assigned in order, K for each sentence that is
 * not done. */
enum { TF_SEARCH_LIVE, TF_SEARCH_SLOT, TF_SEARCH_BOUND, TF_SEARCH_COUNTS };

/* The arrays of a search, each as X(element type, name, number of elements); the number is in terms
 * of `s`, a struct tf_search. uint32_t is U32 and double is F64. Everything that holds for all of
 * them is generated from this list: the fields, allocation, growth, freeing, and the download of
 * the results.
 *
 * The next decoding step, by live row: ids, at, slot, first, n_src and n_past; table has n_past
 * entries of a row in use; table_next is scratch of search_step. logp: of the live rows.
 * Sentences: rows of sentence i are row0[i] .. row0[i] + live[i] - 1, and step[i] is t of its next
 * search_step. prefix has the forced prefixes one after the other, prefix_off their offsets; key
 * the low and the high word of each sentence's key, for sampling; penalty[len] is lp(len). ended:
 * those counted by point 4. */
#define TF_SEARCH_STATE(X)                       \
    X(uint32_t, ids, s->max_rows)                \
    X(uint32_t, at, s->max_rows)                 \
    X(uint32_t, slot, s->max_rows)               \
    X(uint32_t, table, s->max_rows * s->ld)      \
    X(uint32_t, table_next, s->max_rows * s->ld) \
    X(uint32_t, n_past, s->max_rows)             \
    X(uint32_t, first, s->max_rows)              \
    X(uint32_t, n_src, s->max_rows)              \
    X(double, logp, s->max_rows)                 \
    X(double, logp_next, s->max_rows)            \
    X(uint32_t, row0, s->S)                      \
    X(uint32_t, step, s->S)                      \
    X(uint32_t, slot0, s->S)                     \
    X(uint32_t, ended, s->S)                     \
    X(uint32_t, limit, s->S)                     \
    X(uint32_t, src_first, s->S)                 \
    X(uint32_t, src_rows, s->S)                  \
    X(uint32_t, prefix, s->host->prefix_ids)     \
    X(uint32_t, prefix_off, s->S + 1)            \
    X(uint32_t, key, 2 * s->S)                   \
    X(uint32_t, counts, TF_SEARCH_COUNTS)        \
    X(uint32_t, list, s->host->list_ids)         \
    X(uint32_t, list_off, s->host->lists + 1)    \
    X(double, penalty, s->max_steps + 2)
/* Histories: the token of a slot is hist_id, with log-probability hist_lp, and hist_parent is the
 * slot of the token before it. [slots], nothing for the start of a sentence */
#define TF_SEARCH_HISTORY(X)            \
    X(uint32_t, hist_id, s->slots)      \
    X(uint32_t, hist_parent, s->slots)  \
    X(double, hist_lp, s->slots)
/* Finished hypotheses: [S, N], best first, n_fin[i] in use. fin_len tokens without EOS, the last of
 * which has slot fin_slot; fin_eos: EOS's log-probability. live: see above. */
#define TF_SEARCH_FINISHED(X)               \
    X(uint32_t, live, s->S)                 \
    X(uint32_t, n_fin, s->S)                \
    X(uint32_t, fin_slot, s->S * s->opts.N) \
    X(uint32_t, fin_len, s->S * s->opts.N)  \
    X(double, fin_logp, s->S * s->opts.N)   \
    X(double, fin_score, s->S * s->opts.N)  \
    X(double, fin_eos, s->S * s->opts.N)
#define TF_SEARCH_ARRAYS(X) TF_SEARCH_STATE(X) TF_SEARCH_HISTORY(X) TF_SEARCH_FINISHED(X)

/* Ids that a sentence is searched for: n, ascending. */
struct tf_allowed {
    const uint32_t *ids;
    size_t n;
};

struct tf_search {
    struct tf_search_opts opts;
    const struct tf_backend *be;
    struct tf_ctx *ctx; /* the lane that owns the memory; borrowed */

    /* The group at hand: host values, constant while it runs but for rows. */
    size_t S; /* sentences */
    /* most steps of a sentence: the longest limit + 1, or more, since it never shrinks for the same
     * S */
    size_t max_steps;
    size_t max_rows; /* S * K */
    size_t ld;       /* stride of table, >= max_steps */
    size_t slots;    /* of the cache, the dead rows' one (slots - 1) included, and maybe more */
    size_t rows;     /* rows of lp in the next call */
    size_t lp_ld;    /* its stride */
    bool places;     /* slots are by place */
    const struct tf_allowed *allowed; /* of each sentence, or NULL; borrowed */

    /* Backend memory. table and table_next, logp and logp_next may be swapped by search_step. */
#define TF_SEARCH_FIELD(type, name, n) type *name;
    TF_SEARCH_ARRAYS(TF_SEARCH_FIELD)
#undef TF_SEARCH_FIELD

    struct tf_search_host *host; /* search_state.c: capacities, and the results on the host */
};

/* One group. Everything is borrowed for the call. */
struct tf_search_group {
    size_t n;
    /* n / copies + 1: rows of the encoder's output, EOS included (tf_memory.off) */
    const uint32_t *src_off;
    /* n, for tf_search_enter: how many of those a sentence has */
    const uint32_t *src_rows;
    const uint32_t *limit; /* n */
    /* packed, n + 1 offsets; NULL: none. A prefix is no longer than its limit and holds no EOS */
    const uint32_t *prefix, *prefix_off;
    const uint64_t *key;              /* n, for sampling; else NULL */
    const struct tf_allowed *allowed; /* n, to outlive the group's search, or NULL: all ids */
    size_t lp_ld;                     /* with `allowed`: stride of lp, no less than any list */
    size_t copies; /* sentences one after the other that share a source, of n / copies; 0: 1 */
    bool enters;   /* others may enter */
};

/* The lists of a search on a device, as its operations take them. */
static inline struct tf_lists tf_search_lists(const struct tf_search *s)
{
    return (struct tf_lists){.row0 = s->row0,
                             .live = s->live,
                             .off = s->list_off,
                             .ids = s->list,
                             .n = s->S,
                             .most = s->opts.K,
                             .ld = s->lp_ld};
}

/* lp(len). */
double tf_search_penalty(size_t len, double alpha, double normalize);
void tf_search_init(struct tf_search *s, const struct tf_search_opts *opts,
                    const struct tf_backend *be, struct tf_ctx *ctx);
void tf_search_release(struct tf_search *s);
/* Most slots that a sentence of that limit needs; a group needs their sum and one more. */
size_t tf_search_slots(const struct tf_search_opts *opts, uint32_t limit);
/* Begin a group: one live row for each sentence, at position 0. Memory is kept for later groups.
 * -1 and err without memory. */
int tf_search_start(struct tf_search *s, const struct tf_search_group *g,
                    struct tf_err *err) TF_MUST_CHECK;
/* After tf_search_poll: the number of sentences that are done. */
size_t tf_search_done(const struct tf_search *s);
/* The longest limit that a sentence at place i may have: that of the one that it was made for. */
uint32_t tf_search_room(const struct tf_search *s, size_t i);
/* After tf_search_fetch in a group with `enters`: the sentences of g at n places are new, where
 * those of the group were done, and the others of g are those of the group. s->rows is the number
 * of live rows then. */
int tf_search_enter(struct tf_search *s, const struct tf_search_group *g, const size_t *place,
                    size_t n, struct tf_err *err) TF_MUST_CHECK;
/* The most rows that the search may have until the next poll. */
size_t tf_search_most_rows(const struct tf_search *s);
/* After a search_step: wait, and set s->rows to the number of live rows, or with `lag` to a number
 * that is large enough until the next call, however many steps later. */
int tf_search_poll(struct tf_search *s, bool lag, struct tf_err *err) TF_MUST_CHECK;

/* A result. */
struct tf_search_hyp {
    size_t n;    /* tokens without EOS */
    double logp; /* that of the whole output, with the forced prefix */
    double score;
};
/* Download the results of the group; waits. On a host backend these are the arrays of the search,
 * which nothing copies: after each step those of the sentences without a live row are there. */
int tf_search_fetch(struct tf_search *s, struct tf_err *err) TF_MUST_CHECK;
/* After tf_search_fetch: is sentence i done? */
bool tf_search_is_done(const struct tf_search *s, size_t i);
/* The number of its hypotheses, the one of that rank (0 is the best), and its tokens: ids [n] and
 * token_logp [n + 1] (EOS last) or NULL. */
size_t tf_search_count(const struct tf_search *s, size_t i);
struct tf_search_hyp tf_search_result(const struct tf_search *s, size_t i, size_t rank);
void tf_search_trace(const struct tf_search *s, size_t i, size_t rank, uint32_t *ids,
                     float *token_logp);

#endif
