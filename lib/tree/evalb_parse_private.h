/* evalb_parse_private.h - a line of text to words and brackets by EVALB's rules. */
#ifndef TF_TREE_EVALB_PARSE_PRIVATE_H
#define TF_TREE_EVALB_PARSE_PRIVATE_H

#include "tree/evalb_context_private.h"

struct tf_evalb_word {
    struct tf_text word, tag;
};

/* A line of brackets alone needs one of these for each byte, so they are small. */
struct tf_evalb_bracket {
    int32_t start, end;        /* words [start, end); end -1: never closed */
    uint32_t to;               /* where its content ends in the line */
    uint32_t label, label_len; /* in the line */
    bool counts;               /* set by the comparison: not deleted */
};

/* A word that may be an apostrophe or a quotation mark according to QUOTE_LABEL. */
struct tf_evalb_quote {
    struct tf_text word, tag;
    int64_t index;  /* number of words before it */
    size_t bracket; /* number of brackets opened before it */
    size_t at;      /* its position in the line */
};

/* Zero-initialise. Texts are views of the line. */
struct tf_evalb_sentence {
    struct tf_text line;
    struct tf_evalb_word *words;
    struct tf_evalb_bracket *brackets;
    struct tf_evalb_quote *quotes;
    uint32_t *stack; /* of open brackets */
    size_t nwords, words_cap, nbrackets, brackets_cap, nquotes, quotes_cap, depth, stack_cap;
    int64_t length; /* for CUTOFF_LEN */
};
/* Parse a line of at most TF_EVALB_MAX_LINE bytes. Errors go to tf_evalb_error; whatever could be
 * parsed is in the sentence. */
void tf_evalb_parse(struct tf_evalb_context *c, struct tf_evalb_sentence *s, struct tf_text line);
void tf_evalb_sentence_release(struct tf_evalb_sentence *s);
static inline struct tf_text tf_evalb_label(const struct tf_evalb_sentence *s,
                                            const struct tf_evalb_bracket *b)
{
    return (struct tf_text){s->line.p + b->label, b->label_len};
}

/* A word to insert: where it is in the list when all words before it have been inserted. */
struct tf_evalb_insertion {
    const struct tf_evalb_quote *quote;
    size_t place;
};
/* Insert n words, in ascending order of place and of position in the line: brackets after a word
 * move, brackets around it grow. */
void tf_evalb_insert(struct tf_evalb_sentence *s, const struct tf_evalb_insertion *v, size_t n);

#endif
