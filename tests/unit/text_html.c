/* HTML that is translated: every tag is in the result once and where it was nested, and the text is
 * the translation, whatever the tree, the translation and its links are. */
#include "../harness/tap.h"
#include "base/memory.h"
#include "base/rng.h"
#include "text/html.h"

#include <ctype.h>
#include <string.h>

enum { MOST = 400 };

static struct tf_rng rng;

static unsigned below(unsigned n)
{
    return (unsigned)tf_rng_below(&rng, n);
}

/* ---- random fragments: each element has its number as id, from 1 ---- */

static int elements;

static void put_words(struct tf_buf *out)
{
    static const char *const words[] = {
        "one",  "two,",  "(three)",     "fo&amp;ur", "f&eacute;ve", "x .", "\xC3\xA9t\xC3\xA9",
        "six.", "&lt;7", "\xE4\xB8\xAD"};
    static const char *const between[] = {" ", "\n ", "", "&nbsp;", " "};
    for (unsigned n = below(4); n > 0; n--) {
        tf_buf_str(out, words[below(sizeof words / sizeof *words)]);
        tf_buf_str(out, between[below(sizeof between / sizeof *between)]);
    }
}

static void put_inline(struct tf_buf *out, int depth)
{
    static const char *const names[] = {"b", "i", "A", "span", "em"};
    for (unsigned n = below(5); n > 0 && elements < MOST - 1; n--) {
        const char *name = names[below(5)];
        put_words(out);
        switch (depth < 4 ? below(6) : 5) {
        case 0:
            tf_buf_printf(out, "<img id=%d alt='>'>", ++elements);
            break;
        case 1:
            tf_buf_printf(out, "<code id=%d>kept &amp; <b>x</b></code>", ++elements);
            break;
        case 2:
            tf_buf_printf(out, "<br id=%d />", ++elements);
            break;
        case 3:
        case 4:
            tf_buf_printf(out, "<%s id=%d>", name, ++elements);
            put_inline(out, depth + 1);
            tf_buf_printf(out, "</%s>", name);
            break;
        default:
            break;
        }
        put_words(out);
    }
}

static void put_blocks(struct tf_buf *out)
{
    for (unsigned n = 1 + below(4); n > 0; n--) {
        tf_buf_printf(out, "<p id=%d>", ++elements);
        put_inline(out, 0);
        tf_buf_str(out, "</p>");
    }
}

/* ---- what is in a fragment ---- */

/* What may have spaces of its own beside it, but not where a paragraph begins. */
enum { ALONE = 1 };

static void put_alone(struct tf_buf *text)
{
    size_t n = text->len;
    while (n > 0 && (text->p[n - 1] == ' ' || text->p[n - 1] == '\n'))
        n--;
    if (n > 0 && text->p[n - 1] != '|')
        tf_buf_byte(text, ALONE);
}

/* The length of the letters that stay with code, which they follow. */
static size_t ending(const char *s)
{
    static const char *const letters[] = {"\xC3\xA9", "&eacute;"};
    size_t n = 0;
    for (size_t was = 1; n != was;) {
        was = n;
        n += isalnum((unsigned char)s[n]) != 0;
        for (size_t i = 0; i < 2; i++)
            n += strncmp(s + n, letters[i], strlen(letters[i])) == 0 ? strlen(letters[i]) : 0;
    }
    return n;
}

/* parents[id]: the id that it is in; 0: none, -1: it is not there. text: without tags and what is
 * in code, with | for those of paragraphs, and ALONE for code and img. False: it is not
 * well-formed. */
static bool read_back(const char *s, int *parents, struct tf_buf *text)
{
    struct {
        int id;
        char name[8];
    } open[64] = {{0}};
    int depth = 0, code = 0;
    for (int i = 0; i < MOST; i++)
        parents[i] = -1;
    while (*s != 0) {
        char name[8] = {0};
        int id = 0;
        if (*s != '<') {
            if (code == 0)
                tf_buf_byte(text, (unsigned char)*s);
            s++;
            continue;
        }
        const char *end = strchr(s, '>');
        if (end[-1] == '\'')
            end = strchr(end + 1, '>'); /* after that of alt='>' */
        const bool closes = s[1] == '/';
        sscanf(s + 1 + closes, "%7[a-zA-Z] id=%d", name, &id);
        if (strcmp(name, "p") == 0)
            tf_buf_byte(text, '|');
        if (!closes && (strcmp(name, "code") == 0 || strcmp(name, "img") == 0))
            put_alone(text);
        if (closes) {
            if (depth == 0 || strcmp(open[depth].name, name) != 0)
                return false;
            code -= strcmp(name, "code") == 0;
            depth--;
        } else if (code == 0) {
            if (id < 1 || id >= MOST || parents[id] >= 0)
                return false;
            parents[id] = open[depth].id;
        }
        if (!closes && strcmp(name, "img") != 0 && strcmp(name, "br") != 0) {
            open[++depth].id = id;
            memcpy(open[depth].name, name, sizeof name);
            code += strcmp(name, "code") == 0;
        }
        s = end + 1;
        if (closes && strcmp(name, "code") == 0)
            s += ending(s);
    }
    return depth == 0;
}

/* White space of one kind, once, and none around |; no || either. */
static void squeeze(struct tf_buf *b)
{
    size_t to = 0;
    for (size_t i = 0; i < b->len; i++) {
        char c = b->p[i];
        c = c == '\n' || c == '\t' ? ' ' : c;
        const char last = to > 0 ? b->p[to - 1] : '|';
        if ((c == ' ' || c == '|') && last == '|')
            continue;
        if (c == '|' && last == ' ')
            to--;
        if (c == ' ' && last == ' ')
            continue;
        if (c == '|' && to > 0 && b->p[to - 1] == '|')
            continue;
        b->p[to++] = c;
    }
    b->len = to;
    tf_buf_byte(b, 0);
}

/* Is that the text, but for ALONE and the spaces beside it? */
static bool is_text(const char *is, const char *want)
{
    for (;; is++) {
        if (*is == ALONE || (*is == ' ' && *want != ' ' && (is[-1] == ALONE || is[1] == ALONE)))
            continue;
        if (*is != *want++)
            return false;
        if (*is == 0)
            return true;
    }
}

/* ---- random translations ---- */

static void encode(struct tf_buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] == '&' || s[i] == '<')
            tf_buf_str(out, s[i] == '&' ? "&amp;" : "&lt;");
        else
            tf_buf_byte(out, (unsigned char)s[i]);
}

/* Set a translation: words in another order, some twice, some lost, with links that are right,
 * wrong or none. Append it to what is expected, without names of what is kept. */
static void translate(struct tf_html *h, size_t i, struct tf_buf *want)
{
    const struct tf_text s = tf_html_sentence(h, i);
    struct tf_buf out = {0}, links = {0};
    char *copy = tf_xstrndup(s.p, s.n), *words[1000];
    size_t n = 0, made = 0;
    for (char *w = strtok(copy, " "); w != NULL; w = strtok(NULL, " "))
        words[n++] = w;
    const unsigned how = below(3);
    tf_buf_grow(&out, 1);
    tf_buf_grow(&links, 1);
    tf_buf_byte(want, '|');
    for (size_t k = 0; k < n + 2; k++) {
        const size_t w = how == 0 ? k : below((unsigned)n);
        if (w >= n || (how == 1 && below(4) == 0))
            continue;
        tf_buf_str(&out, made > 0 ? " " : "");
        tf_buf_str(&out, words[w]);
        if (how < 2)
            tf_buf_printf(&links, "%s%zu-%zu", links.len > 0 ? " " : "", w, made);
        else if (below(2) == 0)
            tf_buf_printf(&links, "%s%u-%u", links.len > 0 ? " " : "", below(1000), below(20));
        made++;
    }
    for (char *p = out.p; p < out.p + out.len; p++) {
        size_t name = 0;
        if (*p == 'X')
            for (name = 1; p[name] >= '0' && p[name] <= '9';)
                name++;
        if (name > 1) /* with the word that it is part of, which is kept as well */
            p += name - 1;
        else
            encode(want, p, 1);
    }
    tf_html_set(h, i, (struct tf_text){out.p, out.len}, (struct tf_text){links.p, links.len});
    tf_buf_release(&out);
    tf_buf_release(&links);
    free(copy);
}

static void random_fragment(unsigned number)
{
    struct tf_buf source = {0}, out = {0}, was = {0}, is = {0}, want = {0};
    struct tf_html *h;
    struct tf_err err = {0};
    int before[MOST], after[MOST];
    rng = tf_rng_new(7, number);
    elements = 0;
    put_blocks(&source);
    must(tf_html_new(&h, source.p, source.len, NULL, (struct tf_hide){0}, &err), &err);
    for (size_t i = 0; i < tf_html_count(h); i++)
        translate(h, i, &want);
    tf_html_write(h, &out);
    tf_buf_byte(&want, '|');
    const bool good = read_back(source.p, before, &was) && read_back(out.p, after, &is);
    squeeze(&is);
    squeeze(&want);
    ok(good && memcmp(before, after, sizeof before) == 0, "fragment %u: its tags", number);
    if (!ok(is_text(is.p, want.p), "fragment %u: its text", number))
        is_str(is.p, want.p, "fragment %u", number);
    tf_html_free(h);
    tf_buf_release(&source);
    tf_buf_release(&out);
    tf_buf_release(&was);
    tf_buf_release(&is);
    tf_buf_release(&want);
}

/* A tag of many attributes, which take minutes if each of them is one more way through all. */
static void many_values(const char *attribute, size_t want)
{
    struct tf_buf source = {0};
    struct tf_html *h;
    struct tf_err err = {0};
    tf_buf_str(&source, "<input ");
    for (int i = 0; i < 100000; i++)
        tf_buf_str(&source, attribute);
    tf_buf_str(&source, "type=reset>");
    must(tf_html_new(&h, source.p, source.len, NULL, (struct tf_hide){0}, &err), &err);
    is_int((long long)tf_html_count(h), (long long)want, "values of %s", attribute);
    tf_html_free(h);
    tf_buf_release(&source);
}

int main(void)
{
    many_values("title=a value='b' ", 200000);
    for (unsigned i = 0; i < 500; i++)
        random_fragment(i);
    return done();
}
