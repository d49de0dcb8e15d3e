/* tokenizers_private.h - the tokenizers of BLEU, as in sacreBLEU 2.6. A token is a piece of the
 * line, which is not copied.
 *
 * Source: sacreBLEU's tokenizers/tokenizer_{13a,re,intl,zh,char,none}.py, whose chains of regular
 * expressions are restated here as rules about neighbouring characters. Let P be a full stop or
 * comma (13a, zh) or general category P (intl), N an ASCII digit (13a, zh) or category N (intl).
 * The first substitution, (not N)(P), consumes its left character, so in a run of Ps every other
 * one is split off, starting with the first if a character other than N precedes it, else with the
 * second. The second substitution, (P)(not N), then splits off each remaining P that is followed by
 * anything but N. */
#ifndef TF_METRICS_TOKENIZERS_PRIVATE_H
#define TF_METRICS_TOKENIZERS_PRIVATE_H

#include "base/buf.h"
#include "text/lines.h"
#include "text/unicode.h"
#include <stdbool.h>

/* The tokens of one line. Zero-initialise; reuse from line to line. */
struct tf_tokens {
    struct tf_text *v;
    size_t n, cap;
    struct tf_buf line, lower; /* rewritten text, which tokens may point into */
    uint32_t *number;          /* of tf_tokens_number (intern_private.h) */
    size_t number_cap;
};
void tf_tokens_add(struct tf_tokens *t, const char *p, size_t n);
void tf_tokens_release(struct tf_tokens *t);

/* Replace t's tokens by those of the line (checked UTF-8, no LF, no white space at its end). They
 * point into the line or into t. */
typedef void tf_tokenize_fn(struct tf_tokens *t, struct tf_text line);
tf_tokenize_fn tf_tokenize_none; /* split at white space */
tf_tokenize_fn tf_tokenize_char; /* every code point except white space */
tf_tokenize_fn tf_tokenize_13a;  /* mteval-v13a, the default */
tf_tokenize_fn tf_tokenize_intl; /* mteval-v14, by Unicode categories */
tf_tokenize_fn tf_tokenize_zh;   /* each Chinese character, the rest nearly as 13a */
/* pieces of a SentencePiece model, between tf_spm_open and tf_spm_close (spm.h) */
tf_tokenize_fn tf_tokenize_spm;

/* From TF_TOK_SPM on: by a SentencePiece model. */
enum tf_tokenizer {
    TF_TOK_NONE,
    TF_TOK_CHAR,
    TF_TOK_13A,
    TF_TOK_INTL,
    TF_TOK_ZH,
    TF_TOK_SPM,
    TF_TOK_FLORES101,
    TF_TOK_FLORES200,
    TF_TOK_SPBLEU
};
extern const char *const tf_tokenizer_names[]; /* NULL-terminated */
extern tf_tokenize_fn *const tf_tokenizers[];

/* ---- shared by the tokenizers ---- */

/* Classes of characters in the rules above. */
enum tf_tok_class {
    TF_TC_WORD,   /* anything else */
    TF_TC_DIGIT,  /* N */
    TF_TC_PUNCT,  /* P */
    TF_TC_HYPHEN, /* a token after N, part of the word otherwise (13a, zh) */
    TF_TC_SPLIT,  /* always a token */
    TF_TC_SPACE,  /* between tokens */
    TF_TC_EDGE,   /* outside of the line: satisfies neither N nor not-N */
};

/* The class of an ASCII character for 13a and zh: all marks except ' , - . are split off. */
static inline enum tf_tok_class tf_tok_ascii(uint32_t c)
{
    if (c >= '0' && c <= '9')
        return TF_TC_DIGIT;
    if (c == '.' || c == ',')
        return TF_TC_PUNCT;
    if (c == '-')
        return TF_TC_HYPHEN;
    if (tf_uc_space(c))
        return TF_TC_SPACE;
    if (c < ' ' || c == 0x7F || c == '\'' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
        return TF_TC_WORD;
    return TF_TC_SPLIT;
}

/* The scan of 13a, intl and zh: one character at a time, with the class of the next one. Start with
 * {.t = t, .last = class before the line}. */
struct tf_tok_scan {
    struct tf_tokens *t;
    const char *start; /* of the current token, or NULL */
    enum tf_tok_class last;
    bool taken;        /* the last character was a P split off by the first rule */
};
static inline void tf_tok_end(struct tf_tok_scan *s, const char *p)
{
    if (s->start)
        tf_tokens_add(s->t, s->start, (size_t)(p - s->start));
    s->start = NULL;
}
static inline void tf_tok_step(struct tf_tok_scan *s, const char *p, size_t n, enum tf_tok_class c,
                               enum tf_tok_class next)
{
    bool taken = false, alone = c == TF_TC_SPLIT;
    if (c == TF_TC_PUNCT) {
        taken = s->last != TF_TC_DIGIT && s->last != TF_TC_EDGE && !s->taken;
        alone = taken || (next != TF_TC_DIGIT && next != TF_TC_EDGE);
    } else if (c == TF_TC_HYPHEN) {
        alone = s->last == TF_TC_DIGIT;
    }
    if (c == TF_TC_SPACE || alone)
        tf_tok_end(s, p);
    if (alone)
        tf_tokens_add(s->t, p, n);
    else if (c != TF_TC_SPACE && !s->start)
        s->start = p;
    s->last = c;
    s->taken = taken;
}

#endif
