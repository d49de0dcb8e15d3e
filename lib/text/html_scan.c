/* html_scan.c - see html_private.h. Tags as in the HTML standard, section 13.2.5, without its
 * errors: an attribute's value may be in quotes, which may contain >. */
#include "text/html_private.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <strings.h>

/* What an element is. Others end a segment. */
enum what { BLOCK, INLINE, MARK, NO_TEXT, NAMED, HIDDEN, RAW, KEPT, KEPT_RAW };

static const struct element {
    const char *name;
    enum what what;
} elements[] = {
    /* sorted */
    {"a", INLINE},        {"abbr", INLINE},     {"acronym", INLINE},    {"audio", HIDDEN},
    {"b", INLINE},        {"bdi", INLINE},      {"bdo", INLINE},        {"big", INLINE},
    {"br", NO_TEXT},      {"canvas", HIDDEN},   {"cite", INLINE},       {"code", NAMED},
    {"data", INLINE},     {"del", INLINE},      {"dfn", INLINE},        {"em", INLINE},
    {"embed", NO_TEXT},   {"font", INLINE},     {"i", INLINE},          {"iframe", RAW},
    {"img", NO_TEXT},     {"input", NO_TEXT},   {"ins", INLINE},        {"kbd", NAMED},
    {"label", INLINE},    {"mark", INLINE},     {"math", NAMED},        {"nobr", INLINE},
    {"noscript", HIDDEN}, {"object", HIDDEN},   {"picture", HIDDEN},    {"pre", KEPT},
    {"q", INLINE},        {"ruby", INLINE},     {"s", INLINE},          {"samp", NAMED},
    {"script", RAW},      {"small", INLINE},    {"span", INLINE},       {"strike", INLINE},
    {"strong", INLINE},   {"style", RAW},       {"sub", INLINE},        {"sup", MARK},
    {"svg", HIDDEN},      {"template", HIDDEN}, {"textarea", KEPT_RAW}, {"time", INLINE},
    {"tt", INLINE},       {"u", INLINE},        {"var", NAMED},         {"video", HIDDEN},
    {"wbr", NO_TEXT},
};

/* Bytes of a sup that may be a mark. */
enum { LONGEST_MARK = 1000 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/* Does the name of a tag end before this? */
static bool ends_name(char c)
{
    return is_space(c) || c == '/' || c == '>';
}

static enum what what_is(const char *name, size_t n)
{
    for (size_t lo = 0, hi = sizeof elements / sizeof *elements; lo < hi;) {
        const size_t mid = (lo + hi) / 2, len = strlen(elements[mid].name);
        int c = strncasecmp(name, elements[mid].name, n < len ? n : len);
        c = c != 0 ? c : (n > len) - (n < len);
        if (c == 0)
            return elements[mid].what;
        *(c < 0 ? &hi : &lo) = c < 0 ? mid : mid + 1;
    }
    return BLOCK;
}

/* ---- tags ---- */

static bool same(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && strncasecmp(s, word, n) == 0;
}

/* The value of an attribute at p, after =. Returns its end. */
static size_t skip_value(const char *s, size_t p, size_t n, struct tf_text *value)
{
    if (p < n && (s[p] == '"' || s[p] == '\'')) {
        const char *end = memchr(s + p + 1, s[p], n - p - 1);
        *value = (struct tf_text){s + p + 1, end != NULL ? (size_t)(end - s) - p - 1 : 0};
        return end != NULL ? (size_t)(end - s) + 1 : n;
    }
    const size_t from = p;
    while (p < n && !is_space(s[p]) && s[p] != '>')
        p++;
    *value = (struct tf_text){s + from, p - from};
    return p;
}

/* What has no end. */
enum { ENDLESS = 0 };

/* The attribute at *p or after it; false: *p is where the tag ends, with /> if empty. */
static bool next_attribute(const char *s, size_t *p, size_t n, struct tf_text *name,
                           struct tf_text *value, bool *empty)
{
    size_t at = *p;
    for (*empty = false; at < n && (is_space(s[at]) || s[at] == '/'); at++)
        *empty = s[at] == '/';
    *p = at;
    if (at == n || s[at] == '>')
        return false;
    const size_t begin = at++;
    while (at < n && !is_space(s[at]) && s[at] != '=' && s[at] != '>' && s[at] != '/')
        at++;
    *name = (struct tf_text){s + begin, at - begin};
    *value = (struct tf_text){0};
    while (at < n && is_space(s[at]))
        at++;
    if (at < n && s[at] == '=') {
        for (at++; at < n && is_space(s[at]);)
            at++;
        at = skip_value(s, at, n, value);
    }
    *p = at;
    return true;
}

/* The end of a tag whose name ends at p; ENDLESS. empty: does it end with />? */
static size_t tag_end(const char *s, size_t p, size_t n, struct tf_html_item *it, bool *empty)
{
    struct tf_text name, value;
    while (next_attribute(s, &p, n, &name, &value, empty))
        it->keep = it->keep || (same(name.p, name.n, "translate") && same(value.p, value.n, "no"));
    return p < n ? p + 1 : ENDLESS;
}

/* The end of </name> from p on; ENDLESS. */
static size_t raw_end(const char *s, size_t p, size_t n, const char *name, size_t len)
{
    for (const char *lt; p < n && (lt = memchr(s + p, '<', n - p)) != NULL;) {
        p = (size_t)(lt - s) + 1;
        if (n - p <= len + 1 || s[p] != '/' || strncasecmp(s + p + 1, name, len) != 0 ||
            !ends_name(s[p + 1 + len]))
            continue;
        const char *end = memchr(s + p, '>', n - p);
        return end != NULL ? (size_t)(end - s) + 1 : ENDLESS;
    }
    return ENDLESS;
}

/* The end of what begins with <! or <?; ENDLESS. */
static size_t declaration_end(const char *s, size_t p, size_t n)
{
    static const char *const pairs[][2] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<", ">"}};
    if (n - p > 4 && memcmp(s + p, "<!--", 4) == 0 && s[p + 4] == '>')
        return p + 5; /* an empty comment */
    if (n - p > 5 && memcmp(s + p, "<!--->", 6) == 0)
        return p + 6;
    for (size_t i = 0; i < 3; i++) {
        const size_t begin = strlen(pairs[i][0]), len = strlen(pairs[i][1]);
        if (n - p < begin || memcmp(s + p, pairs[i][0], begin) != 0)
            continue;
        const char *at = memmem(s + p + begin, n - p - begin, pairs[i][1], len);
        return at != NULL ? (size_t)(at - s) + len : ENDLESS;
    }
    return ENDLESS;
}

/* The tag whose < and / the name at `name` follows. Of raw elements the content is part of it. */
static void read_tag(const char *s, size_t name, size_t n, struct tf_html_item *it)
{
    bool empty;
    it->name_end = name;
    while (it->name_end < n && !ends_name(s[it->name_end]))
        it->name_end++;
    it->what = (unsigned char)what_is(s + name, it->name_end - name);
    it->end = tag_end(s, it->name_end, n, it, &empty);
    const bool raw = it->what == RAW || it->what == KEPT_RAW;
    if (raw && !it->closes && !empty && it->end != ENDLESS)
        it->end = raw_end(s, it->end, n, s + name, it->name_end - name);
    it->is_tag = !empty && !raw && it->what != NO_TEXT && it->end != ENDLESS;
    if (it->what == BLOCK || it->what == KEPT_RAW)
        it->kind = TF_HTML_BLOCK;
    else if (it->is_tag)
        it->kind = it->closes ? TF_HTML_CLOSE : TF_HTML_OPEN;
}

/* The tag, comment or other markup at s[p], which is <; false: it is text. */
static bool markup_at(const char *s, size_t p, size_t n, struct tf_html_item *it)
{
    *it = (struct tf_html_item){.kind = TF_HTML_VOID, .begin = p, .match = SIZE_MAX};
    it->closes = p + 1 < n && s[p + 1] == '/';
    const size_t name = p + 1 + it->closes;
    if (p + 1 < n && (s[p + 1] == '!' || s[p + 1] == '?'))
        it->end = declaration_end(s, p, n);
    else if (name < n && is_letter(s[name]))
        read_tag(s, name, n, it);
    else
        return false;
    if (it->end == ENDLESS) {
        it->kind = TF_HTML_BLOCK;
        it->end = n;
        it->name_end = 0;
    }
    return true;
}

/* ---- elements that stay as they are ---- */

struct tag {
    struct tf_text name;
    size_t item;
};

static int compare_tags(const void *x, const void *y)
{
    const struct tag *a = x, *b = y;
    const size_t n = a->name.n, m = b->name.n;
    const int c = strncasecmp(a->name.p, b->name.p, n < m ? n : m);
    return c != 0 ? c : n != m ? (n > m) - (n < m) : (a->item > b->item) - (a->item < b->item);
}

/* Set match of each tag that begins an element. */
static void match_tags(const char *s, struct tf_html_item *items, size_t n)
{
    struct tag *tags = tf_xarray(NULL, n + 1, sizeof *tags);
    size_t n_tags = 0, *open = tf_xarray(NULL, n + 1, sizeof *open), n_open = 0;
    for (size_t i = 0; i < n; i++)
        if (items[i].is_tag) {
            const size_t name = items[i].begin + 1 + items[i].closes;
            tags[n_tags++] = (struct tag){{s + name, items[i].name_end - name}, i};
        }
    qsort(tags, n_tags, sizeof *tags, compare_tags);
    for (size_t i = 0; i < n_tags; i++) {
        const struct tag *t = &tags[i];
        if (i > 0 &&
            (t->name.n != t[-1].name.n || strncasecmp(t->name.p, t[-1].name.p, t->name.n) != 0))
            n_open = 0;
        if (!items[t->item].closes)
            open[n_open++] = t->item;
        else if (n_open > 0)
            items[open[--n_open]].match = t->item;
    }
    free(tags);
    free(open);
}

static bool stays(const struct tf_html_item *it)
{
    return it->kind != TF_HTML_TEXT && it->is_tag && !it->closes &&
           (it->keep || it->what == MARK || it->what == NAMED || it->what == HIDDEN ||
            it->what == KEPT);
}

/* Is the text of a sup a mark, as of a footnote: 1, * or [a], but not th? apart: has it white space
 * at an end? */
static bool is_mark(const char *s, const struct tf_html_item *items, size_t i, bool *apart)
{
    const struct tf_html_item *it = &items[i];
    if (it->match == SIZE_MAX || items[it->match].end - it->begin > LONGEST_MARK)
        return false;
    const struct tf_html_item *end = &items[it->match];
    uint32_t first = 0, last = 0;
    bool letters = false, space = false;
    while (++it < end)
        for (size_t p = it->begin, n; it->kind == TF_HTML_TEXT && p < it->end; p += n) {
            last = tf_html_char(s + p, it->end - p, false, &n);
            first = first > 0 ? first : last;
            letters = letters || last == 0 || (tf_uc_letter(last) & TF_UC_ALPHABETIC) != 0;
            space = space || tf_uc_space(last);
        }
    *apart = tf_uc_space(first) || tf_uc_space(last);
    return first > 0 && (!letters || (first == '[' && !space));
}

/* Make one item of each such element. */
static size_t join_kept(const char *s, struct tf_html_item *items, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        struct tf_html_item it = items[i];
        if (it.what == MARK && !is_mark(s, items, i, &it.apart))
            it.what = INLINE;
        const enum what what = it.what;
        if (stays(&it) && it.match != SIZE_MAX) {
            it.end = items[it.match].end;
            it.whole = true;
            i = it.match;
            it.kind = what == NAMED || what == INLINE  ? TF_HTML_OBJECT
                      : what == HIDDEN || what == MARK ? TF_HTML_VOID
                                                       : TF_HTML_BLOCK;
        } else if (it.is_tag && what != INLINE) {
            it.kind = TF_HTML_BLOCK;
        }
        items[to++] = it;
    }
    return to;
}

struct tf_html_item *tf_html_scan(const char *s, size_t n, size_t *count)
{
    struct tf_html_item *items = NULL, it;
    size_t n_items = 0, cap = 0, from = 0, p = 0;
    bool any = false;
    while (p < n || from < n) {
        const char *lt = p < n ? memchr(s + p, '<', n - p) : NULL;
        p = lt != NULL ? (size_t)(lt - s) : n;
        const bool is = p < n && markup_at(s, p, n, &it);
        if (p < n && !is) { /* a < of the text */
            p++;
            continue;
        }
        TF_GROW(items, n_items + 1, cap);
        if (from < p)
            items[n_items++] = (struct tf_html_item){.begin = from, .end = p};
        if (is)
            items[n_items++] = it;
        any = any || (is && stays(&it));
        from = p = is ? it.end : n;
    }
    if (any)
        match_tags(s, items, n_items);
    *count = join_kept(s, items, n_items);
    return items;
}

/* ---- attributes that people read ---- */

static bool is_one_of(struct tf_text name, const char *const *words)
{
    for (; *words != NULL; words++)
        if (same(name.p, name.n, *words))
            return true;
    return false;
}

/* Does an attribute make a text of the value of an input, or of the content of a meta element? */
static bool makes_text(struct tf_text tag, struct tf_text name, struct tf_text value)
{
    static const char *const buttons[] = {"submit", "button", "reset", NULL},
                             *const metas[] = {"description", "og:title", "og:description",
                                               "twitter:title", "twitter:description", NULL},
                             *const names[] = {"name", "property", NULL};
    return same(tag.p, tag.n, "input") ? same(name.p, name.n, "type") && is_one_of(value, buttons)
                                       : is_one_of(name, names) && is_one_of(value, metas);
}

static bool is_readable(struct tf_text tag, struct tf_text name, bool text)
{
    static const char *const always[] = {"alt",   "aria-label", "label", "placeholder",
                                         "title", NULL};
    return is_one_of(name, always) ||
           (text && same(name.p, name.n, same(tag.p, tag.n, "input") ? "value" : "content"));
}

bool tf_html_readable(const char *s, const struct tf_html_item *it, struct tf_html_attributes *a,
                      struct tf_text *value)
{
    struct tf_text name;
    bool empty;
    size_t p = it->name_end;
    if (p == 0 || it->closes || it->whole || it->keep)
        return false;
    const struct tf_text tag = {s + it->begin + 1, p - it->begin - 1};
    const bool may = same(tag.p, tag.n, "input") || same(tag.p, tag.n, "meta");
    while (may && a->next == 0 && next_attribute(s, &p, it->end, &name, value, &empty))
        a->text = a->text || makes_text(tag, name, *value);
    a->next = a->next > 0 ? a->next : it->name_end;
    while (next_attribute(s, &a->next, it->end, &name, value, &empty))
        if (is_readable(tag, name, a->text) && value->n > 0)
            return true;
    return false;
}

/* ---- references ---- */

/* Of U+00A0 to U+00FF in order, and of others: those of HTML 4, and all that may lack their ; */
static const char *const latin[] = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",
    "copy",   "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn",
    "sup2",   "sup3",   "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",
    "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde",
    "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave",
    "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde",
    "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",
    "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil",
    "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",   "eth",
    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};
static const struct {
    const char *name;
    uint32_t c;
} others[] = {{"amp", '&'},       {"lt", '<'},        {"gt", '>'},       {"quot", '"'},
              {"AMP", '&'},       {"LT", '<'},        {"GT", '>'},       {"QUOT", '"'},
              {"COPY", 0xa9},     {"REG", 0xae},
              {"apos", '\''},     {"OElig", 0x152},   {"oelig", 0x153},  {"Scaron", 0x160},
              {"scaron", 0x161},  {"Yuml", 0x178},    {"fnof", 0x192},   {"circ", 0x2c6},
              {"tilde", 0x2dc},   {"ensp", 0x2002},   {"emsp", 0x2003},  {"thinsp", 0x2009},
              {"zwnj", 0x200c},   {"zwj", 0x200d},    {"lrm", 0x200e},    {"rlm", 0x200f},
              {"ndash", 0x2013},  {"mdash", 0x2014},  {"lsquo", 0x2018}, {"rsquo", 0x2019},
              {"sbquo", 0x201a},  {"ldquo", 0x201c},  {"rdquo", 0x201d}, {"bdquo", 0x201e},
              {"dagger", 0x2020}, {"Dagger", 0x2021}, {"bull", 0x2022},  {"hellip", 0x2026},
              {"permil", 0x2030}, {"prime", 0x2032},  {"Prime", 0x2033}, {"lsaquo", 0x2039},
              {"rsaquo", 0x203a}, {"euro", 0x20ac},   {"trade", 0x2122}, {"larr", 0x2190},
              {"uarr", 0x2191},   {"rarr", 0x2192},   {"darr", 0x2193},  {"minus", 0x2212},
              {"le", 0x2264},     {"ge", 0x2265},     {"ne", 0x2260}};
/* The first so many of the others may lack it; and the length of such a name. */
enum { OLD_OTHERS = 10, OLD_LENGTH = 6 };
/* What &#128; to &#159; are: characters of Windows-1252. */
static const uint16_t windows[] = {0x20ac, 0,      0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                   0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0,      0x17d,  0,
                                   0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                   0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0,      0x17e,  0x178};

static uint32_t named(const char *name, size_t n, size_t n_others)
{
    for (size_t i = 0; i < sizeof latin / sizeof *latin; i++)
        if (strlen(latin[i]) == n && memcmp(latin[i], name, n) == 0)
            return 0xa0 + (uint32_t)i;
    for (size_t i = 0; i < n_others; i++)
        if (strlen(others[i].name) == n && memcmp(others[i].name, name, n) == 0)
            return others[i].c;
    return 0;
}

static uint32_t numbered(const char *s, size_t n, uint32_t base)
{
    uint32_t c = 0;
    for (size_t i = 0; i < n && c <= 0x10ffff; i++)
        c = c * base + (uint32_t)(s[i] <= '9' ? s[i] - '0' : (s[i] | 32) - 'a' + 10);
    if (c >= 0x80 && c <= 0x9f)
        return windows[c - 0x80];
    const bool is = (c >= 0x20 || (c >= 9 && c <= 13)) && c != 0x7f && (c < 0xd800 || c > 0xdfff) &&
                    c <= 0x10ffff;
    return is ? c : 0;
}

/* The character that the reference at s stands for, with its bytes; 0 if it is none, *n then 0 if
 * it does not even look like one. The oldest may lack their ; which in an attribute holds only
 * where no letter, digit or = follows. */
static uint32_t reference(const char *s, size_t max, bool attribute, size_t *n)
{
    enum { LONGEST = 34 }; /* of HTML's names, with & and ; */
    const bool number = max > 1 && s[1] == '#', hex = number && max > 2 && (s[2] | 32) == 'x';
    const size_t most = number || max < LONGEST ? max : LONGEST;
    const size_t from = 1u + number + hex;
    size_t p = from;
    while (p < most && ((s[p] >= '0' && s[p] <= '9') ||
                        (number ? hex && strchr("abcdef", s[p] | 32) != NULL : is_letter(s[p]))))
        p++;
    const bool whole = p > from && p < most && s[p] == ';';
    *n = whole ? p + 1 : number && p > from ? p : 0;
    if (*n > 0)
        return number ? numbered(s + from, p - from, hex ? 16 : 10)
                      : named(s + from, p - from, sizeof others / sizeof *others);
    if (number || (attribute && p < most && s[p] == '='))
        return 0;
    const size_t least = attribute ? p : from + 2;
    uint32_t c = 0;
    for (p = p < from + OLD_LENGTH ? p : from + OLD_LENGTH; p >= least && c == 0; p--)
        if ((c = named(s + from, p - from, OLD_OTHERS)) != 0)
            *n = p;
    return c;
}

uint32_t tf_html_char(const char *s, size_t max, bool attribute, size_t *n)
{
    int len;
    const uint32_t c = tf_utf8_get(s, &len), is = c == '&' ? reference(s, max, attribute, n) : 0;
    if (c == '&' && *n > 0)
        return is;
    *n = (size_t)len;
    return c;
}
