/* writer.h - write streams. */
#ifndef TF_STREAM_WRITER_H
#define TF_STREAM_WRITER_H

#include "base/output.h"
#include "stream/header.h"
#include "stream/record.h"

struct tf_writer {
    struct tf_out *out; /* borrowed; NULL before the first part */
    struct tf_buf buf;  /* the record being made */
    uint64_t count;     /* records since the label, without header and checks */
    uint32_t crc;       /* of all bytes since the label, without checks */
    uint64_t checked;   /* out->offset at the last check */
    bool dirty;         /* records since the last check */
    /* of the vocabulary: ids go under tag 69 when 0 < size <= 65536, else 70; an id beyond it is an
     * error */
    int64_t size;
    bool own_crc; /* records carry their own CRC: no checks but one after the header */
    bool file;    /* the output is a regular file */
};

/* Write label and header; fail, and write nothing, if readers would refuse the header. A check is
 * added before TF_MAX_CHECK bytes without one, and at every flush. */
int tf_writer_begin(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_writer_tokens(struct tf_writer *w, uint64_t idx, const uint32_t *ids, size_t n,
                     struct tf_err *err) TF_MUST_CHECK;
/* Write any record but header, tensor, check and end. Those above and below are short for it. */
int tf_writer_record(struct tf_writer *w, const struct tf_record *rec,
                     struct tf_err *err) TF_MUST_CHECK;
int tf_writer_batch(struct tf_writer *w, const struct tf_batch *b,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_writer_nbest(struct tf_writer *w, uint64_t idx, const struct tf_hyp *hyps, size_t n,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_writer_attention(struct tf_writer *w, uint64_t idx, const struct tf_attn *t,
                        struct tf_err *err) TF_MUST_CHECK;
int tf_writer_score(struct tf_writer *w, uint64_t idx, float logp, const float *token_logp,
                    size_t n, struct tf_err *err) TF_MUST_CHECK;
int tf_writer_stats(struct tf_writer *w, uint64_t idx, const uint32_t *counts, size_t n,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_writer_bad(struct tf_writer *w, uint64_t idx, int code, const char *text,
                  struct tf_err *err) TF_MUST_CHECK;
/* Flushes. No end record follows. */
int tf_writer_error(struct tf_writer *w, int code, const char *text,
                    struct tf_err *err) TF_MUST_CHECK;
/* Write an error record of *err, unless no part was begun or the output has failed before. If
 * writing it fails: tf_fail_later. */
void tf_writer_fail(struct tf_writer *w, struct tf_err *err);
int tf_writer_raw(struct tf_writer *w, const void *record, size_t n,
                  /* one encoded record other than header, check, error and end, passed on */
                  struct tf_err *err) TF_MUST_CHECK;
int tf_writer_check(struct tf_writer *w, struct tf_err *err) TF_MUST_CHECK; /* a check record now */
/* Write a check if records came after the last one, then flush the output. Does nothing if the
 * output is a regular file, whose bytes must not depend on pauses of the input. */
int tf_writer_flush(struct tf_writer *w, struct tf_err *err) TF_MUST_CHECK;
/* Write the end record. The caller commits the output. */
int tf_writer_end(struct tf_writer *w, struct tf_err *err) TF_MUST_CHECK;
void tf_writer_release(struct tf_writer *w);

#endif
