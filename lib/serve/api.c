/* api.c - see api_private.h. */
#include "serve/api_private.h"
#include "base/log.h"
#include "serve/languages_private.h"
#include "serve/page_private.h"

#include <string.h>

static void answer_json(struct tf_http_request *r, int status, struct tf_buf *body)
{
    const struct tf_http_answer a = {.status = status,
                                     .type = "application/json",
                                     .retry = status == 503};
    tf_http_answer(r, &a, body);
}

static void answer_error(struct tf_http_request *r, int status, const char *message)
{
    struct tf_buf body = {0};
    struct tf_json j = {.out = &body};
    tf_json_open(&j, '{');
    tf_json_put_str(&j, "error", message);
    tf_json_close(&j, '}');
    tf_buf_byte(&body, '\n');
    answer_json(r, status, &body);
}

/* ---- /, /languages, /health, /metrics ---- */

static void put_targets(const struct tf_engine *e, const char *source, struct tf_json *j)
{
    tf_json_open(j, '[');
    for (size_t i = 0; i < e->n; i++)
        if (strcmp(e->routes[i].pair.source, source) == 0)
            tf_json_str(j, e->routes[i].pair.target);
    tf_json_close(j, ']');
}

/* How many terms the glossaries have, by target, if there are any. */
static void put_terms(const struct tf_engine *e, const char *source, struct tf_json *j)
{
    bool any = false;
    for (size_t i = 0; i < e->n; i++) {
        const struct tf_route *r = &e->routes[i];
        if (r->terms == NULL || strcmp(r->pair.source, source) != 0)
            continue;
        if (!any)
            tf_json_put_open(j, "terms", '{');
        any = true;
        tf_json_put_uint(j, r->pair.target, r->n_terms);
    }
    if (any)
        tf_json_close(j, '}');
}

/* Is it the first route with that source? */
static bool is_first(const struct tf_engine *e, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(e->routes[k].pair.source, e->routes[i].pair.source) == 0)
            return false;
    return true;
}

/* It may run its own script and ask its own service, and no other page may frame it. */
static void page(struct tf_api *api, struct tf_http_request *r)
{
    const struct tf_http_answer a = {
        .status = 200,
        .type = "text/html; charset=utf-8",
        .policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                  "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                  "frame-ancestors 'none'"};
    struct tf_buf body = {0};
    (void)api;
    tf_buf_add(&body, tf_page, (size_t)(tf_page_end - tf_page));
    tf_http_answer(r, &a, &body);
}

static void languages(struct tf_api *api, struct tf_http_request *r)
{
    const struct tf_engine *e = api->engine;
    struct tf_buf body = {0};
    struct tf_json j = {.out = &body};
    tf_json_open(&j, '[');
    for (size_t i = 0; i < e->n; i++) {
        if (!is_first(e, i))
            continue;
        tf_json_open(&j, '{');
        tf_json_put_str(&j, "code", e->routes[i].pair.source);
        tf_json_put_str(&j, "name", tf_language_name(e->routes[i].pair.source));
        tf_json_key(&j, "targets");
        put_targets(e, e->routes[i].pair.source, &j);
        put_terms(e, e->routes[i].pair.source, &j);
        tf_json_close(&j, '}');
    }
    tf_json_close(&j, ']');
    tf_buf_byte(&body, '\n');
    answer_json(r, 200, &body);
}

static void health(struct tf_api *api, struct tf_http_request *r)
{
    struct tf_buf body = {0};
    const bool ready = !api->draining && tf_engine_ready(api->engine);
    tf_buf_str(&body, ready ? "{\"status\":\"ok\"}\n" : "{\"status\":\"not ready\"}\n");
    answer_json(r, ready ? 200 : 503, &body);
}

static void metrics(struct tf_api *api, struct tf_http_request *r)
{
    struct tf_buf body = {0};
    const struct tf_http_answer a = {.status = 200, .type = "text/plain; version=0.0.4"};
    tf_metrics_write(&api->metrics, &body);
    tf_engine_metrics(api->engine, &body);
    tf_http_answer(r, &a, &body);
}

/* ---- /translate ---- */

static int read_field(void *arg, const char *name, const char *value, size_t n, struct tf_err *err)
{
    return tf_job_read_field(arg, name, value, n, err);
}

static int read_fields(struct tf_job *job, struct tf_http_request *r, struct tf_err *err)
{
    const bool json = strcmp(r->type, "application/json") == 0;
    return json ? tf_job_read_json(job, r->body.len > 0 ? r->body.p : "", r->body.len, err)
                : tf_http_form(r, read_field, job, err);
}

static int read_job(struct tf_job *job, struct tf_http_request *r, struct tf_err *err)
{
    if (read_fields(job, r, err) != 0 || tf_job_check(job, err) != 0)
        return -1;
    const struct tf_api *api = r->arg;
    return job->html && !api->engine->o->alignment
               ? tf_fail(err, "format: html is not supported: tf-serve runs without --alignment")
               : 0;
}

/* The only route to a language; NULL: there is none or there are several. */
static struct tf_route *only_route(struct tf_engine *e, const char *target)
{
    struct tf_route *found = NULL;
    for (size_t i = 0; i < e->n; i++)
        if (strcmp(e->routes[i].pair.target, target) == 0) {
            if (found != NULL)
                return NULL;
            found = &e->routes[i];
        }
    return found;
}

static int find_route(struct tf_engine *e, struct tf_job *job, struct tf_err *err)
{
    job->detect = strcmp(job->source, "auto") == 0;
    job->route =
        job->detect ? only_route(e, job->target) : tf_engine_route(e, job->source, job->target);
    if (job->route != NULL) {
        job->source = job->route->pair.source;
        return 0;
    }
    return job->detect ? tf_fail(err, "source: languages are not detected; name the language")
                       : tf_fail(err, "%s to %s is not supported", job->source, job->target);
}

static void answer_job(struct tf_api *api, struct tf_http_request *r, struct tf_job *job)
{
    const struct tf_job_line *failure = tf_job_failure(job);
    struct tf_err err = {0};
    struct tf_buf body = {0};
    if (job->done < job->n_lines) {
        answer_error(r, 504, "not translated in time");
    } else if (failure != NULL) {
        tf_fail(&err, "%s", failure->reason);
        answer_error(r, failure->tries > 1 ? 500 : 400, err.msg);
    } else {
        tf_job_write(job, &body);
        answer_json(r, 200, &body);
    }
    tf_metrics_took(&api->metrics.translate, tf_now() - job->start);
}

static void job_finished(struct tf_job *job, void *arg)
{
    struct tf_http_request *r = arg;
    struct tf_api *api = r->arg;
    r->job = NULL;
    answer_job(api, r, job);
    tf_engine_leave(api->engine, job);
}

static void translate(struct tf_api *api, struct tf_http_request *r)
{
    struct tf_err err = {0};
    struct tf_job *job = tf_job_new();
    int status = 0;
    job->addresses = api->engine->o->placeholders;
    job->copy_unknown = api->engine->o->copy_unknown;
    if (read_job(job, r, &err) != 0 || find_route(api->engine, job, &err) != 0 ||
        tf_job_split(job, job->route->sentences, &err) != 0)
        status = 400;
    if (job->alternatives > api->engine->o->alternatives)
        job->alternatives = api->engine->o->alternatives;
    const size_t n = job->n_lines > job->n_texts ? job->n_lines : job->n_texts;
    if (status == 0 && n > (size_t)api->engine->o->queue) {
        tf_fail(&err, "%zu texts or sentences; the service takes %lld at most", n,
                (long long)api->engine->o->queue);
        status = 413;
    }
    job->start = tf_now();
    job->finished = job_finished;
    job->arg = r;
    if (status == 0 && job->n_lines > 0 && (api->draining || !tf_engine_submit(api->engine, job))) {
        tf_fail(&err, api->draining ? "the service ends" : "the service is busy");
        status = 503;
    }
    if (status == 0 && job->n_lines > 0) {
        r->job = job;
        return;
    }
    if (status == 0)
        answer_job(api, r, job);
    else
        answer_error(r, status, err.msg);
    tf_job_free(job);
}

/* ---- /detect ---- */

/* Nothing is detected: the language is known where all models have the same source. */
static void detect(struct tf_api *api, struct tf_http_request *r)
{
    const struct tf_engine *e = api->engine;
    struct tf_err err = {0};
    struct tf_buf body = {0};
    struct tf_json j = {.out = &body};
    struct tf_job *job = tf_job_new();
    int rc = read_fields(job, r, &err);
    if (rc == 0 && job->n_texts == 0)
        rc = tf_fail(&err, "Invalid request: missing q parameter");
    tf_job_free(job);
    for (size_t i = 1; i < e->n && rc == 0; i++)
        if (strcmp(e->routes[i].pair.source, e->routes[0].pair.source) != 0)
            rc = tf_fail(&err, "languages are not detected");
    if (rc != 0) {
        answer_error(r, 400, err.msg);
        return;
    }
    tf_json_open(&j, '[');
    tf_json_open(&j, '{');
    tf_json_put_int(&j, "confidence", 0);
    tf_json_put_str(&j, "language", e->routes[0].pair.source);
    tf_json_close(&j, '}');
    tf_json_close(&j, ']');
    tf_buf_byte(&body, '\n');
    answer_json(r, 200, &body);
}

/* ---- paths ---- */

static const struct {
    const char *path, *method;
    void (*answer)(struct tf_api *api, struct tf_http_request *r);
} paths[] = {
    {"/", "GET", page},         {"/translate", "POST", translate}, {"/languages", "GET", languages},
    {"/health", "GET", health}, {"/metrics", "GET", metrics},      {"/detect", "POST", detect},
};

void tf_api_request(void *arg, struct tf_http_request *r)
{
    struct tf_buf body = {0};
    const char *path = r->path;
    r->arg = arg;
    while (path[0] == '/' && path[1] == '/') /* an address with a slash at its end, and a path */
        path++;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        /* A rule of a proxy for /metrics holds for nothing else that answers so. */
        const char *its = paths[i].answer == metrics ? r->path : path;
        if (strcmp(its, paths[i].path) != 0)
            continue;
        const bool get = strcmp(paths[i].method, "GET") == 0;
        if (strcmp(r->method, paths[i].method) == 0 || (get && strcmp(r->method, "HEAD") == 0)) {
            paths[i].answer(arg, r);
            return;
        }
        if (strcmp(r->method, "OPTIONS") == 0) { /* what a browser asks before */
            tf_http_answer(r, &(struct tf_http_answer){.status = 204}, &body);
            return;
        }
        tf_buf_printf(&body, "{\"error\":\"use %s\"}\n", paths[i].method);
        const struct tf_http_answer a = {.status = 405,
                                         .type = "application/json",
                                         .allow = paths[i].method};
        tf_http_answer(r, &a, &body);
        return;
    }
    answer_error(r, 404, "no such path");
}

void tf_api_left(void *arg, struct tf_http_request *r)
{
    struct tf_api *api = arg;
    api->metrics.status[499]++;
    if (r->job != NULL)
        tf_engine_leave(api->engine, r->job);
    r->job = NULL;
}

void tf_api_answered(void *arg, int status)
{
    struct tf_api *api = arg;
    api->metrics.status[status]++;
}
