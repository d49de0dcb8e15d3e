/* language_pair.c - see language_pair.h. */
#include "metrics/language_pair.h"

#include <stdio.h>
#include <string.h>

int tf_language_target(char target[TF_LANGUAGE_SIZE], const char *pair, struct tf_err *err)
{
    const char *dash = strchr(pair, '-');
    if (dash == NULL || dash == pair || dash[1] == 0)
        return tf_fail_status(err, TF_USAGE, "--language-pair %s: not of the form SOURCE-TARGET",
                              pair);
    snprintf(target, TF_LANGUAGE_SIZE, "%.*s", (int)strcspn(dash + 1, "-"), dash + 1);
    return 0;
}

const struct tf_language *tf_language_special(const char *code)
{
    static const struct tf_language special[] = {{"zh", "zh", "Chinese"},
                                                 {"ja", "ja-mecab", "Japanese"},
                                                 {"ko", "ko-mecab", "Korean"}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (strcmp(code, special[i].code) == 0)
            return &special[i];
    return NULL;
}
