/* document.c - see document.h. A block is a line, or with TF_DOCUMENT_WRAPPED the lines up to an
 * empty one; a paragraph, the part of a block that is split at once, a line or several. */
#include "text/document.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "stream/header.h"
#include "text/html.h"
#include "text/sentences.h"
#include "text/tags.h"
#include "text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer block ends after the line that makes it so long. A page of HTML is one. */
enum { BLOCK_BYTES = 1 << 20, PAGE_BYTES = 1 << 28 };

struct line {
    size_t begin, end, next; /* of the block's text; next: after what ends the line */
};

struct tf_document {
    struct tf_document_opts o;
    struct tf_in *in;
    struct tf_sentences *sentences;
    struct tf_bad_count count;
    uint64_t several;
    bool ended; /* no more lines */
    bool filling; /* the block is not complete */

    struct tf_buf block; /* its text as it is */
    struct line *lines;
    size_t n_lines, cap_lines, line; /* line: the next one that no paragraph has had */
    size_t widest;                   /* characters of the longest line */

    struct tf_text rest;          /* of the line after the tab after its field; p NULL: none */
    size_t tag;                   /* bytes of the tag that the paragraph begins with */
    struct tf_buf tagged;         /* a sentence after that */
    struct tf_buf text;           /* the paragraph, with a space for each line break */
    struct tf_line_break *breaks; /* of the paragraph; texts in the block */
    size_t n_breaks, cap_breaks;
    size_t used; /* breaks that lay_out and own_breaks have had: in order, so each but once */
    const struct tf_sentence_span *spans;
    size_t n_spans, span, at;    /* at: the end of the last sentence in the text */
    uint64_t first, begins;      /* the line where the paragraph begins, and the last sentence */
    struct tf_sentence_span all; /* the one sentence of a paragraph that is not split */
    struct tf_html *html;        /* the paragraph, until its last sentence was given */

    struct tf_buf before, after; /* of the next sentence, of the last */
    bool given;                  /* it has been: clear it */
    struct tf_line_break *own;   /* breaks of the last sentence */
    size_t cap_own;
};

int tf_document_check(const struct tf_document_opts *o, struct tf_err *err)
{
    char label[TF_LANG_MAX + 1];
    if (tf_lang_option(label, "lang", o->lang, err) != 0)
        return -1;
    return o->field > 0 && o->form == TF_DOCUMENT_WRAPPED
               ? tf_fail_status(err, TF_USAGE, "--field: a column has no paragraphs of many lines")
               : 0;
}

int tf_document_new(struct tf_document **d, const struct tf_document_opts *o, struct tf_in *in,
                    struct tf_err *err)
{
    *d = tf_xcalloc(1, sizeof **d);
    (*d)->o = *o;
    (*d)->in = in;
    (*d)->count =
        (struct tf_bad_count){.on_bad = o->bad, .items = "lines", .place = "line", .text = true};
    if (tf_sentences_new(&(*d)->sentences, o->lang, o->whole ? 0 : (size_t)o->most, err) == 0)
        return 0;
    tf_document_free(*d);
    *d = NULL;
    return -1;
}

void tf_document_free(struct tf_document *d)
{
    if (d == NULL)
        return;
    tf_sentences_free(d->sentences);
    tf_html_free(d->html);
    tf_buf_release(&d->block);
    tf_buf_release(&d->tagged);
    tf_buf_release(&d->text);
    tf_buf_release(&d->before);
    tf_buf_release(&d->after);
    free(d->lines);
    free(d->breaks);
    free(d->own);
    free(d);
}

uint64_t tf_document_lines(const struct tf_document *d)
{
    return d->count.total;
}

uint64_t tf_document_line(const struct tf_document *d)
{
    return d->begins;
}

uint64_t tf_document_several(const struct tf_document *d)
{
    return d->several;
}

int tf_document_bad_status(const struct tf_document *d, struct tf_err *err)
{
    const int rc = tf_bad_status(&d->count, d->in->name, err);
    tf_bad_hint(&d->count, err);
    return rc;
}

/* ---- lines ---- */

static bool blank(const struct tf_document *d, const struct line *l)
{
    return tf_uc_skip_space(d->block.p, l->begin, l->end) == l->end;
}

static int bad_line(struct tf_document *d, const char *why, struct tf_err *err)
{
    return tf_bad_add(&d->count, d->in->name, d->count.total, why, false, err);
}

/* Append a line to the block; a bad one as an empty one. status: of tf_in_line. */
static int add_line(struct tf_document *d, const char *s, size_t n, int status, struct tf_err *err)
{
    char why[100];
    const bool lf = d->in->pos > 0 && d->in->buf[d->in->pos - 1] == '\n';
    const size_t begin = d->block.len, good = status == 1 ? tf_utf8_span(s, n) : 0;
    why[0] = 0;
    d->count.total++;
    if (status == 2)
        snprintf(why, sizeof why, "line of %zu bytes, maximum %lld", n, (long long)d->o.max_line);
    else if (d->o.raw)
        tf_buf_add(&d->block, s, n);
    else if (good < n && !d->o.replace_invalid)
        snprintf(why, sizeof why, "invalid UTF-8 at byte %zu", good + 1);
    else
        tf_buf_valid_utf8(&d->block, s, n);
    if (why[0] != 0 && bad_line(d, why, err) != 0)
        return -1;
    const size_t end = d->block.len;
    if (lf)
        tf_buf_byte(&d->block, '\n');
    TF_GROW(d->lines, d->n_lines, d->cap_lines);
    d->lines[d->n_lines++] = (struct line){begin, end, d->block.len};
    return 0;
}

/* Read the next block: 1; 0 at the end; -1 on error; 2, unless `wait`: the input pauses within. */
static int read_block(struct tf_document *d, bool wait, struct tf_err *err)
{
    const char *s;
    size_t n;
    int rc = 0;
    if (!d->filling) {
        tf_buf_clear(&d->block);
        tf_buf_grow(&d->block, 1); /* not NULL */
        d->n_lines = d->line = d->widest = 0;
    }
    d->filling = false;
    while (!d->ended && (rc = tf_in_line(d->in, &s, &n, (size_t)d->o.max_line, err)) > 0) {
        if (add_line(d, s, n, rc, err) != 0)
            return -1;
        const struct line *last = &d->lines[d->n_lines - 1];
        const size_t wide = tf_utf8_count(d->block.p + last->begin, last->end - last->begin);
        d->widest = wide > d->widest ? wide : d->widest;
        if (d->o.html && d->block.len > PAGE_BYTES)
            return tf_fail(err, "%s: HTML of more than %d MB", d->in->name, PAGE_BYTES >> 20);
        const bool ends = !d->o.html && (blank(d, last) || d->block.len > BLOCK_BYTES);
        if (d->o.form != TF_DOCUMENT_WRAPPED || ends)
            return 1;
        d->filling = !wait && !tf_in_line_ready(d->in, (size_t)d->o.max_line);
        if (d->filling)
            return 2;
    }
    d->ended = true;
    return rc < 0 ? -1 : d->n_lines > 0;
}

/* ---- paragraphs ---- */

static size_t indentation(const struct tf_document *d, const struct line *l)
{
    return strspn(d->block.p + l->begin, " \t");
}

/* Does the line begin a list's item, a heading, a quotation or a row of a table? */
static bool is_marked(const struct tf_document *d, const struct line *l)
{
    const char *p = d->block.p + l->begin + indentation(d, l);
    const size_t digits = strspn(p, "0123456789");
    if (*p == '#' || *p == '>' || *p == '|')
        return true;
    if ((*p == '-' || *p == '*' || *p == '+') && (p[1] == ' ' || p[1] == '\t'))
        return true;
    if (strncmp(p, "\xE2\x80\xA2", 3) == 0) /* a bullet */
        return true;
    return digits > 0 && digits <= 3 && (p[digits] == '.' || p[digits] == ')') &&
           (p[digits + 1] == ' ' || p[digits + 1] == '\t');
}

/* Does the paragraph of line a continue in the next, b? */
static bool continues(const struct tf_document *d, const struct line *a, const struct line *b)
{
    const char *next = d->block.p + b->begin + indentation(d, b);
    if (blank(d, a) || blank(d, b) || is_marked(d, b) || d->block.p[a->begin] == '|' ||
        d->block.p[a->begin + indentation(d, a)] == '#')
        return false;
    if (indentation(d, b) > indentation(d, a) && !is_marked(d, a))
        return false;
    return tf_utf8_count(d->block.p + a->begin, a->end - a->begin) + 1 +
               tf_utf8_count(next, strcspn(next, " \t\r\n")) >
           d->widest;
}

static size_t trimmed(const char *s, size_t begin, size_t end)
{
    while (end > begin && strchr(" \t\r", s[end - 1]) != NULL)
        end--;
    return end;
}

/* Append line b to the text, after a space for the break and the white space around it. */
static void join_line(struct tf_document *d, const struct line *a, const struct line *b)
{
    const size_t from = trimmed(d->block.p, a->begin, a->end), to = b->begin + indentation(d, b);
    d->text.len -= a->end - from;
    TF_GROW(d->breaks, d->n_breaks, d->cap_breaks);
    d->breaks[d->n_breaks++] =
        (struct tf_line_break){d->text.len, {d->block.p + from, to - from}};
    tf_buf_byte(&d->text, ' ');
    tf_buf_add(&d->text, d->block.p + to, b->end - to);
}

/* The field of a line: what is before and after it is layout. */
static int take_field(struct tf_document *d, const struct line *l, struct tf_err *err)
{
    const char *begin = d->block.p + l->begin;
    struct tf_text field = {0};
    d->rest = (struct tf_text){begin, l->end - l->begin};
    const size_t want = (size_t)d->o.field, fields = tf_text_field(&d->rest, want, &field);
    if (fields < want) {
        char why[100];
        snprintf(why, sizeof why, "no field %zu, only %zu", want, fields);
        if (l->end > l->begin && bad_line(d, why, err) != 0)
            return -1;
        field = (struct tf_text){d->block.p + l->end, 0};
    }
    tf_buf_add(&d->before, begin, (size_t)(field.p - begin));
    tf_buf_add(&d->text, field.p, field.n);
    return 0;
}

/* The next line break before `to`, or NULL. */
static const struct tf_line_break *next_break(struct tf_document *d, size_t to)
{
    return d->used < d->n_breaks && d->breaks[d->used].at < to ? &d->breaks[d->used++] : NULL;
}

/* Append bytes [from, to) of the text, with its line breaks. */
static void lay_out(struct tf_document *d, struct tf_buf *out, size_t from, size_t to)
{
    for (const struct tf_line_break *b; (b = next_break(d, to)) != NULL; from = b->at + 1) {
        tf_buf_add(out, d->text.p + from, b->at - from);
        tf_buf_add(out, b->text.p, b->text.n);
    }
    tf_buf_add(out, d->text.p + from, to - from);
}

/* Append what comes after the last sentence of the paragraph, up to the end of its line. */
static void end_paragraph(struct tf_document *d, struct tf_buf *out)
{
    const struct line *l = &d->lines[d->line - 1];
    if (d->o.form == TF_DOCUMENT_LINES) {
        tf_buf_byte(out, '\n');
        return;
    }
    lay_out(d, out, d->at, d->text.len);
    if (d->o.field > 0 && d->rest.p != NULL)
        tf_buf_add(out, d->rest.p - 1, d->rest.n + 1); /* with the tab */
    tf_buf_add(out, d->block.p + l->end, l->next - l->end);
}

static int split(struct tf_document *d, struct tf_err *err)
{
    d->tag = d->o.tags ? tf_tag_length(d->text.p, d->text.len) : 0;
    if (!d->o.raw &&
        tf_sentences_split(d->sentences, d->text.p, d->text.len, &d->spans, &d->n_spans, err) != 0)
        return -1;
    if (d->n_spans > 1 && d->several == 0)
        d->several = d->first;
    const bool line = d->o.form == TF_DOCUMENT_LINES && (d->o.whole || d->o.raw || d->n_spans < 2);
    if (!line && (!d->o.whole || d->n_spans < 2))
        return 0;
    d->all = (struct tf_sentence_span){0, d->text.len, false};
    if (!line) {
        d->all.begin = d->spans[0].begin;
        d->all.end = d->spans[d->n_spans - 1].end;
    }
    d->spans = &d->all;
    d->n_spans = 1;
    return 0;
}

/* The fragment of HTML that the paragraph is. Without sentences it stays as it is. */
static int read_html(struct tf_document *d, struct tf_err *err)
{
    if (tf_html_new(&d->html, d->text.p, d->text.len, d->o.whole ? NULL : d->sentences,
                    d->o.hide, err) != 0)
        return -1;
    d->n_spans = tf_html_count(d->html);
    d->at = d->text.len;
    if (d->n_spans > 0)
        return 0;
    tf_html_write(d->html, &d->before);
    tf_html_free(d->html);
    d->html = NULL;
    return 0;
}

/* Read the next paragraph: 1; 0 at the end; -1 on error; 2: the input pauses. */
static int next_paragraph(struct tf_document *d, struct tf_err *err)
{
    tf_buf_clear(&d->text);
    d->n_breaks = d->used = d->n_spans = d->span = d->at = 0;
    if (d->filling || d->line == d->n_lines) {
        const int rc = read_block(d, false, err);
        if (rc != 1)
            return rc;
    }
    const struct line *l = &d->lines[d->line++];
    d->first = d->count.total - (d->n_lines - d->line);
    if (d->o.field > 0) {
        if (take_field(d, l, err) != 0)
            return -1;
    } else {
        const bool cr = d->o.crlf && d->o.form == TF_DOCUMENT_LINES && l->end > l->begin &&
                        d->block.p[l->end - 1] == '\r';
        tf_buf_add(&d->text, d->block.p + l->begin, l->end - cr - l->begin);
    }
    if (d->o.form == TF_DOCUMENT_WRAPPED && d->o.html) {
        tf_buf_clear(&d->text);
        tf_buf_add(&d->text, d->block.p, d->lines[d->n_lines - 1].end);
        l = &d->lines[d->n_lines - 1];
        d->line = d->n_lines;
    } else if (d->o.form == TF_DOCUMENT_WRAPPED)
        for (; d->line < d->n_lines && continues(d, l, l + 1); l++)
            join_line(d, l, &d->lines[d->line++]);
    tf_buf_grow(&d->text, 1); /* not NULL */
    if ((d->o.html ? read_html(d, err) : split(d, err)) != 0)
        return -1;
    if (d->n_spans == 0)
        end_paragraph(d, &d->before);
    return 1;
}

/* ---- sentences ---- */

/* The line breaks between begin and end. */
static void own_breaks(struct tf_document *d, struct tf_place *place, size_t begin, size_t end)
{
    if (d->n_breaks > d->cap_own) {
        d->cap_own = d->cap_breaks;
        d->own = tf_xarray(d->own, d->cap_own, sizeof *d->own);
    }
    place->breaks = d->own;
    place->bytes = end - begin;
    for (const struct tf_line_break *b; (b = next_break(d, end)) != NULL;)
        place->breaks[place->n_breaks++] = (struct tf_line_break){b->at - begin, b->text};
}

static void next_of_html(struct tf_document *d, struct tf_place *place, struct tf_text *sentence)
{
    place->html = d->html;
    place->sentence = d->span;
    place->before = (struct tf_text){d->before.p, d->before.len};
    *sentence = tf_html_sentence(d->html, d->span);
    d->begins = d->o.form == TF_DOCUMENT_WRAPPED ? 0 : d->first;
}

static void next_of_text(struct tf_document *d, struct tf_place *place, struct tf_text *sentence)
{
    const struct tf_sentence_span s = d->spans[d->span];
    if (d->o.form != TF_DOCUMENT_LINES || d->span > 0)
        lay_out(d, &d->before, d->at, s.begin);
    d->begins = d->first + d->used;
    own_breaks(d, place, s.begin, s.end);
    place->joined = s.joined && d->before.len == 0;
    place->before = (struct tf_text){d->before.p, d->before.len};
    *sentence = (struct tf_text){d->text.p + s.begin, s.end - s.begin};
    if (d->tag > 0 && d->span > 0) {
        tf_buf_clear(&d->tagged);
        tf_buf_add(&d->tagged, d->text.p, d->tag);
        tf_buf_byte(&d->tagged, ' ');
        tf_buf_add(&d->tagged, sentence->p, sentence->n);
        *sentence = (struct tf_text){d->tagged.p, d->tagged.len};
    }
    d->at = s.end;
}

int tf_document_next(struct tf_document *d, struct tf_place *place, struct tf_text *sentence,
                     struct tf_err *err)
{
    *place = (struct tf_place){0};
    if (d->given)
        tf_buf_clear(&d->before);
    d->given = false;
    while (d->span == d->n_spans) {
        const int rc = next_paragraph(d, err);
        if (rc < 0 || rc == 2)
            return rc;
        if (rc == 0) {
            place->before = (struct tf_text){d->before.p, d->before.len};
            place->end = d->given = true;
            return 0;
        }
        if (d->n_spans == 0 && !tf_document_ready(d))
            return 2;
    }
    (d->html != NULL ? next_of_html : next_of_text)(d, place, sentence);
    d->given = true;
    if (++d->span == d->n_spans) {
        d->html = NULL;
        tf_buf_clear(&d->after);
        end_paragraph(d, &d->after);
        place->after = (struct tf_text){d->after.p, d->after.len};
    }
    return 1;
}

bool tf_document_at_start(const struct tf_document *d)
{
    return d->span == d->n_spans && (d->filling || d->line == d->n_lines);
}

bool tf_document_ready(struct tf_document *d)
{
    return !tf_document_at_start(d) || d->ended || tf_in_line_ready(d->in, (size_t)d->o.max_line);
}

void tf_document_stop(struct tf_document *d)
{
    d->ended = true;
    if (d->filling) /* what --resume reads again */
        d->count.total -= d->n_lines;
    d->filling = false;
    d->line = d->n_lines = 0;
}

int64_t tf_document_skip(struct tf_document *d, uint64_t lines, struct tf_err *err)
{
    int64_t skipped = 0;
    const int on_bad = d->count.on_bad;
    int rc = 0;
    d->count.on_bad = TF_ON_BAD_OK; /* they were reported when they were written */
    while (rc == 0 && (uint64_t)skipped < lines && (rc = read_block(d, true, err)) > 0) {
        rc = 0;
        if ((uint64_t)skipped + d->n_lines > lines)
            break; /* this block is the first */
        skipped += (int64_t)d->n_lines;
        d->line = d->n_lines = 0;
    }
    d->count.on_bad = on_bad;
    return rc < 0 ? -1 : skipped;
}
