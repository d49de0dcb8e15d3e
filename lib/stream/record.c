/* record.c - the codes of bad records as text. */
#include "stream/record.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

const char *tf_bad_name(int code)
{
    switch (code) {
    case TF_BAD_UTF8:
        return "invalid UTF-8";
    case TF_BAD_TOO_LONG:
        return "line too long";
    case TF_BAD_TOO_MANY_TOKENS:
        return "too many tokens";
    case TF_BAD_UNKNOWN_ID:
        return "unknown id";
    default:
        return "other";
    }
}

const char *tf_bad_describe(char *buf, size_t size, int code, const char *text)
{
    const char *name = tf_bad_name(code);
    bool named = strncmp(text, name, strlen(name)) == 0;
    snprintf(buf, size, "%s%s%s", named ? "" : name, named || !*text ? "" : ": ", text);
    buf[tf_utf8_span(buf, strlen(buf))] = '\0'; /* cut between characters */
    return buf;
}
