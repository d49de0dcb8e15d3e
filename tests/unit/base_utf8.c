/* UTF-8 against a second implementation that follows the bit patterns: all pairs of bytes, the
 * limits of all ranges, replacement characters, and every character encoded and decoded. */
#include "../harness/tap.h"
#include "base/buf.h"
#include "base/utf8.h"

/* From the definition: decode by bit patterns, then refuse overlong forms, surrogates and values
 * above U+10FFFF. */
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
    tf_buf_valid_utf8(&b, in, n);
    is_str(b.p ? b.p : "", want, "%s", name);
    tf_buf_release(&b);
}

static void span(const char *s, size_t n, size_t want)
{
    char name[64] = "";
    for (size_t i = 0; i < n && i < 12; i++)
        snprintf(name + strlen(name), sizeof name - strlen(name), "%02x ", (unsigned char)s[i]);
    is_int(tf_utf8_span(s, n), want, "well-formed part of %s", name);
}

static void test_lengths(void)
{
    static const struct {
        const char *s;
        size_t n, want;
    } cases[] = {
        {"a", 1, 1},
        {"\0", 1, 1},
        {"\xc3\xa4", 2, 2},
        {"\xc3\xa4", 1, 0},
        {"\xe2\x82\xac", 3, 3},
        {"\xe2\x82\xac", 2, 0},
        {"\xf0\x9f\x98\x80", 4, 4},
        {"\xf4\x8f\xbf\xbf", 4, 4},
        {"\xf4\x90\x80\x80", 4, 0},
        {"\xc0\x80", 2, 0},
        {"\xc1\xbf", 2, 0},
        {"\xe0\x9f\xbf", 3, 0},
        {"\xe0\xa0\x80", 3, 3},
        {"\xed\x9f\xbf", 3, 3},
        {"\xed\xa0\x80", 3, 0},
        {"\xf0\x8f\xbf\xbf", 4, 0},
        {"\xf0\x90\x80\x80", 4, 4},
        {"\x80", 1, 0},
        {"\xff", 1, 0},
        {"\xf5\x80\x80\x80", 4, 0},
        {"\xe2\x28\xa1", 3, 0},
        {"\xe2\x82\x28", 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_int(tf_utf8_at(cases[i].s, cases[i].n), cases[i].want, "utf-8 case %zu", i);
}

#define R "\xef\xbf\xbd"

int main(void)
{
    test_lengths();
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
    is_int(wrong, 0, "three and four bytes at every limit, cut short too");
    is_int((long long)tf_utf8_span("a\0b", 3), 3, "NUL is a character");
    is_int((long long)tf_utf8_span("", 0), 0, "empty");

    span("plain ASCII text that is long enough", 36, 36);
    span("\xC3\xA9", 2, 2);
    span("\xE2\x82\xAC", 3, 3);
    span("\xF0\x9F\x98\x80", 4, 4);
    span("a\xC3", 2, 1);
    span("\x80", 1, 0);
    span("\xC0\x80", 2, 0);
    span("\xC1\xBF", 2, 0);
    span("\xE0\x9F\xBF", 3, 0);
    span("\xED\xA0\x80", 3, 0);
    span("\xED\x9F\xBF", 3, 3);
    span("\xF0\x8F\xBF\xBF", 4, 0);
    span("\xF4\x8F\xBF\xBF", 4, 4);
    span("\xF4\x90\x80\x80", 4, 0);
    span("\xF5\x80\x80\x80", 4, 0);
    span("12345678\xFF" "1234567", 16, 8);
    span("1234567\xE2\x82", 9, 7);

    struct tf_buf b = {0};
    wrong = 0;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        if (c == 0xd800)
            c = 0xe000;
        int len;
        tf_buf_clear(&b);
        tf_buf_char(&b, c);
        wrong += plain((unsigned char *)b.p, b.len) != b.len || tf_utf8_get(b.p, &len) != c ||
                 (size_t)len != b.len;
    }
    tf_buf_release(&b);
    is_int(wrong, 0, "every character, written and read");

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
