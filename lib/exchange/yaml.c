/* yaml.c - see yaml.h. */
#include "exchange/yaml.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 1 << 22 };

struct text {
    const char *p, *end; /* of a line */
    size_t line;         /* from 1 on */
    struct tf_arena *arena;
};

static void skip_blanks(struct text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
        t->p++;
}

static bool at_end(struct text *t)
{
    skip_blanks(t);
    return t->p == t->end || *t->p == '#';
}

static int hex(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One escape after its backslash, as UTF-8 at *to; false if it is unknown. \x is a code point. */
static bool escape(struct text *t, char **to)
{
    static const char names[] = "0abtnvfre\"/\\ ", values[] = "\0\a\b\t\n\v\f\r\033\"/\\ ";
    if (t->p == t->end)
        return false;
    const char c = *t->p++;
    const char *at = c != '\0' ? strchr(names, c) : NULL;
    if (at != NULL) {
        *(*to)++ = values[at - names];
        return true;
    }
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : 0;
    unsigned code = 0;
    if (digits == 0 || t->end - t->p < digits)
        return false;
    for (int i = 0; i < digits; i++) {
        const int d = hex(*t->p++);
        if (d < 0)
            return false;
        code = code * 16 + (unsigned)d;
    }
    if (code < 0x80) {
        *(*to)++ = (char)code;
    } else if (code < 0x800) {
        *(*to)++ = (char)(0xc0 | code >> 6);
        *(*to)++ = (char)(0x80 | (code & 0x3f));
    } else {
        *(*to)++ = (char)(0xe0 | code >> 12);
        *(*to)++ = (char)(0x80 | (code >> 6 & 0x3f));
        *(*to)++ = (char)(0x80 | (code & 0x3f));
    }
    return true;
}

/* Where a text that began with `quote` before t->p ends, or NULL: not in this line. */
static const char *closing(const struct text *t, char quote)
{
    for (const char *p = t->p; p < t->end; p++) {
        if (*p == '\\' && quote == '"')
            p++;
        else if (*p == quote && quote == '\'' && p + 1 < t->end && p[1] == quote)
            p++;
        else if (*p == quote)
            return p;
    }
    return NULL;
}

/* The scalar in quotes that begins here; NULL if it is not one. No escape is shorter than what it
 * stands for. */
static const char *quoted(struct text *t)
{
    const char quote = *t->p++, *end = closing(t, quote);
    if (end == NULL)
        return NULL;
    char *out = tf_arena_zalloc(t->arena, (size_t)(end - t->p) + 1), *to = out;
    while (t->p < end) {
        const char c = *t->p++;
        if (c == quote)
            t->p++; /* the second of two */
        if (c != '\\' || quote == '\'')
            *to++ = c;
        else if (!escape(t, &to))
            return NULL;
    }
    t->p = end + 1;
    return out;
}

/* The plain scalar that begins here and ends before a comment, the end of the line, or one of
 * `stops` (":" means a colon before a blank or the end). */
static const char *plain(struct text *t, const char *stops)
{
    const char *begin = t->p;
    for (; t->p < t->end; t->p++) {
        const bool before_blank = t->p + 1 == t->end || t->p[1] == ' ' || t->p[1] == '\t';
        if (strchr(stops, *t->p) != NULL && (*t->p != ':' || before_blank))
            break;
        if (*t->p == '#' && t->p > begin && t->p[-1] == ' ')
            break;
    }
    const char *end = t->p;
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return tf_arena_strndup(t->arena, begin, (size_t)(end - begin));
}

static int refuse(const struct text *t, const char *what, struct tf_err *err)
{
    return tf_fail(err, "line %zu: %s", t->line, what);
}

static int scalar(struct text *t, const char **v, const char *stops, struct tf_err *err)
{
    skip_blanks(t);
    if (t->p < t->end && (*t->p == '"' || *t->p == '\'')) {
        *v = quoted(t);
        return *v != NULL
                   ? 0
                   : refuse(t, "a text in quotes without its end, or with an unknown escape", err);
    }
    if (t->p < t->end && strchr("&*!|>{}%@`?", *t->p) != NULL)
        return refuse(t, "YAML beyond scalars and lists of them", err);
    *v = plain(t, stops);
    return 0;
}

static void push(struct tf_yaml_entry *e, const char *v, struct tf_arena *a)
{
    if ((e->n & (e->n - 1)) == 0) { /* full: room is a power of two */
        const char **more = tf_arena_zalloc(a, (e->n > 0 ? 2 * e->n : 1) * sizeof *more);
        if (e->n > 0)
            memcpy(more, e->v, e->n * sizeof *more);
        e->v = more;
    }
    e->v[e->n++] = v;
}

/* [a, b] */
static int flow_list(struct text *t, struct tf_yaml_entry *e, struct tf_err *err)
{
    const char *v;
    t->p++;
    skip_blanks(t);
    while (t->p < t->end && *t->p != ']') {
        if (scalar(t, &v, ",]", err) != 0)
            return -1;
        push(e, v, t->arena);
        skip_blanks(t);
        if (t->p < t->end && *t->p == ',')
            t->p++;
        else if (t->p == t->end || *t->p != ']')
            break;
        skip_blanks(t);
    }
    if (t->p == t->end)
        return refuse(t, "a list without its end", err);
    t->p++;
    return 0;
}

static int value(struct text *t, struct tf_yaml_entry *e, struct tf_err *err)
{
    const char *v;
    skip_blanks(t);
    if (t->p < t->end && *t->p == '[')
        return flow_list(t, e, err);
    if (scalar(t, &v, "", err) != 0)
        return -1;
    push(e, v, t->arena);
    return 0;
}

static int read_line(struct tf_yaml *y, struct text *t, struct tf_err *err)
{
    const char *begin = t->p;
    if (at_end(t) || (t->end - begin == 3 && memcmp(begin, "---", 3) == 0))
        return 0;
    const bool item = *t->p == '-' && (t->p + 1 == t->end || t->p[1] == ' ');
    if (item || t->p > begin) { /* of the list that the key before it has */
        if (y->n == 0 || (!item && *t->p != '['))
            return refuse(t, "YAML beyond scalars and lists of them", err);
        t->p += item;
        if (value(t, &y->v[y->n - 1], err) != 0)
            return -1;
    } else {
        struct tf_yaml_entry *e = &y->v[y->n];
        if (scalar(t, &e->key, ":", err) != 0)
            return -1;
        if (t->p == t->end || *t->p != ':')
            return refuse(t, "not 'key: value'", err);
        t->p++;
        y->n++;
        if (!at_end(t) && value(t, e, err) != 0)
            return -1;
    }
    return at_end(t) ? 0 : refuse(t, "text after a value", err);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

static int check_unique(const struct tf_yaml *y, struct tf_err *err)
{
    const char **twice = NULL;
    const char ***v = tf_xcalloc(y->n + 1, sizeof *v);
    for (size_t i = 0; i < y->n; i++)
        v[i] = &y->v[i].key;
    qsort(v, y->n, sizeof *v, by_key);
    for (size_t i = 1; i < y->n && twice == NULL; i++)
        twice = strcmp(*v[i - 1], *v[i]) == 0 ? v[i] : NULL;
    free(v);
    return twice == NULL ? 0 : tf_fail(err, "'%s' is there twice", *twice);
}

int tf_yaml_read(struct tf_yaml *y, struct tf_arena *a, const char *text, size_t n,
                 struct tf_err *err)
{
    const char *nul = memchr(text, 0, n), *end = nul != NULL ? nul : text + n;
    size_t lines = 1;
    for (const char *p = text; p < end; p++)
        lines += *p == '\n';
    *y = (struct tf_yaml){0};
    if (lines > MAX_LINES)
        return tf_fail(err, "%zu lines: at most %d", lines, MAX_LINES);
    y->v = tf_arena_zalloc(a, lines * sizeof *y->v);
    struct text t = {.p = text, .arena = a};
    while (t.p < end) {
        const char *stop = memchr(t.p, '\n', (size_t)(end - t.p)),
                   *next = stop != NULL ? stop + 1 : end;
        t.end = stop != NULL ? stop : end;
        if (t.end > t.p && t.end[-1] == '\r')
            t.end--;
        t.line++;
        if (read_line(y, &t, err) != 0)
            return -1;
        t.p = next;
    }
    return check_unique(y, err);
}

const struct tf_yaml_entry *tf_yaml_find(const struct tf_yaml *y, const char *key)
{
    for (size_t i = 0; i < y->n; i++)
        if (strcmp(y->v[i].key, key) == 0)
            return &y->v[i];
    return NULL;
}
