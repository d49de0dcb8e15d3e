/* vocab.c - see vocab.h. */
#include "text/vocab.h"
#include "base/hash.h"
#include "base/memory.h"
#include "stream/model.h"
#include "text/sp_check.h"

#include <stdlib.h>
#include <string.h>

/* Copy the vocabulary of a model of tf-train. */
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
    /* Read a pipe to its end, so that its writer gets no SIGPIPE. */
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
    ssize_t n = tf_in_fill(&in, TF_LABEL_N, err);
    if (n < 0)
        rc = -1;
    else if (n >= TF_LABEL_N && tf_label_begins(in.buf + in.pos, (size_t)n))
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
