/* input.c - see input_private.h. */
#include "infer/input_private.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/places.h"
#include "text/sp_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_IDS = 1 << 20, WINDOW_WEIGHTS = 1 << 24 }; /* plus one record at most */

/* What the next call of tf_input_next does. */
enum { START, FILL, REPORT_IDLE, READ, SPLIT_BATCH, END_PART, FAIL };

int tf_input_open(struct tf_input *in, const struct tf_ensemble *models,
                  const struct tf_input_spec *spec, struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL};
    const char *const *const kinds[] = {spec->n == 1 ? spec->single : tokens, spec->second};
    *in = (struct tf_input){.models = models, .vocab_begin = -1};
    if (models->vocab != NULL)
        in->vocab_begin = tf_sp_id(models->vocab, models->vocab_n, "<s>");
    for (; in->n_streams < spec->n; in->n_streams++)
        if (tf_in_open(&in->files[in->n_streams], spec->paths[in->n_streams], err) != 0)
            return -1;
    for (size_t i = 0; i < spec->n; i++) {
        if (tf_reader_new(&in->readers[i], &in->files[i], kinds[i], 0, err) != 0)
            return -1;
        in->header[i] = tf_reader_header(in->readers[i]);
    }
    in->name = in->files[0].name;
    in->sources_only = spec->n == 1 && strcmp(in->header[0]->kind, "tokens") == 0;
    in->lists = spec->n == 2 && strcmp(in->header[1]->kind, "nbest") == 0;
    return 0;
}

void tf_input_close(struct tf_input *in)
{
    for (size_t i = 0; i < in->n_streams; i++) {
        tf_reader_free(in->readers[i]);
        tf_in_close(&in->files[i]);
    }
    tf_arena_release(&in->mem);
    free(in->items);
    *in = (struct tf_input){0};
}

const struct tf_err *tf_input_failure(const struct tf_input *in)
{
    return in->state == FAIL ? &in->failure : NULL;
}

/* ---- items ---- */

static struct tf_item *add_item(struct tf_input *in, uint64_t idx)
{
    TF_GROW(in->items, in->n, in->cap);
    in->items[in->n] = (struct tf_item){.idx = idx};
    return &in->items[in->n++];
}

static const uint32_t *copy_ids(struct tf_input *in, const uint32_t *ids, size_t n)
{
    uint32_t *copy = tf_arena_alloc(&in->mem, (n + 1) * sizeof *copy);
    if (n > 0)
        memcpy(copy, ids, n * sizeof *copy);
    return copy;
}

/* The first reason stays. The text is one of ours, and short. */
static void TF_PRINTF(4, 5)
    mark_bad(struct tf_input *in, struct tf_item *it, int code, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    if (it->code != 0)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    it->code = code;
    it->text = tf_arena_strndup(&in->mem, text, strlen(text));
}

static void add_bad(struct tf_input *in, uint64_t idx, const struct tf_record *bad)
{
    struct tf_item *it = add_item(in, idx);
    size_t n = strlen(bad->fault.text);
    it->code = bad->fault.code;
    it->text = tf_arena_strndup(&in->mem, bad->fault.text, n);
    it->reported = true;
    in->cost += n;
}

struct tf_input_side tf_input_side(const struct tf_ensemble *m, int side, const char *name,
                                   int64_t max, const char *rule)
{
    const size_t positions = tf_ensemble_max_positions(m);
    const int64_t end = side == 1 || m->model[0].config.source_eos; /* needs one, too */
    if (positions >= (size_t)(max + end))
        return (struct tf_input_side){name, max, rule};
    return (struct tf_input_side){name, (int64_t)positions - end,
                                  "the model has learned positions for"};
}

static void check_side(struct tf_input *in, struct tf_item *it, int side, const uint32_t *ids,
                       uint32_t n)
{
    const struct tf_sentence_rule *rule = &in->rule[side];
    const char *name = in->side[side].name;
    char text[TF_SENTENCE_TEXT];
    uint32_t id;
    if (n > in->side[side].max)
        mark_bad(in, it, TF_BAD_TOO_MANY_TOKENS, "%s of %u tokens, %s %lld", name, n,
                 in->side[side].rule, (long long)in->side[side].max);
    const enum tf_sentence_fault is =
        it->code == 0 ? tf_sentence_check(rule, ids, n, &id) : TF_SENTENCE_GOOD;
    if (is == TF_SENTENCE_GOOD)
        return;
    tf_sentence_describe(text, rule, is, name, id);
    if (is > TF_SENTENCE_BEGINS) {
        mark_bad(in, it, is == TF_SENTENCE_UNKNOWN ? TF_BAD_UNKNOWN_ID : TF_BAD_OTHER, "%s", text);
    } else if (!in->bos) {
        const struct tf_place_of at = tf_place(in->name, "record", it->idx, 0);
        in->bos = true;
        tf_warn("%s: %s %llu: %s; " TF_SENTENCE_BOS, at.input, at.what,
                (unsigned long long)at.number, text);
    }
}

static void cut_source(struct tf_input *in, struct tf_item *it)
{
    if (!in->truncate || it->n_source <= in->side[0].max)
        return;
    it->cut = it->n_source - (uint32_t)in->side[0].max;
    it->n_source -= it->cut;
    const struct tf_place_of at = tf_place(in->name, "record", it->idx, 0);
    tf_warn("%s: %s %llu: %s of %u tokens, cut to %u", at.input, at.what,
            (unsigned long long)at.number, in->side[0].name, it->n_source + it->cut, it->n_source);
}

/* source is already a copy. */
static void add_pair(struct tf_input *in, uint64_t idx, const uint32_t *source, size_t n_source,
                     const uint32_t *given, size_t n_given)
{
    struct tf_item *it = add_item(in, idx);
    it->source = source;
    it->given = copy_ids(in, given, n_given);
    it->n_source = (uint32_t)n_source;
    it->n_given = (uint32_t)n_given;
    cut_source(in, it);
    check_side(in, it, 0, it->source, it->n_source);
    check_side(in, it, 1, it->given, it->n_given);
    size_t longer = (it->n_source > n_given ? it->n_source : n_given) + 1;
    if (it->code == 0 && in->weights_per_cell > 0)
        in->cost += in->weights_per_cell * longer * longer;
    else
        in->cost += n_source + n_given;
}

/* One bad target makes the whole list bad. */
static void add_list(struct tf_input *in, const struct tf_record *src, const struct tf_record *list)
{
    size_t first = in->n, bad = 0;
    const uint32_t *ids = src->type == TF_REC_TOKENS ? copy_ids(in, src->ids, src->n) : NULL;
    for (size_t k = 0; k < list->n_hyps; k++) {
        if (ids != NULL)
            add_pair(in, src->idx, ids, src->n, list->hyps[k].ids, list->hyps[k].n);
        else
            add_bad(in, src->idx, src);
        in->items[first + k].rank = (uint32_t)k;
        if (in->items[first + bad].code == 0)
            bad = k;
    }
    for (size_t k = 0; k < list->n_hyps; k++) {
        in->items[first + k].code = in->items[first + bad].code;
        in->items[first + k].text = in->items[first + bad].text;
        in->items[first + k].reported = in->items[first + bad].reported || k > 0;
    }
    if (list->n_hyps == 0 && ids == NULL)
        add_bad(in, src->idx, src);
    else if (list->n_hyps == 0)
        mark_bad(in, add_item(in, src->idx), TF_BAD_OTHER, "no hypothesis");
}

/* ---- records ---- */

static int unexpected(const struct tf_input *in, size_t i, const struct tf_record *r,
                      struct tf_err *err)
{
    return tf_fail(err, "%s: record %llu is of type %d, which this tool does not read",
                   in->files[i].name, (unsigned long long)tf_reader_count(in->readers[i]), r->type);
}

/* Record r of the first stream, with the one at its place in the second. */
static int add_two(struct tf_input *in, const struct tf_record *r, struct tf_err *err)
{
    struct tf_record t;
    if (r->type != TF_REC_TOKENS && r->type != TF_REC_BAD)
        return unexpected(in, 0, r, err);
    int got = tf_reader_next(in->readers[1], &t, err);
    if (got < 0)
        return -1;
    if (got == 0 || t.type == TF_REC_HEADER)
        return tf_fail(err, "%s: ends before %s does, at record %llu", in->files[1].name,
                       in->files[0].name, (unsigned long long)r->idx);
    if (t.idx != r->idx)
        return tf_fail(err, "%s: record %llu, but %s has record %llu", in->files[1].name,
                       (unsigned long long)t.idx, in->files[0].name, (unsigned long long)r->idx);
    if (t.type == TF_REC_NBEST)
        add_list(in, r, &t);
    else if (r->type == TF_REC_BAD || t.type == TF_REC_BAD)
        add_bad(in, r->idx, r->type == TF_REC_BAD ? r : &t);
    else if (t.type == TF_REC_TOKENS)
        add_pair(in, r->idx, copy_ids(in, r->ids, r->n), r->n, t.ids, t.n);
    else
        return unexpected(in, 1, &t, err);
    return 0;
}

static int add_one(struct tf_input *in, const struct tf_record *r, struct tf_err *err)
{
    switch (r->type) {
    case TF_REC_BAD:
        add_bad(in, r->idx, r);
        return 0;
    case TF_REC_TOKENS:
        add_pair(in, r->idx, copy_ids(in, r->ids, r->n), r->n, NULL, 0);
        return 0;
    case TF_REC_PAIR:
        add_pair(in, r->idx, copy_ids(in, r->ids, r->n), r->n, r->tgt, r->n_tgt);
        return 0;
    default:
        return unexpected(in, 0, r, err);
    }
}

static void add_from_batch(struct tf_input *in, const struct tf_batch *b, size_t i)
{
    size_t n_src = b->src_off[i + 1] - b->src_off[i], n_tgt = b->tgt_off[i + 1] - b->tgt_off[i];
    add_pair(in, b->idx[i], copy_ids(in, b->src + b->src_off[i], n_src), n_src,
             b->tgt + b->tgt_off[i], n_tgt);
}

/* The rule for a side: the header of one stream names the special ids of both, that of two streams
 * those of its own. Where none names the <s> of the vocabulary, as those of models that start
 * otherwise, the vocabulary does. */
static struct tf_sentence_rule rule_of(const struct tf_input *in, int side)
{
    const struct tf_ensemble *m = in->models;
    const struct tf_config *c = &m->model[0].config;
    const struct tf_header *h = in->header[in->n_streams == 2 ? side : 0];
    struct tf_sentence_rule r = tf_config_sentences(c, side, h);
    const bool same = side == 0 || c->source_vocab_size == 0;
    r.size = side == 0 ? m->source_ids : m->ids;
    if (r.begin < 0 && same && in->vocab_begin != c->eos && in->vocab_begin != c->pad)
        r.begin = in->vocab_begin;
    return r;
}

/* Headers of the part that begins. */
static int check_headers(struct tf_input *in, struct tf_err *err)
{
    for (size_t i = 0; i < in->n_streams; i++) {
        in->header[i] = tf_reader_header(in->readers[i]);
        if (tf_ensemble_accepts(in->models, in->header[i], in->files[i].name, i == 1, in->force,
                                err) != 0)
            return -1;
    }
    for (int side = 0; side < 2; side++)
        in->rule[side] = rule_of(in, side);
    return 0;
}

/* The first stream's part has ended: so must the second one's. */
static int check_end(struct tf_input *in, struct tf_err *err)
{
    struct tf_record r;
    if (in->n_streams == 2) {
        int got = tf_reader_next(in->readers[1], &r, err);
        if (got < 0)
            return -1;
        const bool too_long = got > 0 && (in->last_part || r.type != TF_REC_HEADER);
        if (too_long || (got == 0 && !in->last_part))
            return tf_fail(err, "%s: continues after the end of %s", in->files[too_long].name,
                           in->files[!too_long].name);
    }
    return in->last_part ? 0 : check_headers(in, err);
}

/* ---- windows ---- */

static bool full(const struct tf_input *in)
{
    return in->n >= in->window ||
           in->cost >= (in->weights_per_cell > 0 ? WINDOW_WEIGHTS : WINDOW_IDS);
}

static bool ready(const struct tf_input *in)
{
    return tf_reader_ready(in->readers[0]) &&
           (in->n_streams == 1 || tf_reader_ready(in->readers[1]));
}

static enum tf_input_event deliver(struct tf_input *in)
{
    in->delivered = true;
    return TF_INPUT_WINDOW;
}

static void clear_window(struct tf_input *in)
{
    in->delivered = false;
    in->n = in->cost = 0;
    tf_arena_clear(&in->mem);
}

static int read_record(struct tf_input *in)
{
    struct tf_record *r = &in->record;
    int got = tf_reader_next(in->readers[0], r, &in->failure);
    if (got < 0)
        return FAIL;
    in->last_part = got == 0;
    if (got == 0 || r->type == TF_REC_HEADER)
        return END_PART;
    if (in->n_streams == 1 && r->type == TF_REC_BATCH) {
        in->next_pair = 0;
        return SPLIT_BATCH;
    }
    int rc = in->n_streams == 2 ? add_two(in, r, &in->failure) : add_one(in, r, &in->failure);
    return rc < 0 ? FAIL : FILL;
}

enum tf_input_event tf_input_next(struct tf_input *in, struct tf_err *err)
{
    if (in->delivered)
        clear_window(in);
    for (;;)
        switch (in->state) {
        case START:
            in->state = check_headers(in, &in->failure) != 0 ? FAIL : FILL;
            if (in->state == FILL)
                return TF_INPUT_PART;
            break;
        case FILL: {
            bool wait = !ready(in);
            in->state = wait ? REPORT_IDLE : READ;
            in->paused = wait;
            if (full(in) || (wait && in->n > 0))
                return deliver(in);
            break;
        }
        case REPORT_IDLE:
            in->state = READ;
            return TF_INPUT_IDLE;
        case READ:
            in->state = read_record(in);
            break;
        case SPLIT_BATCH:
            for (; in->next_pair < in->record.batch.n; in->next_pair++) {
                if (full(in))
                    return deliver(in);
                add_from_batch(in, &in->record.batch, in->next_pair);
            }
            in->state = FILL;
            break;
        case END_PART:
            if (in->n > 0)
                return deliver(in);
            in->state = check_end(in, &in->failure) != 0 ? FAIL : FILL;
            if (in->state == FILL)
                return in->last_part ? TF_INPUT_END : TF_INPUT_PART;
            break;
        case FAIL:
            if (in->n > 0)
                return deliver(in);
            *err = in->failure;
            return TF_INPUT_FAILED;
        }
}
