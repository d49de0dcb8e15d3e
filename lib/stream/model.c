/* model.c - models and checkpoints in. The same walk over the records serves a mapped file, memory
 * and a pipe: heads are looked at where they lie, data are used in place when the file is mapped
 * and aligned, and else copied or read(2) straight to where they stay. */
#include "stream/model.h"
#include "base/hash.h"
#include "stream/record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STEP = 256 << 10 }; /* bytes of data summed and looked at while they are in the cache */

/* Where the bytes come from: memory [at, end), or an input. */
struct source {
    const char *name;
    const uint8_t *base, *at, *end; /* memory; NULL for an input */
    struct tf_in *in;
    uint32_t crc; /* running, over all that was taken but checks */
    uint64_t count;
};

struct load {
    struct source s;
    struct tf_model_file *m;
    unsigned flags;
    uint64_t max_tensor; /* 0: TF_MAX_TENSOR from a pipe */
    size_t cap_tensors;
    bool has_vocab;
};

/* Have n bytes in view, or as many as there are; *have of them. */
static int view(struct source *s, const uint8_t **p, size_t n, size_t *have, struct tf_err *err)
{
    if (!s->in) {
        *p = s->at;
        *have = (size_t)(s->end - s->at);
        return 0;
    }
    struct tf_in *in = s->in;
    ssize_t got = tf_in_have(in, n, err);
    if (got < 0)
        return -1;
    *p = in->buf + in->pos;
    *have = (size_t)got;
    return 0;
}

static void advance(struct source *s, size_t n)
{
    if (s->in)
        s->in->pos += n;
    else
        s->at += n;
}

static void take(struct source *s, const uint8_t *p, size_t n)
{
    s->crc = tf_crc32c(s->crc, p, n);
    advance(s, n);
}

static unsigned long long offset(const struct source *s)
{
    return s->in ? s->in->offset + s->in->pos : (unsigned long long)(s->at - s->base);
}

static int truncated(const struct source *s, struct tf_err *err)
{
    return tf_fail(err, "%s: truncated after record %llu", s->name, (unsigned long long)s->count);
}

static int malformed(const struct source *s, const char *why, struct tf_err *err)
{
    return tf_fail(err, "%s: malformed record %llu at byte %llu: %s", s->name,
                   (unsigned long long)s->count, offset(s), why);
}

/* Measure one item (a record, or a field behind a tensor's data) of at most limit bytes; *p and *n
 * are it. */
static int item(struct source *s, size_t limit, const uint8_t **p, size_t *n, struct tf_err *err)
{
    struct tf_scan scan = {0};
    const char *why;
    size_t have, need = 1;
    for (;;) {
        if (view(s, p, need, &have, err))
            return -1;
        if (have < need)
            return truncated(s, err);
        int rc = tf_scan_item(&scan, *p, have, limit, &why);
        if (rc < 0)
            return malformed(s, why, err);
        if (rc > 0) {
            *n = scan.pos;
            return 0;
        }
        need = scan.need;
    }
}

/* ---- records ---- */

bool tf_kind_is_model(const char *kind)
{
    return !strcmp(kind, "model") || !strcmp(kind, "checkpoint");
}

static int read_head(struct load *l, struct tf_err *err)
{
    struct source *s = &l->s;
    struct tf_header *h = &l->m->header;
    const uint8_t *p;
    size_t n;
    if (view(s, &p, TF_LABEL_N, &n, err))
        return -1;
    if (n == 0)
        return tf_fail(err, "%s: truncated: no stream", s->name);
    if (memcmp(p, tf_label, n < TF_LABEL_N ? n : TF_LABEL_N) != 0)
        return tf_fail(err, "%s: not a file of tf-tools (no label)", s->name);
    if (n < TF_LABEL_N)
        return truncated(s, err);
    take(s, p, TF_LABEL_N);
    if (item(s, TF_MAX_RECORD, &p, &n, err))
        return -1;
    if (tf_header_decode(h, &l->m->arena, p, n, err))
        return tf_context(err, "%s", s->name);
    take(s, p, n);
    if (!tf_kind_is_model(h->kind))
        return tf_fail(err, "%s: %s %s stream where a model or checkpoint is wanted", s->name,
                       tf_article(h->kind), h->kind);
    return 0;
}

static int add_vocab(struct load *l, const uint8_t *p, size_t n, struct tf_err *err)
{
    struct tf_model_file *m = l->m;
    uint8_t sha[32];
    char x[65], y[65];
    if (l->has_vocab)
        return tf_fail(err, "%s: two vocabularies", l->s.name);
    if (n == 0 || n > TF_MAX_VOCAB)
        return tf_fail(err, "%s: a vocabulary of %zu bytes: 1 to %zu", l->s.name, n, TF_MAX_VOCAB);
    l->has_vocab = true;
    tf_sha256_of(sha, p, n);
    if (m->header.has_vocab && memcmp(sha, m->header.vocab, 32) != 0)
        return tf_fail(err, "%s: its vocabulary %s differs from its header: %s", l->s.name,
                       tf_hex(x, sha, 32), tf_hex(y, m->header.vocab, 32));
    m->header.has_vocab = true;
    memcpy(m->header.vocab, sha, 32);
    uint8_t *to = tf_arena_alloc(&m->arena, n);
    memcpy(to, p, n);
    m->vocab = to;
    m->vocab_n = n;
    return 0;
}

static int read_state(struct load *l, const uint8_t *p, size_t n, struct tf_err *err)
{
    struct tf_record rec;
    struct tf_arena scratch = {0};
    struct tf_cursor c = {.p = p, .end = p + n};
    uint64_t items, type;
    const char *name;
    const uint8_t *bytes;
    size_t len;
    int rc = tf_record_decode(&rec, &scratch, &l->m->header, p, n, err);
    tf_arena_release(&scratch);
    if (rc)
        return tf_context(err, "%s: state record at byte %llu", l->s.name, offset(&l->s));
    if (tf_cursor_array(&c, &items) || tf_cursor_uint(&c, &type) || tf_cursor_text(&c, &name, &len))
        return malformed(&l->s, "a state without a name", err);
    if (len == 0 || len > TF_MAX_NAME)
        return malformed(&l->s, "a name of no or too many bytes", err);
    if (l->m->n_tensors > 0) /* or who reads no further than the tensors would miss it */
        return tf_fail(err, "%s: state %.*s stands behind a tensor", l->s.name, (int)len, name);
    if (len == 5 && !memcmp(name, "vocab", 5)) {
        const char *why = tf_cursor_bytes(&c, &bytes, &len);
        return why ? malformed(&l->s, why, err) : add_vocab(l, bytes, len, err);
    }
    char *key = tf_arena_strndup(&l->m->arena, name, len);
    const uint8_t *start = c.p;
    const char *why = tf_cursor_skip(&c);
    struct tf_value v;
    if (why)
        return malformed(&l->s, why, err);
    if (tf_value_get(&l->m->state, key))
        return tf_fail(err, "%s: state %s: twice", l->s.name, key);
    if (tf_cbor_parse(&v, &l->m->arena, start, (size_t)(c.p - start), err))
        return tf_context(err, "%s: state %s", l->s.name, key);
    if (l->m->state.n >= TF_MAX_STATES)
        return tf_fail(err, "%s: more than %d states", l->s.name, TF_MAX_STATES);
    tf_value_put(&l->m->arena, &l->m->state, key, v);
    return 0;
}

/* The data of a tensor: in place, or into a block of its own. *finite is told on the way. */
static int read_data(struct load *l, struct tf_tensor *t, bool keep, bool *finite,
                     struct tf_err *err)
{
    struct source *s = &l->s;
    struct tf_model_file *m = l->m;
    uint8_t *to = NULL;
    bool in_place = !s->in && (uintptr_t)s->at % 64 == 0;
    if (!s->in && t->bytes > (size_t)(s->end - s->at))
        return truncated(s, err);
    if (l->max_tensor > 0 && t->bytes > l->max_tensor)
        return tf_fail(err, "%s: tensor %s: %zu bytes: more than the %llu of --max-tensor", s->name,
                       t->name, t->bytes, (unsigned long long)l->max_tensor);
    if (s->in && l->max_tensor == 0 && t->bytes > TF_MAX_TENSOR)
        return tf_fail(
            err,
            "%s: tensor %s: %zu bytes: more than the %llu that a pipe may bring: give it as a file",
            s->name, t->name, t->bytes, (unsigned long long)TF_MAX_TENSOR);
    if (keep && !in_place) {
        to = tf_try_alloc(t->bytes ? t->bytes : 1, err);
        if (!to)
            return tf_context(err, "%s: tensor %s", s->name, t->name);
        m->blocks = tf_xarray(m->blocks, m->n_blocks + 1, sizeof *m->blocks);
        m->blocks[m->n_blocks++] = to;
    }
    t->data = in_place && keep ? s->at : to;
    t->crc = 0;
    *finite = true;
    uint8_t *scratch = s->in && !keep ? tf_xmalloc(STEP) : NULL;
    int rc = 0;
    for (size_t done = 0; done < t->bytes && !rc;) {
        size_t n = t->bytes - done < STEP ? t->bytes - done : STEP;
        const uint8_t *p = s->at;
        if (s->in) {
            uint8_t *dst = keep ? to + done : scratch;
            ssize_t got = tf_in_read(s->in, dst, n, err);
            if (got < 0 || (size_t)got < n) {
                rc = got < 0 ? -1 : truncated(s, err);
                break;
            }
            p = dst;
        } else {
            if (to)
                memcpy(to + done, p, n);
            s->at += n;
        }
        t->crc = tf_crc32c(t->crc, p, n);
        s->crc = tf_crc32c(s->crc, p, n);
        *finite = *finite && tf_tensor_finite(t->dtype, p, n);
        done += n;
    }
    free(scratch);
    return rc;
}

/* Look at a tensor's head, without taking it. */
static int view_tensor(struct source *s, const uint8_t **p, struct tf_tensor_head *h,
                       struct tf_err *err)
{
    size_t have;
    if (view(s, p, TF_TENSOR_HEAD_MAX, &have, err))
        return -1;
    const char *why = tf_tensor_head_read(h, *p, have), *other;
    if (!why)
        return 0;
    struct tf_scan scan = {0}; /* or is there merely too little of it? */
    bool cut =
        have < TF_TENSOR_HEAD_MAX && tf_scan_item(&scan, *p, have, TF_TENSOR_HEAD_MAX, &other) == 0;
    return cut ? truncated(s, err) : malformed(s, why, err);
}

/* The end of the walk for who wants the head only; a damaged type must not look like it. */
static int stop_at_tensor(struct load *l, struct tf_err *err)
{
    struct tf_tensor_head h;
    const uint8_t *p;
    return view_tensor(&l->s, &p, &h, err);
}

static int read_tensor(struct load *l, struct tf_err *err)
{
    struct source *s = &l->s;
    struct tf_model_file *m = l->m;
    struct tf_tensor_head h;
    const uint8_t *p;
    size_t n;
    if (view_tensor(s, &p, &h, err))
        return -1;
    if (m->n_tensors >= TF_MAX_TENSORS)
        return tf_fail(err, "%s: more than %d tensors", s->name, TF_MAX_TENSORS);
    h.t.name = h.name;
    take(s, p, h.n);
    bool keep = !(l->flags & TF_MODEL_WEIGHTS) || !strncmp(h.name, "p/", 2), finite = true, has;
    if (read_data(l, &h.t, keep, &finite, err))
        return -1;
    uint32_t crc;
    for (uint64_t i = 0; i < h.items_after; i++) {
        if (item(s, TF_MAX_RECORD, &p, &n, err))
            return -1;
        struct tf_cursor c = {.p = p, .end = p + n};
        if (i == 0) {
            const char *why = tf_cursor_crc(&c, &has, &crc);
            if (why)
                return malformed(s, why, err);
            if (has && crc != h.t.crc)
                return tf_fail(err,
                               "%s: tensor %s is damaged: crc32c is %08x, the record says %08x",
                               s->name, h.name, h.t.crc, crc);
        }
        take(s, p, n);
    }
    if (!finite && !(l->flags & TF_MODEL_ALLOW_NAN))
        return tf_fail(err, "%s: tensor %s holds values that are not finite", s->name, h.name);
    if (m->n_tensors == l->cap_tensors) {
        l->cap_tensors = l->cap_tensors ? 2 * l->cap_tensors : 64;
        m->tensors = tf_xarray(m->tensors, l->cap_tensors, sizeof *m->tensors);
    }
    /* Tensors left out stay in the list until names are compared. */
    h.t.name = tf_arena_strndup(&m->arena, h.name, strlen(h.name));
    m->tensors[m->n_tensors++] = h.t;
    s->count++;
    return 0;
}

static int read_mark(struct load *l, const uint8_t *p, size_t n, const char *what,
                     struct tf_err *err)
{
    struct source *s = &l->s;
    struct tf_cursor c = {.p = p, .end = p + n};
    uint64_t items, type, count;
    bool has;
    uint32_t crc;
    if (tf_cursor_array(&c, &items) || items != 3 || tf_cursor_uint(&c, &type) ||
        tf_cursor_uint(&c, &count) || tf_cursor_crc(&c, &has, &crc))
        return malformed(s, "not [type, count, crc]", err);
    if (count != s->count)
        return tf_fail(err, "%s: %llu records before the %s, which says %llu", s->name,
                       (unsigned long long)s->count, what, (unsigned long long)count);
    if (has && crc != s->crc)
        return tf_fail(err, "%s: damaged before byte %llu: crc32c is %08x, the %s says %08x",
                       s->name, offset(s), s->crc, what, crc);
    advance(s, n);
    return 0;
}

static int finish(struct load *l, struct tf_err *err)
{
    struct tf_model_file *m = l->m;
    const char *name = l->s.name;
    if (tf_tensors_unique(m->tensors, m->n_tensors, err))
        return tf_context(err, "%s", name);
    size_t kept = 0;
    for (size_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].data)
            m->tensors[kept++] = m->tensors[i];
    m->n_tensors = kept;
    if (m->header.has_model) {
        uint8_t print[32];
        char x[65], y[65];
        tf_model_fingerprint(print, &m->header.config, m->header.has_vocab ? m->header.vocab : NULL,
                             m->tensors, m->n_tensors);
        if (memcmp(print, m->header.model, 32) != 0)
            return tf_fail(err, "%s: its fingerprint is %s, its header says %s", name,
                           tf_hex(x, print, 32), tf_hex(y, m->header.model, 32));
    }
    return 0;
}

static int walk(struct load *l, struct tf_err *err)
{
    struct source *s = &l->s;
    const uint8_t *p;
    size_t n, have;
    if (read_head(l, err))
        return -1;
    l->m->state = tf_value_map();
    for (;;) {
        if (view(s, &p, 10, &have, err))
            return -1;
        int type = tf_record_type(p, have);
        if (type == -2)
            return truncated(s, err);
        if (type < 0)
            return malformed(s, "not an array that begins with a type", err);
        if (type == TF_REC_TENSOR) {
            if (l->flags & TF_MODEL_HEAD ? stop_at_tensor(l, err) : read_tensor(l, err))
                return -1;
            if (l->flags & TF_MODEL_HEAD)
                return 0;
            continue;
        }
        if (item(s, TF_MAX_RECORD, &p, &n, err))
            return -1;
        switch (type) {
        case TF_REC_STATE:
            if (read_state(l, p, n, err))
                return -1;
            break;
        case TF_REC_CHECK:
            if (read_mark(l, p, n, "check", err))
                return -1;
            continue;
        case TF_REC_END:
            if (read_mark(l, p, n, "end", err) || view(s, &p, 1, &have, err))
                return -1;
            if (have)
                return tf_fail(err, "%s: bytes after the end record at byte %llu", s->name,
                               offset(s));
            return l->flags & TF_MODEL_HEAD ? 0 : finish(l, err);
        case TF_REC_ERROR: {
            struct tf_record rec;
            if (tf_record_decode(&rec, &l->m->arena, &l->m->header, p, n, err))
                return tf_context(err, "%s: error record", s->name);
            return tf_fail(err, "%s: upstream failed: %s", s->name, rec.text);
        }
        default:
            if (!tf_record_fits(l->m->header.kind, type))
                return tf_fail(err, "%s: record %llu at byte %llu: type %d in a %s", s->name,
                               (unsigned long long)s->count, offset(s), type, l->m->header.kind);
            break;
        }
        take(s, p, n);
        s->count++;
    }
}

int tf_model_read_memory(struct tf_model_file *m, const void *p, size_t n, const char *name,
                         unsigned flags, struct tf_err *err)
{
    struct load l = {.m = m,
                     .flags = flags,
                     .s = {.name = name, .base = p, .at = p, .end = (const uint8_t *)p + n}};
    memset(m, 0, sizeof *m);
    int rc = walk(&l, err);
    if (rc)
        tf_model_release(m);
    return rc;
}

int tf_model_read_in(struct tf_model_file *m, struct tf_in *in, unsigned flags, uint64_t max_tensor,
                     struct tf_err *err)
{
    struct load l = {.m = m,
                     .flags = flags,
                     .max_tensor = max_tensor,
                     .s = {.name = in->name, .in = in}};
    memset(m, 0, sizeof *m);
    /* Mapped, when the descriptor stands where the buffer says and the model begins with the file.
     */
    if (in->size > 0 && in->offset + in->pos == 0 && lseek(in->fd, 0, SEEK_CUR) == (off_t)in->len) {
        void *map = mmap(NULL, (size_t)in->size, PROT_READ, MAP_PRIVATE, in->fd, 0);
        if (map != MAP_FAILED) {
            m->map = map;
            m->map_n = (size_t)in->size;
            l.s = (struct source){.name = in->name,
                                  .base = map,
                                  .at = map,
                                  .end = (const uint8_t *)map + in->size};
        }
    }
    int rc = walk(&l, err);
    if (rc)
        tf_model_release(m);
    return rc;
}

int tf_model_read(struct tf_model_file *m, const char *path, unsigned flags, uint64_t max_tensor,
                  struct tf_err *err)
{
    struct tf_in in;
    memset(m, 0, sizeof *m);
    if (tf_in_open(&in, path, err))
        return -1;
    int rc = tf_model_read_in(m, &in, flags, max_tensor, err);
    tf_in_close(&in);
    return rc;
}

void tf_model_release(struct tf_model_file *m)
{
    for (size_t i = 0; i < m->n_blocks; i++)
        free(m->blocks[i]);
    free(m->blocks);
    free(m->tensors);
    tf_arena_release(&m->arena);
    if (m->map)
        munmap(m->map, m->map_n);
    memset(m, 0, sizeof *m);
}

const struct tf_tensor *tf_model_tensor(const struct tf_model_file *m, const char *name)
{
    for (size_t i = 0; i < m->n_tensors; i++)
        if (!strcmp(m->tensors[i].name, name))
            return &m->tensors[i];
    return NULL;
}
