/* paper.h - BLEU as Moses' multi-bleu.perl counts it: on tokenized text, or on what the scripts
 * behind "Attention Is All You Need" make of plain text. */
#ifndef TF_METRICS_PAPER_H
#define TF_METRICS_PAPER_H

#include "metrics/evaluate.h"
#include "metrics/moses.h"

struct tf_paper_opts {
    bool tokenized; /* the input is tokenized, and only split at white space */
    enum tf_moses_lang lang;
    bool raw_ref;        /* tokenize the references, too */
    bool no_punctuation; /* leave the step out that makes typographic marks ASCII */
    bool lowercase;      /* A to Z */
};

/* Score one system (stdin without any) against references and write multi-bleu's line. With
 * o->tokenized, a reference NAME stands for NAME0, NAME1, ... and NAME, as far as there are such
 * files, as multi-bleu has it. Returns 1 when the references are empty (the line is written all the
 * same). */
int tf_paper_evaluate(struct tf_out *out, const struct tf_paper_opts *o, const struct tf_inputs *in,
                      struct tf_err *err) TF_MUST_CHECK;
/* Write each line of the systems as it is cut: by the paper's steps where paper is given, else by
 * the tokenizer of bleu. */
int tf_print_tokens(struct tf_out *out, const struct tf_paper_opts *paper,
                    const struct tf_bleu_opts *bleu, const struct tf_inputs *in,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
