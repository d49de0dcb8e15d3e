/* opts.h - what a user chooses of the service. */
#ifndef TF_SERVE_OPTS_H
#define TF_SERVE_OPTS_H

#include "base/opt.h"

struct tf_serve_opts {
    const char *const *models; /* n of the form SOURCE-TARGET=FILE */
    size_t n;
    struct tf_strs terms;   /* glossaries, of the same form */
    struct tf_strs decode, tokenize; /* options for tf-decode and tf-tokenize -d */
    const char *listen;     /* ADDRESS:PORT; NULL: the socket of systemd, or 127.0.0.1:8080 */
    int64_t pipelines;      /* of each model */
    int64_t batch;          /* most lines that a pipeline has at a time */
    int64_t queue;          /* most lines that wait, of all models together */
    bool whole;             /* do not split lines into sentences */
    int64_t max_chars;      /* of a sentence; 0: no limit */
    int64_t alternatives;   /* most of a request */
    bool alignment;         /* format html is answered */
    bool placeholders, copy_unknown; /* as tf-translate does */
    int64_t max_body;       /* bytes of a request */
    int64_t connections;
    double timeout;  /* seconds for a request to be answered */
    double starting; /* seconds for a pipeline to get ready */
    double patience; /* seconds for a client to send a request, and to take its answer */
    int (*listening)(const char *url, struct tf_err *err); /* called when requests are accepted */
};

/* A pair of languages and its file, a model or a glossary. */
struct tf_direction {
    char *source, *target; /* owned */
    const char *path;      /* within the word */
};
/* SOURCE-TARGET=FILE, or SOURCE:TARGET=FILE where a language has a hyphen. */
int tf_direction_parse(struct tf_direction *p, const char *word, struct tf_err *err) TF_MUST_CHECK;
void tf_direction_release(struct tf_direction *p);
/* The files of the pairs, for the sandbox. */
int tf_direction_files(const char *const *words, size_t n, struct tf_strs *files,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
