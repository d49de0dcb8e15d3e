/* torch.c - see torch.h. */
#include "exchange/torch.h"
#include "base/bits.h"
#include "base/order.h"
#include "exchange/pickle_private.h"
#include "exchange/zip_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The pickle of the number with which the older form begins. */
static const uint8_t magic[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c, 0x46,
                                0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
static const char pickle_name[] = "/data.pkl";
enum { ZIP_LOCAL = 30, ZIP_NAME = 26 };

void tf_torch_release(struct tf_torch *t)
{
    tf_arena_release(&t->arena);
    *t = (struct tf_torch){0};
}

bool tf_torch_begins(const void *p, size_t n)
{
    const char *c = p;
    if (n >= sizeof magic && memcmp(p, magic, sizeof magic) == 0)
        return true;
    if (n < ZIP_LOCAL || memcmp(p, "PK\3\4", 4) != 0)
        return false;
    const size_t name_n = tf_load16(c + ZIP_NAME), end_n = sizeof pickle_name - 1;
    return name_n > end_n && n - ZIP_LOCAL >= name_n &&
           memcmp(c + ZIP_LOCAL + name_n - end_n, pickle_name, end_n) == 0;
}

/* ---- storages ---- */

static int fill_storage(struct tf_py *s, const uint8_t *data, uint64_t bytes, struct tf_err *err)
{
    if (s->data != NULL)
        return tf_fail(err, "storage '%s': there twice", s->text);
    if ((uint64_t)s->integer != bytes / tf_dtype_size(s->dtype))
        return tf_fail(err, "storage '%s': %" PRIu64 " bytes for %" PRId64 " elements", s->text,
                       bytes, s->integer);
    s->data = data;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(struct tf_py *const *)a)->text, (*(struct tf_py *const *)b)->text);
}

/* The data belong to all storages of that key. */
static int fill_storages(struct tf_pickle *k, const char *key, const uint8_t *data, uint64_t bytes,
                         struct tf_err *err)
{
    size_t i;
    TF_FIRST(i, 0, k->n_storages, strcmp(k->storages[i]->text, key) >= 0);
    for (; i < k->n_storages && strcmp(k->storages[i]->text, key) == 0; i++)
        if (fill_storage(k->storages[i], data, bytes, err) != 0)
            return -1;
    return 0;
}

static void sort_storages(struct tf_pickle *k)
{
    if (k->n_storages > 0)
        qsort(k->storages, k->n_storages, sizeof *k->storages, by_key);
}

/* ---- an archive ---- */

static int read_pickle(struct tf_pickle *k, const struct tf_zip_member *m, struct tf_err *err)
{
    size_t used;
    if (tf_pickle_read(k, m->data, (size_t)m->size, &used, err) != 0)
        return -1;
    sort_storages(k);
    return 0;
}

/* NAME/data.pkl is the first member; NAME/data/KEY are the storages. */
static int read_archive(struct tf_pickle *k, const void *p, size_t n, struct tf_err *err)
{
    static const char folder[] = "/data/";
    struct tf_zip z;
    struct tf_zip_member m;
    int got;
    if (tf_zip_open(&z, p, n, 2 * TF_MAX_TENSORS, err) != 0)
        return -1;
    while ((got = tf_zip_next(&z, &m, err)) > 0) {
        const char *slash = strchr(m.name, '/');
        int rc = 0;
        if (k->root == NULL && tf_ends_with(m.name, pickle_name) &&
            m.name[sizeof pickle_name - 1] != 0)
            rc = read_pickle(k, &m, err);
        else if (slash != NULL && strncmp(slash, folder, sizeof folder - 1) == 0)
            rc = fill_storages(k, slash + sizeof folder - 1, m.data, m.size, err);
        else if (slash != NULL && strcmp(slash, "/byteorder") == 0 &&
                 (m.size != 6 || memcmp(m.data, "little", 6) != 0))
            rc = tf_fail(err, "of a machine with another order of bytes");
        if (rc != 0)
            return -1;
    }
    return got;
}

/* ---- the older form: a number, a protocol, a system, the object, the keys; the storages ---- */

static int read_legacy(struct tf_pickle *k, const uint8_t *p, size_t n, struct tf_err *err)
{
    enum { PROTOCOL, SYSTEM, OBJECT, KEYS, PICKLES };
    struct tf_py *got[PICKLES];
    size_t at = sizeof magic, used;
    for (int i = 0; i < PICKLES; i++) {
        if (tf_pickle_read(k, p + at, n - at, &used, err) != 0)
            return -1;
        at += used;
        got[i] = k->root;
    }
    k->root = got[OBJECT];
    sort_storages(k);
    for (size_t i = 0; got[KEYS]->kind == TF_PY_LIST && i < got[KEYS]->n; i++) {
        const struct tf_py *key = got[KEYS]->items[i];
        struct tf_py *const *s = NULL;
        if (key->kind == TF_PY_TEXT && k->n_storages > 0)
            s = bsearch(&key, k->storages, k->n_storages, sizeof *k->storages, by_key);
        if (s == NULL)
            return tf_fail(err, "a storage that no tensor has");
        const uint64_t elements = n - at >= 8 ? tf_load64(p + at) : UINT64_MAX,
                       size = tf_dtype_size((*s)->dtype);
        at += n - at >= 8 ? 8 : 0;
        if (elements > (n - at) / size)
            return tf_fail(err, "storage '%s': the file ends in it", key->text);
        if (fill_storages(k, key->text, p + at, elements * size, err) != 0)
            return -1;
        at += (size_t)(elements * size);
    }
    return 0;
}

int tf_torch_read(struct tf_torch *t, const void *p, size_t n, struct tf_err *err)
{
    struct tf_pickle k = {.a = &t->arena};
    int rc = -1;
    if (!tf_torch_begins(p, n))
        tf_fail(err, "not a file of PyTorch");
    else if (memcmp(p, magic, sizeof magic) == 0)
        rc = read_legacy(&k, p, n, err);
    else
        rc = read_archive(&k, p, n, err);
    if (rc == 0 && k.root == NULL)
        rc = tf_fail(err, "no data.pkl in the archive");
    free(k.storages);
    t->root = k.root;
    if (rc != 0)
        tf_torch_release(t);
    return rc;
}

/* ---- what is in it ---- */

static int read_tensor(struct tf_tensor *t, const char *name, const struct tf_py *x,
                       struct tf_err *err)
{
    uint64_t bytes;
    if (strlen(name) > TF_MAX_NAME)
        return tf_fail(err, "a tensor's name of %zu bytes: at most %d", strlen(name), TF_MAX_NAME);
    if (x->kind != TF_PY_TENSOR)
        return tf_fail(err, "'%s': not a tensor", name);
    if (x->strided)
        return tf_fail(err, "tensor '%s': not contiguous; save it with contiguous()", name);
    const struct tf_py *s = x->items[0];
    *t = (struct tf_tensor){.name = name, .dtype = s->dtype, .rank = (int)x->n - 1};
    for (int i = 0; i < t->rank; i++)
        t->dims[i] = (uint64_t)x->items[i + 1]->integer;
    const uint64_t size = tf_dtype_size(s->dtype), have = (uint64_t)s->integer;
    if (!tf_tensor_size(&bytes, t->dtype, t->dims, t->rank) || s->data == NULL ||
        (uint64_t)x->integer > have || bytes / size > have - (uint64_t)x->integer)
        return tf_fail(err, "tensor '%s': beyond its storage", name);
    t->data = s->data + (uint64_t)x->integer * size;
    t->bytes = (size_t)bytes;
    return 0;
}

int tf_torch_tensors(struct tf_bundle *b, const struct tf_py *dict, struct tf_err *err)
{
    if (dict == NULL || dict->kind != TF_PY_DICT || dict->n / 2 > TF_MAX_TENSORS)
        return tf_fail(err, "no dict of tensors");
    b->tensors = tf_arena_zalloc(&b->arena, (dict->n / 2 + 1) * sizeof *b->tensors);
    for (size_t i = 0; i + 1 < dict->n; i += 2) {
        const struct tf_py *key = dict->items[i];
        if (key->kind != TF_PY_TEXT)
            return tf_fail(err, "a tensor without a name");
        const char *name = tf_arena_strndup(&b->arena, key->text, strlen(key->text));
        if (read_tensor(&b->tensors[b->n++], name, dict->items[i + 1], err) != 0)
            return -1;
    }
    return tf_tensors_unique(b->tensors, b->n, err);
}

const struct tf_py *tf_torch_dict(const struct tf_py *dict, const char *key)
{
    const struct tf_py *x = tf_py_get(dict, key);
    return x != NULL && x->kind == TF_PY_DICT ? x : NULL;
}

const char *tf_torch_text(const struct tf_py *dict, const char *key, const char *missing)
{
    const struct tf_py *x = tf_py_get(dict, key);
    return x != NULL && x->kind == TF_PY_TEXT ? x->text : missing;
}

int64_t tf_torch_int(const struct tf_py *dict, const char *key, int64_t missing)
{
    const struct tf_py *x = tf_py_get(dict, key);
    return x != NULL && (x->kind == TF_PY_INT || x->kind == TF_PY_BOOL) ? x->integer : missing;
}

double tf_torch_real(const struct tf_py *dict, const char *key, double missing)
{
    const struct tf_py *x = tf_py_get(dict, key);
    return x != NULL && x->kind == TF_PY_REAL  ? x->real
           : x != NULL && x->kind == TF_PY_INT ? (double)x->integer
                                               : missing;
}
