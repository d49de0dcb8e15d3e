/* html_private.h - the parts of a fragment of HTML. Offsets of sources are in html->source, those
 * of texts in html->text. */
#ifndef TF_TEXT_HTML_PRIVATE_H
#define TF_TEXT_HTML_PRIVATE_H

#include "base/arena.h"
#include "text/html.h"
#include "text/placeholders_private.h"

/* ---- html_scan.c: bytes to items ---- */

enum tf_html_kind {
    TF_HTML_TEXT,
    TF_HTML_OPEN, /* the tags of an inline element */
    TF_HTML_CLOSE,
    TF_HTML_VOID,   /* it has no text */
    TF_HTML_OBJECT, /* a name stands for it in the text */
    TF_HTML_BLOCK,  /* ends a segment */
};

struct tf_html_item {
    enum tf_html_kind kind;
    size_t begin, end, name_end; /* name_end: of a tag, whose name begins after < or </; else 0 */
    size_t match;                /* of an element that stays as it is: the item that ends it */
    bool is_tag, closes, keep;   /* keep: with translate="no" */
    bool whole;                  /* an element with all that is in it */
    bool apart;                  /* such a one without text, but with white space at an end */
    bool attribute;              /* a text that is the value of one */
    unsigned char what;          /* of what element: enum in html_scan.c */
};

/* All n bytes, in order. Returns an array to free. */
struct tf_html_item *tf_html_scan(const char *s, size_t n, size_t *count);

/* The attributes of a tag. Zero-initialise. */
struct tf_html_attributes {
    size_t next; /* offset of what has not been read; 0: all */
    bool text;   /* one makes a text of value, or of content */
};

/* The next value of an attribute of that tag which people read, such as alt. False: there is none.
 */
bool tf_html_readable(const char *s, const struct tf_html_item *it, struct tf_html_attributes *a,
                      struct tf_text *value);
/* The character at s, or that the reference there stands for, and its bytes; 0: a reference that is
 * not known here. */
uint32_t tf_html_char(const char *s, size_t max, bool attribute, size_t *n);

/* ---- html.c: segments ---- */

/* An element, or a tag without one. The first node of a segment is its root, without tags. */
struct tf_html_node {
    size_t begin, end;                  /* of the text */
    struct tf_text open, close;         /* as in the source */
    uint32_t parent, child, last, next; /* nodes of the segment; 0: none */
    uint32_t name;                      /* that stands for it in the text, from 1; 0: none */
    bool spaced;                        /* without text, between white space */
};

/* From this offset of the text on, the innermost node is this. */
struct tf_html_cut {
    size_t at;
    uint32_t node;
};

struct tf_html_sentence {
    size_t begin, end;
    bool joined; /* see sentences.h */
    struct tf_text out, links; /* out.p NULL: it has no translation */
};

struct tf_html_segment {
    size_t begin, end; /* of the text */
    size_t source_end; /* of the source before the segment, which is as it is; with its end */
    size_t next;       /* in the source, after the segment */
    struct tf_text lead, trail; /* white space */
    struct tf_html_node *nodes;
    size_t n_nodes, cap_nodes;
    struct tf_html_cut *cuts;
    size_t n_cuts, cap_cuts;
    size_t sentence, n_sentences;
    struct tf_placeholders names;
    uint32_t *named; /* the node that each stands for; 0: text, such as an address */
};

struct tf_html {
    char *source;
    size_t n;
    struct tf_buf text;
    struct tf_html_segment *segments;
    size_t n_segments, cap_segments;
    struct tf_html_segment *values; /* of attributes, by offset in the source */
    size_t n_values, cap_values;
    struct tf_html_sentence *sentences;
    size_t n_sentences, cap_sentences;
    struct tf_arena outs;
};

/* ---- html_place.c ---- */

/* Append a part of the source, with the attributes that are translated. */
void tf_html_put_source(const struct tf_html *h, struct tf_text part, struct tf_buf *out);

/* Append a segment with its translation. */
void tf_html_put_segment(const struct tf_html *h, const struct tf_html_segment *g,
                         struct tf_buf *out);

#endif
