/* multi_bleu.h - BLEU as Moses' multi-bleu.perl computes it, which is how "Attention Is All You
 * Need" reports it: on tokenized text, or on plain text after the steps of tensor2tensor's
 * get_ende_bleu.sh (typographic marks to ASCII, Moses' tokenizer, compounds split at hyphens).
 * Differs from bleu.h in the steps before counting, in the reference length (see closest()
 * in the source), and in that there is no smoothing. */
#ifndef TF_METRICS_MULTI_BLEU_H
#define TF_METRICS_MULTI_BLEU_H

#include "base/opt.h"
#include "base/output.h"
#include "metrics/bleu.h"
#include "metrics/segments.h"
#include "metrics/tokenizer_moses.h"

struct tf_multi_bleu_opts {
    bool tokenized;      /* the input is tokenized: split it at white space only */
    int lang;            /* enum tf_moses_lang */
    bool raw_ref;        /* the references are plain text: all steps for them, too */
    bool no_punctuation; /* leave typographic marks as they are */
    bool no_compounds;   /* leave words with hyphens whole */
    const char *prefixes; /* file of abbreviations; NULL: those of the language */
    bool lowercase;      /* A to Z */
};

/* Append the files that multi-bleu's first operand stands for: those of NAME0, NAME1, ... and NAME
 * that exist. "-" is stdin. The names are never freed. */
void tf_multi_bleu_references(struct tf_strs *files, const char *name);

/* Score one system (stdin if there is none) and write multi-bleu's line. With o->tokenized, the
 * first reference stands for its tf_multi_bleu_references; the others are names of files. Returns 1
 * when the references are empty, after writing the line. */
int tf_multi_bleu(struct tf_out *out, const struct tf_multi_bleu_opts *o,
                  const struct tf_segment_files *in, struct tf_err *err) TF_MUST_CHECK;

/* Write the tokens of each line of the systems (stdin if there is none), a space between: those of
 * multi-bleu if multi is not NULL, else those of bleu->tokenizer. Lines end where they do in
 * scoring. */
int tf_print_tokens(struct tf_out *out, const struct tf_multi_bleu_opts *multi,
                    const struct tf_bleu_opts *bleu, const struct tf_segment_files *in,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
