/* opt.c - parsing by table, and the one end of every tool. The rows of --help, --version and the
 * two hidden questions are handled here, so that no tool can forget them. */
#include "base/opt.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt_print.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char tf_version[] = "0.1.0";
const char *tf_progname = "tf";

/* Lists of words and operands: they live as long as argv does. */
static struct tf_arena words;

enum builtin { NONE, HELP, VERSION, COMPLETE, LIST };

/* What an option on the command line turned out to be. */
struct match {
    struct tf_opt *row;
    enum builtin builtin;
    bool negated;
};

static bool same(const char *a, size_t n, const char *b)
{
    return b != NULL && strlen(b) == n && memcmp(a, b, n) == 0;
}

static bool starts(const char *prefix, size_t n, const char *s)
{
    return s != NULL && strncmp(prefix, s, n) == 0;
}

static const struct {
    const char *name;
    enum builtin what;
    bool hidden;
} builtins[] = {{"help", HELP, false},
                {"version", VERSION, false},
                {"complete", COMPLETE, true},
                {"list-options", LIST, true}};

/* Find the option of that long name; with `prefix` also by an unambiguous beginning. 1 found, 0
 * not, -1 ambiguous. */
static int find_long(const struct tf_tool *tool, const char *s, size_t n, bool prefix,
                     struct match *m)
{
    int found = 0;
    for (struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        bool no = (o->flags & TF_OPT_NEGATABLE) && n > 3 && memcmp(s, "no-", 3) == 0;
        if (same(s, n, o->name) || same(s, n, o->alias) ||
            (no && (same(s + 3, n - 3, o->name) || same(s + 3, n - 3, o->alias)))) {
            *m = (struct match){.row = o, .negated = !same(s, n, o->name) && !same(s, n, o->alias)};
            return 1;
        }
        if (!prefix || (o->flags & TF_OPT_HIDDEN))
            continue;
        bool yes = starts(s, n, o->name) || starts(s, n, o->alias);
        no = no && (starts(s + 3, n - 3, o->name) || starts(s + 3, n - 3, o->alias));
        if (yes || no) {
            *m = (struct match){.row = o, .negated = no};
            found++;
        }
    }
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        bool exact = same(s, n, builtins[i].name);
        if (exact || (prefix && !builtins[i].hidden && starts(s, n, builtins[i].name))) {
            *m = (struct match){.builtin = builtins[i].what};
            if (exact)
                return 1;
            found++;
        }
    }
    return found > 1 ? -1 : found;
}

static bool find_letter(const struct tf_tool *tool, char c, struct match *m)
{
    for (struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if (o->letter != 0 && o->letter == c) {
            *m = (struct match){.row = o};
            return true;
        }
    *m = (struct match){.builtin = HELP};
    return c == 'h';
}

/* Would the word be read as an option? */
static bool is_option(const struct tf_tool *tool, const char *word)
{
    struct match m;
    bool two = word[0] == '-' && word[1] == '-';
    const char *s = word + 1 + two;
    if (word[0] != '-' || word[1] == 0)
        return false;
    return find_long(tool, s, strcspn(s, "="), two, &m) != 0 || (!two && find_letter(tool, *s, &m));
}

static int bad_value(struct tf_err *err, const char *shown, const struct tf_err *why)
{
    return tf_fail_status(err, TF_USAGE, "%s %s", shown, why->msg);
}

static int set_choice(const struct tf_opt *o, const char *text, struct tf_err *why)
{
    struct tf_buf all = {0};
    for (int i = 0; o->choices[i] != NULL; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *(int *)o->target = i;
            tf_buf_release(&all);
            return 0;
        }
        tf_buf_printf(&all, "%s%s", i > 0 ? ", " : "", o->choices[i]);
    }
    tf_fail(why, "%s: not one of %s", text, all.p != NULL ? all.p : "");
    tf_buf_release(&all);
    return -1;
}

static void append(struct tf_strs *list, const char *text)
{
    /* A power of two is full: move to twice the room. */
    if ((list->n & (list->n - 1)) == 0) {
        const char **v = tf_arena_alloc(&words, (list->n != 0 ? 2 * list->n : 1) * sizeof *v);
        if (list->n != 0)
            memcpy(v, list->v, list->n * sizeof *v);
        list->v = v;
    }
    list->v[list->n++] = text;
}

static int64_t whole(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

/* Put text into the row's target. `shown` is the option's name for messages. */
static int set(struct tf_opt *o, const char *shown, const char *text, struct tf_err *err)
{
    struct tf_err why = {0};
    bool free_range = o->lo == 0 && o->hi == 0;
    switch (o->kind) {
    case TF_OPT_FLAG:
        *(bool *)o->target = strcmp(text, "true") == 0;
        return 0;
    case TF_OPT_INT:
        if (tf_parse_int(o->target, text, free_range ? INT64_MIN : whole(o->lo),
                         free_range ? INT64_MAX : whole(o->hi), &why) != 0)
            return bad_value(err, shown, &why);
        return 0;
    case TF_OPT_REAL:
        if (tf_parse_real(o->target, text, free_range ? -DBL_MAX : o->lo,
                          free_range ? DBL_MAX : o->hi, &why) != 0)
            return bad_value(err, shown, &why);
        return 0;
    case TF_OPT_STR:
        *(const char **)o->target = text;
        return 0;
    case TF_OPT_CHOICE:
        return set_choice(o, text, &why) == 0 ? 0 : bad_value(err, shown, &why);
    case TF_OPT_LIST:
        append(o->target, text);
        return 0;
    case TF_OPT_GROUP:
    case TF_OPT_WORD:
    case TF_OPT_END:
        break;
    }
    TF_BUG("%s takes no value", shown);
}

static void set_defaults(struct tf_opt *opts)
{
    struct tf_err err = {0};
    for (struct tf_opt *o = opts; o->kind != TF_OPT_END; o++) {
        o->set = false;
        if (o->def == NULL)
            continue;
        if (o->kind == TF_OPT_LIST)
            *(struct tf_strs *)o->target = (struct tf_strs){0};
        if (set(o, o->name != NULL ? o->name : "option", o->def, &err) != 0)
            TF_BUG("default of %s", err.msg);
    }
}

/* Words on the command line, and how far they are read. */
struct line {
    const struct tf_tool *tool;
    char **v;
    int n, at;
};

static const char *next_word(struct line *l)
{
    return l->at < l->n ? l->v[l->at++] : NULL;
}

_Noreturn static void answer(const struct tf_tool *tool, enum builtin what, const char *shell)
{
    static char room[32 << 10]; /* for all of it: stdio forgets why an earlier write failed */
    struct tf_err err = {0};
    int rc = 0;
    setvbuf(stdout, room, _IOFBF, sizeof room);
    if (what == HELP)
        tf_opt_print_help(tool);
    else if (what == VERSION)
        printf("%s (tf-tools) %s\n", tool->name, tf_version);
    else if (what == LIST)
        tf_opt_print_list(tool);
    else if (shell == NULL || tf_opt_print_completion(tool, shell) != 0)
        rc = tf_fail_status(&err, TF_USAGE, "--complete: one of bash, zsh, fish");
    exit(tf_finish(rc, &err));
}

/* An option was recognised; `value` is what was attached to it, or NULL. */
static int take(struct line *l, const struct match *m, const char *shown, const char *value,
                struct tf_err *err)
{
    if (m->builtin == COMPLETE)
        answer(l->tool, COMPLETE, value != NULL ? value : next_word(l));
    struct tf_opt *o = m->row;
    if (m->builtin != NONE || o->kind == TF_OPT_FLAG) {
        if (value != NULL)
            return tf_fail_status(err, TF_USAGE, "%s takes no argument", shown);
        if (m->builtin != NONE)
            answer(l->tool, m->builtin, NULL);
        o->set = true;
        return set(o, shown, m->negated ? "false" : "true", err);
    }
    if (m->negated)
        return tf_fail_status(err, TF_USAGE, "unknown option %s (try --help)", shown);
    bool attached = value != NULL, greedy = o->kind == TF_OPT_LIST && (o->flags & TF_OPT_GREEDY);
    if (!attached && ((value = next_word(l)) == NULL || (greedy && is_option(l->tool, value))))
        return tf_fail_status(err, TF_USAGE, "%s needs an argument (%s)", shown,
                              o->arg != NULL ? o->arg : "see --help");
    if (o->kind == TF_OPT_LIST && !o->set)
        ((struct tf_strs *)o->target)->n = 0; /* the user's words replace the default */
    o->set = true;
    if (set(o, shown, value, err) != 0)
        return -1;
    if (greedy && !attached)
        while (l->at < l->n && (l->v[l->at][0] != '-' || l->v[l->at][1] == 0))
            append(o->target, l->v[l->at++]);
    return 0;
}

static int take_long(struct line *l, const char *word, struct tf_err *err)
{
    const char *s = word + 1 + (word[1] == '-'), *eq = strchr(s, '=');
    size_t n = eq != NULL ? (size_t)(eq - s) : strlen(s);
    struct match m = {0};
    int found = n > 0 ? find_long(l->tool, s, n, word[1] == '-', &m) : 0;
    if (found < 0)
        return tf_fail_status(err, TF_USAGE, "option --%.*s is ambiguous (try --help)", (int)n, s);
    if (found == 0)
        return tf_fail_status(err, TF_USAGE, "unknown option --%.*s (try --help)", (int)n, s);
    /* Messages name the option in full, whatever was typed. */
    char shown[80];
    snprintf(shown, sizeof shown, "--%s%s", m.negated ? "no-" : "",
             m.row == NULL         ? "help"
             : m.row->name != NULL ? m.row->name
                                   : m.row->alias);
    if (m.row == NULL)
        snprintf(shown, sizeof shown, "--%.*s", (int)n, s);
    return take(l, &m, shown, eq != NULL ? eq + 1 : NULL, err);
}

/* "-x", "-xVALUE", and clusters of flags that may end in one with a value. */
static int take_letters(struct line *l, const char *word, struct tf_err *err)
{
    for (const char *p = word + 1; *p != 0; p++) {
        struct match m = {0};
        char shown[] = {'-', *p, 0};
        if (!find_letter(l->tool, *p, &m)) {
            size_t len = 1;
            while ((p[len] & 0xc0) == 0x80) /* the rest of a character beyond ASCII */
                len++;
            return tf_fail_status(err, TF_USAGE, "unknown option -%.*s (try --help)", (int)len, p);
        }
        bool valued = m.row != NULL && m.row->kind != TF_OPT_FLAG;
        if (take(l, &m, shown, valued && p[1] != 0 ? p + 1 : NULL, err) != 0)
            return -1;
        if (valued)
            return 0;
    }
    return 0;
}

/* A standard stream that is closed would give its number to the first file opened, and data would
 * land there. Opened the wrong way round, so that using it still fails. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            _exit(TF_FAILED);
}

static int parse(struct line *l, struct tf_strs *operands, struct tf_err *err)
{
    while (l->at < l->n) {
        const char *word = l->v[l->at++];
        struct match m;
        if (word[0] != '-' || word[1] == 0) {
            append(operands, word);
        } else if (strcmp(word, "--") == 0) {
            while (l->at < l->n)
                append(operands, l->v[l->at++]);
        } else if (word[1] == '-' ||
                   (word[2] != 0 &&
                    find_long(l->tool, word + 1, strcspn(word + 1, "="), false, &m) == 1)) {
            if (take_long(l, word, err) != 0)
                return -1;
        } else if (take_letters(l, word, err) != 0) {
            return -1;
        }
    }
    int n = (int)operands->n;
    if (n < l->tool->min_args)
        return tf_fail_status(err, TF_USAGE,
                              "too few operands: %d given, at least %d needed (try --help)", n,
                              l->tool->min_args);
    if (l->tool->max_args >= 0 && n > l->tool->max_args)
        return tf_fail_status(err, TF_USAGE, "unexpected operand '%s' (try --help)",
                              operands->v[l->tool->max_args]);
    return 0;
}

/* One output must not replace what it is made of, nor another output. */
static int keep_one_apart(const struct tf_tool *tool, const struct tf_strs *operands,
                          const struct tf_opt *out, struct tf_err *err)
{
    const char *path = *(const char *const *)out->target;
    if (path == NULL || strcmp(path, "-") == 0)
        return 0;
    /* stdin is read where no file is named */
    bool same = operands->n <= (size_t)tool->n_words && tf_same_file("-", path);
    for (size_t i = (size_t)tool->n_words; i < operands->n; i++)
        same = same || tf_same_file(operands->v[i], path);
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++) {
        const char *one = o->kind == TF_OPT_STR ? *(const char *const *)o->target : NULL;
        struct tf_strs list = {&one, one != NULL};
        if (o == out || !(o->flags & TF_OPT_FILE))
            continue;
        if (o->kind == TF_OPT_LIST)
            list = *(const struct tf_strs *)o->target;
        for (size_t i = 0; i < list.n; i++) {
            bool here = tf_same_file(list.v[i], path);
            if (here && (o->flags & TF_OPT_OUT))
                return tf_fail_status(err, TF_USAGE, "%s: is the output of both --%s and --%s",
                                      path, out->name, o->name);
            same = same || here;
        }
    }
    return same ? tf_fail_status(err, TF_USAGE, "%s: is both input and output", path) : 0;
}

static int keep_apart(const struct tf_tool *tool, const struct tf_strs *operands,
                      struct tf_err *err)
{
    for (const struct tf_opt *o = tool->opts; o->kind != TF_OPT_END; o++)
        if ((o->flags & TF_OPT_OUT) && keep_one_apart(tool, operands, o, err) != 0)
            return -1;
    return 0;
}

int tf_opt_parse(const struct tf_tool *tool, int argc, char **argv, struct tf_args *args,
                 struct tf_err *err)
{
    tf_progname = tool->name;
    fill_standard_streams();
    signal(SIGXFSZ, SIG_IGN);
    set_defaults(tool->opts);
    struct line l = {.tool = tool, .v = argv, .n = argc, .at = 1};
    struct tf_strs operands = {0};
    if (parse(&l, &operands, err) != 0 || keep_apart(tool, &operands, err) != 0)
        return -1;
    *args = (struct tf_args){.v = operands.v, .n = (int)operands.n};
    return 0;
}

struct tf_opt *tf_opt_find(const struct tf_opt *opts, const char *name)
{
    for (const struct tf_opt *o = opts; o->kind != TF_OPT_END; o++)
        if (o->name != NULL && strcmp(o->name, name) == 0)
            return (struct tf_opt *)o;
    return NULL;
}

int tf_finish(int rc, struct tf_err *err)
{
    int status = err->status != 0 ? err->status : rc < 0 ? TF_FAILED : rc;
    bool quiet = err->sys == EPIPE;
    tf_warn_summary();
    if ((rc < 0 || err->status != 0) && !quiet)
        tf_note("%s", err->msg[0] != 0 ? err->msg : "failed");
    /* The reason of an earlier failure is lost to stdio; ENOSPC and its like come back at the
     * flush. */
    bool earlier = ferror(stdout);
    errno = 0;
    if (fflush(stdout) != 0 || earlier || fclose(stdout) != 0) {
        int sys = errno;
        if (status == TF_OK || status == TF_PARTIAL) { /* both promise a complete output */
            status = TF_FAILED;
            if (sys != EPIPE && !quiet)
                tf_note("write error%s%s", sys != 0 ? ": " : "", sys != 0 ? strerror(sys) : "");
        }
    }
    return status;
}
