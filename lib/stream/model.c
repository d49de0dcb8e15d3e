/* model.c - read models and checkpoints. Files are not mapped: the bytes that were verified are
 * those that are used, whatever happens to the file. */
#include "stream/model.h"
#include "base/memory.h"

#include "base/hash.h"
#include "cbor/cursor.h"
#include "stream/reader_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP = 256 << 10, /* bytes of data to sum and check while they are in the cache */
    BLOCK = 16 << 20, /* bytes to allocate at once for the tensors of a file */
};

static const char *const model_kinds[] = {"model", "checkpoint", NULL};

struct load {
    const struct tf_in *in;
    const char *name; /* of the input */
    struct tf_reader *r;
    struct tf_model_file *m;
    unsigned flags;
    bool pipe;
    uint64_t max_tensor;                /* 0: TF_MAX_TENSOR from a pipe */
    const struct tf_model_taker *taker; /* or NULL */
    size_t cap_tensors, cap_blocks;
    bool has_vocab;
    uint8_t *room; /* of the newest block */
    size_t room_n;
};

bool tf_kind_is_model(const char *kind)
{
    return strcmp(kind, model_kinds[0]) == 0 || strcmp(kind, model_kinds[1]) == 0;
}

static int add_vocab(struct load *l, const uint8_t *p, size_t n, struct tf_err *err)
{
    struct tf_model_file *m = l->m;
    uint8_t sha[32];
    char x[65], y[65];
    if (l->has_vocab)
        return tf_fail(err, "%s: two vocabularies", l->name);
    if (n == 0 || n > TF_MAX_VOCAB)
        return tf_fail(err, "%s: a vocabulary of %zu bytes: 1 to %zu", l->name, n, TF_MAX_VOCAB);
    l->has_vocab = true;
    tf_sha256_of(sha, p, n);
    if (m->header.has_vocab && memcmp(sha, m->header.vocab, 32) != 0)
        return tf_fail(err, "%s: vocabulary %s differs from the header's: %s", l->name,
                       tf_hex(x, sha, 32), tf_hex(y, m->header.vocab, 32));
    m->header.has_vocab = true;
    memcpy(m->header.vocab, sha, 32);
    uint8_t *to = tf_arena_alloc(&m->arena, n);
    memcpy(to, p, n);
    m->vocab = to;
    m->vocab_n = n;
    return 0;
}

/* The state `vocab_target` is a vocabulary, too. */
static int check_target(const struct load *l, const struct tf_value *v, struct tf_err *err)
{
    if (v->kind != TF_BYTES)
        return tf_fail(err, "%s: state vocab_target: not bytes", l->name);
    if (v->n == 0 || v->n > TF_MAX_VOCAB)
        return tf_fail(err, "%s: state vocab_target: a vocabulary of %zu bytes: 1 to %zu", l->name,
                       v->n, TF_MAX_VOCAB);
    return 0;
}

static int read_state(struct load *l, const struct tf_record *rec, struct tf_err *err)
{
    struct tf_model_file *m = l->m;
    const struct tf_named_value *s = &rec->state;
    struct tf_value v;
    if (s->name[0] == 0 || strlen(s->name) > TF_MAX_NAME)
        return tf_fail(err, "%s: state record at byte %llu: a name of no or too many bytes",
                       l->name, (unsigned long long)rec->offset);
    if (m->n_tensors > 0) /* readers of the states alone stop at the first tensor */
        return tf_fail(err, "%s: state %s comes after a tensor", l->name, s->name);
    if (strcmp(s->name, "vocab") == 0) {
        struct tf_cbor_cursor c = {.p = s->bytes, .end = s->bytes + s->n};
        const uint8_t *bytes;
        size_t n;
        const char *why = tf_cursor_bytes(&c, &bytes, &n);
        return why == NULL ? add_vocab(l, bytes, n, err)
                           : tf_fail(err, "%s: state record at byte %llu: %s", l->name,
                                     (unsigned long long)rec->offset, why);
    }
    if (tf_value_get(&m->state, s->name) != NULL)
        return tf_fail(err, "%s: state %s: twice", l->name, s->name);
    if (tf_cbor_parse(&v, &m->arena, s->bytes, s->n, err) != 0)
        return tf_context(err, "%s: state %s", l->name, s->name);
    if (strcmp(s->name, "vocab_target") == 0 && check_target(l, &v, err) != 0)
        return -1;
    if (m->state.n >= TF_MAX_STATES)
        return tf_fail(err, "%s: more than %d states", l->name, TF_MAX_STATES);
    tf_value_put(&m->arena, &m->state, s->name, v);
    return 0;
}

static int check_size(const struct load *l, const struct tf_tensor *t, struct tf_err *err)
{
    if (l->max_tensor > 0 && t->bytes > l->max_tensor)
        return tf_fail(err, "%s: tensor %s: %zu bytes: more than the %llu of --max-tensor", l->name,
                       t->name, t->bytes, (unsigned long long)l->max_tensor);
    if (l->pipe && l->max_tensor == 0 && t->bytes > TF_MAX_TENSOR)
        return tf_fail(err,
                       "%s: tensor %s: %zu bytes: a pipe is limited to %llu; read it from a file",
                       l->name, t->name, t->bytes, (unsigned long long)TF_MAX_TENSOR);
    return 0;
}

/* Memory for the data of a tensor, of a file in large blocks. From a pipe, whose heads may claim
 * anything, a block has one tensor. */
static uint8_t *take_room(struct load *l, size_t n, struct tf_err *err)
{
    struct tf_model_file *m = l->m;
    uint64_t left = tf_in_left(l->in);
    n = (n + 63) / 64 * 64;
    if (m->n_blocks > 0 && m->blocks[m->n_blocks - 1].tensors == 0) { /* use it again */
        struct tf_tensor_block *b = &m->blocks[m->n_blocks - 1];
        l->room = b->p;
        l->room_n = b->n;
        if (n > b->n) {
            free(b->p);
            l->room_n = 0;
            m->n_blocks--;
        }
    }
    if (n > l->room_n) {
        size_t block = l->pipe || n >= BLOCK ? n
                       : left < n            ? n
                       : left < BLOCK        ? (size_t)left
                                             : BLOCK;
        uint8_t *p = tf_try_alloc(block, err);
        if (p == NULL)
            return NULL;
        TF_GROW(m->blocks, m->n_blocks, l->cap_blocks);
        m->blocks[m->n_blocks++] = (struct tf_tensor_block){.p = p, .n = block};
        l->room = p;
        l->room_n = block;
    }
    uint8_t *p = l->room;
    l->room += n;
    l->room_n -= n;
    m->blocks[m->n_blocks - 1].tensors++;
    return p;
}

/* Read a tensor's data into memory, or check them without keeping them. Sets t->data
 * (NULL: not kept), t->crc and *finite. */
static int read_data(struct load *l, struct tf_tensor *t, bool keep, bool *finite,
                     struct tf_err *err)
{
    uint8_t *to = NULL;
    if (tf_reader_tensor_begin(l->r, err) != 0 || check_size(l, t, err) != 0)
        return -1;
    if (keep) {
        to = take_room(l, t->bytes ? t->bytes : 1, err);
        if (to == NULL)
            return tf_context(err, "%s: tensor %s", l->name, t->name);
    }
    t->data = to;
    t->crc = 0;
    *finite = true;
    uint8_t *scratch = keep ? NULL : tf_xmalloc(STEP);
    int rc = 0;
    for (size_t done = 0; done < t->bytes && !rc;) {
        size_t n = t->bytes - done < STEP ? t->bytes - done : STEP;
        uint8_t *p = keep ? to + done : scratch;
        rc = tf_reader_data(l->r, p, n, err);
        if (rc)
            break;
        t->crc = tf_crc32c(t->crc, p, n);
        *finite = *finite && tf_tensor_finite(t->dtype, p, n);
        done += n;
    }
    free(scratch);
    return rc;
}

static bool listed(const struct load *l, const struct tf_tensor *t)
{
    return !(l->flags & TF_MODEL_WEIGHTS) || strncmp(t->name, "p/", 2) == 0;
}

/* Are its data kept? What those in 8 bits say depends on their magnitudes. */
static bool kept(const struct load *l, const struct tf_tensor *t)
{
    return listed(l, t) && (!(l->flags & TF_MODEL_CHECK) || t->dtype == TF_I8 ||
                            strstr(t->name, TF_INT8_AMAX) != NULL);
}

static int read_tensor(struct load *l, struct tf_err *err)
{
    struct tf_model_file *m = l->m;
    const struct tf_tensor_head *h = tf_reader_tensor(l->r);
    struct tf_tensor t = h->t;
    if (m->n_tensors >= TF_MAX_TENSORS)
        return tf_fail(err, "%s: more than %d tensors", l->name, TF_MAX_TENSORS);
    bool finite = true;
    if (read_data(l, &t, kept(l, &t), &finite, err) != 0 ||
        tf_reader_tensor_end(l->r, t.crc, err) != 0)
        return -1;
    if (!finite && !(l->flags & TF_MODEL_ALLOW_NAN))
        return tf_fail(err, "%s: tensor %s: contains values that are not finite", l->name, t.name);
    TF_GROW(m->tensors, m->n_tensors, l->cap_tensors);
    /* All tensors stay in the list until names are compared. */
    t.name = tf_arena_strndup(&m->arena, t.name, strlen(t.name));
    m->tensors[m->n_tensors++] = t;
    if (!finite && m->not_finite == NULL)
        m->not_finite = t.name;
    return l->taker != NULL ? l->taker->take(l->taker->to, m, err) : 0;
}

static int finish_load(struct load *l, struct tf_err *err)
{
    struct tf_model_file *m = l->m;
    const char *name = l->name;
    if (tf_tensors_unique(m->tensors, m->n_tensors, err) != 0)
        return tf_context(err, "%s", name);
    size_t kept = 0;
    m->tensor_bytes = 0;
    for (size_t i = 0; i < m->n_tensors; i++) {
        if (listed(l, &m->tensors[i])) {
            m->tensor_bytes += m->tensors[i].bytes;
            m->tensors[kept++] = m->tensors[i];
        }
    }
    m->n_tensors = kept;
    uint8_t print[32];
    char x[65], y[65];
    tf_model_fingerprint(print, &m->header.config, m->header.has_vocab ? m->header.vocab : NULL,
                         m->tensors, m->n_tensors);
    if (m->header.has_model && memcmp(print, m->header.model, 32) != 0)
        return tf_fail(err, "%s: fingerprint is %s, the header says %s", name, tf_hex(x, print, 32),
                       tf_hex(y, m->header.model, 32));
    m->header.has_model = true;
    memcpy(m->header.model, print, 32);
    return 0;
}

static int walk(struct load *l, struct tf_err *err)
{
    struct tf_record rec;
    int rc;
    l->m->state = tf_value_map();
    l->m->tensor_bytes = l->pipe ? 0 : tf_in_left(l->in);
    while ((rc = tf_reader_next(l->r, &rec, err)) > 0) {
        if (rec.type == TF_REC_TENSOR && (l->flags & TF_MODEL_HEAD))
            return 0;
        if (rec.type == TF_REC_STATE && read_state(l, &rec, err) != 0)
            return -1;
        if (rec.type == TF_REC_TENSOR && read_tensor(l, err) != 0)
            return -1;
    }
    return rc < 0 ? -1 : l->flags & TF_MODEL_HEAD ? 0 : finish_load(l, err);
}

/* Clone the header into the model: the reader's lives as long as the reader. */
static int take_header(struct load *l, struct tf_err *err)
{
    size_t n;
    const uint8_t *p = tf_reader_header_raw(l->r, &n);
    return tf_header_decode(&l->m->header, &l->m->arena, p, n, err);
}

int tf_model_read_part(struct tf_model_file *m, struct tf_reader *r, const struct tf_in *in,
                       unsigned flags, uint64_t max_tensor, const struct tf_model_taker *taker,
                       struct tf_err *err)
{
    struct load l = {.in = in,
                     .name = in->name,
                     .r = r,
                     .m = m,
                     .flags = flags,
                     .pipe = in->size < 0,
                     .max_tensor = max_tensor,
                     .taker = taker};
    memset(m, 0, sizeof *m);
    TF_ASSERT(tf_kind_is_model(tf_reader_header(r)->kind));
    int rc = take_header(&l, err) != 0 || walk(&l, err) != 0 ? -1 : 0;
    if (rc)
        tf_model_release(m);
    return rc;
}

static int read_in(struct tf_model_file *m, struct tf_in *in, unsigned flags, uint64_t max_tensor,
                   const struct tf_model_taker *taker, struct tf_err *err)
{
    struct tf_reader *r;
    memset(m, 0, sizeof *m);
    if (tf_reader_new(&r, in, model_kinds, TF_READ_MODEL, err) != 0)
        return -1;
    int rc = tf_model_read_part(m, r, in, flags, max_tensor, taker, err);
    tf_reader_free(r);
    return rc;
}

int tf_model_read_in(struct tf_model_file *m, struct tf_in *in, unsigned flags, uint64_t max_tensor,
                     struct tf_err *err)
{
    return read_in(m, in, flags, max_tensor, NULL, err);
}

int tf_model_open(struct tf_in *in, const char *path, struct tf_err *err)
{
    if (tf_in_open(in, path, err) == 0)
        return 0;
    if (err->sys == EISDIR && strcmp(path, "-") != 0) {
        struct tf_buf word = {0};
        tf_buf_shell_file(&word, path);
        tf_fail(err,
                "%s: is a directory (use a .tfm file in it or tf-avgckpt %s, of another program's "
                "model tf-convert %s)",
                path, word.p, word.p);
        tf_buf_release(&word);
    }
    return -1;
}

int tf_model_read(struct tf_model_file *m, const char *path, unsigned flags,
                  const struct tf_model_taker *taker, struct tf_err *err)
{
    struct tf_in in;
    memset(m, 0, sizeof *m);
    if (tf_model_open(&in, path, err) != 0)
        return -1;
    int rc = read_in(m, &in, flags, 0, taker, err);
    tf_in_close(&in);
    return rc;
}

void tf_model_free_tensors(struct tf_model_file *m)
{
    for (size_t i = 0; i < m->n_blocks; i++)
        free(m->blocks[i].p);
    free(m->blocks);
    free(m->tensors);
    m->blocks = NULL;
    m->tensors = NULL;
    m->n_blocks = m->n_tensors = 0;
}

void tf_model_free_data(struct tf_model_file *m, const struct tf_tensor *t)
{
    const uintptr_t at = (uintptr_t)t->data;
    m->tensors[t - m->tensors].data = NULL;
    for (size_t i = 0; i < m->n_blocks; i++) {
        struct tf_tensor_block *b = &m->blocks[i];
        if (b->tensors > 0 && at >= (uintptr_t)b->p && at - (uintptr_t)b->p < b->n) {
            if (--b->tensors == 0 && i + 1 < m->n_blocks) { /* the last takes the next tensor */
                free(b->p);
                b->p = NULL;
            }
            return;
        }
    }
}

void tf_model_release(struct tf_model_file *m)
{
    tf_model_free_tensors(m);
    tf_arena_release(&m->arena);
    memset(m, 0, sizeof *m);
}

const struct tf_tensor *tf_model_tensor(const struct tf_model_file *m, const char *name)
{
    for (size_t i = 0; i < m->n_tensors; i++)
        if (strcmp(m->tensors[i].name, name) == 0)
            return &m->tensors[i];
    return NULL;
}
