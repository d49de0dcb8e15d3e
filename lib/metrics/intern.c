/* intern.c - open addressing, sized for the segment beforehand, load at most one half. */
#include "metrics/intern.h"
#include "metrics/hash_text.h"
#include <stdlib.h>
#include <string.h>

void tf_intern_start(struct tf_intern *t, size_t n)
{
    size_t slots = tf_hash_slots(n);
    if (n > t->cap || !t->slot) {
        t->cap = n < 256 ? 256 : n;
        t->text = tf_xarray(t->text, t->cap, sizeof *t->text);
        t->hash = tf_xarray(t->hash, t->cap, sizeof *t->hash);
        t->slot = tf_xarray(t->slot, tf_hash_slots(t->cap), sizeof *t->slot);
    }
    memset(t->slot, 0, slots * sizeof *t->slot);
    t->mask = slots - 1;
    t->n = 0;
}

uint32_t tf_intern(struct tf_intern *t, struct tf_text s)
{
    uint64_t h = tf_hash_text(s);
    size_t i = h & t->mask;
    for (; t->slot[i]; i = (i + 1) & t->mask) {
        uint32_t k = t->slot[i] - 1;
        if (t->hash[k] == h && t->text[k].n == s.n && !memcmp(t->text[k].p, s.p, s.n))
            return k;
    }
    TF_ASSERT(t->n < t->cap);
    t->text[t->n] = s;
    t->hash[t->n] = h;
    t->slot[i] = (uint32_t)++t->n;
    return (uint32_t)t->n - 1;
}

void tf_intern_release(struct tf_intern *t)
{
    free(t->text);
    free(t->hash);
    free(t->slot);
    *t = (struct tf_intern){0};
}

struct tf_gram_slot {
    uint64_t key;  /* number of the (n-1)-gram << 32 | symbol */
    uint32_t gram; /* number + 1; 0: free */
};

static void start(struct tf_grams *g, size_t nr, size_t nh)
{
    size_t slots = tf_hash_slots(nr), most = nr > nh ? nr : nh;
    if (slots > g->cap) {
        g->slot = tf_xarray(g->slot, slots, sizeof *g->slot);
        g->cap = slots;
    }
    if (most > g->room) {
        g->room = most < 256 ? 256 : most;
        g->left = tf_xarray(g->left, g->room, sizeof *g->left);
        g->hyp = tf_xarray(g->hyp, g->room, sizeof *g->hyp);
        g->ref = tf_xarray(g->ref, g->room, sizeof *g->ref);
    }
    g->mask = slots - 1;
}

static struct tf_gram_slot *find(struct tf_grams *g, uint64_t key)
{
    size_t i = (size_t)(tf_hash_mix(key) >> 7) & g->mask;
    while (g->slot[i].gram && g->slot[i].key != key)
        i = (i + 1) & g->mask;
    return &g->slot[i];
}

/* an n-gram of the hypothesis that the reference lacks; so it lacks all that begin with it */
enum { NONE = UINT32_MAX };

void tf_grams_match(struct tf_grams *g, const uint32_t *hyp, size_t nh, const uint32_t *ref,
                    size_t nr, int orders, uint32_t *matches)
{
    start(g, nr, nh);
    if (nh)
        memset(g->hyp, 0, nh * sizeof *g->hyp);
    if (nr)
        memset(g->ref, 0, nr * sizeof *g->ref);
    bool any = true;
    for (size_t k = 1; k <= (size_t)orders && k <= nr && k <= nh && any; k++) {
        uint32_t grams = 0, found = 0;
        memset(g->slot, 0, (g->mask + 1) * sizeof *g->slot);
        for (size_t i = 0; i + k <= nr; i++) {
            uint64_t key = (uint64_t)g->ref[i] << 32 | ref[i + k - 1];
            struct tf_gram_slot *s = find(g, key);
            if (!s->gram) {
                *s = (struct tf_gram_slot){key, ++grams};
                g->left[grams - 1] = 0;
            }
            g->left[s->gram - 1]++;
            g->ref[i] = s->gram - 1;
        }
        any = false;
        for (size_t i = 0; i + k <= nh; i++) {
            if (g->hyp[i] == NONE)
                continue;
            struct tf_gram_slot *s = find(g, (uint64_t)g->hyp[i] << 32 | hyp[i + k - 1]);
            g->hyp[i] = s->gram ? s->gram - 1 : NONE;
            if (s->gram) {
                any = true;
                if (g->left[s->gram - 1]) {
                    g->left[s->gram - 1]--;
                    found++;
                }
            }
        }
        matches[k - 1] += found;
    }
}

void tf_grams_release(struct tf_grams *g)
{
    free(g->slot);
    free(g->left);
    free(g->hyp);
    free(g->ref);
    *g = (struct tf_grams){0};
}
