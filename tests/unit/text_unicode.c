/* White space, categories and lower case. */
#include "../harness/tap.h"
#include "base/utf8.h"
#include "text/unicode.h"

static void lower(const char *s, const char *want)
{
    struct tf_buf b = {0};
    tf_uc_lower(&b, s, strlen(s));
    is_str(b.p ? b.p : "", want, "lower case of %s", s);
    tf_buf_release(&b);
}

static uint32_t last_cased(void)
{
    struct tf_buf b = {0};
    uint32_t last = 0;
    for (uint32_t code = 0xe000; code <= 0x10ffff; code++) {
        char s[4];
        const size_t n = tf_utf8_encode(s, code);
        tf_buf_clear(&b);
        tf_uc_lower(&b, s, n);
        if (b.len != n || memcmp(b.p, s, n) != 0)
            last = code;
    }
    tf_buf_release(&b);
    return last;
}

int main(void)
{
    is_int(last_cased(), TF_UC_LAST_CASED, "the last character in upper case");
    static const uint32_t spaces[] = {9,      10,     11,     12,     13,     0x1C,   0x1D,
                                      0x1E,   0x1F,   0x20,   0x85,   0xA0,   0x1680, 0x2000,
                                      0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    static const uint32_t others[] = {0,    8,      14,     0x1B,   0x21,  0x7F,
                                      0x84, 0x180E, 0x200B, 0x2060, 0xFEFF};
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        ok(tf_uc_space(spaces[i]), "U+%04X is white space", spaces[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ok(!tf_uc_space(others[i]), "U+%04X is not", others[i]);
    is_int(tf_uc_space_at("\xE3\x80\x80"), 3, "U+3000 takes three bytes");
    is_int(tf_uc_space_at("\xC2\xA0"), 2, "U+00A0 two");
    is_int(tf_uc_space_at("\xC2\xA1"), 0, "U+00A1 is none");
    is_int(tf_uc_rstrip("a \t\xC2\xA0\r", 6), 1, "the end of a line goes");
    is_int(tf_uc_rstrip(" \xE3\x80\x80", 4), 0, "all of it");
    is_int(tf_uc_rstrip("\xC3\xA9", 2), 2, "a letter stays");

    is_int(tf_uc_general('.'), TF_UC_PUNCT, "a full stop");
    is_int(tf_uc_general('$'), TF_UC_SYMBOL, "a dollar");
    is_int(tf_uc_general('7'), TF_UC_NUMBER, "a digit");
    is_int(tf_uc_general('x'), TF_UC_OTHER, "a letter");
    is_int(tf_uc_general(0xAB), TF_UC_PUNCT, "a guillemet");
    is_int(tf_uc_general(0x20AC), TF_UC_SYMBOL, "the euro");
    is_int(tf_uc_general(0xBD), TF_UC_NUMBER, "one half");
    is_int(tf_uc_general(0x663), TF_UC_NUMBER, "an Arabic digit");
    is_int(tf_uc_general(0x1F600), TF_UC_SYMBOL, "a face");
    is_int(tf_uc_general(0x10FFFF), TF_UC_OTHER, "the last code point");

    lower("ASCII Only", "ascii only");
    lower("ÄÖÜẞß", "äöüßß");
    lower("ΑΣ ΣΑΣ Σ", "ας σας σ");
    lower("ΑΣ.Β ΑΣ.", "ασ.β ας.");
    lower("ΑΣ'Β", "ασ'β");
    lower("İI", "i̇i");
    lower("ЖДУ Ⅷ Ａ 𐐀", "жду ⅷ ａ 𐐨");
    lower("", "");
    return done();
}
