/* inspect.c - streams and models as a whole: check, count, head, seal. */
#include "base/hash.h"
#include "base/log.h"
#include "cbor/encode.h"
#include "stream/decode_private.h"
#include "stream/reader_private.h"
#include "stream/inspect.h"
#include "stream/search_settings.h"
#include "stream/sentence.h"
#include "stream/writer.h"
#include "stream/writer_private.h"

#include <stdio.h>
#include <string.h>

static int open_reader(struct tf_reader **r, struct tf_in *in, unsigned flags,
                       const struct tf_inspect *how, struct tf_err *err)
{
    if (tf_reader_new(r, in, NULL, flags, err) != 0)
        return -1;
    if (how->max_tensor)
        tf_reader_max_tensor(*r, how->max_tensor);
    return 0;
}

/* Is the cursor after batch b one after (epoch, group, record) of the last batch? */
static bool is_later(const struct tf_batch *b, const uint64_t last[3])
{
    const uint64_t at[3] = {b->epoch, b->group, b->record};
    int i = 0;
    while (i < 2 && at[i] == last[i])
        i++;
    return at[i] > last[i];
}

/* What check has seen of a stream's records. */
struct checked {
    const char *name; /* of the input */
    struct tf_sentence_rule rule[2];
    struct tf_batch_turn turn;
    uint64_t last[3];          /* cursor after the last batch */
    uint64_t records, bad;     /* those with ids or attention; those that readers would not use */
    bool bos;                  /* one of them was reported */
    char why[TF_SENTENCE_TEXT + 40];
};

/* Batches of a part: none empty, numbered without gaps, each with a later cursor. */
static int check_batch(struct checked *c, const struct tf_batch *b, struct tf_err *err)
{
    const bool first = !c->turn.begun;
    if (tf_batch_take_turn(&c->turn, b, err) != 0)
        return tf_context(err, "%s", c->name);
    if (!first && !is_later(b, c->last))
        return tf_fail(err, "%s: batch %llu: its cursor is not after that of the batch before",
                       c->name, (unsigned long long)b->ordinal);
    if (b->links != NULL && tf_batch_check_links(b, err) != 0)
        return tf_context(err, "%s: batch %llu", c->name, (unsigned long long)b->ordinal);
    c->last[0] = b->epoch;
    c->last[1] = b->group;
    c->last[2] = b->record;
    return 0;
}

/* The worst fault of the ids of a record, and its description. */
static enum tf_sentence_fault check_ids(const struct checked *c, const struct tf_record *rec,
                                        char text[TF_SENTENCE_TEXT])
{
    const struct tf_sentence_rule *r = c->rule;
    const bool pair = rec->type == TF_REC_PAIR;
    enum tf_sentence_fault worst = TF_SENTENCE_GOOD;
    if (rec->type == TF_REC_BATCH)
        return tf_batch_check_ids(&rec->batch, r, text);
    if (rec->type == TF_REC_TOKENS || pair)
        worst = tf_sentence_worse(worst, &r[!pair], pair ? "source" : "sentence", rec->ids, rec->n,
                                  text);
    if (pair)
        worst = tf_sentence_worse(worst, &r[1], "target", rec->tgt, rec->n_tgt, text);
    for (size_t i = 0; rec->type == TF_REC_NBEST && i < rec->n_hyps; i++)
        worst =
            tf_sentence_worse(worst, &r[1], "hypothesis", rec->hyps[i].ids, rec->hyps[i].n, text);
    return worst;
}

/* The alignments of a record, if it has some, or its attention. */
static int check_alignments(const struct tf_record *rec, struct tf_err *err)
{
    const struct tf_attn *a = &rec->attn;
    const size_t n = rec->type == TF_REC_ATTN ? a->n_heads * a->n_rows * a->n_cols : 0;
    for (size_t i = 0; i < n; i++)
        if (!tf_attn_is_weight(a->weights[i]))
            return tf_fail(err, "an attention weight of %g", a->weights[i]);
    if (rec->alignment != NULL && tf_alignment_check(rec->n, rec->n_source, rec->alignment,
                                                     rec->n_alignment, err) != 0)
        return -1;
    for (size_t i = 0; rec->type == TF_REC_NBEST && i < rec->n_hyps; i++) {
        const struct tf_hyp *h = &rec->hyps[i];
        if (h->alignment != NULL && tf_alignment_check(h->n, rec->n_source, h->alignment,
                                                       h->n_alignment, err) != 0)
            return -1;
    }
    return 0;
}

static void count_ids(struct checked *c, const struct tf_record *rec)
{
    char text[TF_SENTENCE_TEXT];
    struct tf_err why = {0};
    const bool batch = rec->type == TF_REC_BATCH;
    enum tf_sentence_fault is = check_ids(c, rec, text);
    if (is <= TF_SENTENCE_BEGINS && check_alignments(rec, &why) != 0) {
        is = TF_SENTENCE_UNKNOWN;
        snprintf(text, sizeof text, "%.*s", TF_SENTENCE_TEXT - 1, why.msg);
    }
    const char *what = batch ? "batch" : "record";
    const unsigned long long n = batch ? rec->batch.ordinal : rec->idx;
    c->records += batch || rec->type == TF_REC_TOKENS || rec->type == TF_REC_PAIR ||
                  rec->type == TF_REC_NBEST || rec->type == TF_REC_ATTN;
    if (is > TF_SENTENCE_BEGINS && c->bad++ == 0)
        snprintf(c->why, sizeof c->why, "%s %llu: %s", what, n, text);
    if (is == TF_SENTENCE_BEGINS && !c->bos) {
        c->bos = true;
        tf_warn("%s: %s %llu: %s; " TF_SENTENCE_BOS, c->name, what, n, text);
    }
}

static void begin_part(struct checked *c, const struct tf_header *h)
{
    c->turn.begun = false;
    for (int side = 0; side < 2; side++)
        c->rule[side] = tf_sentence_rule_of(h, side);
}

static int check_records(struct tf_reader *r, const char *name, struct tf_err *err)
{
    struct checked c = {.name = name};
    struct tf_record rec;
    int rc;
    begin_part(&c, tf_reader_header(r));
    while ((rc = tf_reader_next(r, &rec, err)) > 0) {
        if (rec.type == TF_REC_HEADER)
            begin_part(&c, tf_reader_header(r));
        else if (rec.type == TF_REC_BATCH && check_batch(&c, &rec.batch, err) != 0)
            return -1;
        count_ids(&c, &rec);
    }
    if (rc == 0 && c.bad > 0)
        return tf_fail(err, "%s: %llu of %llu records bad; the first is %s", name,
                       (unsigned long long)c.bad, (unsigned long long)c.records, c.why);
    return rc;
}

int tf_inspect_check(struct tf_in *in, const struct tf_inspect *how, struct tf_err *err)
{
    struct tf_reader *r;
    if (open_reader(&r, in, TF_READ_MODEL, how, err) != 0)
        return -1;
    int rc;
    if (tf_kind_is_model(tf_reader_header(r)->kind)) {
        struct tf_model_file m;
        unsigned flags = TF_MODEL_CHECK | (how->allow_nan ? TF_MODEL_ALLOW_NAN : 0);
        rc = tf_model_read_part(&m, r, in, flags, how->max_tensor, NULL, err);
        if (rc == 0) {
            if ((m.header.search.kind == TF_MAP &&
                 tf_search_settings_check(&m.header.search, err) != 0) ||
                (how->model != NULL && how->model(&m, err) != 0))
                rc = tf_context(err, "%s", in->name);
            tf_model_release(&m);
        }
    } else {
        rc = check_records(r, in->name, err);
    }
    tf_reader_free(r);
    return rc;
}

int tf_inspect_count(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                     struct tf_err *err)
{
    struct tf_reader *r;
    struct tf_record rec;
    uint64_t counts[TF_REC_END + 2] = {[TF_REC_HEADER] = 1}; /* the last: ancillary records */
    if (open_reader(&r, in, TF_READ_RAW | TF_READ_TENSORS, how, err) != 0)
        return -1;
    int rc;
    while ((rc = tf_reader_next(r, &rec, err)) > 0)
        counts[rec.type <= TF_REC_END ? rec.type : TF_REC_END + 1]++;
    tf_reader_free(r);
    for (int i = 0; i <= TF_REC_END + 1 && rc == 0; i++)
        if (counts[i])
            rc = tf_out_printf(out, err, "%s\t%llu\n",
                               tf_record_name(i <= TF_REC_END ? i : TF_REC_ANCILLARY),
                               (unsigned long long)counts[i]);
    return rc;
}

/* Record the failure in the output, for the program that reads it. */
static void pass_on(struct tf_writer *w, const struct tf_record *rec, const struct tf_err *err)
{
    struct tf_err quiet = {0};
    bool upstream = rec->type == TF_REC_ERROR;
    if (tf_writer_error(w, upstream ? rec->fault.code : 1, upstream ? rec->fault.text : err->msg,
                        &quiet) != 0)
        return; /* writing failed; *err already has the reason */
}

int tf_inspect_head(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                    struct tf_err *err)
{
    struct tf_reader *r;
    struct tf_record rec;
    struct tf_writer w;
    size_t n;
    if (open_reader(&r, in, TF_READ_RAW | TF_READ_TENSORS, how, err) != 0)
        return -1;
    const struct tf_header *h = tf_reader_header(r);
    if (tf_kind_is_model(h->kind)) {
        tf_fail(err, "%s: the first records of a %s are no %s", in->name, h->kind, h->kind);
        tf_reader_free(r);
        return -1;
    }
    rec.type = -1;
    const uint8_t *header = tf_reader_header_raw(r, &n);
    int rc = tf_writer_begin_raw(&w, out, h, header, n, err);
    for (uint64_t left = how->records; left > 0 && !rc;) {
        int more = tf_reader_next(r, &rec, err);
        if (more <= 0 || rec.type == TF_REC_END) {
            rc = more < 0 ? -1 : 0;
            break;
        }
        if (rec.type == TF_REC_CHECK) {
            rc = w.dirty ? tf_writer_check(&w, err) : 0;
        } else {
            left--;
            rc = tf_writer_raw(&w, rec.raw, rec.raw_n, err);
        }
        if (!rc && !tf_reader_ready(r))
            rc = tf_out_flush(out, err);
    }
    if (!rc)
        rc = tf_writer_end(&w, err);
    else
        pass_on(&w, &rec, err);
    tf_writer_release(&w);
    tf_reader_free(r);
    return rc;
}

/* ---- seal ---- */

/* Begin a part of the output. Copies the header record to *header, for begin_again. */
static int begin_sealed(struct tf_writer *w, struct tf_out *out, const struct tf_reader *r,
                        struct tf_buf *header, struct tf_err *err)
{
    size_t n;
    const uint8_t *p = tf_reader_header_raw(r, &n);
    tf_buf_clear(header);
    tf_buf_add(header, p, n);
    return tf_writer_begin_raw(w, out, tf_reader_header(r), p, n, err);
}

/* Begin a part for an error record after the end of one, with the same header. */
static int begin_again(struct tf_writer *w, struct tf_out *out, const struct tf_buf *header)
{
    struct tf_arena a = {0};
    struct tf_header h;
    struct tf_err quiet = {0};
    tf_writer_release(w);
    int rc = tf_header_decode(&h, &a, header->p, header->len, &quiet) != 0 ||
                     tf_writer_begin_raw(w, out, &h, header->p, header->len, &quiet) != 0
                 ? -1
                 : 0;
    tf_arena_release(&a);
    return rc;
}

/* Write a record that has a CRC of its own, which is filled in if it is null. Tensors get a new
 * pad, since the records before them may have grown; a tensor with fields of a newer version is
 * copied with the pad it has. */
static int seal_record(struct tf_writer *w, const struct tf_record *rec, struct tf_err *err)
{
    size_t at = tf_record_crc_at(rec->type, rec->raw, rec->raw_n);
    uint32_t crc;
    if (rec->type == TF_REC_TENSOR) {
        struct tf_tensor_head h;
        if (tf_tensor_record_decode(&h, rec, err) != 0)
            return -1;
        if (h.items_after == 1)
            return tf_writer_tensor(w, &h.t, err);
        crc = h.t.crc;
    } else {
        crc = tf_crc32c(0, rec->raw, at);
    }
    if (at == 0 || rec->raw[at] != 0xf6)
        return tf_writer_raw(w, rec->raw, rec->raw_n, err);
    struct tf_buf b = {0};
    tf_buf_add(&b, rec->raw, at);
    tf_cbor_uint(&b, crc);
    tf_buf_add(&b, rec->raw + at + 1, rec->raw_n - at - 1);
    int rc = tf_writer_raw(w, b.p, b.len, err);
    tf_buf_release(&b);
    return rc;
}

int tf_inspect_seal(struct tf_in *in, struct tf_out *out, const struct tf_inspect *how,
                    struct tf_err *err)
{
    struct tf_reader *r;
    struct tf_record rec = {.type = -1};
    struct tf_writer w;
    struct tf_buf header = {0};
    bool ended = false;
    if (open_reader(&r, in, TF_READ_RAW | TF_READ_TENSORS | TF_READ_UNHELD, how, err) != 0)
        return -1;
    int rc = begin_sealed(&w, out, r, &header, err), more = 1;
    while (!rc && (more = tf_reader_next(r, &rec, err)) > 0) {
        ended = rec.type == TF_REC_END;
        switch (rec.type) {
        case TF_REC_HEADER:
            tf_writer_release(&w);
            rc = begin_sealed(&w, out, r, &header, err);
            break;
        case TF_REC_CHECK:
            rc = w.dirty ? tf_writer_check(&w, err) : 0;
            break;
        case TF_REC_END:
            rc = tf_writer_end(&w, err);
            break;
        default:
            rc = seal_record(&w, &rec, err);
            break;
        }
        if (!rc && !tf_reader_ready(r))
            rc = tf_out_flush(out, err);
    }
    rc = rc || more < 0 ? -1 : 0;
    if (rc && (!ended || !begin_again(&w, out, &header)))
        pass_on(&w, &rec, err);
    tf_writer_release(&w);
    tf_buf_release(&header);
    tf_reader_free(r);
    return rc;
}
