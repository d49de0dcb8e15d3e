/* html.c - see html.h. */
#include "text/html_private.h"
#include "base/order.h"
#include "base/memory.h"
#include "text/ids.h"
#include "text/unicode.h"

#include <stdlib.h>

/* A character of plane 15, a private one, stands for an object of the segment until its text is
 * complete. */
enum { MOST_OBJECTS = 0xff00 };

/* What reads one segment. */
struct reader {
    struct tf_html *h;
    struct tf_html_segment *g;
    struct tf_buf raw;     /* its text, with objects */
    struct tf_ids objects; /* their nodes */
    uint32_t stack[TF_HTML_DEPTH + 1];
    size_t depth;
    bool words;     /* there are letters or digits */
    bool object;    /* one was added last */
    bool apart;     /* what was last has white space at an end, and no text */
    uint32_t empty; /* what has no text, if it ended last; 0 */
};

/* ---- the text ---- */

static void add_space(struct reader *r)
{
    const struct tf_buf *b = &r->raw;
    if (b->len == 0 || b->p[b->len - 1] != ' ')
        tf_buf_byte(&r->raw, ' ');
    r->object = r->apart = false;
}

static uint32_t add_node(struct tf_html_segment *g, uint32_t parent, size_t at, struct tf_text tag)
{
    const uint32_t node = (uint32_t)g->n_nodes;
    TF_GROW(g->nodes, g->n_nodes, g->cap_nodes);
    g->nodes[g->n_nodes++] =
        (struct tf_html_node){.begin = at, .end = at, .open = tag, .parent = parent};
    if (node == 0)
        return 0;
    struct tf_html_node *p = &g->nodes[parent];
    *(p->last > 0 ? &g->nodes[p->last].next : &p->child) = node;
    p->last = node;
    return node;
}

static void add_cut(struct tf_html_segment *g, size_t at, uint32_t node)
{
    TF_GROW(g->cuts, g->n_cuts, g->cap_cuts);
    g->cuts[g->n_cuts++] = (struct tf_html_cut){at, node};
}

static uint32_t add_void(struct reader *r, struct tf_text tag)
{
    return add_node(r->g, r->stack[r->depth], r->raw.len, tag);
}

/* A name has to stand alone: between it and a word comes a space. */
static void add_object(struct reader *r, struct tf_text object)
{
    const struct tf_buf *b = &r->raw;
    const char last = b->len > 0 ? b->p[b->len - 1] : ' ';
    if (r->object || r->apart || (last > 0 && tf_uc_alphanumeric((uint32_t)last)))
        add_space(r);
    const uint32_t node = add_void(r, object);
    if (r->objects.n == MOST_OBJECTS)
        return;
    tf_buf_char(&r->raw, TF_PLACEHOLDER_OBJECT + (uint32_t)r->objects.n);
    tf_ids_add(&r->objects, &node, 1);
    r->object = true;
}

/* Latin letters and digits that follow an element which stays, as in <code>int</code>s, stay with
 * it; other scripts do not write its name, and some of them no spaces. */
static bool add_ending(struct reader *r, uint32_t c, struct tf_text from)
{
    enum { LATIN = 0x250 };
    struct tf_text *last = &r->g->nodes[r->objects.v[r->objects.n - 1]].open;
    if (c >= LATIN || last->p[0] != '<' || last->p + last->n != from.p)
        return false;
    last->n += from.n;
    return true;
}

static void add_char(struct reader *r, uint32_t c, struct tf_text from)
{
    if (tf_uc_space(c)) {
        add_space(r);
    } else if (c == 0 || c >= TF_PLACEHOLDER_OBJECT) {
        add_object(r, from);
    } else {
        const bool letter = tf_uc_alphanumeric(c);
        r->words = r->words || letter;
        if (r->object && letter && add_ending(r, c, from))
            return;
        if (letter && (r->apart || (r->object && c < 0x80)))
            add_space(r);
        tf_buf_char(&r->raw, c);
        r->object = r->apart = false;
    }
}

static void add_text(struct reader *r, const struct tf_html_item *it)
{
    const char *s = r->h->source;
    for (size_t p = it->begin, n; p < it->end; p += n) {
        const uint32_t c = tf_html_char(s + p, it->end - p, it->attribute, &n);
        if (p == it->begin && r->empty > 0 && tf_uc_space(c))
            r->g->nodes[r->empty].spaced = r->raw.len == 0 || r->raw.p[r->raw.len - 1] == ' ';
        add_char(r, c, (struct tf_text){s + p, n});
    }
}

static void add_item(struct reader *r, const struct tf_html_item *it)
{
    struct tf_html_segment *g = r->g;
    const struct tf_text tag = {r->h->source + it->begin, it->end - it->begin};
    uint32_t empty = 0;
    switch (it->kind) {
    case TF_HTML_TEXT:
        add_text(r, it);
        break;
    case TF_HTML_OPEN:
        r->stack[r->depth + 1] = add_node(g, r->stack[r->depth], r->raw.len, tag);
        add_cut(g, r->raw.len, r->stack[++r->depth]);
        break;
    case TF_HTML_CLOSE:
        g->nodes[r->stack[r->depth]].end = r->raw.len;
        g->nodes[r->stack[r->depth]].close = tag;
        if (g->nodes[r->stack[r->depth]].begin == r->raw.len)
            empty = r->stack[r->depth];
        add_cut(g, r->raw.len, r->stack[--r->depth]);
        break;
    case TF_HTML_VOID:
        empty = add_void(r, tag);
        add_cut(g, r->raw.len, r->stack[r->depth]);
        r->apart = r->apart || it->apart;
        if (tag.n > 3 && strncasecmp(tag.p, "<br", 3) == 0) {
            add_space(r);
            empty = 0;
        }
        break;
    case TF_HTML_OBJECT:
        add_object(r, tag);
        break;
    case TF_HTML_BLOCK:
        break;
    }
    r->empty = empty;
}

/* ---- names in place of objects and addresses ---- */

struct shift {
    const struct tf_placeholders *names;
    size_t *begin;  /* of each name in the text */
    size_t lead, n; /* white space before the text, and its length */
};

/* Where an offset of the raw text is in the text; within a name, at its beginning or its end. */
static size_t moved(const struct shift *m, size_t at, bool end)
{
    const struct tf_placeholders *names = m->names;
    at = at > m->lead ? at - m->lead : 0;
    at = at < m->n ? at : m->n;
    size_t i;
    TF_FIRST(i, 0, names->n, names->v[i].begin >= at);
    if (i == 0)
        return at;
    const struct tf_placeholder *v = &names->v[i - 1];
    if (at < v->end)
        return m->begin[i - 1] + (end ? tf_placeholder_length(v->name) : 0);
    return m->begin[i - 1] + tf_placeholder_length(v->name) + (at - v->end);
}

/* Which nodes the names of objects stand for. Names of addresses stand for text. */
static void find_objects(struct reader *r)
{
    const struct tf_placeholders *names = &r->g->names;
    r->g->named = tf_xcalloc(names->n + 1, sizeof *r->g->named);
    for (size_t i = 0; i < names->n; i++) {
        int len;
        const uint32_t c = tf_utf8_get(names->text.p + names->v[i].begin, &len);
        if (c >= TF_PLACEHOLDER_OBJECT && c - TF_PLACEHOLDER_OBJECT < r->objects.n)
            r->g->named[i] = r->objects.v[c - TF_PLACEHOLDER_OBJECT];
        if (r->g->named[i] > 0)
            r->g->nodes[r->g->named[i]].name = (uint32_t)i + 1;
    }
}

/* Append the text of the segment, and move nodes and cuts there. */
static void hide(struct reader *r, struct tf_hide what)
{
    struct tf_html *h = r->h;
    struct tf_html_segment *g = r->g;
    size_t lead = r->raw.p[0] == ' ', n = r->raw.len - lead;
    while (n > 0 && r->raw.p[lead + n - 1] == ' ')
        n--;
    g->begin = h->text.len;
    tf_placeholders_hide(&g->names, (struct tf_text){r->raw.p + lead, n}, what, &h->text);
    g->end = h->text.len;
    struct shift m = {&g->names, tf_xarray(NULL, g->names.n + 1, sizeof(size_t)), lead, n};
    size_t at = g->begin, from = 0;
    for (size_t i = 0; i < g->names.n; i++) {
        const struct tf_placeholder *v = &g->names.v[i];
        at += v->begin - from + (i > 0 && v->begin == from); /* two that touch have a space */
        m.begin[i] = at - g->begin;
        at += tf_placeholder_length(v->name);
        from = v->end;
    }
    /* An element that has a part of a name has the name; what has no text comes after it. */
    for (size_t i = 0; i < g->n_nodes; i++) {
        struct tf_html_node *v = &g->nodes[i];
        const bool empty = v->begin == v->end;
        v->begin = g->begin + moved(&m, v->begin, empty);
        v->end = empty ? v->begin : g->begin + moved(&m, v->end, true);
    }
    uint32_t opened = 0;
    for (size_t i = 0; i < g->n_cuts; i++) {
        struct tf_html_cut *c = &g->cuts[i];
        const bool opens = c->node > opened;
        const bool empty = g->nodes[c->node].begin == g->nodes[c->node].end;
        c->at = g->begin + moved(&m, c->at, !opens || empty);
        c->at = i > 0 && c->at < c[-1].at ? c[-1].at : c->at;
        opened = opens ? c->node : opened;
    }
    g->nodes[0].end = g->end;
    free(m.begin);
    find_objects(r);
}

/* ---- segments ---- */

static void release_segment(struct tf_html_segment *g)
{
    free(g->nodes);
    free(g->cuts);
    free(g->named);
    tf_placeholders_release(&g->names);
}

/* White space at the beginning of the first item, or at the end of the last one: if there is none
 * although the text begins or ends so, a space. */
static struct tf_text outer_space(const struct tf_html *h, const struct tf_html_item *it, bool end)
{
    const char *s = h->source;
    static const char space[] = " ";
    size_t from = end ? it->end : it->begin, p = from;
    if (it->kind == TF_HTML_TEXT && end)
        while (p > it->begin && tf_ascii_space(s[p - 1]))
            p--;
    else if (it->kind == TF_HTML_TEXT)
        p = tf_uc_skip_space(s, p, it->end);
    if (p == from)
        return (struct tf_text){space, 1};
    return end ? (struct tf_text){s + p, from - p} : (struct tf_text){s + from, p - from};
}

/* Read items as one segment; false, and nothing is left of it, if they have no words. */
static bool read_segment(struct tf_html *h, struct tf_html_segment *g,
                         const struct tf_html_item *items, size_t n, struct tf_hide what,
                         struct tf_buf *raw)
{
    *g = (struct tf_html_segment){.source_end = items[0].begin, .next = items[n - 1].end};
    struct reader r = {.h = h, .g = g, .raw = *raw};
    tf_buf_clear(&r.raw);
    add_node(g, 0, 0, (struct tf_text){0});
    add_cut(g, 0, 0);
    for (size_t i = 0; i < n; i++)
        add_item(&r, &items[i]);
    *raw = r.raw;
    if (r.words) {
        if (raw->p[0] == ' ')
            g->lead = outer_space(h, &items[0], false);
        if (raw->p[raw->len - 1] == ' ')
            g->trail = outer_space(h, &items[n - 1], true);
        hide(&r, what);
    } else {
        release_segment(g);
    }
    tf_ids_release(&r.objects);
    return r.words;
}

static void read_text(struct tf_html *h, const struct tf_html_item *items, size_t n,
                      struct tf_hide what, struct tf_buf *raw)
{
    struct tf_html_segment g;
    if (n == 0 || !read_segment(h, &g, items, n, what, raw))
        return;
    TF_GROW(h->segments, h->n_segments, h->cap_segments);
    h->segments[h->n_segments++] = g;
}

static void read_values(struct tf_html *h, const struct tf_html_item *it, struct tf_hide what,
                        struct tf_buf *raw)
{
    struct tf_html_segment g;
    struct tf_text value;
    for (struct tf_html_attributes a = {0}; tf_html_readable(h->source, it, &a, &value);) {
        const size_t begin = (size_t)(value.p - h->source);
        const struct tf_html_item text = {.begin = begin,
                                          .end = begin + value.n,
                                          .attribute = true};
        if (!read_segment(h, &g, &text, 1, what, raw))
            continue;
        TF_GROW(h->values, h->n_values, h->cap_values);
        h->values[h->n_values++] = g;
    }
}

/* ---- what is around all of a segment ---- */

static bool is_blank(const struct tf_html *h, const struct tf_html_item *it)
{
    size_t p = it->begin;
    while (p < it->end && tf_ascii_space(h->source[p]))
        p++;
    return it->kind == TF_HTML_VOID || (it->kind == TF_HTML_TEXT && p == it->end);
}

/* Leave out what has no text at the ends of [*from, *to), and the elements that are around all the
 * rest: their tags need no place. */
static void leave_outer(const struct tf_html *h, const struct tf_html_item *items, size_t *from,
                        size_t *to)
{
    size_t open[TF_HTML_DEPTH + 1], close[TF_HTML_DEPTH + 1]; /* the tags of a depth, from 1 */
    size_t first = *to, last = *to, depth = 0;
    size_t of_first = 0, of_last = 0; /* depths */
    size_t least = 0, around = 0;     /* depth since the first, and of what is around both */
    size_t left = 0;                  /* elements around the last that are open */
    for (size_t i = *from; i < *to; i++) {
        if (items[i].kind == TF_HTML_OPEN) {
            depth++;
            if (first == *to)
                open[depth] = i;
        } else if (items[i].kind == TF_HTML_CLOSE) {
            if (depth == left)
                close[left--] = i;
            depth--;
            least = depth < least ? depth : least;
        } else if (!is_blank(h, &items[i])) {
            if (first == *to) {
                first = i;
                least = of_first = depth;
            }
            last = i;
            left = of_last = depth;
            around = least;
        }
    }
    const size_t end = last == *to ? last : last + 1;
    *from = of_first > around ? open[around + 1] : first;
    *to = of_last > around ? close[around + 1] + 1 : end;
}

/* Make boundaries of those open tags that the segment does not close. */
static void end_open(struct tf_html_item *items, const size_t *open, size_t *depth)
{
    while (*depth > 0)
        items[open[--*depth]].kind = TF_HTML_BLOCK;
}

static bool same_name(const char *s, const struct tf_html_item *open,
                      const struct tf_html_item *close)
{
    const size_t n = open->name_end - open->begin - 1;
    return close->name_end - close->begin - 2 == n &&
           strncasecmp(s + open->begin + 1, s + close->begin + 2, n) == 0;
}

/* Every inline tag that is left has its counterpart in its segment, and they nest. */
static void pair_tags(const struct tf_html *h, struct tf_html_item *items, size_t n)
{
    size_t open[TF_HTML_DEPTH], depth = 0;
    for (size_t i = 0; i < n; i++) {
        const enum tf_html_kind kind = items[i].kind;
        const bool closes = kind == TF_HTML_CLOSE && depth > 0 &&
                            same_name(h->source, &items[open[depth - 1]], &items[i]);
        if (closes) {
            depth--;
        } else if (kind == TF_HTML_OPEN && depth < TF_HTML_DEPTH) {
            open[depth++] = i;
        } else if (kind == TF_HTML_OPEN || kind == TF_HTML_CLOSE || kind == TF_HTML_BLOCK) {
            items[i].kind = TF_HTML_BLOCK;
            end_open(items, open, &depth);
        }
    }
    end_open(items, open, &depth);
}

static int split(struct tf_html *h, struct tf_html_segment *g, struct tf_sentences *sentences,
                 struct tf_err *err)
{
    const struct tf_sentence_span whole = {0, g->end - g->begin, false}, *spans = &whole;
    size_t n = 1;
    if (sentences != NULL && tf_sentences_split(sentences, h->text.p + g->begin, g->end - g->begin,
                                                &spans, &n, err) != 0)
        return -1;
    g->sentence = h->n_sentences;
    g->n_sentences = n;
    for (size_t i = 0; i < n; i++) {
        TF_GROW(h->sentences, h->n_sentences, h->cap_sentences);
        h->sentences[h->n_sentences++] =
            (struct tf_html_sentence){.begin = g->begin + spans[i].begin,
                                      .end = g->begin + spans[i].end,
                                      .joined = spans[i].joined};
    }
    return 0;
}

int tf_html_new(struct tf_html **out, const char *s, size_t n, struct tf_sentences *sentences,
                struct tf_hide what, struct tf_err *err)
{
    struct tf_html *h = *out = tf_xcalloc(1, sizeof *h);
    struct tf_buf raw = {0};
    size_t count;
    h->source = tf_xmalloc(n + 1); /* there may be NUL in it */
    memcpy(h->source, s, n);
    h->source[n] = 0;
    h->n = n;
    struct tf_html_item *items = tf_html_scan(h->source, n, &count);
    pair_tags(h, items, count);
    for (size_t i = 0, end; i < count; i = end + 1) {
        for (end = i; end < count && items[end].kind != TF_HTML_BLOCK;)
            end++;
        size_t from = i, to = end;
        leave_outer(h, items, &from, &to);
        read_text(h, items + from, to - from, what, &raw);
    }
    for (size_t i = 0; i < count; i++)
        read_values(h, &items[i], what, &raw);
    free(items);
    tf_buf_release(&raw);
    int rc = 0;
    for (size_t i = 0; i < h->n_segments && rc == 0; i++)
        rc = split(h, &h->segments[i], sentences, err);
    for (size_t i = 0; i < h->n_values && rc == 0; i++)
        rc = split(h, &h->values[i], sentences, err);
    if (rc == 0)
        return 0;
    tf_html_free(h);
    *out = NULL;
    return -1;
}

void tf_html_free(struct tf_html *h)
{
    if (h == NULL)
        return;
    for (size_t i = 0; i < h->n_segments; i++)
        release_segment(&h->segments[i]);
    for (size_t i = 0; i < h->n_values; i++)
        release_segment(&h->values[i]);
    free(h->segments);
    free(h->values);
    free(h->sentences);
    tf_buf_release(&h->text);
    tf_arena_release(&h->outs);
    free(h->source);
    free(h);
}

/* ---- sentences ---- */

size_t tf_html_count(const struct tf_html *h)
{
    return h->n_sentences;
}

struct tf_text tf_html_sentence(const struct tf_html *h, size_t i)
{
    const struct tf_html_sentence *s = &h->sentences[i];
    return (struct tf_text){h->text.p + s->begin, s->end - s->begin};
}

void tf_html_set(struct tf_html *h, size_t i, struct tf_text translation, struct tf_text links)
{
    struct tf_html_sentence *s = &h->sentences[i];
    s->out = translation;
    if (translation.p != NULL)
        s->out.p = tf_arena_strndup(&h->outs, translation.p, translation.n);
    s->links = (struct tf_text){tf_arena_strndup(&h->outs, links.p, links.n), links.n};
}

void tf_html_write(struct tf_html *h, struct tf_buf *out)
{
    size_t from = 0;
    for (size_t i = 0; i < h->n_segments; i++) {
        const struct tf_html_segment *g = &h->segments[i];
        tf_html_put_source(h, (struct tf_text){h->source + from, g->source_end - from}, out);
        tf_html_put_segment(h, g, out);
        from = g->next;
    }
    tf_html_put_source(h, (struct tf_text){h->source + from, h->n - from}, out);
}
