/* info.c - headers, configurations, tensors and provenance for readers. One tree of values is made
 * of a file, and printed as text or as JSON. */
#include "train/info.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/parse.h"
#include "base/thread.h"
#include "ops/backend.h"
#include "stream/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- values as text ---- */

/* Text out of a file: controls of a terminal as \xNN. */
static void put_escaped(struct tf_buf *b, const char *s, size_t n)
{
    char *text = tf_xmalloc(4 * n + 1);
    tf_buf_str(b, tf_escape(text, 4 * n + 1, s, n));
    free(text);
}

static void put_scalar(struct tf_buf *b, const struct tf_value *v)
{
    char number[32], hex[65];
    switch (v->kind) {
    case TF_NULL: tf_buf_str(b, "none"); break;
    case TF_BOOL: tf_buf_str(b, v->boolean ? "true" : "false"); break;
    case TF_INT: tf_buf_printf(b, "%" PRId64, v->integer); break;
    case TF_REAL: tf_buf_str(b, tf_format_real(number, v->real)); break;
    case TF_TEXT: put_escaped(b, v->text, v->n); break;
    case TF_BYTES:
        if (v->n == 32)
            tf_buf_str(b, tf_hex(hex, (const uint8_t *)v->text, 32));
        else
            tf_buf_printf(b, "%zu bytes", v->n);
        break;
    case TF_ARRAY: tf_buf_printf(b, "%zu items", v->n); break;
    case TF_MAP: tf_buf_printf(b, "%zu fields", v->n); break;
    }
}

static void put_row(struct tf_buf *b, int indent, const char *key, const struct tf_value *v)
{
    size_t from = b->len;
    tf_buf_printf(b, "%*s", indent, "");
    put_escaped(b, key, strlen(key));
    do
        tf_buf_byte(b, ' ');
    while (b->len - from < 21);
    put_scalar(b, v);
    tf_buf_byte(b, '\n');
}

static void put_map(struct tf_buf *b, int indent, const char *title, const struct tf_value *map)
{
    if (map == NULL || map->kind != TF_MAP || map->n == 0)
        return;
    tf_buf_printf(b, "%*s", indent, "");
    put_escaped(b, title, strlen(title));
    tf_buf_byte(b, '\n');
    for (size_t i = 0; i < map->n; i++) {
        if (map->items[i].kind == TF_MAP)
            put_map(b, indent + 2, map->keys[i], &map->items[i]);
        else
            put_row(b, indent + 2, map->keys[i], &map->items[i]);
    }
}

/* A word of a shell: as it is when that is safe, else between single quotes. */
static void put_word(struct tf_buf *b, const char *before, const struct tf_value *v)
{
    struct tf_buf word = {0};
    tf_buf_str(&word, before);
    put_scalar(&word, v);
    bool plain =
        word.len > 0 &&
        strspn(word.p,
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%") ==
            word.len;
    if (plain) {
        tf_buf_add(b, word.p, word.len);
    } else {
        tf_buf_byte(b, '\'');
        for (size_t i = 0; i < word.len; i++)
            tf_buf_str(b, word.p[i] == '\'' ? "'\\''" : (char[]){word.p[i], 0});
        tf_buf_byte(b, '\'');
    }
    tf_buf_release(&word);
}

static void put_stage(struct tf_buf *b, const struct tf_value *stage, bool first, bool last)
{
    static const struct tf_value nameless = {.kind = TF_TEXT, .text = "?", .n = 1};
    const struct tf_value *prog = tf_value_get(stage, "prog"), *opts = tf_value_get(stage, "opts"),
                          *precision = tf_value_get(stage, "precision");
    tf_buf_str(b, first ? "  " : "  | ");
    put_word(b, "", prog != NULL ? prog : &nameless);
    for (size_t i = 0; opts != NULL && opts->kind == TF_MAP && i < opts->n; i++) {
        const struct tf_value *v = &opts->items[i];
        if (v->kind == TF_BOOL && !v->boolean)
            continue;
        struct tf_value key = {.kind = TF_TEXT, .text = opts->keys[i], .n = strlen(opts->keys[i])};
        tf_buf_byte(b, ' ');
        put_word(b, "--", &key);
        bool list = v->kind == TF_ARRAY;
        for (size_t k = 0; k < (list ? v->n : v->kind != TF_BOOL); k++) {
            tf_buf_byte(b, ' ');
            put_word(b, "", list ? &v->items[k] : v);
        }
    }
    if (precision != NULL) {
        tf_buf_str(b, " --precision ");
        put_word(b, "", precision);
    }
    tf_buf_str(b, last ? "\n" : " \\\n");
}

/* Is this member of a stage shown in its command or in its own way below? */
static bool shown(const char *key)
{
    static const char *const keys[] = {"prog", "version", "opts", "precision", "in"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* The pipeline, and behind it as comments what went into its stages. */
static void put_made(struct tf_buf *b, const struct tf_value *made)
{
    if (made == NULL || made->kind != TF_ARRAY || made->n == 0)
        return;
    tf_buf_str(b, "made by\n");
    for (size_t i = 0; i < made->n; i++)
        put_stage(b, &made->items[i], i == 0, i + 1 == made->n);
    for (size_t i = 0; i < made->n; i++) {
        const struct tf_value *stage = &made->items[i], *prog = tf_value_get(stage, "prog"),
                              *in = tf_value_get(stage, "in"),
                              *version = tf_value_get(stage, "version");
        tf_buf_str(b, "  # ");
        if (prog != NULL)
            put_scalar(b, prog);
        tf_buf_byte(b, ' ');
        if (version != NULL)
            put_scalar(b, version);
        tf_buf_byte(b, '\n');
        for (size_t k = 0; in != NULL && in->kind == TF_MAP && k < in->n; k++) {
            tf_buf_str(b, "  # ");
            put_row(b, 2, in->keys[k], &in->items[k]);
        }
        for (size_t k = 0; stage->kind == TF_MAP && k < stage->n; k++) {
            if (shown(stage->keys[k]))
                continue;
            tf_buf_str(b, "  # ");
            put_row(b, 2, stage->keys[k], &stage->items[k]);
        }
    }
}

static void put_tensor(struct tf_buf *b, const struct tf_value *t)
{
    const struct tf_value *dims = tf_value_get(t, "dims");
    struct tf_buf shape = {0};
    tf_buf_str(&shape, "");
    for (size_t k = 0; k < dims->n; k++)
        tf_buf_printf(&shape, "%s%" PRId64, k > 0 ? " x " : "", dims->items[k].integer);
    char name[4 * TF_MAX_NAME + 1];
    const struct tf_value *raw = tf_value_get(t, "name");
    tf_buf_printf(b, "  %-28s %-5s %15s %11" PRId64 "  %08" PRIx64 "\n",
                  tf_escape(name, sizeof name, raw->text, raw->n), tf_value_get(t, "dtype")->text,
                  shape.p != NULL ? shape.p : "", tf_value_get(t, "elements")->integer,
                  (uint64_t)tf_value_get(t, "crc32c")->integer);
    tf_buf_release(&shape);
}

/* Moments and averages have the shapes of the parameters: their number will do. */
static void put_tensors(struct tf_buf *b, const struct tf_value *tensors)
{
    static const struct {
        const char *prefix, *label;
    } like[] = {{"m/", "first moments"}, {"v/", "second moments"}, {"e/", "moving averages"}};
    enum { LIKE = sizeof like / sizeof *like };
    size_t n[LIKE] = {0};
    tf_buf_str(b, "tensors\n");
    for (size_t i = 0; i < tensors->n; i++) {
        const char *name = tf_value_get(&tensors->items[i], "name")->text;
        int k = 0;
        while (k < LIKE && strncmp(name, like[k].prefix, 2) != 0)
            k++;
        if (k < LIKE)
            n[k]++;
        else
            put_tensor(b, &tensors->items[i]);
    }
    for (int k = 0; k < LIKE; k++)
        if (n[k] > 0)
            tf_buf_printf(b, "  %s* %zu %s\n", like[k].prefix, n[k], like[k].label);
}

static void put_text(struct tf_buf *b, const struct tf_value *info)
{
    for (size_t i = 0; i < info->n; i++)
        if (info->items[i].kind != TF_MAP && info->items[i].kind != TF_ARRAY)
            put_row(b, 0, info->keys[i], &info->items[i]);
    for (size_t i = 0; i < info->n; i++)
        if (info->items[i].kind == TF_MAP)
            put_map(b, 0, info->keys[i], &info->items[i]);
    const struct tf_value *tensors = tf_value_get(info, "tensors");
    if (tensors != NULL)
        put_tensors(b, tensors);
    put_made(b, tf_value_get(info, "made"));
}

/* ---- values as JSON ---- */

static void put_json(struct tf_json *j, const struct tf_value *v)
{
    char *hex;
    switch (v->kind) {
    case TF_NULL: tf_json_null(j); break;
    case TF_BOOL: tf_json_bool(j, v->boolean); break;
    case TF_INT: tf_json_int(j, v->integer); break;
    case TF_REAL: tf_json_real(j, v->real); break;
    case TF_TEXT: tf_json_strn(j, v->text, v->n); break;
    case TF_BYTES:
        hex = tf_xmalloc(2 * v->n + 1);
        tf_json_str(j, tf_hex(hex, (const uint8_t *)v->text, v->n));
        free(hex);
        break;
    case TF_ARRAY:
        tf_json_open(j, '[');
        for (size_t i = 0; i < v->n; i++)
            put_json(j, &v->items[i]);
        tf_json_close(j, ']');
        break;
    case TF_MAP:
        tf_json_open(j, '{');
        for (size_t i = 0; i < v->n; i++) {
            tf_json_key(j, v->keys[i]);
            put_json(j, &v->items[i]);
        }
        tf_json_close(j, '}');
        break;
    }
}

static void put(struct tf_buf *out, const struct tf_value *info, bool json)
{
    if (!json) {
        put_text(out, info);
        return;
    }
    struct tf_json j = {.out = out};
    put_json(&j, info);
    tf_buf_byte(out, '\n');
}

/* ---- a file as a tree ---- */

/* What a file may name as it likes, beside what is said here of it: a key that means something here
 * goes into a map of its own, so that no file can be taken for what it is not. */
static void add_foreign(struct tf_arena *a, struct tf_value *info, const char *title,
                        const struct tf_value *map)
{
    static const char *const ours[] = {"file",        "kind",       "vocab_size",   "vocab",
                                       "model",       "special",    "config",       "made",
                                       "vocab_bytes", "parameters", "tensor_bytes", "tensors",
                                       "header",      "state"};
    struct tf_value apart = tf_value_map();
    for (size_t i = 0; map->kind == TF_MAP && i < map->n; i++) {
        bool taken = false;
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
            taken = taken || strcmp(map->keys[i], ours[k]) == 0;
        tf_value_put(a, taken ? &apart : info, map->keys[i], map->items[i]);
    }
    if (apart.n > 0)
        tf_value_put(a, info, title, apart);
}

static void add_header(struct tf_arena *a, struct tf_value *info, const struct tf_header *h)
{
    static const char *const names[] = {"pad", "unk", "bos", "eos"};
    const int64_t ids[] = {h->special.pad, h->special.unk, h->special.bos, h->special.eos};
    struct tf_value special = tf_value_map();
    tf_value_put(a, info, "kind", tf_value_str(a, h->kind));
    if (h->size > 0)
        tf_value_put(a, info, "vocab_size", tf_value_int(h->size));
    if (h->has_vocab)
        tf_value_put(a, info, "vocab", tf_value_bytes(a, h->vocab, 32));
    if (h->has_model)
        tf_value_put(a, info, "model", tf_value_bytes(a, h->model, 32));
    for (int i = 0; i < 4; i++)
        if (ids[i] >= 0)
            tf_value_put(a, &special, names[i], tf_value_int(ids[i]));
    if (special.n > 0)
        tf_value_put(a, info, "special", special);
    if (h->config.kind == TF_MAP && h->config.n > 0)
        tf_value_put(a, info, "config", h->config);
    if (h->made.kind == TF_ARRAY && h->made.n > 0)
        tf_value_put(a, info, "made", h->made);
    add_foreign(a, info, "header", &h->extra);
}

static void add_tensors(struct tf_arena *a, struct tf_value *info, const struct tf_model_file *m)
{
    struct tf_value list = tf_value_array();
    uint64_t parameters = 0, bytes = 0;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct tf_tensor *t = &m->tensors[i];
        uint64_t elements = t->bytes / tf_dtype_size(t->dtype);
        struct tf_value v = tf_value_map(), dims = tf_value_array();
        for (int k = 0; k < t->rank; k++)
            tf_value_push(a, &dims, tf_value_int((int64_t)t->dims[k]));
        tf_value_put(a, &v, "name", tf_value_str(a, t->name));
        tf_value_put(a, &v, "dtype", tf_value_str(a, tf_dtype_name(t->dtype)));
        tf_value_put(a, &v, "dims", dims);
        tf_value_put(a, &v, "elements", tf_value_int((int64_t)elements));
        tf_value_put(a, &v, "crc32c", tf_value_int(t->crc));
        tf_value_push(a, &list, v);
        parameters += strncmp(t->name, "p/", 2) == 0 ? elements : 0;
        bytes += t->bytes;
    }
    tf_value_put(a, info, "parameters", tf_value_int((int64_t)parameters));
    tf_value_put(a, info, "tensor_bytes", tf_value_int((int64_t)bytes));
    tf_value_put(a, info, "tensors", list);
}

static int model_info(struct tf_buf *out, struct tf_in *in, bool json, struct tf_err *err)
{
    struct tf_model_file m;
    struct tf_arena a = {0};
    struct tf_value info = tf_value_map();
    if (tf_model_read_in(&m, in, TF_MODEL_ALLOW_NAN, 0, err) != 0)
        return -1;
    tf_value_put(&a, &info, "file", tf_value_str(&a, in->name));
    add_header(&a, &info, &m.header);
    tf_value_put(&a, &info, "vocab_bytes", tf_value_int((int64_t)m.vocab_n));
    add_foreign(&a, &info, "state", &m.state);
    add_tensors(&a, &info, &m);
    put(out, &info, json);
    tf_arena_release(&a);
    tf_model_release(&m);
    return 0;
}

static int stream_info(struct tf_buf *out, struct tf_in *in, const struct tf_header *h, bool json)
{
    struct tf_arena a = {0};
    struct tf_value info = tf_value_map();
    tf_value_put(&a, &info, "file", tf_value_str(&a, in->name));
    add_header(&a, &info, h);
    put(out, &info, json);
    tf_arena_release(&a);
    return 0;
}

/* The header is read from a copy of the first bytes, so that the input still stands at its
 * beginning. */
int tf_info(struct tf_buf *out, struct tf_in *in, bool json, struct tf_err *err)
{
    for (size_t need = 64 << 10;; need *= 8) {
        ssize_t got = tf_in_fill(in, need, err);
        if (got < 0)
            return -1;
        struct tf_in copy = {.fd = -1,
                             .name = in->name,
                             .buf = tf_xmalloc((size_t)got + 1),
                             .len = (size_t)got,
                             .cap = (size_t)got + 1,
                             .size = -1,
                             .eof = true};
        memcpy(copy.buf, in->buf + in->pos, (size_t)got);
        struct tf_reader *r = NULL;
        struct tf_err e = {0};
        int rc = tf_reader_new(&r, &copy, NULL, TF_READ_TENSORS, &e);
        if (rc == 0) {
            const struct tf_header *h = tf_reader_header(r);
            rc = tf_kind_is_model(h->kind) ? model_info(out, in, json, err)
                                           : stream_info(out, in, h, json);
            tf_reader_free(r);
            free(copy.buf);
            return rc;
        }
        free(copy.buf);
        if ((size_t)got < need || need >= TF_MAX_RECORD * 2) {
            *err = e;
            return -1;
        }
    }
}

/* ---- this machine ---- */

static struct tf_value backend_info(struct tf_arena *a, const char *name)
{
    struct tf_err why = {0}, err = {0};
    const struct tf_backend *be = tf_backend_find(name, NULL, TF_USE_TRAINING, &why, &err);
    const struct tf_open o = {.threads = tf_threads_default()};
    struct tf_ctx *c = be != NULL ? be->open(&o, &err) : NULL;
    if (c == NULL) {
        struct tf_buf text = {0};
        tf_buf_printf(&text, "not usable: %s", err.msg);
        struct tf_value v = tf_value_str(a, text.p);
        tf_buf_release(&text);
        return v;
    }
    struct tf_value v = tf_value_str(a, be->describe(c));
    be->close(c);
    return v;
}

void tf_info_devices(struct tf_buf *out, bool json)
{
    static const char *const names[] = {"cpu", "cuda", "ref", "ref64"};
    struct tf_arena a = {0};
    struct tf_value info = tf_value_map(), backends = tf_value_map();
    tf_value_put(&a, &info, "version", tf_value_str(&a, tf_version));
    tf_value_put(&a, &info, "threads", tf_value_int(tf_threads_default()));
    tf_value_put(&a, &info, "libcbor", tf_value_str(&a, tf_cbor_library()));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tf_value_put(&a, &backends, names[i], backend_info(&a, names[i]));
    tf_value_put(&a, &info, "backends", backends);
    put(out, &info, json);
    tf_arena_release(&a);
}
