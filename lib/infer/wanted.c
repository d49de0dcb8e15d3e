/* wanted.c - see wanted_private.h. */
#include "infer/wanted_private.h"
#include "base/memory.h"
#include "ops/host_search.h"

#include <math.h>
#include <stdlib.h>

/* No id. */
enum { NONE = UINT32_MAX };

static bool continues_word(struct tf_continues c, uint32_t id)
{
    return id < c.n && c.v[id];
}

/* May the phrase begin after the t ids y? */
static bool may_begin(const struct tf_wanted_phrase *p, struct tf_continues c, const uint32_t *y,
                      size_t t)
{
    return !c.after || !p->edge || t == 0 || !continues_word(c, y[t - 1]);
}

/* Does y contain the phrase? An end of a word at the end of y is one for now. */
enum has { NOT, FOR_NOW, FIRMLY };
static enum has contains(const struct tf_wanted_phrase *p, struct tf_continues c, const uint32_t *y,
                         size_t t)
{
    enum has has = NOT;
    for (size_t end = p->n; end <= t; end++)
        if (y[end - 1] == p->ids[p->n - 1] &&
            memcmp(y + end - p->n, p->ids, p->n * sizeof *y) == 0 &&
            may_begin(p, c, y, end - p->n)) {
            if (c.after || !p->edge || (end < t && !continues_word(c, y[end])))
                return FIRMLY;
            has = end == t ? FOR_NOW : has;
        }
    return has;
}

static enum has contains_term(const struct tf_wanted_term *term, struct tf_continues c,
                              const uint32_t *y, size_t t)
{
    enum has has = NOT;
    for (size_t k = 0; k < term->n && has != FIRMLY; k++) {
        const enum has this = contains(&term->v[k], c, y, t);
        has = this > has ? this : has;
    }
    return has;
}

/* What a phrase saves whose first ids end y, if the id after them continues a word or does not, and
 * 1 more: 0 is for none whose next id may follow y. */
static void savings(const struct tf_wanted_term *term, struct tf_continues c, const uint32_t *y,
                 size_t t, size_t most[2])
{
    for (size_t k = 0; k < term->n; k++) {
        const struct tf_wanted_phrase *p = &term->v[k];
        for (size_t d = 0; d < p->n && d <= t; d++) {
            const size_t left = p->n - d;
            size_t *m = &most[!c.after && continues_word(c, p->ids[d])];
            if (left + *m <= term->shortest && may_begin(p, c, y, t - d) &&
                (d == 0 || memcmp(y + t - d, p->ids, d * sizeof *y) == 0))
                *m = term->shortest - left + 1;
        }
    }
}

/* What need and rest are made of: ids of the terms that y does not contain, and of those that it
 * contains for now; the most that a phrase saves of the former, and of both, as of `savings`. */
struct sums {
    size_t missing, for_now, kept[2], all[2];
};

struct left {
    size_t need, rest;
};

static void add_term(struct sums *s, const struct tf_wanted_term *term, struct tf_continues c,
                     const uint32_t *y, size_t t)
{
    const enum has has = contains_term(term, c, y, t);
    s->missing += has == NOT ? term->shortest : 0;
    s->for_now += has == FOR_NOW ? term->shortest : 0;
    if (has == NOT)
        savings(term, c, y, t, s->kept);
    if (has != FIRMLY)
        savings(term, c, y, t, s->all);
}

static size_t saved(size_t most)
{
    return most - (most > 0);
}

static struct left left_of(const struct sums *s)
{
    const size_t any = s->kept[0] > s->kept[1] ? s->kept[0] : s->kept[1],
                 keep = s->missing - saved(s->for_now > 0 ? s->kept[0] : any),
                 give = s->missing + s->for_now - saved(s->all[1]),
                 need = s->for_now > 0 && give < keep ? give : keep;
    return (struct left){need, need + (s->missing > 0 && any == 0)};
}

static struct left left_after(const struct tf_wanted *w, struct tf_continues c, const uint32_t *y,
                              size_t t)
{
    struct sums s = {0};
    for (size_t i = 0; i < w->n; i++)
        add_term(&s, &w->v[i], c, y, t);
    return left_of(&s);
}

size_t tf_wanted_rest(const struct tf_wanted *w, struct tf_continues c, const uint32_t *y, size_t t)
{
    return left_after(w, c, y, t).rest;
}

/* ---- the rows of a sentence ---- */

/* An id that is in a phrase, and a term that has such a phrase; of a row also what is left after
 * it. */
struct next {
    uint32_t id;
    size_t term;
    struct left left;
};

struct row {
    size_t need;     /* now */
    size_t other[2]; /* after an id that is in no phrase, and after one that continues */
    bool within;     /* a term that is missing may begin within a word */
    struct next *next;
};

/* What a step works with. */
struct step {
    const struct tf_search *q;
    const struct tf_wanted *wanted;
    struct tf_continues continues;
    struct tf_search_view view;
    const tf_mem *lp;
    size_t room; /* ids before the limit */
    struct row *rows;
    struct next *next; /* of all rows, n_next for each; an id has the same left in each term */
    size_t n_next;
    enum has *has; /* of each term in the ids of the row that is judged */
    struct tf_candidate *v; /* found so far */
    size_t n;
    uint32_t *y;
};

/* The ids of a live row, with room for one more. */
static void read_row(struct step *s, size_t row)
{
    for (size_t t = 0; t < s->view.t; t++)
        s->y[t] = tf_search_token(s->q, s->view.row0 + row, t);
}

static int compare_ids(const void *x, const void *y)
{
    const struct next *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}

static int compare_next(const void *x, const void *y)
{
    const struct next *a = x, *b = y;
    const int c = compare_ids(x, y);
    return c != 0 ? c : (a->term > b->term) - (a->term < b->term);
}

/* The ids of all phrases, once for each term. */
static void list_ids(struct step *s, struct next *to)
{
    size_t n = 0, all = 0;
    for (size_t i = 0; i < s->wanted->n; i++)
        for (size_t k = 0; k < s->wanted->v[i].n; k++)
            for (size_t j = 0; j < s->wanted->v[i].v[k].n; j++)
                to[all++] = (struct next){.id = s->wanted->v[i].v[k].ids[j], .term = i};
    qsort(to, all, sizeof *to, compare_next);
    for (size_t i = 0; i < all; i++)
        if (n == 0 || compare_next(&to[n - 1], &to[i]) != 0)
            to[n++] = to[i];
    s->n_next = n;
}

static size_t count_ids(const struct tf_wanted *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; k < w->v[i].n; k++)
            n += w->v[i].v[k].n;
    return n;
}

/* What a term is missing after an id that is in none of its phrases. */
static size_t missing_after(const struct tf_wanted_term *term, enum has has, bool continues)
{
    return has == NOT || (has == FOR_NOW && continues) ? term->shortest : 0;
}

/* Has the term a shortest phrase that may begin within a word? */
static bool begins_within(const struct tf_wanted_term *term)
{
    for (size_t k = 0; k < term->n; k++)
        if (term->v[k].n == term->shortest && !term->v[k].edge)
            return true;
    return false;
}

/* What `savings` has of phrases that begin after an id. */
static size_t beginning(const struct step *s, const struct row *r, bool continues)
{
    return !s->continues.after || !continues || r->within;
}

/* What is left after the id of next[from], which goes to all up to next[to]. Only the terms that
 * have it are looked at again. */
static void judge_id(const struct step *s, struct row *r, size_t from, size_t to)
{
    const uint32_t id = r->next[from].id;
    const bool continues = continues_word(s->continues, id);
    struct sums sums = {.missing = r->other[continues], .kept = {beginning(s, r, continues)}};
    s->y[s->view.t] = id;
    for (size_t i = from; i < to; i++) {
        const struct tf_wanted_term *term = &s->wanted->v[r->next[i].term];
        sums.missing -= missing_after(term, s->has[r->next[i].term], continues);
        add_term(&sums, term, s->continues, s->y, s->view.t + 1);
    }
    for (size_t i = from; i < to; i++)
        r->next[i].left = left_of(&sums);
}

static void judge_rows(struct step *s)
{
    const struct tf_wanted *w = s->wanted;
    for (size_t row = 0; row < s->view.live; row++) {
        struct row *r = &s->rows[row];
        read_row(s, row);
        *r = (struct row){.need = left_after(w, s->continues, s->y, s->view.t).need,
                          .next = s->next + row * s->n_next};
        for (size_t i = 0; i < w->n; i++) {
            s->has[i] = contains_term(&w->v[i], s->continues, s->y, s->view.t);
            for (int continues = 0; continues < 2; continues++)
                r->other[continues] += missing_after(&w->v[i], s->has[i], continues);
            r->within |= s->has[i] == NOT && begins_within(&w->v[i]);
        }
        if (row > 0)
            memcpy(r->next, s->next, s->n_next * sizeof *r->next);
        for (size_t i = 0, from = 0; i < s->n_next; i++)
            if (i + 1 == s->n_next || r->next[i + 1].id != r->next[from].id) {
                judge_id(s, r, from, i + 1);
                from = i + 1;
            }
    }
}

/* What is left of a row and one more id. */
static struct left left_with(const struct step *s, size_t row, uint32_t id)
{
    const struct row *r = &s->rows[row];
    const struct next key = {.id = id}, *found;
    found = bsearch(&key, r->next, s->n_next, sizeof key, compare_ids);
    if (found != NULL)
        return found->left;
    const bool continues = continues_word(s->continues, id);
    return left_of(&(struct sums){.missing = r->other[continues],
                                  .kept = {beginning(s, r, continues)}});
}

static bool valid(const struct step *s, size_t row, uint32_t id)
{
    if (tf_search_banned(&s->q->opts, id))
        return false;
    if (id == s->q->opts.eos)
        return s->rows[row].need == 0;
    return 1 + left_with(s, row, id).rest <= s->room;
}

/* ---- candidates ---- */

static bool candidate(const struct step *s, size_t row, uint32_t id, struct tf_candidate *g)
{
    return tf_search_candidate(s->q, &s->view, s->lp, row, tf_search_column(&s->view, id), g);
}

/* What x a candidate of a row needs to be among the best, or the best of its row. */
static double least(const struct step *s, size_t row, const struct tf_best *all,
                    const struct tf_candidate *best)
{
    const double logp = s->view.logp[row];
    return fmin(tf_best_bound(all, logp), tf_search_below(best->x, logp));
}

/* The best of all rows in order; those of each row go to best. */
static void find_best(struct step *s, size_t most, struct tf_candidate *best)
{
    struct tf_best found = {s->v, 0, most}, *all = &found;
    for (size_t row = 0; row < s->view.live; row++) {
        best[row].id = (uint32_t)NONE;
        double low = -INFINITY;
        for (size_t j = 0; j < s->view.columns; j++) {
            struct tf_candidate g;
            if (tf_search_log_p(s->q, &s->view, s->lp, row, j) < low ||
                !tf_search_candidate(s->q, &s->view, s->lp, row, j, &g))
                continue;
            const bool first = best[row].id == (uint32_t)NONE ||
                               tf_candidate_compare(&g, &best[row]) < 0;
            const bool good = all->n < all->cap ||
                              tf_candidate_compare(&g, &all->v[all->cap - 1]) < 0;
            if (!(first || good) || !valid(s, row, g.id))
                continue;
            if (first)
                best[row] = g;
            if (!good)
                continue;
            tf_best_add(all, &g);
            low = least(s, row, all, &best[row]);
        }
    }
    s->n = found.n;
}

/* Add a candidate that is not among the first n. */
static void add(struct step *s, const struct tf_candidate *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s->v[i].row == g->row && s->v[i].id == g->id)
            return;
    s->v[s->n++] = *g;
}

/* The candidates that make need smaller. */
static void add_wanted(struct step *s)
{
    const size_t n = s->n;
    struct tf_candidate g;
    for (size_t row = 0; row < s->view.live; row++)
        for (size_t i = 0; i < s->n_next; i++) {
            const struct next *next = &s->rows[row].next[i];
            if ((i == 0 || next->id != next[-1].id) && next->left.need < s->rows[row].need &&
                candidate(s, row, next->id, &g) && valid(s, row, next->id))
                add(s, &g, n);
        }
}

/* Room of each bank, from the number of its candidates. */
static void allot(size_t *room, const size_t *count, size_t banks, size_t K)
{
    size_t carry = K % banks;
    for (size_t b = banks; b-- > 0;) {
        const size_t mine = K / banks + carry;
        room[b] = mine < count[b] ? mine : count[b];
        carry = mine - room[b];
    }
    for (size_t b = banks; b-- > 0;) {
        const size_t more = carry < count[b] - room[b] ? carry : count[b] - room[b];
        room[b] += more;
        carry -= more;
    }
}

/* Keep the ends, and what the banks take. */
static void fill_banks(struct step *s, size_t C)
{
    size_t *count = tf_xcalloc(2 * (C + 1), sizeof *count), *room = count + C + 1, n = 0;
    qsort(s->v, s->n, sizeof *s->v, tf_candidate_compare);
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].id != s->q->opts.eos)
            count[C - left_with(s, s->v[i].row, s->v[i].id).need]++;
    allot(room, count, C + 1, s->q->opts.K);
    for (size_t i = 0; i < s->n; i++) {
        const struct tf_candidate g = s->v[i];
        size_t *left = g.id != s->q->opts.eos ? &room[C - left_with(s, g.row, g.id).need] : NULL;
        if (left != NULL && *left == 0)
            continue;
        if (left != NULL)
            --*left;
        s->v[n++] = g;
    }
    s->n = n;
    free(count);
}

/* One id for each row; at the limit only what has all. */
static void forced(struct step *s)
{
    struct tf_best best = tf_best_of(&s->q->opts, s->v);
    for (size_t row = 0; row < s->view.live; row++) {
        struct tf_candidate g;
        read_row(s, row);
        if (candidate(s, row, s->view.id, &g) &&
            (!s->view.may_end || tf_wanted_rest(s->wanted, s->continues, s->y, s->view.t) == 0))
            tf_best_add(&best, &g);
    }
    s->n = best.n;
}

/* Keep the ends and the best K others. */
static void cut_others(struct step *s, size_t K)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const bool end = s->v[i].id == s->q->opts.eos;
        if (end || K > 0)
            s->v[n++] = s->v[i];
        K -= !end && K > 0;
    }
    s->n = n;
}

static void select_candidates(struct step *s, size_t C, size_t plain)
{
    const size_t live = s->view.live, t = s->view.t, ids = count_ids(s->wanted),
                 K = C > 0 ? s->q->opts.K : plain;
    s->y = tf_xarray(NULL, t + 1, sizeof *s->y);
    s->next = tf_xarray(NULL, (live + 1) * (ids + 1), sizeof *s->next);
    s->rows = tf_xarray(NULL, live + 1, sizeof *s->rows);
    s->has = tf_xarray(NULL, s->wanted->n + 1, sizeof *s->has);
    s->v = tf_xarray(NULL, 2 * K + live * (ids + 1) + 1, sizeof *s->v);
    struct tf_candidate *best = tf_xarray(NULL, live + 1, sizeof *best);
    if (s->view.forced) {
        forced(s);
    } else {
        list_ids(s, s->next);
        judge_rows(s);
        find_best(s, K == 1 ? 1 : 2 * K, best);
        if (C > 0) {
            for (size_t row = 0; row < live; row++)
                if (best[row].id != (uint32_t)NONE)
                    add(s, &best[row], s->n);
            add_wanted(s);
            fill_banks(s, C);
        } else {
            cut_others(s, K);
        }
    }
    free(best);
    free(s->has);
    free(s->rows);
    free(s->next);
    free(s->y);
}

void tf_wanted_step(const struct tf_wanted *const *wanted, struct tf_continues c,
                    struct tf_wanted_rule rule, struct tf_search *q, tf_mem *lp)
{
    struct tf_search_pass w = tf_search_begin_pass(q);
    tf_mem *const penalty = q->penalty;
    double *ones = tf_xarray(NULL, q->max_steps + 2, sizeof *ones);
    for (size_t len = 0; len <= q->max_steps + 1; len++)
        ones[len] = 1;
    tf_search_rules(q, lp);
    for (size_t i = 0; i < q->S; i++) {
        struct step s = {.q = q,
                         .wanted = wanted[i],
                         .continues = c,
                         .view = tf_search_view_of(q, i),
                         .lp = lp};
        const size_t C = tf_wanted_rest(wanted[i], c, NULL, 0);
        s.room = q->limit[i] - (s.view.t < q->limit[i] ? s.view.t : q->limit[i]);
        select_candidates(&s, C, rule.plain);
        for (size_t k = 0; k < s.n; k++)
            s.v[k].row += (uint32_t)s.view.row0;
        q->penalty = C > 0 && rule.sums ? ones : penalty;
        tf_search_advance(q, &w, i, &s.view, s.v, s.n);
        free(s.v);
    }
    q->penalty = penalty;
    free(ones);
    tf_search_end_pass(q, &w);
}
