/* sacrebleu_json.c - see sacrebleu_json_private.h. */
#include "metrics/sacrebleu_json_private.h"
#include "base/json.h"
#include "base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tf_sacrebleu_json_real(struct tf_buf *out, double x)
{
    char s[40] = "";
    int digits = 0;
    do
        snprintf(s, sizeof s, "%.*e", digits, x);
    while (strtod(s, NULL) != x && ++digits < 17);
    char *e = strchr(s, 'e');
    int exponent = e != NULL ? (int)strtol(e + 1, NULL, 10) : 0;
    if (e == NULL) /* inf, nan */
        tf_buf_str(out, s);
    else if (exponent < -4 || exponent >= 16)
        tf_buf_str(out, s);
    else
        tf_buf_printf(out, "%.*f", digits > exponent ? digits - exponent : 1, x);
}

void tf_sacrebleu_json_rounded(struct tf_buf *out, double x, int places)
{
    struct tf_buf text = {0};
    tf_buf_printf(&text, "%.*f", places, x);
    tf_sacrebleu_json_real(out, strtod(text.p, NULL));
    tf_buf_release(&text);
}

void tf_sacrebleu_json_str(struct tf_buf *out, const char *s)
{
    struct tf_buf text = {0};
    struct tf_json j = {.out = &text};
    tf_json_str(&j, s);
    for (size_t i = 0; i < text.len;) {
        int len;
        uint32_t c = tf_utf8_get(text.p + i, &len);
        if (c < 0x80)
            tf_buf_byte(out, (unsigned char)c);
        else if (c < 0x10000)
            tf_buf_printf(out, "\\u%04x", c);
        else
            tf_buf_printf(out, "\\u%04x\\u%04x", 0xD800 + ((c - 0x10000) >> 10),
                          0xDC00 + (c & 0x3FF));
        i += (size_t)len;
    }
    tf_buf_release(&text);
}
