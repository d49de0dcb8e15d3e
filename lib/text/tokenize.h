/* tokenize.h - lines of text to token records and back, on several threads and in order. Each input
 * line is one output record, whatever it contains, and each input record one output line. When the
 * input is idle, everything read so far has been converted and flushed. */
#ifndef TF_TEXT_TOKENIZE_H
#define TF_TEXT_TOKENIZE_H

#include "base/input.h"
#include "base/output.h"
#include "text/links.h"
#include "text/vocab.h"

struct tf_tokenize {
    const struct tf_vocab *vocab;
    int64_t threads;         /* 0: as many as CPUs; does not change the result */
    int bad;                 /* enum tf_on_bad: what to do about bad lines and records */
    /* text to ids */
    bool target;             /* the text is of the target language, which has no tags */
    const char *lang;        /* label of the language for the header (tf_lang_set), or NULL */
    const char *begin;       /* text of a piece that comes before those of each line, or NULL */
    int64_t max_line;        /* bytes; a longer line becomes a bad record */
    bool crlf;               /* drop a CR before the LF */
    size_t field;            /* of a line with tabs, from 1; 0: the whole line */
    size_t phrases;          /* for lines of pieces: fields from this one on, from 1, are texts of
                              * their own, and those before stay as they are; 0: no */
    bool replace_invalid;    /* invalid UTF-8 becomes U+FFFD instead of a bad record */
    bool list_unknown;       /* report the characters that the vocabulary lacks */
    bool sample;             /* random segmentations (sample_private.h) */
    double alpha;
    int64_t nbest;
    int64_t seed;            /* a sample depends only on this and the number of the line */
    /* ids to text */
    bool json;               /* each record is an object: line, status, score, text, reason */
    bool all;                /* write every hypothesis: idx TAB rank TAB score TAB text */
    const struct tf_links *links; /* write alignments, too, or NULL */
    struct tf_out *links_out;     /* a line of its own for each of the text, or NULL: after ||| */
    bool moses; /* with `all`: idx ||| text ||| F0= logp ||| score, and &#124; for | in text */
};

/* Convert lines of `in` to a token stream. table: the tool's options, for its provenance. When
 * reading fails, the stream ends with an error record instead of an end record. If there were bad
 * lines and t->bad is TF_ON_BAD_MARK, returns 0 with err->status TF_PARTIAL and a message that
 * names the first one; so do the functions below. */
int tf_tokenize_encode(struct tf_tokenize *t, struct tf_in *in, const struct tf_opt *table,
                       struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;
/* Convert lines to lines of pieces, separated by spaces. Unknown text is copied, except in a
 * sample, which has the vocabulary's mark for it. A bad line becomes an empty one. */
int tf_tokenize_pieces(struct tf_tokenize *t, struct tf_in *in, struct tf_out *out,
                       struct tf_err *err) TF_MUST_CHECK;
/* Convert token or n-best records to lines: the best hypothesis of each, or all of them. A bad
 * record, or one with an id outside the vocabulary, becomes an empty line, with t->all a line of
 * rank 0. With TF_ON_BAD_FAIL, all lines before the first bad one are written. A line feed within
 * decoded text, which only byte pieces can spell, becomes a space. */
int tf_tokenize_decode(struct tf_tokenize *t, struct tf_in *in, struct tf_out *out,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
