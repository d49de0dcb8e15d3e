/* import_private.h - a model that is read: its files, and what a reader makes of them. */
#ifndef TF_CONVERT_IMPORT_PRIVATE_H
#define TF_CONVERT_IMPORT_PRIVATE_H

#include "base/buf.h"
#include "convert/convert_opts.h"
#include "convert/dir_private.h"
#include "exchange/bundle.h"
#include "exchange/torch.h"
#include "model/config.h"
#include "stream/header.h"
#include "text/bpe_codes.h"
#include "text/piece_list.h"
#include "text/shortlist.h"

enum { TF_MAX_CONFIG = 1 << 20 /* bytes of a file of settings */ };

/* The files of a model: paths, or NULL. Where there are two, they are for sources and targets; the
 * second is NULL where the first serves both. */
struct tf_model_files {
    const char *weights;
    const char *const *more; /* files of the same weights besides that one */
    size_t n_more;
    const char *vocab[2];  /* SentencePiece models */
    const char *pieces[2]; /* lists of pieces by id, if the ids are not those of vocab */
    const char *tokenizer; /* tokenizer.json of transformers, in place of vocab and pieces */
    const char *codes;     /* split words (text/bpe_codes.h) where there is no vocab */
    const char *settings;  /* how Marian's decoder runs */
    const char *list;      /* the shortlist that its program uses by default (text/shortlist.h) */
    struct tf_shortlist_cut list_cut; /* of it, if has_cut */
    bool has_cut;
};

struct tf_import {
    /* Where it is read from. */
    const struct tf_convert_opts *opts;
    struct tf_arena *arena;
    const struct tf_program *program; /* whose model it is (program_private.h) */
    const char *name;                 /* of the file of weights, for messages */
    const struct tf_dir *dir;         /* whose files these are, or NULL */
    struct tf_model_files files;      /* those of dir, and in their place those of opts */
    bool own_pieces;                  /* files.pieces are not the user's */
    struct tf_value json;             /* config.json of dir, TF_NULL if it is not there ... */
    struct tf_err json_err;           /* ... or cannot be read */
    struct tf_value tokenizer;        /* tokenizer_config.json of transformers, the same */
    enum tf_format from;              /* of the file of weights */
    struct tf_torch torch;            /* of a file of PyTorch */
    struct tf_bundle bundle;          /* in: its tensors, and those of files.more; out: ours */

    /* What a reader makes. */
    struct tf_config config;
    struct tf_header header; /* special.unk, labels of languages, search */
    int64_t ff[2];           /* widths of the inner layers of encoder and decoder */
    int64_t heads[2];        /* of encoder and decoder; 0: those of config */
    struct tf_buf refused;   /* settings that the model cannot express, by name */
    struct tf_piece_list pieces[2];
    const uint8_t *added;      /* flags (added.h) by id of tokens besides pieces, or NULL */
    struct tf_bpe_codes codes; /* lines NULL: none */
    const char *begin;         /* the token with which targets begin, or NULL */
    struct tf_buf segmenter[2]; /* SentencePiece models; p of the second is NULL: one serves both */
    struct tf_buf list;         /* a binary shortlist, or empty */
    const char *vocab_name;     /* what the segmenters are from, for messages */
    int64_t align_layer;        /* of the decoder, from 1: its first head aligns; 0: not known */
    bool guessed;               /* the table of positions is t2t's because nobody said otherwise */
    struct tf_buf left;         /* settings of the search that cannot be kept, by name */
};

/* Read a file of settings that is one object, in TF_JSON_PLAIN. Errors name the path. */
int tf_import_json(struct tf_value *v, struct tf_arena *a, const char *path,
                   struct tf_err *err) TF_MUST_CHECK;
/* Set m->json and m->json_err to what config.json of a directory is. */
void tf_import_read_config(struct tf_import *m, const struct tf_dir *d);
/* Fail if config.json could not be read. */
int tf_import_check_config(const struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* Set m->files.vocab to the segmenters of a directory, if there are any, under the names that
 * converters and packages give them. Error: that of one side alone. */
int tf_import_find_segmenters(struct tf_import *m, const struct tf_dir *d,
                              struct tf_err *err) TF_MUST_CHECK;
/* Fail with the names of all settings in m->refused, if there are any. */
int tf_import_refused(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
void tf_import_release(struct tf_import *m);

#endif
