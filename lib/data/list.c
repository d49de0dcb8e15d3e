/* list.c - see list.h. */
#include "data/list.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/path.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "text/text_file.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 1 << 30 /* bytes */ };
/* The random stream of an epoch's permutation: batch_plan.c uses numbers below this bit. */
#define PERMUTATION ((uint64_t)1 << 63)

/* ---- reading the list ---- */

static int fail_line(const struct tf_list *l, size_t i, struct tf_err *err)
{
    return tf_context(err, "%s: line %zu", l->name, i + 1);
}

static int parse_line(struct tf_list_line *line, char *s, size_t n, int *streams,
                      struct tf_err *err)
{
    if (memchr(s, 0, n) != NULL)
        return tf_fail(err, "a NUL byte");
    char *tab = strchr(s, '\t');
    *line = (struct tf_list_line){.path = {s, tab != NULL ? tab + 1 : NULL}};
    *streams = tab != NULL ? 2 : 1;
    if (tab != NULL)
        *tab = 0;
    for (int i = 0; i < *streams; i++) {
        if (line->path[i][0] == 0)
            return tf_fail(err, "no file name%s",
                           tab == NULL ? ""
                           : i == 0    ? " before the tab"
                                       : " after the tab");
        if (tf_is_std(line->path[i]))
            return tf_fail(err, "stdin cannot be read once for each epoch");
        if (strchr(line->path[i], '\t') != NULL)
            return tf_fail(err, "more than two columns");
    }
    return 0;
}

int tf_list_parse(struct tf_list *l, const char *name, char *text, size_t n, struct tf_err *err)
{
    int streams = 0;
    *l = (struct tf_list){.name = tf_xstrdup(name), .text = text};
    for (char *s = text + tf_utf8_mark(text, n), *end = text + n; s < end;) {
        char *stop = memchr(s, '\n', (size_t)(end - s));
        if (stop == NULL)
            stop = end;
        char *last = stop > s && stop[-1] == '\r' ? stop - 1 : stop;
        *last = 0;
        TF_GROW(l->lines, l->n, l->cap);
        if (parse_line(&l->lines[l->n], s, (size_t)(last - s), &streams, err) != 0)
            return fail_line(l, l->n, err);
        if (l->n > 0 && streams != l->streams) {
            tf_fail(err, "%d column%s, the lines before have %d", streams, streams > 1 ? "s" : "",
                    l->streams);
            return fail_line(l, l->n, err);
        }
        l->streams = streams;
        l->n++;
        s = stop + 1;
    }
    return l->n > 0 ? 0 : tf_fail(err, "%s: no files", l->name);
}

int tf_list_read(struct tf_list *l, const char *path, struct tf_err *err)
{
    char *text;
    size_t n;
    if (tf_text_read_file(&text, &n, path, MAX_LIST, err) != 0)
        return -1;
    return tf_list_parse(l, tf_is_std(path) ? "stdin" : path, text, n, err);
}

bool tf_list_has(const struct tf_list *l, const char *path)
{
    for (size_t i = 0; i < l->n; i++)
        for (int k = 0; k < l->streams; k++)
            if (tf_same_file(l->lines[i].path[k], path))
                return true;
    return false;
}

void tf_list_release(struct tf_list *l)
{
    free(l->name);
    free(l->text);
    free(l->lines);
    free(l->order);
    *l = (struct tf_list){0};
}

/* ---- files and groups ---- */

static int more_records(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The most files of which any have at most TF_LIST_GROUP_RECORDS records together. */
static size_t default_group(const struct tf_list *l)
{
    uint64_t *counts = tf_xarray(NULL, l->n, sizeof *counts), sum = 0;
    size_t k = 0;
    for (size_t i = 0; i < l->n; i++)
        counts[i] = l->lines[i].records;
    qsort(counts, l->n, sizeof *counts, more_records);
    while (k < l->n && (sum += counts[k]) <= TF_LIST_GROUP_RECORDS)
        k++;
    free(counts);
    return k > 0 ? k : 1;
}

static int open_line(struct tf_list *l, struct tf_corpus *c, size_t i, struct tf_err *err)
{
    struct tf_list_line *line = &l->lines[i];
    if (tf_corpus_switch(c, line->path, 0, err) != 0 || tf_corpus_peek(c, err) != 0)
        return -1;
    line->records = c->records;
    line->base = l->records;
    line->has_id = c->has_id;
    memcpy(line->id, c->id, sizeof line->id);
    for (int s = 0; s < c->streams; s++)
        line->modified[s] = c->side[s].in.modified;
    if (c->records > TF_CORPUS_RECORDS - l->records)
        return tf_fail(err, "too many records in all files, at most %llu",
                       (unsigned long long)TF_CORPUS_RECORDS);
    l->records += c->records;
    return 0;
}

int tf_list_open(struct tf_list *l, struct tf_corpus *c, size_t group,
                 const struct tf_pair_filter *filter, struct tf_err *err)
{
    struct tf_sha256 sha;
    tf_corpus_init(c, l->streams, filter);
    tf_sha256_init(&sha);
    l->has_id = true;
    for (size_t i = 0; i < l->n; i++) {
        if (open_line(l, c, i, err) != 0)
            return fail_line(l, i, err);
        l->has_id = l->has_id && l->lines[i].has_id;
        tf_sha256_add(&sha, l->lines[i].id, sizeof l->lines[i].id);
    }
    tf_sha256_end(&sha, l->id);
    l->group = group == 0 ? default_group(l) : group < l->n ? group : l->n;
    l->n_groups = (l->n + l->group - 1) / l->group;
    l->order = tf_xarray(NULL, l->n, sizeof *l->order);
    return 0;
}

void tf_list_permute(struct tf_list *l, uint64_t seed, uint64_t epoch)
{
    struct tf_rng r = tf_rng_new(seed, PERMUTATION | epoch);
    for (size_t i = 0; i < l->n; i++)
        l->order[i] = (uint32_t)i;
    tf_rng_shuffle(&r, l->order, l->n);
    /* The plan of a group shuffles its pairs, so their order in memory may be that of the list. */
    for (size_t i = 0; i < l->n; i += l->group)
        qsort(l->order + i, i + l->group < l->n ? l->group : l->n - i, sizeof *l->order,
              tf_order_u32);
}

static bool same_times(const struct tf_corpus *c, const struct tf_list_line *line)
{
    bool same = true;
    for (int i = 0; i < c->streams; i++) {
        const struct timespec *was = &line->modified[i], *is = &c->side[i].in.modified;
        same = same && is->tv_sec == was->tv_sec && is->tv_nsec == was->tv_nsec;
    }
    return same;
}

static int load_line(struct tf_corpus *c, const struct tf_list_line *line, struct tf_err *err)
{
    if (tf_corpus_switch(c, line->path, line->base, err) != 0 ||
        tf_corpus_read(c, SIZE_MAX, err) != 0)
        return -1;
    for (int i = 0; i < c->streams; i++)
        if (c->side[i].parts > 1)
            return tf_fail(err, "%s: %llu streams in one file; list each as a file of its own",
                           line->path[i], (unsigned long long)c->side[i].parts);
    bool same = c->records == line->records && c->has_id == line->has_id &&
                (c->has_id ? memcmp(c->id, line->id, sizeof c->id) == 0 : same_times(c, line));
    return same ? 0
                : tf_fail(err, "%s%s%s: changed while it was read", line->path[0],
                          c->streams == 2 ? " or " : "", c->streams == 2 ? line->path[1] : "");
}

int tf_list_load(struct tf_list *l, struct tf_corpus *c, size_t g, struct tf_err *err)
{
    if (l->loaded)
        return 0;
    tf_corpus_forget(c, c->n);
    for (size_t i = g * l->group; i < l->n && i < (g + 1) * l->group; i++)
        if (load_line(c, &l->lines[l->order[i]], err) != 0)
            return fail_line(l, l->order[i], err);
    l->loaded = l->n_groups == 1;
    return 0;
}
