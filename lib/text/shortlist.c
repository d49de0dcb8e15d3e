/* shortlist.c - see shortlist.h. */
#include "text/shortlist.h"
#include "base/arena.h"
#include "base/bits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "text/sp_check.h"
#include "text/text_file.h"
#include "text/user_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0xF11A48D5013417F5)
#define MOST_PAIRS ((size_t)1 << 27) /* of a text file */
enum { HEADER = 48, MAX_LINE = 1 << 14, PART = 1 << 20 };
static const size_t MAX_FILE = (size_t)1 << 30; /* of a binary file */

void tf_shortlist_release(struct tf_shortlist *s)
{
    free(s->off);
    free(s->ids);
    *s = (struct tf_shortlist){0};
}

/* ---- binary ---- */

enum tf_list_use tf_shortlist_use(const char *text)
{
    return text == NULL                 ? TF_LIST_OWN
           : strcmp(text, "none") == 0  ? TF_LIST_NONE
           : strcmp(text, "model") == 0 ? TF_LIST_MODEL
                                        : TF_LIST_FILE;
}

/* Do these bytes, of which 8 are enough, begin a binary list? */
static bool is_binary(const void *p, size_t n)
{
    return n >= 8 && tf_load64(p) == MAGIC;
}

static uint64_t checksum(const char *p, size_t n)
{
    uint64_t s = 0;
    for (size_t i = 16; i + 8 <= n; i += 8)
        s ^= tf_load64(p + i) + 0x9e3779b9 + (s << 6) + (s >> 2);
    return s;
}

static int check_sizes(uint64_t offsets, uint64_t ids, size_t n, struct tf_err *err)
{
    if (offsets < 1 || offsets > n / 8 || ids > n / 4 || HEADER + 8 * offsets + 4 * ids != n)
        return tf_fail(err,
                       "shortlist of %zu bytes, but its head says %" PRIu64 " offsets and %" PRIu64
                       " ids",
                       n, offsets, ids);
    return 0;
}

static int fill(struct tf_shortlist *s, const char *p, size_t ids,
                const struct tf_shortlist_vocab *v, struct tf_err *err)
{
    uint64_t last = 0;
    for (size_t i = 0; i <= s->n; i++) {
        const uint64_t at = tf_load64(p + HEADER + 8 * i);
        if (at < last || at > ids || (i == 0 && at != 0) || (i == s->n && at != ids))
            return tf_fail(err, "shortlist: offset %zu is %" PRIu64 ", of %zu ids", i, at, ids);
        s->off[i] = last = at;
    }
    for (size_t i = 0; i < ids; i++) {
        s->ids[i] = tf_load32(p + HEADER + 8 * (s->n + 1) + 4 * i);
        if (s->ids[i] >= v->target_ids)
            return tf_fail(err, "shortlist: target id %" PRIu32 ", but the vocabulary has %zu",
                           s->ids[i], v->target_ids);
    }
    return 0;
}

int tf_shortlist_parse(struct tf_shortlist *s, const void *bytes, size_t n,
                       const struct tf_shortlist_vocab *v, struct tf_err *err)
{
    const char *p = bytes;
    *s = (struct tf_shortlist){0};
    if (!is_binary(p, n) || n < HEADER)
        return tf_fail(err, "shortlist: truncated, or not a binary shortlist");
    const uint64_t first = tf_load64(p + 16), best = tf_load64(p + 24), offsets = tf_load64(p + 32),
                   ids = tf_load64(p + 40);
    if (check_sizes(offsets, ids, n, err) != 0)
        return -1;
    if (tf_load64(p + 8) != checksum(p, n))
        return tf_fail(err, "shortlist: damaged: its checksum is wrong");
    if (offsets - 1 != v->source_ids)
        return tf_fail(err,
                       "shortlist for a vocabulary of %" PRIu64 " source ids, but the model has "
                       "%zu",
                       offsets - 1, v->source_ids);
    *s = (struct tf_shortlist){.first = first < v->target_ids ? first : v->target_ids,
                               .best = best < v->target_ids ? best : v->target_ids,
                               .n = offsets - 1,
                               .off = tf_xarray(NULL, offsets, sizeof *s->off),
                               .ids = tf_xarray(NULL, ids + 1, sizeof *s->ids)};
    if (fill(s, p, ids, v, err) == 0)
        return 0;
    tf_shortlist_release(s);
    return -1;
}

static void put64(struct tf_buf *b, uint64_t x)
{
    tf_buf_add(b, &x, sizeof x);
}

void tf_shortlist_put(struct tf_buf *b, const struct tf_shortlist *s)
{
    const size_t start = b->len, ids = s->off[s->n];
    put64(b, MAGIC);
    put64(b, 0);
    put64(b, s->first);
    put64(b, s->best);
    put64(b, s->n + 1);
    put64(b, ids);
    for (size_t i = 0; i <= s->n; i++)
        put64(b, s->off[i]);
    tf_buf_add(b, s->ids, ids * sizeof *s->ids);
    const uint64_t sum = checksum(b->p + start, b->len - start);
    memcpy(b->p + start + 8, &sum, sizeof sum);
}

/* ---- text ---- */

struct pair {
    uint32_t source, target;
    float p;
    uint32_t line; /* modulo 2^32: of a pair that is there twice the later line */
};

struct reading {
    const struct tf_shortlist_vocab *v;
    struct tf_sp_index side[2]; /* source, target */
    struct pair *pairs;
    size_t n, cap, known, lines; /* lines of pairs, and those whose pieces are known */
};

/* The id of a piece; *known is whether the vocabulary has it. -1: there is no unknown piece. */
static int64_t id_of(const struct reading *r, int side, struct tf_text text, bool *known)
{
    const int64_t found = tf_sp_find(&r->side[side], text);
    *known = *known && found >= 0;
    return found >= 0 ? found : r->v->unk;
}

static int add_line(const struct tf_user_lines *l, struct tf_text line, struct tf_err *err)
{
    struct reading *r = l->arg;
    struct tf_text word[3], more;
    char number[40];
    double p;
    if (!tf_text_word(&line, &word[0]))
        return 0;
    if (!tf_text_word(&line, &word[1]) || !tf_text_word(&line, &word[2]) ||
        tf_text_word(&line, &more) || word[2].n >= sizeof number)
        return tf_fail(err, "not a target piece, a source piece and a probability");
    memcpy(number, word[2].p, word[2].n);
    number[word[2].n] = 0;
    if (tf_parse_real(&p, number, 0, 3e38, err) != 0)
        return -1;
    if (tf_text_is(word[0], "NULL") || tf_text_is(word[1], "NULL"))
        return 0;
    bool known = true;
    const int64_t target = id_of(r, 1, word[0], &known), source = id_of(r, 0, word[1], &known);
    r->known += known;
    r->lines++;
    if (source < 0 || target < 0 || (size_t)source >= r->v->source_ids ||
        (size_t)target >= r->v->target_ids)
        return 0;
    if (r->n == MOST_PAIRS)
        return tf_fail(err, "more than %zu pairs", MOST_PAIRS);
    TF_GROW(r->pairs, r->n, r->cap);
    r->pairs[r->n++] =
        (struct pair){(uint32_t)source, (uint32_t)target, (float)p, (uint32_t)r->lines};
    return 0;
}

/* By source and target, the later lines first. */
static int by_pair(const void *x, const void *y)
{
    const struct pair *a = x, *b = y;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    return (a->line < b->line) - (a->line > b->line);
}

/* Of a source, the likeliest first. */
static int by_probability(const void *x, const void *y)
{
    const struct pair *a = x, *b = y;
    if (a->p != b->p)
        return a->p > b->p ? -1 : 1;
    return (a->target < b->target) - (a->target > b->target);
}

static int by_target(const void *x, const void *y)
{
    const struct pair *a = x, *b = y;
    return (a->target > b->target) - (a->target < b->target);
}

/* n pairs of one source: the first *n are those that count, by target. */
static void cut_pairs(struct pair *v, size_t *n, const struct tf_shortlist_cut *cut)
{
    size_t kept = 0;
    qsort(v, *n, sizeof *v, by_probability);
    while (kept < *n && kept < cut->best && v[kept].p > (float)cut->threshold)
        kept++;
    qsort(v, kept, sizeof *v, by_target);
    *n = kept;
}

static void make_list(struct tf_shortlist *s, struct reading *r, const struct tf_shortlist_cut *cut)
{
    const size_t sources = r->v->source_ids, targets = r->v->target_ids;
    *s = (struct tf_shortlist){.first = cut->first < targets ? cut->first : targets,
                               .best = cut->best < targets ? cut->best : targets,
                               .n = sources,
                               .off = tf_xcalloc(sources + 1, sizeof *s->off),
                               .ids = tf_xarray(NULL, r->n + 1, sizeof *s->ids)};
    size_t all = 0, n = 0;
    if (r->n > 0)
        qsort(r->pairs, r->n, sizeof *r->pairs, by_pair);
    for (size_t i = 0; i < r->n; i++)
        if (all == 0 || r->pairs[all - 1].source != r->pairs[i].source ||
            r->pairs[all - 1].target != r->pairs[i].target)
            r->pairs[all++] = r->pairs[i];
    for (size_t source = 0, at = 0; source < sources; source++) {
        size_t end = at;
        while (end < all && r->pairs[end].source == source)
            end++;
        size_t kept = end - at;
        if (kept > 0)
            cut_pairs(r->pairs + at, &kept, cut);
        for (size_t i = 0; i < kept; i++)
            s->ids[n++] = r->pairs[at + i].target;
        s->off[source + 1] = n;
        at = end;
    }
}

static int check_pairs(const struct reading *r, const char *name, struct tf_err *err)
{
    if (r->lines == 0)
        return tf_fail(err, "%s: no pairs of pieces", name);
    if (r->known < r->lines / 2)
        return tf_fail(err,
                       "%s: %zu of its %zu pairs have a piece that the model's vocabulary lacks: "
                       "a shortlist of another vocabulary",
                       name, r->lines - r->known, r->lines);
    return 0;
}

static int read_text(struct tf_shortlist *s, struct tf_in *in, const struct tf_shortlist_vocab *v,
                     const struct tf_shortlist_cut *cut, uint8_t sum[32], struct tf_err *err)
{
    struct reading r = {.v = v};
    struct tf_user_lines lines = {.add = add_line, .arg = &r, .longest = MAX_LINE};
    struct tf_arena a = {0};
    int rc = v->source != NULL && v->target != NULL
                 ? 0
                 : tf_fail(err,
                           "%s: the model has no vocabulary to find its pieces in "
                           "(tf-convert --vocab adds one)",
                           in->name);
    if (rc == 0 && (tf_sp_index(&r.side[0], &a, v->source, v->source_n, err) != 0 ||
                    tf_sp_index(&r.side[1], &a, v->target, v->target_n, err) != 0 ||
                    tf_user_lines(&lines, in, err) != 0 || check_pairs(&r, in->name, err) != 0))
        rc = -1;
    if (rc == 0) {
        make_list(s, &r, cut);
        memcpy(sum, lines.sum, sizeof lines.sum);
    }
    free(r.pairs);
    tf_arena_release(&a);
    return rc;
}

static int read_binary(struct tf_shortlist *s, struct tf_in *in, const struct tf_shortlist_vocab *v,
                       uint8_t sum[32], struct tf_err *err)
{
    char *data = NULL;
    size_t n = 0;
    if (tf_in_all(in, &data, &n, MAX_FILE, err) != 0)
        return -1;
    const int rc = tf_shortlist_parse(s, data, n, v, err);
    if (rc == 0)
        tf_sha256_of(sum, data, n);
    free(data);
    return rc == 0 ? 0 : tf_context(err, "%s", in->name);
}

int tf_shortlist_read(struct tf_shortlist *s, const char *path, const struct tf_shortlist_vocab *v,
                      const struct tf_shortlist_cut *cut, uint8_t sum[32], bool *text,
                      struct tf_err *err)
{
    static const struct tf_shortlist_cut marian = {TF_SHORTLIST_FIRST, TF_SHORTLIST_BEST, 0};
    struct tf_in in;
    *s = (struct tf_shortlist){0};
    int rc = tf_text_open(&in, path, TF_TEXT_AS_IS, err);
    if (rc == 0 && tf_in_fill(&in, 8, err) < 0)
        rc = -1;
    *text = rc == 0 && !is_binary(in.buf + in.pos, in.len - in.pos);
    if (*text)
        rc = read_text(s, &in, v, cut != NULL ? cut : &marian, sum, err);
    else if (rc == 0)
        rc = cut == NULL ? read_binary(s, &in, v, sum, err)
                         : tf_fail(err,
                                   "%s: a binary shortlist has its own numbers (leave out "
                                   "--shortlist-first, -best and -threshold)",
                                   path);
    tf_in_close(&in);
    return rc;
}
