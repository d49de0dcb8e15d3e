/* UTF-8 against a second implementation written from the bit patterns: all pairs of bytes, borders
 * of every range, and what is replaced by what. */
#include "../tap.h"
#include "text/utf8.h"

/* From the definition: decode by bit patterns, then refuse overlong forms, surrogates and what lies
 * beyond U+10FFFF. */
static size_t plain(const unsigned char *p, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80       ? 1
                 : p[0] >> 5 == 6  ? 2
                 : p[0] >> 4 == 14 ? 3
                 : p[0] >> 3 == 30 ? 4
                                   : 0;
    if (len == 0 || len > n)
        return 0;
    uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    return c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : len;
}

static size_t plain_span(const unsigned char *p, size_t n)
{
    size_t i = 0, len;
    while (i < n && (len = plain(p + i, n - i)) > 0)
        i += len;
    return i;
}

static void replaced(const char *in, size_t n, const char *want, const char *name)
{
    struct tf_buf b = {0};
    tf_utf8_replace(&b, in, n);
    is_str(b.p ? b.p : "", want, "%s", name);
    tf_buf_release(&b);
}

#define R "\xef\xbf\xbd"

int main(void)
{
    int wrong = 0;
    for (unsigned x = 0; x < 65536; x++) {
        unsigned char p[12] = {
            'a', 'b', 'c', 'd', 'e', 'f', 'g', (unsigned char)(x >> 8), (unsigned char)x,
            'h', 'i', 'j'};
        wrong += tf_utf8_span((char *)p, sizeof p) != plain_span(p, sizeof p);
        wrong += tf_utf8_span((char *)p + 7, 2) != plain_span(p + 7, 2);
    }
    is_int(wrong, 0, "all pairs of bytes, within text and alone");
    wrong = 0;
    for (unsigned lead = 0xe0; lead < 0x100; lead++)
        for (unsigned second = 0x7f; second <= 0xc0; second++)
            for (unsigned k = 0; k < 9; k++) {
                static const unsigned char edge[] = {0x7f, 0x80, 0xbf};
                unsigned char p[4] = {(unsigned char)lead, (unsigned char)second, edge[k % 3],
                                      edge[k / 3]};
                for (size_t n = 1; n <= 4; n++)
                    wrong += tf_utf8_span((char *)p, n) != plain_span(p, n);
            }
    is_int(wrong, 0, "three and four bytes at every border, cut short too");
    is_int((long long)tf_utf8_span("a\0b", 3), 3, "NUL is a character");
    is_int((long long)tf_utf8_span("", 0), 0, "empty");

    replaced("plain \xc3\xa4 text", 13, "plain \xc3\xa4 text", "good text is left alone");
    replaced("a\xff"
             "b",
             3, "a" R "b", "a byte that never occurs");
    replaced("\xc0\xaf", 2, R R, "an overlong form: each byte");
    replaced("\xe0\x80\xaf", 3, R R R, "an overlong form of three");
    replaced("\xed\xa0\x80", 3, R R R, "a surrogate");
    replaced("\xf4\x90\x80\x80", 4, R R R R, "beyond U+10FFFF");
    replaced("\xf0\x9f\x98"
             "x",
             4, R "x", "a truncated character is one");
    replaced("\xe2\x82", 2, R, "truncated by the end");
    replaced("\xc3\xc3\xa4", 3, R "\xc3\xa4", "a lead before a good character");
    return done();
}
