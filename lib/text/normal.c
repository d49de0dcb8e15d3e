/* normal.c - see normal_private.h. */
#include "text/normal_private.h"
#include "base/utf8.h"
#include "text/sp_piece.h"
#include "text/sp_settings_private.h"
#include "text/unicode.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* ---- rules ---- */

void tf_normal_read(struct tf_normal *m, const void *bytes, size_t n,
                    const struct tf_piece_trie *user)
{
    const struct tf_sp_settings is = tf_sp_settings_of(bytes, n);
    *m = (struct tf_normal){.user = user,
                            .has_user = user->v != NULL,
                            .prefix = is.add_space && !is.space_ends,
                            .suffix = is.add_space && is.space_ends,
                            .single = is.single_spaces,
                            .escape = is.escape_spaces,
                            .splits = (is.white & TF_WHITE_SPLITS) != 0,
                            .begins = (is.white & TF_WHITE_BEGINS) != 0};
    tf_charsmap_open(&m->map, is.charsmap);
    for (unsigned c = 0; c < 0x80; c++)
        m->plain[c] = tf_charsmap_leaves(&m->map, (unsigned char)c) &&
                      !(m->splits && tf_uc_white(c)) &&
                      !(m->has_user && tf_piece_next(user, 0, (unsigned char)c) != 0);
}

/* ---- text ---- */

/* What the first bytes of s, `taken`, become. */
struct part {
    const char *p;
    size_t n, taken;
};

static struct part next_part(const struct tf_normal *m, const char *s, size_t n)
{
    uint32_t id;
    const char *text;
    int chars;
    size_t len = m->has_user ? tf_piece_longest(m->user, s, n, &id) : 0;
    if (len > 0)
        return (struct part){s, len, len};
    len = tf_charsmap_find(&m->map, s, n, &text);
    if (len > 0)
        return (struct part){text, strlen(text), len};
    len = tf_utf8_at(s, n);
    if (len > 0 && m->splits && tf_uc_white(tf_utf8_get(s, &chars)))
        return (struct part){" ", 1, len};
    if (len > 0)
        return (struct part){s, len, len};
    /* The rest of a character, of which the table replaces the first bytes. */
    return (struct part){REPLACEMENT, sizeof REPLACEMENT - 1, 1};
}

static void put_space(const struct tf_normal *m, struct tf_buf *out)
{
    if (m->escape)
        tf_buf_add(out, TF_SPACE, sizeof TF_SPACE - 1);
    else
        tf_buf_byte(out, ' ');
}

static void put_text(const struct tf_normal *m, const char *p, size_t n, struct tf_buf *out)
{
    for (const char *space; n > 0 && (space = memchr(p, ' ', n)) != NULL;) {
        const size_t before = (size_t)(space - p);
        tf_buf_add(out, p, before);
        put_space(m, out);
        p += before + 1;
        n -= before + 1;
    }
    tf_buf_add(out, p, n);
}

/* The number of bytes from s on that stay as they are, and are no spaces. */
static size_t plain_run(const struct tf_normal *m, const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (unsigned char)s[i] < 0x80 && s[i] != ' ' && m->plain[(unsigned char)s[i]])
        i++;
    /* The last one may begin a text that is replaced. */
    return i > 0 && i < n && (unsigned char)s[i] >= 0x80 ? i - 1 : i;
}

static void drop_spaces(const struct tf_normal *m, size_t from, struct tf_buf *out)
{
    const char *space = m->escape ? TF_SPACE : " ";
    const size_t n = strlen(space);
    while (out->len - from >= n && memcmp(out->p + out->len - n, space, n) == 0)
        out->len -= n;
}

/* The bytes that are spaces where the text begins. *blank: are there any? */
static size_t skip_spaces(const struct tf_normal *m, const char *s, size_t n, bool *blank)
{
    struct part part;
    size_t at = 0;
    *blank = false;
    for (; m->single && at < n; at += part.taken) {
        part = next_part(m, s + at, n - at);
        if ((part.n > 0 || !m->begins) && (part.n != 1 || part.p[0] != ' '))
            break;
        *blank = *blank || part.n > 0;
    }
    return at;
}

void tf_normal_white(const struct tf_normal *m, const char *s, size_t n, struct tf_buf *out)
{
    struct part part;
    bool blank;
    size_t at = skip_spaces(m, s, n, &blank);
    if (at < n && m->begins && blank)
        tf_buf_add(out, TF_SPACE, sizeof TF_SPACE - 1);
    for (; at < n; at += part.taken) {
        part = next_part(m, s + at, n - at);
        if (part.n == 1 && part.p[0] == ' ')
            tf_buf_byte(out, ' ');
        else
            tf_buf_add(out, s + at, part.taken);
    }
}

void tf_normalise(const struct tf_normal *m, const char *s, size_t n, struct tf_buf *out)
{
    const size_t from = out->len;
    struct part part;
    bool blank;
    size_t at = skip_spaces(m, s, n, &blank);
    if (at == n)
        return;
    if (m->prefix || (m->begins && blank))
        put_space(m, out);
    for (bool after_space = m->single; at < n; at += part.taken) {
        const size_t run = plain_run(m, s + at, n - at);
        part = run > 0 ? (struct part){s + at, run, run} : next_part(m, s + at, n - at);
        while (after_space && part.n > 0 && part.p[0] == ' ') {
            part.p++;
            part.n--;
        }
        if (part.n > 0) {
            put_text(m, part.p, part.n, out);
            after_space = m->single && part.p[part.n - 1] == ' ';
        }
    }
    if (m->single)
        drop_spaces(m, from, out);
    if (m->suffix)
        put_space(m, out);
}
