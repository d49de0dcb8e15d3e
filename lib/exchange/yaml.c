/* yaml.c - see yaml.h. */
#include "exchange/yaml.h"
#include "base/buf.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 1 << 22 };

struct text {
    const char *p, *end;
    const char *begin; /* of the line */
    size_t line;       /* its number, from 1 on */
    struct tf_arena *arena;
    struct tf_buf work; /* a scalar */
};

/* Where a scalar stands. */
enum scope {
    KEY,   /* on one line, before a colon */
    BLOCK, /* over lines that are indented more than the map */
    FLOW   /* in brackets */
};

static int refuse(const struct text *t, const char *what, struct tf_err *err)
{
    return tf_fail(err, "line %zu: %s", t->line, what);
}

static int beyond(const struct text *t, struct tf_err *err)
{
    return refuse(t, "YAML beyond scalars and lists of them", err);
}

/* ---- places ---- */

static bool is_blank(const struct text *t, const char *p)
{
    return p < t->end && (*p == ' ' || *p == '\t');
}

/* A CR alone is text, as in yaml-cpp, which leaves it plain. */
static bool is_break(const struct text *t, const char *p)
{
    return p == t->end || *p == '\n' || (*p == '\r' && (p + 1 == t->end || p[1] == '\n'));
}

static bool is_space(const struct text *t, const char *p)
{
    return is_break(t, p) || is_blank(t, p);
}

/* An indicator, which only before a blank is one. */
static bool is_sign(const struct text *t, char c)
{
    return t->p < t->end && *t->p == c && is_space(t, t->p + 1);
}

static size_t column_of(const struct text *t)
{
    return (size_t)(t->p - t->begin);
}

static void skip_blanks(struct text *t)
{
    while (is_blank(t, t->p))
        t->p++;
}

static bool is_comment(const struct text *t, const char *p)
{
    return p < t->end && *p == '#' && (p == t->begin || p[-1] == ' ' || p[-1] == '\t');
}

/* Is this the end of the line, or a comment? */
static bool at_end(struct text *t)
{
    skip_blanks(t);
    return is_break(t, t->p) || is_comment(t, t->p);
}

/* From the end of a line to the start of the next. */
static void next_line(struct text *t)
{
    if (t->p == t->end)
        return;
    t->p += *t->p == '\r' && t->p + 1 < t->end && t->p[1] == '\n' ? 2 : 1;
    t->begin = t->p;
    t->line++;
}

/* To the next text that is no comment; false: there is none. */
static bool skip_lines(struct text *t)
{
    while (t->p < t->end && at_end(t)) {
        while (!is_break(t, t->p))
            t->p++;
        next_line(t);
    }
    return t->p < t->end;
}

/* --- or ... at the start of a line. */
static bool at_marker(const struct text *t, const char *marker)
{
    return t->p == t->begin && t->end - t->p >= 3 && memcmp(t->p, marker, 3) == 0 &&
           is_space(t, t->p + 3);
}

static bool at_any_marker(const struct text *t)
{
    return at_marker(t, "---") || at_marker(t, "...");
}

/* ---- scalars ---- */

static void copy(struct text *t, const char **v)
{
    *v = tf_arena_strndup(t->arena, t->work.len > 0 ? t->work.p : "", t->work.len);
}

/* U+0085, U+2028 or U+2029: its bytes, else 0. */
static size_t wide_break(const struct text *t)
{
    const size_t n = (size_t)(t->end - t->p);
    if (n >= 2 && memcmp(t->p, "\xc2\x85", 2) == 0)
        return 2;
    return n >= 3 && (memcmp(t->p, "\xe2\x80\xa8", 3) == 0 || memcmp(t->p, "\xe2\x80\xa9", 3) == 0)
               ? 3
               : 0;
}

/* A run of blanks and line breaks in quotes: one break is a space, more are one less; blanks around
 * them are none. */
static void fold(struct text *t, bool single)
{
    const char *begin = t->p;
    size_t breaks = 0, wide, wides = 0;
    skip_blanks(t);
    while (t->p < t->end && ((wide = single ? wide_break(t) : 0) > 0 || is_break(t, t->p))) {
        if (breaks == 0)
            begin = t->p;
        if (wide > 0) {
            tf_buf_add(&t->work, t->p, wide);
            t->p += wide;
            wides++;
        } else {
            if (breaks > 0)
                tf_buf_byte(&t->work, '\n');
            next_line(t);
        }
        breaks++;
        skip_blanks(t);
    }
    if (breaks == 0)
        tf_buf_add(&t->work, begin, (size_t)(t->p - begin));
    else if (breaks == 1 && wides == 0)
        tf_buf_byte(&t->work, ' ');
}

/* The number of so many hexadecimal digits; 0 if there are fewer. */
static uint32_t hex(struct text *t, int digits)
{
    uint32_t code = 0;
    for (; digits > 0 && t->p < t->end; digits--) {
        static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
        const char *at = memchr(lower, *t->p, 16);
        const char *base = at != NULL ? lower : upper;
        if (at == NULL && (at = memchr(upper, *t->p, 16)) == NULL)
            return 0;
        code = code << 4 | (uint32_t)(at - base);
        t->p++;
    }
    return digits == 0 ? code : 0;
}

static bool is_surrogate(uint32_t code, uint32_t first)
{
    return code >= first && code < first + 0x400;
}

/* A character by its number. A pair of surrogates is one, as Python 2 wrote it. */
static bool code_point(struct text *t, int digits)
{
    uint32_t code = hex(t, digits);
    if (is_surrogate(code, 0xd800) && t->end - t->p >= 6 && memcmp(t->p, "\\u", 2) == 0) {
        t->p += 2;
        const uint32_t low = hex(t, 4);
        code = is_surrogate(low, 0xdc00) ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0;
    }
    if (code == 0 || code > 0x10ffff || is_surrogate(code & ~0x400U, 0xd800))
        return false;
    tf_buf_char(&t->work, code);
    return true;
}

/* A break after a backslash is nothing, and neither are blanks at the start of the next line. */
static void join_lines(struct text *t)
{
    next_line(t);
    skip_blanks(t);
    while (t->p < t->end && is_break(t, t->p)) {
        tf_buf_byte(&t->work, '\n');
        next_line(t);
        skip_blanks(t);
    }
}

/* One escape after its backslash; false if it is unknown. */
static bool escape(struct text *t)
{
    static const char names[] = "abtnvfre\"/\\ \t", values[] = "\a\b\t\n\v\f\r\033\"/\\ \t",
                      wide[] = "N_LP";
    static const uint32_t codes[] = {0x85, 0xa0, 0x2028, 0x2029};
    if (t->p == t->end)
        return false;
    if (is_break(t, t->p)) {
        join_lines(t);
        return true;
    }
    const char c = *t->p++;
    const char *at = memchr(names, c, sizeof names - 1);
    if (at != NULL) {
        tf_buf_byte(&t->work, (unsigned char)values[at - names]);
        return true;
    }
    at = memchr(wide, c, sizeof wide - 1);
    if (at != NULL) {
        tf_buf_char(&t->work, codes[at - wide]);
        return true;
    }
    return code_point(t, c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0);
}

static int quoted(struct text *t, const char **v, enum scope scope, struct tf_err *err)
{
    const size_t line = t->line;
    const char quote = *t->p++;
    const bool single = quote == '\'';
    while (t->p < t->end && (*t->p != quote || (single && t->p + 1 < t->end && t->p[1] == quote))) {
        if (scope == KEY && is_break(t, t->p))
            break;
        if (is_space(t, t->p) || (single && wide_break(t) > 0)) {
            fold(t, single);
            continue;
        }
        const char c = *t->p++;
        if (c == quote)
            t->p++; /* the second of two */
        if (c == '\xc1' && t->p < t->end && *t->p == '\xbf') {
            tf_buf_byte(&t->work, 0x7f); /* as yaml-cpp writes it, and U+07FF */
            t->p++;
        } else if (c == '\xe0' && t->end - t->p > 1 && t->p[0] == '\x9f' && t->p[1] == '\xbf') {
            tf_buf_str(&t->work, "\xdf\xbf");
            t->p += 2;
        } else if (c != '\\' || single)
            tf_buf_byte(&t->work, (unsigned char)c);
        else if (!escape(t))
            return refuse(t, "an unknown escape in quotes, or a NUL", err);
    }
    if (t->p == t->end || *t->p != quote || (scope == KEY && t->line > line)) {
        t->line = line;
        return refuse(t, "a text in quotes without its end", err);
    }
    t->p++;
    copy(t, v);
    return 0;
}

/* Does a plain scalar end before this character? */
static bool ends_plain(const struct text *t, enum scope scope)
{
    static const char brackets[] = ",[]{}";
    const char *p = t->p;
    if (scope == FLOW && memchr(brackets, *p, 5) != NULL)
        return true;
    if (*p == ':')
        return is_space(t, p + 1) || (scope == FLOW && memchr(brackets, p[1], 5) != NULL);
    return is_comment(t, p);
}

/* To the next line of a plain scalar; returns how many breaks are before it, or 0. */
static size_t continuation(struct text *t, size_t indent, enum scope scope)
{
    const struct text was = *t;
    size_t breaks = 0;
    while (t->p < t->end && is_break(t, t->p)) {
        next_line(t);
        breaks++;
        const bool marker = at_any_marker(t);
        skip_blanks(t);
        if (marker)
            break;
    }
    if (breaks > 0 && !is_break(t, t->p) && (scope == FLOW || column_of(t) > indent) &&
        !ends_plain(t, scope) && !at_any_marker(t))
        return breaks;
    *t = was;
    return 0;
}

static void plain(struct text *t, const char **v, size_t indent, enum scope scope)
{
    for (;;) {
        const char *begin = t->p;
        while (!is_break(t, t->p) && !ends_plain(t, scope))
            t->p++;
        size_t n = (size_t)(t->p - begin);
        while (n > 0 && (begin[n - 1] == ' ' || begin[n - 1] == '\t'))
            n--;
        tf_buf_add(&t->work, begin, n);
        const size_t breaks = scope == KEY ? 0 : continuation(t, indent, scope);
        if (breaks == 0)
            break;
        if (breaks == 1)
            tf_buf_byte(&t->work, ' ');
        for (size_t i = 1; i < breaks; i++)
            tf_buf_byte(&t->work, '\n');
    }
    copy(t, v);
}

/* ---- block scalars: | keeps line breaks, > folds them ---- */

struct block {
    bool folded;
    char chomp;    /* '-' and '+': no break at the end, and all of them; 0: one */
    size_t indent; /* 0: that of the first line */
};

static int block_header(struct text *t, struct block *b, size_t indent, struct tf_err *err)
{
    b->folded = *t->p++ == '>';
    for (; t->p < t->end && memchr("+-123456789", *t->p, 11) != NULL; t->p++)
        if (*t->p == '+' || *t->p == '-')
            b->chomp = *t->p;
        else
            b->indent = indent + (size_t)(*t->p - '0');
    if (!at_end(t))
        return beyond(t, err);
    while (!is_break(t, t->p))
        t->p++;
    next_line(t);
    return 0;
}

/* In a block U+0085, U+2028 and U+2029 end a line, too, and belong to the text. */
static bool ends_line(const struct text *t)
{
    return is_break(t, t->p) || wide_break(t) > 0;
}

static void take_break(struct text *t, struct tf_buf *to)
{
    const size_t wide = wide_break(t);
    tf_buf_add(to, wide > 0 ? t->p : "\n", wide > 0 ? wide : 1);
    t->p += wide;
    if (wide > 0)
        t->begin = t->p;
    else
        next_line(t);
}

/* Skip empty lines, and the indent of the first that is not; *breaks = their breaks. */
static void block_breaks(struct text *t, const struct block *b, size_t most, struct tf_buf *breaks)
{
    tf_buf_clear(breaks);
    for (;;) {
        while (t->p < t->end && *t->p == ' ' && column_of(t) < (b->indent > 0 ? b->indent : most))
            t->p++;
        if (t->p == t->end || !ends_line(t))
            return;
        take_break(t, breaks);
    }
}

/* Lines from the first on; *end = the break of the last, *breaks = those after it. */
static void block_lines(struct text *t, const struct block *b, struct tf_buf *end,
                        struct tf_buf *breaks)
{
    while (t->p < t->end && column_of(t) == b->indent) {
        const bool indented = is_blank(t, t->p);
        const char *begin = t->p;
        tf_buf_add(&t->work, breaks->p, breaks->len);
        while (!ends_line(t))
            t->p++;
        tf_buf_add(&t->work, begin, (size_t)(t->p - begin));
        tf_buf_clear(end);
        if (t->p < t->end)
            take_break(t, end);
        block_breaks(t, b, b->indent, breaks);
        if (t->p == t->end || column_of(t) != b->indent)
            break;
        if (!b->folded || indented || is_blank(t, t->p) || *end->p != '\n')
            tf_buf_add(&t->work, end->p, end->len);
        else if (breaks->len == 0)
            tf_buf_byte(&t->work, ' ');
    }
}

static int read_block(struct text *t, const char **v, size_t indent, struct tf_err *err)
{
    struct block b = {0};
    struct tf_buf end = {0}, breaks = {0};
    if (block_header(t, &b, indent, err) != 0)
        return -1;
    block_breaks(t, &b, SIZE_MAX, &breaks);
    if (b.indent == 0)
        b.indent = column_of(t) > indent ? column_of(t) : indent + 1;
    block_lines(t, &b, &end, &breaks);
    if (b.chomp != '-')
        tf_buf_add(&t->work, end.p, end.len);
    if (b.chomp == '+')
        tf_buf_add(&t->work, breaks.p, breaks.len);
    tf_buf_release(&end);
    tf_buf_release(&breaks);
    copy(t, v);
    if (t->p < t->end)
        t->p = t->begin;
    return 0;
}

/* ---- values ---- */

/* A tag, such as !!str: all is text. */
static void skip_tag(struct text *t)
{
    if (t->p == t->end || *t->p != '!')
        return;
    while (!is_space(t, t->p))
        t->p++;
    skip_blanks(t);
}

/* The scalar that begins here; none where a value or its list ends. indent: of the map. */
static int scalar(struct text *t, const char **v, size_t indent, enum scope scope,
                  struct tf_err *err)
{
    tf_buf_clear(&t->work);
    skip_tag(t);
    if (t->p < t->end && (*t->p == '"' || *t->p == '\''))
        return quoted(t, v, scope, err);
    if (scope == BLOCK && t->p < t->end && (*t->p == '|' || *t->p == '>'))
        return read_block(t, v, indent, err);
    if ((t->p < t->end && memchr("&*|>[]{}%@`", *t->p, 11) != NULL) || is_sign(t, '?') ||
        is_sign(t, '-'))
        return beyond(t, err);
    plain(t, v, indent, scope);
    return 0;
}

static void push_text(struct tf_yaml_entry *e, const char *v, struct tf_arena *a)
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
    const size_t line = t->line;
    const char *v;
    t->p++;
    while (skip_lines(t) && *t->p != ']') {
        if (scalar(t, &v, 0, FLOW, err) != 0)
            return -1;
        push_text(e, v, t->arena);
        if (!skip_lines(t) || (*t->p != ',' && *t->p != ']'))
            break;
        t->p += *t->p == ',';
    }
    if (t->p == t->end || *t->p != ']') {
        t->line = line;
        return refuse(t, "a list without its end", err);
    }
    t->p++;
    return 0;
}

static int value(struct text *t, struct tf_yaml_entry *e, size_t indent, enum scope scope,
                 struct tf_err *err)
{
    const char *v;
    skip_tag(t);
    if (t->p < t->end && *t->p == '[')
        return flow_list(t, e, err);
    if (scalar(t, &v, indent, scope, err) != 0)
        return -1;
    push_text(e, v, t->arena);
    return 0;
}

/* Nothing else is in the line of a value, unless it ended at the start of a line. */
static int end_line(struct text *t, struct tf_err *err)
{
    if (t->p == t->begin || at_end(t))
        return 0;
    return is_sign(t, ':') ? beyond(t, err) : refuse(t, "text after a value", err);
}

/* ---- maps ---- */

/* The colon after a key, with which the entry counts. */
static int colon(struct tf_yaml *y, struct text *t, struct tf_err *err)
{
    if (t->p == t->end || *t->p != ':')
        return refuse(t, "not 'key: value'", err);
    if (y->n == MAX_ENTRIES)
        return tf_fail(err, "more than %d entries", MAX_ENTRIES);
    t->p++;
    y->n++;
    return 0;
}

/* The items of a list, which may be indented no more than the map. */
static int items(struct text *t, struct tf_yaml_entry *e, struct tf_err *err)
{
    const size_t indent = column_of(t);
    while (skip_lines(t) && !at_any_marker(t) && column_of(t) == indent && is_sign(t, '-')) {
        t->p++;
        if (at_end(t)) {
            push_text(e, "", t->arena);
            continue;
        }
        if (value(t, e, indent, BLOCK, err) != 0 || end_line(t, err) != 0)
            return -1;
    }
    return 0;
}

/* The key of a block, on one line or after "? ", and its colon. */
static int block_key(struct tf_yaml *y, struct text *t, struct tf_yaml_entry *e, size_t indent,
                     struct tf_err *err)
{
    if (!is_sign(t, '?')) {
        if (scalar(t, &e->key, indent, KEY, err) != 0)
            return -1;
        skip_blanks(t);
        return colon(y, t, err);
    }
    t->p++;
    e->key = "";
    if (skip_lines(t) && column_of(t) > indent &&
        (scalar(t, &e->key, indent, BLOCK, err) != 0 || end_line(t, err) != 0))
        return -1;
    if (!skip_lines(t) || column_of(t) != indent || !is_sign(t, ':'))
        return refuse(t, "not 'key: value'", err);
    return colon(y, t, err);
}

static int block_entry(struct tf_yaml *y, struct text *t, size_t indent, struct tf_err *err)
{
    struct tf_yaml_entry *e = &y->v[y->n];
    if (column_of(t) != indent)
        return beyond(t, err);
    if (block_key(y, t, e, indent, err) != 0)
        return -1;
    if (!at_end(t))
        return value(t, e, indent, BLOCK, err) != 0 ? -1 : end_line(t, err);
    if (!skip_lines(t) || at_any_marker(t) || column_of(t) < indent)
        return 0;
    if (is_sign(t, '-'))
        return items(t, e, err);
    if (column_of(t) == indent)
        return 0;
    return value(t, e, indent, BLOCK, err) != 0 ? -1 : end_line(t, err);
}

static int block_map(struct tf_yaml *y, struct text *t, struct tf_err *err)
{
    const size_t indent = column_of(t);
    while (skip_lines(t) && !at_any_marker(t))
        if (block_entry(y, t, indent, err) != 0)
            return -1;
    return 0;
}

static int flow_entry(struct tf_yaml *y, struct text *t, struct tf_err *err)
{
    struct tf_yaml_entry *e = &y->v[y->n];
    if (is_sign(t, '?')) {
        t->p++;
        (void)skip_lines(t);
    }
    if (scalar(t, &e->key, 0, FLOW, err) != 0)
        return -1;
    (void)skip_lines(t);
    if (colon(y, t, err) != 0)
        return -1;
    return !skip_lines(t) || *t->p == ',' || *t->p == '}' ? 0 : value(t, e, 0, FLOW, err);
}

/* {a: 1, b: 2} */
static int flow_map(struct tf_yaml *y, struct text *t, struct tf_err *err)
{
    t->p++;
    while (skip_lines(t) && *t->p != '}') {
        if (flow_entry(y, t, err) != 0)
            return -1;
        if (!skip_lines(t) || (*t->p != ',' && *t->p != '}'))
            break;
        t->p += *t->p == ',';
    }
    if (t->p == t->end || *t->p != '}')
        return refuse(t, "a map without its end", err);
    t->p++;
    return at_end(t) ? 0 : refuse(t, "text after a value", err);
}

/* ---- documents ---- */

/* To the map: without a byte-order mark, directives, comments, ---, and a tag. */
static bool skip_head(struct text *t)
{
    t->p += tf_utf8_mark(t->p, (size_t)(t->end - t->p));
    t->begin = t->p;
    while (skip_lines(t) && t->p == t->begin && *t->p == '%')
        while (!is_break(t, t->p))
            t->p++;
    if (t->p < t->end && at_marker(t, "---")) {
        t->p += 3;
        (void)skip_lines(t);
    }
    if (t->end - t->p >= 5 && memcmp(t->p, "!!map", 5) == 0)
        skip_tag(t);
    return skip_lines(t);
}

static int document(struct tf_yaml *y, struct text *t, struct tf_err *err)
{
    if (!skip_head(t))
        return 0;
    if (*t->p == '{' ? flow_map(y, t, err) != 0 : block_map(y, t, err) != 0)
        return -1;
    while (skip_lines(t) && at_marker(t, "..."))
        t->p += 3;
    return t->p == t->end ? 0 : refuse(t, "more than one map", err);
}

static int check_unique(const struct tf_yaml *y, struct tf_err *err)
{
    const char **keys = tf_xarray(NULL, y->n + 1, sizeof *keys);
    for (size_t i = 0; i < y->n; i++)
        keys[i] = y->v[i].key;
    const char *twice = tf_order_twice(keys, y->n, sizeof *keys);
    free(keys);
    return twice == NULL ? 0 : tf_fail(err, "'%s' is there twice", twice);
}

static struct text text_of(struct tf_arena *a, const char *text, size_t n)
{
    const char *nul = n > 0 ? memchr(text, 0, n) : NULL;
    return (struct text){
        .p = text, .end = nul != NULL ? nul : text + n, .begin = text, .line = 1, .arena = a};
}

int tf_yaml_read(struct tf_yaml *y, struct tf_arena *a, const char *text, size_t n,
                 struct tf_err *err)
{
    struct text t = text_of(a, text, n);
    size_t colons = 0; /* each entry has one */
    for (const char *p = t.p; p < t.end && colons < MAX_ENTRIES; p++)
        colons += *p == ':';
    *y = (struct tf_yaml){.v = tf_arena_zalloc(a, (colons + 1) * sizeof *y->v)};
    const int rc = document(y, &t, err);
    tf_buf_release(&t.work);
    return rc != 0 ? -1 : check_unique(y, err);
}

const struct tf_yaml_entry *tf_yaml_find(const struct tf_yaml *y, const char *key)
{
    for (size_t i = 0; i < y->n; i++)
        if (strcmp(y->v[i].key, key) == 0)
            return &y->v[i];
    return NULL;
}

static bool is_number(const char *s)
{
    const size_t n = strspn(s, "0123456789");
    return n > 0 && s[n] == 0;
}

bool tf_yaml_is_list(const char *text, size_t n)
{
    struct tf_arena a = {0};
    struct tf_yaml_entry first[2] = {{0}};
    struct tf_yaml y = {.v = first};
    struct text t = text_of(&a, text, n);
    struct tf_err none = {0};
    int rc = skip_head(&t) ? 0 : -1;
    if (rc == 0 && *t.p == '{') {
        t.p++;
        rc = skip_lines(&t) ? flow_entry(&y, &t, &none) : -1;
    } else if (rc == 0) {
        rc = block_entry(&y, &t, column_of(&t), &none);
    }
    const bool yes = rc == 0 && y.n == 1 && first->n == 1 && is_number(first->v[0]);
    tf_buf_release(&t.work);
    tf_arena_release(&a);
    return yes;
}
