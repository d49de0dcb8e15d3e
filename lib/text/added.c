/* added.c - see added.h. */
#include "text/added.h"
#include "base/memory.h"
#include "base/order.h"
#include "text/piece_trie_private.h"
#include "text/sp_charsmap_private.h"
#include "text/sp_check.h"
#include "text/sp_settings_private.h"
#include "text/tags.h"
#include "text/text.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

struct tf_added {
    struct tf_piece_trie trie; /* ids: places in v */
    struct tf_proto_added *v;
    size_t n;
    struct tf_proto_added *first; /* tags of TF_ADDED_FIRST, by text */
    size_t n_first;
    struct tf_charsmap map;
    bool strips;   /* TF_WHITE_STRIPS */
    bool ends;     /* a space at the end of a text is a piece */
    int64_t space; /* its id, or that of the unknown piece */
    int64_t unk;
};

/* Are two of these sorted texts the same? */
static bool has_equal(const struct tf_trie_piece *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (tf_text_same(v[i].text, v[i - 1].text))
            return true;
    return false;
}

int tf_added_new(struct tf_added **out, const void *bytes, size_t n, int64_t size,
                 struct tf_err *err)
{
    const struct tf_span model = {bytes, n};
    const struct tf_sp_settings is = tf_sp_settings_of(bytes, n);
    struct tf_added a = {.ends = is.ends, .strips = (is.white & TF_WHITE_STRIPS) != 0};
    struct tf_proto_added t;
    *out = NULL;
    for (struct tf_span left = model; tf_proto_added(&left, &t); a.n++)
        if (t.id >= size)
            return tf_fail(err, "SentencePiece model with an added token whose id is not there");
    if (a.n == 0 && !a.ends && !a.strips)
        return 0;
    tf_charsmap_open(&a.map, is.charsmap);
    a.unk = tf_sp_id(bytes, n, "<unk>");
    a.space = tf_sp_id(bytes, n, TF_SPACE);
    a.space = a.space >= 0 ? a.space : a.unk;
    struct tf_trie_piece *pieces = tf_xarray(NULL, a.n + 1, sizeof *pieces);
    a.v = tf_xarray(NULL, a.n + 1, sizeof *a.v);
    a.first = tf_xarray(NULL, a.n + 1, sizeof *a.first);
    a.n = 0;
    for (struct tf_span left = model; tf_proto_added(&left, &t);) {
        if (t.flags & TF_ADDED_FIRST) {
            a.first[a.n_first++] = t;
            continue;
        }
        a.v[a.n] = t;
        pieces[a.n] = (struct tf_trie_piece){t.text, (uint32_t)a.n, 0};
        a.n++;
    }
    if (a.n_first > 1)
        qsort(a.first, a.n_first, sizeof *a.first, tf_text_compare);
    const bool built = tf_piece_trie_build(&a.trie, pieces, a.n), twice = has_equal(pieces, a.n);
    free(pieces);
    *out = tf_xcalloc(1, sizeof **out);
    **out = a;
    if (built && !twice)
        return 0;
    tf_added_free(*out);
    *out = NULL;
    return twice ? tf_fail(err, "SentencePiece model with an added token that is there twice")
                 : tf_fail(err, "the added tokens take too much memory");
}

void tf_added_free(struct tf_added *a)
{
    if (a == NULL)
        return;
    tf_piece_trie_release(&a->trie);
    free(a->v);
    free(a->first);
    free(a);
}

/* ---- cutting ---- */

struct cutter {
    const struct tf_added *added;
    const char *text;
    size_t n;
    size_t from, to; /* the part before, if from < to: of text, or of a token */
    int64_t id;      /* -1: text */
    bool open;       /* it continues with the next part, as text */
    size_t stripped; /* where white space ends that the token before it took */
    tf_added_fn *use;
    void *arg;
};

/* What a character of n bytes becomes. */
static struct tf_text normal(const struct tf_added *a, const char *s, size_t n)
{
    const char *text;
    return tf_charsmap_find(&a->map, s, n, &text) == n ? (struct tf_text){text, strlen(text)}
                                                       : (struct tf_text){s, n};
}

static bool is_space(const struct tf_added *a, const char *s, size_t n)
{
    const struct tf_text text = normal(a, s, n);
    return text.n == 1 && *text.p == ' ';
}

/* Does a text end in a tag of a language and a space, which is no piece there? */
static bool ends_in_tag(const char *s, size_t n)
{
    char word[32];
    while (n > 0 && s[n - 1] == ' ')
        n--;
    size_t from = n;
    while (from > 0 && s[from - 1] != ' ')
        from--;
    if (n - from >= sizeof word)
        return false;
    memcpy(word, s + from, n - from);
    word[n - from] = 0;
    return tf_is_tag(word);
}

/* The bytes of the tag of TF_ADDED_FIRST that a text begins with, or 0; *id: its id. */
static size_t first_tag(const struct tf_added *a, const char *s, size_t n, int64_t *id)
{
    const struct tf_text tag = {s, a->n_first > 0 && *s == '>' ? tf_tag_length(s, n) : 0};
    size_t i;
    TF_FIRST(i, 0, a->n_first, tf_text_compare(&a->first[i].text, &tag) >= 0);
    const bool known = i < a->n_first && tf_text_same(a->first[i].text, tag);
    *id = known ? a->first[i].id : a->unk;
    return *id < 0 ? 0 : tag.n;
}

static int use_text(const struct cutter *c, const char *p, size_t n, struct tf_err *err)
{
    int64_t id;
    const size_t tag = first_tag(c->added, p, n, &id);
    const int rc = tag > 0 ? c->use(c->arg, p, 0, id, err) : 0;
    return rc == 0 && tag < n ? c->use(c->arg, p + tag, n - tag, -1, err) : rc;
}

static bool ends_in_space(const struct tf_added *a, const char *s, size_t n)
{
    struct tf_text last = {0};
    for (size_t at; n > 0 && last.n == 0; n = at) {
        at = tf_utf8_before(s, n);
        last = normal(a, s + at, n - at);
    }
    return last.n > 0 && last.p[last.n - 1] == ' ';
}

/* The length of a text without the white space at its end. */
static size_t strip_end(const struct tf_added *a, const char *s, size_t n)
{
    for (size_t at; n > 0; n = at) {
        at = tf_utf8_before(s, n);
        struct tf_text last = normal(a, s + at, n - at);
        for (int len; last.n > 0 && tf_uc_white(tf_utf8_get(last.p, &len)); last.n -= (size_t)len)
            last.p += len;
        if (last.n > 0)
            break;
    }
    return n;
}

/* Hand on the part before, and begin another one. keeps: a space between them is a piece. */
static int put_part(struct cutter *c, size_t from, size_t to, int64_t id, bool keeps,
                    struct tf_err *err)
{
    if (c->open) {
        c->to = to;
        c->open = false;
        return 0;
    }
    const char *p = c->text + c->from;
    size_t n = c->to - c->from;
    if (c->id < 0 && c->added->strips && !keeps)
        n = strip_end(c->added, p, n);
    int rc = n == 0      ? 0
             : c->id < 0 ? use_text(c, p, n, err)
                         : c->use(c->arg, p, 0, c->id, err);
    if (rc == 0 && keeps && c->id < 0 && ends_in_space(c->added, p, n) && !ends_in_tag(p, n))
        rc = c->use(c->arg, p, 0, c->added->space, err);
    c->from = from;
    c->to = to;
    c->id = id;
    return rc;
}

static bool is_word(const char *s)
{
    int len;
    return tf_uc_word(tf_utf8_get(s, &len));
}

static bool touches_word(const struct cutter *c, size_t from, size_t to)
{
    return (from > 0 && is_word(c->text + tf_utf8_before(c->text, from))) ||
           (to < c->n && is_word(c->text + to));
}

static size_t strip_left(const struct cutter *c, unsigned flags)
{
    size_t to = c->to;
    if (c->id >= 0 || !(flags & TF_ADDED_LSTRIP))
        return to;
    for (size_t at, end = to, spaces = 0; to > c->from; to = at) {
        at = tf_utf8_before(c->text, to);
        if (tf_uc_space_at(c->text + at) == 0)
            break;
        end = spaces == 0 ? to : end;
        spaces = is_space(c->added, c->text + at, to - at) ? spaces + 1 : 0;
        if ((flags & TF_ADDED_SINGLE) && spaces == 2)
            return end;
    }
    return to;
}

static size_t strip_right(const struct cutter *c, size_t from, unsigned flags)
{
    size_t at = from, begin = from, spaces = 0;
    for (int len;
         (flags & TF_ADDED_RSTRIP) && at < c->n && (len = tf_uc_space_at(c->text + at)) > 0;
         at += (size_t)len) {
        begin = spaces == 0 ? at : begin;
        spaces = is_space(c->added, c->text + at, (size_t)len) ? spaces + 1 : 0;
        if ((flags & TF_ADDED_SINGLE) && spaces == 2)
            return begin;
    }
    return at;
}

/* A token from `from` to `to`; *at: where the text after it begins. */
static int put_token(struct cutter *c, size_t from, size_t to, const struct tf_proto_added *t,
                     size_t *at, struct tf_err *err)
{
    const bool alone = (t->flags & TF_ADDED_ALONE) != 0 && !c->open;
    *at = to;
    if (alone && c->from < c->to && c->stripped != from && c->text[c->to - 1] != ' ') {
        c->to = to; /* with what is before it */
        c->id = -1;
        return 0;
    }
    if (alone && to < c->n && c->text[to] != ' ') {
        const int rc = put_part(c, from, to, -1, false, err);
        c->open = true;
        return rc;
    }
    if (!c->open) {
        *at = strip_right(c, to, t->flags);
        c->to = strip_left(c, t->flags);
    }
    c->stripped = *at > to ? *at : 0;
    return put_part(c, from, to, t->id, (t->flags & TF_ADDED_KEEPS) != 0, err);
}

int tf_added_cut(const struct tf_added *a, const char *text, size_t n, tf_added_fn *use, void *arg,
                 struct tf_err *err)
{
    struct cutter c = {.added = a, .text = text, .n = n, .id = -1, .use = use, .arg = arg};
    size_t at = 0; /* where the text begins that is not in a part */
    if (a == NULL)
        return use(arg, text, n, -1, err);
    for (size_t i = 0, len; i < n && a->n > 0; i += len > 0 ? len : 1) {
        uint32_t which;
        len = tf_piece_longest(&a->trie, text + i, n - i, &which);
        if (len == 0)
            continue;
        const struct tf_proto_added *t = &a->v[which];
        if ((t->flags & TF_ADDED_WORD) && touches_word(&c, i, i + len))
            continue;
        if ((at < i && put_part(&c, at, i, -1, false, err) != 0) ||
            put_token(&c, i, i + len, t, &at, err) != 0)
            return -1;
        if (at > i + len)
            len = at - i;
    }
    return (at < n && put_part(&c, at, n, -1, false, err) != 0)
               ? -1
               : put_part(&c, n, n, -1, a->ends, err);
}
