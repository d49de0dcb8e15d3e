/* serve.h - the job of tf-serve: HTTP requests with texts, in the API of LibreTranslate, to the
 * lines of a tf-translate --json, and back.
 *
 * Everything runs on one thread, in one loop over epoll(7) (loop_private.h), so nothing needs a
 * lock. http.c has the connections, the only file that knows libmicrohttpd; api.c what the paths of
 * the service are and how requests become jobs (job_private.h); engine.c the queue of each model
 * and its pipelines (worker_private.h), which are processes of their own. */
#ifndef TF_SERVE_SERVE_H
#define TF_SERVE_SERVE_H

#include "serve/opts.h"

/* Serve until SIGTERM or SIGINT; then finish what is there. Returns 0 or -1. */
int tf_serve(const struct tf_serve_opts *o, struct tf_err *err) TF_MUST_CHECK;

#endif
