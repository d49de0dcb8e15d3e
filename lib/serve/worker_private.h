/* worker_private.h - one pipeline: copies of the tools (tools_private.h), as tf_pipeline_ask makes
 * them, their stdin and their stdout. */
#ifndef TF_SERVE_WORKER_PRIVATE_H
#define TF_SERVE_WORKER_PRIVATE_H

#include "base/buf.h"
#include "serve/loop_private.h"
#include <sys/types.h>

enum tf_worker_state {
    TF_WORKER_OFF,
    TF_WORKER_STARTING, /* has been given an empty line, whose answer says that the model is read */
    TF_WORKER_IDLE,
    TF_WORKER_BUSY,
    TF_WORKER_BROKEN, /* has printed something else than answers */
    TF_WORKER_ENDING, /* its stdin is closed, and it has nothing left to do */
};

struct tf_worker {
    enum tf_worker_state state;
    pid_t pid;
    double since;    /* when it began its state */
    unsigned models; /* which reading of the model files it has: see tf_engine_reload */
    struct tf_loop *loop;
    struct tf_loop_fd in, out;
    struct tf_buf send, got; /* bytes to write from `written` on; a part of a line */
    size_t written;
    /* Called with a line of its output, without the line feed. */
    void (*line)(void *arg, struct tf_worker *w, const char *line, size_t n);
    void *arg;
};

/* Start it: its state is then STARTING. asks: see tf_pipeline_ask. */
int tf_worker_start(struct tf_worker *w, int asks, struct tf_err *err) TF_MUST_CHECK;
/* Write the bytes of w->send as far as its pipe takes them, and the rest later. */
void tf_worker_send(struct tf_worker *w);
/* Close its stdin: it ends when it has done what it has. */
void tf_worker_end(struct tf_worker *w);
/* End all its processes now. */
void tf_worker_kill(struct tf_worker *w);
/* Its process has ended, or was killed: wait for it, take what is left of its output, and become
 * OFF. */
void tf_worker_ended(struct tf_worker *w);
void tf_worker_release(struct tf_worker *w);

#endif
