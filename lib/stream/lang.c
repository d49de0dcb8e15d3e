/* lang.c - language labels of streams and models. */
#include "stream/stream.h"

#include <stdio.h>
#include <string.h>

bool tf_lang_set(char out[TF_LANG_MAX + 1], const char *label)
{
    const size_t n = strlen(label);
    for (size_t i = 0; i < n; i++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
                   label[i]) == NULL)
            return false;
    if (n == 0 || n > TF_LANG_MAX)
        return false;
    memcpy(out, label, n + 1);
    return true;
}

bool tf_lang_differs(const char *a, const char *b)
{
    return *a != 0 && *b != 0 && strcmp(a, b) != 0;
}

const char *tf_langs_describe(char buf[TF_LANGS_TEXT], const struct tf_header *h)
{
    if (h->target_lang[0] == 0)
        snprintf(buf, TF_LANGS_TEXT, "'%s'", h->lang);
    else if (h->lang[0] == 0)
        snprintf(buf, TF_LANGS_TEXT, "to '%s'", h->target_lang);
    else
        snprintf(buf, TF_LANGS_TEXT, "'%s' to '%s'", h->lang, h->target_lang);
    return buf;
}

int tf_langs_fit(const struct tf_header *h, const char *name, const struct tf_header *model,
                 struct tf_err *err)
{
    char text[TF_LANGS_TEXT];
    const bool target = !tf_lang_differs(h->lang, model->lang);
    if (target && !tf_lang_differs(h->target_lang, model->target_lang))
        return 0;
    return tf_fail(err, "%s: the %s is '%s', the model translates %s", name,
                   target ? "target" : "source", target ? h->target_lang : h->lang,
                   tf_langs_describe(text, model));
}
