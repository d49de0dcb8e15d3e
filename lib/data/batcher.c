/* batcher.c - see batcher.h. */
#include "data/batcher.h"
#include "base/memory.h"
#include "base/opt.h"
#include "base/parse.h"
#include "stream/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PREFETCH = 12 }; /* pairs */

struct run {
    struct tf_batcher *b;
    struct tf_corpus *c;
    struct tf_writer w;
    struct tf_batch_plan plan;
    uint32_t *ids[2], *off[2], *idx;        /* of the batch being written */
    struct tf_ids links, links_off;         /* the same, if the corpus has links */
    float *weights;                         /* the same, if it has weights */
    size_t cap;                             /* pairs that off, idx and weights can hold */
    struct tf_batch held;                   /* with these arrays; no sentences: none */
    uint64_t ordinal, epoch, group, record; /* of the next batch */
    uint64_t n_groups;                      /* of an epoch: 1 without a list */
    bool has_id;                            /* the corpus id was known before the first batch */
    uint8_t id[32];
    bool reached; /* the start cursor has been reached */
    bool done;    /* --batches has been reached */
};

/* The cursor after n more pairs. last: they are the last of their group. */
static void set_cursor(struct tf_batch *batch, const struct run *r, size_t n, bool last)
{
    batch->epoch = r->epoch;
    batch->group = r->group;
    batch->record = last ? 0 : r->record + n;
    batch->has_group = r->b->list != NULL;
    if (last && ++batch->group == r->n_groups) {
        batch->group = 0;
        batch->epoch++;
    }
}

static int add_links(struct run *r, size_t pair, struct tf_err *err)
{
    const uint32_t *links;
    const size_t n = tf_corpus_links(r->c, pair, &links);
    for (size_t i = 0; i < n; i++) {
        const uint32_t ends[2] = {links[i] >> 16, links[i] & UINT16_MAX};
        tf_ids_add(&r->links, ends, 2);
    }
    if (r->links.n > 2 * TF_MAX_LINKS)
        return tf_fail(err, "%s: batch %llu: more than %zu links", r->c->links_file.in.name,
                       (unsigned long long)r->ordinal, TF_MAX_LINKS);
    const uint32_t end = (uint32_t)r->links.n;
    tf_ids_add(&r->links_off, &end, 1);
    return 0;
}

/* Count the n pairs of a batch to the corpora of a weighted list. */
static void count_corpora(struct run *r, size_t n)
{
    struct tf_list *l = r->b->list;
    for (size_t i = 0; l != NULL && l->weighted && i < n; i++) {
        struct tf_list_corpus *c = tf_list_corpus_of(l, r->idx[i]);
        c->pairs++;
        c->tokens += r->off[1][i + 1] - r->off[1][i] + 1;
    }
}

/* Write the last batch of a group, which was held until it is known where the next one begins: the
 * groups and epochs that follow may be empty. */
static int write_held(struct run *r, struct tf_err *err)
{
    const struct tf_batch held = r->held;
    r->held.n = 0;
    return held.n > 0 ? tf_writer_batch(&r->w, &held, err) : 0;
}

/* Write batch k of the plan. last: it is the last of its group or epoch. */
static int write_batch(struct run *r, uint32_t k, bool last, struct tf_err *err)
{
    const struct tf_batch_plan *p = &r->plan;
    size_t n = p->cut[k + 1] - p->cut[k];
    const uint32_t *members = p->order + p->cut[k];
    set_cursor(&r->held, r, 0, false);
    if (write_held(r, err) != 0)
        return -1;
    if (n > r->cap) {
        r->cap = n;
        for (int s = 0; s < 2; s++)
            r->off[s] = tf_xarray(r->off[s], n + 1, sizeof *r->off[s]);
        r->idx = tf_xarray(r->idx, n, sizeof *r->idx);
        if (r->c->weights_file.there)
            r->weights = tf_xarray(r->weights, n, sizeof *r->weights);
    }
    const struct tf_pair *pairs = r->c->pairs;
    uint32_t at[2] = {0, 0};
    r->links.n = r->links_off.n = 0;
    if (r->c->links_file.there)
        tf_ids_add(&r->links_off, &at[0], 1);
    for (size_t i = 0; i < n; i++) {
        const struct tf_pair *pair = &pairs[members[i]];
        if (i + 2 * PREFETCH < n)
            __builtin_prefetch(&pairs[members[i + 2 * PREFETCH]]);
        if (i + PREFETCH < n)
            tf_corpus_prefetch(r->c, &pairs[members[i + PREFETCH]]);
        uint32_t *const to[2] = {r->ids[0] + at[0], r->ids[1] + at[1]};
        if (tf_corpus_copy(r->c, pair, to, err) != 0)
            return -1;
        for (int s = 0; s < 2; s++) {
            r->off[s][i] = at[s];
            at[s] += pair->len[s];
        }
        r->idx[i] = pair->idx;
        if (r->weights != NULL)
            r->weights[i] = r->c->weights[members[i]];
        if (r->c->links_file.there && add_links(r, members[i], err) != 0)
            return -1;
    }
    r->off[0][n] = at[0];
    r->off[1][n] = at[1];
    struct tf_batch batch = {
        .ordinal = r->ordinal,
        .n = n,
        .src = r->ids[0],
        .tgt = r->ids[1],
        .src_off = r->off[0],
        .tgt_off = r->off[1],
        .idx = r->idx,
        .has_corpus = r->has_id,
        .links = r->c->links_file.there ? r->links.v : NULL,
        .links_off = r->links_off.v,
        .weights = r->weights,
    };
    if (r->c->links_file.there && batch.links == NULL)
        batch.links = r->links_off.v; /* none */
    set_cursor(&batch, r, n, last);
    memcpy(batch.corpus, r->id, sizeof batch.corpus);
    r->held = batch;
    if (!(last && batch.has_group) && write_held(r, err) != 0)
        return -1;
    uint32_t fuller = r->off[0][n] > r->off[1][n] ? r->off[0][n] : r->off[1][n];
    count_corpora(r, n);
    r->b->n_batches++;
    r->b->n_pairs += n;
    r->b->n_tokens += fuller + n;
    if (r->b->progress != NULL && tf_progress_due(r->b->progress)) {
        double t = tf_now() - r->b->progress->start;
        tf_progress_show(r->b->progress, "epoch %llu, batch %llu, %.0f pairs/s",
                         (unsigned long long)r->epoch, (unsigned long long)r->ordinal,
                         t > 0 ? (double)r->b->n_pairs / t : 0.0);
    }
    return 0;
}

/* Is there another epoch? */
static bool more_epochs(const struct run *r)
{
    const struct tf_batcher *b = r->b;
    return !r->done && (b->epochs == 0 || r->epoch < b->first_epoch + b->epochs);
}

/* After the last batch: the start cursor must be that of a batch, or the end. */
static int check_cursor(const struct run *r, struct tf_err *err)
{
    const struct tf_batcher *b = r->b;
    const uint64_t last = b->first_epoch + b->epochs;
    bool end = b->from_epoch == last && b->from_group == 0 && b->from_record == 0;
    if (r->reached || r->done || end)
        return 0;
    return tf_fail(err, "--from %s: no batch begins there; the stream ends at %llu:%s0", b->from,
                   (unsigned long long)last, b->list != NULL ? "0:" : "");
}

static int between_batches(const struct run *r, uint64_t before, uint64_t after, struct tf_err *err)
{
    return tf_fail(err,
                   "--from %s: no batch begins there; the nearest begin at record %llu and %llu",
                   r->b->from, (unsigned long long)before, (unsigned long long)after);
}

/* The next batch, whose epoch and group are those of the start cursor, is the first to be written.
 * In a list only the cursor knows how many batches the groups before it had. */
static int reach(struct run *r, struct tf_err *err)
{
    const struct tf_batcher *b = r->b;
    r->reached = true;
    if (b->list == NULL)
        return 0;
    bool counted = r->epoch == b->first_epoch && r->group == 0;
    if (counted ? b->from_ordinal != r->ordinal : b->from_ordinal < r->ordinal)
        return tf_fail(err, "--from %s: not the cursor of batch %llu", b->from,
                       (unsigned long long)b->from_ordinal);
    r->ordinal = b->from_ordinal;
    return 0;
}

static bool before_cursor(const struct run *r)
{
    return !r->reached && r->epoch == r->b->from_epoch && r->group == r->b->from_group;
}

/* Write the first `count` batches of the plan, in their shuffled order, skipping those before the
 * start cursor. ends: the group or epoch ends with the last of them. */
static int write_plan(struct run *r, size_t count, bool ends, struct tf_err *err)
{
    const struct tf_batcher *b = r->b;
    for (size_t i = 0; i < count; i++) {
        uint32_t k = r->plan.turn[i];
        size_t n = r->plan.cut[k + 1] - r->plan.cut[k];
        bool last = ends && i + 1 == count;
        if (before_cursor(r) && r->record == b->from_record && reach(r, err) != 0)
            return -1;
        if (b->batches > 0 && r->ordinal >= b->batches) {
            r->done = true;
            return 0;
        }
        if (before_cursor(r) && r->record + n > b->from_record)
            return between_batches(r, r->record, r->record + n, err);
        if (r->reached && write_batch(r, k, last, err) != 0)
            return -1;
        r->ordinal++;
        r->record += n;
    }
    if (ends && before_cursor(r)) {
        if (r->record != b->from_record)
            return tf_fail(err, "--from %s: no batch begins there; the %s ends at %llu", b->from,
                           b->list != NULL ? "group" : "epoch", (unsigned long long)r->record);
        if (reach(r, err) != 0)
            return -1;
    }
    r->done = b->batches > 0 && r->ordinal >= b->batches;
    return 0;
}

static int run_files(struct run *r, struct tf_err *err)
{
    struct tf_batcher *b = r->b;
    for (; more_epochs(r); r->epoch++) {
        if (tf_corpus_check_unchanged(r->c, err) != 0)
            return -1;
        tf_batch_plan_make(&r->plan, &b->opts, r->c->pairs, NULL, r->c->n, r->epoch, 0);
        r->record = 0;
        if (r->epoch < b->from_epoch) { /* we only count its batches */
            r->ordinal += r->plan.n_batches;
            r->done = b->batches > 0 && r->ordinal >= b->batches;
            continue;
        }
        b->n_epochs++;
        if (write_plan(r, r->plan.n_batches, true, err) != 0)
            return -1;
    }
    return tf_corpus_check_unchanged(r->c, err);
}

/* In a list, a file counts each time that it is read. */
static uint64_t records_read(const struct tf_corpus *c)
{
    uint64_t n = c->kept;
    for (int i = 0; i < TF_DROP_REASONS; i++)
        n += c->dropped[i];
    return n;
}

/* Append the numbers of dropped pairs by reason: ": 3 bad, 5 too long". */
static void add_reasons(struct tf_buf *b, const struct tf_corpus *c)
{
    const char *prefix = ": ";
    for (int i = 0; i < TF_DROP_REASONS; i++) {
        if (c->dropped[i] == 0)
            continue;
        tf_buf_printf(b, "%s%llu %s", prefix, (unsigned long long)c->dropped[i],
                      tf_drop_reason_names[i]);
        prefix = ", ";
    }
}

static int fail_no_pair(const struct tf_batcher *b, const struct tf_corpus *c, struct tf_err *err)
{
    struct tf_buf s = {0};
    tf_buf_printf(&s, "no pair is left of %llu records", (unsigned long long)records_read(c));
    add_reasons(&s, c);
    const char *of = b->list != NULL ? b->list->name : NULL;
    if (of == NULL)
        of = b->list != NULL && b->list->n > 1 ? "all corpora" : c->side[0].in.name;
    tf_fail(err, "%s: %s", of, s.p);
    tf_buf_release(&s);
    return -1;
}

/* An epoch of a list, from r->group on. */
static int run_groups(struct run *r, struct tf_err *err)
{
    struct tf_batcher *b = r->b;
    struct tf_list *l = b->list;
    bool whole = r->group == 0, empty = true;
    tf_list_permute(l, b->opts.seed, r->epoch);
    for (; !r->done && r->group < r->n_groups; r->group++) {
        /* Reading takes a while: do not keep back what is written. */
        if (tf_writer_flush(&r->w, err) != 0 || tf_list_load(l, r->c, r->group, err) != 0 ||
            tf_list_draw(l, r->c, b->opts.seed, r->epoch, err) != 0)
            return -1;
        tf_batch_plan_make(&r->plan, &b->opts, r->c->pairs, l->weighted ? l->times : NULL, r->c->n,
                           r->epoch, r->group);
        r->record = 0;
        empty = empty && r->c->n == 0;
        if (write_plan(r, r->plan.n_batches, true, err) != 0)
            return -1;
    }
    if (whole && empty && !r->done && (b->epochs == 0 || l->records > 0))
        return fail_no_pair(b, r->c, err);
    return 0;
}

static int run_list(struct run *r, struct tf_err *err)
{
    struct tf_batcher *b = r->b;
    if (b->from_group >= r->n_groups)
        return tf_fail(err, "--from %s: no batch begins there; an epoch has %llu group%s", b->from,
                       (unsigned long long)r->n_groups, r->n_groups == 1 ? "" : "s");
    if (b->from != NULL)
        r->epoch = b->from_epoch;
    r->group = b->from_group;
    for (; more_epochs(r); r->epoch++) {
        b->n_epochs++;
        if (run_groups(r, err) != 0)
            return -1;
        r->group = 0;
    }
    return 0;
}

/* In memory is a window of pairs and, unless the pipe has ended, one more: only the pair after the
 * last of a window shows that it is not the last of all. */
static int run_pipe(struct run *r, struct tf_err *err)
{
    struct tf_batcher *b = r->b;
    struct tf_corpus *c = r->c;
    b->n_epochs = 1;
    for (uint64_t window = 0;; window++) {
        size_t n = c->ended ? c->n : c->n - 1, used = n;
        tf_batch_plan_make(&r->plan, &b->opts, c->pairs, NULL, n, r->epoch, window);
        /* In input order the last batch of a window may not be full: keep its pairs for the next.
         */
        size_t count = r->plan.n_batches;
        if (!b->opts.shuffle && !c->ended && count > 0)
            used = r->plan.cut[--count];
        if (write_plan(r, count, c->ended, err) != 0)
            return -1;
        if (c->ended || r->done)
            return 0;
        if (tf_writer_flush(&r->w, err) != 0)
            return -1;
        size_t left = c->n - used;
        tf_corpus_forget(c, used);
        if (tf_corpus_read(c, left + b->window, err) != 0)
            return -1;
    }
}

static struct tf_value fraction(double part, double all)
{
    return tf_value_real(all > 0 ? round(part / all * 1e6) / 1e6 : 0);
}

/* What each corpus of a weighted list has of an epoch, on average: of its pairs, and of the tokens
 * of their targets, EOS included; of its records where not all are in memory. */
static void put_mix(struct tf_value *v, struct tf_arena *a, struct tf_list *l,
                    const struct tf_corpus *c)
{
    struct share {
        double weight, pairs, tokens;
    } *of = tf_xarray(NULL, l->n_corpora, sizeof *of), all = {0, 0, 0};
    struct tf_value mix = tf_value_array(), shares = mix, token_shares = mix;
    for (size_t k = 0; k < l->n_corpora; k++) {
        const struct tf_list_corpus *x = &l->corpora[k];
        const double w = l->lines[x->first].weight / (double)TF_MIX_ONE;
        of[k] = (struct share){w, l->loaded ? 0 : w * (double)x->records, 0};
        all.pairs += of[k].pairs;
    }
    for (size_t i = 0; l->loaded && i < c->n; i++) {
        struct share *x = &of[tf_list_corpus_of(l, c->pairs[i].idx) - l->corpora];
        const double tokens = x->weight * (double)(c->pairs[i].len[1] + 1);
        x->pairs += x->weight;
        x->tokens += tokens;
        all.pairs += x->weight;
        all.tokens += tokens;
    }
    for (size_t k = 0; k < l->n_corpora; k++) {
        tf_value_push(a, &mix, tf_value_real(of[k].weight));
        tf_value_push(a, &shares, fraction(of[k].pairs, all.pairs));
        tf_value_push(a, &token_shares, fraction(of[k].tokens, all.tokens));
    }
    free(of);
    tf_value_put(a, v, "mix", mix);
    tf_value_put(a, v, "shares", shares);
    if (l->loaded)
        tf_value_put(a, v, "token_shares", token_shares);
}

/* The options that shaped the batches, and the size of the corpus when it is known. */
static void make_config(struct tf_value *v, struct tf_arena *a, const struct tf_batcher *b,
                        const struct tf_corpus *c)
{
    *v = tf_value_map();
    tf_value_put_uint(a, v, "tokens", b->opts.tokens);
    tf_value_put_uint(a, v, "max_sentences", b->opts.max_sentences);
    tf_value_put_uint(a, v, "min_length", c->filter.min);
    tf_value_put_uint(a, v, "max_length", c->filter.max);
    tf_value_put(a, v, "max_ratio", tf_value_real(c->filter.ratio));
    tf_value_put(a, v, "as", tf_value_str(a, b->opts.padded ? "t2t" : "paper"));
    tf_value_put(a, v, "shuffle", tf_value_bool(b->opts.shuffle));
    if (b->opts.shuffle)
        tf_value_put_uint(a, v, "seed", b->opts.seed);
    if (b->first_epoch > 0)
        tf_value_put_uint(a, v, "first_epoch", b->first_epoch);
    if (c->weights_file.there)
        tf_value_put(a, v, "weights", tf_value_bool(true));
    if (b->list != NULL) {
        struct tf_list *l = b->list;
        if (l->weighted)
            put_mix(v, a, l, c);
        tf_value_put_uint(a, v, "files", l->n);
        tf_value_put_uint(a, v, "group", l->group);
        tf_value_put_uint(a, v, "records", l->records);
        if (l->has_id)
            tf_value_put(a, v, "corpus", tf_value_bytes(a, l->id, sizeof l->id));
        return;
    }
    if (!c->ended) {
        if (b->opts.shuffle)
            tf_value_put_uint(a, v, "window", b->window);
        return;
    }
    tf_value_put_uint(a, v, "records", c->records);
    tf_value_put_uint(a, v, "pairs", c->kept);
    tf_value_put_uint(a, v, "src_tokens", c->tokens[0]);
    tf_value_put_uint(a, v, "tgt_tokens", c->tokens[1]);
    if (c->has_id)
        tf_value_put(a, v, "corpus", tf_value_bytes(a, c->id, sizeof c->id));
}

/* Vocabulary and provenance of both sides, then this stage. */
static void make_header(struct tf_header *h, struct tf_arena *a, const struct run *r,
                        const struct tf_opt *table)
{
    const struct tf_batcher *b = r->b;
    const struct tf_corpus *c = r->c;
    struct tf_value inputs = tf_value_map();
    const bool weighted = b->list != NULL && b->list->weighted;
    if (weighted && r->has_id)
        tf_value_put(a, &inputs, "corpus", tf_value_bytes(a, r->id, sizeof r->id));
    *h = c->vocab.h;
    h->kind = "batch";
    h->extra = tf_value_map();
    tf_header_made_from(h, a, &c->side[0].first, &c->side[c->streams - 1].first);
    tf_header_made(h, a, tf_progname, table, &inputs);
    make_config(&h->config, a, b, c);
    if (weighted)
        tf_header_add_opt(h, a, "corpus-weight", *tf_value_get(&h->config, "mix"));
}

int tf_batcher_from(struct tf_batcher *b, const char *cursor, struct tf_err *err)
{
    const struct {
        uint64_t *to;
        int64_t most;
        bool list;
    } fields[] = {{&b->from_epoch, 1 << 30, false},
                  {&b->from_group, UINT32_MAX, true},
                  {&b->from_record, UINT32_MAX, false},
                  {&b->from_ordinal, (int64_t)1 << 53, true}};
    size_t colons = 0;
    b->from = cursor;
    for (const char *s = cursor; *s != 0; s++)
        colons += *s == ':';
    if (colons != (b->list != NULL ? 3 : 1))
        return tf_fail_status(err, TF_USAGE, "not of the form EPOCH:%s",
                              b->list != NULL ? "GROUP:RECORD:ORDINAL" : "RECORD");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        int64_t x;
        size_t n = strcspn(cursor, ":");
        if (fields[i].list && b->list == NULL)
            continue;
        char *number = tf_xstrndup(cursor, n);
        int rc = tf_parse_int(&x, number, 0, fields[i].most, err);
        free(number);
        if (rc < 0) {
            err->status = TF_USAGE;
            return -1;
        }
        *fields[i].to = (uint64_t)x;
        cursor += n + (cursor[n] == ':');
    }
    if (b->from_epoch < b->first_epoch)
        return tf_fail_status(err, TF_USAGE, "before --first-epoch %llu",
                              (unsigned long long)b->first_epoch);
    return 0;
}

/* The corpus, or of a pipe the first window and one more. */
static int read_first(const struct tf_batcher *b, struct tf_corpus *c, struct tf_err *err)
{
    if (tf_corpus_read(c, c->files ? SIZE_MAX : b->window + 1, err) != 0)
        return -1;
    if (c->ended && c->kept == 0 && (b->epochs == 0 || c->records > 0))
        return fail_no_pair(b, c, err);
    return 0;
}

/* The header has shares of tokens where all files are one group. */
static int load_mix(struct tf_batcher *b, struct tf_corpus *c, struct tf_err *err)
{
    if (!b->list->weighted || b->list->n_groups > 1)
        return 0;
    tf_list_permute(b->list, b->opts.seed, 0);
    return tf_list_load(b->list, c, 0, err);
}

static int write_stream(struct tf_batcher *b, struct tf_corpus *c, const struct tf_opt *table,
                        struct tf_out *out, struct tf_err *err)
{
    struct tf_list *l = b->list;
    struct tf_err quiet = {0};
    int rc = l == NULL ? read_first(b, c, err) : load_mix(b, c, err);
    struct run r = {.b = b,
                    .c = c,
                    .epoch = b->first_epoch,
                    .n_groups = l != NULL ? l->n_groups : 1,
                    .has_id = l != NULL ? l->has_id : c->has_id,
                    .reached = b->from == NULL};
    memcpy(r.id, l != NULL ? l->id : c->id, sizeof r.id);
    for (int s = 0; s < 2; s++) {
        r.ids[s] = tf_xarray(NULL, b->opts.tokens, sizeof *r.ids[s]);
        r.off[s] = tf_xarray(NULL, 1, sizeof *r.off[s]);
    }
    struct tf_arena a = {0};
    struct tf_header h;
    make_header(&h, &a, &r, table);
    int begun = tf_writer_begin(&r.w, out, &h, rc == 0 ? err : &quiet); /* also to report failure */
    tf_arena_release(&a);
    rc = rc == 0 ? begun : rc;
    if (rc == 0)
        rc = l != NULL ? run_list(&r, err) : c->files ? run_files(&r, err) : run_pipe(&r, err);
    if (rc == 0)
        rc = check_cursor(&r, err);
    if (write_held(&r, rc == 0 ? err : &quiet) != 0)
        rc = -1;
    if (rc == 0)
        rc = tf_writer_end(&r.w, err);
    else
        tf_writer_fail(&r.w, err);
    if (rc == 0 && l == NULL && !c->files && b->batches > 0 && !r.done)
        tf_note("the input ended after %llu of %llu batches: standard input or a pipe is read once",
                (unsigned long long)r.ordinal, (unsigned long long)b->batches);
    tf_writer_release(&r.w);
    tf_batch_plan_release(&r.plan);
    for (int s = 0; s < 2; s++) {
        free(r.ids[s]);
        free(r.off[s]);
    }
    free(r.idx);
    free(r.weights);
    tf_ids_release(&r.links);
    tf_ids_release(&r.links_off);
    return rc;
}

int tf_batcher_write(struct tf_batcher *b, struct tf_corpus *c, const struct tf_opt *table,
                     const char *output, struct tf_err *err)
{
    struct tf_out out = {0};
    const bool pipe = !c->files && b->list == NULL;
    if (pipe && b->epochs != 1 && tf_opt_given(table, "epochs"))
        return tf_fail_status(err, TF_USAGE,
                              "--epochs %llu: standard input or a pipe can be read only once",
                              (unsigned long long)b->epochs);
    if (pipe)
        b->epochs = 1;
    int rc = tf_out_open(&out, output, TF_OUT_BINARY, err);
    if (rc == 0 && b->epochs == 0 && b->batches == 0 && tf_out_is_file(&out)) /* never stops it */
        rc = tf_fail_status(err, TF_USAGE,
                            "--epochs 0: an endless stream needs a reader; for a file give the "
                            "number of --epochs or --batches");
    if (rc == 0)
        rc = write_stream(b, c, table, &out, err);
    if (rc == 0)
        rc = tf_out_commit(&out, err);
    tf_out_abort(&out);
    return rc;
}

/* A line for each corpus: its part of what was written. */
static void summarise_corpora(const struct tf_batcher *b)
{
    const struct tf_list *l = b->list;
    uint64_t tokens = 0;
    for (size_t k = 0; k < l->n_corpora; k++)
        tokens += l->corpora[k].tokens;
    for (size_t k = 0; k < l->n_corpora; k++) {
        const struct tf_list_corpus *c = &l->corpora[k];
        struct tf_buf s = {0};
        char weight[32];
        tf_list_name(&s, l, k);
        tf_note("%s: weight %s: %llu pair%s (%.1f %%), %llu target tokens (%.1f %%)", s.p,
                tf_format_real(weight, l->lines[c->first].weight / (double)TF_MIX_ONE),
                (unsigned long long)c->pairs, c->pairs == 1 ? "" : "s",
                b->n_pairs > 0 ? 100.0 * (double)c->pairs / (double)b->n_pairs : 0.0,
                (unsigned long long)c->tokens,
                tokens > 0 ? 100.0 * (double)c->tokens / (double)tokens : 0.0);
        tf_buf_release(&s);
    }
}

void tf_batcher_summary(const struct tf_batcher *b, const struct tf_corpus *c)
{
    struct tf_buf s = {0};
    uint64_t all = b->n_batches * b->opts.tokens, records = records_read(c);
    tf_buf_printf(
        &s,
        "%llu pair%s in %llu batch%s, %llu epoch%s, %.1f %% full; of %llu record%s %llu dropped",
        (unsigned long long)b->n_pairs, b->n_pairs == 1 ? "" : "s",
        (unsigned long long)b->n_batches, b->n_batches == 1 ? "" : "es",
        (unsigned long long)b->n_epochs, b->n_epochs == 1 ? "" : "s",
        all > 0 ? 100.0 * (double)b->n_tokens / (double)all : 0.0, (unsigned long long)records,
        records == 1 ? "" : "s", (unsigned long long)(records - c->kept));
    add_reasons(&s, c);
    tf_note("%s", s.p);
    tf_buf_release(&s);
    if (b->list != NULL && b->list->weighted)
        summarise_corpora(b);
}
