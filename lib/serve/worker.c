/* worker.c - see worker_private.h. */
#include "serve/worker_private.h"
#include "base/log.h"
#include "base/pipeline.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 65536, LONGEST_LINE = 64 << 20 };

static void close_watch(struct tf_worker *w, struct tf_loop_fd *side)
{
    if (side->fd < 0)
        return;
    tf_loop_watch(w->loop, side, 0);
    close(side->fd);
    side->fd = -1;
}

static void take_lines(struct tf_worker *w)
{
    struct tf_buf *b = &w->got;
    size_t at = 0;
    char *feed;
    while (at < b->len && (feed = memchr(b->p + at, '\n', b->len - at)) != NULL) {
        const size_t n = (size_t)(feed - b->p) - at;
        w->line(w->arg, w, b->p + at, n);
        at += n + 1;
    }
    b->len -= at;
    if (b->len > 0)
        memmove(b->p, b->p + at, b->len);
}

/* Read what is there. */
static void read_output(void *arg, unsigned events)
{
    struct tf_worker *w = arg;
    (void)events;
    for (;;) {
        const ssize_t n = read(w->out.fd, tf_buf_grow(&w->got, CHUNK), CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0 || w->got.len > LONGEST_LINE) {
            close_watch(w, &w->out);
            close_watch(w, &w->in); /* those of its processes that are left end, too */
            return;
        }
        w->got.len += (size_t)n;
        take_lines(w);
        if (w->out.fd < 0)
            return;
    }
}

static void write_input(void *arg, unsigned events)
{
    (void)events;
    tf_worker_send(arg);
}

void tf_worker_send(struct tf_worker *w)
{
    struct tf_buf *b = &w->send;
    while (w->in.fd >= 0 && w->written < b->len) {
        const ssize_t n = write(w->in.fd, b->p + w->written, b->len - w->written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            tf_loop_watch(w->loop, &w->in, EPOLLOUT);
            return;
        }
        if (n < 0) { /* it has ended, or will */
            close_watch(w, &w->in);
            return;
        }
        w->written += (size_t)n;
    }
    w->written = 0;
    tf_buf_clear(b);
    if (w->in.fd >= 0)
        tf_loop_watch(w->loop, &w->in, 0);
}

int tf_worker_start(struct tf_worker *w, int asks, struct tf_err *err)
{
    w->in = (struct tf_loop_fd){.ready = write_input, .arg = w, .fd = -1};
    w->out = (struct tf_loop_fd){.ready = read_output, .arg = w, .fd = -1};
    w->written = 0;
    tf_buf_clear(&w->send);
    tf_buf_clear(&w->got);
    if (tf_pipeline_ask(asks, &w->pid, &w->in.fd, &w->out.fd, err) != 0)
        return -1;
    w->state = TF_WORKER_STARTING;
    w->since = tf_now();
    tf_loop_watch(w->loop, &w->out, EPOLLIN);
    tf_buf_byte(&w->send, '\n');
    tf_worker_send(w);
    return 0;
}

void tf_worker_end(struct tf_worker *w)
{
    close_watch(w, &w->in);
    w->state = TF_WORKER_ENDING;
    w->since = tf_now();
}

void tf_worker_kill(struct tf_worker *w)
{
    if (w->pid > 0)
        kill(-w->pid, SIGKILL);
}

void tf_worker_ended(struct tf_worker *w)
{
    tf_worker_kill(w); /* what it started; the number of its group is its own until the next line */
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (w->out.fd >= 0)
        read_output(w, 0);
    close_watch(w, &w->in);
    close_watch(w, &w->out);
    w->pid = 0;
    w->state = TF_WORKER_OFF;
    w->since = tf_now();
}

void tf_worker_release(struct tf_worker *w)
{
    tf_buf_release(&w->send);
    tf_buf_release(&w->got);
}
