/* tokenizer_intl_zh.c - intl and zh: the rules of 13a for code points. Unlike 13a, they do not pad
 * the line, so no rule applies at its two ends. */
#include "metrics/tokenizers_private.h"
#include "text/unicode.h"

typedef enum tf_tok_class classify_fn(uint32_t c);

static void scan(struct tf_tokens *t, struct tf_text line, classify_fn *classify)
{
    const char *p = line.p, *end = p + line.n;
    int len, next_len = 0;
    t->n = 0;
    if (p == end)
        return;
    struct tf_tok_scan s = {.t = t, .last = TF_TC_EDGE};
    enum tf_tok_class c = classify(tf_utf8_get(p, &len));
    for (; p < end; p += len, len = next_len) {
        enum tf_tok_class next =
            p + len < end ? classify(tf_utf8_get(p + len, &next_len)) : TF_TC_EDGE;
        tf_tok_step(&s, p, (size_t)len, c, next);
        c = next;
    }
    tf_tok_end(&s, end);
}

static enum tf_tok_class intl_class(uint32_t c)
{
    switch (tf_uc_general(c)) {
    case TF_UC_PUNCT:
        return TF_TC_PUNCT;
    case TF_UC_NUMBER:
        return TF_TC_DIGIT;
    case TF_UC_SYMBOL:
        return TF_TC_SPLIT;
    default:
        return tf_uc_space(c) ? TF_TC_SPACE : TF_TC_WORD;
    }
}

void tf_tokenize_intl(struct tf_tokens *t, struct tf_text line)
{
    scan(t, line, intl_class);
}

/* The ranges of tokenizer_zh.py, with its mistake, so that scores agree: Python reads "\u20001" and
 * "\u2a6d6", meant for ideographs beyond U+FFFF, as four digits and a letter, which makes the range
 * U+2001-2A6D. */
static bool is_chinese(uint32_t c)
{
    static const struct {
        uint16_t first, last;
    } ranges[] = {{0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x303F},
                  {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x4DB5},
                  {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
                  {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
    if (c < 0x2001 || c > 0xFFEF)
        return false;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

static enum tf_tok_class zh_class(uint32_t c)
{
    if (c >= 0x80)
        return tf_uc_space(c) ? TF_TC_SPACE : is_chinese(c) ? TF_TC_SPLIT : TF_TC_WORD;
    return tf_tok_ascii(c);
}

void tf_tokenize_zh(struct tf_tokens *t, struct tf_text line)
{
    const size_t skip = tf_uc_skip_space(line.p, 0, line.n);
    scan(t, (struct tf_text){line.p + skip, line.n - skip}, zh_class);
}
