/* bpe_file.c - see bpe_file.h. */
#include "text/bpe_file.h"
#include "stream/model.h"
#include "text/bpe_codes_private.h"
#include "text/text_file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 3 };
#define VERSION "#version:"

/* The words of a line between single spaces, without spaces and CR around them. */
static size_t words_of(struct tf_text words[MOST_WORDS + 1], struct tf_text line)
{
    size_t n = 0;
    line = tf_bpe_trim(line);
    while (line.n > 0 && n <= MOST_WORDS && tf_text_cut(&line, ' ', &words[n]))
        n++;
    return n;
}

static bool is_count(struct tf_text s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

/* The first line of subword-nmt, if there is one. */
static int read_version(struct tf_bpe_codes *codes, struct tf_text *rest, struct tf_err *err)
{
    struct tf_text after = *rest, first = {0}, words[MOST_WORDS + 1];
    (void)tf_text_cut(&after, '\n', &first);
    if (first.n < strlen(VERSION) || memcmp(first.p, VERSION, strlen(VERSION)) != 0) {
        codes->end_alone = words_of(words, first) != 3; /* with a count it is fastBPE's */
        return 0;
    }
    const size_t n = words_of(words, first);
    const struct tf_text version = words[n - 1];
    codes->end_alone = tf_text_is(version, "0.1");
    if (n != 2 || (!codes->end_alone && !tf_text_is(version, "0.2")))
        return tf_fail(err, "codes of another version than 0.1 and 0.2: %.*s",
                       (int)(first.n < 100 ? first.n : 100), first.p);
    *rest = after;
    return 0;
}

/* to: the lines of codes without counts; room for as many bytes as rest has. */
static int read_lines(struct tf_bpe_codes *codes, char *to, struct tf_text rest, size_t line,
                      struct tf_err *err)
{
    struct tf_text text, words[MOST_WORDS + 1];
    codes->lines = to;
    for (size_t of_first = 0; rest.n > 0 && tf_text_cut(&rest, '\n', &text); line++) {
        const size_t n = words_of(words, text);
        of_first = of_first > 0 ? of_first : n;
        if (n != of_first || n < 2 || n > 3 || words[0].n == 0 || words[1].n == 0 ||
            (n == 3 && !is_count(words[2])))
            return tf_fail(err, "line %zu: not two symbols", line);
        for (size_t i = 0; i < 2; i++) {
            memcpy(to, words[i].p, words[i].n);
            to += words[i].n;
            *to++ = i == 0 ? ' ' : '\n';
        }
    }
    codes->n = (size_t)(to - codes->lines);
    return codes->n > 0 ? 0 : tf_fail(err, "no codes");
}

static int read_codes(struct tf_bpe_codes *codes, struct tf_arena *a, struct tf_text rest,
                      bool fsmt, struct tf_err *err)
{
    const char *all = rest.p;
    if (rest.n > 0 && rest.p[rest.n - 1] != '\n')
        return tf_fail(err, "the last line does not end");
    while (rest.n > 1 && rest.p[rest.n - 2] == '\n')
        rest.n--; /* empty lines at the end */
    if (read_version(codes, &rest, err) != 0)
        return -1;
    codes->end_in_pieces = fsmt;
    codes->end_alone &= !fsmt;
    return read_lines(codes, tf_arena_alloc(a, rest.n + 1), rest, 1 + (rest.p != all), err) != 0
               ? -1
               : tf_bpe_codes_check(codes, err);
}

int tf_bpe_file_read(struct tf_bpe_codes *codes, struct tf_arena *a, const char *path, bool fsmt,
                     struct tf_err *err)
{
    char *text;
    size_t n;
    if (tf_text_read_file(&text, &n, path, TF_MAX_VOCAB, err) != 0)
        return -1;
    const int rc = read_codes(codes, a, (struct tf_text){text, n}, fsmt, err);
    free(text);
    return rc == 0 ? 0 : tf_context(err, "%s", path);
}
