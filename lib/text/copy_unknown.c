/* copy_unknown.c - see copy_unknown_private.h. */
#include "text/copy_unknown_private.h"
#include "base/memory.h"
#include "text/icu_private.h"
#include "text/ids.h"
#include "text/links.h"
#include "text/unicode.h"

#include <stdlib.h>

#define MARK "\xE2\x81\x87"
#define APOSTROPHE "\xE2\x80\x99" /* U+2019 */

/* The first and the last target word that a source word is linked to; first > last: none. */
struct linked {
    size_t first, last;
};

struct edit {
    size_t from, to; /* of the translation */
    struct tf_text text;
    bool space_before, space_after;
    size_t order, source; /* source: the word that it is from */
};

/* An unknown part of a source word. */
struct part {
    struct tf_text text;
    size_t word;
    bool done, own; /* own: no letter or digit of the word is known */
};

struct copying {
    struct tf_text translation, *source, *target; /* words */
    size_t n_source, n_target, n_parts, n_edits;
    struct linked *linked; /* of source words */
    size_t *of;            /* the source word of each target word; SIZE_MAX */
    struct part *parts;
    size_t *next; /* of each source word the part for a mark; SIZE_MAX */
    struct edit *edits;
};

enum { LETTERS = TF_UC_ALPHABETIC | TF_UC_DECIMAL };

/* Has a text characters with one of these properties? */
static bool has(struct tf_text s, unsigned what)
{
    int len;
    for (size_t p = 0; p < s.n; p += (size_t)len)
        if ((tf_uc_letter(tf_utf8_get(s.p + p, &len)) & what) != 0)
            return true;
    return false;
}

/* The part of a source word without so many bytes at its ends. */
static void take_part(struct copying *c, size_t word, size_t before, size_t after)
{
    if (word >= c->n_source || before + after >= c->source[word].n)
        return;
    const struct tf_text w = c->source[word];
    const bool whole = ((unsigned char)w.p[before] & 0xc0) != 0x80 &&
                       (after == 0 || ((unsigned char)w.p[w.n - after] & 0xc0) != 0x80);
    const struct tf_text part = whole ? (struct tf_text){w.p + before, w.n - before - after} : w;
    const bool own = whole && !has((struct tf_text){w.p, before}, LETTERS) &&
                     !has((struct tf_text){w.p + w.n - after, after}, LETTERS);
    c->next[word] = c->n_parts;
    c->parts[c->n_parts++] = (struct part){part, word, false, own};
}

/* Cut the last part in two around the known text within it, by its letters of a script without
 * spaces: signs may have another form before normalisation. */
static void cut_part(struct copying *c, struct tf_text known)
{
    if (c->n_parts == 0)
        return;
    struct part *part = &c->parts[c->n_parts - 1];
    const struct tf_text is = part->text;
    part->own = part->own && !has(known, LETTERS);
    size_t begin = 0, end = 0;
    int len;
    for (size_t p = 0; p < known.n; p += (size_t)len) {
        if (!tf_icu_unspaced(tf_utf8_get(known.p + p, &len)))
            continue;
        const char *found = memmem(is.p + end, is.n - end, known.p + p, (size_t)len);
        if (found == NULL)
            return;
        begin = end == 0 ? (size_t)(found - is.p) : begin;
        end = (size_t)(found - is.p) + (size_t)len;
    }
    if (begin == 0 || end == is.n)
        return;
    part->text.n = begin;
    c->parts[c->n_parts++] = (struct part){{is.p + end, is.n - end}, part->word, false, false};
}

static void read_links(struct copying *c, struct tf_text links)
{
    const char *p = links.p, *end = p + links.n;
    const size_t most = 1 << 28;
    while (p < end) {
        if (*p == ' ') {
            p++;
            continue;
        }
        if (*p == '=') {
            const char *const known = ++p;
            while (p < end && *p != ' ')
                p++;
            cut_part(c, (struct tf_text){known, (size_t)(p - known)});
            continue;
        }
        const bool part = *p == '?';
        p += part;
        const char *const from = p;
        const size_t s = tf_links_number(&p, end, most), t = tf_links_number(&p, end, most);
        if (part) {
            take_part(c, s, t, tf_links_number(&p, end, most));
        } else if (s < c->n_source && t < c->n_target) {
            struct linked *l = &c->linked[s];
            l->first = t < l->first ? t : l->first;
            l->last = t > l->last ? t : l->last;
            c->of[t] = s;
        }
        p += p == from; /* not a number */
    }
}

static bool has_start(struct tf_text s, struct tf_text with)
{
    return s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

static bool has_end(struct tf_text s, struct tf_text with)
{
    return s.n >= with.n && memcmp(s.p + s.n - with.n, with.p, with.n) == 0;
}

static void add_edit(struct copying *c, const char *from, size_t n, struct tf_text text,
                     bool before, bool after, size_t s)
{
    const size_t at = (size_t)(from - c->translation.p);
    c->edits[c->n_edits] = (struct edit){at, at + n, text, before, after, c->n_edits, s};
    c->n_edits++;
}

/* Replace marks; a part that one has become is done. */
static void replace_marks(struct copying *c)
{
    for (size_t t = 0; t < c->n_target; t++) {
        const size_t s = c->of[t];
        if (s == SIZE_MAX || !tf_text_is(c->target[t], MARK))
            continue;
        const size_t k = c->next[s];
        const struct tf_text text = k != SIZE_MAX ? c->parts[k].text : c->source[s];
        add_edit(c, c->target[t].p, c->target[t].n, text, false, false, s);
        if (k == SIZE_MAX)
            continue;
        c->parts[k].done = true;
        c->next[s] += k + 1 < c->n_parts && c->parts[k + 1].word == s;
    }
}

/* Are the letters and digits of a text in another, in order? */
static bool letters_in(struct tf_text s, struct tf_text in)
{
    size_t at = 0;
    int len;
    for (size_t p = 0; p < s.n; p += (size_t)len) {
        const uint32_t c = tf_utf8_get(s.p + p, &len);
        if (!tf_uc_alphanumeric(c))
            continue;
        const char *found = memmem(in.p + at, in.n - at, s.p + p, (size_t)len);
        if (found == NULL)
            return false;
        at = (size_t)(found - in.p) + (size_t)len;
    }
    return true;
}

/* The signs that a text begins with, and those that it ends with, in bytes. */
static void signs_around(struct tf_text s, size_t *begin, size_t *end)
{
    *begin = tf_uc_skip_signs(s.p, 0, s.n);
    *end = s.n - tf_uc_trim_signs(s.p, *begin, s.n);
}

/* What a target word has in the place of the part; false: nothing that is like it. */
static bool stands_in(struct tf_text t, struct tf_text before, struct tf_text part,
                      struct tf_text after, struct tf_text *is)
{
    size_t signs, rest, n = t.n;
    signs_around(after, &signs, &rest);
    after.n = has_end(t, after) || signs < after.n ? after.n : 0;
    while (n > before.n && !(after.n > 0 && has_end((struct tf_text){t.p, n}, after)) &&
           strchr(".,;:!?)", t.p[n - 1]) != NULL)
        n--;
    t.n = n;
    if (!has_start(t, before) || !has_end(t, after) || before.n + after.n >= t.n)
        return false;
    const size_t end = t.n - after.n;
    *is = (struct tf_text){t.p + before.n, end - before.n};
    return is->n > 0 && letters_in(*is, part);
}

/* Signs around what is known, as in quotation marks: they come around the target word, in place of
 * those that it has. */
static bool put_around(struct copying *c, struct tf_text t, size_t s, struct tf_text part,
                       struct tf_text after)
{
    size_t begin, end, a, b;
    signs_around(part, &begin, &end);
    t.n -= has_end(t, after) ? after.n : 0;
    signs_around(t, &a, &b);
    if (begin == 0 || end == 0 || begin + end == part.n || a + b >= t.n)
        return false;
    add_edit(c, t.p, a, (struct tf_text){part.p, begin}, false, false, s);
    add_edit(c, t.p + t.n - b, b, (struct tf_text){part.p + part.n - end, end}, false, false, s);
    return true;
}

/* Has a text letters of a script without spaces? */
static bool is_unspaced(struct tf_text s)
{
    int len;
    for (size_t p = 0; p < s.n; p += (size_t)len)
        if (tf_icu_unspaced(tf_utf8_get(s.p + p, &len)))
            return true;
    return false;
}

/* Has a word digits, and no letter before them, unlike a name such as COVID-19? */
static bool is_number(struct tf_text s)
{
    const size_t begin = tf_uc_skip_signs(s.p, 0, s.n);
    int len;
    return begin < s.n && (tf_uc_letter(tf_utf8_get(s.p + begin, &len)) & TF_UC_DECIMAL) != 0;
}

/* Is a source word linked, if it is one? */
static bool is_linked(const struct copying *c, size_t s)
{
    return s >= c->n_source || !has(c->source[s], LETTERS) ||
           c->linked[s].first <= c->linked[s].last;
}

/* The target word that gives way to a source word which is a unit, since the model has made it up:
 * the only one that is linked to it, or the one that follows the number; SIZE_MAX: none. Not where
 * a word beside it has no link: it may be the translation of that. */
static size_t made_up(const struct copying *c, size_t s)
{
    if (s == 0 || !is_number(c->source[s - 1]) || !is_linked(c, s - 1) || !is_linked(c, s + 1))
        return SIZE_MAX;
    const struct linked *l = &c->linked[s];
    const size_t t = l->first == l->last ? l->first : c->linked[s - 1].last + 1;
    return t < c->n_target && c->of[t] == s && !has(c->target[t], TF_UC_DECIMAL) ? t : SIZE_MAX;
}

/* A word of its own that is linked: it comes beside what is linked to it, or in place of that. */
static bool put_own(struct copying *c, size_t s, struct tf_text part, struct tf_text after)
{
    const struct linked *l = &c->linked[s];
    const size_t gone = made_up(c, s);
    const struct tf_text t = c->target[gone != SIZE_MAX ? gone : l->first];
    size_t begin, end;
    signs_around(t, &begin, &end);
    if (begin + end >= t.n || is_unspaced(t))
        return false;
    if (gone != SIZE_MAX)
        add_edit(c, t.p + begin, t.n - begin - end, part, false, false, s);
    else if (part.n == c->source[s].n)
        return false;
    else if (after.n == 0 || l->first != l->last)
        add_edit(c, t.p + begin, 0, part, false, true, s);
    else
        add_edit(c, t.p + t.n - end, 0, part, true, false, s);
    return true;
}

/* A number and a unit are the whole text: all that follows the number gives way. */
static bool put_amount(struct copying *c, size_t s, struct tf_text part, struct tf_text after)
{
    if (s != 1 || c->n_source != 2 || !is_number(c->source[0]) || !is_linked(c, 0) ||
        c->linked[0].last + 1 >= c->n_target || part.n + after.n < c->source[1].n)
        return false;
    const char *const from = c->target[c->linked[0].last + 1].p;
    const struct tf_text last = c->target[c->n_target - 1];
    const size_t end = (size_t)(last.p - from) + last.n - (has_end(last, after) ? after.n : 0);
    add_edit(c, from, end, part, false, false, s);
    return true;
}

static void insert_part(struct copying *c, const struct part *is_part)
{
    const size_t s = is_part->word;
    const struct tf_text word = c->source[s], part = is_part->text;
    const size_t n_before = (size_t)(part.p - word.p);
    const struct tf_text before = {word.p, n_before},
                         after = {part.p + part.n, word.n - n_before - part.n};
    const struct linked *l = &c->linked[s];
    struct tf_text is;
    if (before.n > 0 && after.n > 0 && tf_text_is(part, APOSTROPHE))
        return; /* of the spelling of the source's language */
    if (is_part->own && put_amount(c, s, part, after))
        return;
    if (l->first <= l->last && stands_in(c->target[l->first], before, part, after, &is)) {
        add_edit(c, is.p, is.n, part, false, false, s);
        return;
    }
    if (is_part->own ? l->first <= l->last && put_own(c, s, part, after)
                     : l->first == l->last && before.n == 0 &&
                           put_around(c, c->target[l->first], s, part, after))
        return;
    if (l->first <= l->last && part.n < word.n) {
        const struct tf_text t = c->target[is_unspaced(before) ? l->last : l->first];
        const size_t at = before.n > 0 && has_start(t, before) ? before.n
                          : after.n > 0 && has_end(t, after)   ? t.n - after.n
                          : before.n > 0                       ? t.n
                                                               : 0;
        add_edit(c, t.p + at, 0, part, false, false, s);
        return;
    }
    size_t k = s;
    while (k > 0 && c->linked[k - 1].first > c->linked[k - 1].last)
        k--;
    if (c->n_target == 0)
        add_edit(c, c->translation.p, 0, part, c->n_edits > 0, false, s);
    else if (k == 0)
        add_edit(c, c->target[0].p, 0, part, false, true, s);
    else
        add_edit(c, c->target[c->linked[k - 1].last].p + c->target[c->linked[k - 1].last].n, 0,
                 part, true, false, s);
}

/* By place; at one, what is a word before it comes first. */
static int compare_edits(const void *x, const void *y)
{
    const struct edit *a = x, *b = y;
    if (a->from != b->from)
        return a->from > b->from ? 1 : -1;
    if (a->space_after != b->space_after)
        return a->space_after ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Where the result is from: a source word for each byte, or SIZE_MAX. */
static void note_source(struct tf_ids *of, size_t n, size_t s)
{
    const uint32_t word = s < UINT32_MAX ? (uint32_t)s : UINT32_MAX;
    for (size_t i = 0; i < n; i++)
        tf_ids_add(of, &word, 1);
}

/* Append a part of the translation. */
static void keep_text(const struct copying *c, size_t from, size_t to, struct tf_buf *out,
                      struct tf_ids *of)
{
    size_t at = from;
    tf_buf_add(out, c->translation.p + from, to - from);
    for (size_t t = 0; t < c->n_target; t++) {
        const size_t begin = (size_t)(c->target[t].p - c->translation.p),
                     end = begin + c->target[t].n;
        if (end <= at || begin >= to)
            continue;
        note_source(of, begin > at ? begin - at : 0, SIZE_MAX);
        at = begin > at ? begin : at;
        const size_t stop = end < to ? end : to;
        note_source(of, stop - at, c->of[t]);
        at = stop;
    }
    note_source(of, to - at, SIZE_MAX);
}

static void apply(struct copying *c, struct tf_buf *out, struct tf_ids *of)
{
    size_t at = 0;
    qsort(c->edits, c->n_edits, sizeof *c->edits, compare_edits);
    for (size_t i = 0; i < c->n_edits; i++) {
        const struct edit *e = &c->edits[i];
        if (e->from < at && e->to > e->from)
            continue; /* of another source word of the same target word */
        keep_text(c, at, e->from > at ? e->from : at, out, of);
        tf_buf_str(out, e->space_before ? " " : "");
        note_source(of, e->space_before, SIZE_MAX);
        tf_buf_add(out, e->text.p, e->text.n);
        note_source(of, e->text.n, e->source);
        tf_buf_str(out, e->space_after ? " " : "");
        note_source(of, e->space_after, SIZE_MAX);
        at = e->to > at ? e->to : at;
    }
    keep_text(c, at, c->translation.n, out, of);
}

/* Links of the words of the result. */
static void put_links(struct tf_buf *links, struct tf_text s, const uint32_t *of)
{
    size_t word = 0;
    for (size_t p = 0; p < s.n; p++) {
        uint32_t from = UINT32_MAX;
        if (s.p[p] == ' ')
            continue;
        for (; p < s.n && s.p[p] != ' '; p++)
            from = from == UINT32_MAX ? of[p] : from;
        if (from != UINT32_MAX)
            tf_buf_printf(links, "%s%u-%zu", links->len > 0 ? " " : "", (unsigned)from, word);
        word++;
    }
}

void tf_copy_unknown(struct tf_buf *out, struct tf_text source, struct tf_text translation,
                     struct tf_text links, struct tf_buf *new_links)
{
    const size_t before = out->len;
    struct tf_ids of = {0};
    struct copying c = {.translation = translation};
    c.source = tf_text_words(source, &c.n_source);
    c.target = tf_text_words(translation, &c.n_target);
    c.linked = tf_xcalloc(c.n_source + 1, sizeof *c.linked);
    c.parts = tf_xarray(NULL, links.n / 2 + 1, sizeof *c.parts); /* one for each ? or = */
    c.next = tf_xarray(NULL, c.n_source + 1, sizeof *c.next);
    c.of = tf_xarray(NULL, c.n_target + 1, sizeof *c.of);
    for (size_t i = 0; i < c.n_source; i++) {
        c.linked[i].first = SIZE_MAX;
        c.next[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < c.n_target; i++)
        c.of[i] = SIZE_MAX;
    read_links(&c, links);
    c.edits = tf_xarray(NULL, 2 * c.n_parts + c.n_target + 1, sizeof *c.edits);
    replace_marks(&c);
    for (size_t k = 0; k < c.n_parts; k++) {
        const struct part *part = &c.parts[k];
        if (part->text.n > 0 && !part->done &&
            (translation.n == 0 ||
             memmem(translation.p, translation.n, part->text.p, part->text.n) == NULL))
            insert_part(&c, part);
    }
    apply(&c, out, &of);
    put_links(new_links, (struct tf_text){out->p + before, out->len - before}, of.v);
    tf_ids_release(&of);
    free(c.source);
    free(c.target);
    free(c.linked);
    free(c.parts);
    free(c.next);
    free(c.of);
    free(c.edits);
}
