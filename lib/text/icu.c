/* icu.c - see icu_private.h. ICU's own iterator with abbreviations (the key "ss" of a locale) is
 * not used: it compares without regard to where a word begins, so that "war." is "ar.". */
#include "text/icu_private.h"
#include "base/memory.h"

#include <stdlib.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/ures.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>

struct tf_icu {
    UBreakIterator *breaks;
    UText *text;
    struct tf_text *words; /* the abbreviations, sorted */
    size_t n;
};

static int fail(struct tf_err *err, const char *what, UErrorCode code)
{
    return tf_fail(err, "ICU: %s: %s", what, u_errorName(code));
}

static void add_word(struct tf_icu *icu, const UChar *s, int32_t n)
{
    UErrorCode code = U_ZERO_ERROR;
    const int32_t most = 3 * n;
    char *p = tf_xmalloc((size_t)most + 1);
    int32_t bytes = 0;
    u_strToUTF8(p, most + 1, &bytes, s, n, &code);
    if (U_FAILURE(code) || bytes == 0) {
        free(p);
        return;
    }
    icu->words = tf_xarray(icu->words, icu->n + 1, sizeof *icu->words);
    icu->words[icu->n++] = (struct tf_text){p, (size_t)bytes};
}

/* CLDR's list for the locale, if it has one: exceptions, SentenceBreak. */
static void read_words(struct tf_icu *icu, const char *locale)
{
    UErrorCode code = U_ZERO_ERROR;
    UResourceBundle *data = ures_open(U_ICUDATA_NAME "-brkitr", locale, &code);
    UResourceBundle *lists = ures_getByKey(data, "exceptions", NULL, &code);
    UResourceBundle *list = ures_getByKey(lists, "SentenceBreak", NULL, &code);
    while (U_SUCCESS(code) && ures_hasNext(list)) {
        int32_t n = 0;
        const UChar *s = ures_getNextString(list, &n, NULL, &code);
        if (U_SUCCESS(code))
            add_word(icu, s, n);
    }
    ures_close(list);
    ures_close(lists);
    ures_close(data);
    if (icu->n > 0)
        qsort(icu->words, icu->n, sizeof *icu->words, tf_text_compare);
}

int tf_icu_open(struct tf_icu **icu, const char *lang, struct tf_err *err)
{
    UErrorCode code = U_ZERO_ERROR;
    const char *locale = lang != NULL ? lang : "";
    *icu = tf_xcalloc(1, sizeof **icu);
    (*icu)->breaks = ubrk_open(UBRK_SENTENCE, locale, NULL, 0, &code);
    if (U_FAILURE(code)) {
        tf_icu_close(*icu);
        *icu = NULL;
        return fail(err, "sentence boundaries", code);
    }
    if (lang != NULL)
        read_words(*icu, locale);
    return 0;
}

void tf_icu_close(struct tf_icu *icu)
{
    if (icu == NULL)
        return;
    for (size_t i = 0; i < icu->n; i++)
        free((char *)icu->words[i].p);
    free(icu->words);
    utext_close(icu->text);
    ubrk_close(icu->breaks);
    free(icu);
}

int tf_icu_text(struct tf_icu *icu, const char *text, size_t n, struct tf_err *err)
{
    UErrorCode code = U_ZERO_ERROR;
    icu->text = utext_openUTF8(icu->text, text, (int64_t)n, &code);
    ubrk_setUText(icu->breaks, icu->text, &code);
    (void)ubrk_first(icu->breaks);
    return U_SUCCESS(code) ? 0 : fail(err, "text", code);
}

int64_t tf_icu_next(struct tf_icu *icu)
{
    const int32_t at = ubrk_next(icu->breaks);
    return at == UBRK_DONE ? -1 : at;
}

bool tf_icu_unspaced(uint32_t c)
{
    UErrorCode code = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript((UChar32)c, &code);
    return U_SUCCESS(code) && uscript_breaksBetweenLetters(script);
}

bool tf_icu_abbreviation(const struct tf_icu *icu, struct tf_text word)
{
    return icu->n > 0 &&
           bsearch(&word, icu->words, icu->n, sizeof *icu->words, tf_text_compare) != NULL;
}

uint32_t tf_icu_upper(uint32_t c)
{
    return (uint32_t)u_totitle((UChar32)c);
}
