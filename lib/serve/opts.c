/* opts.c - see opts.h. */
#include "serve/opts.h"
#include "base/memory.h"
#include "stream/header.h"

#include <stdlib.h>
#include <string.h>

int tf_direction_parse(struct tf_direction *p, const char *word, struct tf_err *err)
{
    const char *file = strchr(word, '=');
    const size_t n = file != NULL ? (size_t)(file - word) : 0;
    const char *colon = n > 0 ? memchr(word, ':', n) : NULL;
    const char *hyphen = n > 0 ? memchr(word, '-', n) : NULL;
    const char *between = colon != NULL ? colon : hyphen;
    if (between == NULL || between == word || between + 1 == file || file[1] == 0)
        return tf_fail_status(err, TF_USAGE, "'%s': not of the form SOURCE-TARGET=FILE", word);
    if (colon == NULL && memchr(hyphen + 1, '-', (size_t)(file - hyphen) - 1) != NULL)
        return tf_fail_status(
            err, TF_USAGE, "'%s': languages with a hyphen need a colon between them, as en:pt-BR",
            word);
    char label[TF_LANG_MAX + 1];
    *p = (struct tf_direction){.source = tf_xstrndup(word, (size_t)(between - word)),
                               .target = tf_xstrndup(between + 1, (size_t)(file - between) - 1),
                               .path = file + 1};
    if (tf_lang_set(label, p->source) && tf_lang_set(label, p->target))
        return 0;
    tf_direction_release(p);
    return tf_fail_status(err, TF_USAGE,
                          "'%s': a language is a label of 1 to %d letters, digits, - and _", word,
                          TF_LANG_MAX);
}

void tf_direction_release(struct tf_direction *p)
{
    free(p->source);
    free(p->target);
}

int tf_direction_files(const char *const *words, size_t n, struct tf_strs *files,
                       struct tf_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct tf_direction p;
        if (tf_direction_parse(&p, words[i], err) != 0)
            return -1;
        tf_strs_add(files, p.path);
        tf_direction_release(&p);
    }
    return 0;
}
