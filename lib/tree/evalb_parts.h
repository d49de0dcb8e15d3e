/* evalb_parts.h - the stages of one sentence's way through tf_evalb. For lib/tree/evalb*.c
 * alone. */
#ifndef TF_TREE_EVALB_PARTS_H
#define TF_TREE_EVALB_PARTS_H

#include "base/buf.h"
#include "tree/evalb.h"

/* Results of words and brackets, in EVALB's numbers. */
enum { TF_EVALB_MISSED = 0, TF_EVALB_MATCHED = 1, TF_EVALB_DELETED = 5, TF_EVALB_OPEN = 9 };
enum { TF_EVALB_FINE = 0, TF_EVALB_ERROR = 1, TF_EVALB_SKIP = 2 };

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

/* A word that QUOTE_LABEL says may be an apostrophe or a quotation mark. */
struct tf_evalb_quote {
    struct tf_text word, tag;
    int64_t index;  /* words before it */
    size_t bracket; /* brackets opened before it */
    size_t at;      /* in the line */
};

struct tf_evalb_sentence {
    struct tf_text line;
    struct tf_evalb_word *words;
    struct tf_evalb_bracket *brackets;
    struct tf_evalb_quote *quotes;
    size_t *stack; /* of open brackets */
    size_t nwords, words_cap, nbrackets, brackets_cap, nquotes, quotes_cap, depth, stack_cap;
    int64_t length; /* for CUTOFF_LEN */
};

struct tf_evalb_totals {
    int64_t sentences, errors, skipped, complete;
    int64_t gold, test, matched, words, tags, crossing, no_crossing, two_crossing;
};

/* What is printed of one sentence. */
struct tf_evalb_row {
    uint64_t line;
    int64_t length, matched, gold, test, crossing, words, tags;
    int status;
};

struct tf_evalb_run {
    const struct tf_evalb_params *p;
    struct tf_buf out;
    uint64_t line;
    bool aloud;         /* -D */
    bool quiet;         /* errors are not counted */
    int status;         /* of this sentence */
    int64_t error_count; /* calls of tf_evalb_error, as MAX_ERROR counts */
    bool stop;          /* too many */
    uint64_t first_bad; /* line; 0: none */
    struct tf_evalb_sentence gold, test;
    struct tf_evalb_totals all, cut;
    int64_t missed_gold, missed_test; /* brackets of sentences that were not scored */
    uint64_t no_partner;              /* gold lines behind the end of test */
    bool extra_test;                  /* test goes on behind the end of gold */
};

/* Something is wrong with this sentence: status, count, warning. Does nothing once the run has to
 * stop. */
void tf_evalb_error(struct tf_evalb_run *r, const char *fmt, ...) TF_PRINTF(2, 3);

/* One line to words and brackets. */
void tf_evalb_parse(struct tf_evalb_run *r, struct tf_evalb_sentence *s, struct tf_text line);
void tf_evalb_sentence_release(struct tf_evalb_sentence *s);
/* Put deleted quotes back where only one side tagged them as quotes. */
void tf_evalb_fix_quotes(struct tf_evalb_run *r);

/* Compare r->gold with r->test; fills the row (all but line). */
void tf_evalb_compare(struct tf_evalb_run *r, struct tf_evalb_row *row);
/* Brackets that count. */
int64_t tf_evalb_kept(const struct tf_evalb_params *p, const struct tf_evalb_sentence *s);

/* The same matching and crossing pair by pair, each step printed as EVALB's -D does; return the
 * counts. */
int64_t tf_evalb_match_aloud(struct tf_evalb_run *r);
int64_t tf_evalb_cross_aloud(struct tf_evalb_run *r);
/* The tables of -d. */
void tf_evalb_tables(struct tf_evalb_run *r);

/* Equal, or a pair of the list. */
bool tf_evalb_equal(const struct tf_evalb_list *pairs, struct tf_text a, struct tf_text b);
bool tf_evalb_listed(const struct tf_evalb_list *list, struct tf_text s);

#endif
