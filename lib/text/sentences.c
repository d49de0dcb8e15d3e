/* sentences.c - see sentences.h. */
#include "text/sentences.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/icu_private.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Words of an abbreviation: "a. e. c." has three. */
enum { ABBREVIATION_WORDS = 3 };
/* Bytes before a mark that closes, in which the one that it closes is sought. */
enum { LOOK_BACK = 1000 };

/* What is closed, and by what: both of one length. */
static const char *const marks[][2] = {{"(", ")"}, {"[", "]"}, {"«", "»"}, {"“", "”"}};
enum { MARKS = sizeof marks / sizeof *marks };

/* How many marks of a kind are open among those of bytes [from, to) of a text. */
struct window {
    size_t from, to;
    long depth;
};

struct tf_sentences {
    struct tf_icu *icu;
    bool ordinals;
    size_t most;
    struct window windows[MARKS];
    struct tf_sentence_span *spans;
    size_t n, cap;
};

/* Languages that write "the 3rd" as "3.", by the first part of their label. */
static const char *const with_ordinals[] = {"cs", "da", "de", "et", "fi", "fo", "hr", "hu", "is",
                                            "lb", "lv", "nb", "nn", "no", "pl", "sk", "sl", "sr"};

/* Titles and other words that stand before a name, in languages of Latin script. */
static const char *const before_names[] = {
    "Adm.", "Art.", "Brig.", "Capt.", "Cf.",  "Cmdr.", "Col.",  "Cpl.", "Dr.",   "Dra.",    "Drs.",
    "Fig.", "Fr.",  "Gen.",  "Gov.",  "Hon.", "Hr.",   "Ing.",  "Lt.",  "Maj.",  "Messrs.", "Mlle.",
    "Mme.", "Mr.",  "Mrs.",  "Ms.",   "Mt.",  "No.",   "Nr.",   "Pfc.", "Prof.", "Pvt.",    "Rep.",
    "Rev.", "Sen.", "Sgt.",  "Sr.",   "Sra.", "St.",   "Ste.",  "bzw.", "ca.",   "cf.",     "dr.",
    "e.g.", "etw.", "fig.",  "i.e.",  "p.",   "pp.",   "prof.", "vgl.", "vs."};

static int compare_words(const void *x, const void *y)
{
    const struct tf_text *word = x;
    const char *const *other = y;
    return tf_text_compare(word, &(struct tf_text){*other, strlen(*other)});
}

static bool in_list(struct tf_text word, const char *const *list, size_t n)
{
    return bsearch(&word, list, n, sizeof *list, compare_words) != NULL;
}
#define IN(word, list) in_list(word, list, sizeof(list) / sizeof *(list))

int tf_sentences_new(struct tf_sentences **s, const char *lang, size_t most, struct tf_err *err)
{
    *s = tf_xcalloc(1, sizeof **s);
    (*s)->most = most;
    if (lang != NULL)
        (*s)->ordinals = IN(((struct tf_text){lang, strcspn(lang, "-_")}), with_ordinals);
    if (tf_icu_open(&(*s)->icu, lang, err) == 0)
        return 0;
    tf_sentences_free(*s);
    *s = NULL;
    return -1;
}

void tf_sentences_free(struct tf_sentences *s)
{
    if (s == NULL)
        return;
    tf_icu_close(s->icu);
    free(s->spans);
    free(s);
}

/* ---- characters ---- */

static uint32_t char_before(const char *text, size_t p)
{
    int len;
    return p > 0 ? tf_utf8_get(text + tf_utf8_before(text, p), &len) : ' ';
}

static size_t trim(const char *text, size_t begin, size_t end)
{
    return begin + tf_uc_rstrip(text + begin, end - begin);
}

/* ---- boundaries ---- */

/* Where the word before p begins. */
static size_t word_start(const char *text, size_t p)
{
    while (p > 0 && !tf_uc_space(char_before(text, p)))
        p = tf_utf8_before(text, p);
    return p;
}

/* A word without brackets and quotation marks before it. */
static struct tf_text bare(const char *text, size_t begin, size_t end)
{
    begin = tf_uc_skip_signs(text, begin, end);
    return (struct tf_text){text + begin, end - begin};
}

static bool is_abbreviation(const struct tf_sentences *s, const char *text, size_t end)
{
    size_t begin = end;
    for (int words = 1; words <= ABBREVIATION_WORDS && begin > 0; words++) {
        begin = word_start(text, trim(text, 0, begin));
        const struct tf_text word = bare(text, begin, end);
        if (tf_icu_abbreviation(s->icu, word) || (words == 1 && IN(word, before_names)))
            return true;
    }
    return false;
}

/* Is the word one capital letter, with its full stop? */
static bool is_initial(struct tf_text word)
{
    int len;
    return word.n > 1 && tf_uc_capital(tf_utf8_get(word.p, &len)) && word.n == (size_t)len + 1;
}

static bool is_ordinal(struct tf_text word)
{
    return (word.n == 2 || word.n == 3) && strspn(word.p, "0123456789") == word.n - 1;
}

/* 1 if a mark opens at s, -1 if it closes, else 0. */
static int mark_at(const char *s, const char *const pair[2], size_t len)
{
    return (memcmp(s, pair[0], len) == 0) - (memcmp(s, pair[1], len) == 0);
}

/* The length of a quotation mark or a bracket at p that closes one that is open, else 0. For p in
 * order: the window moves along, so that each byte is looked at twice. */
static size_t closes(struct tf_sentences *s, const char *text, size_t p, size_t n)
{
    for (size_t i = 0; i < MARKS; i++) {
        const size_t len = strlen(marks[i][0]), least = p > LOOK_BACK ? p - LOOK_BACK : 0;
        struct window *w = &s->windows[i];
        if (n - p < len || memcmp(text + p, marks[i][1], len) != 0)
            continue;
        for (; w->to + len <= p; w->to++)
            w->depth += mark_at(text + w->to, marks[i], len);
        for (; w->from < least; w->from++)
            w->depth -= mark_at(text + w->from, marks[i], len);
        return w->depth > 0 ? len : 0;
    }
    return 0;
}

/* Does a sentence end at the boundary between `end`, where white space begins, and `next`? */
static bool ends(const struct tf_sentences *s, const char *text, size_t end, size_t next)
{
    int len;
    const uint32_t last = char_before(text, end), first = tf_utf8_get(text + next, &len);
    if (next == end)
        return last >= TF_WITHOUT_SPACES;
    if (last != '!' && last != '?' && (tf_uc_letter(first) & TF_UC_LOWERCASE) != 0)
        return false;
    if (last != '.' || (end > 1 && text[end - 2] == '.'))
        return true;
    const struct tf_text word = bare(text, word_start(text, end), end);
    return !is_initial(word) && !(s->ordinals && is_ordinal(word)) &&
           !is_abbreviation(s, text, end);
}

/* ---- sentences that are too long ---- */

/* How good a place for a cut the end of the character c is, before white space or not. */
static int worth(uint32_t c, bool space)
{
    switch (c) {
    case ';':
    case ':':
    case 0x2013: /* dashes */
    case 0x2014:
        return space ? 4 : 1;
    case ',':
        return space ? 3 : 1;
    case 0xff1b: /* full width ; : , and the Japanese comma */
    case 0xff1a:
    case 0xff0c:
    case 0x3001:
        return 3;
    default:
        return space ? 2 : 1;
    }
}

/* The end of the first part of a sentence that has more than `most` characters; else `end`. */
static size_t cut(const struct tf_sentences *s, const char *text, size_t begin, size_t end)
{
    size_t best = end, p = begin;
    int value = 0;
    if (s->most == 0 || end - begin <= s->most)
        return end;
    for (size_t chars = 1; p < end; chars++) {
        int len;
        const uint32_t c = tf_utf8_get(text + p, &len);
        p += (size_t)len;
        if (chars > s->most)
            return best;
        if (p == end || tf_uc_space(c) || chars * 2 < s->most)
            continue;
        const int here = worth(c, tf_uc_space_at(text + p) > 0);
        if (here >= value) {
            value = here;
            best = p;
        }
    }
    return end;
}

static void add_sentence(struct tf_sentences *s, const char *text, size_t begin, size_t end)
{
    bool joined = begin > 0 && char_before(text, begin) >= TF_WITHOUT_SPACES &&
                  !tf_uc_space(char_before(text, begin));
    while (begin < end) {
        const size_t stop = cut(s, text, begin, end);
        TF_GROW(s->spans, s->n, s->cap);
        s->spans[s->n++] = (struct tf_sentence_span){begin, stop, joined};
        begin = tf_uc_skip_space(text, stop, end);
        joined = begin == stop && char_before(text, begin) >= TF_WITHOUT_SPACES;
    }
}

int tf_sentences_split(struct tf_sentences *s, const char *text, size_t n,
                       const struct tf_sentence_span **spans, size_t *count, struct tf_err *err)
{
    size_t begin = tf_uc_skip_space(text, 0, n), seen = begin;
    s->n = 0;
    memset(s->windows, 0, sizeof s->windows);
    if (tf_icu_text(s->icu, text, n, err) != 0)
        return -1;
    for (int64_t at; begin < n && (at = tf_icu_next(s->icu)) >= 0;) {
        if ((size_t)at <= seen) /* in white space after a boundary that has been judged */
            continue;
        size_t end = trim(text, begin, (size_t)at), mark;
        size_t next = tf_uc_skip_space(text, (size_t)at, n);
        while (next < n && (mark = closes(s, text, next, n)) > 0) {
            end = next + mark;
            next = tf_uc_skip_space(text, end, n);
        }
        seen = next;
        if (next == n || ends(s, text, end, next)) {
            add_sentence(s, text, begin, end);
            begin = next;
        }
    }
    *spans = s->spans;
    *count = s->n;
    return 0;
}
