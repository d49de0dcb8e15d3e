/* grams.c - see grams_private.h. The table is sized for the segment, at most half full. */
#include "metrics/grams_private.h"
#include "base/memory.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An n-gram that no reference has, as all longer ones that begin with it. */
enum { NONE = UINT32_MAX };

static void clear_table(struct tf_gram_table *t)
{
    memset(t->slot, 0, (t->mask + 1) * sizeof *t->slot);
}

void tf_gram_table_start(struct tf_gram_table *t, size_t n)
{
    const size_t slots = tf_table_slots(n);
    if (slots > t->cap) {
        t->slot = tf_xarray(t->slot, slots, sizeof *t->slot);
        t->cap = slots;
    }
    t->mask = slots - 1;
    t->key = tf_table_key();
    clear_table(t);
}

void tf_grams_release(struct tf_grams *g)
{
    free(g->table.slot);
    free(g->left);
    free(g->count);
    free(g->last);
    free(g->hyp);
    free(g->ref);
    *g = (struct tf_grams){0};
}

static void make_room(struct tf_grams *g, size_t n)
{
    if (n <= g->room)
        return;
    g->room = n < 256 ? 256 : n;
    g->left = tf_xarray(g->left, g->room, sizeof *g->left);
    g->count = tf_xarray(g->count, g->room, sizeof *g->count);
    g->last = tf_xarray(g->last, g->room, sizeof *g->last);
    g->hyp = tf_xarray(g->hyp, g->room, sizeof *g->hyp);
    g->ref = tf_xarray(g->ref, g->room, sizeof *g->ref);
}

/* Number the k-grams of reference r: at has the (k - 1)-grams, by their places, and gets them. n
 * have a number so far; returns how many have one now. only: there is no other reference. */
static inline __attribute__((always_inline)) uint32_t
number_ref(struct tf_grams *g, struct tf_symbols ref, uint32_t *at, size_t k, uint32_t n,
           uint32_t r, bool only)
{
    for (size_t i = 0; i + k <= ref.n; i++) {
        const uint64_t key = tf_gram_key(at[i], ref.v[i + k - 1]);
        struct tf_gram_slot *s = tf_gram_find(&g->table, key);
        if (!s->gram) {
            *s = (struct tf_gram_slot){key, n + 1};
            g->left[n] = 0;
            g->last[n++] = NONE;
        }
        const uint32_t x = at[i] = s->gram - 1;
        if (only) {
            g->left[x]++;
            continue;
        }
        g->count[x] = g->last[x] == r ? g->count[x] + 1 : 1;
        g->last[x] = r;
        g->left[x] = g->count[x] > g->left[x] ? g->count[x] : g->left[x];
    }
    return n;
}

static void number_refs(struct tf_grams *g, const struct tf_symbols *refs, size_t nrefs, size_t k)
{
    uint32_t *at = g->ref, n = 0;
    if (nrefs == 1) {
        number_ref(g, refs[0], at, k, 0, 0, true);
        return;
    }
    for (size_t r = 0; r < nrefs; at += refs[r++].n)
        n = number_ref(g, refs[r], at, k, n, (uint32_t)r, false);
}

/* Of the k-grams of the hypothesis; sets *any to whether a reference has one. */
static uint32_t match_hyp(struct tf_grams *g, struct tf_symbols hyp, size_t k, bool *any)
{
    uint32_t found = 0;
    *any = false;
    for (size_t i = 0; i + k <= hyp.n; i++) {
        if (g->hyp[i] == NONE)
            continue;
        const uint32_t gram =
            tf_gram_find(&g->table, tf_gram_key(g->hyp[i], hyp.v[i + k - 1]))->gram;
        g->hyp[i] = gram ? gram - 1 : NONE;
        if (gram) {
            *any = true;
            if (g->left[gram - 1]) {
                g->left[gram - 1]--;
                found++;
            }
        }
    }
    return found;
}

void tf_grams_match(struct tf_grams *g, struct tf_symbols hyp, const struct tf_symbols *refs,
                    size_t nrefs, size_t orders, uint32_t *matches)
{
    size_t all = 0, longest = 0;
    for (size_t r = 0; r < nrefs; r++) {
        all += refs[r].n;
        longest = refs[r].n > longest ? refs[r].n : longest;
    }
    make_room(g, all > hyp.n ? all : hyp.n);
    tf_gram_table_start(&g->table, all);
    if (hyp.n)
        memset(g->hyp, 0, hyp.n * sizeof *g->hyp);
    if (all)
        memset(g->ref, 0, all * sizeof *g->ref);
    bool any = true;
    for (size_t k = 1; k <= orders && k <= longest && k <= hyp.n && any; k++) {
        if (k > 1)
            clear_table(&g->table);
        number_refs(g, refs, nrefs, k);
        matches[k - 1] += match_hyp(g, hyp, k, &any);
    }
}
