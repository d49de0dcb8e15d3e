/* segment_bpe.c - merges of neighbours, those of the highest score first, of equal ones the first
 * in the text. Where no piece has a space after its start, no merge joins two words: words are
 * segmented one by one, and short ones that have been before are found in a table. */
#include "base/memory.h"
#include "base/table_hash.h"
#include "text/segment_private.h"

#include <string.h>

/* ---- merges ---- */

/* The node of a text that n more bytes follow; 0: no piece begins so. */
static uint32_t walk(const struct tf_piece_trie *t, uint32_t node, const char *p, size_t n)
{
    for (size_t i = 0; i < n && (i == 0 || node != 0); i++)
        node = tf_piece_next(t, node, (unsigned char)p[i]);
    return node;
}

/* Add the merge of two neighbours to the heap if the result is a piece. */
static void offer_merge(const struct tf_pieces *v, struct tf_segment_room *r, const char *text,
                        uint32_t left, uint32_t right)
{
    const struct tf_segment_symbol *a = &r->symbols[left], *b = &r->symbols[right];
    const uint32_t node = a->node != 0 ? walk(&v->all, a->node, text + b->at, b->n) : 0;
    if (node != 0 && v->all.v[node].id != TF_NO_PIECE)
        tf_merge_push(&r->merges,
                      (struct tf_merge){.order = tf_merge_order(v->all.v[node].score, left),
                                        .n = a->n + b->n,
                                        .node = node});
}

static void reserve_symbols(struct tf_segment_room *r, size_t n)
{
    if (r->n_symbols < n) {
        r->n_symbols = n;
        r->symbols = tf_xarray(r->symbols, r->n_symbols, sizeof *r->symbols);
    }
}

/* Add the characters from one offset of the text to another, as symbols from `count` on that merge
 * with each other only; returns their end. */
static uint32_t add_symbols(const struct tf_pieces *v, struct tf_segment_room *r, uint32_t count,
                            const char *text, size_t from, size_t to)
{
    const uint32_t first = count;
    for (size_t at = from, len; at < to; at += len) {
        len = tf_pieces_char(text + at, to - at);
        r->symbols[count] = (struct tf_segment_symbol){.at = (uint32_t)at,
                                                       .n = (uint32_t)len,
                                                       .prev = at > from ? count : 0,
                                                       .next = at + len < to ? count + 2 : 0,
                                                       .node = walk(&v->all, 0, text + at, len)};
        count++;
    }
    for (uint32_t i = first; i + 1 < count; i++)
        offer_merge(v, r, text, i, i + 1);
    return count;
}

/* Merge, each time with probability 1 - dropout. */
static void merge(const struct tf_pieces *v, struct tf_segment_room *r, const char *text,
                  double dropout, struct tf_rng *rng)
{
    while (r->merges.n > 0) {
        const struct tf_merge m = tf_merge_pop(&r->merges);
        const uint32_t at = (uint32_t)m.order;
        struct tf_segment_symbol *left = &r->symbols[at];
        if (left->n == 0 || left->next == 0)
            continue;
        struct tf_segment_symbol *right = &r->symbols[left->next - 1];
        if (left->n + right->n != m.n) /* one of them has been merged */
            continue;
        if (dropout > 0 && tf_rng_real(rng) < dropout)
            continue;
        left->n = m.n;
        left->node = m.node;
        left->next = right->next;
        right->n = 0;
        if (left->next > 0)
            r->symbols[left->next - 1].prev = at + 1;
        if (left->prev > 0)
            offer_merge(v, r, text, left->prev - 1, at);
        if (left->next > 0)
            offer_merge(v, r, text, at, left->next - 1);
    }
}

static void put_symbols(const struct tf_pieces *v, const struct tf_segment_room *r, uint32_t count,
                        const char *text, struct tf_ids *ids)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct tf_segment_symbol *symbol = &r->symbols[i];
        const struct tf_piece_node *node = &v->all.v[symbol->node];
        if (symbol->node != 0 && node->id != TF_NO_PIECE && symbol->n > 0)
            tf_ids_add(ids, &node->id, 1);
        else if (symbol->n > 0)
            tf_pieces_unknown(v, text + symbol->at, symbol->n, ids);
    }
}

void tf_segment_dropout(const struct tf_pieces *v, struct tf_segment_room *r, const char *text,
                        size_t n, double dropout, struct tf_rng *rng, struct tf_ids *ids)
{
    size_t from = 0;
    uint32_t count = 0;
    reserve_symbols(r, n);
    for (size_t at = 0, len; at < n; at += len) {
        uint32_t id;
        const size_t user = tf_pieces_user(v, text + at, n - at, &id);
        len = user > 0 ? user : tf_pieces_char(text + at, n - at);
        if (user == 0)
            continue;
        count = add_symbols(v, r, count, text, from, at);
        r->symbols[count++] = (struct tf_segment_symbol){.at = (uint32_t)at,
                                                         .n = (uint32_t)user,
                                                         .node = walk(&v->all, 0, text + at, user)};
        from = at + user;
    }
    count = add_symbols(v, r, count, text, from, n);
    merge(v, r, text, dropout, rng);
    put_symbols(v, r, count, text, ids);
}

/* ---- words ---- */

static void segment_word(const struct tf_pieces *v, struct tf_segment_room *r, const char *text,
                         size_t n, struct tf_ids *ids)
{
    reserve_symbols(r, n);
    const uint32_t count = add_symbols(v, r, 0, text, 0, n);
    merge(v, r, text, 0, NULL);
    put_symbols(v, r, count, text, ids);
}

static void put_word(const struct tf_segmenter *s, struct tf_segment_room *r, const char *text,
                     size_t n, struct tf_ids *ids)
{
    const size_t start = ids->n;
    if (n == 0)
        return;
    if (n > sizeof r->words->text) {
        segment_word(&s->pieces, r, text, n, ids);
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
    segment_word(&s->pieces, r, text, n, ids);
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
        len = tf_pieces_user(&s->pieces, text + at, n - at, &id);
        if (len > 0) { /* no merge joins a user-defined symbol with anything */
            put_word(s, room, text + from, at - from, ids);
            tf_ids_add(ids, &id, 1);
            from = at + len;
            continue;
        }
        len = tf_pieces_char(text + at, n - at);
        if (s->words && tf_piece_space(text + at, len) > 0) {
            put_word(s, room, text + from, at - from, ids);
            from = at;
        }
    }
    put_word(s, room, text + from, n - from, ids);
}
