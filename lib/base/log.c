/* log.c - lines on stderr, each written by one call, so that lines of several tools do not mix. */
#include "base/log.h"
#include "base/buf.h"
#include "base/terminal_private.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 32, SHOWN = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *fmt;
    uint64_t count;
    char first[200];
} kinds[KINDS];
static bool no_notes;
static bool line_shown; /* the terminal may show a progress line that is ours to clear */

static const char clear[] = "\r\033[K";

static void put_line(const char *tag, const char *text)
{
    struct tf_buf b = {0};
    tf_buf_printf(&b, "%s%s: %s%s\n", tf_terminal_has_line(line_shown) ? clear : "", tf_progname,
                  tag, text);
    line_shown = false;
    fwrite(b.p, 1, b.len, stderr);
    fflush(stderr);
    tf_buf_release(&b);
}

static void format(char *dst, size_t size, const char *fmt, va_list ap)
{
    char text[1024];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    tf_escape(dst, size, text, n < 0 ? 0 : strnlen(text, sizeof text));
}

/* Format the arguments of a function that ends in `fmt, ...` into its array `text`. */
#define FORMAT(text, fmt)                   \
    do {                                    \
        va_list ap;                         \
        va_start(ap, fmt);                  \
        format(text, sizeof text, fmt, ap); \
        va_end(ap);                         \
    } while (0)

void tf_warn(const char *fmt, ...)
{
    char text[1024];
    FORMAT(text, fmt);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < KINDS && kinds[i].fmt != NULL && kinds[i].fmt != fmt)
        i++;
    bool show = true;
    if (i < KINDS) {
        kinds[i].fmt = fmt;
        if (kinds[i].count++ == 0)
            tf_escape(kinds[i].first, sizeof kinds[i].first, text, strlen(text));
        show = kinds[i].count <= SHOWN;
    }
    if (show)
        put_line("warning: ", text);
    pthread_mutex_unlock(&lock);
}

void tf_warn_summary(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KINDS && kinds[i].fmt != NULL; i++) {
        if (kinds[i].count > SHOWN) {
            char text[320];
            snprintf(text, sizeof text, "%llu more like '%s'",
                     (unsigned long long)(kinds[i].count - SHOWN), kinds[i].first);
            put_line("warning: ", text);
        }
        kinds[i].fmt = NULL;
        kinds[i].count = 0;
    }
    pthread_mutex_unlock(&lock);
}

void tf_note(const char *fmt, ...)
{
    char text[1024];
    FORMAT(text, fmt);
    pthread_mutex_lock(&lock);
    if (!no_notes)
        put_line("", text);
    pthread_mutex_unlock(&lock);
}

void tf_error(const char *fmt, ...)
{
    char text[1024];
    FORMAT(text, fmt);
    pthread_mutex_lock(&lock);
    put_line("", text);
    pthread_mutex_unlock(&lock);
}

void tf_notes_off(void)
{
    pthread_mutex_lock(&lock);
    no_notes = true;
    pthread_mutex_unlock(&lock);
}

double tf_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void tf_progress_begin(struct tf_progress *p, bool force, bool quiet)
{
    bool terminal = isatty(2);
    *p = (struct tf_progress){.on = !quiet && (terminal || force),
                              .start = tf_now(),
                              .terminal = terminal};
    if (!p->on || !terminal)
        return;
    tf_terminal_enter();
    pthread_mutex_lock(&lock);
    line_shown = tf_terminal_has_line(false);
    pthread_mutex_unlock(&lock);
}

bool tf_progress_due(struct tf_progress *p)
{
    /* Lines that cannot be rewritten come every few seconds only. */
    if (!p->on || (p->last != 0 && tf_now() - p->last < (p->terminal ? 0.2 : 5)))
        return false;
    if (!p->terminal || tf_terminal_mine())
        return true;
    p->last = tf_now(); /* ask again later */
    return false;
}

static int columns(void)
{
    struct winsize w;
    return ioctl(2, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

void tf_progress_show(struct tf_progress *p, const char *fmt, ...)
{
    if (!tf_progress_due(p))
        return;
    p->last = tf_now();
    char text[1024];
    FORMAT(text, fmt);
    pthread_mutex_lock(&lock);
    if (p->terminal) {
        char line[1200];
        snprintf(line, sizeof line, "%s: %s", tf_progname, text);
        /* A line that fills the last column may wrap. */
        fprintf(stderr, "%s%.*s", clear, columns() - 1, line);
        line_shown = true;
        fflush(stderr);
    } else {
        put_line("", text);
    }
    pthread_mutex_unlock(&lock);
}

void tf_progress_end(struct tf_progress *p)
{
    pthread_mutex_lock(&lock);
    if (p->on && line_shown && tf_terminal_mine()) {
        fputs(clear, stderr);
        line_shown = false;
    }
    pthread_mutex_unlock(&lock);
    if (p->on && p->terminal)
        tf_terminal_leave();
    p->on = false;
}

static char deadline[200];

static void give_up(int sig)
{
    (void)sig;
    (void)!write(STDERR_FILENO, deadline, strlen(deadline));
    _exit(TF_FAILED);
}

void tf_deadline(double seconds, const char *text)
{
    alarm(0);
    if (seconds <= 0) {
        signal(SIGALRM, SIG_DFL);
        return;
    }
    deadline[0] = 0;
    if (text[0] != 0)
        snprintf(deadline, sizeof deadline, "%s: %s\n", tf_progname, text);
    signal(SIGALRM, give_up);
    alarm((unsigned)ceil(seconds));
}
