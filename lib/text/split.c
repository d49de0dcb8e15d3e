/* split.c - see split.h. */
#include "text/split.h"
#include "base/utf8.h"
#include "text/text_file.h"

#include <sys/stat.h>

enum {
    PENDING = 32 << 10,       /* bytes of sentences that wait to be written */
    MAX_SENTENCE = 256 << 20, /* bytes of a line, of sentences or of a layout */
};

static int flush_both(struct tf_out *out, struct tf_out *layout, struct tf_buf *sentences,
                 struct tf_err *err)
{
    if (layout != NULL && tf_out_flush(layout, err) != 0) {
        if (err->status == TF_READER_LEFT)
            err->status = TF_FAILED; /* the sentences cannot be joined */
        return -1;
    }
    const int rc = tf_out_write(out, sentences->p, sentences->len, err);
    tf_buf_clear(sentences);
    return rc != 0 ? -1 : tf_out_flush(out, err);
}

static int put_place(struct tf_out *layout, const struct tf_place *place, struct tf_buf *text,
                     struct tf_err *err)
{
    if (layout == NULL)
        return 0;
    tf_buf_clear(text);
    tf_layout_put(text, place);
    return tf_out_write(layout, text->p, text->len, err);
}

static int split_all(struct tf_document *d, struct tf_out *out, struct tf_out *layout,
                     struct tf_buf *sentences, struct tf_buf *text, struct tf_err *err)
{
    struct tf_place place;
    struct tf_text sentence;
    int rc;
    do {
        if ((sentences->len > PENDING || !tf_document_ready(d)) &&
            flush_both(out, layout, sentences, err) != 0)
            return -1;
        rc = tf_document_next(d, &place, &sentence, err);
        if (rc < 0 || (rc != 2 && put_place(layout, &place, text, err) != 0))
            return -1;
        if (rc == 1) {
            tf_buf_add(sentences, sentence.p, sentence.n);
            tf_buf_byte(sentences, '\n');
        }
    } while (rc > 0);
    return flush_both(out, layout, sentences, err);
}

int tf_split(const struct tf_document_opts *o, struct tf_in *in, struct tf_out *out,
             struct tf_out *layout, struct tf_err *err)
{
    struct tf_document *d;
    struct tf_buf sentences = {0}, text = {0};
    if (tf_document_new(&d, o, in, err) != 0)
        return -1;
    tf_layout_header(&text);
    int rc = layout == NULL ? 0 : tf_out_write(layout, text.p, text.len, err);
    if (rc == 0)
        rc = split_all(d, out, layout, &sentences, &text, err);
    if (rc == 0)
        tf_document_bad_status(d, err);
    tf_buf_release(&sentences);
    tf_buf_release(&text);
    tf_document_free(d);
    return rc;
}

/* ---- join ---- */

struct join {
    struct tf_in *in, layout;
    bool open;
    struct tf_layout_reader reader;
    uint64_t lines; /* of the layout */
    uint64_t sentences;
    uint32_t last;
    struct tf_buf text;
};

static int next_place(struct join *j, struct tf_err *err)
{
    const char *line;
    size_t n;
    const int rc = tf_in_line(&j->layout, &line, &n, MAX_SENTENCE, err);
    if (rc < 0)
        return -1;
    if (rc != 1)
        return tf_fail(err, "%s: %s", j->layout.name,
                       rc == 0 ? "the layout ends early: it is of another text, or tf-split failed"
                               : "a line is too long");
    return tf_layout_get(&j->reader, line, n, j->layout.name, ++j->lines, err);
}

static int open_layout(struct join *j, const char *path, struct tf_err *err)
{
    if (j->open)
        return 0;
    if (tf_text_open(&j->layout, path, TF_TEXT_UTF8, err) != 0)
        return -1;
    j->open = true;
    tf_in_may_grow(&j->layout);
    return next_place(j, err); /* the header */
}

static int put_sentence(struct join *j, struct tf_text s, struct tf_out *out, struct tf_err *err)
{
    if (next_place(j, err) != 0)
        return -1;
    if (j->reader.place.end)
        return tf_fail(err, "%s: more sentences than the %llu of %s: a line must stay a line",
                       j->in->name, (unsigned long long)j->sentences, j->layout.name);
    j->sentences++;
    tf_buf_clear(&j->text);
    tf_layout_join(&j->text, &j->reader.place, s, &j->last);
    return tf_out_write(out, j->text.p, j->text.len, err);
}

static int put_end(struct join *j, struct tf_out *out, struct tf_err *err)
{
    if (next_place(j, err) != 0)
        return -1;
    if (!j->reader.place.end)
        return tf_fail(err, "%s: fewer sentences (%llu) than %s has: a line must stay a line",
                       j->in->name, (unsigned long long)j->sentences, j->layout.name);
    return tf_out_write(out, j->reader.place.before.p, j->reader.place.before.n, err);
}

static int join_all(struct join *j, const char *layout, struct tf_out *out, struct tf_err *err)
{
    struct tf_text s;
    int rc;
    while ((tf_in_line_ready(j->in, MAX_SENTENCE) || tf_out_flush(out, err) == 0) &&
           (rc = tf_in_line(j->in, &s.p, &s.n, MAX_SENTENCE, err)) == 1) {
        const size_t good = tf_utf8_span(s.p, s.n);
        if (open_layout(j, layout, err) != 0)
            return -1;
        if (good < s.n)
            return tf_fail(err, "%s: line %llu: invalid UTF-8 at byte %zu", j->in->name,
                           (unsigned long long)j->sentences + 1, good + 1);
        if (put_sentence(j, s, out, err) != 0)
            return -1;
    }
    if (err->msg[0] != 0)
        return -1;
    if (rc == 2)
        return tf_fail(err, "%s: line %llu is too long", j->in->name,
                       (unsigned long long)j->sentences + 1);
    return open_layout(j, layout, err) != 0 ? -1 : put_end(j, out, err);
}

int tf_split_join(struct tf_in *in, const char *layout, struct tf_out *out, struct tf_err *err)
{
    struct join j = {.in = in, .layout = {.fd = -1}};
    struct stat st;
    int rc = 0;
    if (stat(layout, &st) == 0 && !S_ISREG(st.st_mode))
        rc = open_layout(&j, layout, err);
    if (rc == 0)
        rc = join_all(&j, layout, out, err);
    tf_in_close(&j.layout);
    tf_layout_release(&j.reader);
    tf_buf_release(&j.text);
    return rc;
}
