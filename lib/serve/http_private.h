/* http_private.h - HTTP/1.1 by libmicrohttpd, on the service's own loop. A connection that takes
 * longer than `patience` to send a request, or to take an answer, is closed. */
#ifndef TF_SERVE_HTTP_PRIVATE_H
#define TF_SERVE_HTTP_PRIVATE_H

#include "base/buf.h"
#include "serve/loop_private.h"

struct tf_http;

/* A request that has arrived whole. */
struct tf_http_request {
    const char *method, *path;
    const char *type; /* of the body, without parameters and in lower case; "" if it has none */
    struct tf_buf body;
    void *arg, *job; /* the caller's own */
    struct tf_http_private *own;
};

struct tf_http_opts {
    int listen;        /* a socket that listens; closed by tf_http_close */
    size_t max_body;   /* bytes; a longer one is answered with 413 */
    size_t max_bodies; /* bytes of all requests together; more is answered with 503 */
    int connections;
    double patience; /* seconds */
    /* A request: answer now or later. */
    void (*request)(void *arg, struct tf_http_request *r);
    /* Its client has left before the answer; the request ends. */
    void (*left)(void *arg, struct tf_http_request *r);
    /* An answer of this status is on its way. */
    void (*answered)(void *arg, int status);
    void *arg;
};

/* What an answer consists of, besides its body. */
struct tf_http_answer {
    int status;
    const char *type;
    const char *policy; /* Content-Security-Policy, or NULL */
    const char *allow;  /* 405: the methods */
    int retry;          /* seconds, or 0 */
};

struct tf_http *tf_http_open(struct tf_loop *loop, const struct tf_http_opts *o,
                             struct tf_err *err) TF_MUST_CHECK;
/* Answer a request, which ends. The body is taken over. */
void tf_http_answer(struct tf_http_request *r, const struct tf_http_answer *a, struct tf_buf *body);
/* Call `field` for each field of the query, and of the form in the body unless that is empty; -1
 * if it is none, or a call returned -1. */
int tf_http_form(struct tf_http_request *r,
                 int (*field)(void *arg, const char *name, const char *value, size_t n,
                              struct tf_err *err),
                 void *arg, struct tf_err *err) TF_MUST_CHECK;
/* Do what is due. Returns the milliseconds in which it is to be called again. */
int tf_http_run(struct tf_http *h);
/* Accept no more connections, and end each after its next answer. */
void tf_http_drain(struct tf_http *h);
/* Is there a request, or a part of one? */
bool tf_http_busy(const struct tf_http *h);
void tf_http_close(struct tf_http *h);

#endif
