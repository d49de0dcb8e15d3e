/* measure.c - see measure_private.h. */
#include "base/measure_private.h"
#include "base/err.h"
#include "base/json.h"
#include "base/parse.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_TRIES = 100 }; /* bounds the time that lines without a number take */

struct text {
    const char *p, *end;
};

/* What was found so far. */
struct found {
    size_t numbers, scores; /* scores: with the name of a metric */
    double number, score;   /* the last ones */
    bool ter, names_ter;    /* a score is one of TER; something is named TER */
};

static bool TF_PRINTF(2, 3) refuse(char why[TF_MEASURE_WHY], const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, TF_MEASURE_WHY, fmt, ap);
    va_end(ap);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\n';
}

static bool separates(char c)
{
    return c == 0 || is_blank(c) || strchr(",;:=()[]{}\"'%", c) != NULL;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The word at the beginning as a number; the number of its bytes in *n. */
static bool take_number(double *x, struct text t, size_t *n)
{
    char word[64];
    struct tf_err none = {0};
    for (*n = 0; t.p + *n < t.end && !separates(t.p[*n]);)
        ++*n;
    if (*n == 0 || *n >= sizeof word)
        return false;
    memcpy(word, t.p, *n);
    word[*n] = 0;
    return tf_parse_real(x, word, -HUGE_VAL, HUGE_VAL, &none) == 0 && isfinite(*x);
}

static bool begins(struct text t, const char *name)
{
    const size_t n = strlen(name);
    return (size_t)(t.end - t.p) > n && memcmp(t.p, name, n) == 0 && !is_letter(t.p[n]);
}

/* "BLEU = 27.3", also with a signature: "BLEU|nrefs:1|version:2.4.2 = 27.3". */
static void add_score(struct found *f, struct text word)
{
    static const char *const metrics[] = {"BLEU", "chrF", "COMET", "TER"};
    size_t k = 0, n;
    double x;
    while (k < 4 && !begins(word, metrics[k]))
        k++;
    while (k < 4 && word.p < word.end && !is_blank(*word.p) && *word.p != '=')
        word.p++;
    while (word.p < word.end && is_blank(*word.p))
        word.p++;
    if (k == 4 || word.p == word.end || *word.p++ != '=')
        return;
    while (word.p < word.end && is_blank(*word.p))
        word.p++;
    if (!take_number(&x, word, &n))
        return;
    f->scores++;
    f->score = x;
    f->ter = f->ter || k == 3;
}

static struct found find_numbers(struct text line)
{
    const char *first = line.p;
    struct found f = {0};
    while (line.p < line.end) {
        size_t n;
        double x;
        if (line.p == first || is_blank(line.p[-1]))
            add_score(&f, line);
        if (line.p == first || separates(line.p[-1]))
            f.names_ter = f.names_ter || begins(line, "TER") || begins(line, "ter");
        if (take_number(&x, line, &n)) {
            f.numbers++;
            f.number = x;
        }
        line.p += n > 0 ? n : 1;
    }
    return f;
}

static bool choose(double *x, char why[TF_MEASURE_WHY], const struct found *f, struct text line)
{
    const bool number = f->scores == 0 && f->numbers == 1;
    *x = f->scores == 1 ? f->score : f->number;
    if ((f->scores == 1 && f->ter) || (number && f->names_ter))
        return refuse(why, "printed TER, of which less is better: print 100 - TER, or another");
    if (f->scores == 1 || number)
        return true;
    const int n = line.end - line.p < 60 ? (int)(line.end - line.p) : 60;
    char shown[200];
    return refuse(why, "printed several numbers in its last line (print one): %s",
                  tf_escape(shown, sizeof shown, line.p, (size_t)n));
}

static struct text trim(struct text t)
{
    while (t.p < t.end && is_blank(*t.p))
        t.p++;
    while (t.end > t.p && is_blank(t.end[-1]))
        t.end--;
    return t;
}

/* Of the JSON that the text is: values of "score", and numbers. False: it is none. */
static bool read_json(struct found *f, struct text t)
{
    struct tf_json_reader r;
    struct tf_err err = {0};
    enum tf_json_kind kind;
    bool score = false, name = false, whole = false;
    tf_json_read(&r, t.p, (size_t)(t.end - t.p));
    *f = (struct found){0};
    while (!whole && tf_json_next(&r, &kind, &err) == 0) {
        if (kind == TF_JSON_NUMBER && isfinite(r.real)) {
            f->numbers++;
            f->number = r.real;
            f->scores += score;
            f->score = score ? r.real : f->score;
        }
        f->ter = f->ter || (name && kind == TF_JSON_STRING && strcmp(r.text.p, "TER") == 0);
        score = kind == TF_JSON_KEY && strcmp(r.text.p, "score") == 0;
        name = kind == TF_JSON_KEY && strcmp(r.text.p, "name") == 0;
        f->names_ter = f->names_ter || (kind == TF_JSON_KEY && strcasecmp(r.text.p, "ter") == 0);
        whole = kind == TF_JSON_END;
    }
    tf_json_read_release(&r);
    return whole;
}

/* JSON that ends with the text, from the beginning of a line on. */
static bool find_json(struct found *f, struct text *t)
{
    bool line = true;
    for (const char *p = t->p; p < t->end; p++) {
        struct text from = {p, t->end};
        if (line && (*p == '{' || *p == '[') && read_json(f, from)) {
            *t = from;
            return true;
        }
        line = *p == '\n' || (line && is_blank(*p));
    }
    return false;
}

bool tf_measure_of(double *x, char why[TF_MEASURE_WHY], const char *text, size_t n)
{
    struct found f;
    size_t tries = 0; /* of reading JSON */
    for (struct text left = trim((struct text){text, text + n}); left.p < left.end;
         left = trim(left)) {
        struct text line = left;
        if ((left.end[-1] == '}' || left.end[-1] == ']') && tries++ < MOST_TRIES &&
            find_json(&f, &line))
            return f.numbers > 0 ? choose(x, why, &f, line) : refuse(why, "printed no number");
        for (line.p = line.end; line.p > left.p && line.p[-1] != '\n';)
            line.p--;
        f = find_numbers(line);
        if (f.numbers > 0)
            return choose(x, why, &f, trim(line));
        left.end = line.p;
    }
    return refuse(why, "printed no number");
}
