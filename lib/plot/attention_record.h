/* attention_record.h - the figure of one record of an attention stream. */
#ifndef TF_PLOT_ATTENTION_RECORD_H
#define TF_PLOT_ATTENTION_RECORD_H

#include "base/buf.h"
#include "base/opt.h"
#include "plot/figure.h"

/* Which record to draw, and how. */
struct tf_attention_record {
    struct tf_figure figure; /* title NULL: kind and layer */
    int64_t idx;             /* number of the sentence; -1: the first one */
    const char *kind;        /* "encoder", "decoder", "cross"; NULL: the first one */
    int64_t layer;           /* from 1; 0: the first one */
    const char *heads;       /* "all", or numbers: "1,3-5" */
    struct tf_strs tokens;   /* pieces whose rows to draw, with or without U+2581; none: all */
    double least;            /* weights below have no line */
    bool heat;               /* heat maps instead of lines */
};
/* Append the figure of the first record that matches. The stream ("-" is stdin) is read to its end,
 * so that a truncated one is an error. So is a stream without such a record. */
int tf_attention_record_draw(struct tf_buf *out, const struct tf_attention_record *a,
                             const char *path, struct tf_err *err) TF_MUST_CHECK;

#endif
