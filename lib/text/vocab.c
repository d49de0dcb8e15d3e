/* vocab.c - see vocab.h. */
#include "text/vocab.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "text/sp_check.h"
#include "stream/model.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char label[] = {0xd9, 0xd9, 0xf8, 0xda,
                                      0x54, 0x46, 0x53, 0x54}; /* tag 55800, tag 'TFST' */

/* Copy the vocabulary out of a model of ours. */
static int from_model(struct tf_vocab *v, struct tf_in *in, struct tf_err *err)
{
    struct tf_model_file m;
    if (tf_model_read_in(&m, in, TF_MODEL_HEAD, 0, err) < 0)
        return -1;
    int rc = 0;
    if (m.vocab == NULL) {
        rc = tf_fail(err, "%s: carries no vocabulary", in->name);
    } else {
        v->n = m.vocab_n;
        v->bytes = tf_xmalloc(v->n + 1);
        memcpy(v->bytes, m.vocab, v->n);
    }
    tf_model_release(&m);
    /* A pipe is read to its end, so that its writer gets no SIGPIPE. */
    ssize_t n = 0;
    while (rc == 0 && in->size < 0 && (n = tf_in_fill(in, 1, err)) > 0)
        in->pos += (size_t)n;
    return n < 0 ? -1 : rc;
}

static int read_bytes(struct tf_vocab *v, const char *path, struct tf_err *err)
{
    struct tf_in in;
    if (tf_in_open(&in, path, err) < 0)
        return -1;
    int rc;
    ssize_t n = tf_in_fill(&in, sizeof label, err);
    if (n < 0)
        rc = -1;
    else if ((size_t)n >= sizeof label && memcmp(in.buf + in.pos, label, sizeof label) == 0)
        rc = from_model(v, &in, err);
    else if ((rc = tf_in_all(&in, &v->bytes, &v->n, TF_MAX_VOCAB, err)) == 0 && v->n == 0)
        rc = tf_fail(err, "%s: not a vocabulary: empty", in.name);
    tf_in_close(&in);
    return rc;
}

int tf_vocab_load(struct tf_vocab *v, const char *path, struct tf_err *err)
{
    *v = (struct tf_vocab){0};
    if (read_bytes(v, path, err) < 0 ||
        ((tf_sp_check(v->bytes, v->n, err) < 0 || tf_sp_load(&v->sp, v->bytes, v->n, err) < 0) &&
         tf_context(err, "%s", path))) {
        tf_vocab_release(v);
        return -1;
    }
    tf_sha256_of(v->hash, v->bytes, v->n);
    return 0;
}

void tf_vocab_release(struct tf_vocab *v)
{
    tf_sp_free(v->sp);
    free(v->bytes);
    *v = (struct tf_vocab){0};
}

void tf_vocab_header(const struct tf_vocab *v, struct tf_header *h)
{
    h->has_vocab = true;
    memcpy(h->vocab, v->hash, sizeof h->vocab);
    h->size = tf_sp_size(v->sp);
    h->special = (struct tf_special){.pad = tf_sp_pad(v->sp),
                                     .unk = tf_sp_unk(v->sp),
                                     .bos = tf_sp_bos(v->sp),
                                     .eos = tf_sp_eos(v->sp)};
}

int tf_vocab_export(const struct tf_vocab *v, struct tf_out *out, struct tf_err *err)
{
    for (uint32_t id = 0; id < (uint64_t)tf_sp_size(v->sp); id++) {
        size_t n;
        const char *piece = tf_sp_piece(v->sp, id, &n);
        if (tf_out_write(out, piece, n, err) < 0 ||
            tf_out_printf(out, err, "\t%g\n", (double)tf_sp_score(v->sp, id)) < 0)
            return -1;
    }
    return 0;
}

/* The next line that can be used. */
static int next_line(struct tf_training_text *l, const char **text, size_t *n, struct tf_err *err)
{
    for (;;) {
        if (!l->open) {
            if (l->at == l->n)
                return 0;
            if (tf_in_open(&l->in, l->paths[l->at++], err) < 0)
                return -1;
            l->open = true;
        }
        int rc = tf_in_line(&l->in, text, n, l->max, err);
        if (rc == 1 && l->crlf && *n > 0 && (*text)[*n - 1] == '\r')
            --*n;
        if (rc <= 0) {
            tf_in_close(&l->in);
            l->open = false;
            if (rc < 0)
                return -1;
        } else if (rc == 2) {
            l->too_long++;
        } else if (memchr(*text, 0, *n) != NULL) {
            l->with_nul++;
        } else if (tf_utf8_span(*text, *n) < *n) {
            l->bad_utf8++;
        } else if (*n > 0 && !(*n == 1 && **text == '\r')) {
            return 1;
        }
    }
}

/* A uniform sample of the lines (Vitter, "Random sampling with a reservoir", algorithm R). */
static int draw_sample(struct tf_training_text *l, struct tf_err *err)
{
    const char *text;
    size_t n, cap = 0;
    int rc;
    struct tf_rng rng = tf_rng_new(l->seed, 0);
    for (uint64_t i = 0; (rc = next_line(l, &text, &n, err)) > 0; i++) {
        size_t k = l->n_kept;
        if (k == l->sample) {
            uint64_t slot = tf_rng_below(&rng, i + 1);
            if (slot >= l->sample)
                continue;
            k = (size_t)slot;
            free(l->kept[k]);
        } else {
            if (k == cap) {
                cap = cap ? 2 * cap : 1024;
                l->kept = tf_xarray(l->kept, cap, sizeof *l->kept);
                l->kept_n = tf_xarray(l->kept_n, cap, sizeof *l->kept_n);
            }
            l->n_kept++;
        }
        l->kept[k] = tf_xstrndup(text, n);
        l->kept_n[k] = n;
    }
    l->sampled = true;
    return rc;
}

/* As tf_sp_train's next. */
static int next_sentence(void *lines, const char **text, size_t *n, struct tf_err *err)
{
    struct tf_training_text *l = lines;
    if (l->sample > 0 && !l->sampled && draw_sample(l, err) < 0)
        return -1;
    if (l->sample == 0)
        return next_line(l, text, n, err);
    if (l->next == l->n_kept)
        return 0;
    *text = l->kept[l->next];
    *n = l->kept_n[l->next++];
    return 1;
}

static void training_text_release(struct tf_training_text *l)
{
    if (l->open)
        tf_in_close(&l->in);
    for (size_t i = 0; i < l->n_kept; i++)
        free(l->kept[i]);
    free(l->kept);
    free(l->kept_n);
    *l = (struct tf_training_text){0};
}

static void say_left_out(const struct tf_training_text *l)
{
    if (l->bad_utf8 + l->with_nul + l->too_long > 0)
        tf_note("lines left out: %llu with invalid UTF-8, %llu with NUL, %llu over %zu bytes",
                (unsigned long long)l->bad_utf8, (unsigned long long)l->with_nul,
                (unsigned long long)l->too_long, l->max);
}

int tf_vocab_train(struct tf_sp_train *t, struct tf_training_text *text, struct tf_out *out,
                   struct tf_err *err)
{
    struct tf_sp *sp = NULL;
    struct tf_buf model = {0};
    t->next = next_sentence;
    t->arg = text;
    int rc = tf_sp_train(t, &model, err);
    if (rc == 0)
        rc = tf_sp_load(&sp, model.p, model.len, err);
    if (rc == 0)
        rc = tf_out_write(out, model.p, model.len, err);
    if (rc == 0 && tf_sp_size(sp) < t->size)
        tf_note("the text gave %lld pieces, fewer than the %lld asked for",
                (long long)tf_sp_size(sp), (long long)t->size);
    say_left_out(text);
    tf_sp_free(sp);
    tf_buf_release(&model);
    training_text_release(text);
    return rc;
}
