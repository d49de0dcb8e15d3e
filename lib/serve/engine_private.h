/* engine_private.h - models, the queue of each, and the pipelines that work for it.
 *
 * A pipeline gets a few lines at a time, one each from the requests in turn, and more when it has
 * answered these: so a short request waits neither for the rest of a long one nor for a full batch,
 * and a line that is not needed any more is removed while it waits. */
#ifndef TF_SERVE_ENGINE_PRIVATE_H
#define TF_SERVE_ENGINE_PRIVATE_H

#include "serve/job_private.h"
#include "serve/metrics_private.h"
#include "serve/opts.h"
#include "serve/tools_private.h"
#include "serve/worker_private.h"

enum { TF_MODEL_HEX = 65 }; /* the fingerprint of a model as text */

/* A line that a pipeline has. */
struct tf_sent {
    struct tf_job *job;
    size_t line;
};

struct tf_pipe {
    struct tf_worker worker;
    struct tf_route *route;
    struct tf_sent *sent; /* n of them, of which the first `got` have been answered */
    size_t n, got;
    uint64_t answered; /* lines since its start */
};

/* A pair of languages, its model and its pipelines. */
struct tf_route {
    struct tf_direction pair;
    struct tf_tools tools;
    const char *terms; /* its glossary, or NULL */
    uint64_t n_terms;
    /* A process that has read the model of this number, and makes copies of its tools for each
     * pipeline; asks: our end of its socket, -1 where there is none. before: while replacing, that
     * of the model which stays if the new one cannot be used. */
    struct tf_copier {
        pid_t pid;
        int asks;
        unsigned models;
        char hash[TF_MODEL_HEX]; /* of that model; empty: unknown */
    } copier, before;
    char hash[TF_MODEL_HEX]; /* of the model of the last pipeline that got ready */
    struct tf_sentences *sentences; /* NULL: lines are not split */
    struct tf_engine *engine;
    struct tf_pipe *pipes; /* one more than work, for a new one beside those that it replaces */
    struct tf_job *head, *tail; /* jobs with lines to send */
    size_t waiting;             /* lines of these */
    unsigned models;            /* how often the model was to be read again */
    bool replacing;             /* some pipelines have an earlier one */
    bool served;                /* a pipeline of it has been ready */
    double delay, again;        /* after failures: seconds before the next start, and its time */
    uint64_t lines, failed, characters, restarts;
};

struct tf_engine {
    const struct tf_serve_opts *o;
    struct tf_loop *loop;
    struct tf_route *routes;
    size_t n;
    size_t waiting;                 /* lines in all queues */
    struct tf_job *oldest, *newest; /* jobs that are not done */
    bool ending;
};

/* Start the pipelines. The first that ends before it is ready is a failure of tf_engine_tick. */
int tf_engine_open(struct tf_engine *e, struct tf_loop *loop, const struct tf_serve_opts *o,
                   struct tf_err *err) TF_MUST_CHECK;
void tf_engine_close(struct tf_engine *e);
/* Has every route a pipeline that is ready? */
bool tf_engine_ready(const struct tf_engine *e);
struct tf_route *tf_engine_route(struct tf_engine *e, const char *source, const char *target);
/* Queue the lines of a job, at least one, for its route: job->finished is called when all are done,
 * or at its deadline, with lines that are not done. False: the queue is full. */
bool tf_engine_submit(struct tf_engine *e, struct tf_job *job);
/* Nobody waits for this job any more: free it, and take its lines out of the queue. */
void tf_engine_leave(struct tf_engine *e, struct tf_job *job);
/* Read the models again: each pipeline is replaced when a new one is ready. */
void tf_engine_reload(struct tf_engine *e);
/* A process of ours has ended. */
void tf_engine_reap(struct tf_engine *e);
/* Do what is due: deadlines, starts, lines to send. */
int tf_engine_tick(struct tf_engine *e, struct tf_err *err) TF_MUST_CHECK;
void tf_engine_metrics(const struct tf_engine *e, struct tf_buf *out);

#endif
