/* engine.c - see engine_private.h. */
#include "serve/engine_private.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "text/glossary.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds between starts of a pipeline that fails. */
enum { LEAST_DELAY = 1, MOST_DELAY = 32 };
/* Seconds after which the first pipeline is followed by the others. */
static const double HEAD_START = 0.01;

static size_t slots(const struct tf_engine *e)
{
    return (size_t)e->o->pipelines + 1;
}

/* ---- the list of all jobs, and the queue of a route ---- */

static void list_add(struct tf_engine *e, struct tf_job *job)
{
    job->older = e->newest;
    *(e->newest != NULL ? &e->newest->newer : &e->oldest) = job;
    e->newest = job;
}

static void list_remove(struct tf_engine *e, struct tf_job *job)
{
    *(job->older != NULL ? &job->older->newer : &e->oldest) = job->newer;
    *(job->newer != NULL ? &job->newer->older : &e->newest) = job->older;
    job->older = job->newer = NULL;
}

static size_t unsent(const struct tf_job *job)
{
    return job->n_lines - job->done - job->sent;
}

static bool in_queue(const struct tf_job *job)
{
    return job->before != NULL || job->route->head == job;
}

static void queue_add(struct tf_job *job)
{
    struct tf_route *r = job->route;
    job->before = r->tail;
    *(r->tail != NULL ? &r->tail->after : &r->head) = job;
    r->tail = job;
}

static void queue_remove(struct tf_job *job)
{
    struct tf_route *r = job->route;
    *(job->before != NULL ? &job->before->after : &r->head) = job->after;
    *(job->after != NULL ? &job->after->before : &r->tail) = job->before;
    job->before = job->after = NULL;
}

static void count_waiting(struct tf_route *r, ptrdiff_t lines)
{
    r->waiting += (size_t)lines;
    r->engine->waiting += (size_t)lines;
}

/* Take what it has to send out of the queue. */
static void withdraw(struct tf_job *job)
{
    if (!in_queue(job))
        return;
    count_waiting(job->route, -(ptrdiff_t)unsent(job));
    queue_remove(job);
}

/* ---- jobs ---- */

/* Answer a job, with what is done of it. */
static void finish(struct tf_engine *e, struct tf_job *job)
{
    withdraw(job);
    list_remove(e, job);
    job->finished(job, job->arg);
}

bool tf_engine_submit(struct tf_engine *e, struct tf_job *job)
{
    const size_t most = (size_t)e->o->queue; /* lines that were given back may be more */
    if (e->waiting > most || job->n_lines > most - e->waiting)
        return false;
    job->start = tf_now();
    job->deadline = job->start + e->o->timeout;
    list_add(e, job);
    queue_add(job);
    count_waiting(job->route, (ptrdiff_t)job->n_lines);
    return true;
}

void tf_engine_leave(struct tf_engine *e, struct tf_job *job)
{
    withdraw(job);
    if (e->oldest == job || job->older != NULL)
        list_remove(e, job);
    job->left = true;
    if (job->sent == 0)
        tf_job_free(job);
}

/* A line that a pipeline had came back. done: as it is; else it is to be sent again. */
static void line_back(struct tf_job *job, size_t line, bool done)
{
    struct tf_job_line *l = &job->lines[line];
    struct tf_route *r = job->route;
    l->sent = false;
    job->sent--;
    if (job->left) {
        if (job->sent == 0)
            tf_job_free(job);
        return;
    }
    if (!done) {
        if (!in_queue(job))
            queue_add(job);
        count_waiting(r, 1);
        job->next = line < job->next ? line : job->next;
        return;
    }
    l->done = true;
    job->done++;
    r->lines++;
    r->failed += l->status != NULL;
    if (job->done == job->n_lines)
        finish(r->engine, job);
}

/* ---- pipelines ---- */

/* A pipeline that ended before its turn: what it had is sent once more, each line alone, so that
 * one which ends pipelines takes no other with it. */
static void give_back(struct tf_pipe *p)
{
    for (size_t i = p->got; i < p->n; i++) {
        struct tf_job *job = p->sent[i].job;
        struct tf_job_line *l = &job->lines[p->sent[i].line];
        const bool again = l->tries++ == 0;
        if (!again) {
            l->out.text = (struct tf_text){0};
            l->status = "failed";
            l->reason = "the pipeline ended twice";
        }
        line_back(job, p->sent[i].line, !again);
    }
    p->n = p->got = 0;
}

/* What a pipeline prints for the empty line that it was given first, or for a line of a job. */
static int read_answer(struct tf_pipe *p, const char *line, size_t n, struct tf_err *err)
{
    if (p->got == p->n)
        return tf_fail(err, "a line too many");
    const struct tf_sent s = p->sent[p->got];
    if (tf_job_read_line(s.job, s.line, ++p->answered, line, n, err) != 0)
        return -1;
    p->got++;
    line_back(s.job, s.line, true);
    return 0;
}

/* Names of languages for a service may be its own; these are only exchanged. */
static bool is_reversed(const struct tf_direction *pair, const struct tf_tool_model *m)
{
    return tf_language_same(m->lang, m->target_lang) != 1 &&
           tf_language_same(pair->source, m->target_lang) == 1 &&
           tf_language_same(pair->target, m->lang) == 1;
}

/* A pipeline of the newest model is ready. */
static void take_hash(struct tf_route *r)
{
    const struct tf_tool_model *m = r->tools.checked;
    if (r->copier.hash[0] == 0 && m->has_hash) {
        tf_hex(r->copier.hash, m->hash, sizeof m->hash);
        if (is_reversed(&r->pair, m))
            tf_warn("%s: translates from '%s' to '%s', but serves %s to %s", r->pair.path, m->lang,
                    m->target_lang, r->pair.source, r->pair.target);
    }
    memcpy(r->hash, r->copier.hash, TF_MODEL_HEX);
}

static void take_line(void *arg, struct tf_worker *w, const char *line, size_t n)
{
    struct tf_pipe *p = arg;
    struct tf_err err = {0};
    if (w->state == TF_WORKER_STARTING) {
        w->state = TF_WORKER_IDLE;
        p->answered = 1;
        if (w->models == p->route->copier.models)
            take_hash(p->route);
        if (!p->route->served) /* a request that waits has the processors first */
            p->route->again = tf_now() + HEAD_START;
        p->route->served = true;
        p->route->delay = 0;
    } else if (w->state != TF_WORKER_BROKEN && read_answer(p, line, n, &err) != 0) {
        tf_note("%s: unexpected output of a pipeline: %s", p->route->pair.path, err.msg);
        w->state = TF_WORKER_BROKEN;
        tf_worker_kill(w);
    } else if (w->state == TF_WORKER_BUSY && p->got == p->n) {
        p->n = p->got = 0;
        w->state = TF_WORKER_IDLE;
    }
}

/* Nobody asks it for more. It ends; the copies that it has made stay. */
static void leave_copier(struct tf_copier *c)
{
    if (c->asks >= 0)
        close(c->asks);
    *c = (struct tf_copier){.asks = -1};
}

/* It has not made a pipeline that gets ready, and may never. */
static void kill_copier(struct tf_copier *c)
{
    if (c->pid > 0)
        kill(-c->pid, SIGKILL);
    leave_copier(c);
}

/* See that there is one with the model that is to be read. */
static int need_copier(struct tf_route *r, struct tf_err *err)
{
    struct tf_copier *c = &r->copier;
    if (c->pid > 0 && c->models == r->models)
        return 0;
    if (r->replacing && r->before.pid <= 0) {
        r->before = *c;
        *c = (struct tf_copier){.asks = -1};
    }
    leave_copier(c);
    c->models = r->models;
    return tf_tools_open(&r->tools, &c->pid, &c->asks, err);
}

static void start_pipe(struct tf_pipe *p)
{
    struct tf_route *r = p->route;
    struct tf_err err = {0};
    p->worker.models = r->models;
    if (need_copier(r, &err) == 0 && tf_worker_start(&p->worker, r->copier.asks, &err) == 0)
        return;
    tf_note("%s", err.msg);
    r->delay = MOST_DELAY;
    r->again = tf_now() + r->delay;
}

/* The new model cannot be used: pipelines that end are started with the one of before. */
static void keep_before(struct tf_route *r)
{
    tf_note("%s: cannot be used; the model of before stays", r->pair.path);
    r->replacing = false;
    if (r->before.pid <= 0)
        return;
    r->copier = r->before;
    r->models = r->copier.models;
    r->before = (struct tf_copier){.asks = -1};
}

/* States of pipelines. */
enum {
    STARTING = 1 << TF_WORKER_STARTING,
    IDLE = 1 << TF_WORKER_IDLE,
    READY = IDLE | 1 << TF_WORKER_BUSY,
    ACTIVE = STARTING | READY | 1 << TF_WORKER_BROKEN, /* they work, or will */
};
/* Of which model: any, that which is to be read, or one of before. */
enum age { ANY, NEW, OLD };

static bool is_in(const struct tf_pipe *p, unsigned states)
{
    return (states >> p->worker.state & 1) != 0;
}

/* The first pipeline in one of these states, or NULL. */
static struct tf_pipe *find_pipe(const struct tf_route *r, unsigned states, enum age age)
{
    for (struct tf_pipe *p = r->pipes; p < r->pipes + slots(r->engine); p++)
        if (is_in(p, states) && (age == ANY || (p->worker.models == r->models) == (age == NEW)))
            return p;
    return NULL;
}

static size_t count_pipes(const struct tf_route *r, unsigned states)
{
    size_t n = 0;
    for (size_t i = 0; i < slots(r->engine); i++)
        n += is_in(&r->pipes[i], states);
    return n;
}

static void pipe_ended(struct tf_pipe *p)
{
    struct tf_route *r = p->route;
    const enum tf_worker_state state = p->worker.state;
    const bool old = p->worker.models != r->models;
    tf_worker_ended(&p->worker);
    give_back(p);
    if (state == TF_WORKER_ENDING || r->engine->ending)
        return;
    if (state == TF_WORKER_STARTING && !old)
        kill_copier(&r->copier);
    if (state == TF_WORKER_STARTING && r->replacing && !old && find_pipe(r, READY, NEW) == NULL) {
        keep_before(r);
        return;
    }
    if (state == TF_WORKER_STARTING) {
        r->delay = r->delay > 0 ? 2 * r->delay : LEAST_DELAY;
        r->delay = r->delay < MOST_DELAY ? r->delay : MOST_DELAY;
    }
    r->again = tf_now() + r->delay;
    r->restarts++;
    if (r->served) /* else tf_engine_tick fails */
        tf_note("%s: a pipeline ended; starting another", r->pair.path);
}

/* The lines of its glossary, which a pipeline has read without an error. */
static void count_terms(struct tf_route *r)
{
    struct tf_glossary *g;
    struct tf_err err = {0};
    if (r->terms == NULL || tf_glossary_read(&g, r->terms, &err) != 0)
        return;
    r->n_terms = tf_glossary_terms(g);
    tf_glossary_free(g);
}

/* Start pipelines until there are enough, the others after the first of all is ready; when
 * replacing, one more than that, and end an old one when it is ready. */
static void manage(struct tf_route *r)
{
    const size_t most = (size_t)r->engine->o->pipelines;
    if (r->engine->ending)
        return;
    struct tf_pipe *old;
    while (count_pipes(r, ACTIVE) > most && count_pipes(r, STARTING) == 0 &&
           (old = find_pipe(r, IDLE, OLD)) != NULL)
        tf_worker_end(&old->worker);
    if (find_pipe(r, STARTING | READY, OLD) == NULL) {
        if (r->replacing && find_pipe(r, READY, NEW) != NULL) {
            tf_note("%s: all pipelines have read it again", r->pair.path);
            count_terms(r);
        }
        leave_copier(&r->before);
        r->replacing = false;
    }
    struct tf_pipe *off;
    while (count_pipes(r, ACTIVE) < (r->served ? most + r->replacing : 1) &&
           tf_now() >= r->again && (off = find_pipe(r, 1 << TF_WORKER_OFF, ANY)) != NULL) {
        start_pipe(off);
        if (r->delay > 0) /* one try at a time */
            r->again = tf_now() + r->delay;
    }
}

/* ---- lines to pipelines ---- */

static void send_line(struct tf_pipe *p, struct tf_job *job, size_t line)
{
    struct tf_job_line *l = &job->lines[line];
    l->sent = true;
    p->sent[p->n++] = (struct tf_sent){job, line};
    p->route->characters += l->n;
    job->sent++;
    job->next = line + 1;
    count_waiting(p->route, -1);
    queue_remove(job);
    if (unsent(job) > 0)
        queue_add(job);
}

static const struct tf_job_line *line_of(const struct tf_sent *s)
{
    return &s->job->lines[s->line];
}

static int by_length(const void *x, const void *y)
{
    const size_t a = line_of(x)->seen.n, b = line_of(y)->seen.n;
    return (a > b) - (a < b);
}

/* Give an idle pipeline its share of what waits. It answers in order, so that what is done first
 * comes first. */
static void fill(struct tf_pipe *p, size_t most)
{
    struct tf_route *r = p->route;
    while (p->n < most && r->head != NULL) {
        struct tf_job *job = r->head;
        while (job->lines[job->next].done || job->lines[job->next].sent)
            job->next++;
        const size_t line = job->next;
        const bool again = job->lines[line].tries > 0;
        if (again && p->n > 0)
            break;
        send_line(p, job, line);
        if (again)
            break;
    }
    qsort(p->sent, p->n, sizeof *p->sent, by_length);
    for (size_t i = 0; i < p->n; i++) {
        const struct tf_text *seen = &line_of(&p->sent[i])->seen;
        tf_buf_add(&p->worker.send, seen->p, seen->n);
        tf_buf_byte(&p->worker.send, '\n');
    }
    p->worker.state = TF_WORKER_BUSY;
    p->worker.since = tf_now();
    tf_worker_send(&p->worker);
}

static void dispatch(struct tf_route *r)
{
    size_t idle = count_pipes(r, IDLE);
    struct tf_pipe *p;
    for (; r->waiting > 0 && (p = find_pipe(r, IDLE, ANY)) != NULL; idle--) {
        const size_t share = (r->waiting + idle - 1) / idle, most = (size_t)r->engine->o->batch;
        fill(p, share < most ? share : most);
    }
}

/* ---- entry points ---- */

bool tf_engine_ready(const struct tf_engine *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (count_pipes(&e->routes[i], READY) == 0)
            return false;
    return true;
}

struct tf_route *tf_engine_route(struct tf_engine *e, const char *source, const char *target)
{
    for (size_t i = 0; i < e->n; i++)
        if (strcmp(e->routes[i].pair.source, source) == 0 &&
            strcmp(e->routes[i].pair.target, target) == 0)
            return &e->routes[i];
    return NULL;
}

void tf_engine_reload(struct tf_engine *e)
{
    for (size_t i = 0; i < e->n; i++) {
        e->routes[i].models++;
        e->routes[i].replacing = true;
        e->routes[i].again = 0;
    }
}

void tf_engine_reap(struct tf_engine *e)
{
    siginfo_t ended = {0};
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid > 0) {
        bool ours = false;
        for (size_t i = 0; i < e->n; i++) {
            struct tf_route *r = &e->routes[i];
            if (r->copier.pid == ended.si_pid)
                leave_copier(&r->copier);
            if (r->before.pid == ended.si_pid)
                leave_copier(&r->before);
            for (size_t k = 0; k < slots(e); k++)
                if (e->routes[i].pipes[k].worker.pid == ended.si_pid) {
                    pipe_ended(&e->routes[i].pipes[k]);
                    ours = true;
                }
        }
        if (!ours) /* of the program that has become this one */
            waitpid(ended.si_pid, NULL, 0);
        ended.si_pid = 0;
    }
}

/* Seconds that a pipeline may be in its state. */
static double limit(const struct tf_engine *e, const struct tf_worker *w)
{
    switch (w->state) {
    case TF_WORKER_STARTING:
        return e->o->starting;
    case TF_WORKER_BUSY:
    case TF_WORKER_ENDING:
        return e->o->timeout;
    default:
        return INFINITY;
    }
}

int tf_engine_tick(struct tf_engine *e, struct tf_err *err)
{
    const double now = tf_now();
    while (e->oldest != NULL && e->oldest->deadline <= now)
        finish(e, e->oldest);
    for (size_t i = 0; i < e->n; i++) {
        struct tf_route *r = &e->routes[i];
        if (!r->served && r->restarts > 0)
            return tf_fail(err, "%s: its pipeline ended before it was ready", r->pair.path);
        for (size_t k = 0; k < slots(e); k++)
            if (now - r->pipes[k].worker.since > limit(e, &r->pipes[k].worker))
                tf_worker_kill(&r->pipes[k].worker);
        manage(r);
        dispatch(r);
    }
    return 0;
}

static void end_copier(struct tf_copier *c)
{
    const pid_t pid = c->pid;
    kill_copier(c);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

void tf_engine_close(struct tf_engine *e)
{
    e->ending = true;
    for (size_t i = 0; i < e->n; i++) {
        struct tf_route *r = &e->routes[i];
        end_copier(&r->copier);
        end_copier(&r->before);
        for (size_t k = 0; r->pipes != NULL && k < slots(e); k++) {
            struct tf_worker *w = &r->pipes[k].worker;
            if (w->pid > 0) {
                tf_worker_kill(w);
                pipe_ended(&r->pipes[k]);
            }
            tf_worker_release(w);
            free(r->pipes[k].sent);
        }
        free(r->pipes);
        tf_direction_release(&r->pair);
        tf_sentences_free(r->sentences);
    }
    free(e->routes);
}

/* Find the routes of the glossaries. */
static int add_terms(struct tf_engine *e, struct tf_err *err)
{
    for (size_t i = 0; i < e->o->terms.n; i++) {
        const char *word = e->o->terms.v[i];
        struct tf_direction p;
        if (tf_direction_parse(&p, word, err) != 0)
            return tf_context(err, "--terms");
        struct tf_route *r = tf_engine_route(e, p.source, p.target);
        if (r != NULL && r->terms == NULL)
            r->terms = p.path;
        const bool good = r != NULL && r->terms == p.path, std = tf_is_own_std(p.path);
        tf_direction_release(&p);
        if (std)
            return tf_fail_status(err, TF_USAGE,
                                  "--terms %s: each pipeline reads a file, not stdin", word);
        if (!good)
            return tf_fail_status(err, TF_USAGE, "--terms %s: %s", word,
                                  r == NULL ? "no model has these languages"
                                            : "a second glossary of these languages");
        count_terms(r);
    }
    return 0;
}

int tf_engine_open(struct tf_engine *e, struct tf_loop *loop, const struct tf_serve_opts *o,
                   struct tf_err *err)
{
    *e = (struct tf_engine){.o = o, .loop = loop};
    e->routes = tf_xcalloc(o->n, sizeof *e->routes);
    for (; e->n < o->n; e->n++) {
        struct tf_route *r = &e->routes[e->n];
        if (tf_direction_parse(&r->pair, o->models[e->n], err) != 0)
            return -1;
        if (tf_engine_route(e, r->pair.source, r->pair.target) != NULL) {
            tf_fail_status(err, TF_USAGE, "two models from %s to %s", r->pair.source,
                           r->pair.target);
            tf_direction_release(&r->pair);
            return -1;
        }
        r->engine = e;
        r->copier.asks = r->before.asks = -1;
        r->pipes = tf_xcalloc(slots(e), sizeof *r->pipes);
        for (size_t k = 0; k < slots(e); k++) {
            struct tf_pipe *p = &r->pipes[k];
            p->route = r;
            p->sent = tf_xcalloc((size_t)o->batch, sizeof *p->sent);
            p->worker.loop = loop;
            p->worker.line = take_line;
            p->worker.arg = p;
        }
    }
    if (add_terms(e, err) != 0)
        return -1;
    for (size_t i = 0; i < e->n; i++)
        if (tf_tools_init(&e->routes[i].tools, e->routes[i].pair.path, e->routes[i].terms, o,
                          err) != 0)
            return -1;
    for (size_t i = 0; i < e->n; i++)
        manage(&e->routes[i]);
    for (size_t i = 0; i < e->n && !o->whole; i++) /* while they start */
        if (tf_sentences_new(&e->routes[i].sentences, e->routes[i].pair.source,
                             (size_t)o->max_chars, err) != 0)
            return -1;
    return 0;
}

/* ---- metrics ---- */

/* The file and the fingerprint of each model, whose value is 1, as is usual for what is text. */
static void put_models(const struct tf_engine *e, struct tf_buf *out)
{
    tf_metrics_describe(out, "tf_serve_model_info", "gauge",
                        "1; the model's file, and its fingerprint as tf-info prints it.");
    for (size_t k = 0; k < e->n; k++) {
        const struct tf_route *r = &e->routes[k];
        tf_buf_printf(out, "tf_serve_model_info{model=\"%s-%s\",file=\"", r->pair.source,
                      r->pair.target);
        for (const char *p = r->pair.path; *p != 0; p++) {
            if (*p == '"' || *p == '\\' || *p == '\n')
                tf_buf_byte(out, '\\');
            tf_buf_byte(out, *p == '\n' ? 'n' : *p);
        }
        tf_buf_printf(out, "\",hash=\"%s\"} 1\n", r->hash);
    }
}

static void put(struct tf_buf *out, const struct tf_route *r, const char *name, uint64_t value)
{
    tf_buf_printf(out, "%s{model=\"%s-%s\"} %llu\n", name, r->pair.source, r->pair.target,
                  (unsigned long long)value);
}

static uint64_t value_of(const struct tf_route *r, int i)
{
    size_t sent = 0;
    for (size_t k = 0; k < slots(r->engine); k++)
        sent += r->pipes[k].n - r->pipes[k].got;
    const uint64_t values[] = {r->lines,   r->failed, r->characters,
                               r->waiting, sent,      count_pipes(r, READY),
                               r->restarts};
    return values[i];
}

void tf_engine_metrics(const struct tf_engine *e, struct tf_buf *out)
{
    static const struct {
        const char *name, *type, *help;
    } rows[] = {
        {"tf_serve_sentences_total", "counter", "Lines that pipelines have answered."},
        {"tf_serve_failed_sentences_total", "counter", "Lines among them that failed."},
        {"tf_serve_source_bytes_total", "counter", "Bytes of the lines sent to pipelines."},
        {"tf_serve_queue_sentences", "gauge", "Lines that wait."},
        {"tf_serve_sent_sentences", "gauge", "Lines that pipelines have now."},
        {"tf_serve_pipelines", "gauge", "Pipelines that are ready."},
        {"tf_serve_restarts_total", "counter", "Pipelines that ended and were started again."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tf_metrics_describe(out, rows[i].name, rows[i].type, rows[i].help);
        for (size_t k = 0; k < e->n; k++)
            put(out, &e->routes[k], rows[i].name, value_of(&e->routes[k], (int)i));
    }
    put_models(e, out);
}
