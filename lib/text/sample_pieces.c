/* sample_pieces.c - see sample_pieces.h. */
#include "text/sample_pieces.h"
#include <string.h>

struct tf_sample_slot *tf_sample_find(const struct tf_sample_table *table, uint64_t h,
                                      const char *p, size_t n)
{
    for (size_t i = h & table->mask;; i = (i + 1) & table->mask) {
        struct tf_sample_slot *t = &table->slots[i];
        if (t->n == 0 || (t->n == n && t->tag == h >> 32 && memcmp(t->p, p, n) == 0))
            return t;
    }
}

/* A part of a piece; id -1 unless it is the whole piece. The first of equal pieces counts. */
static void add_part(struct tf_sample_table *table, uint64_t h, const char *p, size_t n, int64_t id)
{
    struct tf_sample_slot *t = tf_sample_find(table, h, p, n);
    if (t->n == 0)
        *t = (struct tf_sample_slot){.p = p,
                                     .n = (uint32_t)n,
                                     .tag = (uint32_t)(h >> 32),
                                     .id = -1};
    if (t->id < 0)
        t->id = id;
}

void tf_sample_add(struct tf_sampler *s, uint32_t id, const char *p, size_t n)
{
    uint64_t h = tf_sample_hash_start(s);
    for (size_t end = 0; end < n;) {
        size_t len = tf_sample_char(p + end, n - end);
        h = tf_sample_hash(s, h, p + end, len);
        end += len;
        add_part(&s->prefixes, h, p, end, end == n ? (int64_t)id : -1);
    }
    h = tf_sample_hash_start(s);
    for (size_t from = n; s->suffixes.slots != NULL && from > 0;) {
        size_t len = tf_sample_char_before(p, from);
        from -= len;
        h = tf_sample_hash(s, h, p + from, len);
        add_part(&s->suffixes, h, p + from, n - from, from == 0 ? (int64_t)id : -1);
    }
}

void tf_sample_put(const struct tf_sampler *s, struct tf_ids *ids, int64_t id, const char *p,
                   size_t n, bool *after_unknown)
{
    if (id >= 0) {
        tf_ids_add(ids, &(uint32_t){(uint32_t)id}, 1);
    } else if (s->has_bytes) {
        for (size_t i = 0; i < n; i++)
            tf_ids_add(ids, &s->byte_id[(unsigned char)p[i]], 1);
    } else if (!*after_unknown) {
        tf_ids_add(ids, &s->unk, 1);
    }
    *after_unknown = id < 0;
}
