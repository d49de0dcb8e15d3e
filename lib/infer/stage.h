/* stage.h - what tf-decode, tf-score and tf-attn have in common: models over streams of sentences,
 * something out for each record that comes in, in the order of the input. */
#ifndef TF_INFER_STAGE_H
#define TF_INFER_STAGE_H

#include "base/file.h"
#include "infer/bad.h"
#include "infer/paired.h"

struct tf_stage_opts {
    struct tf_strs models;
    const char *device, *precision; /* precision: NULL for the device's own */
    int64_t max_length;             /* of a side; longer ones become bad records */
    int64_t batch, window;          /* 0 leaves them to the device */
    int64_t threads;                /* 0: the CPUs at hand */
    int bad;                        /* enum tf_on_bad */
    bool force_vocab, quiet, progress;
};

/* Fields are for the one tool that runs; those of the options and the job are borrowed. */
struct tf_stage {
    const struct tf_stage_opts *o;
    const struct tf_opt *table;
    int threads;
    size_t batch;
    struct tf_model_set models;
    struct tf_paired *in;
    struct tf_out file;
    struct tf_writer out; /* into file, where the output is a stream */
    struct tf_bads bads;
    struct tf_progress progress;
    const struct tf_stage_job *job;
    struct tf_arena header_mem; /* of the part */
    bool begun;                 /* a stream has a header and no end yet */
};

struct tf_stage_job {
    void *arg;
    /* kind of the output's records; NULL: it is text */
    const char *kind;
    /* a hand on the header of each part; memory from s->header_mem; or NULL */
    void (*header)(void *arg, struct tf_header *h, const struct tf_header *const from[2]);
    /* entries that follow each other; good ones are computed, and something is put out for each */
    int (*window)(void *arg, struct tf_pair_entry *v, size_t n, struct tf_err *err);
};

/* Kinds of inputs: see tf_paired_new. */
struct tf_stage_inputs {
    const char *const *v;
    size_t n;
    const char *const *alone, *const *second;
};

/* Open the output, the models and the inputs. What failed or not, tf_stage_close ends it. */
int tf_stage_open(struct tf_stage *s, const struct tf_stage_opts *o, enum tf_use use,
                  const struct tf_stage_inputs *in, const char *output, unsigned out_flags,
                  const struct tf_opt *table, struct tf_err *err) TF_MUST_CHECK;
/* All parts. Windows, cost and sides as limits say; window and force_vocab are set here. */
int tf_stage_run(struct tf_stage *s, const struct tf_stage_job *job, struct tf_paired_limits limits,
                 struct tf_err *err) TF_MUST_CHECK;
/* Count an entry. 1: it is good; 0: it is bad, and put out where the output is a stream; -1. */
int tf_stage_take(struct tf_stage *s, const struct tf_pair_entry *e,
                  struct tf_err *err) TF_MUST_CHECK;
/* End of it all. rc: of what came before. 0, TF_PARTIAL when records were bad, or -1. */
int tf_stage_close(struct tf_stage *s, int rc, struct tf_err *err) TF_MUST_CHECK;

#endif
