/* sample_pieces.c - see sample_pieces_private.h. */
#include "text/sample_pieces_private.h"
#include "base/memory.h"

/* The slot of a node, or the free slot where it belongs. */
static struct tf_sample_node *slot_of(const struct tf_sample_trie *t, uint32_t parent, uint32_t c)
{
    size_t i = tf_table_hash(t->key, (uint64_t)parent << 32 | c) & t->mask;
    while (t->nodes[i].parent != 0 && (t->nodes[i].parent != parent || t->nodes[i].c != c))
        i = (i + 1) & t->mask;
    return &t->nodes[i];
}

uint32_t tf_sample_next(const struct tf_sample_trie *t, uint32_t node, const char *p, size_t len)
{
    const struct tf_sample_node *next = slot_of(t, node, tf_sample_code(p, len));
    return next->parent != 0 ? (uint32_t)(next - t->nodes) + TF_SAMPLE_NODES : 0;
}

static uint32_t add_next(struct tf_sample_trie *t, uint32_t node, const char *p, size_t len)
{
    const uint32_t c = tf_sample_code(p, len);
    struct tf_sample_node *next = slot_of(t, node, c);
    if (next->parent == 0)
        *next = (struct tf_sample_node){.parent = node, .c = c, .id = -1};
    return (uint32_t)(next - t->nodes) + TF_SAMPLE_NODES;
}

void tf_sample_trie_new(struct tf_sample_trie *t, size_t most)
{
    t->mask = tf_table_slots(most) - 1;
    t->nodes = tf_xcalloc(t->mask + 1, sizeof *t->nodes);
    t->key = tf_table_key();
}

void tf_sample_add(struct tf_sample_trie *t, uint32_t id, const char *p, size_t n, bool backward)
{
    uint32_t node = TF_SAMPLE_ROOT;
    for (size_t done = 0; done < n;) {
        size_t len =
            backward ? tf_sample_char_before(p, n - done) : tf_sample_char(p + done, n - done);
        node = add_next(t, node, backward ? p + n - done - len : p + done, len);
        done += len;
    }
    struct tf_sample_node *whole = &t->nodes[node - TF_SAMPLE_NODES];
    if (whole->id < 0) /* the first of equal pieces counts */
        whole->id = id;
}

void tf_sample_put(const struct tf_sampler *s, struct tf_ids *ids, int64_t id, const char *p,
                   size_t n, bool *after_unknown)
{
    if (id >= 0) {
        tf_ids_add(ids, &(uint32_t){(uint32_t)id}, 1);
    } else if (s->has_bytes) {
        for (size_t i = 0; i < n; i++)
            tf_ids_add(ids, &s->byte_id[(unsigned char)p[i]], 1);
    } else if (!*after_unknown || s->renumbered) { /* tf_sp_finish joins those */
        tf_ids_add(ids, &s->unk, 1);
    }
    *after_unknown = id < 0;
}
