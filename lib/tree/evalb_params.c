/* evalb_params.c - see evalb_params.h. */
#include "tree/evalb_params.h"
#include "base/order.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parse.h"
#include "text/text_file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PARAM_FILE = 1 << 20, MAX_EQ_LABELS = 1000 };

/* clang-format off */
#define COLLINS \
    "DELETE_LABEL TOP\nDELETE_LABEL -NONE-\nDELETE_LABEL ,\nDELETE_LABEL :\nDELETE_LABEL ``\n" \
    "DELETE_LABEL ''\nDELETE_LABEL .\nDELETE_LABEL_FOR_LENGTH -NONE-\nEQ_LABEL ADVP PRT\n"
#define NEW COLLINS \
    "DELETE_LABEL S1\nDELETE_LABEL ?\nDELETE_LABEL !\nQUOTE_LABEL ``\nQUOTE_LABEL ''\n" \
    "QUOTE_LABEL POS\nQUOTE_LABEL NN\nQUOTE_LABEL CD\nQUOTE_LABEL VBZ\nQUOTE_LABEL :\n"
/* clang-format on */

/* What they add to EVALB's defaults. */
static const struct {
    const char *name, *text;
    bool file_first;
} built_in[] = {
    {"COLLINS", COLLINS, false}, {"COLLINS.prm", COLLINS, true},
    {"new", NEW, false},         {"new.prm", NEW, true},
    {"none", "", false},
};

static void list_add(struct tf_evalb_list *l, struct tf_text s)
{
    TF_GROW(l->v, l->n, l->cap);
    l->v[l->n++] = s;
}

static struct tf_text keep_text(struct tf_evalb_params *p, const char *s, size_t n)
{
    return (struct tf_text){tf_arena_strndup(&p->mem, s, n), n};
}

static size_t word_length(const char *s)
{
    size_t n = 0;
    while (s[n] && !tf_ascii_space(s[n]))
        n++;
    return n;
}

static size_t blank_length(const char *s)
{
    size_t n = 0;
    while (tf_ascii_space(s[n]))
        n++;
    return n;
}

static int number(int64_t *out, const char *value, struct tf_err *err)
{
    char *word = tf_xstrndup(value, word_length(value));
    int rc = tf_parse_int(out, word, INT32_MIN, INT32_MAX, err);
    free(word);
    return rc;
}

static void pair(struct tf_evalb_params *p, struct tf_evalb_list *l, const char *where, size_t line,
                 const char *key, const char *value)
{
    size_t a = word_length(value), gap = blank_length(value + a), b = word_length(value + a + gap);
    if (!b || value[a + gap + b]) {
        tf_warn("%s: line %zu: %s takes two values", where, line, key);
        return;
    }
    struct tf_text one = keep_text(p, value, a), other = keep_text(p, value + a + gap, b);
    list_add(l, one);
    list_add(l, other);
    list_add(l, other);
    list_add(l, one);
}

/* Apply one line, terminated and without trailing white space. */
static int set_param(struct tf_evalb_params *p, const char *where, size_t line, char *text,
                     struct tf_err *err)
{
    int64_t debug = 0;
    const struct {
        const char *key;
        int64_t *number;
        struct tf_evalb_list *list, *pairs;
    } keys[] = {
        {"DEBUG", &debug, NULL, NULL},
        {"MAX_ERROR", &p->max_error, NULL, NULL},
        {"CUTOFF_LEN", &p->cutoff, NULL, NULL},
        {"LABELED", &p->labeled, NULL, NULL},
        {"DELETE_LABEL", NULL, &p->deleted, NULL},
        {"DELETE_LABEL_FOR_LENGTH", NULL, &p->deleted_length, NULL},
        {"QUOTE_LABEL", NULL, &p->quotes, NULL},
        {"EQ_LABEL", NULL, NULL, &p->eq_labels},
        {"EQ_WORD", NULL, NULL, &p->eq_words},
    };
    size_t n = word_length(text), gap = blank_length(text + n);
    const char *value = text + n + gap;
    text[n] = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(text, keys[i].key) != 0)
            continue;
        if (!gap)
            return tf_fail(err, "%s: line %zu: %s has no value", where, line, text);
        if (keys[i].number != NULL && number(keys[i].number, value, err) != 0)
            return tf_context(err, "%s: line %zu: %s", where, line, text);
        if (keys[i].list != NULL)
            list_add(keys[i].list, keep_text(p, value, strlen(value)));
        if (keys[i].pairs != NULL)
            pair(p, keys[i].pairs, where, line, text, value);
        if (debug > 0)
            tf_warn("%s: line %zu: DEBUG has no effect", where, line);
        return 0;
    }
    tf_warn("%s: line %zu: unknown keyword %s", where, line, text);
    return 0;
}

static int load_text(struct tf_evalb_params *p, const char *where, const char *text, size_t n,
                     struct tf_err *err)
{
    size_t line = 0;
    for (const char *s = text, *end = text + n; s < end; line++) {
        const char *lf = memchr(s, '\n', (size_t)(end - s));
        size_t len = (size_t)((lf != NULL ? lf : end) - s), full = len;
        while (len > 1 && tf_ascii_space(s[len - 1]))
            len--;
        /* As EVALB, skip comments and lines too short for a keyword. */
        if (len >= 3 && *s != '#') {
            char *copy = tf_xstrndup(s, len);
            int rc = set_param(p, where, line + 1, copy, err);
            free(copy);
            if (rc < 0)
                return -1;
        }
        s += full + 1;
    }
    return 0;
}

static int load_params(struct tf_evalb_params *p, const char *name, struct tf_err *err)
{
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (strcmp(name, built_in[i].name) == 0 &&
            !(built_in[i].file_first && access(name, F_OK) == 0))
            return load_text(p, name, built_in[i].text, strlen(built_in[i].text), err);
    char *data;
    size_t n;
    if (tf_text_read_file(&data, &n, name, MAX_PARAM_FILE, err) != 0)
        return -1;
    int rc = load_text(p, name, data, n, err);
    free(data);
    return rc;
}

static int compare_pairs(const void *x, const void *y)
{
    const struct tf_text *a = x, *b = y;
    int c = tf_text_compare(a, b);
    return c ? c : tf_text_compare(a + 1, b + 1);
}

static void sort_list(struct tf_evalb_list *l, size_t width,
                      int (*compare)(const void *, const void *))
{
    if (l->n > 0)
        qsort(l->v, l->n / width, width * sizeof *l->v, compare);
}

/* Keep one of each pair. Returns the longest run of pairs with the same first text, in *at where it
 * begins. */
static size_t unite_pairs(struct tf_evalb_list *l, size_t *at)
{
    size_t n = 0, run = 0, longest = 0;
    for (size_t i = 0; i < l->n; i += 2) {
        if (n > 0 && compare_pairs(&l->v[i], &l->v[n - 2]) == 0)
            continue;
        run = n > 0 && tf_text_same(l->v[i], l->v[n - 2]) ? run + 1 : 1;
        l->v[n++] = l->v[i];
        l->v[n++] = l->v[i + 1];
        if (run > longest) {
            longest = run;
            *at = n - 2 * run;
        }
    }
    l->n = n;
    return longest;
}

/* Sort the lists, and list what is deleted because a deleted label equals it. Errors: a label that
 * equals too many: a bracket is compared with each of them. */
static int prepare(struct tf_evalb_params *p, const char *name, struct tf_err *err)
{
    size_t at = 0;
    sort_list(&p->deleted, 1, tf_text_compare);
    sort_list(&p->deleted_length, 1, tf_text_compare);
    sort_list(&p->quotes, 1, tf_text_compare);
    sort_list(&p->eq_labels, 2, compare_pairs);
    sort_list(&p->eq_words, 2, compare_pairs);
    for (size_t i = 0; i < p->deleted.n; i++)
        list_add(&p->deleted_equal, p->deleted.v[i]);
    for (size_t i = 0; i < p->eq_labels.n; i += 2)
        if (tf_evalb_listed(&p->deleted, p->eq_labels.v[i]))
            list_add(&p->deleted_equal, p->eq_labels.v[i + 1]);
    sort_list(&p->deleted_equal, 1, tf_text_compare);
    if (unite_pairs(&p->eq_labels, &at) <= MAX_EQ_LABELS)
        return 0;
    return tf_fail(err, "%s: EQ_LABEL: more than %d labels equal %.100s", name, MAX_EQ_LABELS,
                   p->eq_labels.v[at].p);
}

int tf_evalb_params_load(struct tf_evalb_params *p, const char *name, struct tf_err *err)
{
    *p = (struct tf_evalb_params){.max_error = 10, .cutoff = 40, .labeled = 1};
    return load_params(p, name, err) != 0 ? -1 : prepare(p, name, err);
}

void tf_evalb_params_release(struct tf_evalb_params *p)
{
    struct tf_evalb_list *lists[] = {&p->deleted, &p->deleted_equal, &p->deleted_length,
                                     &p->quotes,  &p->eq_labels,     &p->eq_words};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->v);
    tf_arena_release(&p->mem);
    *p = (struct tf_evalb_params){0};
}

bool tf_evalb_equal(const struct tf_evalb_list *pairs, struct tf_text a, struct tf_text b)
{
    const struct tf_text pair[2] = {a, b};
    return tf_text_same(a, b) || (pairs->n > 0 && bsearch(pair, pairs->v, pairs->n / 2, sizeof pair,
                                                          compare_pairs) != NULL);
}

/* The number of pairs whose first text is before a, or with `equal`, not after it. */
static size_t count_before(const struct tf_evalb_list *pairs, struct tf_text a, bool equal)
{
    size_t i;
    TF_FIRST(i, 0, pairs->n / 2, tf_text_compare(&pairs->v[2 * i], &a) >= equal);
    return i;
}

const struct tf_text *tf_evalb_partners(const struct tf_evalb_list *pairs, struct tf_text a,
                                        size_t *n)
{
    size_t first = count_before(pairs, a, false);
    *n = count_before(pairs, a, true) - first;
    return *n > 0 ? &pairs->v[2 * first] : NULL;
}

bool tf_evalb_listed(const struct tf_evalb_list *list, struct tf_text s)
{
    return list->n > 0 && bsearch(&s, list->v, list->n, sizeof s, tf_text_compare) != NULL;
}
