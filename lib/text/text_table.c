/* text_table.c - see text_table_private.h. */
#include "text/text_table_private.h"
#include "base/memory.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64 };

/* The entry of a text, or the free one where it belongs. */
static struct tf_text_entry *entry_of(const struct tf_text_table *t, struct tf_text s)
{
    size_t i = tf_table_hash_text(t->key, s.p, s.n) & (t->slots - 1);
    while (t->v[i].text.p != NULL && !tf_text_same(t->v[i].text, s))
        i = (i + 1) & (t->slots - 1);
    return &t->v[i];
}

uint32_t tf_text_table_find(const struct tf_text_table *t, const char *p, size_t n)
{
    if (t->n == 0)
        return TF_NO_TEXT;
    const struct tf_text_entry *e = entry_of(t, (struct tf_text){p, n});
    return e->text.p != NULL ? e->number : TF_NO_TEXT;
}

static void grow(struct tf_text_table *t)
{
    const struct tf_text_table old = *t;
    t->slots = old.slots > 0 ? 2 * old.slots : FIRST_SLOTS;
    t->v = tf_xcalloc(t->slots, sizeof *t->v);
    if (old.slots == 0)
        t->key = tf_table_key();
    for (size_t i = 0; i < old.slots; i++)
        if (old.v[i].text.p != NULL)
            *entry_of(t, old.v[i].text) = old.v[i];
    free(old.v);
}

void tf_text_table_add(struct tf_text_table *t, const char *p, size_t n, uint32_t number)
{
    if (2 * (t->n + 1) > t->slots)
        grow(t);
    *entry_of(t, (struct tf_text){p, n}) = (struct tf_text_entry){{p, n}, number};
    t->n++;
}

void tf_text_table_release(struct tf_text_table *t)
{
    free(t->v);
    *t = (struct tf_text_table){0};
}
