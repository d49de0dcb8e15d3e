/* vocab_file.c - see vocab_file.h. */
#include "text/vocab_file.h"
#include "base/gunzip.h"
#include "base/log.h"
#include "base/memory.h"
#include "stream/model.h"
#include "stream/recognise.h"
#include "text/sp_check.h"
#include "text/sp_piece.h"
#include "text/tags.h"

#include <stdlib.h>
#include <string.h>

/* Copy the vocabulary of a model of tf-train, and its segmenter of targets, if it has one. */
static int from_model(char **bytes, size_t *n, struct tf_buf *target, struct tf_in *in, bool head,
                      struct tf_err *err)
{
    struct tf_model_file m;
    /* All of it, though the vocabulary comes first: a damaged model is not used, nor is its
     * vocabulary alone, and the writer of a pipe gets no SIGPIPE. */
    const unsigned flags = head ? TF_MODEL_HEAD : TF_MODEL_CHECK | TF_MODEL_ALLOW_NAN;
    if (tf_model_read_in(&m, in, flags, UINT64_MAX, err) < 0)
        return -1;
    int rc = 0;
    if (m.vocab == NULL) {
        rc = tf_fail(err,
                     "%s: carries no vocabulary (use the SentencePiece model that it was trained "
                     "with)",
                     in->name);
    } else {
        const struct tf_value *own = tf_value_find(&m.state, "vocab_target", TF_BYTES);
        *n = m.vocab_n;
        *bytes = tf_xmalloc(*n + 1);
        memcpy(*bytes, m.vocab, *n);
        (*bytes)[*n] = 0;
        if (target != NULL && own != NULL)
            tf_buf_add(target, own->text, own->n);
    }
    tf_model_release(&m);
    return rc;
}

int tf_vocab_file_read(char **bytes, size_t *n, struct tf_buf *target, const char *path, bool head,
                       struct tf_err *err)
{
    struct tf_in in;
    *bytes = NULL;
    *n = 0;
    if (tf_model_open(&in, path, err) != 0)
        return -1;
    int rc = tf_in_unpack(&in, err);
    ssize_t have = rc == 0 ? tf_in_fill(&in, TF_LABEL_N, err) : -1;
    if (have < 0)
        rc = -1;
    else if (have >= TF_LABEL_N && tf_label_begins(in.buf + in.pos, (size_t)have))
        rc = from_model(bytes, n, target, &in, head, err);
    else if ((rc = tf_in_all(&in, bytes, n, TF_MAX_VOCAB, err)) == 0 && *n == 0)
        rc = tf_fail(err, "%s: not a vocabulary: empty", in.name);
    tf_in_close(&in);
    if (rc != 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return rc;
}

int tf_vocab_file_check(const char *bytes, size_t n, struct tf_err *err)
{
    struct tf_recognised found;
    if (tf_sp_check(bytes, n, err) == 0)
        return 0;
    /* The parser knows better what is wrong with what begins like a SentencePiece model. */
    if (tf_recognise(&found, bytes, n < 64 ? n : 64) && !found.is_vocab)
        tf_fail(err, "%s, not a vocabulary: not a SentencePiece model or a model of tf-train",
                found.name);
    return -1;
}

int tf_vocab_file_fits(const void *bytes, size_t n, const char *name, int64_t size, bool few,
                       const struct tf_special *special, struct tf_err *err)
{
    enum { PADDING = 128 }; /* most embeddings that a program adds to make their number round */
    const struct {
        const char *piece;
        int64_t id;
    } want[] = {{"<unk>", special->unk},
                {"<pad>", special->pad},
                {"<s>", special->bos},
                {"</s>", special->eos}};
    struct tf_arena a = {0};
    const char *const *pieces;
    size_t n_pieces = 0;
    int rc = 0;
    if (n == 0)
        rc = tf_fail(err, "%s: vocabulary: empty", name);
    else if (tf_sp_texts(&a, bytes, n, &pieces, &n_pieces, err) != 0)
        rc = tf_context(err, "%s: vocabulary", name);
    else if (n_pieces > (uint64_t)size)
        rc = tf_fail(err, "%s: a vocabulary of %zu pieces for a model of %lld", name, n_pieces,
                     (long long)size);
    else if (few && n_pieces + PADDING <= (uint64_t)size)
        tf_warn("%s: a vocabulary of %zu pieces for a model of %lld: is it the model's own?", name,
                n_pieces, (long long)size);
    for (size_t id = 0; id < n_pieces && rc == 0; id++)
        for (size_t i = 0; pieces[id] != NULL && i < sizeof want / sizeof *want && rc == 0; i++)
            if (want[i].id >= 0 && (uint64_t)want[i].id != id &&
                strcmp(pieces[id], want[i].piece) == 0)
                rc = tf_fail(err, "%s: vocabulary: %s is %zu, and %lld in the configuration", name,
                             pieces[id], id, (long long)want[i].id);
    tf_arena_release(&a);
    return rc;
}

static int fail_begin(const struct tf_begin *b, const char *text, struct tf_err *err)
{
    struct tf_tags tags;
    struct tf_buf more = {0};
    tf_tags_read(&tags, b->vocab, b->n);
    tf_tags_suggest(&more, &tags, text);
    tf_fail_status(err, TF_USAGE, "--begin %s: no piece of %s%s", text, b->of,
                   more.len > 0 ? more.p : "");
    tf_buf_release(&more);
    tf_tags_release(&tags);
    return -1;
}

int tf_begin_find(const struct tf_begin *b, const char *text, uint32_t *id, struct tf_err *err)
{
    struct tf_buf after_space = {0};
    tf_buf_str(&after_space, TF_SPACE);
    tf_buf_add(&after_space, text, strlen(text) + 1);
    int64_t found = tf_sp_id(b->vocab, b->n, text);
    if (found < 0)
        found = tf_sp_id(b->vocab, b->n, after_space.p);
    tf_buf_release(&after_space);
    if (found < 0 || found >= b->ids)
        return fail_begin(b, text, err);
    for (size_t i = 0; i < sizeof b->added / sizeof *b->added; i++)
        if (found == b->added[i])
            return tf_fail_status(err, TF_USAGE, "--begin %s: never part of a text", text);
    *id = (uint32_t)found;
    return 0;
}
