/* reader.c - read streams and models.
 *
 * A record is scanned in the input's buffer, counted and added to the CRC, and queued. Records of a
 * kind with own CRCs are returned at once, others when the next check record agrees; so the buffer
 * has at most the bytes between two checks. Tensor data of models are not buffered: the caller
 * reads them from the input. */
#include "stream/reader_private.h"
#include "base/memory.h"

#include "base/copies.h"
#include "base/hash.h"
#include "base/pipeline.h"
#include "stream/decode_private.h"
#include "stream/recognise.h"

#include <stdlib.h>
#include <string.h>

enum { SKIP_BIT = 63 }; /* of a queue entry: consumed, but not returned */
enum { TYPE_MOST = 18 }; /* bytes that tell the type of any record: two heads of 9 */

struct tf_reader {
    struct tf_in *in;
    const char *const *kinds;
    unsigned flags;
    uint64_t max_tensor;
    bool dead;
    /* the part */
    struct tf_header header;
    struct tf_arena header_mem;
    struct tf_buf header_raw;
    char *kind; /* of the first part */
    unsigned kind_bit;
    bool own_crc; /* records are ready as soon as they are complete */
    bool apart;   /* tensors are returned before their data */
    bool ended;   /* the end record was seen */
    uint64_t count, given;
    uint32_t crc;
    bool summed; /* the last check or end had a crc */
    uint64_t sum_count;
    uint32_t sum_crc;
    /* Bytes of in->buf from in->pos on: [0, last) was returned, [last, scanned) is queued. */
    size_t last, scanned;
    struct tf_scan scan; /* of the item after the queue, begun at offset scan_from of the input */
    uint64_t scan_from;
    size_t held;     /* bytes queued since the last check */
    uint64_t *queue; /* lengths */
    size_t head, ready, tail, cap;
    struct tf_arena mem; /* of the record returned last */
    struct tf_decoder decoder;
    struct tf_tensor_head tensor; /* apart: of the last tensor */
};

const struct tf_header *tf_reader_header(const struct tf_reader *r)
{
    return &r->header;
}

const uint8_t *tf_reader_header_raw(const struct tf_reader *r, size_t *n)
{
    *n = r->header_raw.len;
    return (const uint8_t *)r->header_raw.p;
}

void tf_reader_max_tensor(struct tf_reader *r, uint64_t bytes)
{
    r->max_tensor = bytes;
}

uint64_t tf_reader_count(const struct tf_reader *r)
{
    return r->given;
}

bool tf_reader_sum(const struct tf_reader *r, uint64_t *count, uint32_t *crc)
{
    *count = r->sum_count;
    *crc = r->sum_crc;
    return r->summed;
}

/* The offset in the input of the byte after the queue. */
static uint64_t scan_offset(const struct tf_reader *r)
{
    return r->in->offset + r->in->pos + r->scanned;
}

static const uint8_t *scan_at(const struct tf_reader *r)
{
    return r->in->buf + r->in->pos + r->scanned;
}

static size_t available(const struct tf_reader *r)
{
    return r->in->len - r->in->pos - r->scanned;
}

/* Make n bytes after the queue available, unless the input ends first; 0 or -1. */
static int want(struct tf_reader *r, size_t n, struct tf_err *err)
{
    size_t need = r->scanned + n;
    if (available(r) >= n || (need > TF_MAX_CHECK && need > tf_in_left(r->in)))
        return 0; /* or more than the file has */
    return tf_in_have(r->in, need, err) < 0 ? -1 : 0;
}

static int truncated(const struct tf_reader *r, struct tf_err *err)
{
    tf_copies_leave();
    return tf_fail(err, "%s: truncated after record %llu", r->in->name,
                   (unsigned long long)r->count);
}

static int malformed(const struct tf_reader *r, uint64_t at, const char *why, struct tf_err *err)
{
    return tf_fail(err, "%s: malformed record %llu at byte %llu: %s", r->in->name,
                   (unsigned long long)r->count, (unsigned long long)at, why);
}

static int too_large(const struct tf_reader *r, struct tf_err *err)
{
    return tf_fail(err, "%s: record %llu at byte %llu: larger than --max-tensor allows",
                   r->in->name, (unsigned long long)r->count, (unsigned long long)scan_offset(r));
}

/* Measure the item after the queue: a record, or a field after a tensor's data. Returns its bytes,
 * which are there; 0: not all of it is, and fill is false; -1: error. */
static int64_t measure_item(struct tf_reader *r, bool fill, struct tf_err *err)
{
    struct tf_scan *s = &r->scan;
    if (r->scan_from != scan_offset(r))
        *s = (struct tf_scan){0};
    r->scan_from = scan_offset(r);
    for (;;) {
        size_t limit = TF_MAX_RECORD, have = available(r);
        if ((r->flags & TF_READ_TENSORS) && tf_record_type(scan_at(r), have) == TF_REC_TENSOR)
            limit = r->max_tensor + TF_TENSOR_HEAD_MAX;
        int rc = tf_scan_item(s, scan_at(r), have, limit);
        const size_t at = s->pos;
        const char *why = s->why;
        const bool raise = s->longer && limit != TF_MAX_RECORD;
        if (rc != 0)
            *s = (struct tf_scan){0};
        if (rc > 0)
            return (int64_t)at;
        if (rc < 0 && raise)
            return too_large(r, err);
        if (rc < 0)
            return malformed(r, scan_offset(r) + at, why, err);
        if (!fill)
            return 0;
        if (want(r, s->need, err) != 0)
            return -1;
        if (available(r) < s->need)
            return truncated(r, err);
    }
}

/* The input does not begin with a label: name its format, and what converts it. */
static int wrong_format(const struct tf_reader *r, struct tf_err *err)
{
    struct tf_recognised found;
    const char *name = r->in->name, *kind = r->kinds != NULL ? r->kinds[0] : "";
    bool model = (tf_kind_of(kind) & TF_KIND_MODELS) != 0;
    if (!tf_recognise(&found, scan_at(r), available(r)))
        return tf_fail(err, "%s: not a %s of tf-tools (no label)", name,
                       model ? "model" : "stream");
    const char *use = found.is_text && !found.is_json ? tf_kind_use(kind)->from_text : found.stream;
    return tf_fail(err, "%s: %s, not a %s of tf-tools%s%s%s", name, found.name,
                   model ? "model" : "stream", use[0] != 0 ? " (use " : "", use,
                   use[0] != 0 ? ")" : "");
}

/* Read label and header of a part. */
static int begin_part(struct tf_reader *r, bool first, struct tf_err *err)
{
    struct tf_in *in = r->in;
    if (want(r, TF_LABEL_N, err) != 0)
        return -1;
    if (first && available(r) == 0) {
        tf_copies_leave();
        return tf_fail(err, "%s: truncated: no stream", in->name);
    }
    const bool alone = !first && (r->kind_bit & TF_KIND_MODELS); /* a model has one part */
    if (alone || !tf_label_begins(scan_at(r), available(r)))
        return first ? wrong_format(r, err)
                     : tf_fail(err, "%s: bytes after the end record at byte %llu", in->name,
                               (unsigned long long)scan_offset(r));
    if (available(r) < TF_LABEL_N)
        return tf_fail(err, "%s: truncated in the label", in->name);
    r->crc = tf_crc32c(0, tf_label, TF_LABEL_N);
    r->count = r->given = 0;
    r->held = 0;
    r->ended = false;
    in->pos += TF_LABEL_N;
    tf_arena_clear(&r->header_mem);
    int64_t size = measure_item(r, true, err);
    if (size < 0)
        return -1;
    const size_t n = (size_t)size;
    if (tf_header_decode(&r->header, &r->header_mem, scan_at(r), n, err) != 0)
        return tf_context(err, "%s", in->name);
    tf_buf_clear(&r->header_raw);
    tf_buf_add(&r->header_raw, scan_at(r), n);
    r->crc = tf_crc32c(r->crc, scan_at(r), n);
    in->pos += n;
    bool accepted = r->kinds == NULL;
    for (size_t i = 0; r->kinds != NULL && r->kinds[i] != NULL; i++)
        accepted = accepted || strcmp(r->kinds[i], r->header.kind) == 0;
    if (!accepted) {
        struct tf_buf list = {0};
        for (size_t i = 0; r->kinds[i] != NULL; i++)
            tf_buf_printf(&list, "%s%s", i ? " or " : "", r->kinds[i]);
        const char *use = tf_kind_use(r->kinds[0])->from_stream;
        tf_fail(err, "%s: kind is %s, expected %s%s%s%s", in->name, r->header.kind, list.p,
                use[0] != 0 ? " (use " : "", use, use[0] != 0 ? ")" : "");
        tf_buf_release(&list);
        return -1;
    }
    if (r->kind != NULL && strcmp(r->kind, r->header.kind) != 0)
        return tf_fail(err, "%s: a part of kind %s follows one of kind %s", in->name,
                       r->header.kind, r->kind);
    if (r->kind == NULL)
        r->kind = tf_xstrdup(r->header.kind);
    r->kind_bit = tf_kind_of(r->header.kind);
    r->own_crc = (r->kind_bit & TF_KIND_OWN_CRC) || (r->flags & TF_READ_UNHELD);
    r->apart = (r->flags & TF_READ_MODEL) && (r->kind_bit & TF_KIND_MODELS);
    return 0;
}

static int refuse_terminal(const struct tf_reader *r, struct tf_err *err)
{
    struct tf_buf what = {0};
    tf_buf_str(&what, "a stream");
    for (size_t i = 0; r->kinds != NULL && r->kinds[i] != NULL; i++)
        tf_buf_printf(&what, "%s%s", i ? " or " : " of kind ", r->kinds[i]);
    int rc = tf_in_refuse_terminal(r->in, what.p, err);
    tf_buf_release(&what);
    return rc;
}

int tf_reader_new(struct tf_reader **out, struct tf_in *in, const char *const *kinds,
                  unsigned flags, struct tf_err *err)
{
    struct tf_reader *r = tf_xmalloc(sizeof *r);
    *r = (struct tf_reader){.in = in, .kinds = kinds, .flags = flags, .max_tensor = TF_MAX_TENSOR};
    r->decoder = (struct tf_decoder){.arena = &r->mem, .header = &r->header};
    if (refuse_terminal(r, err) != 0 || begin_part(r, true, err) != 0) {
        tf_reader_free(r);
        *out = NULL;
        return -1;
    }
    *out = r;
    return 0;
}

void tf_reader_free(struct tf_reader *r)
{
    if (r == NULL)
        return;
    tf_arena_release(&r->header_mem);
    tf_arena_release(&r->mem);
    tf_buf_release(&r->header_raw);
    free(r->queue);
    free(r->kind);
    free(r);
}

static void enqueue(struct tf_reader *r, size_t n, bool skip)
{
    TF_GROW(r->queue, r->tail, r->cap);
    r->queue[r->tail++] = (uint64_t)n | (uint64_t)skip << SKIP_BIT;
    r->scanned += n;
    r->held += n;
}

/* Compare a check or end record with what was counted. */
static TF_NOINLINE int verify(struct tf_reader *r, int type, const uint8_t *p, size_t n,
                              struct tf_err *err)
{
    struct tf_record rec;
    const char *name = r->in->name, *what = tf_record_name(type);
    unsigned long long at = (unsigned long long)scan_offset(r);
    if (tf_record_decode(&rec, &r->decoder, p, n, err) != 0)
        return tf_context(err, "%s: malformed %s record at byte %llu", name, what, at);
    if (rec.count.records != r->count)
        return tf_fail(err, "%s: %llu records before the %s at byte %llu, which says %llu", name,
                       (unsigned long long)r->count, what, at,
                       (unsigned long long)rec.count.records);
    if (rec.count.has_crc && rec.count.crc != r->crc)
        return tf_fail(err, "%s: damaged before byte %llu: crc32c is %08x, the %s says %08x", name,
                       at, r->crc, what, rec.count.crc);
    r->summed = rec.count.has_crc;
    r->sum_count = rec.count.records;
    r->sum_crc = rec.count.crc;
    return 0;
}

/* Read the head of a tensor after the queue into r->tensor. */
static TF_NOINLINE int pull_tensor(struct tf_reader *r, struct tf_err *err)
{
    struct tf_tensor_head *h = &r->tensor;
    if (want(r, TF_TENSOR_HEAD_MAX, err) != 0)
        return -1;
    size_t have = available(r);
    const char *why = tf_tensor_head_decode(h, scan_at(r), have);
    struct tf_scan s = {0};
    if (why != NULL && have < TF_TENSOR_HEAD_MAX &&
        tf_scan_item(&s, scan_at(r), have, TF_TENSOR_HEAD_MAX) == 0)
        return truncated(r, err);
    if (why != NULL)
        return malformed(r, scan_offset(r), why, err);
    h->t.name = h->name;
    r->crc = tf_crc32c(r->crc, scan_at(r), h->n);
    enqueue(r, h->n, false);
    r->ready = r->tail;
    return 1;
}

/* Put the next record into the queue; what a check covers becomes ready. 1; 0 if fill is false and
 * the record is not complete; -1. Nothing changes unless it returns 1. */
static int pull(struct tf_reader *r, bool fill, struct tf_record *rec, struct tf_err *err)
{
    const char *name = r->in->name;
    if (r->apart) {
        if (want(r, TYPE_MOST, err) != 0)
            return -1;
        if (tf_record_type(scan_at(r), available(r)) == TF_REC_TENSOR)
            return pull_tensor(r, err);
    }
    int64_t size = measure_item(r, fill, err);
    if (size <= 0)
        return (int)size;
    const size_t n = (size_t)size;
    const uint8_t *p = scan_at(r);
    int type = tf_record_type(p, n);
    unsigned long long at = (unsigned long long)scan_offset(r);
    if (type < 0)
        return malformed(r, at, "not an array that begins with a type", err);
    if (type == TF_REC_CHECK || type == TF_REC_END) {
        if (verify(r, type, p, n, err))
            return -1;
        enqueue(r, n, !(r->flags & TF_READ_RAW));
        r->ready = r->tail;
        r->held = 0;
        r->ended = type == TF_REC_END;
        return 1;
    }
    if (type == TF_REC_ERROR) {
        if (!fill) /* keep the memory of the last record; tf_reader_next will decode this one */
            return -1;
        tf_arena_clear(&r->mem);
        if (tf_record_decode(rec, &r->decoder, p, n, err) != 0) {
            rec->type = -1;
            return tf_context(err, "%s: error record at byte %llu", name, at);
        }
        rec->offset = at;
        tf_pipeline_await_end();
        return tf_fail(err, "%s: upstream failed: %s", name, rec->fault.text);
    }
    if (!tf_kind_has(r->kind_bit, type)) {
        unsigned long long count = r->count;
        if (tf_schema_of(type) == NULL)
            return tf_fail(err, "%s: record %llu at byte %llu: unknown type %d", name, count, at,
                           type);
        return tf_fail(err, "%s: record %llu at byte %llu: %s in a stream of kind %s", name, count,
                       at, tf_record_name(type), r->header.kind);
    }
    if ((type == TF_REC_TENSOR || type == TF_REC_STATE) && !(r->flags & TF_READ_TENSORS) &&
        !r->apart)
        return tf_fail(err, "%s: record %llu at byte %llu: a %s, where no models are read", name,
                       (unsigned long long)r->count, at, tf_record_name(type));
    if (!r->own_crc && r->held >= TF_MAX_CHECK)
        return tf_fail(
            err, "%s: no check record within %zu bytes before byte %llu (tf-cbor seal adds them)",
            name, TF_MAX_CHECK, at);
    r->crc = tf_crc32c(r->crc, p, n);
    r->count++;
    enqueue(r, n, type >= TF_REC_ANCILLARY && !(r->flags & TF_READ_RAW));
    if (r->own_crc)
        r->ready = r->tail;
    return 1;
}

/* Drop queue entries that are not returned; true if another remains. */
static bool skip_hidden(struct tf_reader *r)
{
    while (r->head < r->ready && r->queue[r->head] >> SKIP_BIT) {
        size_t n = (size_t)(r->queue[r->head++] & ~((uint64_t)1 << SKIP_BIT));
        r->in->pos += n;
        r->scanned -= n;
    }
    if (r->head == r->tail)
        r->head = r->ready = r->tail = 0;
    return r->head < r->ready;
}

/* Consume the record returned last. */
static void consume_last(struct tf_reader *r)
{
    r->in->pos += r->last;
    r->scanned -= r->last;
    r->last = 0;
}

int tf_reader_next(struct tf_reader *r, struct tf_record *rec, struct tf_err *err)
{
    rec->type = -1;
    if (r->dead)
        return tf_fail(err, "%s: failed before", r->in->name);
    consume_last(r);
    while (!skip_hidden(r)) {
        if (r->ended) {
            if (want(r, 1, err) != 0)
                goto fail;
            if (available(r) == 0)
                return 0;
            uint64_t at = scan_offset(r);
            if (begin_part(r, false, err) != 0)
                goto fail;
            *rec = (struct tf_record){.type = TF_REC_HEADER, .offset = at};
            rec->raw = tf_reader_header_raw(r, &rec->raw_n);
            return 1;
        }
        if (pull(r, true, rec, err) < 0)
            goto fail;
    }
    size_t n = (size_t)r->queue[r->head++];
    r->last = n;
    tf_arena_clear(&r->mem);
    uint64_t at = r->in->offset + r->in->pos;
    if (tf_record_decode(rec, &r->decoder, r->in->buf + r->in->pos, n, err) != 0) {
        tf_context(err, "%s: %s record %llu at byte %llu", r->in->name, tf_record_name(rec->type),
                   (unsigned long long)r->given, (unsigned long long)at);
        rec->type = -1;
        goto fail;
    }
    rec->offset = at;
    r->given += rec->type != TF_REC_CHECK && rec->type != TF_REC_END;
    return 1;
fail:
    r->dead = true;
    return -1;
}

/* Grow the buffer for `need` unread bytes. It at least doubles. */
static void reserve(struct tf_in *in, size_t need)
{
    enum { LEAST = 64 << 10 };
    if (need <= in->cap)
        return;
    size_t cap = need > 2 * in->cap ? need : 2 * in->cap;
    cap = cap > LEAST ? cap : LEAST;
    if (in->len > in->pos)
        memmove(in->buf, in->buf + in->pos, in->len - in->pos);
    in->offset += in->pos;
    in->len -= in->pos;
    in->pos = 0;
    in->buf = tf_xarray(in->buf, cap, 1);
    in->cap = cap;
}

/* One read(2) of what the input has ready. 1; 0 if it would have to wait; -1. */
static int read_ahead(struct tf_in *in, struct tf_err *err)
{
    enum { CHUNK = 64 << 10 };
    size_t pos = in->pos, have = in->len - pos;
    in->pos = in->len; /* ask about the descriptor, not the buffer */
    bool ready = tf_in_ready(in);
    in->pos = pos;
    if (!ready)
        return 0;
    reserve(in, have + CHUNK);
    return tf_in_fill(in, have + 1, err) < 0 ? -1 : 1;
}

bool tf_reader_ready(struct tf_reader *r)
{
    struct tf_err quiet = {0};
    consume_last(r);
    while (!r->dead && !r->in->eof) {
        if (skip_hidden(r))
            return true;
        int rc = r->ended ? available(r) > 0 ? -1 : 0 : pull(r, false, NULL, &quiet);
        if (rc == 0 && (rc = read_ahead(r->in, &quiet)) == 0)
            return false;
        if (rc < 0)
            break; /* tf_reader_next will report it */
    }
    return true;
}

/* ---- tensors returned before their data ---- */

const struct tf_tensor_head *tf_reader_tensor(const struct tf_reader *r)
{
    return &r->tensor;
}

int tf_reader_tensor_begin(struct tf_reader *r, struct tf_err *err)
{
    consume_last(r);
    return r->tensor.t.bytes > tf_in_left(r->in) ? truncated(r, err) : 0;
}

int tf_reader_data(struct tf_reader *r, void *dst, size_t n, struct tf_err *err)
{
    ssize_t got = tf_in_read(r->in, dst, n, err);
    if (got < 0)
        return -1;
    if ((size_t)got < n)
        return truncated(r, err);
    r->crc = tf_crc32c(r->crc, dst, n);
    return 0;
}

int tf_reader_tensor_end(struct tf_reader *r, uint32_t crc, struct tf_err *err)
{
    for (uint64_t i = 0; i < r->tensor.items_after; i++) {
        int64_t size = measure_item(r, true, err);
        if (size < 0)
            return -1;
        const size_t n = (size_t)size;
        struct tf_cbor_cursor c = {.p = scan_at(r), .end = scan_at(r) + n};
        bool has = false;
        uint32_t want_crc = 0;
        const char *why = i == 0 ? tf_cursor_crc(&c, &has, &want_crc) : NULL;
        if (why != NULL)
            return malformed(r, scan_offset(r), why, err);
        if (has && crc != want_crc)
            return tf_fail(err, "%s: tensor %s is damaged: crc32c is %08x, the record says %08x",
                           r->in->name, r->tensor.name, crc, want_crc);
        r->crc = tf_crc32c(r->crc, scan_at(r), n);
        r->in->pos += n;
    }
    r->count++;
    return 0;
}

/* ---- the input ---- */

uint64_t tf_in_left(const struct tf_in *in)
{
    uint64_t at = in->offset + in->pos;
    if (in->size < 0)
        return UINT64_MAX;
    /* A file that has grown since it was opened can be read further than its size. */
    return at < (uint64_t)in->size ? (uint64_t)in->size - at : in->len - in->pos;
}

ssize_t tf_in_have(struct tf_in *in, size_t need, struct tf_err *err)
{
    if (in->eof)
        return (ssize_t)(in->len - in->pos);
    bool held = in->size >= 0 && need <= tf_in_left(in);
    for (;;) {
        size_t have = in->len - in->pos, most = have < TF_MAX_CHECK ? TF_MAX_CHECK : 2 * have,
               step = held || need < most ? need : most;
        reserve(in, step);
        ssize_t got = tf_in_fill(in, step, err);
        if (got < (ssize_t)step || step == need)
            return got;
    }
}
