/* layout.h - where the sentences of a text were: what stands between them, and the line
 * breaks within them. formats/layout.md describes the file, a JSON text in each line. */
#ifndef TF_TEXT_LAYOUT_H
#define TF_TEXT_LAYOUT_H

#include "base/json.h"
#include "text/text.h"

struct tf_html;

/* A line break within a sentence: the space that stands for it, and its text. */
struct tf_line_break {
    size_t at; /* of `bytes` */
    struct tf_text text;
};

struct tf_place {
    struct tf_text before; /* between what came so far and this sentence */
    struct tf_text after;  /* of the last sentence of a paragraph: to the end of the line */
    bool joined;           /* there is nothing, because the script has no spaces */
    size_t bytes;          /* of the sentence, if it has line breaks */
    struct tf_line_break *breaks;
    size_t n_breaks;
    bool end; /* no sentence follows */
    struct tf_html *html; /* of a sentence of HTML: its fragment, and which sentence of it, from 0.
                           * Not in the file */
    size_t sentence;
};

/* Append a line, with LF. */
void tf_layout_header(struct tf_buf *out);
void tf_layout_put(struct tf_buf *out, const struct tf_place *place);

/* Zero-initialise. */
struct tf_layout_reader {
    struct tf_place place; /* of the last line; valid until the next */
    struct tf_buf text;
    size_t cap;
};
/* Read a line, without LF. name, number: for messages, from 1; line 1 is the header. */
int tf_layout_get(struct tf_layout_reader *r, const char *line, size_t n, const char *name,
                  uint64_t number, struct tf_err *err) TF_MUST_CHECK;
void tf_layout_release(struct tf_layout_reader *r);

/* Append what is before a sentence, it with its line breaks, and what is after it: each break in
 * place of the space that is nearest to where it was, in proportion, or after the sentence if there
 * is none. last: the last character so far, of one text; begins as 0. Sentences that were joined
 * get a space between them where neither side's script is written without. */
void tf_layout_join(struct tf_buf *out, const struct tf_place *place, struct tf_text sentence,
                    uint32_t *last);

#endif
