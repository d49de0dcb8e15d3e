/* serve.c - see serve.h. */
#include "serve/serve.h"
#include "base/buf.h"
#include "serve/api_private.h"
#include "serve/listen_private.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { BODIES = 64 << 20 /* bytes of all requests */, TICK = 100 /* ms between looks at clocks */ };

struct service {
    struct tf_loop loop;
    struct tf_engine engine;
    struct tf_api api;
    struct tf_http *http;
    struct tf_loop_fd signals;
    int listen;
    bool ending; /* a signal has come */
};

static void take_signals(void *arg, unsigned events)
{
    struct service *s = arg;
    struct signalfd_siginfo i;
    (void)events;
    while (read(s->signals.fd, &i, sizeof i) == (ssize_t)sizeof i)
        switch (i.ssi_signo) {
        case SIGCHLD:
            tf_engine_reap(&s->engine);
            break;
        case SIGHUP:
            tf_engine_reload(&s->engine);
            break;
        default:
            s->ending = true;
        }
}

static int watch_signals(struct service *s, struct tf_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signals = (struct tf_loop_fd){.ready = take_signals,
                                     .arg = s,
                                     .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (s->signals.fd < 0)
        return tf_fail_errno(err, "signalfd");
    tf_loop_watch(&s->loop, &s->signals, EPOLLIN);
    return 0;
}

/* Until each model has a pipeline, or a signal ends the wait. */
static int wait_ready(struct service *s, struct tf_err *err)
{
    while (!s->ending && !tf_engine_ready(&s->engine)) {
        if (tf_engine_tick(&s->engine, err) != 0)
            return -1;
        tf_loop_run(&s->loop, TICK);
    }
    return 0;
}

static int answer(struct service *s, const struct tf_serve_opts *o, const char *url,
                  struct tf_err *err)
{
    const struct tf_http_opts http = {.listen = s->listen,
                                      .max_body = (size_t)o->max_body,
                                      .max_bodies = BODIES,
                                      .connections = (int)o->connections,
                                      .patience = o->patience,
                                      .request = tf_api_request,
                                      .left = tf_api_left,
                                      .answered = tf_api_answered,
                                      .arg = &s->api};
    s->http = tf_http_open(&s->loop, &http, err);
    if (s->http == NULL || o->listening(url, err) != 0)
        return -1;
    while (!s->api.draining || tf_http_busy(s->http)) {
        const int milliseconds = tf_http_run(s->http);
        if (s->ending && !s->api.draining) {
            (void)tf_http_run(s->http); /* what the connections that it accepted have sent */
            tf_http_drain(s->http);
            s->api.draining = true;
        }
        if (tf_engine_tick(&s->engine, err) != 0)
            return -1;
        tf_loop_run(&s->loop, milliseconds < TICK ? milliseconds : TICK);
    }
    return 0;
}

/* Connections and pipes may be more than the soft limit, which select(2) alone is for. */
static void raise_limit(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
        l.rlim_cur = l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
    }
}

int tf_serve(const struct tf_serve_opts *o, struct tf_err *err)
{
    struct service s = {.loop.epoll = -1, .signals.fd = -1};
    struct tf_buf url = {0};
    s.api.engine = &s.engine;
    raise_limit();
    s.listen = tf_listen(o->listen, &url, err);
    int rc = s.listen < 0 || tf_loop_open(&s.loop, err) != 0 || watch_signals(&s, err) != 0 ||
                     tf_engine_open(&s.engine, &s.loop, o, err) != 0 || wait_ready(&s, err) != 0
                 ? -1
                 : 0;
    if (rc == 0 && !s.ending)
        rc = answer(&s, o, url.p, err);
    tf_http_close(s.http);
    tf_engine_close(&s.engine);
    if (s.signals.fd >= 0)
        close(s.signals.fd);
    tf_loop_close(&s.loop);
    tf_buf_release(&url);
    return rc;
}
