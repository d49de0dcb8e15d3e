/* segment_private.h - the best segmentation of a text, equal to that of the SentencePiece library,
 * in a fraction of its time: the library makes an object for each piece, and notes where each byte
 * comes from. */
#ifndef TF_TEXT_SEGMENT_PRIVATE_H
#define TF_TEXT_SEGMENT_PRIVATE_H

#include "base/rng.h"
#include "text/merge_heap_private.h"
#include "text/normal_private.h"
#include "text/pieces_private.h"
#include "text/sp_piece.h"

struct tf_segmenter;    /* read-only once created; may be shared between threads */
struct tf_segment_room; /* what one thread needs while it segments */

/* For the vocabulary sp, which has the n bytes that tf_sp_check accepts. Both are borrowed. NULL: a
 * vocabulary for the library, since its rules are not here: neither unigram nor BPE, or BPE with
 * unused pieces, unless it is renumbered, or with control pieces that text can become; or where
 * floats have excess precision (x87), so that equal sums of unigram differ. */
struct tf_segmenter *tf_segmenter_new(const struct tf_sp *sp, const void *bytes, size_t n);
void tf_segmenter_free(struct tf_segmenter *s);

struct tf_segment_room *tf_segment_room_new(void);
void tf_segment_room_free(struct tf_segment_room *room);

/* Append the ids of text (valid UTF-8, may contain NUL), as tf_sp_encode does. */
void tf_segment(const struct tf_segmenter *s, struct tf_segment_room *room, const char *text,
                size_t n, struct tf_ids *ids);

/* ---- for the files segment*.c ---- */

struct tf_segmenter {
    struct tf_pieces pieces;
    struct tf_normal normal;
    bool words;          /* of BPE: no piece has a space (U+2581) after its start */
    float unknown_score; /* of unigram */
};

/* The best path to an offset. */
struct tf_segment_path {
    float score;
    uint32_t from, id;
};

struct tf_segment_symbol {
    uint32_t at, n;      /* offset and bytes; n = 0: merged into the one before */
    uint32_t prev, next; /* + 1 */
    uint32_t node;
};

/* A word that was segmented before. */
enum { TF_SEGMENT_WORDS = 1 << 14, TF_SEGMENT_WORD = 23, TF_SEGMENT_IDS = 9 };
struct tf_segment_word {
    uint8_t n, n_ids; /* n = 0: none */
    char text[TF_SEGMENT_WORD - 1];
    uint32_t ids[TF_SEGMENT_IDS];
};

struct tf_segment_room {
    struct tf_buf text; /* normalised */
    struct tf_segment_path *paths;
    struct tf_segment_symbol *symbols;
    struct tf_merge_heap merges;
    size_t n_paths, n_symbols; /* how many fit */
    struct tf_segment_word *words;
};

/* The best segmentation of a normalised text, which is not empty. */
void tf_segment_unigram(const struct tf_segmenter *s, struct tf_segment_room *room,
                        const char *text, size_t n, struct tf_ids *ids);
void tf_segment_bpe(const struct tf_segmenter *s, struct tf_segment_room *room, const char *text,
                    size_t n, struct tf_ids *ids);
/* BPE that skips each merge with a probability. A text of at most 64 MB, normalised. */
void tf_segment_dropout(const struct tf_pieces *pieces, struct tf_segment_room *room,
                        const char *text, size_t n, double dropout, struct tf_rng *rng,
                        struct tf_ids *ids);

#endif
