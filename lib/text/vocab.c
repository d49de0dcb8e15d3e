/* vocab.c - see vocab.h. */
#include "text/vocab.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sandbox.h"
#include "text/segment_private.h"
#include "text/vocab_file.h"

#include <stdlib.h>
#include <string.h>

int tf_vocab_read(struct tf_vocab *v, const char *path, bool target, bool head, struct tf_err *err)
{
    struct tf_buf own = {0};
    *v = (struct tf_vocab){0};
    int rc = tf_vocab_file_read(&v->bytes, &v->n, target ? &own : NULL, path, head, err);
    if (rc == 0) {
        tf_sha256_of(v->hash, v->bytes, v->n);
        if (own.len > 0) {
            v->source = tf_xcalloc(1, sizeof *v->source);
            v->source->bytes = v->bytes;
            v->source->n = v->n;
            memcpy(v->source->hash, v->hash, sizeof v->hash);
            v->n = own.len;
            v->bytes = own.p;
            own = (struct tf_buf){0};
        }
        if (tf_vocab_file_check(v->bytes, v->n, err) != 0 ||
            (v->source != NULL && tf_vocab_file_check(v->source->bytes, v->source->n, err) != 0))
            rc = tf_context(err, "%s", path);
    }
    tf_buf_release(&own);
    if (rc != 0)
        tf_vocab_release(v);
    return rc;
}

/* Of a unigram vocabulary the library makes a trie, as our own segmenter does: for that, or if
 * nothing is segmented, it makes none. */
static int load(struct tf_vocab *v, enum tf_vocab_use use, struct tf_err *err)
{
    int rc = use == TF_VOCAB_SAMPLES ? tf_sp_load(&v->sp, v->bytes, v->n, err)
                                     : tf_sp_load_pieces(&v->sp, v->bytes, v->n, err);
    if (rc == 0)
        rc = tf_bpe_load(&v->bpe, v->bytes, v->n, v->sp, err);
    if (rc != 0 || use != TF_VOCAB_ENCODES)
        return rc;
    if (v->bpe == NULL)
        v->segmenter = tf_segmenter_new(v->sp, v->bytes, v->n);
    if (v->segmenter != NULL)
        return 0;
    tf_bpe_free(v->bpe);
    tf_sp_free(v->sp);
    v->bpe = NULL;
    v->sp = NULL;
    return load(v, TF_VOCAB_SAMPLES, err);
}

int tf_vocab_parse(struct tf_vocab *v, enum tf_vocab_use use, const char *path, struct tf_err *err)
{
    /* Many times what the largest vocabularies need, on slow machines, too. */
    const double seconds = 0.2 + 5e-6 * (double)v->n;
    struct tf_err slow = {0};
    tf_fail(&slow, "%s: SentencePiece model that takes more than %.1f s of CPU to load", path,
            seconds);
    tf_sandbox_limit(seconds, (256 << 20) + 64 * v->n, slow.msg);
    const int rc = load(v, use, err);
    tf_sandbox_unlimit();
    if (rc == 0)
        return 0;
    tf_vocab_release(v);
    return tf_context(err, "%s", path);
}

void tf_vocab_release(struct tf_vocab *v)
{
    if (v->source != NULL)
        tf_vocab_release(v->source);
    free(v->source);
    tf_segmenter_free(v->segmenter);
    tf_bpe_free(v->bpe);
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
    struct tf_buf line = {0};
    int rc = 0;
    for (uint32_t id = 0; rc == 0 && id < (uint64_t)tf_sp_size(v->sp); id++) {
        size_t n;
        const char *piece = tf_sp_piece(v->sp, id, &n);
        tf_buf_clear(&line);
        tf_buf_escaped(&line, piece, n);
        tf_buf_printf(&line, "\t%g\n", (double)tf_sp_score(v->sp, id));
        rc = tf_out_write(out, line.p, line.len, err);
    }
    tf_buf_release(&line);
    return rc;
}
