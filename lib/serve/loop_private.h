/* loop_private.h - one thread waits for all descriptors of the service. */
#ifndef TF_SERVE_LOOP_PRIVATE_H
#define TF_SERVE_LOOP_PRIVATE_H

#include "base/err.h"

/* A descriptor and what is called when it is ready; events as in epoll_ctl(2). */
struct tf_loop_fd {
    void (*ready)(void *arg, unsigned events);
    void *arg;
    int fd;
    unsigned events; /* 0: not watched */
};

struct tf_loop {
    int epoll;
};

int tf_loop_open(struct tf_loop *l, struct tf_err *err) TF_MUST_CHECK;
void tf_loop_close(struct tf_loop *l);
/* Watch for these events from now on; 0: for none. */
void tf_loop_watch(struct tf_loop *l, struct tf_loop_fd *w, unsigned events);
/* Call what is ready, after waiting for at most so many milliseconds. What is called may end a
 * watch, whose memory must then stay until this returns. */
void tf_loop_run(struct tf_loop *l, int milliseconds);

#endif
