/* language_pair.c - see language_pair.h. */
#include "metrics/language_pair.h"
#include "base/log.h"
#include "base/opt.h"
#include "metrics/tokenizer_moses.h"

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

int tf_language_tokenizer(const char **tokenizer, const char *target, const char *pair,
                          bool has_model, bool quiet, struct tf_err *err)
{
    static const struct {
        const char *code, *tokenizer, *name;
        bool mecab;
    } special[] = {{"zh", "zh", "Chinese", false},
                   {"ja", "ja-mecab", "Japanese", true},
                   {"ko", "ko-mecab", "Korean", true}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (strcmp(target, special[i].code) != 0)
            continue;
        if (*tokenizer == NULL && !has_model && special[i].mecab)
            return tf_fail_status(err, TF_USAGE,
                                  "--language-pair %s: the tokenizer %s needs MeCab, which "
                                  "tf-tools does not use; give --tokenize char",
                                  pair, special[i].tokenizer);
        if (*tokenizer == NULL && !has_model)
            *tokenizer = special[i].tokenizer;
        else if (!quiet && *tokenizer != NULL && strcmp(*tokenizer, special[i].tokenizer) != 0)
            tf_warn("Consider using the '%s' or 'spm' tokenizer for %s.", special[i].tokenizer,
                    special[i].name);
    }
    return 0;
}

int tf_language_moses(int *lang, const char *target, const char *pair, struct tf_err *err)
{
    struct tf_err why;
    *lang = tf_opt_find_word(tf_moses_langs, target, &why);
    return *lang >= 0 ? 0
                      : tf_fail_status(err, TF_USAGE, "--language-pair %s with --as paper: %s",
                                       pair, why.msg);
}
