/* intern.c - see intern_private.h. Open addressing; the table is sized for the segment, at most
 * half full.
 */
#include "metrics/intern_private.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

void tf_intern_start(struct tf_intern *t, size_t n)
{
    size_t slots = tf_table_slots(n);
    if (n > t->cap || t->slot == NULL) {
        t->cap = n < 256 ? 256 : n;
        t->text = tf_xarray(t->text, t->cap, sizeof *t->text);
        t->hash = tf_xarray(t->hash, t->cap, sizeof *t->hash);
        t->slot = tf_xarray(t->slot, tf_table_slots(t->cap), sizeof *t->slot);
    }
    memset(t->slot, 0, slots * sizeof *t->slot);
    t->mask = slots - 1;
    t->key = tf_table_key();
    t->n = 0;
}

uint32_t tf_intern(struct tf_intern *t, struct tf_text s)
{
    uint64_t h = tf_table_hash_text(t->key, s.p, s.n);
    size_t i = h & t->mask;
    for (; t->slot[i]; i = (i + 1) & t->mask) {
        uint32_t k = t->slot[i] - 1;
        if (t->hash[k] == h && t->text[k].n == s.n && memcmp(t->text[k].p, s.p, s.n) == 0)
            return k;
    }
    TF_ASSERT(t->n < t->cap);
    t->text[t->n] = s;
    t->hash[t->n] = h;
    t->slot[i] = (uint32_t)++t->n;
    return (uint32_t)t->n - 1;
}

void tf_tokens_number(struct tf_tokens *t, struct tf_intern *i)
{
    if (t->n > t->number_cap) {
        t->number_cap = t->cap;
        t->number = tf_xarray(t->number, t->number_cap, sizeof *t->number);
    }
    for (size_t k = 0; k < t->n; k++)
        t->number[k] = tf_intern(i, t->v[k]);
}

void tf_intern_release(struct tf_intern *t)
{
    free(t->text);
    free(t->hash);
    free(t->slot);
    *t = (struct tf_intern){0};
}
