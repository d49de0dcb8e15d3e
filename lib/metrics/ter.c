/* ter.c - greedy search for shifts, and the edit distance in a band around the diagonal. The result
 * of the search depends on the order in which shifts are tried and on how ties are broken; both
 * follow sacreBLEU's lib_ter.py. */
#include "metrics/ter_private.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SHIFT = 10,        /* words of a shifted block */
    MAX_DISTANCE = 50,     /* between the block in the hypothesis and in the reference */
    MAX_CANDIDATES = 1000, /* shifts tried per segment */
    BEAM = 25,             /* cells on either side of the diagonal */
    MAX_CELLS = 1 << 28,
    INFINITE = 1 << 29,
};
/* DEL removes a word of the hypothesis, INS inserts one of the reference. */
enum op { OP_SUB, OP_NOP, OP_DEL, OP_INS };

struct row {
    int lo, hi;   /* cells lo <= j < hi */
    size_t first; /* index of cell lo in cost and op */
    /* For steps(): bit k is cell base + 1 + k; lo - 1 <= base <= lo. */
    int base, shift; /* shift: from the base of the row above */
    uint64_t used,
        match; /* bits of cells; of those that may continue a diagonal of the row above */
};

/* A row of costs by its differences from left to right, one bit each: +1 in `more`, -1 in `less`.
 * Bits past the row's cells are set in `more`. */
struct bits {
    uint64_t more, less;
    int32_t first; /* cost of cell `base` */
};

struct tf_ter_work {
    uint32_t *hyp, *next, *best, *ref; /* words; next, best: reorderings of hyp */
    struct row *row;                   /* nh + 1 */
    struct bits *bits;                 /* nh + 1, of hyp; if narrow */
    bool narrow;                       /* no row has more cells than bits */
    uint64_t *at;                      /* per word: its places in ref, blocks words each; or NULL */
    size_t blocks, cap_at;
    int32_t *cost, *line[2]; /* cells of hyp; two rows of a candidate */
    uint8_t *op;
    int32_t *align;              /* position in hyp of each word of ref */
    uint32_t *hyp_err, *ref_err; /* errors before each position */
    size_t cap_h, cap_r, cap_cells;
    int nh, nr, candidates;
};

void tf_ter_release(struct tf_ter *t)
{
    struct tf_ter_work *w = t->work;
    if (w != NULL) {
        void *all[] = {w->bits, w->at,      w->hyp,     w->next, w->best,  w->ref,     w->row,
                       w->cost, w->line[0], w->line[1], w->op,   w->align, w->hyp_err, w->ref_err};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            free(all[i]);
        free(w);
    }
    tf_tokens_release(&t->hyp);
    tf_tokens_release(&t->ref);
    tf_buf_release(&t->scratch);
    tf_intern_release(&t->intern);
    *t = (struct tf_ter){0};
}

static uint64_t ones(int n)
{
    return n <= 0 ? 0 : n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* A row whose first cell is that of the row above begins with the cell above it plus 1. Any other
 * row begins with a diagonal, which is never worse than the cell to its left, whatever that is:
 * then base is the cell to the left, and taken for one more than the cell above it. */
static void lay_out_bits(struct tf_ter_work *w)
{
    w->narrow = true;
    w->row[0].base = w->row[0].shift = 0;
    w->row[0].used = ones(w->nr);
    for (int i = 1; i <= w->nh && w->narrow; i++) {
        const struct row *a = &w->row[i - 1];
        struct row *r = &w->row[i];
        r->base = r->lo == a->lo ? r->lo : r->lo - 1;
        r->shift = r->base - a->base;
        r->used = ones(r->hi - 1 - r->base);
        r->match = ones(min(r->hi, a->hi + 1) - 1 - r->base);
        w->narrow = r->lo >= a->lo && r->hi > r->lo && r->lo < a->hi && r->shift < 64 &&
                    r->hi - 1 - r->base < 64;
    }
}

/* The cells of the rows, which depend on the lengths alone. Returns their number. */
static size_t lay_out(struct tf_ter_work *w)
{
    double ratio = w->nh ? (double)w->nr / w->nh : 1;
    int beam = BEAM < ratio / 2 ? (int)ceil(ratio / 2 + BEAM) : BEAM;
    w->row[0] = (struct row){.hi = w->nr + 1};
    size_t cells = (size_t)w->nr + 1;
    for (int i = 1; i <= w->nh; i++) {
        int diag = (int)floor(i * ratio);
        struct row *r = &w->row[i];
        r->lo = diag > beam ? diag - beam : 0;
        r->hi = diag + beam < w->nr + 1 && i != w->nh ? diag + beam : w->nr + 1;
        r->first = cells;
        cells += r->hi > r->lo ? (size_t)(r->hi - r->lo) : 0;
    }
    lay_out_bits(w);
    return cells;
}

static int make_room(struct tf_ter_work *w, size_t nh, size_t nr)
{
    if (nh + 1 > w->cap_h) {
        w->cap_h = 2 * nh + 64;
        w->hyp = tf_xarray(w->hyp, w->cap_h, sizeof *w->hyp);
        w->next = tf_xarray(w->next, w->cap_h, sizeof *w->next);
        w->best = tf_xarray(w->best, w->cap_h, sizeof *w->best);
        w->row = tf_xarray(w->row, w->cap_h, sizeof *w->row);
        w->bits = tf_xarray(w->bits, w->cap_h, sizeof *w->bits);
        w->hyp_err = tf_xarray(w->hyp_err, w->cap_h, sizeof *w->hyp_err);
    }
    if (nr + 1 > w->cap_r) {
        w->cap_r = 2 * nr + 64;
        w->ref = tf_xarray(w->ref, w->cap_r, sizeof *w->ref);
        w->align = tf_xarray(w->align, w->cap_r, sizeof *w->align);
        w->ref_err = tf_xarray(w->ref_err, w->cap_r, sizeof *w->ref_err);
        w->line[0] = tf_xarray(w->line[0], w->cap_r, sizeof *w->line[0]);
        w->line[1] = tf_xarray(w->line[1], w->cap_r, sizeof *w->line[1]);
    }
    w->nh = (int)nh;
    w->nr = (int)nr;
    size_t cells = lay_out(w);
    if (cells > MAX_CELLS)
        return -1;
    if (cells > w->cap_cells) {
        w->cap_cells = 2 * cells;
        w->cost = tf_xarray(w->cost, w->cap_cells, sizeof *w->cost);
        w->op = tf_xarray(w->op, w->cap_cells, sizeof *w->op);
    }
    for (int j = 0; j <= w->nr; j++) {
        w->cost[j] = j;
        w->op[j] = OP_INS;
    }
    return 0;
}

/* Compute one row from the one above. `up` and `out` begin at lo of their rows. Of equal costs the
 * diagonal wins, then the cell above, then the one to the left. */
static void one_row(const struct tf_ter_work *w, int i, uint32_t word, const int32_t *up,
                    int32_t *out, uint8_t *op)
{
    const struct row *a = &w->row[i - 1], *r = &w->row[i];
    int32_t left = INFINITE;
    for (int j = r->lo; j < r->hi; j++) {
        int32_t above = j >= a->lo && j < a->hi ? up[j - a->lo] + 1 : INFINITE;
        int32_t cost = INFINITE;
        uint8_t o = OP_DEL;
        if (j == 0) {
            cost = above;
        } else {
            bool same = word == w->ref[j - 1];
            if (j > a->lo && j <= a->hi) {
                cost = up[j - 1 - a->lo] + !same;
                o = same ? OP_NOP : OP_SUB;
            }
            if (above < cost) {
                cost = above;
                o = OP_DEL;
            }
            if (left < cost) {
                cost = left;
                o = OP_INS;
            }
        }
        out[j - r->lo] = cost;
        if (op != NULL)
            op[j - r->lo] = o;
        left = cost + 1;
    }
}

/* Note the places of all words in ref, unless that takes too much memory: then they are found by
 * comparing. */
static void place_words(struct tf_ter_work *w)
{
    enum { MOST = 1 << 20 };
    size_t words = 0;
    for (int i = 0; i < w->nh; i++)
        words = w->hyp[i] >= words ? w->hyp[i] + (size_t)1 : words;
    for (int j = 0; j < w->nr; j++)
        words = w->ref[j] >= words ? w->ref[j] + (size_t)1 : words;
    w->blocks = (size_t)w->nr / 64 + 2;
    if (w->blocks > MOST / words) {
        w->blocks = 0;
        return;
    }
    if (words * w->blocks > w->cap_at) {
        w->cap_at = 2 * words * w->blocks;
        w->at = tf_xarray(w->at, w->cap_at, sizeof *w->at);
    }
    memset(w->at, 0, words * w->blocks * sizeof *w->at);
    for (size_t j = 0; j < (size_t)w->nr; j++)
        w->at[w->ref[j] * w->blocks + j / 64] |= (uint64_t)1 << j % 64;
}

/* Bit k: ref has this word at position from + k. */
static uint64_t places(const struct tf_ter_work *w, uint32_t word, int from, uint64_t wanted)
{
    uint64_t found = 0;
    if (w->blocks > 0) {
        const uint64_t *p = w->at + word * w->blocks + from / 64;
        int k = from % 64;
        return (p[0] >> k | (k > 0 ? p[1] << (64 - k) : 0)) & wanted;
    }
    for (int k = 0; wanted >> k & 1; k++)
        found |= (uint64_t)(w->ref[from + k] == word) << k;
    return found;
}

/* one_row for a whole row at once: the bit-vector algorithm of Myers (Journal of the ACM 46, 1999)
 * as Hyyro describes it for a band (2003). Cells past the end of the row above count as one more
 * than those to their left, which is never less than they cost on another way. */
static inline struct bits steps(const struct tf_ter_work *w, int i, uint32_t word, struct bits up)
{
    const struct row *r = &w->row[i];
    if (r->shift > 0) {
        uint64_t gone = ones(r->shift);
        up.first += __builtin_popcountll(up.more & gone) - __builtin_popcountll(up.less & gone);
        up.more = up.more >> r->shift | ~(~(uint64_t)0 >> r->shift);
        up.less >>= r->shift;
    }
    uint64_t same = places(w, word, r->base, r->match), vertical = same | up.less,
             diagonal = (((same & up.more) + up.more) ^ up.more) | same,
             rise = up.less | ~(diagonal | up.more), fall = up.more & diagonal;
    rise = rise << 1 | 1;
    fall <<= 1;
    return (struct bits){.more = fall | ~(vertical | rise) | ~r->used,
                         .less = rise & vertical & r->used,
                         .first = up.first + 1};
}

static int32_t last_cost(const struct tf_ter_work *w, struct bits b)
{
    uint64_t used = w->row[w->nh].used;
    return b.first + __builtin_popcountll(b.more & used) - __builtin_popcountll(b.less & used);
}

/* distance_within by bits. */
static int32_t narrow_distance_within(const struct tf_ter_work *w, int from, int to)
{
    struct bits b = w->bits[from];
    for (int i = from + 1; i <= w->nh; i++) {
        const struct bits *own = &w->bits[i];
        b = steps(w, i, w->next[i - 1], b);
        if (i >= to && b.more == own->more && b.less == own->less)
            return last_cost(w, w->bits[w->nh]) + b.first - own->first;
    }
    return last_cost(w, b);
}

/* Compute all rows of hyp with their operations. Returns the distance. */
static int32_t distance(struct tf_ter_work *w)
{
    for (int i = 1; i <= w->nh; i++)
        one_row(w, i, w->hyp[i - 1], w->cost + w->row[i - 1].first, w->cost + w->row[i].first,
                w->op + w->row[i].first);
    if (w->narrow) {
        w->bits[0] = (struct bits){.more = ~(uint64_t)0};
        for (int i = 1; i <= w->nh; i++)
            w->bits[i] = steps(w, i, w->hyp[i - 1], w->bits[i - 1]);
    }
    return w->cost[w->row[w->nh].first + (size_t)(w->nr - w->row[w->nh].lo)];
}

/* The distance of `next`, which differs from hyp in words [from, to) only. After these, once a row
 * equals that of hyp plus a constant, so do all later ones. */
static int32_t distance_within(struct tf_ter_work *w, int from, int to)
{
    const int32_t *up = w->cost + w->row[from].first,
                  last = w->cost[w->row[w->nh].first + (size_t)(w->nr - w->row[w->nh].lo)];
    for (int i = from + 1; i <= w->nh; i++) {
        one_row(w, i, w->next[i - 1], up, w->line[i & 1], NULL);
        up = w->line[i & 1];
        const int32_t *own = w->cost + w->row[i].first, n = w->row[i].hi - w->row[i].lo;
        if (i < to || n <= 0 || last >= INFINITE)
            continue;
        int32_t more = up[0] - own[0], k = 1;
        while (k < n && up[k] - own[k] == more)
            k++;
        if (k == n)
            return last + more;
    }
    return up[w->nr - w->row[w->nh].lo];
}

static int32_t candidate_distance(struct tf_ter_work *w, int from, int to)
{
    return w->narrow ? narrow_distance_within(w, from, to) : distance_within(w, from, to);
}

/* Align each word of ref with a position in hyp, and mark the words of both that are errors. */
static void align(struct tf_ter_work *w)
{
    int i = w->nh, j = w->nr;
    while (i > 0 || j > 0) {
        const struct row *r = &w->row[i];
        uint8_t op = i == 0                    ? OP_INS
                     : j < r->lo || j >= r->hi ? OP_DEL
                                               : w->op[r->first + (size_t)(j - r->lo)];
        if (op == OP_SUB || op == OP_NOP) {
            i--;
            j--;
            w->align[j] = i;
            w->hyp_err[i] = w->ref_err[j] = op == OP_SUB;
        } else if (op == OP_INS) {
            j--;
            w->align[j] = i - 1;
            w->ref_err[j] = 1;
        } else {
            i--;
            w->hyp_err[i] = 1;
        }
    }
    uint32_t sum = 0, x;
    for (i = 0; i <= w->nh; i++) {
        x = i < w->nh ? w->hyp_err[i] : 0;
        w->hyp_err[i] = sum;
        sum += x;
    }
    for (j = 0, sum = 0; j <= w->nr; j++) {
        x = j < w->nr ? w->ref_err[j] : 0;
        w->ref_err[j] = sum;
        sum += x;
    }
}

/* next = hyp with the block [s, s + n) moved before position t of hyp or, for t within the block,
 * t - s positions to the right. */
static void move_block(struct tf_ter_work *w, int s, int n, int t)
{
    int to = t < s ? t : t > s + n ? t - n : t; /* its position among the other words */
    int rest = w->nh - n;
    if (to > rest)
        to = rest;
    uint32_t *out = w->next;
    for (int i = 0; i < rest; i++) {
        if (i == to)
            for (int k = 0; k < n; k++)
                *out++ = w->hyp[s + k];
        *out++ = w->hyp[i < s ? i : i + n];
    }
    if (to == rest)
        for (int k = 0; k < n; k++)
            *out++ = w->hyp[s + k];
}

struct shift {
    bool any;
    int gain, n, start, target;
};

static bool better(const struct shift *a, const struct shift *b)
{
    if (!b->any || a->gain != b->gain)
        return !b->any || a->gain > b->gain;
    if (a->n != b->n)
        return a->n > b->n;
    if (a->start != b->start)
        return a->start < b->start;
    return a->target < b->target;
}

/* Try all targets for the block at h in hyp that matches ref at r. */
static void try_block(struct tf_ter_work *w, struct shift *best, int32_t before, int h, int r,
                      int n)
{
    if (w->hyp_err[h + n] == w->hyp_err[h] || w->ref_err[r + n] == w->ref_err[r])
        return;
    if (h <= w->align[r] && w->align[r] < h + n)
        return;
    int last = -1;
    for (int offset = -1; offset < n; offset++) {
        int target = r + offset == -1 ? 0 : r + offset < w->nr ? w->align[r + offset] + 1 : -1;
        if (target < 0)
            return;
        if (target == last)
            continue;
        last = target;
        move_block(w, h, n, target);
        const int from = h < target ? h : target, past = target + n < w->nh ? target + n : w->nh;
        const int to = h > target ? h + n : past;
        struct shift s = {true, before - candidate_distance(w, from, to), n, h, target};
        w->candidates++;
        if (better(&s, best)) {
            *best = s;
            memcpy(w->best, w->next, (size_t)w->nh * sizeof *w->best);
        }
    }
}

static struct shift best_shift(struct tf_ter_work *w, int32_t before)
{
    struct shift best = {0};
    align(w);
    for (int h = 0; h < w->nh; h++) {
        int from = h > MAX_DISTANCE ? h - MAX_DISTANCE : 0,
            to = h + MAX_DISTANCE < w->nr - 1 ? h + MAX_DISTANCE : w->nr - 1;
        for (int r = from; r <= to; r++)
            for (int n = 1; n <= MAX_SHIFT && h + n <= w->nh && r + n <= w->nr &&
                            w->hyp[h + n - 1] == w->ref[r + n - 1];
                 n++) {
                int had = w->candidates;
                try_block(w, &best, before, h, r, n);
                if (w->candidates != had && w->candidates >= MAX_CANDIDATES)
                    return best;
            }
    }
    return best;
}

static int edits(struct tf_ter_work *w)
{
    int shifts = 0;
    w->candidates = 0;
    for (;;) {
        int32_t cost = distance(w);
        struct shift s = best_shift(w, cost);
        if (w->candidates >= MAX_CANDIDATES || s.gain <= 0)
            return shifts + cost;
        uint32_t *old = w->hyp;
        w->hyp = w->best;
        w->best = old;
        shifts++;
    }
}

/* Edits between two sequences of numbered words: shifts, and the edit distance after them.
 * UINT32_MAX when there are too many words. */
static uint32_t word_edits(struct tf_ter *t, const uint32_t *hyp, size_t nh, const uint32_t *ref,
                           size_t nr)
{
    if (t->work == NULL)
        t->work = tf_xcalloc(1, sizeof *t->work);
    if (!nr || nh >= MAX_CELLS || nr >= MAX_CELLS)
        return nr ? UINT32_MAX : (uint32_t)nh;
    if (make_room(t->work, nh, nr) != 0)
        return UINT32_MAX;
    if (nh)
        memcpy(t->work->hyp, hyp, nh * sizeof *hyp);
    memcpy(t->work->ref, ref, nr * sizeof *ref);
    if (t->work->narrow)
        place_words(t->work);
    return (uint32_t)edits(t->work);
}

/* sacreBLEU normalises references twice, and "Martin's," is split only the second time. */
static void normalize_again(struct tf_ter *t)
{
    struct tf_buf line = {0};
    for (size_t i = 0; i < t->ref.n; i++) {
        tf_buf_str(&line, i ? " " : "");
        tf_buf_add(&line, t->ref.v[i].p, t->ref.v[i].n);
    }
    if (line.len)
        tf_tokenize_ter(&t->ref, &t->scratch, (struct tf_text){line.p, line.len}, &t->opts);
    tf_buf_release(&line);
}

int tf_ter_segment(struct tf_ter *t, uint32_t counts[2], struct tf_text hyp,
                   const struct tf_text *refs, size_t nrefs, struct tf_err *err)
{
    uint32_t least = UINT32_MAX;
    uint64_t length = 0;
    tf_tokenize_ter(&t->hyp, &t->scratch, hyp, &t->opts);
    for (size_t r = 0; r < nrefs; r++) {
        tf_tokenize_ter(&t->ref, &t->scratch, refs[r], &t->opts);
        if (t->opts.normalized)
            normalize_again(t);
        length += t->ref.n;
        tf_intern_start(&t->intern, t->hyp.n + t->ref.n);
        tf_tokens_number(&t->hyp, &t->intern);
        tf_tokens_number(&t->ref, &t->intern);
        uint32_t e = word_edits(t, t->hyp.number, t->hyp.n, t->ref.number, t->ref.n);
        if (e == UINT32_MAX)
            return tf_fail(err, "too many words for TER");
        least = e < least ? e : least;
    }
    if (length > UINT32_MAX)
        return tf_fail(err, "too many words for TER");
    counts[0] = least;
    counts[1] = (uint32_t)length;
    return 0;
}

double tf_ter_score(const double sums[2])
{
    if (sums[1] > 0)
        return 100 * (sums[0] / sums[1]);
    return sums[0] > 0 ? 100 : 0;
}
