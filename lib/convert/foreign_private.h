/* foreign_private.h - a model that becomes one of another program: marian.c, hf.c and ct2.c make
 * its tensors and texts, export.c writes the directory. */
#ifndef TF_CONVERT_FOREIGN_PRIVATE_H
#define TF_CONVERT_FOREIGN_PRIVATE_H

#include "base/buf.h"
#include "base/output.h"
#include "convert/convert_opts.h"
#include "cbor/value.h"
#include "exchange/bundle.h"
#include "model/params.h"
#include "text/piece_list.h"
#include "text/sp_renumber.h"

enum {
    TF_EXPORT_POSITIONS = 512, /* rows of a table of sinusoids where the format stores one */
    TF_EXPORT_TEXTS = 4        /* most files of text in a directory */
};

/* A member of struct tf_config that a format has with some values only. */
struct tf_export_member {
    const char *name;
    const char *values; /* those that it can be: a number, or words with "|" between */
    const char *more;   /* what a refusal says after name and value, or NULL */
};

struct tf_export {
    /* with the biases that the other program always has, and its table of sinusoids by name */
    struct tf_config config;
    struct tf_params params; /* of that */
    struct tf_tensor *ours;  /* [params.n]; missing biases are zero */
    int64_t unk;
    const struct tf_value *search;  /* of the header */
    struct tf_piece_list pieces[2]; /* the text of each id of sources, of targets */
    const struct tf_sp_token *added; /* tokens besides pieces, n_added of them ... */
    size_t n_added;                  /* ... which pieces have with a space before them */
    const struct tf_buf *segmenter; /* [2], as in struct tf_import */
    struct tf_buf one_segmenter;    /* if not empty: what is written in their place */
    bool own_segmenter;             /* the target has a segmenter of its own */
    bool has_tokenizer;             /* a tokenizer.json is written, too */
    struct tf_bundle theirs;
    struct tf_buf text[TF_EXPORT_TEXTS]; /* of the files that the format names; empty: no file */
    struct tf_buf refused;               /* what the format cannot express */
};

/* A format of another program that we write, a directory of files. */
struct tf_export_format {
    enum tf_format format;
    bool (*fits)(const struct tf_config *c); /* of which models it is; NULL: of all others */
    const char *program;                /* for messages */
    /* Besides what all have (export_members_private.h). */
    const struct tf_export_member *has;
    const char *has_any; /* members with all their values, their names with "|" between */
    bool output_bias;                   /* it always has one */
    bool f32_only;
    bool ids_beside;                      /* of pieces, in a file of text */
    bool added_beside;                    /* and of tokens besides pieces */
    bool without_vocab;                   /* a model need not have one */
    bool two_segmenters;                  /* also where both sides have the same */
    void (*check)(struct tf_export *e);   /* refuse what needs more than a name; or NULL */
    void (*convert)(struct tf_export *e); /* make `theirs` and the texts */
    int (*write_weights)(struct tf_out *out, const struct tf_bundle *b, struct tf_err *err);
    const char *weights, *segmenter[2], *text[TF_EXPORT_TEXTS]; /* names of files */
};

/* What the format does not have, by the name that it has here. */
static inline void tf_export_refuse(struct tf_export *e, const char *what)
{
    tf_buf_item(&e->refused, "%s", what);
}

/* A number or flag of the search, or `missing`. */
static inline double tf_export_search(const struct tf_export *e, const char *key, double missing)
{
    struct tf_err none = {0};
    double x = missing;
    bool yes = false;
    if (tf_value_bool_of(e->search, key, &yes, &none) == 0)
        return yes;
    return tf_value_real_of(e->search, key, -1e300, 1e300, &x, &none) == 0 ? x : missing;
}

#endif
