/* search.cu - one step of beam search or sampling, wholly on the device. Rule: ops/search_state.h;
 * the same on host memory: ops/host_search.h and ops/ref/search.c, whose results these equal bit
 * for bit (sampling: but for the rounding of sums of exp).
 *
 * Four launches, none of which depends on how many rows are alive. With rules (min_length and its
 * like) one before them changes the log-probabilities:
 *   grow   a block for each row: its best candidates in order         or draw   a block for each
 *   draw
 *          and its softmax, where lp are logits still (tf_ctx.logits): these are written once and
 *          read twice, and log-probabilities are made of the candidates' alone
 *   take   a warp for each sentence: these lists merged, ends to the finished set, the first K
 *   others live on
 *   number one block: where each sentence's rows begin in the next step
 *   place  a warp for each row: its history, its table, the inputs of the model's next step; dead
 *          rows come after the live ones */
#include "softmax_private.h"
#include "ops/cuda/memory_private.h"

#include <type_traits>

enum {
    /* candidates that grow sorts: twice the 2 TF_SEARCH_MAX_BEAM that it needs */
    LIST = 4096,
    THREADS = 1024, /* of a block that walks a row, at most */
    WARP = 32,
    PLACE_WARPS = 4,
    RULES = 128, /* threads of a block of rules_kernel */
};
static_assert(LIST >= 4 * TF_SEARCH_MAX_BEAM, "see grow");

struct grown {
    double logp;
    uint32_t row, column; /* TF_NO_ID: a draw that found nothing */
};

/* Scratch of a step. Lists are by (sentence, live row or draw or next row): S * K of them. */
struct lists {
    /* [max_rows] or NULL: subtract both numbers in turn from a row's logits for its
     * log-probabilities: x the largest logit, y the log of the sum of exp(logit - x) */
    float2 *norm;
    uint32_t want;   /* candidates to grow, for a sentence and so at most for a row */
    uint64_t *top;   /* [S * K, want] keys, best first */
    uint32_t *n_top; /* [S * K] */
    struct grown *next;
    uint32_t *n_next; /* [S] */
    uint32_t *out;    /* rows of the next step */
    uint32_t *ids; /* with rules: [S * K, max_steps], columns of a row's tokens */
    float *old;    /* and their log-probabilities in this step */
};

/* ---- candidates as numbers ---- */

/* A log-probability and a column as a key that is larger for the candidate that stands earlier; 0
 * for none. Columns are in the order of their ids. */
__device__ static inline uint64_t key_of(float x, uint32_t column)
{
    uint32_t bits;
    if (!(fabsf(x) < INFINITY))
        return 0;
    x = x >= 0 ? 0 : x; /* -0 too */
    memcpy(&bits, &x, sizeof bits);
    return (uint64_t)(bits == 0 ? 0x80000000u : ~bits) << 32 | (uint32_t)~column;
}
__device__ static inline uint32_t column_of(uint64_t key)
{
    return ~(uint32_t)key;
}
__device__ static inline double x_of(uint64_t key)
{
    uint32_t high = (uint32_t)(key >> 32), bits = high == 0x80000000u ? 0 : ~high;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* What step t allows a sentence. */
struct view {
    uint32_t t, row0, live, prefix; /* prefix: its length */
    uint32_t columns;
    const uint32_t *list; /* their ids; nullptr: 0, 1, ... */
    bool forced, may_end;
    uint32_t column; /* the only one, when forced */
};

__device__ static inline uint32_t id_at(const struct view &v, uint32_t column)
{
    return v.list == nullptr ? column : v.list[column];
}
/* The column of an id, which has one. */
__device__ static inline uint32_t column_at(const struct view &v, uint32_t id)
{
    uint32_t from = 0, to = v.columns;
    if (v.list == nullptr)
        return id;
    while (to - from > 1) {
        const uint32_t middle = from + (to - from) / 2;
        if (v.list[middle] <= id)
            from = middle;
        else
            to = middle;
    }
    return from;
}

/* LISTED: with lists, so that kernels which walk a row have code for one or the other. */
template <bool LISTED>
__device__ static inline struct view look(const struct tf_search &s, uint32_t i)
{
    const uint32_t *off = s.prefix_off, *prefix = s.prefix;
    struct view v;
    v.t = s.step[i];
    v.row0 = s.row0[i];
    v.live = s.live[i];
    v.prefix = off[i + 1] - off[i];
    v.may_end = v.t >= v.prefix;
    v.forced = !v.may_end || v.t >= s.limit[i];
    v.columns = (uint32_t)s.opts.V;
    v.list = nullptr;
    if (LISTED && s.allowed != nullptr) {
        const uint32_t *lists = s.list_off;
        v.columns = lists[i + 1] - lists[i];
        v.list = s.list + lists[i];
    }
    v.column = v.forced ? column_at(v, v.may_end ? s.opts.eos : prefix[off[i] + v.t]) : 0;
    return v;
}

/* A row's log-probability of the id of a column. */
__device__ static inline float lp_of(const struct tf_search &s, const float *lp,
                                     const struct lists &l, size_t row, uint32_t column)
{
    float x = lp[row * s.lp_ld + column];
    return l.norm == nullptr ? x : x - l.norm[row].x - l.norm[row].y;
}

/* Could an id of this thread's, as each() hands them out, be banned? */
__device__ static inline bool has_banned(const struct tf_search_opts &r, const struct view &v)
{
    bool found = v.list != nullptr || (r.ids > 0 && r.ids < r.V);
    for (size_t b = 0; b < r.n_ban; b++)
        found |= (r.V % 4 == 0 ? r.ban[b] / 4 : r.ban[b]) % blockDim.x == threadIdx.x;
    return found;
}

/* Rarely asked: not inline, or its loop would stand in the code of a kernel for every element. */
__device__ static __noinline__ bool banned(const struct tf_search_opts &r, uint32_t id)
{
    for (size_t b = 0; b < r.n_ban; b++)
        if (r.ban[b] == id)
            return true;
    return r.ids > 0 && id >= r.ids;
}

/* The key of a column in a row, 0 where it is none of the candidates. */
__device__ static inline uint64_t candidate(const struct tf_search_opts &r, const struct view &v,
                                            float x, uint32_t column)
{
    return banned(r, id_at(v, column)) ? 0 : key_of(x, column);
}

/* f(numbers, how many, the first one's column) for this thread's part of a row of the block: four
 * at once where V allows, as in softmax.cu; the rows begin at a multiple of 16 bytes then, which
 * tf_cuda_search_step() checks. A list has few columns for many threads. */
template <uint32_t AT_ONCE, bool LISTED, typename F>
__device__ static inline void each(const struct view &v, const float *lp, F f)
{
    if (!LISTED && v.columns % 4 == 0)
        each_of_block<AT_ONCE>((const vec<float> *)lp, v.columns / 4,
                               [&](uint32_t i, const vec<float> &x) { f(x.v, 4, 4 * i); });
    else
        each_of_block<AT_ONCE>(lp, v.columns, [&](uint32_t column, float x) { f(&x, 1, column); });
}

__device__ static inline uint64_t warp_best(uint64_t key)
{
    for (int d = WARP / 2; d > 0; d /= 2) {
        uint64_t other = __shfl_xor_sync(0xffffffffu, key, d);
        key = other > key ? other : key;
    }
    return key;
}

/* ---- rules ---- */

/* What min_length, ngram and repetition change in a row; block i * K + k is row k of sentence i. */
static __global__ void __launch_bounds__(RULES)
    rules_kernel(struct tf_search s, float *lp, struct lists l)
{
    wait_for_previous();
    const struct tf_search_opts &o = s.opts;
    const struct view v = look<true>(s, blockIdx.x / o.K);
    const uint32_t k = blockIdx.x % o.K, n = (uint32_t)o.ngram;
    if (k >= v.live || v.forced)
        return;
    const uint32_t *hist_id = s.hist_id, *slot = s.table + (v.row0 + k) * s.ld + 1;
    uint32_t *ids = l.ids + (size_t)blockIdx.x * s.max_steps;
    float *old = l.old + (size_t)blockIdx.x * s.max_steps;
    lp += (size_t)(v.row0 + k) * s.lp_ld;
    for (uint32_t j = threadIdx.x; j < v.t; j += blockDim.x) {
        ids[j] = column_at(v, hist_id[slot[j]]);
        old[j] = lp[ids[j]];
    }
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < v.t && o.repetition > 0; j += blockDim.x)
        lp[ids[j]] = (float)(o.repetition * (double)old[j]);
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < v.t && n > 0; j += blockDim.x) {
        bool repeats = j + 1 >= n;
        for (uint32_t m = 1; m < n && repeats; m++)
            repeats = ids[j - m] == ids[v.t - m];
        if (repeats)
            lp[ids[j]] = -INFINITY;
    }
    if (threadIdx.x == 0 && v.t < o.min_length)
        lp[column_at(v, o.eos)] = -INFINITY;
}

/* ---- grow ---- */

/* The best `want` candidates of a row, in order; block i * K + k is row k of sentence i.
 *
 * One pass finds the best key of each warp's ids. The want-th of these is a bar that at least
 * `want` candidates reach; a second pass gathers all that do, few more as a rule. Where there are
 * more than LIST (a beam wider than there are warps, or the best ids of a row all in one warp's
 * share), the bar is raised by bisection, a pass a step, until they are not: keys are distinct, so
 * that at some bar there are just `want`. The gathered find their places by counting who stands
 * before them. */
template <bool LISTED>
static __global__ void __launch_bounds__(THREADS)
    grow_kernel(const __grid_constant__ struct tf_search s, const float *lp, struct lists l)
{
    wait_for_previous();
    __shared__ uint64_t list[LIST], best[WARP];
    __shared__ uint32_t room[WARP], used;
    __shared__ float sums[WARP];
    uint32_t k = blockIdx.x % s.opts.K, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP,
             warps = blockDim.x / WARP, want = l.want;
    struct view v = look<LISTED>(s, blockIdx.x / s.opts.K);
    if (k >= v.live)
        return;
    uint64_t *top = l.top + (size_t)blockIdx.x * want;
    lp += (size_t)(v.row0 + k) * s.lp_ld;
    float max = 0, log_sum = 0, most = -INFINITY;
    uint64_t mine = 0, low = 1, high = 0;
    if (l.norm != nullptr) { /* a larger logit is no smaller a log-probability */
        struct seen seen = {-INFINITY, 0};
        uint32_t best_column = 0;
        const bool careful = has_banned(s.opts, v);
        each<8, LISTED>(v, lp, [&](const float *z, int n, uint32_t column) {
            see(seen, z, n);
            for (int i = 0; i < n; i++) { /* without a branch, which most warps would take */
                bool more = z[i] > most && z[i] < INFINITY;
                if (careful)
                    more = more && !banned(s.opts, id_at(v, column + i));
                most = more ? z[i] : most;
                best_column = more ? column + i : best_column;
            }
        });
        seen = seen_by_block(seen, sums);
        max = seen.max;
        log_sum = logf(seen.sum);
        mine = key_of(most - max - log_sum, best_column);
        if (threadIdx.x == 0)
            l.norm[v.row0 + k] = make_float2(max, log_sum);
    }
    if (v.forced) {
        if (threadIdx.x == 0) {
            top[0] = key_of(lp[v.column] - max - log_sum, v.column);
            l.n_top[blockIdx.x] = top[0] != 0;
        }
        return;
    }
    /* f(key) for the keys from `from` on; few are, and what others need is one comparison. */
    auto each_key = [&](uint64_t from, auto at_once, auto f) {
        /* below the key of the smallest float are those of infinities and nan */
        float bar = from >> 32 < 0x00800000 ? -INFINITY : (float)x_of(from);
        each<decltype(at_once)::value, LISTED>(v, lp, [&](const float *z, int n, uint32_t column) {
            for (int i = 0; i < n; i++) {
                float x = z[i] - max - log_sum;
                if (x >= bar) {
                    uint64_t key = candidate(s.opts, v, x, column + i);
                    if (key >= from)
                        f(key);
                }
            }
        });
    };
    const std::integral_constant<uint32_t, 1> slowly;
    const std::integral_constant<uint32_t, 4> quickly;
    if (l.norm == nullptr)
        each_key(1, slowly, [&](uint64_t key) { mine = key > mine ? key : mine; });
    mine = warp_best(mine);
    if (lane == 0)
        best[warp] = mine;
    __syncthreads();
    mine = lane < warps ? best[lane] : 0;
    /* above the same probability of any other id, too */
    high = ((warp_best(mine) >> 32) + 1) << 32;
    uint32_t before = 0;
    for (uint32_t w = 0; w < warps; w++)
        before += best[w] > mine;
    low = warp_best(mine > 0 && before + 1 == want ? mine : 1);

    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            used = 0;
        __syncthreads();
        each_key(low, quickly, [&](uint64_t key) {
            uint32_t at = atomicAdd(&used, 1u);
            if (at < LIST)
                list[at] = key;
        });
        __syncthreads();
        uint32_t n = used;
        if (n <= LIST)
            break;
        while (n > LIST) { /* at least `want` reach low, fewer reach high */
            uint64_t middle = low + (high - low) / 2;
            uint32_t reach = 0;
            each_key(middle, slowly, [&](uint64_t) { reach++; });
            reach = block_sum(reach, room);
            if (reach >= want)
                low = middle, n = reach;
            else
                high = middle;
        }
    }
    for (uint32_t e = threadIdx.x; e < used; e += blockDim.x) {
        uint32_t place = 0;
        for (uint32_t o = 0; o < used; o++)
            place += list[o] > list[e];
        if (place < want)
            top[place] = list[e];
    }
    if (threadIdx.x == 0)
        l.n_top[blockIdx.x] = used < want ? used : want;
}

/* ---- draw ---- */

/* Draw d of sentence i is block i * K + d. Threads own runs of ids, one after the other, so that
 * the sums of the runs, added up in order, say in whose run the draw falls. */
template <bool LISTED>
static __global__ void __launch_bounds__(THREADS)
    draw_kernel(struct tf_search s, const float *lp, struct lists l)
{
    wait_for_previous();
    __shared__ double run[THREADS + 1];
    __shared__ float room[WARP];
    uint32_t i = blockIdx.x / s.opts.K, d = blockIdx.x % s.opts.K;
    struct view v = look<LISTED>(s, i);
    const uint32_t V = v.columns;
    uint32_t draws = v.live == 0       ? 0
                     : v.t == v.prefix ? (uint32_t)s.opts.K
                                       : v.live,
             row = draws == v.live ? d : 0;
    if (d >= draws)
        return;
    lp += (size_t)(v.row0 + row) * s.lp_ld;
    uint32_t share = (V + blockDim.x - 1) / blockDim.x,
             from = threadIdx.x * share < V ? threadIdx.x * share : V,
             to = V - from < share ? V : from + share;
    auto key = [&](uint32_t j) {
        return v.forced ? (j == v.column ? key_of(lp[j], j) : 0)
                        : candidate(s.opts, v, lp[j], j);
    };

    float most = -INFINITY;
    for (uint32_t j = from; j < to; j++)
        if (key(j) != 0)
            most = fmaxf(most, lp[j] > 0 ? 0 : lp[j]);
    double max = (double)block_max(most, room), sum = 0;
    uint64_t bar = 1; /* of those that can be drawn */
    /* keys from one on: how many they are, and their weight or again how many */
    struct reached {
        double n, sum;
    };
    auto reach = [&](uint64_t from_key, bool weigh) {
        double n = 0, mine = 0; /* expf: the bar alone depends on it */
        for (uint32_t j = from; j < to; j++) {
            uint64_t e = key(j);
            n += e >= from_key;
            if (weigh && e >= from_key)
                mine += (double)expf((float)((x_of(e) - max) / s.opts.temperature));
        }
        n = block_sum(n, run);
        return reached{n, weigh ? block_sum(mine, run) : n};
    };
    auto raise = [&](struct reached all, double need, bool weigh) {
        /* from bar on there is enough, from high on there is not; with one key between them, that
         * is the last one that is needed */
        uint64_t high = ~0ull;
        double beyond = 0; /* keys from high on */
        while (all.n - beyond > 1) {
            uint64_t middle = bar + (high - bar) / 2;
            struct reached r = reach(middle, weigh);
            if (r.sum >= need)
                bar = middle, all = r;
            else
                high = middle, beyond = r.n;
        }
    };
    if (s.opts.top_k > 0 && (size_t)s.opts.top_k < V && !v.forced) {
        struct reached all = reach(bar, false);
        if (all.n > (double)s.opts.top_k)
            raise(all, (double)s.opts.top_k, false);
    }
    if (s.opts.top_p > 0 && s.opts.top_p < 1) {
        struct reached all = reach(bar, true);
        raise(all, s.opts.top_p * all.sum, true);
    }
    __syncthreads();
    auto weight = [&](uint32_t j) {
        uint64_t e = key(j);
        return e < bar ? 0 : exp((x_of(e) - max) / s.opts.temperature);
    };
    for (uint32_t j = from; j < to; j++)
        sum += weight(j);
    run[threadIdx.x + 1] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;

    run[0] = 0;
    for (uint32_t r = 0; r < blockDim.x; r++)
        run[r + 1] += run[r];
    const uint32_t *who = s.key + 2 * i;
    uint32_t w[4];
    philox(w, who[0], who[1], v.t, d, s.opts.seed);
    double u = ((double)w[0] * 0x1p32 + (double)w[1] + 0.5) * 0x1p-64 * run[blockDim.x];
    uint32_t r = 0; /* the first run whose end exceeds u, or the last that holds anything */
    for (uint32_t q = 0; q < blockDim.x && !(run[r + 1] > u); q++)
        r = run[q + 1] > run[q] ? q : r;
    struct grown g = {0, v.row0 + row, TF_NO_ID};
    double sum_to = run[r];
    for (uint32_t j = r * share; j < V && j < (r + 1) * share && sum_to <= u; j++)
        if (key(j) >= bar) {
            sum_to += weight(j);
            g.column = j;
        }
    if (g.column != TF_NO_ID)
        g.logp = s.logp[g.row] + x_of(key(g.column));
    l.next[blockIdx.x] = g;
}

/* ---- take ---- */

/* How many of a sorted list stand before a candidate of that logp from a row further up (strict:
 * further down). */
__device__ static inline uint32_t ahead(const uint64_t *list, uint32_t n, double row_logp,
                                        double logp, bool strict)
{
    uint32_t from = 0;
    while (from < n) {
        uint32_t middle = from + (n - from) / 2;
        double x = row_logp + x_of(list[middle]);
        if (strict ? x > logp : x >= logp)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

/* Insert a finished hypothesis into the finished set, sorted by score; equals keep their order. */
__device__ static void finish(const struct tf_search &s, uint32_t i, const struct view &v,
                              const struct grown &g, double x)
{
    size_t N = s.opts.N, base = i * N, at = s.n_fin[i], n = at;
    uint32_t *slot = s.fin_slot + base, *len = s.fin_len + base;
    double *logp = s.fin_logp + base, *score = s.fin_score + base,
           *eos = s.fin_eos + base;
    const enum tf_search_rule rule = s.opts.rule;
    const bool cut = v.t > 0 && v.t >= s.limit[i] &&
                     (rule == TF_SEARCH_MARIAN || rule == TF_SEARCH_CTRANSLATE2);
    double mine = cut ? s.logp[g.row] / s.penalty[v.t] : g.logp / s.penalty[v.t + 1];
    while (at > 0 && score[at - 1] < mine)
        at--;
    if (at == N)
        return;
    n = n < N ? n + 1 : N;
    for (size_t j = n - 1; j > at; j--) {
        slot[j] = slot[j - 1], len[j] = len[j - 1];
        logp[j] = logp[j - 1], score[j] = score[j - 1], eos[j] = eos[j - 1];
    }
    slot[at] = s.table[g.row * s.ld + v.t], len[at] = v.t;
    logp[at] = g.logp, score[at] = mine, eos[at] = x;
    s.n_fin[i] = (uint32_t)n;
}

/* The sorted lists of the sentence's rows into one of `want`: a candidate's place is the number of
 * those before it, by a search in each other list. */
__device__ static uint32_t merge(struct grown *g, const struct tf_search &s, const struct view &v,
                                 const struct lists &l, size_t base)
{
    const double *logp = s.logp + v.row0;
    const uint64_t *top = l.top + base * l.want;
    const uint32_t *n_top = l.n_top + base;
    uint32_t n = 0;
    for (uint32_t row = 0; row < v.live && n < l.want; row++)
        n += n_top[row];
    for (uint32_t e = threadIdx.x; e < v.live * l.want; e += blockDim.x) {
        uint32_t row = e / l.want, place = e % l.want;
        if (place >= n_top[row])
            continue;
        uint64_t key = top[e];
        double mine = logp[row] + x_of(key);
        for (uint32_t o = 0; o < v.live && place < l.want; o++)
            if (o != row)
                place += ahead(top + (size_t)o * l.want, n_top[o], logp[o], mine, o > row);
        if (place < l.want)
            g[place] = {mine, v.row0 + row, column_of(key)};
    }
    return n < l.want ? n : l.want;
}

/* Points 3 to 5 of the rule for a sentence; the last two by one thread. */
static __global__ void __launch_bounds__(1024)
    take_kernel(struct tf_search s, const float *lp, struct lists l)
{
    wait_for_previous();
    TF_SHARED(struct grown, g); /* [want] */
    uint32_t i = blockIdx.x, n = 0, out = 0, K = (uint32_t)s.opts.K;
    struct view v = look<true>(s, i);
    struct grown *next = l.next + (size_t)i * K;
    if (!s.opts.sample) {
        n = merge(g, s, v, l, (size_t)i * K);
        __syncthreads();
    }
    if (threadIdx.x > 0)
        return;
    if (s.opts.sample) /* next holds what was drawn */
        for (uint32_t d = 0, draws = v.live == 0 ? 0 : v.t == v.prefix ? K : v.live; d < draws; d++)
            if (next[d].column != TF_NO_ID)
                g[n++] = next[d];
    const enum tf_search_rule rule = s.opts.rule;
    uint32_t *ended = s.ended;
    if (rule == TF_SEARCH_MARIAN && n > K - ended[i])
        n = K - ended[i];
    const uint32_t end = column_at(v, s.opts.eos);
    uint32_t room = K;
    for (uint32_t c = 0; c < n && (rule == TF_SEARCH_PAPER || c < K); c++) {
        if (!v.may_end || g[c].column != end)
            continue;
        if (rule == TF_SEARCH_CTRANSLATE2 && v.prefix > 0 && v.t == v.prefix && c > 0) {
            room--;
            continue;
        }
        float x = lp_of(s, lp, l, g[c].row, end);
        finish(s, i, v, g[c], x > 0 ? 0 : (double)x);
        ended[i]++;
    }
    const bool penalised = s.opts.alpha > 0 || s.opts.normalize > 0,
               done = ended[i] >= K && (rule == TF_SEARCH_FAIRSEQ ||
                                        (rule == TF_SEARCH_CTRANSLATE2 && penalised));
    bool full = s.n_fin[i] == s.opts.N;
    double most = s.penalty[rule == TF_SEARCH_TRANSFORMERS ? v.t + 1 : s.limit[i] + 1],
           least = full ? s.fin_score[(i + 1) * s.opts.N - 1] : 0;
    for (uint32_t c = 0; c < n && out < room && !done; c++) {
        if (s.opts.free_prefix && !v.may_end)
            g[c].logp = 0;
        if (!(v.may_end && g[c].column == end) &&
            ((rule != TF_SEARCH_PAPER && out > 0) || !full || g[c].logp / most > least))
            next[out++] = g[c];
    }
    l.n_next[i] = out;
}

/* ---- number ---- */

/* Exclusive sums over the block, and their total. room: shared, 32. */
__device__ static inline uint32_t block_before(uint32_t x, uint32_t *room, uint32_t *total)
{
    uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, sum = x, base = 0;
    for (uint32_t d = 1; d < WARP; d *= 2) {
        uint32_t left = __shfl_sync(0xffffffffu, sum, lane < d ? lane : lane - d);
        sum += lane < d ? 0 : left;
    }
    __syncthreads();
    if (lane == WARP - 1)
        room[warp] = sum;
    __syncthreads();
    *total = 0;
    for (uint32_t w = 0; w < blockDim.x / WARP; w++) {
        base += w < warp ? room[w] : 0;
        *total += room[w];
    }
    return base + sum - x;
}

static __global__ void __launch_bounds__(1024) number_kernel(struct tf_search s, struct lists l)
{
    wait_for_previous();
    __shared__ uint32_t room[WARP];
    uint32_t *row0 = s.row0, *live = s.live, *step = s.step, *counts = s.counts;
    uint32_t S = (uint32_t)s.S, out = 0, alive = 0, total;
    for (uint32_t from = 0; from < S; from += blockDim.x) {
        uint32_t i = from + threadIdx.x, n = i < S ? l.n_next[i] : 0,
                 before = block_before(n, room, &total);
        if (i < S)
            row0[i] = out + before, step[i] += live[i] > 0, live[i] = n;
        out += total;
        alive += n > 0;
    }
    alive = block_sum(alive, room);
    if (threadIdx.x > 0)
        return;
    *l.out = out;
    counts[TF_SEARCH_LIVE] = out;
    counts[TF_SEARCH_BOUND] = alive * (uint32_t)s.opts.K;
}

/* ---- place ---- */

/* Warp i * K + k writes row k of sentence i, and row i * K + k where that is dead. */
static __global__ void place_kernel(struct tf_search s, const float *lp, struct lists l)
{
    wait_for_previous();
    uint32_t w = blockIdx.x * PLACE_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP,
             K = (uint32_t)s.opts.K, i = w / K, k = w % K;
    uint32_t *ids = s.ids, *at = s.at, *slot = s.slot,
             *n_past = s.n_past, *first = s.first,
             *n_src = s.n_src;
    if (i < s.S && k < s.live[i]) {
        struct grown g = l.next[w];
        const uint32_t t = s.step[i] - 1, r = s.row0[i] + k,
                       own = s.slot0[i] + 1 + t * K + k;
        const uint32_t *from = s.table + g.row * s.ld;
        uint32_t *to = s.table_next + r * s.ld;
        for (uint32_t j = lane; j <= t; j += WARP)
            to[j] = from[j];
        if (lane == 0) {
            const uint32_t id = s.allowed == nullptr ? g.column : s.list[s.list_off[i] + g.column];
            float x = lp_of(s, lp, l, g.row, g.column);
            s.hist_id[own] = id;
            s.hist_parent[own] = from[t];
            s.hist_lp[own] = x > 0 ? 0 : (double)x;
            s.logp_next[r] = g.logp;
            to[t + 1] = own;
            ids[r] = id;
            at[r] = t + 1;
            n_past[r] = t + 2;
            slot[r] = own;
            first[r] = s.src_first[i];
            n_src[r] = s.src_rows[i];
        }
    }
    if (lane == 0 && w >= *l.out && w < s.rows) {
        uint32_t none = (uint32_t)(s.slots - 1);
        ids[w] = 0, at[w] = 0, n_past[w] = 1, slot[w] = none;
        first[w] = 0, n_src[w] = 1;
        s.table_next[w * s.ld] = none;
    }
}

static unsigned up_to(unsigned threads, unsigned most)
{
    return threads > most ? most : threads;
}

void tf_cuda_search_step(struct tf_ctx *c, struct tf_search *s, tf_mem *lp)
{
    const float *p = (const float *)lp;
    const bool rules = tf_search_has_rules(&s->opts), listed = s->allowed != nullptr;
    if (!listed && s->opts.V % 4 == 0 && (uintptr_t)p % 16 != 0) { /* see each() */
        tf_cuda_failed(c, cudaErrorInvalidValue, "search_step: rows not at multiples of 16 bytes");
        return;
    }
    size_t S = s->S, K = s->opts.K, V = s->lp_ld, lists = S * K, want = K == 1 ? 1 : 2 * K,
           keys = s->opts.sample ? 0 : lists * want,
           tokens = rules ? lists * s->max_steps : 0;
    unsigned threads = listed ? (unsigned)LISTED_THREADS : row_threads((int)V),
             merging = up_to(div_up(K, 4) * WARP, THREADS),
             numbers = up_to(div_up(S, WARP) * WARP, 1024);
    char *room = (char *)tf_cuda_scratch(c, keys * sizeof(uint64_t) +
                                                lists * (sizeof(struct grown) + sizeof(float2) +
                                                         sizeof(uint32_t)) +
                                                (S + 1 + tokens) * sizeof(uint32_t) +
                                                tokens * sizeof(float));
    if (room == nullptr || S == 0)
        return;
    struct lists l;
    bool logits = !s->opts.sample && !rules && c->logits.z == p && p != nullptr &&
                  (size_t)c->logits.V == V;
    if (logits)
        c->logits = {}, c->put_off = nullptr;
    l.want = (uint32_t)want;
    l.top = (uint64_t *)room;
    l.next = (struct grown *)(l.top + keys);
    l.norm = (float2 *)(l.next + lists);
    l.n_top = (uint32_t *)(l.norm + lists);
    l.norm = logits ? l.norm : nullptr;
    l.n_next = l.n_top + lists;
    l.out = l.n_next + S;
    l.ids = l.out + 1, l.old = (float *)(l.ids + tokens);
    if (rules)
        launch_early(c, "search_step: rules", rules_kernel, dim3((unsigned)lists), dim3(RULES), 0,
                     *s, (float *)lp, l);
    auto *walk = !s->opts.sample ? (listed ? grow_kernel<true> : grow_kernel<false>)
                                 : (listed ? draw_kernel<true> : draw_kernel<false>);
    launch_early(c, "search_step: rows", walk,
           dim3((unsigned)lists), dim3(threads), 0, *s, p, l);
    launch_early(c, "search_step: sentences", take_kernel, dim3((unsigned)S), dim3(merging),
           want * sizeof(struct grown), *s, p, l);
    launch_early(c, "search_step: numbers", number_kernel, dim3(1), dim3(numbers), 0, *s, l);
    launch_early(c, "search_step: places", place_kernel,
           dim3(div_up(lists > s->rows ? lists : s->rows, PLACE_WARPS)), dim3(PLACE_WARPS * WARP),
           0, *s, p, l);
    uint32_t *table = s->table;
    double *logp = s->logp;
    s->table = s->table_next, s->table_next = table;
    s->logp = s->logp_next, s->logp_next = logp;
}
