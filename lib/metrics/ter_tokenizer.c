/* ter_tokenizer.c - Tercom's normalisation after sacreBLEU's tokenizer_ter.py: one pass over the
 * line for each of its substitutions. */
#include "metrics/ter_private.h"
#include <string.h>

static bool is_mark(uint32_t c) /* [{-~[-` -&(-+:-@/] */
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_stop(uint32_t c)
{
    return c == '.' || c == ',';
}

static bool not_digit_stop(unsigned char a, unsigned char b)
{
    return !is_digit(a) && is_stop(b);
}

static bool stop_not_digit(unsigned char a, unsigned char b)
{
    return is_stop(a) && !is_digit(b);
}

static bool digit_dash(unsigned char a, unsigned char b)
{
    return is_digit(a) && b == '-';
}

static void swap_bufs(struct tf_buf *a, struct tf_buf *b)
{
    struct tf_buf old = *a;
    *a = *b;
    *b = old;
}

/* Replace pairs of bytes that satisfy `is`, from left to right, by `form`, in which each % stands
 * for the next byte of the pair. Bytes give the same result as characters, since only ASCII
 * characters are classified. */
static void pairs(struct tf_buf *b, struct tf_buf *tmp, bool (*is)(unsigned char, unsigned char),
                  const char *form)
{
    tf_buf_clear(tmp);
    for (size_t i = 0; i < b->len;) {
        if (i + 1 < b->len && is((unsigned char)b->p[i], (unsigned char)b->p[i + 1])) {
            for (const char *f = form; *f; f++)
                tf_buf_byte(tmp, *f == '%' ? (unsigned char)b->p[i++] : (unsigned char)*f);
        } else {
            tf_buf_byte(tmp, (unsigned char)b->p[i++]);
        }
    }
    swap_bufs(b, tmp);
}

static void replace(struct tf_buf *b, struct tf_buf *tmp, const char *from, const char *to)
{
    size_t n = strlen(from);
    if (!b->len || memmem(b->p, b->len, from, n) == NULL)
        return;
    tf_buf_clear(tmp);
    for (size_t i = 0; i < b->len;) {
        if (b->len - i >= n && memcmp(b->p + i, from, n) == 0) {
            tf_buf_str(tmp, to);
            i += n;
        } else {
            tf_buf_byte(tmp, (unsigned char)b->p[i++]);
        }
    }
    swap_bufs(b, tmp);
}

/* Put spaces around the characters that satisfy `is`, or remove them. */
static void each(struct tf_buf *b, struct tf_buf *tmp, bool (*is)(uint32_t), bool remove)
{
    tf_buf_clear(tmp);
    int len;
    for (size_t i = 0; i < b->len; i += (size_t)len) {
        bool found = is(tf_utf8_get(b->p + i, &len));
        if (found && remove)
            continue;
        if (found)
            tf_buf_byte(tmp, ' ');
        tf_buf_add(tmp, b->p + i, (size_t)len);
        if (found)
            tf_buf_byte(tmp, ' ');
    }
    swap_bufs(b, tmp);
}

static bool asian_punct(uint32_t c)
{
    static const uint16_t wide[] = {0xFF0E, 0xFF0C, 0xFF1F, 0xFF1A, 0xFF1B,
                                    0xFF01, 0xFF02, 0xFF08, 0xFF09, 0x30FB};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (c == wide[i])
            return true;
    return c == 0x3001 || c == 0x3002 || (c >= 0x3008 && c <= 0x3011) ||
           (c >= 0x3014 && c <= 0x301F) || (c >= 0xFF61 && c <= 0xFF65);
}

/* tokenizer_ter.py's rules for kana match only at the start of the line, where a space has been
 * inserted before; they never apply and are left out. */
static bool asian(uint32_t c)
{
    return (c >= 0x2E80 && c <= 0x2EFF) || (c >= 0x31C0 && c <= 0x31EF) ||
           (c >= 0x3200 && c <= 0x3F22) || (c >= 0x3300 && c <= 0x33FF) ||
           (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE4F) || asian_punct(c);
}

static bool punct(uint32_t c)
{
    return c && c < 0x80 && strchr(".,?:;!\"()", (int)c) != NULL;
}

static void normalize(struct tf_buf *b, struct tf_buf *tmp)
{
    replace(b, tmp, "&quot;", "\"");
    replace(b, tmp, "&amp;", "&");
    replace(b, tmp, "&lt;", "<");
    replace(b, tmp, "&gt;", ">");
    tf_buf_clear(tmp);
    tf_buf_byte(tmp, ' ');
    tf_buf_add(tmp, b->p, b->len);
    tf_buf_byte(tmp, ' ');
    tf_buf_clear(b);
    tf_buf_add(b, tmp->p, tmp->len);
    each(b, tmp, is_mark, false);
    replace(b, tmp, "'s ", " 's ");
    pairs(b, tmp, not_digit_stop, "% % ");
    pairs(b, tmp, stop_not_digit, " % %");
    pairs(b, tmp, digit_dash, "% % ");
}

void tf_tokenize_ter(struct tf_tokens *t, struct tf_buf *scratch, struct tf_text line,
                     const struct tf_ter_opts *o)
{
    line.n = tf_uc_rstrip(line.p, line.n);
    if (line.n && (!o->case_sensitive || o->normalized || o->no_punct)) {
        tf_buf_clear(&t->lower);
        if (o->case_sensitive)
            tf_buf_add(&t->lower, line.p, line.n);
        else
            tf_uc_lower(&t->lower, line.p, line.n);
        if (o->normalized) {
            normalize(&t->lower, scratch);
            if (o->asian)
                each(&t->lower, scratch, asian, false);
        }
        if (o->no_punct) {
            each(&t->lower, scratch, punct, true);
            if (o->asian)
                each(&t->lower, scratch, asian_punct, true);
        }
        line = (struct tf_text){t->lower.p, t->lower.len};
    }
    tf_tokenize_none(t, line);
}
