/* program_private.h - a program whose models are read, and perhaps written. */
#ifndef TF_CONVERT_PROGRAM_PRIVATE_H
#define TF_CONVERT_PROGRAM_PRIVATE_H

#include "convert/import_private.h"

struct tf_export_format; /* foreign_private.h */

struct tf_program {
    const char *name; /* of its models, for messages */
    const char *model_type; /* of config.json in a directory that is a model of its; or NULL */
    /* Is m->dir one? NULL: never. */
    bool (*claims_dir)(const struct tf_import *m);
    /* Set m->files; those that the user names are there already. Errors say what is missing, or
     * that there are several. */
    int (*find_files)(struct tf_import *m, struct tf_err *err);
    /* Files of weights that no other program has. Make m->bundle of the n bytes of one, which stay
     * where they are. NULL: its files are of `kinds` (conversion_read.c), which are known by their
     * first bytes. */
    int (*read_weights)(struct tf_import *m, const void *p, size_t n, struct tf_err *err);
    /* Are these the first bytes of such a file? NULL: its first bytes may be any, and its directory
     * says what it is. */
    bool (*begins)(const void *p, size_t n);
    /* Is the file of weights, whose tensors are m->bundle, its? NULL: as its directory was. */
    bool (*claims_file)(const struct tf_import *m);
    /* Make of m->bundle, its tensors, and of m->files all that a reader makes but search and left.
     */
    int (*read)(struct tf_import *m, struct tf_err *err);
    /* Set m->header.search, which is empty, to the search that the program does with it. NULL: a
     * model of ours, which is complete when it is read. */
    int (*search)(struct tf_import *m, struct tf_err *err);
    const char *beside[2]; /* ends of names of files for which others beside them are read */
    bool in_dir;           /* such a file is one of its directory, if that is claimed */
    bool needs_pieces;     /* the directory's lists of pieces, also beside --vocab */
    bool has_positions;    /* --positions is a question of its models */
    bool takes_config;     /* --config, too */
    bool reads_torch;      /* files of PyTorch, whose tensors read() finds itself */
    const struct tf_export_format *writes; /* or NULL */
};

#endif
