/* tokenize_decode.c - token records and n-best lists to lines of text. */
#include "text/tokenize_work_private.h"
#include "base/json.h"
#include "stream/reader.h"
#include "stream/sentence.h"
#include "text/text.h"

#include <math.h>
#include <string.h>

struct decoder {
    struct tf_tokenize_work work;
    struct tf_record rec; /* current record */
    bool pending;         /* the round was full before all of rec was taken */
    size_t hyp;           /* next hypothesis of rec */
};

/* Add the source and the weights of one alignment of the record. */
static void take_alignment(struct tf_work_block *b, const struct tf_record *rec,
                           const float *weights, size_t n)
{
    tf_ids_add(&b->sources, rec->source, rec->n_source);
    tf_buf_add(&b->weights, weights, n * sizeof *weights);
}

static int check_aligned(const struct tf_tokenize_work *r, const struct tf_record *rec,
                         struct tf_err *err)
{
    bool all = rec->type == TF_REC_BAD || rec->source != NULL;
    if (rec->type == TF_REC_TOKENS)
        all = all && rec->alignment != NULL;
    for (size_t i = 0; rec->type == TF_REC_NBEST && i < rec->n_hyps; i++)
        all = all && rec->hyps[i].alignment != NULL;
    return all ? 0
               : tf_fail(err, "%s: record %llu has no alignment (tf-decode --alignment adds it)",
                         r->name, (unsigned long long)rec->idx);
}

/* Add the hypotheses of the current record to blocks, from d->hyp on. False when the round is full
 * before the last one. */
static bool take_record(struct decoder *d)
{
    struct tf_tokenize_work *r = &d->work;
    const struct tf_record *rec = &d->rec;
    size_t count = rec->type == TF_REC_NBEST && r->t->all && rec->n_hyps > 0 ? rec->n_hyps : 1;
    for (; d->hyp < count; d->hyp++) {
        struct tf_work_block *b = tf_work_room(r);
        d->pending = b == NULL;
        if (b == NULL)
            return false;
        const size_t start = b->ids.n;
        struct tf_work_item *it = &b->items[b->n++];
        *it = (struct tf_work_item){.number = r->count.total - 1,
                                    .idx = rec->idx,
                                    .last = d->hyp + 1 == count};
        if (rec->type == TF_REC_BAD) {
            char why[256];
            tf_work_bad(it, rec->fault.code, "%s",
                        tf_bad_describe(why, sizeof why, rec->fault.code, rec->fault.text));
            it->reported = true;
        } else if (rec->type == TF_REC_NBEST && rec->n_hyps == 0) {
            tf_work_bad(it, TF_BAD_OTHER, "no hypothesis");
        } else if (rec->type == TF_REC_NBEST) {
            tf_ids_add(&b->ids, rec->hyps[d->hyp].ids, rec->hyps[d->hyp].n);
            it->rank = (uint32_t)d->hyp + 1;
            it->score = rec->hyps[d->hyp].score;
            it->logp = rec->hyps[d->hyp].logp;
            if (r->t->links != NULL)
                take_alignment(b, rec, rec->hyps[d->hyp].alignment,
                               rec->hyps[d->hyp].n_alignment);
        } else {
            tf_ids_add(&b->ids, rec->ids, rec->n);
            if (r->t->links != NULL)
                take_alignment(b, rec, rec->alignment, rec->n_alignment);
        }
        size_t decoded = tf_sp_text_bytes(r->t->vocab->sp, b->ids.v + start, b->ids.n - start);
        b->decoded += decoded < TF_MAX_TEXT ? decoded : TF_MAX_TEXT;
        it->end = b->ids.n;
        it->source_end = b->sources.n;
        it->weights_end = b->weights.len;
    }
    d->hyp = 0;
    return true;
}

static int check_part(const struct tf_tokenize_work *r, struct tf_reader *reader,
                      struct tf_err *err)
{
    const struct tf_header *h = tf_reader_header(reader);
    struct tf_header own = {0};
    tf_vocab_header(r->t->vocab, &own);
    if (r->t->all && strcmp(h->kind, "nbest") != 0)
        return tf_fail(err, "%s: holds no n-best lists, but %s", r->name, h->kind);
    return tf_same_vocab(h, r->name, &own, "the model", err);
}

/* Read records into blocks until the round is full or reading would block. Returns 0 at the end of
 * the stream, 1 before it, -1 on error. */
static int read_records(struct decoder *d, struct tf_reader *reader, struct tf_err *err)
{
    struct tf_tokenize_work *r = &d->work;
    tf_work_round(r);
    for (;;) {
        if (!d->pending) {
            if (r->used > 0 && !tf_reader_ready(reader))
                return 1;
            int rc = tf_reader_next(reader, &d->rec, err);
            if (rc <= 0)
                return rc;
            if (d->rec.type == TF_REC_HEADER) {
                if (check_part(r, reader, err) != 0)
                    return -1;
                continue;
            }
            if (r->t->links != NULL && check_aligned(r, &d->rec, err) != 0)
                return -1;
            r->count.total++;
        }
        if (!take_record(d))
            return 1;
    }
}

/* JSON: the first hypothesis opens the object of its record, the second the list of alternatives,
 * the last closes both. text: of a good one. */
static void put_json(struct tf_buf *out, const struct tf_work_item *it, const struct tf_buf *text,
                     const struct tf_text *links)
{
    struct tf_json j = {.out = out, .comma = it->rank > 2};
    if (it->rank == 2)
        tf_buf_str(out, ",\"alternatives\":[");
    tf_json_open(&j, '{');
    if (it->rank < 2)
        tf_json_put_uint(&j, "line", it->number + 1);
    tf_json_put_str(&j, "status", it->code == 0 ? "ok" : tf_bad_name(it->code));
    if (it->code != 0)
        tf_json_put_str(&j, "reason", it->why);
    else if (it->rank > 0 && isfinite(it->score))
        tf_buf_printf(out, ",\"score\":%.6f", (double)it->score);
    if (it->code == 0)
        tf_json_put_strn(&j, "text", text->len > 0 ? text->p : "", text->len);
    if (it->code == 0 && links != NULL)
        tf_json_put_strn(&j, "alignment", links->n > 0 ? links->p : "", links->n);
    if (it->rank > 1 || it->last)
        tf_json_close(&j, '}');
    if (it->rank > 1 && it->last)
        tf_buf_str(out, "]}");
    if (it->last)
        tf_buf_byte(out, '\n');
}

/* What comes before and after the text of a hypothesis. */
static void put_before(struct tf_buf *out, const struct tf_tokenize *t,
                       const struct tf_work_item *it)
{
    const unsigned long long idx = it->idx;
    if (t->moses)
        tf_buf_printf(out, "%llu ||| ", idx);
    else if (t->all && it->code != 0)
        tf_buf_printf(out, "%llu\t0\t\t", idx);
    else if (t->all)
        tf_buf_printf(out, "%llu\t%lu\t%.6f\t", idx, (unsigned long)it->rank, (double)it->score);
}

/* links: of its alignment, or NULL. */
static void put_after(struct tf_buf *out, const struct tf_tokenize *t,
                      const struct tf_work_item *it, const struct tf_text *links)
{
    const bool bad = it->code != 0;
    if (links != NULL) {
        tf_buf_str(out, t->all && !t->moses ? "\t" : " ||| ");
        tf_buf_add(out, links->p, links->n);
    }
    if (t->moses)
        tf_buf_printf(out, " ||| F0= %.6f ||| %.6f", bad ? -INFINITY : (double)it->logp,
                      bad ? -INFINITY : (double)it->score);
}

/* Every | from `from` on as Moses' tokenizer escapes it, so that ||| separates fields only. */
static void escape_bars(struct tf_buf *b, size_t from)
{
    static const char escaped[] = "&#124;";
    const size_t more = sizeof escaped - 2;
    size_t bars = 0, end = b->len;
    for (size_t i = from; i < end; i++)
        bars += b->p[i] == '|';
    if (bars == 0)
        return;
    tf_buf_grow(b, bars * more + 1);
    b->len += bars * more;
    for (size_t to = b->len; end-- > from;)
        if (b->p[end] == '|')
            memcpy(b->p + (to -= more + 1), escaped, more + 1);
        else
            b->p[--to] = b->p[end];
}

/* Every tab from `from` on becomes a space, so that tabs separate fields only. */
static void replace_tabs(struct tf_buf *b, size_t from)
{
    for (size_t i = from; i < b->len; i++)
        if (b->p[i] == '\t')
            b->p[i] = ' ';
}

static int decode(const struct tf_vocab *v, const uint32_t *ids, size_t n, struct tf_buf *out,
                  struct tf_err *err)
{
    return v->bpe != NULL ? tf_bpe_decode(v->bpe, ids, n, out, err)
                          : tf_sp_decode(v->sp, ids, n, out, err);
}

/* bos has no text, and no model is asked. */
static void check_ids(const struct tf_tokenize_work *r, struct tf_work_item *it,
                      const uint32_t *ids, size_t n)
{
    struct tf_header own = {0};
    char text[TF_SENTENCE_TEXT];
    uint32_t id;
    tf_vocab_header(r->t->vocab, &own);
    const struct tf_sentence_rule rule = tf_sentence_rule_of(&own, 1);
    const enum tf_sentence_fault is = tf_sentence_check(&rule, ids, n, &id);
    if (is == TF_SENTENCE_UNKNOWN)
        tf_work_bad(it, TF_BAD_UNKNOWN_ID, "id %lu: the vocabulary has %lld", (unsigned long)id,
                    (long long)rule.size);
    else if (is > TF_SENTENCE_BEGINS)
        tf_work_bad(it, TF_BAD_OTHER, "%s", tf_sentence_describe(text, &rule, is, "tokens", id));
}

/* Where the inputs of an item are in its block. */
struct place {
    size_t ids, source, weights;
};

/* Append the alignment of an item, which may become bad by it. */
static void put_links(const struct tf_tokenize *t, struct tf_work_block *b,
                      struct tf_work_item *it, struct place at)
{
    struct tf_err err = {0};
    const struct tf_aligned a = {
        .ids = b->ids.v + at.ids,
        .n = it->end - at.ids,
        .source = b->sources.v + at.source,
        .n_source = it->source_end - at.source,
        .weights = (const float *)(const void *)(b->weights.p + at.weights),
        .n_weights = (it->weights_end - at.weights) / sizeof(float),
    };
    if (it->code == 0 && tf_links_put(&b->links, t->links, t->vocab, &a, &err) != 0)
        tf_work_bad(it, TF_BAD_OTHER, "%.200s", err.msg);
}

static void decode_json(const struct tf_tokenize_work *r, struct tf_work_block *b,
                        struct tf_work_item *it, const uint32_t *ids, size_t n,
                        const struct tf_text *links)
{
    struct tf_err err = {0};
    struct tf_buf *text = &b->scratch;
    tf_buf_clear(text);
    if (it->code == 0 && n > 0 && decode(r->t->vocab, ids, n, text, &err) < 0)
        tf_work_bad(it, TF_BAD_OTHER, "%.200s", err.msg);
    for (size_t i = 0; i < text->len; i++)
        if (text->p[i] == '\n')
            text->p[i] = ' ';
    put_json(&b->out, it, text, links);
    it->out_end = b->out.len;
}

/* links: of its alignment, or NULL. */
static void decode_line(const struct tf_tokenize *t, struct tf_work_block *b,
                        struct tf_work_item *it, const uint32_t *ids, size_t n,
                        const struct tf_text *links)
{
    struct tf_err err = {0};
    const size_t start = b->out.len;
    put_before(&b->out, t, it);
    const size_t text = b->out.len;
    if (it->code == 0 && n > 0 && decode(t->vocab, ids, n, &b->out, &err) < 0) {
        tf_work_bad(it, TF_BAD_OTHER, "%.200s", err.msg);
        b->out.len = start;
        put_before(&b->out, t, it);
    } else if (t->moses) {
        escape_bars(&b->out, text);
    } else if (t->all) {
        replace_tabs(&b->out, text);
    }
    put_after(&b->out, t, it, links);
    tf_work_end_line(b, start);
}

static void decode_item(const struct tf_tokenize_work *r, struct tf_work_block *b,
                        struct tf_work_item *it, struct place at)
{
    const struct tf_tokenize *t = r->t;
    const uint32_t *ids = b->ids.v + at.ids;
    const size_t n = it->end - at.ids, start = b->links.len;
    if (it->code == 0)
        check_ids(r, it, ids, n);
    if (t->links != NULL)
        put_links(t, b, it, at);
    const struct tf_text text = {b->links.p + start, b->links.len - start},
                         *links = t->links != NULL && t->links_out == NULL ? &text : NULL;
    if (t->json)
        decode_json(r, b, it, ids, n, links);
    else
        decode_line(t, b, it, ids, n, links);
    if (t->links_out != NULL)
        tf_buf_byte(&b->links, '\n');
    else
        b->links.len = start;
    it->out_end = b->out.len;
    it->links_end = b->links.len;
}

static void decode_block(void *arg, size_t job, int lane)
{
    (void)lane;
    const struct tf_tokenize_work *r = arg;
    struct tf_work_block *b = &r->blocks[job];
    struct place at = {0};
    for (size_t k = 0; k < b->n; k++) {
        const struct tf_work_item *it = &b->items[k];
        decode_item(r, b, &b->items[k], at);
        at = (struct place){it->end, it->source_end, it->weights_end};
    }
}

static int flush(const struct tf_tokenize_work *r, struct tf_out *out, struct tf_err *err)
{
    if (tf_out_flush(out, err) != 0)
        return -1;
    return r->t->links_out != NULL ? tf_out_flush(r->t->links_out, err) : 0;
}

static int decode_all(struct decoder *d, struct tf_reader *reader, struct tf_out *out,
                      struct tf_err *err)
{
    struct tf_tokenize_work *r = &d->work;
    if (check_part(r, reader, err) != 0)
        return -1;
    for (int more = 1; more;) {
        struct tf_err input = {0};
        more = read_records(d, reader, &input);
        tf_pool_run(r->pool, decode_block, r, r->used);
        if (tf_work_put_text(r, out, err) < 0)
            return -1;
        if (more < 0) {
            *err = input;
            return -1;
        }
        if (more > 0 && !d->pending && !tf_reader_ready(reader) && flush(r, out, err) != 0)
            return -1;
    }
    return 0;
}

int tf_tokenize_decode(struct tf_tokenize *t, struct tf_in *in, struct tf_out *out,
                       struct tf_err *err)
{
    static const char *const kinds[] = {"tokens", "nbest", NULL};
    struct decoder d = {0};
    struct tf_reader *reader = NULL;
    int rc = tf_work_begin(&d.work, t, in->name, true, err);
    if (rc == 0)
        rc = tf_reader_new(&reader, in, kinds, 0, err);
    if (rc == 0)
        rc = decode_all(&d, reader, out, err);
    if (rc == 0 && t->links_out != NULL)
        rc = flush(&d.work, out, err); /* neither file is replaced before both are written */
    if (t->links_out != NULL && err->status == TF_READER_LEFT)
        err->status = TF_FAILED;
    if (rc == 0)
        tf_bad_status(&d.work.count, in->name, err);
    tf_reader_free(reader);
    tf_work_end(&d.work);
    return rc;
}
