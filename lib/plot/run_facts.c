/* run_facts.c - see run_facts_private.h. */
#include "plot/run_facts_private.h"
#include "base/order.h"
#include "base/json.h"
#include "base/memory.h"
#include "plot/axis_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members of the line to use, in the order of the legend; an object stands for its members. */
static const struct {
    const char *key;
    const char *prefix; /* of its members' names */
} sources[] = {{"settings", ""}, {"batches", "batch "}, {"config", ""},  {"steps", NULL},
               {"data", ""},     {"version", NULL},     {"device", NULL}};
enum { SOURCES = sizeof sources / sizeof *sources };

/* Members of "batches" that follow from the corpus, which "data" has. */
static const char *const skipped[] = {"corpus", "pairs", "records", "src_tokens", "tgt_tokens"};

void tf_run_facts_release(struct tf_run_facts *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->v[i].key);
        free(f->v[i].value);
        free(f->v[i].brief);
    }
    free(f->v);
    free(f->by_key);
    *f = (struct tf_run_facts){0};
}

/* A hash is cut to what people compare. */
static struct tf_run_fact *add_fact(struct tf_run_facts *f, const char *prefix, const char *key,
                                    const char *value)
{
    bool hash = strlen(value) == 64 && strspn(value, "0123456789abcdef") == 64;
    size_t size = strlen(prefix) + strlen(key) + 1;
    char *name = tf_xmalloc(size);
    snprintf(name, size, "%s%s", prefix, key);
    TF_GROW(f->v, f->n, f->cap);
    f->v[f->n] =
        (struct tf_run_fact){.key = name, .value = tf_xstrndup(value, hash ? 8 : strlen(value))};
    return &f->v[f->n++];
}

static void add_scalar(struct tf_run_facts *f, const char *prefix, const char *key,
                       enum tf_json_kind kind, const struct tf_json_reader *r)
{
    char number[32];
    if (kind == TF_JSON_STRING || kind == TF_JSON_NUMBER) {
        struct tf_run_fact *fact = add_fact(f, prefix, key, r->text.p);
        if (kind == TF_JSON_NUMBER && !r->whole && isfinite(r->real)) {
            tf_axis_number(number, r->real);
            fact->brief = tf_xstrdup(number);
        }
    } else if (kind == TF_JSON_BOOL)
        add_fact(f, prefix, key, r->boolean ? "yes" : "no");
}

/* Read the rest of an object, at any depth; its scalars become facts. */
static int read_object(struct tf_json_reader *r, struct tf_run_facts *f, const char *prefix)
{
    struct tf_err err;
    enum tf_json_kind kind;
    char *key = NULL;
    int depth = r->depth, rc;
    while ((rc = tf_json_next(r, &kind, &err)) == 0 && r->depth >= depth) {
        if (kind == TF_JSON_KEY) {
            free(key);
            key = tf_xstrdup(r->text.p);
        } else if (key != NULL && r->depth == depth) {
            bool skip = false;
            for (size_t i = 0; i < sizeof skipped / sizeof *skipped && *prefix != 0; i++)
                skip |= strcmp(key, skipped[i]) == 0;
            if (!skip)
                add_scalar(f, prefix, key, kind, r);
        }
    }
    free(key);
    return rc;
}

/* Read a member of the line; parts has a list of facts per source. */
static int read_member(struct tf_json_reader *r, const char *key, struct tf_run_facts *parts,
                       bool *start)
{
    struct tf_err err;
    enum tf_json_kind kind;
    size_t i = 0;
    while (i < SOURCES && strcmp(key, sources[i].key) != 0)
        i++;
    if (i == SOURCES && strcmp(key, "event") != 0)
        return tf_json_skip(r, &err);
    if (tf_json_next(r, &kind, &err) != 0)
        return -1;
    if (i == SOURCES)
        *start = kind == TF_JSON_STRING && strcmp(r->text.p, "start") == 0;
    else if (kind == TF_JSON_OBJECT && sources[i].prefix != NULL)
        return read_object(r, &parts[i], sources[i].prefix);
    else if (sources[i].prefix == NULL)
        add_scalar(&parts[i], "", key, kind, r);
    return 0;
}

/* Move the facts of a part to the end of *f. */
static void move_facts(struct tf_run_facts *f, struct tf_run_facts *part)
{
    f->cap = f->n + part->n;
    f->v = tf_xarray(f->v, f->cap, sizeof *f->v);
    for (size_t i = 0; i < part->n; i++)
        f->v[f->n++] = part->v[i];
    part->n = 0;
}

static int compare_facts(const void *x, const void *y)
{
    const struct tf_run_fact *a = *(struct tf_run_fact *const *)x,
                             *b = *(struct tf_run_fact *const *)y;
    int c = strcmp(a->key, b->key);
    return c ? c : (a > b) - (a < b);
}

static void sort_facts(struct tf_run_facts *f)
{
    f->by_key = tf_xarray(NULL, f->n + 1, sizeof *f->by_key);
    for (size_t i = 0; i < f->n; i++)
        f->by_key[i] = &f->v[i];
    qsort(f->by_key, f->n, sizeof *f->by_key, compare_facts);
}

void tf_run_facts_read(struct tf_run_facts *f, const char *line, size_t n)
{
    struct tf_json_reader r;
    struct tf_err err;
    enum tf_json_kind kind;
    struct tf_run_facts parts[SOURCES] = {0};
    bool start = false;
    int rc = 0;
    tf_json_read(&r, line, n);
    r.not_finite = true;
    if (tf_json_next(&r, &kind, &err) == 0 && kind == TF_JSON_OBJECT)
        while (rc == 0 && tf_json_next(&r, &kind, &err) == 0 && kind == TF_JSON_KEY) {
            char *key = tf_xstrdup(r.text.p);
            rc = read_member(&r, key, parts, &start);
            free(key);
        }
    tf_json_read_release(&r);
    for (size_t i = 0; i < SOURCES; i++) {
        if (start)
            move_facts(f, &parts[i]);
        tf_run_facts_release(&parts[i]);
    }
    sort_facts(f);
}

/* The first fact of a key; NULL if there is none. */
static const struct tf_run_fact *find_fact(const struct tf_run_facts *f, const char *key)
{
    size_t i;
    TF_FIRST(i, 0, f->n, strcmp(f->by_key[i]->key, key) >= 0);
    return i < f->n && strcmp(f->by_key[i]->key, key) == 0 ? f->by_key[i] : NULL;
}

static bool has_other(const struct tf_run_facts *f, const struct tf_run_fact *fact)
{
    const struct tf_run_fact *own = find_fact(f, fact->key);
    return f->n > 0 && strcmp(own != NULL ? own->value : "", fact->value) != 0;
}

static bool differs(const struct tf_run_facts *runs, size_t n, const struct tf_run_fact *fact)
{
    for (size_t i = 0; i < n; i++)
        if (has_other(&runs[i], fact))
            return true;
    return false;
}

/* The value of a fact, in brief unless another run's other value is the same in brief. */
static const char *shown_value(const struct tf_run_facts *runs, size_t n,
                               const struct tf_run_fact *fact)
{
    for (size_t i = 0; i < n && fact->brief != NULL; i++) {
        const struct tf_run_fact *own = find_fact(&runs[i], fact->key);
        if (has_other(&runs[i], fact) && own != NULL && own->brief != NULL &&
            strcmp(own->brief, fact->brief) == 0)
            return fact->value;
    }
    return fact->brief != NULL ? fact->brief : fact->value;
}

char *tf_run_facts_difference(const struct tf_run_facts *runs, size_t n, size_t which)
{
    struct tf_buf text = {0};
    size_t found = 0;
    for (size_t i = 0; i < runs[which].n; i++) {
        const struct tf_run_fact *fact = &runs[which].v[i];
        if (differs(runs, n, fact) && found++ < TF_RUN_FACTS_SHOWN)
            tf_buf_printf(&text, "%s%s %s", found > 1 ? ", " : "", fact->key,
                          shown_value(runs, n, fact));
    }
    if (found > TF_RUN_FACTS_SHOWN)
        tf_buf_printf(&text, ", %zu more", found - TF_RUN_FACTS_SHOWN);
    return text.p;
}
