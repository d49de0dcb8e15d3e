/* tokenize_work.c - see tokenize_work_private.h. */
#include "text/tokenize_work_private.h"
#include "base/cpus.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 128 << 10,
    BLOCK_DECODED = 512 << 10,
    BLOCK_WEIGHTS = 1 << 20, /* bytes */
    ROUND_BLOCKS = 32,
    KEEP_BYTES = 1 << 20 /* larger buffers are freed after a round */
};

void tf_work_bad(struct tf_work_item *it, int code, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    it->code = code;
    free(it->why);
    it->why = tf_xstrdup(text);
}

/* What only one type of vocabulary takes. */
static int check_sampling(const struct tf_tokenize *t, struct tf_err *err)
{
    if (t->vocab->bpe != NULL)
        return tf_fail(err, "the vocabulary splits words by codes and can't be sampled");
    if (tf_sp_sampling(t->vocab->sp) != TF_SP_BPE)
        return 0;
    if (t->alpha > 1)
        return tf_fail_status(err, TF_USAGE,
                              "--alpha %g: with BPE the fraction of merges that is skipped, at "
                              "most 1",
                              t->alpha);
    return t->nbest > 0 ? tf_fail_status(err, TF_USAGE,
                                         "--nbest-size: needs a unigram vocabulary, not BPE")
                        : 0;
}

int tf_work_begin(struct tf_tokenize_work *r, struct tf_tokenize *t, const char *name, bool records,
                  struct tf_err *err)
{
    *r = (struct tf_tokenize_work){.t = t,
                                   .name = name,
                                   .count = {.on_bad = t->bad,
                                             .text = !records,
                                             .items = records ? "records" : "lines",
                                             .place = records ? "record" : "line"}};
    if (!records && tf_added_new(&r->added, t->vocab->bytes, t->vocab->n, tf_sp_size(t->vocab->sp),
                                 err) != 0)
        return -1;
    if (t->sample &&
        (check_sampling(t, err) != 0 || tf_sampler_new(&r->sampler, t->vocab->sp, t->vocab->bytes,
                                                       t->vocab->n, err) != 0))
        return -1;
    r->blocks = tf_xcalloc(ROUND_BLOCKS, sizeof *r->blocks);
    r->pool = tf_pool_new(t->threads > 0 ? (int)t->threads : tf_threads_default());
    r->rooms = tf_xcalloc((size_t)tf_pool_lanes(r->pool), sizeof *r->rooms);
    for (int i = 0; i < tf_pool_lanes(r->pool); i++)
        r->rooms[i] = tf_segment_room_new();
    return 0;
}

void tf_work_end(struct tf_tokenize_work *r)
{
    tf_tags_release(&r->tags);
    for (size_t i = 0; r->blocks != NULL && i < ROUND_BLOCKS; i++) {
        for (size_t k = 0; k < r->blocks[i].n; k++)
            free(r->blocks[i].items[k].why);
        tf_buf_release(&r->blocks[i].text);
        tf_buf_release(&r->blocks[i].out);
        tf_buf_release(&r->blocks[i].scratch);
        tf_buf_release(&r->blocks[i].weights);
        tf_buf_release(&r->blocks[i].links);
        tf_ids_release(&r->blocks[i].ids);
        tf_ids_release(&r->blocks[i].sources);
    }
    free(r->blocks);
    for (int i = 0; r->rooms != NULL && i < tf_pool_lanes(r->pool); i++)
        tf_segment_room_free(r->rooms[i]);
    free(r->rooms);
    tf_pool_free(r->pool);
    tf_added_free(r->added);
    tf_unknown_free(r->unknown);
    tf_sampler_free(r->sampler);
}

void tf_work_round(struct tf_tokenize_work *r)
{
    for (size_t i = 0; i < r->used; i++) {
        struct tf_work_block *b = &r->blocks[i];
        for (size_t k = 0; k < b->n; k++)
            free(b->items[k].why);
        b->n = b->ids.n = b->sources.n = b->decoded = 0;
        struct tf_buf *texts[] = {&b->text, &b->out, &b->scratch, &b->weights, &b->links};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            tf_buf_clear(texts[k]);
            if (texts[k]->cap > KEEP_BYTES)
                tf_buf_release(texts[k]);
        }
        if (b->ids.cap > KEEP_BYTES / sizeof *b->ids.v)
            tf_ids_release(&b->ids);
        if (b->sources.cap > KEEP_BYTES / sizeof *b->sources.v)
            tf_ids_release(&b->sources);
    }
    r->used = 0;
}

struct tf_work_block *tf_work_room(struct tf_tokenize_work *r)
{
    struct tf_work_block *b = r->used > 0 ? &r->blocks[r->used - 1] : NULL;
    if (b != NULL && b->n < TF_WORK_ITEMS && b->text.len < BLOCK_BYTES &&
        b->ids.n < BLOCK_BYTES / 4 && b->decoded < BLOCK_DECODED &&
        b->weights.len < BLOCK_WEIGHTS)
        return b;
    /* Long lines fill blocks on their own: bound the round by bytes as well. */
    size_t bytes = 0, decoded = 0, weights = 0;
    for (size_t i = 0; i < r->used; i++) {
        bytes += r->blocks[i].text.len + 4 * r->blocks[i].ids.n;
        decoded += r->blocks[i].decoded;
        weights += r->blocks[i].weights.len;
    }
    if (r->used == ROUND_BLOCKS || bytes >= (size_t)ROUND_BLOCKS * BLOCK_BYTES ||
        decoded >= (size_t)ROUND_BLOCKS * BLOCK_DECODED ||
        weights >= (size_t)ROUND_BLOCKS * BLOCK_WEIGHTS)
        return NULL;
    return &r->blocks[r->used++];
}

void tf_work_end_line(struct tf_work_block *b, size_t from)
{
    tf_buf_byte(&b->out, '\n');
    char *p = b->out.p + from, *end = b->out.p + b->out.len - 1;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL)
        *p = ' ';
}

int tf_work_count_bad(struct tf_tokenize_work *r, const struct tf_work_item *it, struct tf_err *err)
{
    const bool records = !r->count.text;
    if (r->last_bad == it->number + 1)
        return 0;
    r->last_bad = it->number + 1;
    return tf_bad_add(&r->count, r->name, records ? it->idx : it->number + 1, it->why, it->reported,
                      err);
}

int tf_work_put_text(struct tf_tokenize_work *r, struct tf_out *out, struct tf_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->used && rc == 0; i++) {
        const struct tf_work_block *b = &r->blocks[i];
        size_t end = 0, links = 0;
        for (size_t k = 0; k < b->n; k++) {
            if (b->items[k].code != 0 && (rc = tf_work_count_bad(r, &b->items[k], err)) < 0)
                break;
            end = b->items[k].out_end;
            links = b->items[k].links_end;
        }
        if ((end > 0 && tf_out_write(out, b->out.p, end, err) != 0) ||
            (links > 0 && tf_out_write(r->t->links_out, b->links.p, links, err) != 0))
            return -1;
    }
    return rc;
}
