/* job_private.h - a request to translate: texts, of which each sentence is translated, and what is
 * between them copied. A sentence is a line for the pipeline, and called so here. */
#ifndef TF_SERVE_JOB_PRIVATE_H
#define TF_SERVE_JOB_PRIVATE_H

#include "base/arena.h"
#include "base/json.h"
#include "text/hidden.h"
#include "text/html.h"

struct tf_route;

/* A translation, and links of its words, or NULL. */
struct tf_job_out {
    struct tf_text text, links; /* p NULL: none */
};

struct tf_job_line {
    const char *source; /* n bytes, without the white space around them */
    size_t n;
    struct tf_text seen;      /* as the model sees it */
    struct tf_hidden *hidden; /* of it, or NULL */
    struct tf_job_out out; /* its translation */
    struct tf_job_out *alternatives;
    size_t n_alternatives;
    const char *status, *reason; /* of one that failed; else NULL */
    unsigned tries;              /* pipelines that ended while they had it */
    bool joined;                 /* see struct tf_span */
    bool sent, done;             /* a pipeline has it; it has an answer */
};

struct tf_job_text {
    const char *p;
    size_t n;
    size_t end; /* its lines are those from the end of the text before it */
    struct tf_html *html; /* that it is, or NULL */
};

struct tf_job {
    struct tf_arena mem;
    struct tf_job_text *texts;
    size_t n_texts, cap_texts;
    struct tf_job_line *lines;
    size_t n_lines, cap_lines;
    const char *source, *target; /* languages, or NULL */
    int64_t alternatives;
    bool list; /* the answer is a list, too */
    bool html, detect;
    bool alignment; /* the answer has the links of words, if there are any */
    bool addresses, copy_unknown; /* as --placeholders and --copy-unk of tf-translate */
    struct tf_glossary *glossary; /* of the request, or NULL */

    /* Of the engine. */
    struct tf_route *route;
    size_t next;       /* the first line that may have to be sent */
    size_t sent, done; /* lines with a pipeline now; lines that are done */
    double start, deadline;
    bool left;                     /* nobody waits for it */
    struct tf_job *before, *after; /* in the queue of its model */
    struct tf_job *older, *newer;  /* among all that are not done */
    void (*finished)(struct tf_job *job, void *arg);
    void *arg;
};

struct tf_job *tf_job_new(void);
void tf_job_free(struct tf_job *job);
/* Has it all that it needs, and nothing that cannot be done? */
int tf_job_check(const struct tf_job *job, struct tf_err *err) TF_MUST_CHECK;
/* Find the sentences of the texts; NULL: each line, or segment of HTML, is one. */
int tf_job_split(struct tf_job *job, struct tf_sentences *sentences,
                 struct tf_err *err) TF_MUST_CHECK;
/* Take the fields of a request in JSON. */
int tf_job_read_json(struct tf_job *job, const char *body, size_t n,
                     struct tf_err *err) TF_MUST_CHECK;
/* Take one field of a form. */
int tf_job_read_field(struct tf_job *job, const char *name, const char *value, size_t n,
                      struct tf_err *err) TF_MUST_CHECK;
/* Take what tf-translate --json has printed as its line of that number; -1: it is something
 * else. */
int tf_job_read_line(struct tf_job *job, size_t line, uint64_t number, const char *json, size_t n,
                     struct tf_err *err) TF_MUST_CHECK;
/* The first line that failed, unless it is of a list with a line that did not; or NULL. */
const struct tf_job_line *tf_job_failure(const struct tf_job *job);
/* Write the answer of a job that is done. */
void tf_job_write(const struct tf_job *job, struct tf_buf *out);

#endif
