/* html_place.c - where the tags of a segment go.
 *
 * A target word belongs to the element that the source word which it is linked to is in. Where the
 * tags are within that word, as in (<a>here</a>): parts of the target word at its ends that are
 * equal to the parts of the source word there, such as brackets and full stops, belong with those;
 * other signs at its ends are without a link unless the source word has some there; the rest
 * belongs with the longest of the other parts. (Bergamot's translator does this by pieces.)
 *
 * Links are of what spaces separate. Of Chinese and Japanese, which write none, each character is a
 * word, aligned in proportion to its place.
 *
 * An element is then around one run of words, from inside those that it is in to those in it: the
 * run with the largest sum of 1 for each word that belongs to it, -1 for each that belongs to the
 * text around it, and 0 for each without a link; it has none of an element beside it. So elements
 * may change their order, and never overlap. One that no word belongs to gets the run of units that
 * are linked to a word that it has a part of, as in un<u>der</u>line, or, where there is none, the
 * word at its place in proportion. If another element has that, or it has no words, it is empty:
 * beside the one that has the run, else where what has no text goes.
 *
 * What a name stands for is where the name is, if that is within the element that it was in. Else
 * it goes where what has no text goes: after the last of the words that the word before it became,
 * if it touches only that one, or before the first of those that the word after it became; within a
 * word to its place, if the part after it is there, else after the word. Between what a name stands
 * for and a word comes a space, and also beside what had one on both sides, such as img. */
#include "text/html_private.h"
#include "base/order.h"
#include "base/memory.h"
#include "text/layout.h"
#include "text/links.h"
#include "text/unicode.h"

#include <stdlib.h>

enum { MOST_PARTS = 16 }; /* of a word, that are looked at */

/* Source words, and what became of each. */
struct word {
    size_t begin, end;
    size_t first, last; /* units that are linked to it; first > last: none */
};

/* A target word or a part of one. */
struct unit {
    size_t begin, end;
    size_t from, to; /* the part of a source word that it is linked to; equal: none */
    uint32_t node;
};

/* Where a node is in the translation. */
struct place {
    size_t begin, end;
    size_t a, b; /* units */
    long sum;    /* of the best run so far */
    bool alone;  /* between it and a word comes a space */
};

struct placing {
    const struct tf_html *h;
    const struct tf_html_segment *g;
    struct tf_buf text; /* the translation */
    struct word *words;
    size_t n_words, cap_words;
    struct unit *units;
    size_t n_units, cap_units;
    struct place *places; /* of nodes */
    uint32_t *owner;      /* of units: the node, among those beside it, that is around it */
    size_t *names;        /* where the names of g->names are in the source's text */
    size_t *found;        /* the first in the translation; SIZE_MAX */
    struct tf_buf original;
    struct tf_buf *out;
};

/* ---- words and units ---- */

static void add_word(struct placing *x, size_t begin, size_t end)
{
    TF_GROW(x->words, x->n_words, x->cap_words);
    x->words[x->n_words++] = (struct word){begin, end, SIZE_MAX, 0};
}

/* The first cut after an offset of the source's text; n_cuts if there is none. */
static size_t cut_after(const struct tf_html_segment *g, size_t at)
{
    size_t i;
    TF_FIRST(i, 0, g->n_cuts, g->cuts[i].at > at);
    return i;
}

static uint32_t node_at(const struct tf_html_segment *g, size_t at)
{
    return g->cuts[cut_after(g, at) - 1].node;
}

/* The end of the first part of a source word: at a tag, or after the signs that it begins with. */
static size_t first_part(const struct placing *x, size_t begin, size_t end)
{
    const size_t cut = cut_after(x->g, begin);
    const size_t most = cut < x->g->n_cuts && x->g->cuts[cut].at < end ? x->g->cuts[cut].at : end;
    const size_t p = tf_uc_skip_signs(x->h->text.p, begin, most);
    return p > begin ? p : most;
}

/* The beginning of the last part, in the same way. */
static size_t last_part(const struct placing *x, size_t begin, size_t end)
{
    const size_t cut = cut_after(x->g, end - 1);
    const size_t least = x->g->cuts[cut - 1].at > begin ? x->g->cuts[cut - 1].at : begin;
    const size_t p = tf_uc_trim_signs(x->h->text.p, least, end);
    return p < end ? p : least;
}

/* The node that has the most of a source word. */
static uint32_t longest_part(const struct placing *x, size_t begin, size_t end)
{
    const struct tf_html_segment *g = x->g;
    uint32_t node = node_at(g, begin);
    size_t most = 0;
    for (int parts = 0; begin < end && parts < MOST_PARTS; parts++) {
        const size_t cut = cut_after(g, begin);
        const size_t to = cut < g->n_cuts && g->cuts[cut].at < end ? g->cuts[cut].at : end;
        if (to - begin > most) {
            most = to - begin;
            node = node_at(g, begin);
        }
        begin = to;
    }
    return node;
}

/* Add a unit that is linked to [from, to) of a source word, if that is not empty. */
static void add_unit(struct placing *x, size_t begin, size_t end, struct word *w, size_t from,
                     size_t to)
{
    TF_GROW(x->units, x->n_units, x->cap_units);
    if (from < to) {
        w->first = w->first < x->n_units ? w->first : x->n_units;
        w->last = x->n_units;
    }
    x->units[x->n_units++] =
        (struct unit){begin, end, from, to, from < to ? longest_part(x, from, to) : 0};
}

/* Add the units of what is left of a target word: [begin, end), linked to [from, to). */
static void add_rest(struct placing *x, struct word *w, size_t from, size_t to, size_t begin,
                     size_t end)
{
    const char *s = x->h->text.p, *t = x->text.p;
    const size_t a = tf_uc_skip_signs(t, begin, end), b = tf_uc_trim_signs(t, a, end);
    const bool core = a < b;
    if (core && begin < a)
        add_unit(x, begin, a, w, from, tf_uc_skip_signs(s, from, to));
    add_unit(x, core ? a : begin, core ? b : end, w, from, to);
    if (core && b < end)
        add_unit(x, b, end, w, tf_uc_trim_signs(s, from, to), to);
}

/* Add the units of a target word that is linked to a source word. */
static void add_linked(struct placing *x, struct word *w, size_t begin, size_t end)
{
    const char *s = x->h->text.p, *t = x->text.p;
    size_t from = w->begin, to = w->end, back = end;
    for (int parts = 0; parts < MOST_PARTS; parts++) {
        const size_t part = first_part(x, from, to), n = part - from;
        if (part == to || n >= end - begin || memcmp(s + from, t + begin, n) != 0)
            break;
        add_unit(x, begin, begin + n, w, from, part);
        from = part;
        begin += n;
    }
    size_t tails[MOST_PARTS], n_tails = 0;
    while (n_tails < MOST_PARTS) {
        const size_t part = last_part(x, from, to), n = to - part;
        if (part == from || n >= back - begin || memcmp(s + part, t + back - n, n) != 0)
            break;
        to = part;
        back -= n;
        tails[n_tails++] = n;
    }
    add_rest(x, w, from, to, begin, back);
    for (; n_tails > 0; n_tails--) {
        const size_t n = tails[n_tails - 1];
        add_unit(x, back, back + n, w, to, to + n);
        to += n;
        back += n;
    }
}

/* The word that an offset of the source's text is in, or the next: n_words if there is none. */
static size_t word_at(const struct placing *x, size_t at)
{
    size_t i;
    TF_FIRST(i, 0, x->n_words, x->words[i].end > at);
    return i;
}

/* ---- names ---- */

static void find_names(struct placing *x)
{
    const struct tf_html_segment *g = x->g;
    const struct tf_text text = {x->h->text.p + g->begin, g->end - g->begin};
    for (size_t at = 0, n, i; g->names.n > 0 && at < text.n; at += n) {
        i = tf_placeholder_find(&g->names, text, at, &n);
        if (i < g->names.n)
            x->names[i] = g->begin + at;
    }
}

/* Find names in the translation of a sentence, and append those of addresses that it lacks, unless
 * the sentence could not be translated. */
static void find_translated(struct placing *x, const struct tf_html_sentence *s, size_t from)
{
    const struct tf_placeholders *names = &x->g->names;
    size_t first;
    for (size_t at = from, n; names->n > 0 && at < x->text.len; at += n) {
        const struct tf_text text = {x->text.p, x->text.len};
        const size_t i = tf_placeholder_find(names, text, at, &n);
        if (i < names->n && x->found[i] == SIZE_MAX)
            x->found[i] = at;
    }
    TF_FIRST(first, 0, names->n, x->names[first] >= s->begin);
    for (size_t i = first; i < names->n && x->names[i] < s->end; i++)
        if (x->found[i] == SIZE_MAX && x->g->named[i] == 0 && s->out.p != NULL)
            tf_buf_printf(&x->text, "%sX%u", x->text.len > 0 ? " " : "", names->v[i].name);
}

/* The source word of the first name in a target word; n_words: none. */
static size_t named_word(const struct placing *x, size_t begin, size_t end)
{
    const struct tf_placeholders *names = &x->g->names;
    const struct tf_text word = {x->text.p + begin, end - begin};
    for (size_t at = 0, n; names->n > 0 && at < word.n; at += n) {
        const size_t i = tf_placeholder_find(names, word, at, &n);
        if (i < names->n)
            return word_at(x, x->names[i]);
    }
    return x->n_words;
}

/* ---- sentences ---- */

/* links[t]: the source word of target word t, from 0; SIZE_MAX. */
static bool read_links(struct tf_text links, size_t *of, size_t n_source, size_t n)
{
    const char *p = links.p, *end = p + links.n;
    bool any = false;
    for (size_t t = 0; t < n; t++)
        of[t] = SIZE_MAX;
    while (p < end) {
        const size_t most = n + n_source;
        const size_t s = tf_links_number(&p, end, most), w = tf_links_number(&p, end, most);
        if (s < n_source && w < n && of[w] == SIZE_MAX) {
            of[w] = s;
            any = true;
        }
        p += p < end && *p == ' ';
    }
    return any;
}

/* Han, kana and their signs, but not Hangul: Korean has spaces. */
static bool needs_no_space(uint32_t c)
{
    return (c >= TF_WITHOUT_SPACES && c < 0x3130) || (c >= 0x3190 && c < 0xa000) ||
           (c >= 0xf900 && c < 0xfb00) || (c >= 0xfe30 && c < 0xfe50) ||
           (c >= 0xff00 && c < 0xffa0) || (c >= 0x20000 && c < 0x40000);
}

/* The end of the part of a word at p: a character of a script without spaces, or all up to one. */
static size_t part_end(const char *s, size_t p, size_t end)
{
    int len;
    for (size_t at = p; at < end; at += (size_t)len)
        if (needs_no_space(tf_utf8_get(s + at, &len)))
            return at > p ? at : at + (size_t)len;
    return end;
}

/* How many parts there are before each word: [n + 1]. Returns an array to free. */
static size_t *count_parts(const struct tf_text *words, size_t n)
{
    size_t *parts = tf_xcalloc(n + 1, sizeof *parts);
    for (size_t i = 0; i < n; i++) {
        parts[i + 1] = parts[i];
        for (size_t p = 0; p < words[i].n; parts[i + 1]++)
            p = part_end(words[i].p, p, words[i].n);
    }
    return parts;
}

static size_t parts_of(const size_t *parts, size_t word)
{
    return parts[word + 1] - parts[word];
}

/* of[u]: the source part of each target part, from the source word of each target word. The parts
 * of one word are aligned in proportion: with those of its source word, or, where a target word
 * stands for many, with those of the sentence. */
static size_t *align_parts(const size_t *of_word, const size_t *source, size_t n_source,
                           const size_t *target, size_t n)
{
    size_t *of = tf_xarray(NULL, target[n] + 1, sizeof *of),
           *linked = tf_xcalloc(2 * (n_source + 1), sizeof *linked), *done = linked + n_source + 1;
    const bool many = 3 * n < 2 * n_source;
    for (size_t t = 0; t < n; t++)
        if (of_word[t] < n_source)
            linked[of_word[t]] += parts_of(target, t);
    for (size_t t = 0; t < n; t++) {
        const size_t w = of_word[t];
        for (size_t u = target[t]; u < target[t + 1]; u++)
            if (many && parts_of(target, t) > 1)
                of[u] = u * source[n_source] / target[n];
            else if (w < n_source)
                of[u] = source[w] + done[w]++ * parts_of(source, w) / linked[w];
            else
                of[u] = SIZE_MAX;
    }
    free(linked);
    return of;
}

static void add_sentence(struct placing *x, const struct tf_html_sentence *s, uint32_t *last)
{
    const char *text = x->h->text.p;
    const size_t first = x->n_words, before = x->text.len;
    static const char space[] = " ";
    const struct tf_place place = {.before = {space, before > 0 && !s->joined && s->out.n > 0},
                                   .joined = s->joined};
    size_t n, n_source, k = 0;
    struct tf_text *from_words =
        tf_text_words((struct tf_text){text + s->begin, s->end - s->begin}, &n_source);
    for (size_t i = 0; i < n_source; i++)
        for (size_t p = (size_t)(from_words[i].p - text), stop = p + from_words[i].n, end; p < stop;
             p = end) {
            end = part_end(text, p, stop);
            add_word(x, p, end);
        }
    const size_t from = before + place.before.n;
    tf_layout_join(&x->text, &place, s->out.n > 0 ? s->out : (struct tf_text){"", 0}, last);
    find_translated(x, s, from);
    const char *t = x->text.p;
    struct tf_text *to_words =
        tf_text_words((struct tf_text){t + before, x->text.len - before}, &n);
    size_t *source = count_parts(from_words, n_source), *target = count_parts(to_words, n);
    size_t *of_word = tf_xarray(NULL, n + 1, sizeof *of_word);
    if (!read_links(s->links, of_word, n_source, n))
        for (size_t i = 0; i < n && n_source > 0; i++)
            of_word[i] = i * n_source / n;
    size_t *of = align_parts(of_word, source, n_source, target, n);
    for (size_t i = 0; i < n; i++) {
        const size_t begin = (size_t)(to_words[i].p - t), word = begin + to_words[i].n;
        for (size_t p = begin, end; p < word; p = end, k++) {
            end = part_end(t, p, word);
            size_t w = named_word(x, p, end);
            if (w == x->n_words && of[k] != SIZE_MAX)
                w = first + of[k];
            const bool sign = end - p < word - begin && tf_uc_skip_signs(t, p, end) == end;
            if (w < x->n_words && !sign)
                add_linked(x, &x->words[w], p, end);
            else
                add_unit(x, p, end, NULL, 0, 0);
        }
    }
    free(from_words);
    free(to_words);
    free(source);
    free(target);
    free(of_word);
    free(of);
}

/* ---- places ---- */

/* The child of v that a node is in; v itself; 0 if it is not in v, unless v is the root. */
static uint32_t child_of(const struct tf_html_segment *g, uint32_t v, uint32_t node)
{
    while (node != v && node != 0 && g->nodes[node].parent != v)
        node = g->nodes[node].parent;
    return node;
}

static void set_place(struct placing *x, uint32_t node, size_t a, size_t b)
{
    x->places[node] = (struct place){x->units[a].begin, x->units[b - 1].end, a, b, 0, false};
    for (size_t u = a; u < b; u++)
        x->owner[u] = node;
}

/* Runs of words for the children of v, which has the units [a, b). */
static void place_runs(struct placing *x, uint32_t v, size_t a, size_t b)
{
    const struct tf_html_segment *g = x->g;
    uint32_t now = v;
    long sum = 0;
    size_t from = a;
    for (size_t u = a; u < b; u++) {
        const struct unit *unit = &x->units[u];
        if (unit->from == unit->to)
            continue;
        const uint32_t c = child_of(g, v, unit->node);
        if (c == v || c == 0) {
            sum--;
            continue;
        }
        if (c != now || sum <= 0) {
            now = c;
            sum = 0;
            from = u;
        }
        sum++;
        if (sum > x->places[c].sum)
            x->places[c] = (struct place){.sum = sum, .a = from, .b = u + 1};
    }
}

/* The unit of [a, b) that is as far in it as an offset of the source's text is in the node v. */
static size_t in_proportion(const struct placing *x, uint32_t v, size_t a, size_t b, size_t at)
{
    const struct tf_html_node *n = &x->g->nodes[v];
    const size_t bytes = n->end > n->begin ? n->end - n->begin : 1;
    const size_t u = a + (size_t)((double)(at - n->begin) / (double)bytes * (double)(b - a));
    return u < b ? u : b - 1;
}

/* Is a unit linked to a part of a source word that c has some of? */
static bool shares(const struct placing *x, size_t u, uint32_t c)
{
    const struct tf_html_node *n = &x->g->nodes[c];
    return x->units[u].from < n->end && x->units[u].to > n->begin;
}

/* A unit of [a, b) that shares with c; b: none. */
static size_t shared_unit(const struct placing *x, uint32_t c, size_t a, size_t b)
{
    const struct tf_html_node *n = &x->g->nodes[c];
    for (size_t i = word_at(x, n->begin); i < x->n_words && x->words[i].begin < n->end; i++) {
        const struct word *w = &x->words[i];
        for (size_t u = w->first > a ? w->first : a; u < b && u <= w->last; u++)
            if (shares(x, u, c))
                return u;
    }
    return b;
}

/* An offset that is not within a node beside this one. */
static size_t beside(const struct placing *x, size_t u, bool after)
{
    const uint32_t o = x->owner[u];
    if (after)
        return o > 0 ? x->places[o].end : x->units[u].end;
    return o > 0 ? x->places[o].begin : x->units[u].begin;
}

static bool in_units(const struct word *w, size_t a, size_t b, size_t u)
{
    return w->first <= w->last && u >= a && u < b;
}

/* The first unit of [a, b) that is linked to the part of a word from an offset on; b: none. */
static size_t unit_from(const struct placing *x, const struct word *w, size_t at, size_t a,
                        size_t b)
{
    for (size_t u = w->first > a ? w->first : a; u < b && u <= w->last; u++)
        if (x->units[u].from >= at && x->units[u].from < w->end)
            return u;
    return b;
}

/* After a unit, or before it if it is the signs that a word ends with. */
static size_t after_letters(const struct placing *x, size_t u)
{
    const struct unit *unit = &x->units[u];
    return beside(x, u, tf_uc_skip_signs(x->text.p, unit->begin, unit->end) < unit->end);
}

/* Where c goes, which is in v and of which the translation has no word. */
static size_t place_empty(const struct placing *x, uint32_t v, uint32_t c)
{
    const struct place *p = &x->places[v];
    const struct tf_html_node *n = &x->g->nodes[v], *node = &x->g->nodes[c];
    const char *s = x->h->text.p;
    const size_t at = node->begin,
                 name =
                     node->name > 0 ? tf_placeholder_length(x->g->names.v[node->name - 1].name) : 0,
                 to = at + name;
    const size_t part = node->begin < node->end ? shared_unit(x, c, p->a, p->b) : p->b;
    if (part < p->b)
        return beside(x, part, c > x->owner[part]);
    if (p->a == p->b || at <= n->begin)
        return p->begin;
    if (to >= n->end)
        return p->end;
    const size_t own = word_at(x, at), next = word_at(x, to);
    const bool within = own < x->n_words && x->words[own].begin < at;
    const struct word *last = within    ? &x->words[own]
                              : own > 0 ? &x->words[own - 1]
                                        : NULL,
                      *first = next < x->n_words ? &x->words[next] : NULL;
    const bool touches = last != NULL && last->end >= at && s[to] == ' ';
    if (first != NULL && first->begin < to && in_units(first, p->a, p->b, first->last) &&
        tf_uc_skip_signs(s, to, first->end) == first->end)
        return after_letters(x, first->last);
    if (touches && in_units(last, p->a, p->b, last->last))
        return beside(x, last->last, true);
    size_t u = first != NULL ? unit_from(x, first, to, p->a, p->b) : p->b;
    if (u == p->b && last != NULL && in_units(last, p->a, p->b, last->last))
        return beside(x, last->last, true);
    u = u < p->b ? u : in_proportion(x, v, p->a, p->b, at);
    return touches && u > p->a ? beside(x, u - 1, true) : beside(x, u, false);
}

/* Is the name of c in v, and not in a node beside it? */
static bool has_name(const struct placing *x, uint32_t v, uint32_t c)
{
    const struct place *p = &x->places[v];
    const uint32_t name = x->g->nodes[c].name;
    const size_t at = name > 0 ? x->found[name - 1] : SIZE_MAX;
    size_t u;
    TF_FIRST(u, p->a, p->b, x->units[u].end > at);
    return at >= p->begin && at < p->end && u < p->b && x->owner[u] == 0;
}

static bool has_words(const struct placing *x, const struct tf_html_node *n)
{
    const size_t i = word_at(x, n->begin);
    return n->begin < n->end && i < x->n_words && x->words[i].begin < n->end;
}

/* Runs for those children of v with words that have none: what they share, or in proportion. */
static void place_rest(struct placing *x, uint32_t v, bool shared)
{
    const struct tf_html_node *nodes = x->g->nodes;
    const size_t a = x->places[v].a, b = x->places[v].b;
    for (uint32_t c = nodes[v].child; c > 0; c = nodes[c].next) {
        if (x->places[c].b > 0 || !has_words(x, &nodes[c]) || a == b)
            continue;
        size_t u = shared_unit(x, c, a, b);
        if (shared != (u < b))
            continue;
        if (!shared)
            u = in_proportion(x, v, a, b, nodes[c].begin + (nodes[c].end - nodes[c].begin) / 2);
        size_t end = u + 1;
        if (x->owner[u] > 0)
            continue;
        while (end < b && x->owner[end] == 0 && shares(x, end, c))
            end++;
        while (u > a && x->owner[u - 1] == 0 && shares(x, u - 1, c))
            u--;
        set_place(x, c, u, end);
    }
}

static void place_children(struct placing *x, uint32_t v)
{
    const struct tf_html_segment *g = x->g;
    const struct tf_html_node *nodes = g->nodes;
    const size_t a = x->places[v].a, b = x->places[v].b;
    place_runs(x, v, a, b);
    for (size_t u = a; u < b; u++)
        x->owner[u] = 0;
    for (uint32_t c = nodes[v].child; c > 0; c = nodes[c].next)
        if (x->places[c].b > 0)
            set_place(x, c, x->places[c].a, x->places[c].b);
    place_rest(x, v, true);
    place_rest(x, v, false);
    for (uint32_t c = nodes[v].child; c > 0; c = nodes[c].next)
        if (x->places[c].b == 0) {
            const bool named = has_name(x, v, c);
            const size_t at = named ? x->found[nodes[c].name - 1] : place_empty(x, v, c);
            const bool alone = nodes[c].spaced || (nodes[c].name > 0 && !named);
            x->places[c] = (struct place){at, at, a, a, 0, alone};
        }
}

/* ---- write ---- */

/* Append text with &, < and > as references. */
static void put_encoded(struct tf_buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (s[i]) {
        case '&':
            tf_buf_str(out, "&amp;");
            break;
        case '<':
            tf_buf_str(out, "&lt;");
            break;
        case '>':
            tf_buf_str(out, "&gt;");
            break;
        default:
            tf_buf_byte(out, (unsigned char)s[i]);
        }
}

/* Append [from, to) of the translation, with the text that names stand for, and without those that
 * stand for nodes. */
static void put_text(struct placing *x, size_t from, size_t to)
{
    const struct tf_placeholders *names = &x->g->names;
    const struct tf_text text = {x->text.p, x->text.len};
    size_t begin = from;
    for (size_t at = from, n; names->n > 0 && at < to; at += n) {
        const size_t i = tf_placeholder_find(names, text, at, &n);
        if (i == names->n || at + n > to)
            continue;
        put_encoded(x->out, text.p + begin, at - begin);
        tf_buf_clear(&x->original);
        if (x->g->named[i] == 0)
            tf_placeholder_put(names, i, text, at, &x->original);
        put_encoded(x->out, x->original.p, x->original.len);
        struct tf_text was;
        const size_t signs = tf_placeholders_between(names, i, text, at + n, &was);
        if (signs > 0 && at + n + signs <= to) {
            put_encoded(x->out, was.p, was.n);
            n += signs;
        }
        begin = at + n;
    }
    put_encoded(x->out, text.p + begin, to - begin);
}

/* Append the value of an attribute; what had no quotes gets some. */
static void put_value(const struct tf_html *h, const struct tf_html_segment *g, struct tf_buf *out)
{
    struct tf_buf value = {0};
    const char before = h->source[g->source_end - 1];
    const bool quoted = before == '"' || before == '\'';
    const char quote = before == '\'' ? '\'' : '"';
    tf_html_put_segment(h, g, &value);
    tf_buf_str(out, quoted ? "" : "\"");
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] == quote)
            tf_buf_str(out, quote == '"' ? "&quot;" : "&#39;");
        else
            tf_buf_byte(out, (unsigned char)value.p[i]);
    tf_buf_str(out, quoted ? "" : "\"");
    tf_buf_release(&value);
}

void tf_html_put_source(const struct tf_html *h, struct tf_text part, struct tf_buf *out)
{
    if (part.n == 0)
        return;
    size_t from = (size_t)(part.p - h->source), i;
    const size_t end = from + part.n;
    /* A part that a value begins with is of that value, not around it. */
    TF_FIRST(i, 0, h->n_values, h->values[i].source_end > from);
    for (; i < h->n_values && h->values[i].source_end < end; i++) {
        const struct tf_html_segment *g = &h->values[i];
        tf_buf_add(out, h->source + from, g->source_end - from);
        put_value(h, g, out);
        from = g->next;
    }
    tf_buf_add(out, h->source + from, end - from);
}

struct order {
    size_t begin, end;
    uint32_t node;
};

/* By place; what is empty comes before what begins there; else as in the source. */
static int compare_order(const void *p, const void *q)
{
    const struct order *x = p, *y = q;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    const bool empty = x->begin == x->end, other = y->begin == y->end;
    return empty != other ? (empty ? -1 : 1) : (x->node > y->node) - (x->node < y->node);
}

/* Does a space come between the letter there and what stands alone? */
static bool spaces(const struct placing *x, size_t letter, bool within)
{
    const uint32_t c = tf_utf8_get(x->text.p + letter, &(int){0});
    return c != ' ' && !needs_no_space(c) && (!within || tf_uc_alphanumeric(c));
}

static void put_node(struct placing *x, uint32_t v);

/* Append a node that stands alone: at an end of a word of the translation, or within. */
static void put_alone(struct placing *x, uint32_t v)
{
    const char *t = x->text.p;
    const size_t at = x->places[v].begin, before = at > 0 ? tf_utf8_before(t, at) : 0;
    const bool within = at > 0 && at < x->text.len && t[before] != ' ' && t[at] != ' ';
    if (at > 0 && spaces(x, before, within))
        tf_buf_byte(x->out, ' ');
    put_node(x, v);
    if (at < x->text.len && spaces(x, at, within))
        tf_buf_byte(x->out, ' ');
}

static void put_node(struct placing *x, uint32_t v)
{
    const struct tf_html_node *nodes = x->g->nodes;
    size_t n = 0, at = x->places[v].begin;
    tf_html_put_source(x->h, nodes[v].open, x->out);
    place_children(x, v);
    for (uint32_t c = nodes[v].child; c > 0; c = nodes[c].next)
        n++;
    struct order *order = tf_xarray(NULL, n + 1, sizeof *order);
    n = 0;
    for (uint32_t c = nodes[v].child; c > 0; c = nodes[c].next)
        order[n++] = (struct order){x->places[c].begin, x->places[c].end, c};
    qsort(order, n, sizeof *order, compare_order);
    for (size_t i = 0; i < n; i++) {
        if (order[i].begin > at)
            put_text(x, at, order[i].begin);
        (x->places[order[i].node].alone ? put_alone : put_node)(x, order[i].node);
        at = order[i].end > at ? order[i].end : at;
    }
    free(order);
    if (x->places[v].end > at)
        put_text(x, at, x->places[v].end);
    tf_buf_add(x->out, nodes[v].close.p, nodes[v].close.n);
}

void tf_html_put_segment(const struct tf_html *h, const struct tf_html_segment *g,
                         struct tf_buf *out)
{
    struct placing x = {.h = h, .g = g, .out = out};
    uint32_t last = 0;
    x.places = tf_xcalloc(g->n_nodes, sizeof *x.places);
    x.names = tf_xcalloc(g->names.n + 1, sizeof *x.names);
    x.found = tf_xarray(NULL, g->names.n + 1, sizeof *x.found);
    for (size_t i = 0; i < g->names.n; i++)
        x.found[i] = SIZE_MAX;
    find_names(&x);
    for (size_t i = 0; i < g->n_sentences; i++)
        add_sentence(&x, &h->sentences[g->sentence + i], &last);
    tf_buf_grow(&x.text, 1); /* not NULL */
    x.owner = tf_xcalloc(x.n_units + 1, sizeof *x.owner);
    x.places[0] = (struct place){0, x.text.len, 0, x.n_units, 0, false};
    tf_buf_add(out, g->lead.p, g->lead.n);
    put_node(&x, 0);
    tf_buf_add(out, g->trail.p, g->trail.n);
    tf_buf_release(&x.text);
    tf_buf_release(&x.original);
    free(x.words);
    free(x.units);
    free(x.places);
    free(x.names);
    free(x.owner);
    free(x.found);
}
