/* Tables over input under chosen keys. The entries below were chosen for the hash functions of
 * HASHES, which have no key, so that all of them belong into one part in 64 of the slots; under
 * such a function each look-up passes by most of the entries before it. How many entries a look-up
 * can pass by is the length of the longest run of used slots. */
#include "../harness/tap.h"
#include "base/memory.h"
#include "metrics/chrf_private.h"
#include "metrics/intern_private.h"
#include "metrics/ngrams_private.h"
#include "text/piece_trie_private.h"

enum { ENTRIES = 4096, WORD = 8, LONGEST = 300 };

static uint64_t mix(uint64_t x)
{
    x *= 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

/* HASHES: of a word of 8 bytes; of a number and a symbol: an n-gram. */
static uint64_t word_hash(const char *p)
{
    uint64_t w;
    memcpy(&w, p, WORD);
    return mix((uint64_t)WORD ^ (uint64_t)WORD << 56 ^ w);
}

static uint64_t pair_hash(uint64_t number, uint64_t symbol)
{
    return mix(number << 32 | symbol);
}

/* Is that hash in the first 64th of so many slots? */
static bool chosen(uint64_t h, size_t slots)
{
    return (h & (slots - 1)) < slots / 64;
}

/* ENTRIES words of 8 letters that share slots. */
static char (*chosen_words(uint64_t (*hash)(const char *), size_t slots))[WORD]
{
    char(*w)[WORD] = tf_xarray(NULL, ENTRIES, sizeof *w);
    size_t n = 0;
    for (uint64_t k = 0; n < ENTRIES; k++) {
        for (int i = 0; i < WORD; i++)
            w[n][i] = (char)('a' + (k >> (4 * i) & 15));
        n += chosen(hash(w[n]), slots);
    }
    return w;
}

/* used(table, i): whether slot i is. */
static void is_spread(const char *name, size_t slots, bool (*used)(const void *table, size_t i),
                      const void *table, size_t least)
{
    size_t run = 0, longest = 0, n = 0;
    for (size_t i = 0; i < slots; i++) {
        run = used(table, i) ? run + 1 : 0;
        n += run > 0;
        longest = run > longest ? run : longest;
    }
    ok(n >= least, "%s: %zu of %zu slots used", name, n, slots);
    ok(longest <= LONGEST, "%s: %zu used slots in a row, at most %d", name, longest, LONGEST);
}

/* ---- words: of BLEU, and of chrF and TER ---- */

static bool word_used(const void *g, size_t i)
{
    return ((const struct tf_ngrams *)g)->word_slots[i] != 0;
}

static bool number_used(const void *t, size_t i)
{
    return ((const struct tf_intern *)t)->slot[i] != 0;
}

static void words(void)
{
    char(*w)[WORD] = chosen_words(word_hash, tf_table_slots(ENTRIES));
    struct tf_text v[ENTRIES];
    struct tf_ngrams g = {0};
    struct tf_intern t = {0};
    for (size_t i = 0; i < ENTRIES; i++)
        v[i] = (struct tf_text){w[i], WORD};
    tf_ngrams_start(&g, ENTRIES);
    tf_ngrams_add(&g, v, ENTRIES);
    is_spread("words of BLEU", g.word_mask + 1, word_used, &g, ENTRIES);
    tf_intern_start(&t, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++)
        tf_intern(&t, v[i]);
    is_spread("words of TER", t.mask + 1, number_used, &t, ENTRIES);
    tf_ngrams_release(&g);
    tf_intern_release(&t);
    free(w);
}

/* ---- n-grams: of BLEU, and of chrF ---- */

enum { SYMBOLS = 1024 };

static bool gram_used(const void *g, size_t i)
{
    return ((const struct tf_ngrams *)g)->slots[i].node != 0;
}

/* First each of 1024 words, so that their nodes are known; then pairs of words. */
static void grams(void)
{
    const size_t tokens = SYMBOLS + 2 * ENTRIES;
    struct tf_ngrams g = {0};
    char text[SYMBOLS][4];
    uint32_t node[SYMBOLS];
    struct tf_text v[SYMBOLS], pair[2];
    size_t n = 0;
    tf_ngrams_start(&g, tokens);
    for (size_t i = 0; i < SYMBOLS; i++) {
        for (int k = 0; k < 4; k++)
            text[i][k] = (char)('a' + (i >> (4 * k) & 15));
        v[i] = (struct tf_text){text[i], 4};
    }
    tf_ngrams_add(&g, v, SYMBOLS);
    for (size_t i = 0; i <= g.word_mask; i++)
        if (g.word_slots[i] != 0)
            node[g.nodes[g.word_slots[i]].token] = g.word_slots[i];
    for (size_t i = 0; i < SYMBOLS && n < ENTRIES; i++)
        for (size_t k = 0; k < SYMBOLS && n < ENTRIES; k++)
            if (chosen(pair_hash(node[i], k) >> 8, g.mask + 1)) {
                pair[0] = v[i];
                pair[1] = v[k];
                tf_ngrams_add(&g, pair, 2);
                n++;
            }
    is_spread("n-grams of BLEU", g.mask + 1, gram_used, &g, ENTRIES);
    tf_ngrams_release(&g);
}

static bool chars_used(const void *g, size_t i)
{
    return ((const struct tf_chrf_grams *)g)->slot[i].gram != 0;
}

static size_t put_char(char *to, size_t c)
{
    to[0] = (char)(0xe0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 63));
    to[2] = (char)(0x80 | (c & 63));
    return 3;
}

/* The same with characters: the number of a character is its place among the first ones. */
static void characters(void)
{
    const size_t first = 0x4e00, chars = SYMBOLS + 2 * ENTRIES, slots = tf_table_slots(chars);
    struct tf_chrf c = {.opts = {.chars = 2}};
    uint32_t counts[2 * TF_CHRF_COUNTS];
    char *s = tf_xmalloc(3 * chars);
    size_t n = 0, len = 0;
    for (size_t i = 0; i < SYMBOLS; i++)
        len += put_char(s + len, first + i);
    for (size_t i = 0; i < SYMBOLS && n < ENTRIES; i++)
        for (size_t k = 0; k < SYMBOLS && n < ENTRIES; k++)
            if (chosen(pair_hash(i, first + k) >> 7, slots)) {
                len += put_char(s + len, first + i);
                len += put_char(s + len, first + k);
                n++;
            }
    const struct tf_text text = {s, len};
    tf_chrf_segment(&c, counts, text, &text, 1);
    is_int(c.grams.mask + 1, (long long)slots, "slots of chrF's table");
    is_spread("n-grams of chrF", slots, chars_used, &c.grams, ENTRIES);
    tf_chrf_release(&c);
    free(s);
}

/* ---- pieces of a vocabulary ---- */

/* A trie is no table, but its places could be chosen as well: 256 nodes with children of random
 * bytes, of which few sets fit beside each other. */
static void pieces(void)
{
    enum { NODES = 256, CHILDREN = 24, PIECES = NODES * CHILDREN };
    static char text[PIECES][2];
    static struct tf_trie_piece v[PIECES];
    struct tf_piece_trie t;
    uint32_t n = 0, found = 0, id;
    for (uint32_t node = 0; node < NODES; node++)
        for (uint32_t k = 0, c = node; k < CHILDREN; k++, n++) {
            c = (c + 1 + (uint32_t)mix(n) % 9) & 255;
            text[n][0] = (char)node;
            text[n][1] = (char)c;
            v[n] = (struct tf_trie_piece){.p = text[n], .n = 2, .id = n};
        }
    ok(tf_piece_trie_build(&t, v, PIECES), "a trie of %d pieces", PIECES);
    for (n = 0; n < PIECES; n++)
        found += tf_piece_longest(&t, text[n], 2, &id) == 2 && id == n;
    is_int(found, PIECES, "has them all");
    ok(t.n <= 8 * PIECES, "in %zu places, at most %d", t.n, 8 * PIECES);
    tf_piece_trie_release(&t);
}

int main(void)
{
    words();
    grams();
    characters();
    pieces();
    return done();
}
