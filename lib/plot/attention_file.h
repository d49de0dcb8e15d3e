/* attention_file.h - a picture of one record of an attention stream. */
#ifndef TF_PLOT_ATTENTION_FILE_H
#define TF_PLOT_ATTENTION_FILE_H

#include "base/buf.h"
#include "base/opt.h"
#include <stdbool.h>
#include <stdint.h>

/* Which record, and what of it. */
struct tf_attention_file {
    int64_t idx;           /* of the sentence; -1: the first there is */
    const char *kind;      /* "encoder", "decoder", "cross"; NULL: the first there is */
    int64_t layer;         /* from 1 on; 0: the first there is */
    const char *heads;     /* "all", or numbers: "1,3-5" */
    /* rows to draw, by their text, with or without its mark of a space; none: all */
    struct tf_strs tokens;
    double least;          /* weights below are not drawn as lines */
    const char *title;     /* NULL: what it is */
    double width;
    bool heat;             /* heat maps, not lines */
};
/* Append the picture of the first record that fits. The file ("-" is stdin) is read to its end, so
 * that one that is cut short is an error, and so is one without such a record. */
int tf_attention_file_draw(struct tf_buf *out, const struct tf_attention_file *a, const char *path,
                           struct tf_err *err) TF_MUST_CHECK;

#endif
