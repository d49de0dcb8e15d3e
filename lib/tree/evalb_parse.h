/* evalb_parse.h - a line of text to words and brackets by EVALB's rules. */
#ifndef TF_TREE_EVALB_PARSE_H
#define TF_TREE_EVALB_PARSE_H

#include "tree/evalb_context.h"

/* Results of comparing words and brackets, in EVALB's numbers. */
enum { TF_EVALB_MISSED = 0, TF_EVALB_MATCHED = 1, TF_EVALB_DELETED = 5, TF_EVALB_OPEN = 9 };

struct tf_evalb_word {
    struct tf_text word, tag;
    int result;
};

struct tf_evalb_bracket {
    int64_t start, end; /* words [start, end); end -1: never closed */
    size_t from, to;    /* its content in the line, for -D */
    struct tf_text label;
    int result;
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
    size_t *stack; /* of open brackets */
    size_t nwords, words_cap, nbrackets, brackets_cap, nquotes, quotes_cap, depth, stack_cap;
    int64_t length; /* for CUTOFF_LEN */
};
/* Parse a line. Errors go to tf_evalb_error; whatever could be parsed is in the sentence. */
void tf_evalb_parse(struct tf_evalb_context *c, struct tf_evalb_sentence *s, struct tf_text line);
void tf_evalb_sentence_release(struct tf_evalb_sentence *s);
/* Insert a word before word number `index`. Brackets and quotes do not move. */
void tf_evalb_insert_word(struct tf_evalb_sentence *s, size_t index, struct tf_text tag,
                          struct tf_text word);

#endif
