/* tokenize_13a.c - mteval-v13a: bytes are enough, since its rules ask only for ASCII and for white
 * space. */
#include "metrics/tokenize.h"
#include "text/unicode.h"
#include <string.h>

/* Replace every `from` in b by one byte, or by nothing (0); a pass from left to right, as
 * str.replace does it. */
static void replace(struct tf_buf *b, const char *from, char to)
{
    size_t n = strlen(from), out = 0;
    for (size_t i = 0; i < b->len;) {
        if (b->p[i] == from[0] && b->len - i >= n && !memcmp(b->p + i, from, n)) {
            if (to)
                b->p[out++] = to;
            i += n;
        } else {
            b->p[out++] = b->p[i++];
        }
    }
    b->len = out;
}

/* The line after mteval's clean-up, in t->line when it changes. */
static struct tf_text clean(struct tf_tokens *t, struct tf_text line)
{
    bool amp = memchr(line.p, '&', line.n), skip = memmem(line.p, line.n, "<skipped>", 9);
    if (!amp && !skip)
        return line;
    tf_buf_clear(&t->line);
    tf_buf_add(&t->line, line.p, line.n);
    if (skip)
        replace(&t->line, "<skipped>", 0);
    if (amp) {
        replace(&t->line, "&quot;", '"');
        replace(&t->line, "&amp;", '&');
        replace(&t->line, "&lt;", '<');
        replace(&t->line, "&gt;", '>');
    }
    return (struct tf_text){t->line.p, t->line.len};
}

/* Bytes by class. Those that may begin white space of several bytes are listed as such, though most
 * often they are words. */
static enum tf_tok_class table[256];

static void make_table(void)
{
    for (int b = 0; b < 0x80; b++)
        table[b] = tf_tok_ascii((unsigned)b);
    for (int b = 0x80; b < 0x100; b++)
        table[b] = b == 0xC2 || (b >= 0xE1 && b <= 0xE3) ? TF_TC_SPACE : TF_TC_WORD;
}

void tf_tokenize_13a(struct tf_tokens *t, struct tf_text line)
{
    if (!table[' '])
        make_table();
    t->n = 0;
    if (!line.n)
        return;
    line = clean(t, line);
    const char *end = line.p + line.n;
    /* The line is padded with blanks, so a blank stands on either side of it. */
    struct tf_tok_scan s = {.t = t, .last = TF_TC_SPACE};
    for (const char *p = line.p; p < end;) {
        enum tf_tok_class c = table[(unsigned char)*p];
        size_t n = 1;
        if (c == TF_TC_WORD) {
            while (p + n < end && table[(unsigned char)p[n]] == TF_TC_WORD)
                n++;
        } else if (c == TF_TC_SPACE && (unsigned char)*p >= 0x80) {
            int space = tf_uc_space_at(p);
            n = space ? (size_t)space : 1;
            c = space ? TF_TC_SPACE : TF_TC_WORD;
        }
        /* After P only N is told from the rest, so a lead byte need not be looked into. */
        tf_tok_step(&s, p, n, c, p + n < end ? table[(unsigned char)p[n]] : TF_TC_SPACE);
        p += n;
    }
    tf_tok_end(&s, end);
}
