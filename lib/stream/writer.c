/* writer.c - write streams: encode records, keep their count and CRC, add checks. */
#include "base/utf8.h"
#include "base/hash.h"
#include "cbor/encode.h"
#include "stream/decode_private.h"
#include "stream/encode_private.h"
#include "stream/tensor_record_private.h"
#include "stream/writer.h"
#include "stream/writer_private.h"

#include <string.h>

/* Write the record in w->buf and add it to the CRC. */
static int put_with_crc(struct tf_writer *w, struct tf_err *err)
{
    w->crc = tf_crc32c(w->crc, w->buf.p, w->buf.len);
    int rc = tf_out_write(w->out, w->buf.p, w->buf.len, err);
    tf_buf_clear(&w->buf);
    return rc;
}

/* Write a check or end record, which is not part of the CRC. A record may wait in w->buf. */
static int mark(struct tf_writer *w, int type, struct tf_err *err)
{
    const struct tf_record rec = {.type = type, .count = {.records = w->count, .crc = w->crc}};
    struct tf_buf b = {0};
    tf_record_encode(&b, w->size, &rec);
    int rc = tf_out_write(w->out, b.p, b.len, err);
    tf_buf_release(&b);
    w->dirty = false;
    w->checked = w->out->offset;
    return rc;
}

int tf_writer_check(struct tf_writer *w, struct tf_err *err)
{
    return mark(w, TF_REC_CHECK, err);
}

/* Fail if the record in w->buf is longer than readers take. */
static int check_size(struct tf_writer *w, struct tf_err *err)
{
    size_t n = w->buf.len;
    if (n <= TF_MAX_RECORD || tf_record_type((const uint8_t *)w->buf.p, n) == TF_REC_TENSOR)
        return 0;
    tf_buf_clear(&w->buf);
    return tf_fail(err, "%s: a record of %zu bytes: at most %zu", w->out->name, n, TF_MAX_RECORD);
}

/* Write the record in w->buf, after a check if the bytes since the last one would exceed the limit.
 */
static int put_record(struct tf_writer *w, struct tf_err *err)
{
    size_t n = w->buf.len;
    if (check_size(w, err) != 0)
        return -1;
    if (!w->own_crc && w->dirty && w->out->offset - w->checked + n > TF_MAX_CHECK &&
        mark(w, TF_REC_CHECK, err) != 0)
        return -1;
    w->count++;
    w->dirty = true;
    return put_with_crc(w, err);
}

/* Returns text if it is UTF-8, else a copy in buf with other bytes escaped. */
static const char *clean(const char *text, char *buf, size_t size)
{
    size_t n = strlen(text);
    return tf_utf8_valid((const uint8_t *)text, n) ? text : tf_escape(buf, size, text, n);
}

int tf_writer_begin_raw(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                        const void *record, size_t n, struct tf_err *err)
{
    *w = (struct tf_writer){.out = out,
                            .checked = out->offset,
                            .size = h->size,
                            .own_crc = tf_kind_of(h->kind) & TF_KIND_OWN_CRC,
                            .file = tf_out_is_file(out)};
    tf_buf_add(&w->buf, tf_label, TF_LABEL_N);
    tf_buf_add(&w->buf, record, n);
    if (put_with_crc(w, err) != 0)
        return -1;
    /* Without checks between records, this one lets readers verify the header. */
    return w->own_crc ? tf_writer_check(w, err) : 0;
}

int tf_writer_begin(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                    struct tf_err *err)
{
    struct tf_buf record = {0};
    struct tf_arena a = {0};
    struct tf_header read;
    *w = (struct tf_writer){.out = NULL};
    tf_header_encode(&record, h);
    int rc = tf_header_decode(&read, &a, record.p, record.len, err) != 0
                 ? tf_context(err, "%s: readers would refuse it", out->name)
                 : tf_writer_begin_raw(w, out, h, record.p, record.len, err);
    tf_arena_release(&a);
    tf_buf_release(&record);
    return rc;
}

/* ---- records ---- */

int tf_writer_record(struct tf_writer *w, const struct tf_record *rec, struct tf_err *err)
{
    if (tf_record_check(rec, w->size, err) != 0)
        return tf_context(err, "%s", w->out->name);
    tf_record_encode(&w->buf, w->size, rec);
    return put_record(w, err);
}

int tf_writer_tokens(struct tf_writer *w, uint64_t idx, const uint32_t *ids, size_t n,
                     struct tf_err *err)
{
    return tf_writer_record(
        w, &(struct tf_record){.type = TF_REC_TOKENS, .idx = idx, .ids = ids, .n = n}, err);
}

int tf_writer_stats(struct tf_writer *w, uint64_t idx, const uint32_t *counts, size_t n,
                    struct tf_err *err)
{
    return tf_writer_record(
        w, &(struct tf_record){.type = TF_REC_STATS, .idx = idx, .ids = counts, .n = n}, err);
}

int tf_writer_batch(struct tf_writer *w, const struct tf_batch *b, struct tf_err *err)
{
    return tf_writer_record(w, &(struct tf_record){.type = TF_REC_BATCH, .batch = *b}, err);
}

int tf_writer_nbest(struct tf_writer *w, uint64_t idx, const struct tf_hyp *hyps, size_t n,
                    struct tf_err *err)
{
    return tf_writer_record(
        w, &(struct tf_record){.type = TF_REC_NBEST, .idx = idx, .hyps = hyps, .n_hyps = n}, err);
}

int tf_writer_attention(struct tf_writer *w, uint64_t idx, const struct tf_attn *t,
                        struct tf_err *err)
{
    return tf_writer_record(w, &(struct tf_record){.type = TF_REC_ATTN, .idx = idx, .attn = *t},
                            err);
}

int tf_writer_score(struct tf_writer *w, uint64_t idx, float logp, const float *token_logp,
                    size_t n, struct tf_err *err)
{
    const struct tf_record rec = {.type = TF_REC_SCORE, .idx = idx, .score = {logp, token_logp, n}};
    return tf_writer_record(w, &rec, err);
}

int tf_writer_bad(struct tf_writer *w, uint64_t idx, int code, const char *text, struct tf_err *err)
{
    char buf[1024];
    const struct tf_record rec = {.type = TF_REC_BAD,
                                  .idx = idx,
                                  .fault = {code, clean(text, buf, sizeof buf)}};
    return tf_writer_record(w, &rec, err);
}

int tf_writer_state(struct tf_writer *w, const char *name, const struct tf_value *v,
                    struct tf_err *err)
{
    const struct tf_record rec = {.type = TF_REC_STATE, .state = {.name = name, .value = v}};
    return tf_writer_record(w, &rec, err) != 0 ? tf_context(err, "state %s", name) : 0;
}

int tf_writer_raw(struct tf_writer *w, const void *record, size_t n, struct tf_err *err)
{
    tf_buf_add(&w->buf, record, n);
    return put_record(w, err);
}

int tf_writer_tensor(struct tf_writer *w, const struct tf_tensor *t, struct tf_err *err)
{
    tf_tensor_head_encode(&w->buf, w->out->offset, t);
    if (put_with_crc(w, err) != 0)
        return -1;
    w->crc = tf_crc32c(w->crc, t->data, t->bytes);
    if (tf_out_write(w->out, t->data, t->bytes, err) != 0)
        return -1;
    tf_cbor_uint(&w->buf, t->crc);
    w->count++;
    w->dirty = true;
    return put_with_crc(w, err);
}

int tf_writer_error(struct tf_writer *w, int code, const char *text, struct tf_err *err)
{
    char buf[1024];
    const struct tf_record rec = {.type = TF_REC_ERROR,
                                  .fault = {code, clean(text, buf, sizeof buf)}};
    if (w->dirty && tf_writer_check(w, err) != 0)
        return -1;
    tf_record_encode(&w->buf, w->size, &rec);
    return check_size(w, err) != 0 || put_with_crc(w, err) != 0 || tf_out_flush(w->out, err) != 0
               ? -1
               : 0;
}

void tf_writer_fail(struct tf_writer *w, struct tf_err *err)
{
    struct tf_err later = {0};
    if (w->out != NULL && !w->out->failed && tf_writer_error(w, err->status, err->msg, &later) != 0)
        tf_fail_later(err, &later);
}

int tf_writer_flush(struct tf_writer *w, struct tf_err *err)
{
    if (w->file)
        return 0;
    if (w->dirty && !w->own_crc && tf_writer_check(w, err) != 0)
        return -1;
    return tf_out_flush(w->out, err);
}

int tf_writer_end(struct tf_writer *w, struct tf_err *err)
{
    return mark(w, TF_REC_END, err);
}

void tf_writer_release(struct tf_writer *w)
{
    tf_buf_release(&w->buf);
}
