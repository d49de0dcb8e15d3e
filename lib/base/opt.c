/* opt.c - rows of an option table and their values. */
#include "base/opt.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/parse.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

/* Arrays of words, which live as long as argv. */
static struct tf_arena words;

static int bad_value(struct tf_err *err, const char *shown, const struct tf_err *why)
{
    return tf_fail_status(err, TF_USAGE, "%s %s", shown, why->msg);
}

int tf_opt_find_word(const char *const *list, const char *text, struct tf_err *why)
{
    struct tf_buf all = {0};
    for (int i = 0; list[i] != NULL; i++) {
        if (strcmp(list[i], text) == 0) {
            tf_buf_release(&all);
            return i;
        }
        tf_buf_item(&all, "%s", list[i]);
    }
    tf_fail(why, "%s: not one of %s", text, all.p != NULL ? all.p : "");
    tf_buf_release(&all);
    return -1;
}

static int set_choice(const struct tf_opt *o, const char *text, struct tf_err *why)
{
    int i = tf_opt_find_word(o->choices, text, why);
    if (i < 0)
        return -1;
    *(int *)o->target = i;
    return 0;
}

void tf_strs_add(struct tf_strs *list, const char *word)
{
    /* The array is full if its length is a power of two: double it. */
    if ((list->n & (list->n - 1)) == 0) {
        const char **v = tf_arena_alloc(&words, (list->n != 0 ? 2 * list->n : 1) * sizeof *v);
        if (list->n != 0)
            memcpy(v, list->v, list->n * sizeof *v);
        list->v = v;
    }
    list->v[list->n++] = word;
}

void tf_opt_add(struct tf_strs *line, bool is, const char *name, const char *value)
{
    if (is)
        tf_strs_add(line, name);
    if (is && value != NULL)
        tf_strs_add(line, value);
}

void tf_strs_place(struct tf_strs *list, size_t place)
{
    size_t *all = tf_arena_alloc(&words, list->n * sizeof *all);
    if (list->n > 1)
        memcpy(all, list->place, (list->n - 1) * sizeof *all);
    all[list->n - 1] = place;
    list->place = all;
}

static int64_t whole(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

/* Only what is a number is a weight, so that most names with a colon stay names. */
static int add_weighted(struct tf_strs *list, const char *shown, const char *text,
                        struct tf_err *err)
{
    struct tf_err why = {0};
    const char *colon = strrchr(text, ':');
    double weight = 1;
    if (colon != NULL && colon > text &&
        tf_parse_real(&weight, colon + 1, -DBL_MAX, DBL_MAX, &why) == 0) {
        if (tf_parse_real(&weight, colon + 1, 1e-6, 1e6, &why) != 0)
            return tf_fail_status(err, TF_USAGE, "%s %s: weight %s", shown, text, why.msg);
        text = tf_arena_strndup(&words, text, (size_t)(colon - text));
    }
    double *all = tf_arena_alloc(&words, (list->n + 1) * sizeof *all);
    if (list->n > 0)
        memcpy(all, list->weight, list->n * sizeof *all);
    all[list->n] = weight;
    list->weight = all;
    tf_strs_add(list, text);
    return 0;
}

int tf_opt_set(struct tf_opt *o, const char *shown, const char *text, struct tf_err *err)
{
    struct tf_err why = {0};
    bool free_range = o->lo == 0 && o->hi == 0;
    if ((o->flags & TF_OPT_FILE) && *text == 0)
        return tf_fail_status(err, TF_USAGE, "%s '': empty file name", shown);
    switch (o->kind) {
    case TF_OPT_FLAG:
        if (o->target != NULL)
            *(bool *)o->target = strcmp(text, "true") == 0;
        return 0;
    case TF_OPT_INT:
        if (tf_parse_int(o->target, text, free_range ? INT64_MIN : whole(o->lo),
                         free_range ? INT64_MAX : whole(o->hi), &why) != 0)
            return bad_value(err, shown, &why);
        return 0;
    case TF_OPT_REAL:
        if (tf_parse_real(o->target, text, free_range ? -DBL_MAX : o->lo,
                          free_range ? DBL_MAX : o->hi, &why) != 0)
            return bad_value(err, shown, &why);
        return 0;
    case TF_OPT_STR:
        *(const char **)o->target = text;
        return 0;
    case TF_OPT_CHOICE:
        return set_choice(o, text, &why) == 0 ? 0 : bad_value(err, shown, &why);
    case TF_OPT_LIST:
        if (o->flags & TF_OPT_WEIGHTED)
            return add_weighted(o->target, shown, text, err);
        tf_strs_add(o->target, text);
        return 0;
    case TF_OPT_GROUP:
    case TF_OPT_WORD:
    case TF_OPT_END:
        break;
    }
    TF_BUG("%s takes no value", shown);
}

static void set_default(struct tf_opt *o)
{
    struct tf_err err = {0};
    if (o->def != NULL && tf_opt_set(o, o->name, o->def, &err) != 0)
        TF_BUG("default of %s", err.msg);
}

void tf_opt_set_defaults(struct tf_opt *opts)
{
    for (struct tf_opt *o = opts; o->kind != TF_OPT_END; o++) {
        o->given = NULL;
        o->unused = false;
        if (o->kind == TF_OPT_LIST)
            *(struct tf_strs *)o->target = (struct tf_strs){0};
        set_default(o);
    }
}

void tf_opt_reassign(struct tf_opt *opts)
{
    struct tf_err err = {0};
    for (struct tf_opt *o = opts; o->kind != TF_OPT_END; o++) {
        if (o->kind == TF_OPT_LIST)
            continue;
        if (o->given != NULL && tf_opt_set(o, o->name, o->given, &err) != 0)
            TF_BUG("%s", err.msg);
    }
}

/* Is the name among the conditions of a list, "beam as=paper"? */
static bool names(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *s = list; s != NULL && *s != 0; s += strcspn(s, " "), s += strspn(s, " "))
        if (strcspn(s, " =") == n && memcmp(s, name, n) == 0)
            return true;
    return false;
}

bool tf_opt_excluded(const struct tf_opt *opts, const char *name)
{
    const struct tf_opt *row = tf_opt_find((struct tf_opt *)opts, name);
    for (const struct tf_opt *o = opts; o->kind != TF_OPT_END; o++)
        if (o->given != NULL && (names(o->excludes, name) || names(row->excludes, o->name)))
            return true;
    return false;
}

int tf_opt_adopt(struct tf_opt *opts, const char *name, const char *text, struct tf_err *err)
{
    struct tf_opt *row = tf_opt_find(opts, name);
    char shown[80];
    if (row == NULL)
        TF_BUG("no option --%s", name);
    if (row->given != NULL || row->unused || tf_opt_excluded(opts, name))
        return 0;
    row->given = tf_arena_strndup(&words, text, strlen(text));
    snprintf(shown, sizeof shown, "--%s", name);
    return tf_opt_set(row, shown, row->given, err);
}

struct tf_opt *tf_opt_find(struct tf_opt *opts, const char *name)
{
    for (struct tf_opt *o = opts; o->kind != TF_OPT_END; o++)
        if (o->name != NULL && strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* A flag whose last form was --no-NAME gives that. */
void tf_opt_words(struct tf_strs *line, const struct tf_opt *opts, const char *const *but)
{
    struct tf_err none;
    for (const struct tf_opt *o = opts; o->kind != TF_OPT_END; o++) {
        if (o->given == NULL || tf_opt_find_word(but, o->name, &none) >= 0)
            continue;
        const bool flag = o->kind == TF_OPT_FLAG, no = flag && strcmp(o->given, "false") == 0;
        const size_t n = strlen(o->name) + sizeof "--no-";
        char *name = tf_arena_alloc(&words, n);
        snprintf(name, n, "--%s%s", no ? "no-" : "", o->name);
        tf_opt_add(line, true, name, flag ? NULL : o->given);
    }
}

void tf_opt_weighted_words(struct tf_strs *line, const char *name, const struct tf_strs *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct tf_buf word = {0};
        char weight[32];
        tf_buf_printf(&word, "%s:%s", list->v[i], tf_format_real(weight, list->weight[i]));
        tf_opt_add(line, true, name, word.p);
    }
}

bool tf_opt_given(const struct tf_opt *opts, const char *name)
{
    const struct tf_opt *o = tf_opt_find((struct tf_opt *)opts, name);
    if (o == NULL)
        TF_BUG("no option --%s", name);
    return o->given != NULL;
}
