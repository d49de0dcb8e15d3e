/* bpe.c - see bpe_private.h. */
#include "text/bpe_private.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/bpe_codes_private.h"
#include "text/merge_heap_private.h"
#include "text/sp_piece.h"
#include "text/sp_settings_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };
#define UNKNOWN "\xe2\x81\x87" /* U+2047, as SentencePiece decodes what is unknown */

struct tf_bpe {
    const struct tf_sp *sp;
    bool words; /* no codes: words are tokens */
    struct tf_bpe_codes codes;
    struct tf_bpe_merges merges;
    struct tf_text_table tokens; /* ids */
    uint32_t unk, end;           /* end: the mark as a symbol */
};

/* ---- loading ---- */

/* The token of an id: its piece without the space that each has. */
static struct tf_text token_of(const struct tf_sp *sp, uint32_t id)
{
    struct tf_text s;
    s.p = tf_sp_piece(sp, id, &s.n);
    const size_t space = tf_piece_space(s.p, s.n);
    return (struct tf_text){s.p + space, s.n - space};
}

static void list_tokens(struct tf_bpe *b)
{
    for (uint32_t id = 0; id < (uint64_t)tf_sp_size(b->sp); id++) {
        const struct tf_text s = token_of(b->sp, id);
        if (tf_sp_kind(b->sp, id) == TF_SP_NORMAL &&
            tf_text_table_find(&b->tokens, s.p, s.n) == TF_NO_TEXT)
            tf_text_table_add(&b->tokens, s.p, s.n, id);
    }
}

static uint32_t symbol_of(const struct tf_bpe *b, const char *p, size_t n)
{
    return tf_text_table_find(&b->merges.symbols, p, n);
}

int tf_bpe_load(struct tf_bpe **bpe, const void *bytes, size_t n, const struct tf_sp *sp,
                struct tf_err *err)
{
    const struct tf_sp_settings is = tf_sp_settings_of(bytes, n);
    const struct tf_bpe_codes codes = is.codes;
    struct tf_bpe_merges merges = {0};
    *bpe = NULL;
    if (codes.lines == NULL && !is.words)
        return 0;
    if (tf_sp_unk(sp) < 0)
        return tf_fail(err, "words between spaces, and no unknown piece");
    if (codes.lines != NULL && tf_bpe_merges_new(&merges, &codes, err) != 0)
        return tf_context(err, "codes");
    struct tf_bpe *b = tf_xcalloc(1, sizeof *b);
    b->sp = sp;
    b->words = codes.lines == NULL;
    b->codes = codes;
    b->merges = merges;
    b->unk = (uint32_t)tf_sp_unk(sp);
    b->end = b->words ? 0 : symbol_of(b, TF_BPE_END, strlen(TF_BPE_END));
    list_tokens(b);
    *bpe = b;
    return 0;
}

void tf_bpe_free(struct tf_bpe *b)
{
    if (b == NULL)
        return;
    tf_bpe_merges_release(&b->merges);
    tf_text_table_release(&b->tokens);
    free(b);
}

/* ---- a word ---- */

struct symbol {
    uint32_t symbol;    /* TF_NO_TEXT: one that no merge has, or joined to the one before */
    uint32_t at, n;     /* bytes of the word; n = 0: the end alone */
    int32_t prev, next; /* NONE at the ends */
};

struct work {
    const struct tf_bpe *b;
    struct symbol *v; /* room for every byte and the end */
    struct tf_merge_heap merges;
    int32_t *joined; /* the symbols that merges of one rank have made */
    size_t room;     /* symbols */
    struct tf_buf text;
    struct tf_ids *ids; /* what becomes of pieces: either of these */
    struct tf_buf *out;
};

static void make_room(struct work *w, size_t symbols)
{
    if (symbols <= w->room)
        return;
    w->room = symbols;
    w->v = tf_xarray(w->v, symbols, sizeof *w->v);
    w->joined = tf_xarray(w->joined, symbols, sizeof *w->joined);
}

/* The merge of a symbol and the next, or NULL. */
static const struct tf_bpe_merge *merge_at(const struct work *w, int32_t i)
{
    const struct symbol *s = &w->v[i];
    return s->next == NONE ? NULL : tf_bpe_merge_of(&w->b->merges, s->symbol, w->v[s->next].symbol);
}

static void offer_merge(struct work *w, int32_t i)
{
    const struct tf_bpe_merge *merge = i != NONE ? merge_at(w, i) : NULL;
    if (merge != NULL)
        tf_merge_push(&w->merges,
                      (struct tf_merge){.order = (uint64_t)merge->rank << 32 | (uint32_t)i});
}

/* False: these two are no longer there. */
static bool join(struct work *w, int32_t i, uint32_t rank)
{
    const struct tf_bpe_merge *merge = merge_at(w, i);
    if (merge == NULL || merge->rank != rank)
        return false;
    struct symbol *s = &w->v[i], *t = &w->v[s->next];
    s->symbol = merge->joined;
    s->n += t->n;
    s->next = t->next;
    t->symbol = TF_NO_TEXT;
    if (s->next != NONE)
        w->v[s->next].prev = i;
    return true;
}

/* All merges of the least rank, from the left, come before those that they make possible, even of a
 * lesser rank. */
static void merge_all(struct work *w)
{
    struct tf_merge_heap *h = &w->merges;
    while (h->n > 0) {
        const uint32_t rank = (uint32_t)(h->v[0].order >> 32);
        size_t n = 0;
        while (h->n > 0 && h->v[0].order >> 32 == rank) {
            const int32_t i = (int32_t)(uint32_t)tf_merge_pop(h).order;
            if (join(w, i, rank))
                w->joined[n++] = i;
        }
        for (size_t k = 0; k < n; k++) {
            offer_merge(w, w->v[w->joined[k]].prev);
            offer_merge(w, w->joined[k]);
        }
    }
}

/* The last character is a symbol with the end. */
static uint32_t last_symbol(struct work *w, const char *p, size_t n)
{
    tf_buf_clear(&w->text);
    tf_buf_add(&w->text, p, n);
    tf_buf_str(&w->text, TF_BPE_END);
    return symbol_of(w->b, w->text.p, w->text.len);
}

/* The symbols of a word; returns their number. */
static size_t split_word(struct work *w, const char *p, size_t n)
{
    const bool alone = w->b->codes.end_alone;
    size_t k = 0;
    make_room(w, n + 1);
    for (size_t at = 0, len; at < n; at += len, k++) {
        len = tf_utf8_at(p + at, n - at);
        w->v[k] = (struct symbol){.at = (uint32_t)at, .n = (uint32_t)len};
        w->v[k].symbol =
            at + len < n || alone ? symbol_of(w->b, p + at, len) : last_symbol(w, p + at, len);
    }
    if (alone)
        w->v[k++] = (struct symbol){.symbol = w->b->end, .at = (uint32_t)n};
    for (size_t i = 0; i < k; i++) {
        w->v[i].prev = (int32_t)i - 1;
        w->v[i].next = i + 1 < k ? (int32_t)i + 1 : NONE;
    }
    return k;
}

static void put_piece(struct work *w, const char *p, size_t n, bool last)
{
    const bool end = w->b->codes.end_in_pieces;
    tf_buf_clear(&w->text);
    tf_buf_add(&w->text, p, n);
    if (last == end && !w->b->words)
        tf_buf_str(&w->text, end ? TF_BPE_END : TF_BPE_CONTINUES);
    if (w->ids != NULL) {
        uint32_t id = tf_text_table_find(&w->b->tokens, w->text.p, w->text.len);
        id = id != TF_NO_TEXT ? id : w->b->unk;
        tf_ids_add(w->ids, &id, 1);
    } else {
        if (w->out->len > 0)
            tf_buf_byte(w->out, ' ');
        if (w->b->words)
            tf_buf_str(w->out, TF_SPACE);
        tf_buf_add(w->out, w->text.p, w->text.len);
    }
}

static void put_word(struct work *w, const char *p, size_t n)
{
    /* A character is one piece, whatever the codes have. */
    if (w->b->words || tf_utf8_at(p, n) == n) {
        put_piece(w, p, n, true);
        return;
    }
    const size_t k = split_word(w, p, n);
    for (size_t i = 0; i < k; i++)
        offer_merge(w, (int32_t)i);
    merge_all(w);
    for (int32_t i = 0; i != NONE && w->v[i].n > 0; i = w->v[i].next) {
        const int32_t next = w->v[i].next;
        put_piece(w, p + w->v[i].at, w->v[i].n, next == NONE || w->v[next].n == 0);
    }
}

/* ---- text ---- */

/* Words are between spaces; a CR counts as one at the ends of the text. */
static void put_text(struct work *w, const char *p, size_t n)
{
    struct tf_text rest = tf_bpe_trim((struct tf_text){p, n}), word;
    while (tf_text_cut(&rest, ' ', &word))
        if (word.n > 0)
            put_word(w, word.p, word.n);
    free(w->v);
    free(w->merges.v);
    free(w->joined);
    tf_buf_release(&w->text);
}

void tf_bpe_encode(const struct tf_bpe *b, const char *text, size_t n, struct tf_ids *ids)
{
    put_text(&(struct work){.b = b, .ids = ids}, text, n);
}

void tf_bpe_pieces(const struct tf_bpe *b, const char *text, size_t n, struct tf_buf *out)
{
    struct tf_buf line = {0};
    put_text(&(struct work){.b = b, .out = &line}, text, n);
    tf_buf_add(out, line.p, line.len);
    tf_buf_release(&line);
}

/* Does s end so? Then it is without that. */
static bool cut_end(struct tf_text *s, const char *end)
{
    const bool ends = tf_text_ends(*s, end);
    s->n -= ends ? strlen(end) : 0;
    return ends;
}

/* Cut the mark of the codes from the token of an id. True if a word ends with it. */
static bool cut_word(const struct tf_bpe *b, uint32_t id, struct tf_text *s)
{
    const bool end = b->codes.end_in_pieces;
    return id == b->unk || b->words || cut_end(s, end ? TF_BPE_END : TF_BPE_CONTINUES) == end;
}

bool tf_bpe_ends_word(const struct tf_bpe *b, uint32_t id)
{
    struct tf_text s = token_of(b->sp, id);
    return cut_word(b, id, &s);
}

int tf_bpe_decode(const struct tf_bpe *b, const uint32_t *ids, size_t n, struct tf_buf *out,
                  struct tf_err *err)
{
    const size_t text = tf_sp_text_bytes(b->sp, ids, n);
    bool within = true; /* no space comes before the next piece */
    if (text > TF_MAX_TEXT)
        return tf_fail(err, "text of %zu bytes, at most %zu", text, TF_MAX_TEXT);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= (uint64_t)tf_sp_size(b->sp))
            return tf_fail(err, "id %" PRIu32 ": the vocabulary has %" PRId64, ids[i],
                           tf_sp_size(b->sp));
        if (tf_sp_kind(b->sp, ids[i]) == TF_SP_CONTROL)
            continue;
        const bool unknown = ids[i] == b->unk;
        struct tf_text s =
            unknown ? (struct tf_text){UNKNOWN, sizeof UNKNOWN - 1} : token_of(b->sp, ids[i]);
        if (!within)
            tf_buf_byte(out, ' ');
        within = !cut_word(b, ids[i], &s);
        tf_buf_add(out, s.p, s.n);
    }
    return 0;
}
