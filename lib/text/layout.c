/* layout.c - see layout.h. */
#include "text/layout.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/sentences.h"

#include <stdlib.h>

/* ---- write ---- */

void tf_layout_header(struct tf_buf *out)
{
    tf_buf_str(out, "{\"format\":\"tf-layout\",\"version\":1}\n");
}

void tf_layout_put(struct tf_buf *out, const struct tf_place *place)
{
    struct tf_json j = {.out = out};
    tf_json_open(&j, '{');
    tf_json_key(&j, place->end ? "end" : "before");
    if (place->joined)
        tf_json_null(&j);
    else
        tf_json_strn(&j, place->before.p, place->before.n);
    if (place->n_breaks > 0) {
        tf_json_put_uint(&j, "bytes", place->bytes);
        tf_json_put_open(&j, "breaks", '[');
        for (size_t i = 0; i < place->n_breaks; i++) {
            tf_json_open(&j, '[');
            tf_json_uint(&j, place->breaks[i].at);
            tf_json_strn(&j, place->breaks[i].text.p, place->breaks[i].text.n);
            tf_json_close(&j, ']');
        }
        tf_json_close(&j, ']');
    }
    if (place->after.n > 0)
        tf_json_put_strn(&j, "after", place->after.p, place->after.n);
    tf_json_close(&j, '}');
    tf_buf_byte(out, '\n');
}

/* ---- read ---- */

/* The next token, which must be of that kind. */
static int expect(struct tf_json_reader *j, enum tf_json_kind kind, struct tf_err *err)
{
    return tf_json_expect(j, kind, "not a line of a layout", err);
}

static int get_header(struct tf_json_reader *j, struct tf_err *err)
{
    if (expect(j, TF_JSON_OBJECT, err) != 0 || expect(j, TF_JSON_KEY, err) != 0 ||
        strcmp(j->text.p, "format") != 0 || expect(j, TF_JSON_STRING, err) != 0 ||
        strcmp(j->text.p, "tf-layout") != 0 || expect(j, TF_JSON_KEY, err) != 0 ||
        strcmp(j->text.p, "version") != 0 || expect(j, TF_JSON_NUMBER, err) != 0)
        return tf_fail(err, "not a layout of tf-split");
    if (!j->is_int || j->uint != 1)
        return tf_fail(err, "a layout of a later version");
    return expect(j, TF_JSON_OBJECT_END, err) != 0 || expect(j, TF_JSON_END, err) != 0 ? -1 : 0;
}

/* A line's texts are no longer than the line, for which there is room: they stay where they are. */
static struct tf_text keep(struct tf_layout_reader *r, const struct tf_json_reader *j)
{
    const size_t at = r->text.len;
    tf_buf_add(&r->text, j->text.p, j->text.len);
    return (struct tf_text){r->text.p + at, j->text.len};
}

static int get_break(struct tf_layout_reader *r, struct tf_json_reader *j, struct tf_err *err)
{
    struct tf_place *p = &r->place;
    TF_GROW(p->breaks, p->n_breaks, r->cap);
    if (expect(j, TF_JSON_NUMBER, err) != 0)
        return -1;
    if (!j->is_int || j->negative || j->uint >= p->bytes ||
        (p->n_breaks > 0 && j->uint <= p->breaks[p->n_breaks - 1].at))
        return tf_fail(err, "a line break that is not in its sentence, or not in order");
    p->breaks[p->n_breaks].at = (size_t)j->uint;
    if (expect(j, TF_JSON_STRING, err) != 0)
        return -1;
    p->breaks[p->n_breaks++].text = keep(r, j);
    return expect(j, TF_JSON_ARRAY_END, err);
}

static int get_breaks(struct tf_layout_reader *r, struct tf_json_reader *j, struct tf_err *err)
{
    enum tf_json_kind is;
    if (expect(j, TF_JSON_ARRAY, err) != 0)
        return -1;
    int rc;
    while ((rc = tf_json_more(j, &is, err)) > 0) {
        if (is != TF_JSON_ARRAY)
            return tf_fail(err, "not a line of a layout");
        if (get_break(r, j, err) != 0)
            return -1;
    }
    return rc;
}

static int get_before(struct tf_layout_reader *r, struct tf_json_reader *j, struct tf_err *err)
{
    enum tf_json_kind is;
    if (tf_json_next(j, &is, err) != 0)
        return -1;
    r->place.joined = is == TF_JSON_NULL;
    if (is != TF_JSON_STRING && is != TF_JSON_NULL)
        return tf_fail(err, "not a line of a layout");
    if (is == TF_JSON_STRING)
        r->place.before = keep(r, j);
    return 0;
}

static int get_place(struct tf_layout_reader *r, struct tf_json_reader *j, struct tf_err *err)
{
    enum tf_json_kind is;
    bool has = false;
    if (expect(j, TF_JSON_OBJECT, err) != 0)
        return -1;
    while (tf_json_next(j, &is, err) == 0 && is == TF_JSON_KEY) {
        const char *key = j->text.p;
        int rc;
        if (strcmp(key, "before") == 0 || strcmp(key, "end") == 0) {
            r->place.end = key[0] == 'e';
            has = true;
            rc = get_before(r, j, err);
        } else if (strcmp(key, "after") == 0) {
            rc = expect(j, TF_JSON_STRING, err);
            if (rc == 0)
                r->place.after = keep(r, j);
        } else if (strcmp(key, "bytes") == 0) {
            rc = expect(j, TF_JSON_NUMBER, err);
            if (rc == 0 && r->place.n_breaks > 0)
                rc = tf_fail(err, "not a line of a layout");
            r->place.bytes = rc == 0 && j->is_int && !j->negative ? (size_t)j->uint : 0;
        } else if (strcmp(key, "breaks") == 0) {
            rc = get_breaks(r, j, err);
        } else {
            rc = tf_json_skip(j, err);
        }
        if (rc != 0)
            return -1;
    }
    return err->msg[0] != 0 ? -1
           : !has           ? tf_fail(err, "not a line of a layout")
                            : expect(j, TF_JSON_END, err);
}

int tf_layout_get(struct tf_layout_reader *r, const char *line, size_t n, const char *name,
                  uint64_t number, struct tf_err *err)
{
    struct tf_json_reader j;
    struct tf_err own = {0};
    struct tf_line_break *breaks = r->place.breaks;
    r->place = (struct tf_place){.breaks = breaks};
    tf_buf_clear(&r->text);
    tf_buf_grow(&r->text, n);
    tf_json_read(&j, line, n);
    j.nul = true;
    const int rc = number == 1 ? get_header(&j, &own) : get_place(r, &j, &own);
    tf_json_read_release(&j);
    return rc == 0 ? 0
                   : tf_fail(err, "%s: line %llu: %s", name, (unsigned long long)number, own.msg);
}

void tf_layout_release(struct tf_layout_reader *r)
{
    free(r->place.breaks);
    tf_buf_release(&r->text);
    *r = (struct tf_layout_reader){0};
}

/* ---- join ---- */

/* The space of s[from..] nearest to `at`; s.n if there is none. For breaks in order this takes time
 * in proportion to the sentence, wherever its spaces are. */
static size_t nearest_space(struct tf_text s, size_t from, size_t at)
{
    if (at < from)
        at = from;
    for (size_t d = 0; d <= s.n; d++) {
        if (at >= d + from && at - d < s.n && s.p[at - d] == ' ')
            return at - d;
        if (at + d >= from && at + d < s.n && s.p[at + d] == ' ')
            return at + d;
    }
    return s.n;
}

static uint32_t last_char(struct tf_text s)
{
    int len;
    return tf_utf8_get(s.p + tf_utf8_before(s.p, s.n), &len);
}

static bool needs_space(uint32_t last, struct tf_text s)
{
    int len;
    return last != 0 && s.n > 0 && last < TF_WITHOUT_SPACES &&
           tf_utf8_get(s.p, &len) < TF_WITHOUT_SPACES;
}

void tf_layout_join(struct tf_buf *out, const struct tf_place *place, struct tf_text sentence,
                    uint32_t *last)
{
    size_t from = 0, left = 0;
    if (place->joined && needs_space(*last, sentence))
        tf_buf_byte(out, ' ');
    tf_buf_add(out, place->before.p, place->before.n);
    for (size_t i = 0; i < place->n_breaks; i++) {
        const struct tf_line_break *b = &place->breaks[i];
        const size_t want =
            (size_t)((double)b->at / (double)place->bytes * (double)sentence.n + 0.5);
        const size_t at = nearest_space(sentence, from, want);
        if (at == sentence.n)
            break;
        tf_buf_add(out, sentence.p + from, at - from);
        tf_buf_add(out, b->text.p, b->text.n);
        from = at + 1;
        left = i + 1;
    }
    tf_buf_add(out, sentence.p + from, sentence.n - from);
    for (; left < place->n_breaks; left++)
        tf_buf_add(out, place->breaks[left].text.p, place->breaks[left].text.n);
    tf_buf_add(out, place->after.p, place->after.n);
    if (sentence.n > 0)
        *last = last_char(sentence);
}
