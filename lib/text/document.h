/* document.h - read a text sentence by sentence, with the place of each (layout.h). */
#ifndef TF_TEXT_DOCUMENT_H
#define TF_TEXT_DOCUMENT_H

#include "base/bad.h"
#include "base/input.h"
#include "text/glossary.h"
#include "text/layout.h"

enum tf_document_form {
    /* A line is a paragraph. */
    TF_DOCUMENT_PARAGRAPHS,
    /* A paragraph has several lines. It ends at an empty line; before a line that begins with a
     * mark of a list, a heading, a quotation or a table (- * + # > |, digits with . or a bracket)
     * or farther to the right; and where the next word would have fitted into the longest line
     * between two empty ones, for there the break was meant. */
    TF_DOCUMENT_WRAPPED,
    /* One line for each line: white space at the ends of a line that is split is left out, and any
     * other line, an empty one too, is a sentence as it is. */
    TF_DOCUMENT_LINES,
};

struct tf_document_opts {
    enum tf_document_form form;
    const char *lang;     /* see sentences.h */
    bool whole;           /* do not split */
    int64_t most;         /* characters of a sentence; 0: no limit */
    int64_t field;        /* of lines with tabs, from 1: the rest is layout; 0: the whole line */
    int64_t max_line;     /* bytes */
    bool raw;             /* TF_DOCUMENT_LINES: any bytes, as they are, are a sentence */
    bool tags;            /* a tag that a line begins with (tf_tag_length of tags.h) is
                             repeated before each of its sentences */
    bool html;            /* each line, or field, is a fragment of HTML (html.h); all of the text
                             with TF_DOCUMENT_WRAPPED */
    struct tf_hide hide;  /* html: see tf_html_new */
    bool crlf;            /* TF_DOCUMENT_LINES: drop a CR at the end of a line */
    bool replace_invalid; /* invalid UTF-8 becomes U+FFFD instead of a bad line */
    int bad;              /* enum tf_on_bad. A bad line has no sentence, or an empty one */
};

struct tf_document;

/* A usage error if lang is not a label of a language (tf_lang_set), or with options that do not go
 * together. */
int tf_document_check(const struct tf_document_opts *o, struct tf_err *err) TF_MUST_CHECK;

/* in: must outlive it. */
int tf_document_new(struct tf_document **d, const struct tf_document_opts *o, struct tf_in *in,
                    struct tf_err *err) TF_MUST_CHECK;
void tf_document_free(struct tf_document *d);

/* The next sentence and its place, valid until the next call: 1; 0 at the end, whose place has what
 * comes after the last sentence; -1 on error; 2: the input pauses before it. The fragment of
 * sentences of HTML belongs to the caller from its last sentence on; what there is of its text
 * besides is in the place of that. */
int tf_document_next(struct tf_document *d, struct tf_place *place, struct tf_text *sentence,
                     struct tf_err *err) TF_MUST_CHECK;
/* Will tf_document_next return without waiting for input? */
bool tf_document_ready(struct tf_document *d);
/* Would the next sentence begin a line, or with TF_DOCUMENT_WRAPPED a block between empty lines? */
bool tf_document_at_start(const struct tf_document *d);

/* Read no more: the next sentence is the end. When tf_document_at_start. */
void tf_document_stop(struct tf_document *d);

/* Before the first sentence: skip as many whole lines, or blocks, as have at most `lines` lines
 * together. Returns their number, or -1. */
int64_t tf_document_skip(struct tf_document *d, uint64_t lines, struct tf_err *err) TF_MUST_CHECK;

uint64_t tf_document_lines(const struct tf_document *d); /* that were read */
/* The line where the last sentence begins; 0: in a page of HTML, whose lines nobody counts. */
uint64_t tf_document_line(const struct tf_document *d);
/* The first line that had several sentences, or 0: also with `whole`, by the rules of `lang`. */
uint64_t tf_document_several(const struct tf_document *d);
/* At the end, as tf_bad_status. */
int tf_document_bad_status(const struct tf_document *d, struct tf_err *err);

#endif
