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
#include <sys/stat.h>

enum { MAX_LIST = 1 << 30 /* bytes */ };
/* The random stream of an epoch's permutation: batch_plan.c uses numbers below this bit. */
#define PERMUTATION ((uint64_t)1 << 63)

/* ---- reading the list ---- */

static int fail_line(const struct tf_list *l, size_t i, struct tf_err *err)
{
    return l->name != NULL ? tf_context(err, "%s: line %zu", l->name, i + 1) : -1;
}

int tf_list_add(struct tf_list *l, const char *source, const char *target, uint32_t weight,
                struct tf_err *err)
{
    const int streams = target != NULL ? 2 : 1;
    if (l->n > 0 && streams != l->streams)
        return tf_fail(err, "%d file%s, those before have %d", streams, streams > 1 ? "s" : "",
                       l->streams);
    l->streams = streams;
    l->weighted = l->weighted || weight != TF_MIX_ONE;
    TF_GROW(l->lines, l->n, l->cap);
    TF_GROW(l->corpora, l->n_corpora, l->cap_corpora);
    l->corpora[l->n_corpora] = (struct tf_list_corpus){.first = l->n, .n = 1};
    l->lines[l->n++] =
        (struct tf_list_line){.path = {source, target}, .weight = weight, .corpus = l->n_corpora++};
    return 0;
}

/* Count the last line to the corpus before its own, if they have one weight. */
static void join_corpora(struct tf_list *l)
{
    struct tf_list_line *last = &l->lines[l->n - 1];
    if (l->n < 2 || last[-1].weight != last->weight)
        return;
    l->corpora[--last->corpus].n++;
    l->n_corpora--;
}

static int parse_line(struct tf_list *l, char *s, size_t n, struct tf_err *err)
{
    char *column[3] = {s};
    int columns = 1;
    uint32_t weight = TF_MIX_ONE;
    if (memchr(s, 0, n) != NULL)
        return tf_fail(err, "a NUL byte");
    for (char *tab; (tab = strchr(column[columns - 1], '\t')) != NULL; columns++) {
        if (columns == 3)
            return tf_fail(err, "more than three columns");
        *tab = 0;
        column[columns] = tab + 1;
    }
    struct tf_err why = {0};
    if (columns == 3 && tf_mix_parse(&weight, column[2], &why) != 0)
        return tf_fail(err, "weight %s", why.msg);
    const bool pairs = columns == 1 || (columns == 3 && column[1][0] == 0);
    for (int i = 0; i < (pairs ? 1 : 2); i++) {
        if (column[i][0] == 0)
            return tf_fail(err, "no file name%s",
                           columns == 1 ? ""
                           : i == 0     ? " before the tab"
                                        : " after the tab");
        if (tf_is_std(column[i]))
            return tf_fail(err, "stdin cannot be read once for each epoch");
    }
    if (tf_list_add(l, column[0], pairs ? NULL : column[1], weight, err) != 0)
        return -1;
    join_corpora(l);
    return 0;
}

int tf_list_parse(struct tf_list *l, const char *name, char *text, size_t n, struct tf_err *err)
{
    *l = (struct tf_list){.name = tf_xstrdup(name), .text = text};
    for (char *s = text + tf_utf8_mark(text, n), *end = text + n; s < end;) {
        char *stop = memchr(s, '\n', (size_t)(end - s));
        if (stop == NULL)
            stop = end;
        char *last = stop > s && stop[-1] == '\r' ? stop - 1 : stop;
        *last = 0;
        if (parse_line(l, s, (size_t)(last - s), err) != 0)
            return fail_line(l, l->n, err);
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
    free(l->corpora);
    free(l->order);
    free(l->times);
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

/* They are read more than once, or their ends first. */
static int check_regular(const struct tf_list *l, const struct tf_list_line *line,
                         struct tf_err *err)
{
    for (int i = 0; i < l->streams; i++) {
        struct stat st; /* before opening: that of a FIFO may wait */
        if (stat(line->path[i], &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            return tf_fail(err, "%s: not a regular file", line->path[i]);
    }
    return 0;
}

static int open_line(struct tf_list *l, struct tf_corpus *c, size_t i, struct tf_err *err)
{
    struct tf_list_line *line = &l->lines[i];
    line->base = l->records;
    c->more = i + 1 < l->n;
    if (!l->once && check_regular(l, line, err) != 0)
        return -1;
    if (tf_corpus_switch(c, line->path, line->base, err) != 0 ||
        (l->once ? tf_corpus_read(c, SIZE_MAX, err) : tf_corpus_peek(c, err)) != 0)
        return -1;
    line->records = c->records;
    l->corpora[line->corpus].records += c->records;
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
                 struct tf_err *err)
{
    struct tf_sha256 sha;
    if (l->weighted && l->n_corpora > TF_LIST_CORPORA)
        return tf_fail(err, "%zu corpora with weights, at most %d", l->n_corpora, TF_LIST_CORPORA);
    tf_sha256_init(&sha);
    l->has_id = true;
    for (size_t i = 0; i < l->n; i++) {
        if (open_line(l, c, i, err) != 0)
            return fail_line(l, i, err);
        l->has_id = l->has_id && l->lines[i].has_id;
        tf_sha256_add(&sha, l->lines[i].id, sizeof l->lines[i].id);
    }
    for (size_t i = 0; l->weighted && i < l->n; i++) {
        const uint32_t w = l->lines[i].weight;
        const uint8_t bytes[4] = {(uint8_t)w, (uint8_t)(w >> 8), (uint8_t)(w >> 16),
                                  (uint8_t)(w >> 24)};
        tf_sha256_add(&sha, bytes, sizeof bytes);
    }
    tf_sha256_end(&sha, l->id);
    l->group = l->once ? l->n : group == 0 ? default_group(l) : group < l->n ? group : l->n;
    l->n_groups = (l->n + l->group - 1) / l->group;
    l->loaded = l->once;
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

static int load_line(const struct tf_list *l, struct tf_corpus *c, const struct tf_list_line *line,
                     struct tf_err *err)
{
    if (check_regular(l, line, err) != 0 || tf_corpus_switch(c, line->path, line->base, err) != 0 ||
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
        if (load_line(l, c, &l->lines[l->order[i]], err) != 0)
            return fail_line(l, l->order[i], err);
    l->loaded = l->n_groups == 1;
    return 0;
}

/* ---- weights ---- */

void tf_list_name(struct tf_buf *b, const struct tf_list *l, size_t corpus)
{
    const struct tf_list_corpus *x = &l->corpora[corpus];
    tf_buf_str(b, l->lines[x->first].path[0]);
    if (x->n > 1)
        tf_buf_printf(b, " and %zu more", x->n - 1);
}

/* The line of the record with this number. Of lines without records that begin there it is the
 * last, which has it. */
static size_t line_of(const struct tf_list *l, uint64_t idx)
{
    size_t lo = 0, hi = l->n;
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (l->lines[mid].base <= idx)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

struct tf_list_corpus *tf_list_corpus_of(struct tf_list *l, uint32_t idx)
{
    return &l->corpora[l->lines[line_of(l, idx)].corpus];
}

int tf_list_draw(struct tf_list *l, const struct tf_corpus *c, uint64_t seed, uint64_t epoch,
                 struct tf_err *err)
{
    if (!l->weighted)
        return 0;
    if (c->n > l->cap_times) {
        l->cap_times = c->n;
        l->times = tf_xarray(l->times, c->n, sizeof *l->times);
    }
    uint64_t all = 0, end = 0; /* end: of the line's records */
    const struct tf_list_line *line = NULL;
    uint32_t first = 0;
    for (size_t i = 0; i < c->n; i++) {
        const uint64_t idx = c->pairs[i].idx;
        if (line == NULL || idx < line->base || idx >= end) {
            const size_t k = line_of(l, idx);
            line = &l->lines[k];
            end = line->base + line->records;
            first = tf_mix_phase(seed, k);
        }
        l->times[i] = tf_mix_times(line->weight, first, idx - line->base, epoch);
        all += l->times[i];
    }
    return all <= TF_CORPUS_RECORDS
               ? 0
               : tf_fail(err, "too many pairs of a group in an epoch, at most %llu: take a smaller "
                              "--group or smaller weights",
                         (unsigned long long)TF_CORPUS_RECORDS);
}
