/* through.c - see through.h. A thread feeds the tools, one waits for their end, and the main thread
 * reads what they write. A queue has the place of each sentence that is under way. */
#include "text/through.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pipeline.h"
#include "base/places.h"
#include "base/sandbox.h"
#include "base/thread.h"
#include "text/hidden.h"
#include "text/html.h"
#include "text/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PENDING = 32 << 10,   /* bytes of sentences that wait to be written */
    MAX_LINE = 256 << 20, /* bytes of a translation */
    LEAST_FLIGHT = 512,   /* sentences under way */
    MOST_FLIGHT = 32 << 10,
    FLIGHT_SECONDS = 10, /* in which those that are under way come back */
    FEW = 64,            /* a batch */
};

/* A sentence under way, or the end. */
struct item {
    char *place; /* a line of a layout */
    size_t n;
    uint64_t lines, bytes; /* of the input, this one included */
    struct tf_hidden *hidden; /* of its sentence, or NULL */
    struct tf_html *html; /* see struct tf_place */
    size_t of_html;
};

struct through {
    const struct tf_through *o;
    struct tf_in in, from;
    struct tf_out out;
    struct tf_document *document;
    int to;
    struct tf_pipeline *tools;

    pthread_mutex_t lock;
    pthread_cond_t room;
    struct item *items; /* a ring of cap, a power of two, from `first` */
    size_t cap, first, n, flight;
    bool left; /* nobody wants more sentences */
    bool noted_stop;
    _Atomic uint64_t until; /* the last line to be finished, once no more are read; 0: not yet */

    struct tf_err feed_err;
    int feed_rc, tools_rc;
    struct tf_err tools_err;

    struct tf_layout_reader reader;
    struct tf_buf text, shown, page, links, field;
    uint32_t last;
    char *old; /* what the output has from the first line on that is made again */
    size_t old_n, old_at;
    uint64_t skipped, sentences; /* lines of the input that the output had; sentences that came */
    struct tf_progress progress;
    uint64_t total; /* lines of the input; 0: unknown */
};

/* ---- signals ---- */

static int wake[2] = {-1, -1};
static volatile sig_atomic_t signalled;

static void stop(int sig)
{
    const int sys = errno;
    signalled = sig;
    (void)!write(wake[1], "", 1);
    errno = sys;
}

static int catch_signals(struct tf_err *err)
{
    struct sigaction now, ours = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    static const int signals[] = {SIGINT, SIGTERM};
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return tf_fail_errno(err, "pipe");
    for (size_t i = 0; i < 2; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(signals[i], &ours, NULL);
    return 0;
}

/* ---- the queue ---- */

static bool is_last(const struct item *it)
{
    return it->html != NULL && it->of_html + 1 == tf_html_count(it->html);
}

static void release_item(struct item *it)
{
    free(it->place);
    tf_hidden_free(it->hidden);
    if (is_last(it))
        tf_html_free(it->html);
}

static void push(struct through *t, const struct tf_place *place, struct tf_hidden *hidden)
{
    struct tf_buf line = {0};
    tf_layout_put(&line, place);
    pthread_mutex_lock(&t->lock);
    if (t->n == t->cap) {
        struct item *items = tf_xcalloc(2 * t->cap, sizeof *items);
        for (size_t i = 0; i < t->n; i++)
            items[i] = t->items[(t->first + i) & (t->cap - 1)];
        free(t->items);
        t->items = items;
        t->cap *= 2;
        t->first = 0;
    }
    t->items[(t->first + t->n++) & (t->cap - 1)] =
        (struct item){line.p, line.len - 1, tf_document_lines(t->document),
                      t->in.offset + t->in.pos, hidden, place->html, place->sentence};
    pthread_mutex_unlock(&t->lock);
}

/* Take the next item; false if there is none. */
static bool pop(struct through *t, struct item *item)
{
    pthread_mutex_lock(&t->lock);
    const bool is = t->n > 0;
    if (is) {
        *item = t->items[t->first++ & (t->cap - 1)];
        t->n--;
        pthread_cond_signal(&t->room);
    }
    pthread_mutex_unlock(&t->lock);
    return is;
}

static bool full(struct through *t)
{
    pthread_mutex_lock(&t->lock);
    const bool is = t->n >= t->flight || t->left;
    pthread_mutex_unlock(&t->lock);
    return is;
}

/* Wait until there is room; false if there will be none. */
static bool wait_for_room(struct through *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->n >= t->flight && !t->left)
        pthread_cond_wait(&t->room, &t->lock);
    const bool left = t->left;
    pthread_mutex_unlock(&t->lock);
    return !left;
}

static void leave(struct through *t)
{
    pthread_mutex_lock(&t->lock);
    t->left = true;
    pthread_cond_signal(&t->room);
    pthread_mutex_unlock(&t->lock);
    (void)!write(wake[1], "", 1);
}

/* ---- feed ---- */

/* false: the tools have ended; they have said why. */
static bool send(struct through *t, struct tf_buf *pending)
{
    struct tf_err ignored = {0};
    const int rc = tf_fd_write(t->to, "the tools", pending->p, pending->len, &ignored);
    tf_buf_clear(pending);
    return rc == 0;
}

/* Wait for input, a signal or the end of the tools. */
static void wait_for_input(struct through *t)
{
    const struct tf_in *in = &t->in;
    while (in->raw != NULL)
        in = in->raw;
    struct pollfd on[] = {{.fd = in->fd, .events = POLLIN}, {.fd = wake[0], .events = POLLIN}};
    (void)poll(on, 2, -1);
}

/* A note of a line that several sentences make long, once. */
static void note_several(struct through *t, bool *noted)
{
    const uint64_t line = tf_document_several(t->document);
    if (*noted || line == 0 || t->o->several == NULL)
        return;
    *noted = true;
    tf_note("%s: line %llu %s", t->in.name, (unsigned long long)line, t->o->several);
}

static int feed_all(struct through *t, struct tf_buf *pending, struct tf_err *err)
{
    struct tf_place place;
    struct tf_text sentence;
    uint64_t number = 0; /* of a sentence */
    bool noted = false;
    for (;;) {
        if (signalled != 0) {
            if (tf_document_at_start(t->document))
                tf_document_stop(t->document);
            t->until = tf_document_lines(t->document);
        }
        const bool ready = tf_document_ready(t->document);
        const bool no_room = full(t); /* what waits for room must not wait to be sent */
        if ((!ready || pending->len > PENDING || no_room) && !send(t, pending))
            return 0;
        if (no_room && !wait_for_room(t))
            return 0;
        if (!ready)
            wait_for_input(t);
        if (!ready || no_room) /* a signal may have come */
            continue;
        const int rc = tf_document_next(t->document, &place, &sentence, err);
        if (rc < 0)
            return -1;
        if (rc == 2)
            continue;
        /* HTML hides it itself. */
        const struct tf_hide hide = t->o->text.html ? (struct tf_hide){0} : t->o->text.hide;
        struct tf_hidden *hidden =
            rc > 0 ? tf_hidden_new(sentence, hide, t->o->copy_unknown, place.html != NULL, pending)
                   : NULL;
        push(t, &place, hidden);
        if (rc == 0) {
            t->until = tf_document_lines(t->document);
            return 0;
        }
        tf_places_put(number++, tf_document_line(t->document));
        tf_buf_byte(pending, '\n');
        note_several(t, &noted);
    }
}

static void *feed(void *arg)
{
    struct through *t = arg;
    struct tf_buf pending = {0};
    t->feed_rc = feed_all(t, &pending, &t->feed_err);
    (void)send(t, &pending);
    close(t->to);
    tf_buf_release(&pending);
    return NULL;
}

static void *await(void *arg)
{
    struct through *t = arg;
    t->tools_rc = tf_pipeline_wait(t->tools, &t->tools_err);
    leave(t);
    return NULL;
}

/* ---- what comes back ---- */

/* Write; what the output has already must be the same. */
static int put(struct through *t, const char *p, size_t n, struct tf_err *err)
{
    const size_t left = t->old_n - t->old_at, same = n < left ? n : left;
    if (n == 0)
        return 0;
    if (same > 0 && memcmp(t->old + t->old_at, p, same) != 0)
        return tf_fail(err,
                       "%s: line %llu is not what would be written now: --resume needs the same "
                       "models, options and text",
                       t->out.part, (unsigned long long)t->skipped + 1);
    t->old_at += same;
    return tf_out_write(&t->out, p + same, n - same, err);
}

static void show_progress(struct through *t, const struct item *it)
{
    const bool early = t->sentences < FEW && it->lines < t->total; /* too few */
    if (early || !tf_progress_due(&t->progress))
        return;
    const double seconds = tf_now() - t->progress.start;
    const unsigned long long lines = it->lines;
    const double speed = (double)(it->lines - t->skipped) / seconds;
    if (t->total == 0 || speed <= 0) {
        tf_progress_show(&t->progress, "%llu lines, %.0f a second", lines, speed);
        return;
    }
    const long left = t->total > lines ? (long)((double)(t->total - lines) / speed + 0.5) : 0;
    tf_progress_show(&t->progress,
                     "%llu of %llu lines, %.0f %%, %.0f a second, %ld:%02ld:%02ld left", lines,
                     (unsigned long long)t->total, 100.0 * (double)lines / (double)t->total, speed,
                     left / 3600, left / 60 % 60, left % 60);
}

/* So many sentences may be under way that they come back within some seconds. */
static void adapt(struct through *t)
{
    const double flight = (double)t->sentences / (tf_now() - t->progress.start) * FLIGHT_SECONDS;
    pthread_mutex_lock(&t->lock);
    t->flight = flight < LEAST_FLIGHT  ? LEAST_FLIGHT
                : flight > MOST_FLIGHT ? MOST_FLIGHT
                                       : (size_t)flight;
    pthread_cond_signal(&t->room);
    pthread_mutex_unlock(&t->lock);
}

/* Cut a line at the ||| before its links. */
static struct tf_text cut_links(struct tf_text *line)
{
    static const char bars[] = " ||| ";
    const size_t len = sizeof bars - 1;
    size_t n = line->n;
    while (n >= len && memcmp(line->p + n - len, bars, len) != 0)
        n--;
    if (n < len)
        return (struct tf_text){"", 0};
    const struct tf_text links = {line->p + n, line->n - n};
    line->n = n - len;
    return links;
}

/* Take a translation of HTML, p NULL: of a bad sentence. The last one of a fragment becomes that
 * fragment, the others nothing. */
static struct tf_text take_html(struct through *t, struct item *it, struct tf_text line)
{
    const struct tf_text links = line.p != NULL ? cut_links(&line) : (struct tf_text){"", 0};
    tf_html_set(it->html, it->of_html, line, links);
    if (!is_last(it))
        return (struct tf_text){"", 0};
    tf_buf_clear(&t->page);
    tf_html_write(it->html, &t->page);
    tf_html_free(it->html);
    it->html = NULL;
    return (struct tf_text){t->page.p, t->page.len};
}

/* A translation with what was hidden of its sentence. */
static struct tf_text show_hidden(struct through *t, const struct item *it, struct tf_text line)
{
    const struct tf_text links = t->o->copy_unknown ? cut_links(&line) : (struct tf_text){"", 0};
    tf_buf_clear(&t->shown);
    tf_buf_clear(&t->links);
    tf_buf_grow(&t->shown, 1);
    if (tf_hidden_show(it->hidden, line, links, &t->shown, &t->links) > 0)
        tf_warn("%s: line %llu: a placeholder was lost and is at the end of its sentence",
                t->in.name, (unsigned long long)it->lines);
    if (it->html != NULL) {
        tf_buf_str(&t->shown, " ||| ");
        tf_buf_add(&t->shown, t->links.p, t->links.len);
    }
    return (struct tf_text){t->shown.p, t->shown.len};
}

/* What a line of the tools stands for: a translation with what was hidden of its sentence. */
static struct tf_text shown_line(struct through *t, struct item *it, struct tf_text line)
{
    if (it->hidden == NULL && it->html == NULL)
        return line;
    const bool bad = tf_places_is_bad(t->sentences);
    if (!bad && it->hidden != NULL)
        line = show_hidden(t, it, line);
    if (it->html != NULL)
        return take_html(t, it, bad ? (struct tf_text){0} : line);
    return bad ? (struct tf_text){"", 0} : line;
}

/* A translation that is a field: a tab in it would be the end of one. */
static struct tf_text without_tabs(struct through *t, struct tf_text line)
{
    tf_buf_clear(&t->field);
    for (size_t i = 0; i < line.n; i++)
        tf_buf_byte(&t->field, line.p[i] == '\t' ? ' ' : (unsigned char)line.p[i]);
    return line.n > 0 ? (struct tf_text){t->field.p, line.n} : line;
}

static int put_item(struct through *t, struct item *it, struct tf_text sentence, bool end,
                    struct tf_err *err)
{
    const int rc = tf_layout_get(&t->reader, it->place, it->n, "layout", 2, err);
    if (rc == 0 && !end)
        sentence = shown_line(t, it, sentence);
    if (t->o->text.field > 0)
        sentence = without_tabs(t, sentence);
    release_item(it);
    if (rc != 0)
        return -1;
    if (t->reader.place.end != end)
        return tf_fail(err, "the tools wrote more lines than they had read");
    tf_buf_clear(&t->text);
    tf_layout_join(&t->text, &t->reader.place, sentence, &t->last);
    return put(t, t->text.p, t->text.len, err);
}

/* After a signal, once. */
static void note_stop(struct through *t)
{
    if (signalled == 0 || t->noted_stop || t->until == 0)
        return;
    t->noted_stop = true;
    if (!t->o->quiet)
        tf_note("everything up to line %llu will be finished; a second signal ends at once",
                (unsigned long long)t->until);
}

static int put_all(struct through *t, struct tf_err *err)
{
    struct tf_text s;
    struct item it;
    int rc;
    while ((rc = tf_in_line(&t->from, &s.p, &s.n, MAX_LINE, err)) == 1) {
        if (t->from.buf[t->from.pos - 1] != '\n') /* a tool was ended within a line */
            return 0;
        if (!pop(t, &it))
            return tf_fail(err, "the tools wrote more lines than they had read");
        if (put_item(t, &it, s, false, err) != 0)
            return -1;
        t->sentences++;
        if (t->sentences % FEW == 0)
            adapt(t);
        show_progress(t, &it);
        note_stop(t);
        if (!tf_in_line_ready(&t->from, MAX_LINE) && tf_out_flush(&t->out, err) != 0)
            return -1;
    }
    return rc == 2 ? tf_fail(err, "a line of the tools is too long") : rc;
}

/* When all threads have ended: what comes after the last sentence. */
static int put_end(struct through *t, struct tf_err *err)
{
    struct item it = {0};
    if (!pop(t, &it) || t->n > 0) {
        release_item(&it);
        return tf_fail(err, "the tools wrote fewer lines than they had read");
    }
    if (put_item(t, &it, (struct tf_text){"", 0}, true, err) != 0)
        return -1;
    return t->old_at == t->old_n || signalled != 0
               ? 0
               : tf_fail(err,
                         "%s: has more than would be written now: --resume needs the same text",
                         t->out.part);
}

/* ---- resume ---- */

/* The text of a file from its line number `skip` on, which is `text`. */
static size_t line_offset(const char *text, size_t n, uint64_t lines)
{
    size_t at = 0;
    for (const char *lf; lines > 0 && (lf = memchr(text + at, '\n', n - at)) != NULL; lines--)
        at = (size_t)(lf - text) + 1;
    return at;
}

static int continue_output(struct through *t, struct tf_err *err)
{
    char *text;
    size_t n;
    uint64_t lines = 0;
    if (tf_read_file(&text, &n, t->out.part, SIZE_MAX / 4, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    const int64_t skipped = tf_document_skip(t->document, lines > 0 ? lines - 1 : 0, err);
    if (skipped >= 0) {
        const size_t at = line_offset(text, n, (uint64_t)skipped);
        t->skipped = (uint64_t)skipped;
        t->old_n = n - at;
        t->old = tf_xmalloc(t->old_n + 1);
        memcpy(t->old, text + at, t->old_n);
    }
    free(text);
    return skipped < 0 ? -1 : 0;
}

/* A file that is no beginning of this output gets its name back. */
static void return_output(struct through *t)
{
    if (t->old_n == 0 || t->old_at < t->old_n)
        tf_out_return(&t->out);
}

/* ---- begin and end ---- */

static uint64_t count_lines(const struct tf_in *in)
{
    static char block[1 << 16];
    uint64_t lines = 0;
    ssize_t n = 0;
    if (in->raw != NULL || in->size <= 0)
        return 0;
    for (off_t at = 0; (n = pread(in->fd, block, sizeof block, at)) > 0; at += n)
        for (ssize_t i = 0; i < n; i++)
            lines += block[i] == '\n';
    return lines;
}

static int open_files(struct through *t, struct tf_err *err)
{
    const struct tf_through *o = t->o;
    const unsigned flags = TF_OUT_PART | (o->resume ? TF_OUT_CONTINUE : 0);
    if (tf_text_open(&t->in, o->input, TF_TEXT_AS_IS, err) != 0 ||
        tf_document_new(&t->document, &o->text, &t->in, err) != 0 ||
        tf_out_open(&t->out, o->output, flags, err) != 0)
        return -1;
    if (o->resume && t->out.part == NULL)
        return tf_fail_status(err, TF_USAGE, "--resume: -o FILE, a regular file, is required");
    return o->resume ? continue_output(t, err) : 0;
}

static void enter_sandbox(const struct tf_through *o)
{
    struct tf_sandbox s = {.processes = true};
    tf_strs_add(&s.read, o->input);
    tf_strs_add(&s.write, o->output);
    (void)tf_sandbox_enter(&s);
}

static int start_threads(struct through *t, pthread_t threads[2], struct tf_err *err)
{
    void *(*const run[])(void *) = {await, feed};
    for (size_t i = 0; i < 2; i++) {
        const int sys = tf_thread_start(&threads[i], run[i], t);
        if (sys == 0)
            continue;
        errno = sys;
        (void)tf_fail_errno(err, "cannot start a thread");
        tf_pipeline_end(t->tools);
        close(t->to);
        if (i > 0)
            pthread_join(threads[0], NULL);
        tf_pipeline_free(t->tools);
        return -1;
    }
    return 0;
}

/* With the tools running. */
static int run(struct through *t, struct tf_err *err)
{
    pthread_t threads[2];
    struct tf_err out_err = {0};
    if (start_threads(t, threads, err) != 0)
        return -1;
    const int rc = put_all(t, &out_err);
    leave(t);
    if (rc != 0)
        tf_pipeline_end(t->tools);
    tf_in_close(&t->from);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    tf_pipeline_free(t->tools);
    if (rc != 0) {
        *err = out_err;
        return -1;
    }
    if (t->tools_rc != TF_OK && t->tools_rc != TF_PARTIAL) {
        *err = t->tools_err;
        return t->tools_rc;
    }
    if (t->feed_rc != 0) {
        *err = t->feed_err;
        return -1;
    }
    return put_end(t, err) != 0 ? -1 : t->tools_rc;
}

/* How a run that stops now continues: an empty .part is removed. */
static const char *hint(const struct through *t)
{
    return t->o->resumable && t->out.part != NULL && lseek(t->out.fd, 0, SEEK_CUR) > 0
               ? "; with --resume the same command continues"
               : "";
}

/* What a signal makes of a run that ended well. */
static int interrupted(struct through *t, struct tf_err *err)
{
    const bool kept = tf_out_flush(&t->out, err) == 0;
    if (kept)
        tf_fail_status(err, TF_AGAIN, "stopped after line %llu%s",
                       (unsigned long long)tf_document_lines(t->document), hint(t));
    return_output(t);
    tf_out_abort(&t->out);
    if (!kept || signalled != SIGINT)
        return -1;
    tf_note("%s", err->msg);
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
    return -1;
}

static void release(struct through *t)
{
    for (struct item it; pop(t, &it);)
        release_item(&it);
    free(t->items);
    free(t->old);
    tf_layout_release(&t->reader);
    tf_buf_release(&t->text);
    tf_buf_release(&t->shown);
    tf_buf_release(&t->page);
    tf_buf_release(&t->links);
    tf_buf_release(&t->field);
    tf_document_free(t->document);
    tf_in_close(&t->in);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->room);
}

int tf_through(const struct tf_through *o, struct tf_err *err)
{
    struct through t = {.o = o,
                        .in = {.fd = -1},
                        .cap = 1024,
                        .flight = LEAST_FLIGHT,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .room = PTHREAD_COND_INITIALIZER};
    int from, rc = 0;
    t.items = tf_xcalloc(t.cap, sizeof *t.items);
    if (open_files(&t, err) != 0 || catch_signals(err) != 0 ||
        tf_places_begin(t.in.name, err) != 0 ||
        tf_pipeline_start(&t.tools, o->tools, o->n_tools, &t.to, &from, err) != 0) {
        rc = -1;
    } else {
        tf_in_from_fd(&t.from, from, "the tools");
        enter_sandbox(o);
        tf_progress_begin(&t.progress, o->progress, o->quiet);
        t.total = t.progress.on ? count_lines(&t.in) : 0;
        rc = run(&t, err);
        tf_progress_end(&t.progress);
    }
    if ((rc == TF_OK || rc == TF_PARTIAL) && signalled != 0) {
        rc = interrupted(&t, err);
    } else {
        const bool done = rc == TF_OK || rc == TF_PARTIAL;
        const char *const how = hint(&t);
        if (!done)
            return_output(&t);
        const int finished = tf_out_finish(&t.out, done ? 0 : -1, err);
        rc = done && finished != 0 ? -1 : rc;
        /* One for all processes, such as that of timeout(1), has ended the tools. */
        if (!done && signalled == SIGTERM && t.tools_rc != TF_OK && t.tools_rc != TF_PARTIAL)
            rc = tf_fail_status(err, TF_AGAIN, "stopped by SIGTERM%s", how);
        if (rc == TF_OK || rc == TF_PARTIAL)
            tf_document_bad_status(t.document, err);
    }
    release(&t);
    return rc;
}
