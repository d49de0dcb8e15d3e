/* corpus.c - see corpus.h. */
#include "data/corpus.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parse.h"
#include "stream/tail.h"
#include "stream/view.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const tf_drop_reason_names[TF_DROP_REASONS] = {
    "bad", "with special ids", "too short", "too long", "over the ratio", "over --tokens"};

/* ---- mapped files ---- */

/* If a mapped file is truncated, reading a page that no longer exists raises SIGBUS. The handler
 * jumps back to the start of the read, which then fails as any other read does. */
static _Thread_local sigjmp_buf truncated;
static _Thread_local const struct tf_corpus_side *volatile reading;

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
    const uint8_t *at = info->si_addr;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)context;
    if (info->si_code > 0 && reading != NULL && at >= (const uint8_t *)reading->map &&
        at < (const uint8_t *)reading->map + (reading->map_n + page - 1) / page * page)
        siglongjmp(truncated, 1);
    /* Not ours: die of it. A fault recurs on return; a signal that was sent has to be repeated. */
    signal(sig, SIG_DFL);
    if (info->si_code <= 0)
        raise(sig);
}

static int copy_mapped(uint32_t *dst, size_t n, const struct tf_corpus_side *s, uint64_t place)
{
    if (sigsetjmp(truncated, 0) != 0) {
        reading = NULL;
        return -1;
    }
    reading = s;
    int rc = tf_view_take(dst, n, s->map, s->map_n, place);
    reading = NULL;
    return rc;
}

/* ---- the streams ---- */

/* Two streams of a model whose sources and targets have ids of their own: one hash, two sizes. */
static bool own_ids(const struct tf_header *a, const struct tf_header *b)
{
    return a->has_vocab && b->has_vocab && memcmp(a->vocab, b->vocab, sizeof a->vocab) == 0 &&
           a->size > 0 && b->size > 0 && a->size != b->size;
}

/* What the headers of the two sides say together. */
static int join_sides(struct tf_corpus *c, const char *name, struct tf_err *err)
{
    const struct tf_header *source = &c->of_side[0].h, *target = &c->of_side[1].h;
    const bool own = own_ids(source, target);
    c->vocab = c->of_side[own];
    if (own)
        memcpy(c->vocab.h.lang, source->lang, sizeof source->lang);
    else if (tf_one_vocab_add(&c->vocab, target, name, err) != 0)
        return -1;
    c->rule[0] = tf_sentence_rule_of(own ? source : &c->vocab.h, 1);
    c->rule[1] = tf_sentence_rule_of(&c->vocab.h, 1);
    if (own) {
        c->vocab.h.source_size = source->size;
        if (source->size > target->size)
            c->vocab.h.size = source->size;
    }
    return 0;
}

/* A part begins: its header is part of the corpus id and must agree with those before. */
static int part_begin(struct tf_corpus *c, struct tf_corpus_side *s, struct tf_err *err)
{
    size_t n;
    const uint8_t *raw = tf_reader_header_raw(s->reader, &n);
    s->parts++;
    tf_sha256_add(&s->sha, raw, n);
    struct tf_header h = *tf_reader_header(s->reader);
    if (c->streams == 1) {
        const int rc = tf_one_vocab_add(&c->vocab, &h, s->in.name, err);
        c->vocab.h.source_size = h.source_size;
        for (int side = 0; side < 2; side++)
            c->rule[side] = tf_sentence_rule_of(&c->vocab.h, side);
        return rc;
    }
    const bool target = s == &c->side[1];
    if (target) { /* of one text, which is the target here */
        memcpy(h.target_lang, h.lang, sizeof h.lang);
        h.lang[0] = 0;
    }
    if (tf_same_vocab(&h, s->in.name, &c->vocab.h, c->vocab.name, err) != 0 ||
        tf_one_vocab_add(&c->of_side[target], &h, s->in.name, err) != 0)
        return -1;
    return join_sides(c, s->in.name, err);
}

static void part_end(struct tf_corpus *c, struct tf_corpus_side *s, uint64_t count, bool has_crc,
                     uint32_t crc)
{
    uint8_t b[12];
    if (!has_crc) {
        c->all_crcs = false;
        return;
    }
    for (int i = 0; i < 8; i++)
        b[i] = (uint8_t)(count >> (8 * i));
    for (int i = 0; i < 4; i++)
        b[8 + i] = (uint8_t)(crc >> (8 * i));
    tf_sha256_add(&s->sha, b, sizeof b);
}

/* Read the first header of a side that has no file. */
static int side_open(struct tf_corpus *c, int i, const char *path, struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL}, *const pairs[] = {"pairs", NULL};
    struct tf_corpus_side *s = &c->side[i];
    if (tf_in_open(&s->in, path, err) != 0)
        return -1;
    if (tf_reader_new(&s->reader, &s->in, c->streams == 2 ? tokens : pairs, 0, err) != 0)
        return -1;
    if (!s->has_first) {
        size_t n;
        const uint8_t *raw = tf_reader_header_raw(s->reader, &n);
        if (tf_header_decode(&s->first, &s->mem, raw, n, err) != 0)
            return -1;
        s->has_first = true;
    }
    tf_sha256_init(&s->sha);
    return part_begin(c, s, err);
}

static int side_map(struct tf_corpus_side *s, struct tf_err *err)
{
    s->map_n = (size_t)s->in.size;
    s->map = mmap(NULL, s->map_n, PROT_READ, MAP_SHARED, s->in.fd, 0);
    if (s->map == MAP_FAILED) {
        s->map = NULL;
        return tf_fail_errno(err, "%s: map", s->in.name);
    }
    const struct sigaction bus = {.sa_sigaction = on_bus_error,
                                  .sa_flags = SA_NODEFER | SA_SIGINFO};
    sigaction(SIGBUS, &bus, NULL);
    return 0;
}

static void side_close(struct tf_corpus_side *s)
{
    if (s->map != NULL)
        munmap(s->map, s->map_n);
    tf_reader_free(s->reader);
    if (s->in.fd >= 0)
        tf_in_close(&s->in);
    s->map = NULL;
    s->reader = NULL;
    s->in = (struct tf_in){.fd = -1};
    s->parts = 0;
}

void tf_corpus_init(struct tf_corpus *c, int n, const struct tf_pair_filter *filter)
{
    TF_ASSERT(n == 1 || n == 2);
    *c = (struct tf_corpus){.filter = *filter,
                            .streams = n,
                            .vocab = TF_NO_VOCAB,
                            .of_side = {TF_NO_VOCAB, TF_NO_VOCAB},
                            .all_crcs = true};
    for (int i = 0; i < n; i++)
        c->side[i].in.fd = -1;
}

int tf_corpus_open(struct tf_corpus *c, const char *const *paths, int n,
                   const struct tf_pair_filter *filter, struct tf_err *err)
{
    tf_corpus_init(c, n, filter);
    c->files = true;
    for (int i = 0; i < n; i++) {
        struct tf_corpus_side *s = &c->side[i];
        if (side_open(c, i, paths[i], err) != 0)
            return -1;
        /* Only paths are mapped: stdin may be a file that is open at some offset. */
        if (s->in.size < 0 || strcmp(paths[i], "-") == 0)
            c->files = false;
        else if (side_map(s, err) != 0)
            return -1;
    }
    return 0;
}

int tf_corpus_switch(struct tf_corpus *c, const char *const *paths, uint64_t base,
                     struct tf_err *err)
{
    TF_ASSERT(!c->files);
    c->base = base;
    c->records = 0;
    c->ended = c->has_id = false;
    c->all_crcs = true;
    for (int i = 0; i < c->streams; i++) {
        side_close(&c->side[i]);
        if (side_open(c, i, paths[i], err) != 0)
            return -1;
    }
    return 0;
}

void tf_corpus_release(struct tf_corpus *c)
{
    for (int i = 0; i < c->streams; i++) {
        side_close(&c->side[i]);
        tf_arena_release(&c->side[i].mem);
    }
    tf_beside_close(&c->links_file);
    tf_beside_close(&c->weights_file);
    tf_ids_release(&c->links);
    free(c->link_end);
    free(c->weights);
    free(c->pairs);
    tf_ids_release(&c->ids);
    *c = (struct tf_corpus){0};
}

static TF_NOINLINE void part_read(struct tf_corpus *c, struct tf_corpus_side *s)
{
    uint64_t count;
    uint32_t crc;
    bool has_crc = tf_reader_sum(s->reader, &count, &crc);
    part_end(c, s, count, has_crc, crc);
}

/* The next record of a side that is not a header: 1, 0 at the end, -1. */
static int side_next(struct tf_corpus *c, struct tf_corpus_side *s, struct tf_record *rec,
                     struct tf_err *err)
{
    for (;;) {
        int rc = tf_reader_next(s->reader, rec, err);
        if (rc < 0)
            return -1;
        if (rc > 0 && rec->type != TF_REC_HEADER)
            return 1;
        part_read(c, s);
        if (rc == 0)
            return 0;
        if (part_begin(c, s, err) != 0)
            return -1;
    }
}

/* ---- pairs ---- */

/* Is a side good? A special id is a warning, once, with the place of the first. */
static enum tf_drop_reason check_side(struct tf_corpus *c, int side, const struct tf_record *rec,
                                      const uint32_t *ids, size_t n)
{
    static const char *const names[] = {"source", "target"};
    const struct tf_sentence_rule *rule = &c->rule[side];
    char text[TF_SENTENCE_TEXT];
    uint32_t id;
    const enum tf_sentence_fault is = tf_sentence_check(rule, ids, n, &id);
    if (is == TF_SENTENCE_GOOD || is == TF_SENTENCE_UNKNOWN)
        return is == TF_SENTENCE_GOOD ? TF_DROP_REASONS : TF_DROP_BAD;
    const bool drop = is != TF_SENTENCE_BEGINS;
    if (!c->warned[drop])
        tf_warn("%s: record %llu: %s%s", c->side[c->streams == 1 ? 0 : side].in.name,
                (unsigned long long)rec->idx, tf_sentence_describe(text, rule, is, names[side], id),
                drop ? ", which only a model adds: dropped" : "; " TF_SENTENCE_BOS);
    c->warned[drop] = true;
    return drop ? TF_DROP_SPECIAL : TF_DROP_REASONS;
}

/* Why to drop a pair of these lengths; TF_DROP_REASONS: keep it. */
static enum tf_drop_reason drop_reason(const struct tf_pair_filter *f, size_t a, size_t b)
{
    size_t lo = a < b ? a : b, hi = a < b ? b : a;
    if (lo < f->min)
        return TF_DROP_SHORT;
    if (f->max > 0 && hi > f->max)
        return TF_DROP_LONG;
    if (f->ratio > 0 && (double)hi > f->ratio * (double)lo)
        return TF_DROP_RATIO;
    return hi + 1 > f->budget ? TF_DROP_BUDGET : TF_DROP_REASONS;
}

/* The CRC-32C of the ids of both sides. */
static uint32_t crc_of(const uint32_t *const ids[2], const size_t n[2])
{
    uint32_t crc = 0;
    for (int i = 0; i < 2; i++)
        crc = tf_crc32c(crc, ids[i], n[i] * sizeof *ids[i]);
    return crc;
}

/* Keep or drop a pair. In a pair stream both records are the same one. */
static void add_pair(struct tf_corpus *c, const struct tf_record *const rec[2])
{
    const uint32_t *ids[2] = {rec[0]->ids, c->streams == 1 ? rec[0]->tgt : rec[1]->ids};
    size_t n[2] = {rec[0]->n, c->streams == 1 ? rec[0]->n_tgt : rec[1]->n};
    enum tf_drop_reason why = TF_DROP_REASONS;
    if (rec[0]->type == TF_REC_BAD || rec[1]->type == TF_REC_BAD)
        why = TF_DROP_BAD;
    for (int i = 0; i < 2 && why == TF_DROP_REASONS; i++)
        why = check_side(c, i, rec[i], ids[i], n[i]);
    if (why == TF_DROP_REASONS)
        why = drop_reason(&c->filter, n[0], n[1]);
    if (why < TF_DROP_REASONS) {
        c->dropped[why]++;
        return;
    }
    if (c->n == c->cap) {
        c->cap = c->cap ? c->cap + c->cap / 2 : 1024;
        c->pairs = tf_xarray(c->pairs, c->cap, sizeof *c->pairs);
    }
    struct tf_pair *pair = &c->pairs[c->n];
    pair->idx = (uint32_t)(c->base + c->records - 1);
    pair->crc = c->files ? crc_of(ids, n) : 0;
    for (int i = 0; i < 2; i++) {
        pair->len[i] = (uint32_t)n[i];
        if (c->files) {
            pair->at[i] =
                tf_view_ids(rec[i]->raw, rec[i]->raw_n, rec[i]->offset, c->streams == 1 ? i : 0);
        } else {
            pair->at[i] = c->ids.n;
            tf_ids_add(&c->ids, ids[i], n[i]);
        }
        c->tokens[i] += n[i];
    }
    c->n++;
    c->kept++;
}

/* ---- links ---- */

/* Of the record that was just read, from 1: its line in the files beside the corpus. */
static unsigned long long record_number(const struct tf_corpus *c)
{
    return c->base + c->records;
}

int tf_corpus_open_links(struct tf_corpus *c, const char *path, struct tf_err *err)
{
    return tf_beside_open(&c->links_file, path, err);
}

/* One position; *p moves past it. */
static bool take_position(const char **p, const char *end, uint32_t *x)
{
    const char *from = *p;
    for (*x = 0; *p < end && **p >= '0' && **p <= '9' && *x <= UINT16_MAX; (*p)++)
        *x = 10 * *x + (uint32_t)(**p - '0');
    return *p > from && *x <= UINT16_MAX;
}

/* Append the links of a line; those of a pair that is kept must be within its lengths. */
static int add_links(struct tf_corpus *c, const char *line, size_t n, const uint32_t *len,
                     struct tf_err *err)
{
    const char *end = line + n;
    for (const char *p = line; p < end;) {
        const char *from = p;
        uint32_t s, t;
        if (*p == ' ' || *p == '\t' || *p == '\r') {
            p++;
            continue;
        }
        if (!take_position(&p, end, &s) || p == end || *p++ != '-' || !take_position(&p, end, &t) ||
            (p < end && strchr(" \t\r", *p) == NULL)) {
            const char *to = from;
            while (to < end && to - from < 80 && strchr(" \t\r", *to) == NULL)
                to++;
            return tf_fail(err, "%s: line %llu: '%.*s': not SOURCE-TARGET, two numbers to 65535",
                           c->links_file.in.name, record_number(c), (int)(to - from), from);
        }
        if (len == NULL)
            continue;
        if (s >= len[0] || t >= len[1])
            return tf_fail(err, "%s: line %llu: link %u-%u of %u and %u tokens (links are of "
                           "pieces: tf-tokenize --pieces)",
                           c->links_file.in.name, record_number(c), s, t, len[0], len[1]);
        const uint32_t link = s << 16 | t;
        tf_ids_add(&c->links, &link, 1);
    }
    return 0;
}

/* The line of the record that was just read. kept: its pair is the last in memory. */
static int read_links(struct tf_corpus *c, bool kept, struct tf_err *err)
{
    const char *line;
    size_t n;
    if (tf_beside_line(&c->links_file, record_number(c), c->side[0].in.name, &line, &n, err) != 0 ||
        add_links(c, line, n, kept ? c->pairs[c->n - 1].len : NULL, err) != 0)
        return -1;
    if (kept) {
        c->link_end = tf_xarray(c->link_end, c->cap, sizeof *c->link_end);
        c->link_end[c->n - 1] = c->link_from + c->links.n;
    }
    return 0;
}

size_t tf_corpus_links(const struct tf_corpus *c, size_t k, const uint32_t **links)
{
    const size_t from = k > 0 ? c->link_end[k - 1] - c->link_from : 0;
    *links = c->links.v + from;
    return c->link_end[k] - c->link_from - from;
}

/* Those of the first k pairs. */
static void forget_links(struct tf_corpus *c, size_t k)
{
    const size_t gone = c->link_end[k - 1] - c->link_from, left = c->links.n - gone;
    if (left > 0)
        memmove(c->links.v, c->links.v + gone, left * sizeof *c->links.v);
    c->links.n = left;
    c->link_from += gone;
    memmove(c->link_end, c->link_end + k, (c->n - k) * sizeof *c->link_end);
}

/* ---- weights ---- */

int tf_corpus_open_weights(struct tf_corpus *c, const char *path, struct tf_err *err)
{
    return tf_beside_open(&c->weights_file, path, err);
}

/* The line of the record that was just read, as read_links. */
static int read_weight(struct tf_corpus *c, bool kept, struct tf_err *err)
{
    const char *line;
    size_t n;
    char number[64];
    double x;
    if (tf_beside_line(&c->weights_file, record_number(c), c->side[0].in.name, &line, &n, err) != 0)
        return -1;
    for (; n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t' || line[n - 1] == '\r'); n--)
        ;
    for (; n > 0 && (*line == ' ' || *line == '\t'); n--)
        line++;
    snprintf(number, sizeof number, "%.*s", n < sizeof number ? (int)n : (int)sizeof number, line);
    const int rc = strlen(number) < n /* it is longer, or has a NUL */
                       ? tf_fail(err, "'%s...': not a number", number)
                       : tf_parse_real(&x, number, 0, TF_MAX_PAIR_WEIGHT, err);
    if (rc != 0)
        return tf_context(err, "%s: line %llu: weight", c->weights_file.in.name, record_number(c));
    if (kept) {
        c->weights = tf_xarray(c->weights, c->cap, sizeof *c->weights);
        c->weights[c->n - 1] = (float)x;
    }
    return 0;
}

/* ---- all of it ---- */

static void compute_id(struct tf_corpus *c)
{
    struct tf_sha256 all;
    tf_sha256_init(&all);
    for (int i = 0; i < c->streams; i++) {
        uint8_t digest[32];
        tf_sha256_end(&c->side[i].sha, digest);
        tf_sha256_add(&all, digest, sizeof digest);
    }
    if (c->links_file.there)
        tf_beside_add(&c->links_file, &all);
    if (c->weights_file.there)
        tf_beside_add(&c->weights_file, &all);
    tf_sha256_end(&all, c->id);
    c->has_id = c->all_crcs;
}

static int fail_lengths(const struct tf_corpus_side *shorter, uint64_t records,
                        const struct tf_corpus_side *longer, struct tf_err *err)
{
    return tf_fail(err, "%s ends after %llu records, %s continues", shorter->in.name,
                   (unsigned long long)records, longer->in.name);
}

int tf_corpus_peek(struct tf_corpus *c, struct tf_err *err)
{
    uint64_t count[2] = {0};
    for (int i = 0; i < c->streams; i++) {
        struct tf_corpus_side *s = &c->side[i];
        uint8_t tail[TF_TAIL_N];
        uint32_t crc;
        bool has_crc;
        size_t want = s->in.size < TF_TAIL_N ? (size_t)s->in.size : TF_TAIL_N;
        ssize_t got = pread(s->in.fd, tail, want, s->in.size - (off_t)want);
        if (got < 0)
            return tf_fail_errno(err, "%s", s->in.name);
        if ((size_t)got < want ||
            !tf_tail_end(tail, want, (uint64_t)s->in.size, &count[i], &has_crc, &crc))
            return tf_fail(err, "%s: truncated: no end record", s->in.name);
        part_end(c, s, count[i], has_crc, crc);
    }
    int longer = c->streams == 2 && count[1] > count[0];
    if (c->streams == 2 && count[0] != count[1])
        return fail_lengths(&c->side[1 - longer], count[1 - longer], &c->side[longer], err);
    c->records = count[0];
    compute_id(c);
    return 0;
}

int tf_corpus_read(struct tf_corpus *c, size_t most, struct tf_err *err)
{
    struct tf_record rec[2];
    const struct tf_record *const pair[2] = {&rec[0], c->streams == 2 ? &rec[1] : &rec[0]};
    struct tf_corpus_side *a = &c->side[0], *b = &c->side[1];
    while (!c->ended && c->n < most) {
        int rc = side_next(c, a, &rec[0], err);
        if (rc < 0)
            return -1;
        if (c->streams == 2) {
            int other = side_next(c, b, &rec[1], err);
            if (other < 0)
                return -1;
            if (rc != other)
                return fail_lengths(rc ? b : a, c->records, rc ? a : b, err);
            if (rc > 0 && rec[0].idx != rec[1].idx)
                return tf_fail(err, "record %llu: idx %llu in %s, %llu in %s",
                               (unsigned long long)c->records, (unsigned long long)rec[0].idx,
                               a->in.name, (unsigned long long)rec[1].idx, b->in.name);
        }
        if (rc == 0) {
            struct tf_beside *files[] = {&c->links_file, &c->weights_file};
            for (int i = 0; i < 2; i++)
                if (files[i]->there && !c->more &&
                    tf_beside_end(files[i], c->base + c->records, a->in.name, err) != 0)
                    return -1;
            compute_id(c);
            c->ended = true;
            return 0;
        }
        if (c->base + c->records++ == TF_CORPUS_RECORDS)
            return tf_fail(err, "%s: too many records, at most %llu", a->in.name,
                           (unsigned long long)TF_CORPUS_RECORDS);
        const size_t before = c->n;
        add_pair(c, pair);
        if (c->links_file.there && read_links(c, c->n > before, err) != 0)
            return -1;
        if (c->weights_file.there && read_weight(c, c->n > before, err) != 0)
            return -1;
    }
    return 0;
}

void tf_corpus_forget(struct tf_corpus *c, size_t k)
{
    TF_ASSERT(k <= c->n);
    if (k == 0)
        return;
    if (c->links_file.there)
        forget_links(c, k);
    if (c->weights_file.there)
        memmove(c->weights, c->weights + k, (c->n - k) * sizeof *c->weights);
    size_t left = c->n - k, from = !c->files && left > 0 ? c->pairs[k].at[0] : c->ids.n;
    if (left > 0)
        memmove(c->pairs, c->pairs + k, left * sizeof *c->pairs);
    for (size_t i = 0; !c->files && i < left; i++)
        for (int s = 0; s < 2; s++)
            c->pairs[i].at[s] -= from;
    if (!c->files) {
        c->ids.n -= from;
        if (c->ids.n > 0)
            memmove(c->ids.v, c->ids.v + from, c->ids.n * sizeof *c->ids.v);
    }
    c->n = left;
}

static const struct tf_corpus_side *side_of(const struct tf_corpus *c, int side)
{
    return &c->side[c->streams == 2 ? side : 0];
}

void tf_corpus_prefetch(const struct tf_corpus *c, const struct tf_pair *pair)
{
    for (int s = 0; s < 2; s++) {
        const void *p = c->files ? (const void *)(side_of(c, s)->map + (pair->at[s] >> 2))
                                 : c->ids.v + pair->at[s];
        __builtin_prefetch(p);
        __builtin_prefetch((const char *)p + 64);
    }
}

/* Name the file that was modified. If its times do not show it, it may be either. */
static int fail_changed(const struct tf_corpus *c, struct tf_err *err)
{
    if (tf_corpus_check_unchanged(c, err) != 0)
        return -1;
    return tf_fail(err, "%s%s%s: changed while it was read", c->side[0].in.name,
                   c->streams == 2 ? " or " : "", c->streams == 2 ? c->side[1].in.name : "");
}

int tf_corpus_copy(const struct tf_corpus *c, const struct tf_pair *pair, uint32_t *const dst[2],
                   struct tf_err *err)
{
    const size_t n[2] = {pair->len[0], pair->len[1]};
    if (!c->files) {
        for (int i = 0; i < 2; i++)
            if (n[i] > 0)
                memcpy(dst[i], c->ids.v + pair->at[i], n[i] * sizeof *dst[i]);
        return 0;
    }
    for (int i = 0; i < 2; i++)
        if (n[i] > 0 && copy_mapped(dst[i], n[i], side_of(c, i), pair->at[i]) < 0)
            return fail_changed(c, err);
    const uint32_t *const ids[2] = {dst[0], dst[1]};
    return crc_of(ids, n) == pair->crc ? 0 : fail_changed(c, err);
}

int tf_corpus_check_unchanged(const struct tf_corpus *c, struct tf_err *err)
{
    for (int i = 0; i < c->streams && c->files; i++)
        if (tf_in_unchanged(&c->side[i].in, err) != 0)
            return -1;
    return 0;
}
