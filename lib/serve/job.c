/* job.c - see job_private.h. */
#include "serve/job_private.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "text/layout.h"
#include "text/links.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ALTERNATIVES = 1000 };
/* Of a glossary: terms, and bytes of one. */
enum { MOST_TERMS = 1000, LONGEST_TERM = 200 };

struct tf_job *tf_job_new(void)
{
    return tf_xcalloc(1, sizeof(struct tf_job));
}

void tf_job_free(struct tf_job *job)
{
    if (job == NULL)
        return;
    tf_arena_release(&job->mem);
    for (size_t i = 0; i < job->n_texts; i++)
        tf_html_free(job->texts[i].html);
    for (size_t i = 0; i < job->n_lines; i++)
        tf_hidden_free(job->lines[i].hidden);
    tf_glossary_free(job->glossary);
    free(job->texts);
    free(job->lines);
    free(job);
}

/* Add a text, which is copied. */
static void add_text(struct tf_job *job, const char *text, size_t n)
{
    TF_GROW(job->texts, job->n_texts, job->cap_texts);
    job->texts[job->n_texts++] =
        (struct tf_job_text){.p = tf_arena_strndup(&job->mem, text, n), .n = n};
}

static void add_line(struct tf_job *job, const char *from, const char *end, bool joined)
{
    TF_GROW(job->lines, job->n_lines, job->cap_lines);
    job->lines[job->n_lines++] =
        (struct tf_job_line){.source = from, .n = (size_t)(end - from), .joined = joined};
}

static int split_line(struct tf_job *job, struct tf_sentences *sentences, const char *from,
                      const char *end, struct tf_err *err)
{
    const struct tf_sentence_span *spans;
    size_t n;
    while (from < end && tf_ascii_space(*from))
        from++;
    while (from < end && tf_ascii_space(end[-1]))
        end--;
    if (from == end)
        return 0;
    if (sentences == NULL) {
        add_line(job, from, end, false);
        return 0;
    }
    if (tf_sentences_split(sentences, from, (size_t)(end - from), &spans, &n, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        add_line(job, from + spans[i].begin, from + spans[i].end, spans[i].joined);
    return 0;
}

static int split_html(struct tf_job *job, struct tf_job_text *t, struct tf_sentences *sentences,
                      struct tf_err *err)
{
    const struct tf_hide hide = {job->addresses, job->glossary};
    if (tf_html_new(&t->html, t->p, t->n, sentences, hide, err) != 0)
        return -1;
    for (size_t i = 0; i < tf_html_count(t->html); i++) {
        const struct tf_text s = tf_html_sentence(t->html, i);
        add_line(job, s.p, s.p + s.n, false);
    }
    t->end = job->n_lines;
    return 0;
}

/* What the model is to see; HTML has hidden names already. */
static void hide_lines(struct tf_job *job)
{
    const struct tf_hide hide = {job->addresses && !job->html, job->html ? NULL : job->glossary};
    struct tf_buf sent = {0};
    for (size_t i = 0; i < job->n_lines; i++) {
        struct tf_job_line *l = &job->lines[i];
        l->seen = (struct tf_text){l->source, l->n};
        tf_buf_clear(&sent);
        l->hidden = tf_hidden_new(l->seen, hide, job->copy_unknown, job->html, &sent);
        if (l->hidden != NULL)
            l->seen = (struct tf_text){
                tf_arena_strndup(&job->mem, sent.len > 0 ? sent.p : "", sent.len), sent.len};
    }
    tf_buf_release(&sent);
}

int tf_job_split(struct tf_job *job, struct tf_sentences *sentences, struct tf_err *err)
{
    for (size_t i = 0; i < job->n_texts; i++) {
        struct tf_job_text *t = &job->texts[i];
        const char *end = t->p + t->n, *feed;
        if (job->html) {
            if (split_html(job, t, sentences, err) != 0)
                return -1;
            continue;
        }
        for (const char *p = t->p; p < end; p = feed + 1) {
            feed = memchr(p, '\n', (size_t)(end - p));
            feed = feed != NULL ? feed : end;
            if (split_line(job, sentences, p, feed, err) != 0)
                return -1;
        }
        t->end = job->n_lines;
    }
    hide_lines(job);
    return 0;
}

/* ---- requests ---- */

static int invalid(struct tf_err *err, const char *name, const char *expected)
{
    return tf_fail(err, "Invalid request: %s is not %s", name, expected);
}

static int read_flag(bool *to, const char *name, const char *word, struct tf_err *err)
{
    *to = strcmp(word, "true") == 0;
    return *to || strcmp(word, "false") == 0 ? 0 : invalid(err, name, "true or false");
}

int tf_job_read_field(struct tf_job *job, const char *name, const char *value, size_t n,
                      struct tf_err *err)
{
    const bool is_format = strcmp(name, "format") == 0;
    if (tf_utf8_span(value, n) < n)
        return tf_fail(err, "Invalid request: %s is not UTF-8", name);
    if (strcmp(name, "q") == 0) {
        job->list = job->n_texts > 0; /* of a form: a field for each text */
        add_text(job, value, n);
        return 0;
    }
    if (memchr(value, 0, n) != NULL)
        return tf_fail(err, "Invalid request: %s has a NUL", name);
    const char *text = tf_arena_strndup(&job->mem, value, n);
    if (strcmp(name, "source") == 0)
        job->source = text;
    else if (strcmp(name, "target") == 0)
        job->target = text;
    else if (is_format && *text != 0 && strcmp(text, "text") != 0 && strcmp(text, "html") != 0)
        return invalid(err, name, "text or html");
    else if (is_format)
        job->html = strcmp(text, "html") == 0;
    else if (strcmp(name, "alignment") == 0)
        return read_flag(&job->alignment, name, text, err);
    else if (strcmp(name, "alternatives") == 0 &&
             tf_parse_int(&job->alternatives, text, 0, MOST_ALTERNATIVES, err) != 0)
        return tf_context(err, "Invalid request: alternatives");
    return 0;
}

/* The texts of an array that has begun. */
static int read_list(struct tf_job *job, struct tf_json_reader *r, struct tf_err *err)
{
    enum tf_json_kind kind;
    int rc;
    job->list = true;
    while ((rc = tf_json_more(r, &kind, err)) > 0) {
        if (kind != TF_JSON_STRING)
            return invalid(err, "q", "a text or a list of texts");
        add_text(job, r->text.p, r->text.len);
    }
    return rc;
}

/* The terms of an object: each key is one, its value the translation. */
static int read_glossary(struct tf_job *job, struct tf_json_reader *r, struct tf_err *err)
{
    static const char name[] = "glossary";
    enum tf_json_kind kind;
    struct tf_buf term = {0};
    int rc = tf_json_next(r, &kind, err);
    if (rc == 0 && kind == TF_JSON_NULL)
        return 0;
    if (rc == 0 && (kind != TF_JSON_OBJECT || job->glossary != NULL))
        rc = invalid(err, name, "one object of texts");
    while (rc == 0 && (rc = tf_json_next(r, &kind, err)) == 0 && kind == TF_JSON_KEY) {
        tf_buf_clear(&term);
        tf_buf_add(&term, r->text.p, r->text.len);
        if ((rc = tf_json_next(r, &kind, err)) != 0)
            break;
        if (kind != TF_JSON_STRING || memchr(r->text.p, 0, r->text.len) != NULL)
            rc = invalid(err, name, "an object of texts");
        else if (term.len > LONGEST_TERM || r->text.len > LONGEST_TERM ||
                 (job->glossary != NULL && tf_glossary_terms(job->glossary) == MOST_TERMS))
            rc = tf_fail(err, "glossary: at most %d terms of %d bytes", MOST_TERMS, LONGEST_TERM);
        else if (tf_glossary_add(&job->glossary, (struct tf_text){term.p, term.len},
                                 (struct tf_text){r->text.p, r->text.len}, err) != 0)
            rc = tf_fail(err, "Invalid request: glossary: a term or a translation has no text, or "
                              "a term is there twice");
    }
    tf_buf_release(&term);
    return rc;
}

/* The value of the key in r->text. */
static int read_member(struct tf_job *job, struct tf_json_reader *r, struct tf_err *err)
{
    static const char *const known[] = {"q",      "source",       "target",
                                        "format", "alternatives", "alignment"};
    const char *name = NULL;
    enum tf_json_kind kind;
    if (strcmp(r->text.p, "glossary") == 0)
        return read_glossary(job, r, err);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        name = strcmp(r->text.p, known[i]) == 0 ? known[i] : name;
    if (name == NULL)
        return tf_json_skip(r, err);
    const bool is_text = name == known[0], is_number = name == known[4];
    const bool is_flag = name == known[5];
    if (tf_json_next(r, &kind, err) != 0)
        return -1;
    if (is_text) {
        job->n_texts = 0;
        job->list = false;
    }
    if (is_text && kind == TF_JSON_ARRAY)
        return read_list(job, r, err);
    if (kind == TF_JSON_NULL)
        return 0;
    if (is_flag && kind == TF_JSON_BOOL) {
        job->alignment = r->boolean;
        return 0;
    }
    if (kind != TF_JSON_STRING && !(is_number && kind == TF_JSON_NUMBER))
        return invalid(err, name,
                       is_number ? "a number"
                       : is_flag ? "true or false"
                       : is_text ? "a text or a list of texts"
                                 : "a text");
    return tf_job_read_field(job, name, r->text.p, r->text.len, err);
}

int tf_job_read_json(struct tf_job *job, const char *body, size_t n, struct tf_err *err)
{
    struct tf_json_reader r;
    enum tf_json_kind kind;
    tf_json_read(&r, body, n);
    r.nul = true;
    int rc = tf_json_next(&r, &kind, err);
    if (rc == 0 && kind != TF_JSON_OBJECT)
        rc = tf_fail(err, "Invalid request: not a JSON object");
    while (rc == 0 && (rc = tf_json_next(&r, &kind, err)) == 0 && kind == TF_JSON_KEY)
        rc = read_member(job, &r, err);
    if (rc == 0)
        rc = tf_json_next(&r, &kind, err);
    tf_json_read_release(&r);
    return rc;
}

static bool is_empty(const char *field)
{
    return field == NULL || *field == 0;
}

int tf_job_check(const struct tf_job *job, struct tf_err *err)
{
    const char *missing = job->n_texts == 0 && !job->list ? "q"
                          : is_empty(job->source)         ? "source"
                          : is_empty(job->target)         ? "target"
                                                          : NULL;
    return missing != NULL ? tf_fail(err, "Invalid request: missing %s parameter", missing) : 0;
}

/* ---- what tf-translate prints ---- */

static struct tf_text keep_text(struct tf_job *job, const struct tf_buf *b)
{
    return (struct tf_text){tf_arena_strndup(&job->mem, b->len > 0 ? b->p : "", b->len), b->len};
}

static int read_text(struct tf_job *job, struct tf_json_reader *r, struct tf_text *to,
                     struct tf_err *err)
{
    if (tf_json_expect(r, TF_JSON_STRING, "not a text", err) != 0)
        return -1;
    *to = keep_text(job, &r->text);
    return 0;
}

static struct tf_text view(struct tf_text s)
{
    return s.p != NULL ? s : (struct tf_text){"", 0};
}

/* Put into a translation what was hidden of its line. */
static void show_hidden(struct tf_job *job, const struct tf_job_line *l, struct tf_job_out *out)
{
    struct tf_buf text = {0}, links = {0};
    if (l->hidden == NULL || out->text.p == NULL)
        return;
    (void)tf_hidden_show(l->hidden, out->text, view(out->links), &text, &links);
    out->text = keep_text(job, &text);
    out->links = links.len > 0 ? keep_text(job, &links) : (struct tf_text){0};
    tf_buf_release(&text);
    tf_buf_release(&links);
}

static int read_alternatives(struct tf_job *job, struct tf_job_line *l, struct tf_json_reader *r,
                             struct tf_err *err);

/* The members of an object that has begun: of a line, or of one of its alternatives. */
static int read_object(struct tf_job *job, struct tf_job_line *l, uint64_t *number,
                       struct tf_json_reader *r, struct tf_err *err)
{
    enum tf_json_kind kind;
    struct tf_text status = {0}, reason = {0};
    int rc = 0;
    while (rc == 0 && (rc = tf_json_next(r, &kind, err)) == 0 && kind == TF_JSON_KEY) {
        if (strcmp(r->text.p, "text") == 0)
            rc = read_text(job, r, &l->out.text, err);
        else if (strcmp(r->text.p, "alignment") == 0)
            rc = read_text(job, r, &l->out.links, err);
        else if (strcmp(r->text.p, "status") == 0)
            rc = read_text(job, r, &status, err);
        else if (strcmp(r->text.p, "reason") == 0)
            rc = read_text(job, r, &reason, err);
        else if (strcmp(r->text.p, "alternatives") == 0)
            rc = read_alternatives(job, l, r, err);
        else if (strcmp(r->text.p, "line") != 0)
            rc = tf_json_skip(r, err);
        else if ((rc = tf_json_next(r, &kind, err)) == 0)
            *number = kind == TF_JSON_NUMBER && r->is_int ? r->uint : 0;
    }
    l->status = status.p != NULL && !tf_text_is(status, "ok") ? status.p : NULL;
    l->reason = reason.p;
    if (rc == 0 && (l->status == NULL ? l->out.text.p == NULL : l->reason == NULL))
        rc = tf_fail(err, "neither a text nor a reason");
    return rc;
}

/* Those that are good, up to as many as were requested. */
static int read_alternatives(struct tf_job *job, struct tf_job_line *l, struct tf_json_reader *r,
                             struct tf_err *err)
{
    const size_t most = (size_t)job->alternatives;
    struct tf_job_out *list = tf_arena_alloc(&job->mem, (most + 1) * sizeof *list);
    enum tf_json_kind kind;
    uint64_t number;
    if (tf_json_next(r, &kind, err) != 0)
        return -1;
    if (kind != TF_JSON_ARRAY)
        return tf_fail(err, "alternatives are no list");
    l->alternatives = list;
    l->n_alternatives = 0; /* of an answer that could not be read */
    for (;;) {
        struct tf_job_line a = {0};
        if (tf_json_next(r, &kind, err) != 0)
            return -1;
        if (kind != TF_JSON_OBJECT)
            return 0;
        if (read_object(job, &a, &number, r, err) != 0)
            return -1;
        show_hidden(job, l, &a.out);
        if (a.out.text.p != NULL && l->n_alternatives < most)
            list[l->n_alternatives++] = a.out;
    }
}

/* Leave out alternatives that read as the translation or another: what differed gave way to what
 * was hidden, or they are other pieces of one text. */
static void drop_equal(struct tf_job_line *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_alternatives; i++) {
        bool same = tf_text_same(l->alternatives[i].text, l->out.text);
        for (size_t k = 0; k < n && !same; k++)
            same = tf_text_same(l->alternatives[i].text, l->alternatives[k].text);
        if (!same)
            l->alternatives[n++] = l->alternatives[i];
    }
    l->n_alternatives = n;
}

int tf_job_read_line(struct tf_job *job, size_t line, uint64_t number, const char *json, size_t n,
                     struct tf_err *err)
{
    struct tf_job_line *l = &job->lines[line];
    struct tf_json_reader r;
    enum tf_json_kind kind;
    uint64_t its = 0;
    tf_json_read(&r, json, n);
    r.nul = true;
    int rc = tf_json_next(&r, &kind, err);
    if (rc == 0 && kind != TF_JSON_OBJECT)
        rc = tf_fail(err, "no object");
    if (rc == 0)
        rc = read_object(job, l, &its, &r, err);
    if (rc == 0 && its != number)
        rc = tf_fail(err, "number %llu in place of %llu", (unsigned long long)its,
                     (unsigned long long)number);
    tf_json_read_release(&r);
    if (rc == 0) {
        show_hidden(job, l, &l->out);
        drop_equal(l);
    }
    return rc;
}

/* ---- answers ---- */

const struct tf_job_line *tf_job_failure(const struct tf_job *job)
{
    const struct tf_job_line *first = NULL;
    bool good = false;
    for (size_t i = 0; i < job->n_lines; i++) {
        const bool failed = job->lines[i].status != NULL;
        first = failed && first == NULL ? &job->lines[i] : first;
        good = good || !failed;
    }
    return job->list && good ? NULL : first;
}

/* The translation of line l, or its alternative number k from 1 where it has so many; p NULL: it
 * failed. */
static struct tf_job_out choice(const struct tf_job_line *l, size_t k)
{
    return l->status != NULL                 ? (struct tf_job_out){0}
           : k > 0 && k <= l->n_alternatives ? l->alternatives[k - 1]
                                             : l->out;
}

/* A text of HTML with the sentences from line n on replaced. */
static void put_html(const struct tf_job *job, const struct tf_job_text *t, size_t n, size_t k,
                     struct tf_buf *out)
{
    for (size_t i = 0; n + i < t->end; i++) {
        const struct tf_job_out c = choice(&job->lines[n + i], k);
        tf_html_set(t->html, i, c.text, view(c.links));
    }
    tf_html_write(t->html, out);
}

/* A text with its sentences replaced. */
static void write_text(const struct tf_job *job, size_t i, size_t k, struct tf_json *j,
                       struct tf_buf *scratch)
{
    const struct tf_job_text *t = &job->texts[i];
    const char *p = t->p;
    size_t n = i > 0 ? t[-1].end : 0;
    uint32_t last = 0;
    tf_buf_clear(scratch);
    if (t->html != NULL) {
        put_html(job, t, n, k, scratch);
        p = t->p + t->n;
        n = t->end;
    }
    for (; n < t->end; n++) {
        const struct tf_job_line *l = &job->lines[n];
        const struct tf_place place = {.before = {p, (size_t)(l->source - p)}, .joined = l->joined};
        tf_layout_join(scratch, &place, view(choice(l, k).text), &last);
        p = l->source + l->n;
    }
    tf_buf_add(scratch, p, (size_t)(t->p + t->n - p));
    tf_json_strn(j, scratch->len > 0 ? scratch->p : "", scratch->len);
}

static void write_alternatives(const struct tf_job *job, size_t i, struct tf_json *j,
                               struct tf_buf *scratch)
{
    size_t most = 0;
    for (size_t n = i > 0 ? job->texts[i - 1].end : 0; n < job->texts[i].end; n++)
        most = job->lines[n].n_alternatives > most ? job->lines[n].n_alternatives : most;
    tf_json_open(j, '[');
    for (size_t k = 1; k <= most; k++)
        write_text(job, i, k, j, scratch);
    tf_json_close(j, ']');
}

/* Each sentence of text i with its translation, and links of their words. */
static void write_alignment(const struct tf_job *job, size_t i, struct tf_json *j)
{
    tf_json_open(j, '[');
    for (size_t n = i > 0 ? job->texts[i - 1].end : 0; n < job->texts[i].end; n++) {
        const struct tf_job_line *l = &job->lines[n];
        if (l->status != NULL || l->out.links.p == NULL)
            continue;
        tf_json_open(j, '{');
        tf_json_put_strn(j, "source", l->source, l->n);
        tf_json_put_strn(j, "target", l->out.text.p, l->out.text.n);
        tf_json_put_open(j, "links", '[');
        const char *p = l->out.links.p, *end = p + l->out.links.n;
        while (p < end) {
            tf_json_open(j, '[');
            tf_json_uint(j, tf_links_number(&p, end, SIZE_MAX / 16));
            tf_json_uint(j, tf_links_number(&p, end, SIZE_MAX / 16));
            tf_json_close(j, ']');
            p += p < end; /* the space */
        }
        tf_json_close(j, ']');
        tf_json_close(j, '}');
    }
    tf_json_close(j, ']');
}

/* The line feeds between two places of a text. */
static size_t feeds(const char *p, const char *end)
{
    size_t n = 0;
    for (; p < end; p++)
        n += *p == '\n';
    return n;
}

static void write_errors(const struct tf_job *job, struct tf_json *j)
{
    tf_json_put_open(j, "errors", '[');
    for (size_t i = 0, n = 0; i < job->n_texts; i++) {
        const char *from = n < job->n_lines && job->html ? job->lines[n].source : job->texts[i].p;
        size_t place = 1;
        for (; n < job->texts[i].end; n++) {
            const struct tf_job_line *l = &job->lines[n];
            place += feeds(from, l->source);
            from = l->source;
            if (l->status == NULL)
                continue;
            tf_json_open(j, '{');
            tf_json_put_uint(j, "index", i);
            tf_json_put_uint(j, "line", place);
            tf_json_put_str(j, "status", l->status);
            tf_json_put_str(j, "reason", l->reason);
            tf_json_close(j, '}');
        }
    }
    tf_json_close(j, ']');
}

/* Nothing is detected: it is the only language that it can be. */
static void write_language(const struct tf_job *job, struct tf_json *j)
{
    tf_json_open(j, '{');
    tf_json_put_int(j, "confidence", 0);
    tf_json_put_str(j, "language", job->source);
    tf_json_close(j, '}');
}

enum member { TRANSLATED, ALTERNATIVES, ALIGNMENT, LANGUAGE, MEMBERS };

/* A member with a value for each text: the value, or of a list of texts a list of them. */
static void write_member(const struct tf_job *job, enum member m, struct tf_json *j,
                         struct tf_buf *scratch)
{
    static const char *const names[] = {"translatedText", "alternatives", "alignment",
                                        "detectedLanguage"};
    tf_json_key(j, names[m]);
    if (job->list)
        tf_json_open(j, '[');
    for (size_t i = 0; i < job->n_texts; i++)
        if (m == ALTERNATIVES)
            write_alternatives(job, i, j, scratch);
        else if (m == ALIGNMENT)
            write_alignment(job, i, j);
        else if (m == LANGUAGE)
            write_language(job, j);
        else
            write_text(job, i, 0, j, scratch);
    if (job->list)
        tf_json_close(j, ']');
}

void tf_job_write(const struct tf_job *job, struct tf_buf *out)
{
    struct tf_json j = {.out = out};
    struct tf_buf scratch = {0};
    bool failed = false, linked = false;
    for (size_t i = 0; i < job->n_lines; i++) {
        failed = failed || job->lines[i].status != NULL;
        linked = linked || job->lines[i].out.links.p != NULL;
    }
    const bool has[MEMBERS] = {true, job->alternatives > 0,
                               job->alignment && linked && !job->html, job->detect};
    tf_json_open(&j, '{');
    for (int m = 0; m < MEMBERS; m++)
        if (has[m])
            write_member(job, m, &j, &scratch);
    if (failed)
        write_errors(job, &j);
    tf_json_close(&j, '}');
    tf_buf_byte(out, '\n');
    tf_buf_release(&scratch);
}
