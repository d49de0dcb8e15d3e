/* loop.c - see loop_private.h. */
#include "serve/loop_private.h"

#include <sys/epoll.h>
#include <unistd.h>

int tf_loop_open(struct tf_loop *l, struct tf_err *err)
{
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    return l->epoll >= 0 ? 0 : tf_fail_errno(err, "epoll");
}

void tf_loop_close(struct tf_loop *l)
{
    if (l->epoll >= 0)
        close(l->epoll);
    l->epoll = -1;
}

void tf_loop_watch(struct tf_loop *l, struct tf_loop_fd *w, unsigned events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};
    if (events == w->events)
        return;
    const int op = w->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    w->events = events;
    (void)epoll_ctl(l->epoll, op, w->fd, &e);
}

void tf_loop_run(struct tf_loop *l, int milliseconds)
{
    struct epoll_event events[64];
    const int n = epoll_wait(l->epoll, events, sizeof events / sizeof *events, milliseconds);
    for (int i = 0; i < n; i++) {
        const struct tf_loop_fd *w = events[i].data.ptr;
        if (w->events != 0)
            w->ready(w->arg, events[i].events);
    }
}
