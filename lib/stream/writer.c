/* writer.c - streams out: records one by one through a buffer, with running count and CRC. */
#include "base/utf8.h"
#include "base/hash.h"
#include "stream/record.h"

#include <string.h>
#include <sys/stat.h>

/* The record in w->buf goes out, into the running CRC first. */
static int put(struct tf_writer *w, struct tf_err *err)
{
    w->crc = tf_crc32c(w->crc, w->buf.p, w->buf.len);
    int rc = tf_out_write(w->out, w->buf.p, w->buf.len, err);
    tf_buf_clear(&w->buf);
    return rc;
}

/* Check or end: beside the running CRC, and beside w->buf, where a record may be waiting. */
static int mark(struct tf_writer *w, int type, struct tf_err *err)
{
    struct tf_buf b = {0};
    tf_record_mark(&b, type, w->count, w->crc);
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

/* A record was made in w->buf: a check before it, when with it the stretch would get too long. */
static int put_record(struct tf_writer *w, struct tf_err *err)
{
    size_t n = w->buf.len;
    if (n > TF_MAX_RECORD) {
        tf_buf_clear(&w->buf);
        return tf_fail(err, "%s: a record of %zu bytes: at most %zu", w->out->name, n,
                       TF_MAX_RECORD);
    }
    if (!w->own_crc && w->dirty && w->out->offset - w->checked + n > TF_MAX_CHECK &&
        mark(w, TF_REC_CHECK, err))
        return -1;
    w->count++;
    w->dirty = true;
    return put(w, err);
}

/* Texts in records are UTF-8. */
static const char *clean(const char *text, char *buf, size_t size)
{
    size_t n = strlen(text);
    return tf_utf8_valid((const uint8_t *)text, n) ? text : tf_escape(buf, size, text, n);
}

int tf_writer_begin_raw(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                        const void *record, size_t n, struct tf_err *err)
{
    struct stat st;
    *w = (struct tf_writer){.out = out,
                            .checked = out->offset,
                            .size = h->size,
                            .own_crc = tf_kind_own_crc(h->kind)};
    w->file = fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode);
    tf_buf_add(&w->buf, tf_label, TF_LABEL_N);
    tf_buf_add(&w->buf, record, n);
    if (put(w, err))
        return -1;
    /* Where nothing is held back, the header is proved before the first record is used. */
    return w->own_crc ? tf_writer_check(w, err) : 0;
}

int tf_writer_begin(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                    struct tf_err *err)
{
    struct tf_buf record = {0};
    tf_header_encode(&record, h);
    int rc = tf_writer_begin_raw(w, out, h, record.p, record.len, err);
    tf_buf_release(&record);
    return rc;
}

static int check_ids(struct tf_writer *w, const uint32_t *ids, size_t n, struct tf_err *err)
{
    if (n > TF_MAX_IDS)
        return tf_fail(err, "%s: %zu ids in one record: at most %zu", w->out->name, n, TF_MAX_IDS);
    if (w->size <= 0)
        return 0;
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = ids[i] > most ? ids[i] : most;
    if (n && most >= w->size)
        return tf_fail(err, "%s: id %u in a vocabulary of %lld", w->out->name, most,
                       (long long)w->size);
    return 0;
}

int tf_writer_tokens(struct tf_writer *w, uint64_t idx, const uint32_t *ids, size_t n,
                     struct tf_err *err)
{
    if (check_ids(w, ids, n, err))
        return -1;
    tf_record_tokens(&w->buf, w->size, idx, ids, n);
    return put_record(w, err);
}

int tf_writer_stats(struct tf_writer *w, uint64_t idx, const uint32_t *counts, size_t n,
                    struct tf_err *err)
{
    if (n > TF_MAX_IDS)
        return tf_fail(err, "%zu counts in one record, maximum %zu", n, TF_MAX_IDS);
    tf_record_stats(&w->buf, idx, counts, n);
    return put_record(w, err);
}

static bool are_texts(const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!tf_utf8_valid((const uint8_t *)texts[i], strlen(texts[i])))
            return false;
    return true;
}

int tf_writer_attention(struct tf_writer *w, uint64_t idx, const struct tf_attn *t,
                        struct tf_err *err)
{
    if (!tf_attn_fits(t))
        return tf_fail(err, "%s: %zu heads of %zu rows and %zu columns: more than a record holds",
                       w->out->name, t->n_heads, t->n_rows, t->n_cols);
    if (!are_texts(&t->kind, 1) || !are_texts(t->rows, t->n_rows) || !are_texts(t->cols, t->n_cols))
        return tf_fail(err, "%s: attention with text that is not UTF-8", w->out->name);
    tf_record_attention(&w->buf, idx, t);
    return put_record(w, err);
}

int tf_writer_pair(struct tf_writer *w, uint64_t idx, const uint32_t *src, size_t n_src,
                   const uint32_t *tgt, size_t n_tgt, struct tf_err *err)
{
    if (check_ids(w, src, n_src, err) || check_ids(w, tgt, n_tgt, err))
        return -1;
    tf_record_pair(&w->buf, w->size, idx, src, n_src, tgt, n_tgt);
    return put_record(w, err);
}

int tf_writer_batch(struct tf_writer *w, const struct tf_batch *b, struct tf_err *err)
{
    if (check_ids(w, b->src, b->src_off[b->n], err) || check_ids(w, b->tgt, b->tgt_off[b->n], err))
        return -1;
    if (b->n > TF_MAX_IDS)
        return tf_fail(err, "%s: %zu pairs in one batch: at most %zu", w->out->name, b->n,
                       TF_MAX_IDS);
    tf_record_batch(&w->buf, w->size, b);
    return put_record(w, err);
}

int tf_writer_nbest(struct tf_writer *w, uint64_t idx, const struct tf_hyp *hyps, size_t n,
                    struct tf_err *err)
{
    if (n > TF_MAX_HYPS)
        return tf_fail(err, "%s: %zu hypotheses in one record: at most %d", w->out->name, n,
                       TF_MAX_HYPS);
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        if (check_ids(w, hyps[i].ids, hyps[i].n, err))
            return -1;
        total += hyps[i].n;
    }
    if (total > TF_MAX_IDS)
        return tf_fail(err, "%s: %zu ids in the hypotheses of one record: at most %zu",
                       w->out->name, total, TF_MAX_IDS);
    tf_record_nbest(&w->buf, w->size, idx, hyps, n);
    return put_record(w, err);
}

int tf_writer_score(struct tf_writer *w, uint64_t idx, float logp, const float *token_logp,
                    size_t n, struct tf_err *err)
{
    tf_record_score(&w->buf, idx, logp, token_logp, n);
    return put_record(w, err);
}

int tf_writer_bad(struct tf_writer *w, uint64_t idx, int code, const char *text, struct tf_err *err)
{
    char buf[1024];
    tf_record_bad(&w->buf, idx, code, clean(text, buf, sizeof buf));
    return put_record(w, err);
}

void tf_writer_fail(struct tf_writer *w, struct tf_err *err)
{
    struct tf_err later = {0};
    if (!w->out->failed && tf_writer_error(w, err->status, err->msg, &later) < 0 && err->sys == 0)
        *err = later;
}

int tf_writer_raw(struct tf_writer *w, const void *record, size_t n, struct tf_err *err)
{
    tf_buf_add(&w->buf, record, n);
    return put_record(w, err);
}

int tf_writer_state(struct tf_writer *w, const char *name, const struct tf_value *v,
                    struct tf_err *err)
{
    tf_record_state(&w->buf, name, v);
    return put_record(w, err) ? tf_context(err, "state %s", name) : 0;
}

int tf_writer_tensor(struct tf_writer *w, const struct tf_tensor *t, struct tf_err *err)
{
    tf_record_tensor_head(&w->buf, w->out->offset, t);
    if (put(w, err))
        return -1;
    w->crc = tf_crc32c(w->crc, t->data, t->bytes);
    if (tf_out_write(w->out, t->data, t->bytes, err))
        return -1;
    tf_cbor_uint(&w->buf, t->crc);
    w->count++;
    w->dirty = true;
    return put(w, err);
}

int tf_writer_error(struct tf_writer *w, int code, const char *text, struct tf_err *err)
{
    if (w->dirty && tf_writer_check(w, err))
        return -1;
    char buf[1024];
    tf_record_error(&w->buf, code, clean(text, buf, sizeof buf));
    return put(w, err) || tf_out_flush(w->out, err) ? -1 : 0;
}

int tf_writer_flush(struct tf_writer *w, struct tf_err *err)
{
    if (w->file)
        return 0;
    if (w->dirty && !w->own_crc && tf_writer_check(w, err))
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
