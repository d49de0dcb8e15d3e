/* Tables over input under chosen keys. The entries below were chosen for the hash functions of
 * HASHES, which have no key, so that all of them belong into one part in 64 of the slots; under
 * such a function each look-up passes by most of the entries before it. How many entries a look-up
 * can pass by is the length of the longest run of used slots. */
#include "../harness/tap.h"
#include "base/memory.h"
#include "metrics/chrf_private.h"
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

/* ---- words ---- */

static bool number_used(const void *t, size_t i)
{
    return ((const struct tf_intern *)t)->slot[i] != 0;
}

static void words(void)
{
    char(*w)[WORD] = chosen_words(word_hash, tf_table_slots(ENTRIES));
    struct tf_intern t = {0};
    tf_intern_start(&t, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++)
        tf_intern(&t, (struct tf_text){w[i], WORD});
    is_spread("words", t.mask + 1, number_used, &t, ENTRIES);
    tf_intern_release(&t);
    free(w);
}

/* ---- n-grams ---- */

enum { SYMBOLS = 1024 };

static bool chars_used(const void *g, size_t i)
{
    return ((const struct tf_gram_table *)g)->slot[i].gram != 0;
}

static size_t put_char(char *to, size_t c)
{
    to[0] = (char)(0xe0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 63));
    to[2] = (char)(0x80 | (c & 63));
    return 3;
}

/* First each of 1024 characters, then pairs of them: the number of a character is its place among
 * the first ones. */
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
    is_int(c.grams.table.mask + 1, (long long)slots, "slots of the table");
    is_spread("n-grams", slots, chars_used, &c.grams.table, ENTRIES);
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
            v[n] = (struct tf_trie_piece){.text = {text[n], 2}, .id = n};
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
    characters();
    pieces();
    return done();
}
