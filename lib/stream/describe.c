/* describe.c - a file or this machine as a tree of values, written as text or as JSON. */
#include "stream/describe.h"

#include "base/cpus.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/version.h"
#include "cbor/encode.h"
#include "cbor/json.h"
#include "ops/backend.h"
#include "ops/cpu/openblas.h"
#include "ops/registry.h"
#include "stream/model.h"
#include "stream/recognise.h"

#include <stdlib.h>
#include <string.h>

/* ---- output ---- */

static void put_info(struct tf_buf *out, const struct tf_value *info, bool json)
{
    if (!json) {
        tf_describe_text(out, info);
        return;
    }
    struct tf_json j = {.out = out};
    tf_value_to_json(&j, info, TF_JSON_PLAIN);
    tf_buf_byte(out, '\n');
}

/* ---- a file ---- */

/* Add the keys of `map`, which the file chose. A key that info has, or that this program uses for
 * something else, goes into a map named `title`, so that a file cannot imitate the description of
 * another. */
static void add_foreign(struct tf_arena *a, struct tf_value *info, const char *title,
                        const struct tf_value *map)
{
    static const char *const used[] = {"file",         "kind",        "vocab_size",  "vocab",
                                       "model",        "special",     "config",      "made",
                                       "search",       "tags",        "lang",        "target_lang",
                                       "source_size",  "converts_to", "vocab_bytes", "parameters",
                                       "added_tokens",
                                       "tensor_bytes", "tensors",     "header",      "state"};
    struct tf_value apart = tf_value_map();
    for (size_t i = 0; map->kind == TF_MAP && i < map->n; i++) {
        bool taken = tf_value_get(info, map->keys[i]) != NULL;
        for (size_t k = 0; k < sizeof used / sizeof *used; k++)
            taken = taken || strcmp(map->keys[i], used[k]) == 0;
        tf_value_put(a, taken ? &apart : info, map->keys[i], map->items[i]);
    }
    if (apart.n > 0)
        tf_value_put(a, info, title, apart);
}

static void add_header(struct tf_arena *a, struct tf_value *info, const struct tf_header *h)
{
    const struct tf_value *self = tf_value_find(&h->config, "decoder_self", TF_TEXT);
    tf_header_put(info, a, "vocab_size", h);
    if (tf_kind_is_model(h->kind) && self != NULL &&
        strcmp(self->text, "ssru") == 0) /* a recurrent decoder, which no other program has */
        tf_value_put(a, info, "converts_to", tf_value_str(a, "marian"));
}

static void add_tensors(struct tf_arena *a, struct tf_value *info, const struct tf_model_file *m)
{
    struct tf_value list = tf_value_array();
    uint64_t parameters = 0, bytes = 0;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct tf_tensor *t = &m->tensors[i];
        uint64_t elements = t->bytes / tf_dtype_size(t->dtype);
        struct tf_value v, dims = tf_value_array();
        for (int k = 0; k < t->rank; k++)
            tf_value_push(a, &dims, tf_value_int((int64_t)t->dims[k]));
        struct tf_value_pair pairs[] = {
            {"name", tf_value_str(a, t->name)},
            {"dtype", tf_value_str(a, tf_dtype_name(t->dtype))},
            {"dims", dims},
            {"elements", tf_value_int((int64_t)elements)},
            {"crc32c", tf_value_int(t->crc)},
        };
        (void)tf_value_from_pairs(a, &v, pairs, sizeof pairs / sizeof *pairs);
        tf_value_push(a, &list, v);
        parameters += strncmp(t->name, "p/", 2) == 0 ? elements : 0;
        bytes += t->bytes;
    }
    tf_value_put(a, info, "parameters", tf_value_int((int64_t)parameters));
    tf_value_put(a, info, "tensor_bytes", tf_value_int((int64_t)bytes));
    tf_value_put(a, info, "tensors", list);
}

/* States that are files of their own, by their hash, as `vocab`. */
static struct tf_value short_states(struct tf_arena *a, const struct tf_value *state)
{
    struct tf_value all = tf_value_map();
    for (size_t i = 0; i < state->n; i++) {
        const struct tf_value *v = &state->items[i];
        uint8_t hash[32];
        const bool is_file = v->kind == TF_BYTES && (strcmp(state->keys[i], "vocab_target") == 0 ||
                                                     strcmp(state->keys[i], "shortlist") == 0);
        if (is_file)
            tf_sha256_of(hash, v->text, v->n);
        tf_value_put(a, &all, state->keys[i], is_file ? tf_value_bytes(a, hash, sizeof hash) : *v);
    }
    return all;
}

static int describe_model(struct tf_buf *out, const struct tf_in *in, struct tf_reader *r,
                          bool json, tf_describe_vocab_fn *vocab, struct tf_err *err)
{
    struct tf_model_file m;
    struct tf_arena a = {0};
    struct tf_value info = tf_value_map();
    if (tf_model_read_part(&m, r, in, TF_MODEL_CHECK | TF_MODEL_ALLOW_NAN, 0, NULL, err) != 0)
        return -1;
    tf_value_put(&a, &info, "file", tf_value_str(&a, in->name));
    add_header(&a, &info, &m.header);
    tf_value_put(&a, &info, "vocab_bytes", tf_value_int((int64_t)m.vocab_n));
    if (m.vocab != NULL)
        vocab(&a, &info, m.vocab, m.vocab_n);
    const struct tf_value state = short_states(&a, &m.state);
    add_foreign(&a, &info, "state", &state);
    add_foreign(&a, &info, "header", &m.header.extra);
    add_tensors(&a, &info, &m);
    if (m.not_finite != NULL)
        tf_warn("%s: tensor %s: contains values that are not finite", in->name, m.not_finite);
    put_info(out, &info, json);
    tf_arena_release(&a);
    tf_model_release(&m);
    return 0;
}

static void describe_stream(struct tf_buf *out, const char *name, const struct tf_header *h,
                            bool json)
{
    struct tf_arena a = {0};
    struct tf_value info = tf_value_map();
    tf_value_put(&a, &info, "file", tf_value_str(&a, name));
    add_header(&a, &info, h);
    add_foreign(&a, &info, "header", &h->extra);
    put_info(out, &info, json);
    tf_arena_release(&a);
}

static bool is_vocab(struct tf_in *in)
{
    struct tf_recognised found;
    struct tf_err quiet = {0};
    if (tf_in_refuse_terminal(in, "", &quiet) != 0) /* the reader says so */
        return false;
    ssize_t n = tf_in_fill(in, 64, &quiet);
    return n > 0 && tf_recognise(&found, in->buf + in->pos, (size_t)n) && found.is_vocab;
}

/* A vocabulary, by the hash that streams and models have. */
static int describe_vocab(struct tf_buf *out, struct tf_in *in, bool json,
                          tf_describe_vocab_fn *vocab, struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_value info = tf_value_map();
    uint8_t hash[32];
    char *bytes;
    size_t n;
    if (tf_in_all(in, &bytes, &n, TF_MAX_VOCAB, err) != 0)
        return -1;
    tf_sha256_of(hash, bytes, n);
    tf_value_put(&a, &info, "file", tf_value_str(&a, in->name));
    tf_value_put(&a, &info, "kind", tf_value_str(&a, "vocabulary"));
    tf_value_put(&a, &info, "vocab", tf_value_bytes(&a, hash, sizeof hash));
    tf_value_put(&a, &info, "vocab_bytes", tf_value_int((int64_t)n));
    vocab(&a, &info, bytes, n);
    free(bytes);
    put_info(out, &info, json);
    tf_arena_release(&a);
    return 0;
}

int tf_describe_file(struct tf_buf *out, struct tf_in *in, bool json, tf_describe_vocab_fn *vocab,
                     struct tf_err *err)
{
    struct tf_reader *r;
    int rc = 0;
    if (is_vocab(in))
        return describe_vocab(out, in, json, vocab, err);
    if (tf_reader_new(&r, in, NULL, TF_READ_MODEL, err) != 0)
        return -1;
    const struct tf_header *h = tf_reader_header(r);
    if (tf_kind_is_model(h->kind))
        rc = describe_model(out, in, r, json, vocab, err);
    else
        describe_stream(out, in->name, h, json);
    tf_reader_free(r);
    return rc;
}

/* ---- this machine ---- */

static struct tf_value describe_backend(struct tf_arena *a, const char *name)
{
    struct tf_err why = {0}, err = {0};
    const struct tf_backend *be = tf_backend_find(name, NULL, TF_USE_TRAINING, &why, &err);
    const struct tf_ctx_opts o = {.threads = tf_threads_default()};
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

void tf_describe_machine(struct tf_buf *out, bool json)
{
    static const char *const names[] = {"cpu", "cuda", "ref", "ref64"};
    struct tf_arena a = {0};
    struct tf_value info = tf_value_map(), backends = tf_value_map();
    tf_value_put(&a, &info, "version", tf_value_str(&a, tf_build));
    tf_value_put(&a, &info, "threads", tf_value_int(tf_threads_default()));
    tf_value_put(&a, &info, "libcbor", tf_value_str(&a, tf_cbor_library()));
    struct tf_err err = {0};
    tf_value_put(&a, &info, "openblas",
                 tf_value_str(&a, tf_openblas_load(&err) == 0 ? tf_openblas_about() : err.msg));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tf_value_put(&a, &backends, names[i], describe_backend(&a, names[i]));
    tf_value_put(&a, &info, "backends", backends);
    put_info(out, &info, json);
    tf_arena_release(&a);
}
