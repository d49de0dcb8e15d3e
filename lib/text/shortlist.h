/* shortlist.h - lexical shortlists: which target ids may translate a source id, so that search
 * chooses among few. Two kinds of files:
 *
 * Text, as Marian reads it (github.com/marian-nmt/marian-dev, src/data/shortlist.cpp): lines of a
 * target piece, a source piece and the probability of the former given the latter, between white
 * space. Lines with the piece NULL are left out; a piece that the vocabulary lacks counts as the
 * unknown one; of a pair that is there twice the last line counts. A source id has the `best`
 * target ids of the highest probability above `threshold`, of equal ones those of higher id.
 *
 * Binary, as Bergamot and Firefox have it (browsermt/marian-dev, the same file; all numbers
 * little-endian): u64 0xF11A48D5013417F5; u64 checksum; u64 first; u64 best; u64 n + 1 for n source
 * ids; u64 m; the n + 1 offsets, u64 each, of the parts of each source id; m target ids, u32 each.
 * The checksum s over all u64 words v after it, as far as they are whole, begins with 0:
 *     s ^= v + 0x9e3779b9 + (s << 6) + (s >> 2). */
#ifndef TF_TEXT_SHORTLIST_H
#define TF_TEXT_SHORTLIST_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>

/* Whose shortlist decoding has. */
enum tf_list_use {
    TF_LIST_NONE,
    TF_LIST_OWN,   /* the first model's, if it has one and the device is the CPU */
    TF_LIST_MODEL, /* the first model's */
    TF_LIST_FILE,  /* another one */
};
/* What the argument of --shortlist names; NULL: there is none. */
enum tf_list_use tf_shortlist_use(const char *text);

struct tf_shortlist {
    size_t first, best; /* target ids 0 .. first - 1 are in every set; best: of a source id */
    size_t n;           /* source ids */
    size_t *off;        /* [n + 1] */
    uint32_t *ids;      /* [off[n]]: those of source id i from off[i] on */
};

/* What a list is for. A vocabulary is the bytes of a SentencePiece model. */
struct tf_shortlist_vocab {
    const void *source, *target;
    size_t source_n, target_n;
    size_t source_ids, target_ids; /* ids beyond them are errors; binary: of source_ids */
    int64_t unk;                   /* or -1 */
};

/* The numbers of a text file; a binary file has its own. */
struct tf_shortlist_cut {
    size_t first, best;
    double threshold;
};
enum { TF_SHORTLIST_FIRST = 100, TF_SHORTLIST_BEST = 100 }; /* Marian's */

/* Read n bytes of a binary list. Errors say what is wrong: sizes, offsets, ids, the checksum, the
 * number of source ids. */
int tf_shortlist_parse(struct tf_shortlist *s, const void *p, size_t n,
                       const struct tf_shortlist_vocab *v, struct tf_err *err) TF_MUST_CHECK;
/* Read a file of either kind, perhaps compressed by gzip. sum: its SHA-256, unpacked; *text: is it
 * text? cut NULL: no numbers are given, and those of text are Marian's; else binary is an error. */
int tf_shortlist_read(struct tf_shortlist *s, const char *path, const struct tf_shortlist_vocab *v,
                      const struct tf_shortlist_cut *cut, uint8_t sum[32], bool *text,
                      struct tf_err *err) TF_MUST_CHECK;
/* Append the binary form. */
void tf_shortlist_put(struct tf_buf *b, const struct tf_shortlist *s);
void tf_shortlist_release(struct tf_shortlist *s);

#endif
