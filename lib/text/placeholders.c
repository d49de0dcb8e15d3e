/* placeholders.c - see placeholders_private.h. All signs that matter are ASCII. */
#include "text/placeholders_private.h"
#include "base/order.h"
#include "base/memory.h"
#include "text/icu_private.h"
#include "text/unicode.h"

#include <stdlib.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define OBJECT "\xf3\xf4" /* the first bytes of characters that are always kept */

/* The text ends with NUL. Each of these is the length of one at s, or 0. */

static size_t url_at(const char *s)
{
    static const char *const begins[] = {"http://", "https://", "ftp://", "www.", "mailto:"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        const size_t begin = strlen(begins[i]);
        if (strncmp(s, begins[i], begin) != 0)
            continue;
        size_t n = strcspn(s, " \t\r\n<>\"" OBJECT);
        while (n > begin && strchr(".,;:!?)]}'", s[n - 1]) != NULL)
            n--;
        return n > begin ? n : 0;
    }
    return 0;
}

static size_t mail_at(const char *s)
{
    const size_t user = strspn(s, LETTERS DIGITS "._%+-");
    if (user == 0 || s[user] != '@')
        return 0;
    size_t host = strspn(s + user + 1, LETTERS DIGITS ".-");
    const char *p = s + user + 1;
    while (host > 0 && strchr(".-", p[host - 1]) != NULL)
        host--;
    return memchr(p, '.', host) != NULL ? user + 1 + host : 0;
}

static size_t braces_at(const char *s)
{
    const size_t sign = *s == '$' || *s == '%' || *s == '#', depth = s[sign] != '{'       ? 0
                                                                     : s[sign + 1] != '{' ? 1
                                                                                          : 2;
    if (depth == 0)
        return 0;
    const char *p = s + sign + depth;
    size_t name = strspn(p, LETTERS DIGITS "_.:,!$#-[] ");
    if (memchr(p, ':', name) != NULL) /* then a form, such as {when:%H:%M} */
        name = strcspn(p, "{}\"\r\n" OBJECT);
    return strncmp(p + name, "}}", depth) == 0 ? sign + depth + name + depth : 0;
}

/* An option, --key or -k, and a name or a number with a sign before it, @maria or #42. */
static size_t sign_at(const char *s)
{
    const size_t sign = *s == '@' || *s == '#' ? 1 : *s != '-' ? 0 : s[1] == '-' ? 2 : 1;
    const size_t n = sign > 0 ? strspn(s + sign, LETTERS DIGITS "_-") : 0;
    if (n == 0 || s[sign] == '-' || (*s == '-' && strchr(DIGITS, s[sign]) != NULL))
        return 0;
    return *s == '-' && sign == 1 && n > 1 ? 0 : sign + n;
}

/* C:\Users\you, and \n as in the text of a program. */
static size_t backslash_at(const char *s)
{
    const size_t drive = strspn(s, LETTERS) > 0 && s[1] == ':' && s[2] == '\\' ? 2 : 0;
    size_t n = s[drive] == '\\' ? drive + strcspn(s + drive, " \t\r\n<>\"" OBJECT) : 0;
    while (n > drive + 1 && strchr(".,;:!?)]}'", s[n - 1]) != NULL)
        n--;
    return n;
}

/* %1, %L1 and %n of Qt. */
static size_t numbered_at(const char *s)
{
    const char *p = s + 1 + (s[1] == 'L');
    const size_t n = *p == 'n' && p == s + 1 ? 1 : strspn(p, DIGITS);
    return n >= 1 && n <= 2 && strspn(p + n, LETTERS DIGITS) == 0 ? (size_t)(p + n - s) : 0;
}

static size_t conversion_at(const char *s)
{
    const char *p = s + 1;
    if (*s != '%')
        return 0;
    if (*p == '%')
        return 2;
    if (*p == '(') {
        p += 1 + strcspn(p + 1, ")% \t\n" OBJECT);
        if (*p++ != ')')
            return 0;
    } else if (strspn(p, DIGITS) > 0 && p[strspn(p, DIGITS)] == '$') {
        p += strspn(p, DIGITS) + 1;
    }
    p += strspn(p, "-+#0'");
    p += *p == '*' ? 1 : strspn(p, DIGITS);
    if (*p == '.')
        p += 1 + strspn(p + 1, DIGITS "*");
    p += strspn(p, "hlLqjzt");
    const bool is = *p != 0 && strchr("diouxXeEfFgGcsp@", *p) != NULL;
    return is && strspn(p + 1, LETTERS DIGITS) == 0 ? (size_t)(p + 1 - s) : numbered_at(s);
}

/* The length of a character of plane 15 or 16. The text may be invalid. */
static size_t object_at(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    const bool begins = (p[0] == 0xf3 && p[1] >= 0xb0) || p[0] == 0xf4;
    return begins && p[1] >> 6 == 2 && p[2] >> 6 == 2 && p[3] >> 6 == 2 ? 4 : 0;
}

static size_t placeholder_at(const char *text, size_t at, struct tf_hide hide)
{
    const char *s = text + at;
    if (!hide.addresses || object_at(s) > 0)
        return object_at(s);
    const bool inside = at > 0 && strchr(LETTERS DIGITS "._%+-&@#", s[-1]) != NULL;
    size_t n = inside ? 0 : url_at(s);
    n = n > 0 || inside ? n : mail_at(s);
    n = n > 0 || inside ? n : sign_at(s);
    n = n > 0 || inside ? n : backslash_at(s);
    n = n > 0 ? n : braces_at(s);
    return n > 0 ? n : conversion_at(s);
}

static bool is_word(char c)
{
    return c != 0 && strchr(LETTERS DIGITS, c) != NULL;
}

/* The length of the name X1 or x1 at s, which stands alone, and its number; 0: none is there. */
static size_t name_at(struct tf_text s, size_t at, unsigned *number)
{
    const bool inside = at > 0 && is_word(s.p[at - 1]);
    size_t p = at + 1;
    if (inside || (s.p[at] != 'X' && s.p[at] != 'x'))
        return 0;
    for (*number = 0; p < s.n && s.p[p] >= '0' && s.p[p] <= '9' && p < at + 8; p++)
        *number = 10 * *number + (unsigned)(s.p[p] - '0');
    const bool more = p < s.n && is_word(s.p[p]);
    return p > at + 1 && !more ? p - at : 0;
}

/* Is there a letter or a digit beside [begin, end) of text from `from` on? A name has to stand
 * alone. */
static bool is_within(const char *text, size_t from, size_t begin, size_t end)
{
    return (begin > from && is_word(text[begin - 1])) || is_word(text[end]);
}

/* Which numbers have names in the text: more than its names and those that it gets. */
static bool *used_names(struct tf_text s)
{
    const size_t n = s.n + 2;
    bool *used = tf_xcalloc(n, sizeof *used);
    for (size_t at = 0; at < s.n; at++) {
        unsigned is;
        if (name_at(s, at, &is) > 0 && is < n)
            used[is] = true;
    }
    return used;
}

void tf_placeholders_hide(struct tf_placeholders *p, struct tf_text sentence, struct tf_hide hide,
                          struct tf_buf *out)
{
    unsigned name = 0;
    size_t from = 0, at = 0;
    bool *used = NULL;
    tf_buf_clear(&p->text);
    tf_buf_add(&p->text, sentence.p, sentence.n);
    tf_buf_byte(&p->text, 0);
    p->text.len--;
    p->n = 0;
    while (at < sentence.n) {
        size_t n = placeholder_at(p->text.p, at, hide), begin = at;
        struct tf_glossary_term term = {0};
        const bool object = object_at(p->text.p + at) > 0;
        if (n == 0 && hide.glossary != NULL)
            at +=
                tf_glossary_find(hide.glossary, (struct tf_text){p->text.p, sentence.n}, at, &term);
        if (n == 0 && (at == begin || is_within(p->text.p, from, begin, at))) {
            at = begin + 1;
            continue;
        }
        /* With the word that it is part of, and those that touch it. */
        while (n > 0 && begin > from && is_word(sentence.p[begin - 1]))
            begin--;
        for (; n > 0 && (object_at(p->text.p + at) > 0) == object;
             n = placeholder_at(p->text.p, at, hide)) {
            at += n;
            while (at < sentence.n && is_word(sentence.p[at]))
                at++;
        }
        if (term.translation.p == NULL && !object && begin > from && sentence.p[begin - 1] == '<' &&
            at < sentence.n && sentence.p[at] == '>' &&
            !is_within(p->text.p, from, begin - 1, at + 1)) { /* <a@b.org> */
            begin--;
            at++;
        }
        used = used != NULL ? used : used_names(sentence);
        while (used[++name])
            ;
        TF_GROW(p->v, p->n, p->cap);
        p->v[p->n++] = (struct tf_placeholder){name, begin, at, term};
        tf_buf_add(out, sentence.p + from, begin - from);
        tf_buf_printf(out, "%sX%u", p->n > 1 && begin == from ? " " : "", name);
        from = at;
    }
    tf_buf_add(out, sentence.p + from, sentence.n - from);
    free(used);
}

size_t tf_placeholder_length(unsigned name)
{
    size_t n = 2;
    for (; name >= 10; name /= 10)
        n++;
    return n;
}

size_t tf_placeholder_find(const struct tf_placeholders *p, struct tf_text s, size_t at,
                           size_t *bytes)
{
    unsigned name;
    size_t i;
    const size_t n = name_at(s, at, &name);
    *bytes = n > 0 ? n : 1;
    if (n == 0)
        return p->n;
    TF_FIRST(i, 0, p->n, p->v[i].name >= name);
    return i < p->n && p->v[i].name == name ? i : p->n;
}

/* Is a letter in upper case the first of a text? */
static bool begins_with_capital(struct tf_text s)
{
    int len;
    const size_t at = tf_uc_skip_signs(s.p, 0, s.n);
    return at < s.n && tf_uc_capital(tf_utf8_get(s.p + at, &len));
}

/* Has it a letter in upper case after its first letter, before any sign, as iPhone? */
static bool has_own_case(struct tf_text s)
{
    int len;
    (void)tf_utf8_get(s.p, &len);
    for (size_t at = (size_t)len; at < s.n; at += (size_t)len) {
        const uint32_t c = tf_utf8_get(s.p + at, &len);
        if (!tf_uc_alphanumeric(c))
            return false;
        if (tf_uc_capital(c))
            return true;
    }
    return false;
}

/* Are there only signs before a place, or a full stop and a space? */
static bool begins_sentence(struct tf_text s, size_t at)
{
    int len;
    for (size_t p = at; p > 0;) {
        p = tf_utf8_before(s.p, p);
        if (p + 1 < at && strchr(".!?", s.p[p]) != NULL && s.p[p + 1] == ' ')
            return true;
        if (tf_uc_alphanumeric(tf_utf8_get(s.p + p, &len)))
            return false;
    }
    return true;
}

void tf_placeholder_put(const struct tf_placeholders *p, size_t i, struct tf_text s, size_t at,
                        struct tf_buf *out)
{
    const struct tf_placeholder *v = &p->v[i];
    const struct tf_text is = v->term.translation;
    int len = 0;
    if (is.p == NULL) {
        tf_buf_add(out, p->text.p + v->begin, v->end - v->begin);
        return;
    }
    const struct tf_text text = {p->text.p, p->text.len};
    const struct tf_text from = {text.p + v->begin, v->end - v->begin};
    if (!has_own_case(is) &&
        ((begins_with_capital(text) && begins_sentence(s, at)) ||
         (!v->term.as_is && begins_with_capital(from) && !begins_sentence(text, v->begin))))
        tf_buf_char(out, tf_icu_upper(tf_utf8_get(is.p, &len)));
    tf_buf_add(out, is.p + len, is.n - (size_t)len);
}

/* Is there a letter or a digit? The text is UTF-8. */
static bool has_words(struct tf_text s)
{
    return tf_uc_skip_signs(s.p, 0, s.n) < s.n;
}

size_t tf_placeholders_between(const struct tf_placeholders *p, size_t i, struct tf_text s,
                               size_t at, struct tf_text *was)
{
    *was = (struct tf_text){p->text.p, 0};
    if (i + 1 >= p->n || p->v[i].end > p->v[i + 1].begin)
        return 0;
    *was = (struct tf_text){p->text.p + p->v[i].end, p->v[i + 1].begin - p->v[i].end};
    size_t from = at, n;
    for (size_t k = 0; k < was->n; k++) {
        while (from < s.n && s.p[from] == ' ')
            from++;
        if (was->p[k] != ' ' && (from == s.n || s.p[from++] != was->p[k]))
            return 0;
    }
    while (from < s.n && s.p[from] == ' ')
        from++;
    const bool next = from < s.n && tf_placeholder_find(p, s, from, &n) == i + 1;
    return next && !has_words(*was) ? from - at : 0;
}

bool tf_placeholders_alone(struct tf_text s)
{
    struct tf_buf signs = {0};
    unsigned number;
    bool any = false;
    for (size_t at = 0, n; at < s.n; at += n > 0 ? n : 1) {
        n = name_at(s, at, &number);
        any |= n > 0;
        if (n == 0)
            tf_buf_byte(&signs, (unsigned char)s.p[at]);
    }
    const bool alone = any && tf_utf8_span(signs.p, signs.len) == signs.len &&
                       !has_words((struct tf_text){signs.p, signs.len});
    tf_buf_release(&signs);
    return alone;
}

size_t tf_placeholders_show(const struct tf_placeholders *p, struct tf_text translation,
                            struct tf_buf *out)
{
    const size_t begin = out->len;
    size_t lost = 0, at = 0;
    bool *seen = tf_xcalloc(p->n + 1, sizeof *seen);
    while (at < translation.n) {
        size_t n;
        const size_t i = tf_placeholder_find(p, translation, at, &n);
        if (i < p->n) {
            struct tf_text was;
            tf_placeholder_put(p, i, translation, at, out);
            seen[i] = true;
            at += n;
            n = tf_placeholders_between(p, i, translation, at, &was);
            tf_buf_add(out, was.p, n > 0 ? was.n : 0);
        } else {
            tf_buf_add(out, translation.p + at, n);
        }
        at += n;
    }
    for (size_t i = 0; i < p->n; i++)
        if (!seen[i]) {
            tf_buf_str(out, out->len > begin ? " " : "");
            tf_placeholder_put(p, i, (struct tf_text){"x", 1}, 1, out);
            lost++;
        }
    free(seen);
    return lost;
}

void tf_placeholders_release(struct tf_placeholders *p)
{
    free(p->v);
    tf_buf_release(&p->text);
    *p = (struct tf_placeholders){0};
}
