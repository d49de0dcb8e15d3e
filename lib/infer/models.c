/* models.c - model files into weights on a device, and what they say of themselves for the streams
 * made with them. */
#include "infer/models.h"
#include "base/hash.h"
#include "model/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int load(struct tf_model_set *s, size_t i, const char *path, bool pack, bool force_vocab,
                struct tf_err *err)
{
    struct tf_model_file m = {0};
    struct tf_config c;
    float *flat = NULL;
    if (tf_model_read(&m, path, TF_MODEL_WEIGHTS, 0, err) < 0)
        return -1;
    int rc = tf_model_load(&m, &c, &flat, "p/", err);
    if (rc < 0)
        tf_context(err, "%s", path);
    if (rc == 0 && i > 0) {
        const struct tf_config *first = &s->v[0].config;
        if (!force_vocab)
            rc = tf_same_vocab(&s->header, s->name, &m.header, path, err);
        if (rc == 0 && (c.vocab_size != first->vocab_size || c.eos != first->eos))
            rc = tf_fail(err,
                         "%s: %lld ids, of which %lld ends a sentence, but %s has %lld and %lld",
                         path, (long long)c.vocab_size, (long long)c.eos, s->name,
                         (long long)first->vocab_size, (long long)first->eos);
    }
    if (rc == 0) {
        char role[32] = "model";
        if (i > 0)
            snprintf(role, sizeof role, "model%zu", i + 1);
        tf_value_put(&s->arena, &s->inputs, tf_arena_strndup(&s->arena, role, strlen(role)),
                     tf_value_bytes(&s->arena, m.header.model, 32));
        if (i == 0) {
            struct tf_header *h = &s->header;
            *h = m.header;
            h->kind = "model";
            h->made = tf_value_clone(&s->arena, &m.header.made);
            h->config = tf_value_null();
            h->extra = tf_value_null();
            s->name = tf_xstrdup(strcmp(path, "-") == 0 ? "stdin" : path);
            if (m.vocab != NULL) {
                s->vocab_n = m.vocab_n;
                s->vocab = tf_arena_alloc(&s->arena, m.vocab_n);
                memcpy(s->vocab, m.vocab, m.vocab_n);
            }
        }
        memcpy(s->fingerprint, m.header.model, 32);
    }
    tf_model_release(&m); /* before the second copy of the weights is laid out */
    if (rc == 0)
        rc = tf_weights_init(&s->v[i], s->be, s->ctx, &c, flat, err);
    if (rc == 0)
        s->n++;
    free(flat);
    return rc == 0 && pack ? tf_weights_pack(&s->v[i], err) : rc;
}

int tf_models_open(struct tf_model_set *s, const struct tf_strs *paths, const char *device,
                   const char *precision, int threads, enum tf_use use, bool force_vocab,
                   struct tf_err *err)
{
    *s = (struct tf_model_set){.inputs = tf_value_map()};
    s->be = tf_backend_find(device, precision, use, &s->no_gpu, err);
    struct tf_ctx_opts open = {.threads = threads};
    if (s->be == NULL || (s->ctx = s->be->open(&open, err)) == NULL)
        return -1;
    s->v = tf_xcalloc(paths->n, sizeof *s->v);
    struct tf_sha256 sha;
    tf_sha256_init(&sha);
    for (size_t i = 0; i < paths->n; i++) {
        if (load(s, i, paths->v[i], use == TF_USE_DECODING, force_vocab, err) < 0) {
            tf_models_close(s);
            return -1;
        }
        tf_sha256_add(&sha, s->fingerprint, sizeof s->fingerprint);
    }
    if (paths->n > 1)
        tf_sha256_end(&sha, s->fingerprint);
    return 0;
}

void tf_models_close(struct tf_model_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        tf_weights_release(&s->v[i]);
    free(s->v);
    free(s->name);
    if (s->ctx != NULL)
        s->be->close(s->ctx);
    tf_arena_release(&s->arena);
    *s = (struct tf_model_set){0};
}

int tf_models_lanes(const struct tf_model_set *s, int threads)
{
    return s->be->threads && threads > 1 ? threads : 1;
}

static size_t sentences(const struct tf_model_set *s, int64_t asked, size_t host, size_t device)
{
    return asked > 0 ? (size_t)asked : s->be->free_memory(s->ctx) > 0 ? device : host;
}

size_t tf_models_batch(const struct tf_model_set *s, int64_t asked)
{
    return sentences(s, asked, 64, 4096);
}

size_t tf_models_window(const struct tf_model_set *s, int64_t asked)
{
    return sentences(s, asked, 2048, 16384);
}

int tf_models_fit(const struct tf_model_set *s, const struct tf_header *h, const char *name,
                  bool force_vocab, struct tf_err *err)
{
    long long size = (long long)s->v[0].config.vocab_size;
    if (!force_vocab && tf_same_vocab(&s->header, s->name, h, name, err) < 0)
        return -1;
    if (h->size > size)
        return tf_fail(err, "%s: a vocabulary of %lld, but %s has %lld", name, (long long)h->size,
                       s->name, size);
    return 0;
}

struct tf_header tf_models_header(struct tf_model_set *s, struct tf_arena *a,
                                  const struct tf_header *const from[2], const char *kind,
                                  const struct tf_opt *opts)
{
    struct tf_header h = {.kind = kind,
                          .version = 1,
                          .has_vocab = s->header.has_vocab,
                          .has_model = true,
                          .size = s->header.size,
                          .special = s->header.special};
    memcpy(h.vocab, s->header.vocab, sizeof h.vocab);
    memcpy(h.model, s->fingerprint, sizeof h.model);
    if (h.size == 0)
        h.size = s->v[0].config.vocab_size;
    h.made = tf_value_clone(a, &from[0]->made);
    if (from[1] != NULL && !tf_value_equal(&from[0]->made, &from[1]->made))
        for (size_t i = 0; i < from[1]->made.n; i++)
            tf_value_push(a, &h.made, tf_value_clone(a, &from[1]->made.items[i]));
    h.config = tf_value_map();
    h.extra = tf_value_map();
    tf_header_made(&h, a, tf_progname, opts, &s->inputs);
    if (strcmp(s->be->precision, "fp32") != 0) /* other numbers, and so other bytes */
        tf_value_put(a, &h.made.items[h.made.n - 1], "precision",
                     tf_value_str(a, s->be->precision));
    return h;
}

int tf_models_positions(struct tf_model_set *s, size_t n, struct tf_err *err)
{
    for (size_t i = 0; i < s->n; i++)
        if (tf_weights_positions(&s->v[i], n, err) < 0)
            return -1;
    return 0;
}

void tf_models_told(const struct tf_model_set *s, const struct tf_progress *p)
{
    if (p->on)
        tf_backend_note(&s->no_gpu);
}

size_t tf_models_reach(const struct tf_model_set *s)
{
    size_t reach = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].config.positions == TF_POS_LEARNED &&
            (size_t)s->v[i].config.max_positions < reach)
            reach = (size_t)s->v[i].config.max_positions;
    return reach;
}
