/* segment_bpe.c - merges of neighbours, those of the highest score first, of equal ones the first
 * in the text. Where no piece has a space after its start, no merge joins two words: words are
 * segmented one by one, and short ones that have been before are found in a table. */
#include "base/memory.h"
#include "base/table_hash.h"
#include "text/segment_private.h"

#include <string.h>

#define SPACE "\xe2\x96\x81" /* U+2581 */

/* ---- a word ---- */

/* The node of a text that n more bytes follow; 0: no piece begins so. */
static uint32_t walk(const struct tf_piece_trie *t, uint32_t node, const char *p, size_t n)
{
    for (size_t i = 0; i < n && (i == 0 || node != 0); i++)
        node = tf_piece_next(t, node, (unsigned char)p[i]);
    return node;
}

/* Add the merge of two neighbours to the heap if the result is a piece. */
static void offer(const struct tf_segmenter *s, struct tf_segment_room *r, const char *text,
                  uint32_t left, uint32_t right)
{
    const struct tf_segment_symbol *a = &r->symbols[left], *b = &r->symbols[right];
    const uint32_t node = a->node != 0 ? walk(&s->all, a->node, text + b->at, b->n) : 0;
    if (node != 0 && s->all.v[node].id != TF_NO_PIECE)
        tf_merge_push(&r->merges, (struct tf_merge){.score = s->all.v[node].score,
                                                    .left = left,
                                                    .right = right,
                                                    .n = a->n + b->n,
                                                    .node = node});
}

static void merge(const struct tf_segmenter *s, struct tf_segment_room *r, const char *text)
{
    while (r->merges.n > 0) {
        const struct tf_merge m = tf_merge_pop(&r->merges);
        struct tf_segment_symbol *left = &r->symbols[m.left], *right = &r->symbols[m.right];
        if (left->n == 0 || right->n == 0 || left->n + right->n != m.n)
            continue;
        left->n = m.n;
        left->node = m.node;
        left->next = right->next;
        right->n = 0;
        if (left->next > 0)
            r->symbols[left->next - 1].prev = m.left + 1;
        if (left->prev > 0)
            offer(s, r, text, left->prev - 1, m.left);
        if (left->next > 0)
            offer(s, r, text, m.left, left->next - 1);
    }
}

static void segment_word(const struct tf_segmenter *s, struct tf_segment_room *r, const char *text,
                         size_t n, struct tf_ids *ids)
{
    if (r->n_symbols < n) {
        r->n_symbols = n;
        r->symbols = tf_xarray(r->symbols, r->n_symbols, sizeof *r->symbols);
    }
    uint32_t count = 0;
    for (size_t at = 0, len; at < n; at += len) {
        len = tf_segment_char(text + at, n - at);
        r->symbols[count] = (struct tf_segment_symbol){.at = (uint32_t)at,
                                                       .n = (uint32_t)len,
                                                       .prev = count,
                                                       .next = at + len < n ? count + 2 : 0,
                                                       .node = walk(&s->all, 0, text + at, len)};
        count++;
    }
    for (uint32_t i = 0; i + 1 < count; i++)
        offer(s, r, text, i, i + 1);
    merge(s, r, text);
    for (uint32_t i = 0; i < count; i = r->symbols[i].next - 1) {
        const struct tf_segment_symbol *sym = &r->symbols[i];
        const struct tf_piece_node *node = &s->all.v[sym->node];
        if (sym->node != 0 && node->id != TF_NO_PIECE)
            tf_ids_add(ids, &node->id, 1);
        else
            tf_segment_unknown(s, text + sym->at, sym->n, ids);
        if (sym->next == 0)
            break;
    }
}

/* ---- words ---- */

static void put_word(const struct tf_segmenter *s, struct tf_segment_room *r, const char *text,
                     size_t n, struct tf_ids *ids)
{
    const size_t start = ids->n;
    if (n == 0)
        return;
    if (n > sizeof r->words->text) {
        segment_word(s, r, text, n, ids);
        return;
    }
    if (r->words == NULL)
        r->words = tf_xcalloc(TF_SEGMENT_WORDS, sizeof *r->words);
    struct tf_segment_word *w =
        &r->words[tf_table_hash_text(tf_table_key(), text, n) % TF_SEGMENT_WORDS];
    if (w->n == n && memcmp(w->text, text, n) == 0) {
        tf_ids_add(ids, w->ids, w->n_ids);
        return;
    }
    segment_word(s, r, text, n, ids);
    if (ids->n - start > TF_SEGMENT_IDS)
        return;
    w->n = (uint8_t)n;
    w->n_ids = (uint8_t)(ids->n - start);
    memcpy(w->text, text, n);
    memcpy(w->ids, ids->v + start, w->n_ids * sizeof *w->ids);
}

void tf_segment_bpe(const struct tf_segmenter *s, struct tf_segment_room *room, const char *text,
                    size_t n, struct tf_ids *ids)
{
    size_t from = 0;
    for (size_t at = 0, len; at < n; at += len) {
        uint32_t id;
        len = s->has_user ? tf_piece_longest(&s->user, text + at, n - at, &id) : 0;
        if (len > 0) { /* no merge joins a user-defined symbol with anything */
            put_word(s, room, text + from, at - from, ids);
            tf_ids_add(ids, &id, 1);
            from = at + len;
            continue;
        }
        len = tf_segment_char(text + at, n - at);
        if (s->words && len == sizeof SPACE - 1 && memcmp(text + at, SPACE, len) == 0) {
            put_word(s, room, text + from, at - from, ids);
            from = at;
        }
    }
    put_word(s, room, text + from, n - from, ids);
}
