/* tokenize.h - the tokenizers of BLEU, as sacreBLEU 2.6 has them. Each cuts a line into pieces; a
 * token is always a piece of the line itself, so nothing is copied.
 *
 * Source: sacreBLEU's tokenizers/tokenizer_{13a,re,intl,zh,char,none}.py, whose chains of regular
 * expressions are restated here as rules about neighbours. Let P be a full stop or comma (13a, zh)
 * or general category P (intl), N an ASCII digit (13a, zh) or category N (intl). The first
 * substitution, (not N)(P), takes its left character with it, so in a run of Ps every other one is
 * taken, starting with the first when a character that is not N comes before it, else with the
 * second. The second, (P)(not N), then takes each P left over that anything but N follows. A P that
 * is taken is a token of its own. */
#ifndef TF_METRICS_TOKENIZE_H
#define TF_METRICS_TOKENIZE_H

#include "base/buf.h"
#include "text/lines.h"
#include "text/unicode.h"
#include <stdbool.h>

/* The tokens of one line, and room for a rewritten line. Zero-initialise; reuse from line to
 * line. */
struct tf_tokens {
    struct tf_text *v;
    size_t n, cap;
    struct tf_buf line, lower; /* rewritten text that tokens may point into */
};
void tf_tokens_add(struct tf_tokens *t, const char *p, size_t n);
void tf_tokens_release(struct tf_tokens *t);

/* Replace t's tokens by those of the line (checked UTF-8, no LF, no white space at its end). They
 * point into the line or into t. */
typedef void tf_tokenize_fn(struct tf_tokens *t, struct tf_text line);
tf_tokenize_fn tf_tokenize_none; /* split at white space */
tf_tokenize_fn tf_tokenize_char; /* every code point but white space */
tf_tokenize_fn tf_tokenize_13a;  /* mteval-v13a, the default */
tf_tokenize_fn tf_tokenize_intl; /* mteval-v14, by Unicode categories */
tf_tokenize_fn tf_tokenize_zh;   /* Chinese characters apart, the rest nearly as 13a */
/* pieces of a SentencePiece model, between tf_spm_open and tf_spm_close (spm.h) */
tf_tokenize_fn tf_tokenize_spm;

/* Names in the order of the enum, NULL at the end. From TF_TOK_SPM on: by a SentencePiece model. */
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
extern const char *const tf_tokenizer_names[];
extern tf_tokenize_fn *const tf_tokenizers[];

/* ---- for the tokenizers themselves ---- */

/* What the rules ask of a character. */
enum tf_tok_class {
    TF_TC_WORD,   /* anything else */
    TF_TC_DIGIT,  /* N of the rules */
    TF_TC_PUNCT,  /* P of the rules */
    TF_TC_HYPHEN, /* a token of its own after N, part of the word otherwise (13a, zh) */
    TF_TC_SPLIT,  /* always a token of its own */
    TF_TC_SPACE,  /* between tokens */
    TF_TC_EDGE,   /* outside of the line: neither N nor anything else */
};

/* The class of an ASCII character under 13a and zh: all marks but ' , - . split. */
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

/* The scan that 13a, intl and zh share: one character at a time with the class of the one after it.
 * Start with {.t = t, .last = class before the line}. */
struct tf_tok_scan {
    struct tf_tokens *t;
    const char *start; /* of the token being read, or NULL */
    enum tf_tok_class last;
    bool taken;        /* the last character was a P taken by the first rule */
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
