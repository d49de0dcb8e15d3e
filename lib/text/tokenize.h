/* tokenize.h - lines of text to token records and back, on several threads and in order. One line
 * in is one record out, whatever it holds; one record in is one line out. What is ready is worked
 * on together; when the input goes idle, everything up to there has been answered and flushed. */
#ifndef TF_TEXT_TOKENIZE_H
#define TF_TEXT_TOKENIZE_H

#include "text/vocab.h"

struct tf_tokenize {
    const struct tf_vocab *vocab;
    int threads;             /* at least 1; never changes the result */
    int bad;                 /* enum tf_on_bad */
    /* text to ids */
    size_t max_line;         /* bytes; a longer line becomes a bad record */
    bool crlf;               /* a CR before the LF is dropped */
    bool replace_invalid;    /* ill-formed UTF-8 becomes U+FFFD instead of a bad record */
    bool sample;             /* random segmentations (sample.h) */
    double alpha;
    int nbest;
    uint64_t seed;           /* with the number of the line, all that a sample depends on */
    /* ids to text */
    bool all;                /* every hypothesis: idx TAB rank TAB score TAB text */
    /* out */
    uint64_t lines, bad_lines; /* records handled; bad ones among them, or with a bad hypothesis */
};

/* Lines of `in` to a token stream; table: the tool's options, for its provenance. When the input
 * fails, the stream ends with an error record, not with an end. Bad lines under TF_ON_BAD_MARK: 0
 * is returned with err->status TF_PARTIAL and a message that names the first. */
int tf_tokenize_encode(struct tf_tokenize *t, struct tf_in *in, const struct tf_opt *table,
                       struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;
/* The same to lines of pieces with a space between: for people to look at, and for scores. What is
 * unknown reads as the text does, but in a sample, where it is the vocabulary's mark for it. A bad
 * line is an empty one. */
int tf_tokenize_pieces(struct tf_tokenize *t, struct tf_in *in, struct tf_out *out,
                       struct tf_err *err) TF_MUST_CHECK;
/* Token or n-best records to lines: the best hypothesis of each, or all of them. A bad record, and
 * an id outside the vocabulary, is an empty line, or one of rank 0 among all. Where bad ones end
 * the run, all lines before the first are written. A line feed within decoded text (only byte
 * pieces
 * can spell one) comes out as a space. */
int tf_tokenize_decode(struct tf_tokenize *t, struct tf_in *in, struct tf_out *out,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
