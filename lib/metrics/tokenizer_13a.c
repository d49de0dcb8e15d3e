/* tokenizer_13a.c - mteval-v13a. Works on bytes, since its rules concern only ASCII and white
 * space. */
#include "metrics/tokenizers_private.h"
#include "text/unicode.h"
#include <string.h>

/* Replace every `from` in b by one byte, or by nothing (0), from left to right like str.replace. */
static void replace(struct tf_buf *b, const char *from, char to)
{
    size_t n = strlen(from), out = 0;
    for (size_t i = 0; i < b->len;) {
        if (b->p[i] == from[0] && b->len - i >= n && memcmp(b->p + i, from, n) == 0) {
            if (to)
                b->p[out++] = to;
            i += n;
        } else {
            b->p[out++] = b->p[i++];
        }
    }
    b->len = out;
}

/* Clean up the line as mteval does; the result is in t->line if anything changes. */
static struct tf_text clean(struct tf_tokens *t, struct tf_text line)
{
    bool amp = memchr(line.p, '&', line.n) != NULL,
         skip = memmem(line.p, line.n, "<skipped>", 9) != NULL;
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

/* Classes of bytes. Those that may begin a white space character of several bytes have its class,
 * though most often they belong to words. */
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
    /* mteval pads the line with a space at both ends. */
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
        /* The class of the next character matters only as N or not N, so its first byte suffices.
         */
        tf_tok_step(&s, p, n, c, p + n < end ? table[(unsigned char)p[n]] : TF_TC_SPACE);
        p += n;
    }
    tf_tok_end(&s, end);
}
