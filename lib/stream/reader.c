/* reader.c - streams in. A record is first measured where it lies in the input's buffer, then
 * counted and summed; it is handed out when the check behind it agrees (or at once, when its kind
 * carries a CRC per record). So the buffer holds at most what lies between two checks. */
#include "base/hash.h"
#include "stream/record.h"

#include <stdlib.h>
#include <string.h>

enum { SKIP_BIT = 63 }; /* of a queue entry: consumed without being handed out */

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
    char *kind;   /* of the first part */
    bool own_crc; /* records are ready as soon as they are there */
    bool ended;   /* the end record was seen */
    uint64_t count, given;
    uint32_t crc;
    bool summed; /* the last check or end had a crc */
    uint64_t sum_count;
    uint32_t sum_crc;
    /* Bytes of in->buf from in->pos on: [0, last) was handed out, [last, scanned) is queued. */
    size_t last, scanned;
    size_t held;     /* bytes queued since the last check */
    uint64_t *queue; /* lengths */
    size_t head, ready, tail, cap;
    struct tf_arena mem; /* of the record handed out */
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

/* Where the byte after the queue lies in the input. */
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

ssize_t tf_in_have(struct tf_in *in, size_t need, struct tf_err *err)
{
    bool held = in->size >= 0 && need <= (uint64_t)in->size - (in->offset + in->pos);
    for (;;) {
        size_t have = in->len - in->pos, most = have < TF_MAX_CHECK ? TF_MAX_CHECK : 2 * have,
               step = held || need < most ? need : most;
        reserve(in, step);
        ssize_t got = tf_in_fill(in, step, err);
        if (got < (ssize_t)step || step == need)
            return got;
    }
}

/* Have n bytes behind the queue, unless the input ends; 0 or -1. */
static int want(struct tf_reader *r, size_t n, struct tf_err *err)
{
    struct tf_in *in = r->in;
    size_t need = r->scanned + n;
    if (available(r) >= n)
        return 0;
    if (in->size >= 0 && need > TF_MAX_CHECK && need > (uint64_t)in->size - (in->offset + in->pos))
        return 0; /* the file can't hold it */
    return tf_in_have(in, need, err) < 0 ? -1 : 0;
}

/* Measure the record behind the queue. 1: *n bytes of it are there; 0: not all of it, and fill is
 * false; -1: error. */
static int measure(struct tf_reader *r, bool fill, size_t *n, struct tf_err *err)
{
    struct tf_scan s = {0};
    const char *why;
    for (;;) {
        size_t limit = TF_MAX_RECORD, have = available(r);
        if ((r->flags & TF_READ_TENSORS) && tf_record_type(scan_at(r), have) == TF_REC_TENSOR)
            limit = r->max_tensor + TF_TENSOR_HEAD_MAX;
        int rc = tf_scan_item(&s, scan_at(r), have, limit, &why);
        if (rc > 0) {
            *n = s.pos;
            return 1;
        }
        if (rc < 0)
            return tf_fail(err, "%s: malformed record %llu at byte %llu: %s%s", r->in->name,
                           (unsigned long long)r->count,
                           (unsigned long long)(scan_offset(r) + s.pos), why,
                           limit != TF_MAX_RECORD && strstr(why, "limit") ? " (--max-tensor)" : "");
        if (!fill)
            return 0;
        if (want(r, s.need, err))
            return -1;
        if (available(r) < s.need)
            return tf_fail(err, "%s: truncated after record %llu", r->in->name,
                           (unsigned long long)r->count);
    }
}

/* Read label and header of a part. */
static int begin_part(struct tf_reader *r, bool first, struct tf_err *err)
{
    struct tf_in *in = r->in;
    size_t n;
    if (want(r, TF_LABEL_N, err))
        return -1;
    if (first && available(r) == 0)
        return tf_fail(err, "%s: truncated: no stream", in->name);
    size_t have = available(r) < TF_LABEL_N ? available(r) : TF_LABEL_N;
    if (memcmp(scan_at(r), tf_label, have) != 0)
        return first ? tf_fail(err, "%s: not a stream of tf-tools (no label)", in->name)
                     : tf_fail(err, "%s: bytes after the end record at byte %llu", in->name,
                               (unsigned long long)scan_offset(r));
    if (have < TF_LABEL_N)
        return tf_fail(err, "%s: truncated in the label", in->name);
    r->crc = tf_crc32c(0, tf_label, TF_LABEL_N);
    r->count = r->given = 0;
    r->held = 0;
    r->ended = false;
    in->pos += TF_LABEL_N;
    tf_arena_clear(&r->header_mem);
    if (measure(r, true, &n, err) < 0)
        return -1;
    if (tf_header_decode(&r->header, &r->header_mem, scan_at(r), n, err))
        return tf_context(err, "%s", in->name);
    tf_buf_clear(&r->header_raw);
    tf_buf_add(&r->header_raw, scan_at(r), n);
    r->crc = tf_crc32c(r->crc, scan_at(r), n);
    in->pos += n;
    bool accepted = !r->kinds;
    for (size_t i = 0; r->kinds && r->kinds[i]; i++)
        accepted = accepted || !strcmp(r->kinds[i], r->header.kind);
    if (!accepted) {
        struct tf_buf list = {0};
        for (size_t i = 0; r->kinds[i]; i++)
            tf_buf_printf(&list, "%s%s", i ? " or " : "", r->kinds[i]);
        tf_fail(err, "%s: %s %s stream where %s is wanted", in->name, tf_article(r->header.kind),
                r->header.kind, list.p);
        tf_buf_release(&list);
        return -1;
    }
    if (r->kind && strcmp(r->kind, r->header.kind) != 0)
        return tf_fail(err, "%s: a part of kind %s follows one of kind %s", in->name,
                       r->header.kind, r->kind);
    if (!r->kind)
        r->kind = tf_xstrdup(r->header.kind);
    r->own_crc = tf_kind_own_crc(r->header.kind) || (r->flags & TF_READ_UNHELD);
    return 0;
}

int tf_reader_new(struct tf_reader **out, struct tf_in *in, const char *const *kinds,
                  unsigned flags, struct tf_err *err)
{
    struct tf_reader *r = tf_xcalloc(1, sizeof *r);
    r->in = in;
    r->kinds = kinds;
    r->flags = flags;
    r->max_tensor = TF_MAX_TENSOR;
    if (begin_part(r, true, err)) {
        tf_reader_free(r);
        *out = NULL;
        return -1;
    }
    *out = r;
    return 0;
}

void tf_reader_free(struct tf_reader *r)
{
    if (!r)
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
    if (r->tail == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 1024;
        r->queue = tf_xarray(r->queue, r->cap, sizeof *r->queue);
    }
    r->queue[r->tail++] = (uint64_t)n | (uint64_t)skip << SKIP_BIT;
    r->scanned += n;
    r->held += n;
}

/* Compare a check or end record with what was counted. */
static int verify(struct tf_reader *r, int type, const uint8_t *p, size_t n, struct tf_err *err)
{
    struct tf_cursor c = {.p = p, .end = p + n};
    uint64_t items, t, count;
    bool has;
    uint32_t crc;
    const char *name = r->in->name;
    unsigned long long at = (unsigned long long)scan_offset(r);
    if (tf_cursor_array(&c, &items) || items != 3 || tf_cursor_uint(&c, &t) ||
        tf_cursor_uint(&c, &count) || tf_cursor_crc(&c, &has, &crc))
        return tf_fail(err, "%s: malformed %s record at byte %llu", name, tf_record_name(type), at);
    if (count != r->count)
        return tf_fail(err, "%s: %llu records before the %s at byte %llu, which says %llu", name,
                       (unsigned long long)r->count, tf_record_name(type), at,
                       (unsigned long long)count);
    if (has && crc != r->crc)
        return tf_fail(err, "%s: damaged before byte %llu: crc32c is %08x, the %s says %08x", name,
                       at, r->crc, tf_record_name(type), crc);
    r->summed = has;
    r->sum_count = count;
    r->sum_crc = crc;
    return 0;
}

/* Put the next record into the queue; what a check covers becomes ready. 1; 0 when fill is false
 * and it is not all there; -1. Nothing changes but on 1. */
static int pull(struct tf_reader *r, bool fill, struct tf_record *rec, struct tf_err *err)
{
    size_t n;
    const char *name = r->in->name;
    int rc = measure(r, fill, &n, err);
    if (rc <= 0)
        return rc;
    const uint8_t *p = scan_at(r);
    int type = tf_record_type(p, n);
    unsigned long long at = (unsigned long long)scan_offset(r);
    if (type < 0)
        return tf_fail(
            err, "%s: malformed record %llu at byte %llu: not an array that begins with a type",
            name, (unsigned long long)r->count, at);
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
        if (!fill) /* what was handed out stays: tf_reader_next will decode it */
            return -1;
        tf_arena_clear(&r->mem);
        if (tf_record_decode(rec, &r->mem, &r->header, p, n, err)) {
            rec->type = -1;
            return tf_context(err, "%s: error record at byte %llu", name, at);
        }
        rec->offset = at;
        return tf_fail(err, "%s: upstream failed: %s", name, rec->text);
    }
    if (!tf_record_fits(r->header.kind, type)) {
        if (strcmp(tf_record_name(type), "unknown") == 0)
            return tf_fail(err, "%s: record %llu at byte %llu: unknown type %d", name,
                           (unsigned long long)r->count, at, type);
        return tf_fail(err, "%s: record %llu at byte %llu: %s in %s %s stream", name,
                       (unsigned long long)r->count, at, tf_record_name(type),
                       tf_article(r->header.kind), r->header.kind);
    }
    if ((type == TF_REC_TENSOR || type == TF_REC_STATE) && !(r->flags & TF_READ_TENSORS))
        return tf_fail(err, "%s: record %llu at byte %llu: %s where none is wanted", name,
                       (unsigned long long)r->count, at, tf_record_name(type));
    if (!r->own_crc && r->held >= TF_MAX_CHECK)
        return tf_fail(
            err,
            "%s: no check record within %zu bytes before byte %llu (tf-cbor seal puts them in)",
            name, TF_MAX_CHECK, at);
    r->crc = tf_crc32c(r->crc, p, n);
    r->count++;
    enqueue(r, n, type >= TF_REC_ANCILLARY && !(r->flags & TF_READ_RAW));
    if (r->own_crc)
        r->ready = r->tail;
    return 1;
}

/* Drop queue entries that nobody sees; true when one to hand out is left. */
static bool settle(struct tf_reader *r)
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

/* The record handed out last ends. */
static void let_go(struct tf_reader *r)
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
    let_go(r);
    while (!settle(r)) {
        if (r->ended) {
            if (want(r, 1, err))
                goto fail;
            if (available(r) == 0)
                return 0;
            uint64_t at = scan_offset(r);
            if (begin_part(r, false, err))
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
    if (tf_record_decode(rec, &r->mem, &r->header, r->in->buf + r->in->pos, n, err)) {
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

/* One read of what waits behind the buffer. 1; 0 when it would have to wait; -1. */
static int read_ahead(struct tf_in *in, struct tf_err *err)
{
    enum { CHUNK = 64 << 10 };
    size_t pos = in->pos, have = in->len - pos;
    in->pos = in->len; /* what lies in the buffer is not asked about */
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
    let_go(r);
    while (!r->dead && !r->in->eof) {
        if (settle(r))
            return true;
        int rc = r->ended ? available(r) > 0 ? -1 : 0 : pull(r, false, NULL, &quiet);
        if (rc == 0 && (rc = read_ahead(r->in, &quiet)) == 0)
            return false;
        if (rc < 0)
            break; /* tf_reader_next will say what there is */
    }
    return true;
}
