/* http.c - see http_private.h. */
#include "serve/http_private.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parse.h"

#include <microhttpd.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADERS = 16 << 10 }; /* bytes of memory for the headers of a request, and for its reading */

static const double GRACE = 0.2; /* seconds after the end of a connection until we close it */

/* What a connection is doing: between requests, or receiving one; waiting for its answer; sending
 * that. */
enum phase { IDLE, RECEIVING, WAITING, SENDING };

struct connection {
    struct connection *before, *after;
    struct tf_http *http;
    struct tf_loop_fd watch; /* for a client that closes its side */
    struct tf_http_private *request;
    enum phase phase;
    double since;
    double closed; /* when the client closed its side, or 0 */
};

struct tf_http_private {
    struct tf_http_request r;
    struct connection *on;
    struct MHD_Connection *c;
    char type[64];
    char *path;
    bool encoded, too_large, no_room, gone;
    /* The answer, once there is one. */
    struct MHD_Response *response;
    int status;
};

struct tf_http {
    struct tf_http_opts o;
    struct tf_loop *loop;
    struct MHD_Daemon *daemon;
    struct tf_loop_fd watch;
    struct connection *first;
    size_t bodies; /* bytes of all requests */
    bool draining;
};

static void enter(struct connection *c, enum phase phase)
{
    c->phase = phase;
    c->since = tf_now();
}

/* ---- connections ---- */

/* A client that closes its side while it waits has left, as for other servers. */
static void client_closed(void *arg, unsigned events)
{
    struct connection *c = arg;
    (void)events;
    tf_loop_watch(c->http->loop, &c->watch, 0);
    c->closed = tf_now();
    if (c->phase != WAITING)
        return;
    c->request->gone = true;
    c->http->o.left(c->http->o.arg, &c->request->r);
    enter(c, SENDING);
    MHD_resume_connection(c->request->c);
}

static void notify_connection(void *cls, struct MHD_Connection *connection, void **context,
                              enum MHD_ConnectionNotificationCode code)
{
    struct tf_http *h = cls;
    struct connection *c = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        c = tf_xcalloc(1, sizeof *c);
        *context = c;
        c->http = h;
        c->watch = (struct tf_loop_fd){
            .ready = client_closed,
            .arg = c,
            .fd =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        };
        tf_loop_watch(h->loop, &c->watch, EPOLLRDHUP);
        enter(c, IDLE);
        c->after = h->first;
        if (h->first != NULL)
            h->first->before = c;
        h->first = c;
        return;
    }
    tf_loop_watch(h->loop, &c->watch, 0);
    *(c->before != NULL ? &c->before->after : &h->first) = c->after;
    if (c->after != NULL)
        c->after->before = c->before;
    free(c);
}

static struct connection *connection_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* ---- answers ---- */

static void header(struct MHD_Response *r, const char *name, const char *value)
{
    (void)MHD_add_response_header(r, name, value);
}

static struct MHD_Response *make_response(const struct tf_http *h, const struct tf_http_answer *a,
                                          struct tf_buf *body)
{
    char number[32];
    struct MHD_Response *r =
        MHD_create_response_from_buffer(body->len, body->p, MHD_RESPMEM_MUST_FREE);
    *body = (struct tf_buf){0};
    if (r == NULL)
        tf_out_of_memory(0, NULL);
    if (a->type != NULL)
        header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    header(r, "X-Content-Type-Options", "nosniff");
    /* Pages of other origins may ask, as in LibreTranslate: there is nothing to steal. */
    header(r, "Access-Control-Allow-Origin", "*");
    header(r, "Access-Control-Allow-Headers", "Authorization, Content-Type");
    header(r, "Access-Control-Allow-Methods", "GET, POST");
    if (a->status == 204) /* seconds for which a browser need not ask again */
        header(r, "Access-Control-Max-Age", "86400");
    if (a->policy != NULL)
        header(r, "Content-Security-Policy", a->policy);
    if (a->allow != NULL)
        header(r, MHD_HTTP_HEADER_ALLOW, a->allow);
    if (a->retry > 0) {
        snprintf(number, sizeof number, "%d", a->retry);
        header(r, MHD_HTTP_HEADER_RETRY_AFTER, number);
    }
    if (h->draining)
        header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    return r;
}

void tf_http_answer(struct tf_http_request *r, const struct tf_http_answer *a, struct tf_buf *body)
{
    struct tf_http_private *p = r->own;
    struct connection *c = p->on;
    p->response = make_response(c->http, a, body);
    p->status = a->status;
    c->http->o.answered(c->http->o.arg, a->status);
    if (c->phase == WAITING) {
        enter(c, SENDING);
        MHD_resume_connection(p->c);
    }
}

static enum MHD_Result send_answer(struct tf_http_private *p)
{
    enter(p->on, SENDING);
    return MHD_queue_response(p->c, (unsigned)p->status, p->response);
}

/* An error that is answered here. */
static void refuse(struct tf_http_private *p, int status, const char *message, int retry)
{
    struct tf_buf body = {0};
    const struct tf_http_answer a = {.status = status, .type = "application/json", .retry = retry};
    tf_buf_printf(&body, "{\"error\":\"%s\"}\n", message);
    tf_http_answer(&p->r, &a, &body);
}

/* ---- requests ---- */

static struct tf_http_private *new_request(struct MHD_Connection *connection, const char *path,
                                           const char *method)
{
    struct tf_http_private *p = tf_xcalloc(1, sizeof *p);
    const char *type =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
    p->c = connection;
    p->on = connection_of(connection);
    p->on->request = p;
    for (size_t i = 0;
         type != NULL && i + 1 < sizeof p->type && type[i] != 0 && type[i] != ';' && type[i] != ' ';
         i++)
        p->type[i] = (char)tolower((unsigned char)type[i]);
    p->path = tf_xstrdup(path);
    p->r = (struct tf_http_request){.method = method, .path = p->path, .type = p->type, .own = p};
    enter(p->on, RECEIVING);
    return p;
}

/* Does its sender say that the body is longer? */
static bool declares_more(struct MHD_Connection *c, size_t most)
{
    struct tf_err err;
    int64_t n;
    const char *length =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length != NULL && tf_parse_int(&n, length, 0, (int64_t)most, &err) != 0;
}

/* Where a body that is refused comes without asking (Expect), it is received, and left out: most
 * programs read no answer before they have sent it, and fail if they cannot. */
static bool may_receive(const struct tf_http *h, struct MHD_Connection *c)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT) == NULL &&
           !declares_more(c, h->o.max_bodies);
}

/* Is the body compressed? */
static bool is_encoded(struct MHD_Connection *c)
{
    const char *how =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_ENCODING);
    return how != NULL && how[0] != 0 && strcasecmp(how, "identity") != 0;
}

static enum MHD_Result receive(struct tf_http *h, struct tf_http_private *p, const char *data,
                               size_t n)
{
    p->too_large = p->too_large || p->r.body.len + n > h->o.max_body;
    p->no_room = p->no_room || h->bodies + n > h->o.max_bodies;
    if (!p->no_room && !p->too_large && !p->encoded) {
        tf_buf_add(&p->r.body, data, n);
        h->bodies += n;
    }
    return MHD_YES;
}

/* What decides where a request ends. A proxy in front could understand it otherwise, and take the
 * rest for a part of this request where it is the next one here, or the other way round. */
struct framing {
    int lengths;
    bool unclear;
};

/* The library joins a name to a value in the next line. */
static bool begins_as(const char *key, const char *name)
{
    return strncasecmp(key, name, strlen(name)) == 0;
}

static enum MHD_Result check_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789" /* RFC 9110, 5.6.2 */
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    struct framing *f = cls;
    const bool encoding = begins_as(key, MHD_HTTP_HEADER_TRANSFER_ENCODING),
               length = begins_as(key, MHD_HTTP_HEADER_CONTENT_LENGTH);
    (void)kind;
    f->lengths += encoding || length;
    f->unclear = f->unclear || key[strspn(key, token)] != 0 ||
                 (value != NULL && strchr(value, '\r') != NULL) || /* the end of a line for some */
                 (encoding && (value == NULL || strcasecmp(value, "chunked") != 0)) ||
                 (length && strlen(key) > strlen(MHD_HTTP_HEADER_CONTENT_LENGTH));
    return MHD_YES;
}

/* Answer a body that is not taken, if it is that. */
static void refuse_body(struct tf_http_private *p)
{
    if (p->encoded)
        refuse(p, 415, "the content is encoded (Content-Encoding); send it as it is", 0);
    else if (p->too_large)
        refuse(p, 413, "the request is too large", 0);
    else if (p->no_room)
        refuse(p, 503, "the service is busy", 1);
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data, size_t *n,
                              void **context)
{
    struct tf_http *h = cls;
    struct tf_http_private *p = *context;
    (void)version;
    if (p == NULL) {
        struct framing f = {0};
        (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, check_header, &f);
        if (f.lengths > 1 || f.unclear)
            return MHD_NO;
        p = *context = new_request(connection, url, method);
        p->encoded = is_encoded(connection);
        p->too_large = declares_more(connection, h->o.max_body);
        if (!may_receive(h, connection))
            refuse_body(p);
        return p->response != NULL ? send_answer(p) : MHD_YES;
    }
    if (*n > 0) {
        const size_t got = *n;
        *n = 0;
        return receive(h, p, data, got);
    }
    if (p->gone)
        return MHD_NO;
    if (p->response == NULL)
        refuse_body(p);
    if (p->response == NULL)
        h->o.request(h->o.arg, &p->r);
    if (p->response != NULL)
        return send_answer(p);
    enter(p->on, WAITING);
    MHD_suspend_connection(connection);
    if (p->on->closed > 0)
        client_closed(p->on, 0);
    return MHD_YES;
}

static void notify_completed(void *cls, struct MHD_Connection *connection, void **context,
                             enum MHD_RequestTerminationCode code)
{
    struct tf_http *h = cls;
    struct tf_http_private *p = *context;
    (void)connection;
    (void)code;
    if (p == NULL)
        return;
    if (p->on->phase == WAITING)
        h->o.left(h->o.arg, &p->r);
    h->bodies -= p->r.body.len;
    p->on->request = NULL;
    enter(p->on, IDLE);
    if (p->response != NULL)
        MHD_destroy_response(p->response);
    tf_buf_release(&p->r.body);
    free(p->path);
    free(p);
    *context = NULL;
}

/* ---- forms ---- */

struct form {
    int (*field)(void *arg, const char *name, const char *value, size_t n, struct tf_err *err);
    void *arg;
    struct tf_err *err;
    struct tf_buf name, value; /* the field that is being read */
    bool open, failed;
};

static void end_field(struct form *f)
{
    if (f->open && !f->failed)
        f->failed = f->field(f->arg, f->name.p, f->value.len > 0 ? f->value.p : "", f->value.len,
                             f->err) != 0;
    f->open = false;
}

static enum MHD_Result part(void *cls, enum MHD_ValueKind kind, const char *key,
                            const char *filename, const char *type, const char *encoding,
                            const char *data, uint64_t off, size_t n)
{
    struct form *f = cls;
    (void)kind;
    (void)filename;
    (void)type;
    (void)encoding;
    if (off == 0) {
        end_field(f);
        tf_buf_clear(&f->name);
        tf_buf_clear(&f->value);
        if (key != NULL)
            tf_buf_add(&f->name, key, strlen(key) + 1);
        else if (!f->failed) /* libmicrohttpd found none, as where a NUL is in its line */
            f->failed = tf_fail(f->err, "Invalid request: a field has no name") != 0;
        f->open = true;
    }
    tf_buf_add(&f->value, data, n);
    return f->failed ? MHD_NO : MHD_YES;
}

static enum MHD_Result argument(void *cls, enum MHD_ValueKind kind, const char *key, size_t key_n,
                                const char *value, size_t n)
{
    struct form *f = cls;
    (void)kind;
    (void)key_n;
    f->failed = f->failed || f->field(f->arg, key, n > 0 ? value : "", n, f->err) != 0;
    return f->failed ? MHD_NO : MHD_YES;
}

/* The fields of a body that is not empty. */
static bool read_body(struct tf_http_request *r, struct form *f)
{
    struct MHD_PostProcessor *pp = MHD_create_post_processor(r->own->c, 1024, part, f);
    if (pp == NULL)
        return false;
    const bool good = MHD_post_process(pp, r->body.p, r->body.len) == MHD_YES;
    return MHD_destroy_post_processor(pp) == MHD_YES && good;
}

int tf_http_form(struct tf_http_request *r,
                 int (*field)(void *arg, const char *name, const char *value, size_t n,
                              struct tf_err *err),
                 void *arg, struct tf_err *err)
{
    struct form f = {.field = field, .arg = arg, .err = err};
    (void)MHD_get_connection_values_n(r->own->c, MHD_GET_ARGUMENT_KIND, argument, &f);
    const bool good = f.failed || r->body.len == 0 || read_body(r, &f);
    end_field(&f);
    tf_buf_release(&f.name);
    tf_buf_release(&f.value);
    if (!good && !f.failed)
        tf_fail(err, "Invalid request: not a form (JSON needs Content-Type: application/json)");
    return good && !f.failed ? 0 : -1;
}

/* ---- entry points ---- */

static void ignore_log(void *arg, const char *format, va_list ap)
{
    (void)arg;
    (void)format;
    (void)ap;
}

static void daemon_event(void *arg, unsigned events)
{
    (void)arg;
    (void)events; /* tf_http_run does it */
}

struct tf_http *tf_http_open(struct tf_loop *loop, const struct tf_http_opts *o, struct tf_err *err)
{
    struct tf_http *h = tf_xcalloc(1, sizeof *h);
    *h = (struct tf_http){.o = *o, .loop = loop};
    h->daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL,
                         NULL, handle, h, MHD_OPTION_EXTERNAL_LOGGER, ignore_log, NULL,
                         MHD_OPTION_LISTEN_SOCKET, o->listen, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)o->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         (size_t)HEADERS, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                         MHD_OPTION_NOTIFY_COMPLETED, notify_completed, h,
                         MHD_OPTION_NOTIFY_CONNECTION, notify_connection, h, MHD_OPTION_END);
    if (h->daemon == NULL) {
        free(h);
        tf_fail(err, "libmicrohttpd does not start");
        return NULL;
    }
    h->watch = (struct tf_loop_fd){
        .ready = daemon_event,
        .fd = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
    };
    tf_loop_watch(loop, &h->watch, EPOLLIN);
    return h;
}

/* Close what has taken too long, and what ended within a request: the library does not see an end
 * that arrives together with data, but this. */
static void close_slow(struct tf_http *h)
{
    const double now = tf_now();
    for (struct connection *c = h->first; c != NULL; c = c->after) {
        const bool ended = c->closed > 0 && now - c->closed > GRACE && c->phase <= RECEIVING;
        if (c->phase == WAITING || (!ended && now - c->since <= h->o.patience))
            continue;
        shutdown(c->watch.fd, SHUT_RDWR);
        c->since = now;
        c->closed = 0;
    }
}

int tf_http_run(struct tf_http *h)
{
    MHD_UNSIGNED_LONG_LONG milliseconds;
    close_slow(h);
    (void)MHD_run(h->daemon);
    if (MHD_get_timeout(h->daemon, &milliseconds) == MHD_YES && milliseconds < 1000)
        return (int)milliseconds;
    return 1000;
}

void tf_http_drain(struct tf_http *h)
{
    h->draining = true;
    const int fd = MHD_quiesce_daemon(h->daemon);
    if (fd >= 0)
        close(fd);
}

bool tf_http_busy(const struct tf_http *h)
{
    for (const struct connection *c = h->first; c != NULL; c = c->after)
        if (c->phase != IDLE)
            return true;
    return false;
}

void tf_http_close(struct tf_http *h)
{
    if (h == NULL)
        return;
    tf_loop_watch(h->loop, &h->watch, 0);
    MHD_stop_daemon(h->daemon);
    free(h);
}
