/* segmenters.c - see segmenters_private.h. */
#include "convert/segmenters_private.h"
#include "base/hash.h"
#include "convert/hf_tokenizer_private.h"
#include "text/bpe_file.h"
#include "text/sp_check.h"
#include "text/sp_renumber.h"
#include "text/text_file.h"
#include "text/vocab_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- do they fit? ---- */

static int check_fit(const struct tf_import *m, int side, const char *name, int64_t size,
                     const struct tf_special *special, struct tf_err *err)
{
    const struct tf_buf *b = &m->segmenter[side];
    /* The hash of a model of ours says more. */
    return tf_vocab_file_fits(b->p, b->len, name, size, !m->header.has_vocab, special, err);
}

int tf_import_check_vocab(const struct tf_import *m, const char *name, const char *config_name,
                          struct tf_err *err)
{
    const struct tf_config *c = &m->config;
    const bool own_ids = c->source_vocab_size > 0;
    const struct tf_special target = {.pad = c->pad,
                                      .unk = m->header.special.unk,
                                      .bos = c->bos != c->eos && c->bos != c->pad ? c->bos : -1,
                                      .eos = c->eos},
                            source = {-1, -1, -1, c->source_eos ? c->eos : -1};
    struct tf_header given = {.has_vocab = true};
    tf_sha256_of(given.vocab, m->segmenter[0].p, m->segmenter[0].len);
    if (tf_same_vocab(&given, name, &m->header, config_name, err) != 0 ||
        check_fit(m, 0, name, tf_config_source_ids(c), own_ids ? &source : &target, err) != 0)
        return -1;
    if (!own_ids || m->segmenter[1].p == NULL)
        return 0;
    return check_fit(m, 1, m->files.vocab[1] != NULL ? m->files.vocab[1] : name, c->vocab_size,
                     &target, err);
}

/* ---- segmenters, and perhaps a list of ids for both ---- */

/* Are the pieces of a segmenter those of the list, in its order? */
static bool has_ids(struct tf_arena *a, const struct tf_buf *segmenter,
                    const struct tf_piece_list *list)
{
    const char *const *own, *const *theirs;
    size_t n;
    struct tf_err none;
    if (tf_sp_texts(a, segmenter->p, segmenter->len, &own, &n, &none) != 0 || n != list->n ||
        tf_sp_foreign_texts(a, segmenter->p, segmenter->len, &theirs, &n, &none) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (own[i] == NULL ||
            (strcmp(own[i], list->v[i]) != 0 && strcmp(theirs[i], list->v[i]) != 0))
            return false;
    return true;
}

static struct tf_sp_side side_of(const struct tf_import *m, int side)
{
    return (struct tf_sp_side){.target = side == 1, .begin = side == 1 ? m->begin : NULL};
}

/* The files that an error is about. */
static int name_files(const char *path, const char *pieces, struct tf_err *err)
{
    return path != NULL && pieces != NULL   ? tf_context(err, "%s, %s", path, pieces)
           : path != NULL || pieces != NULL ? tf_context(err, "%s", path != NULL ? path : pieces)
                                            : -1;
}

/* A segmenter of words, which codes may split, where there is no path. */
static int make_segmenter(struct tf_import *m, int side, const char *path, const char *pieces,
                          struct tf_err *err)
{
    const struct tf_piece_list *list = &m->pieces[side];
    const struct tf_bpe_codes *codes = m->codes.lines != NULL ? &m->codes : NULL;
    const struct tf_sp_side is = side_of(m, side);
    struct tf_buf *to = &m->segmenter[side];
    char *bytes;
    size_t n;
    if (path == NULL)
        return tf_sp_words(to, list->v, list->n, codes, &is, err) != 0
                   ? name_files(NULL, pieces, err)
                   : 0;
    if (tf_vocab_file_read(&bytes, &n, NULL, path, false, err) != 0)
        return -1;
    tf_buf_add(to, bytes, n);
    free(bytes);
    if (tf_vocab_file_check(to->p, to->len, err) != 0)
        return tf_context(err, "%s", path);
    if (list->n == 0 || (m->added == NULL && has_ids(m->arena, to, list)))
        return 0;
    struct tf_buf own = *to;
    *to = (struct tf_buf){0};
    const int rc = tf_sp_renumber(to, own.p, own.len, list, m->added, &is, err);
    tf_buf_release(&own);
    return rc != 0 ? name_files(path, pieces, err) : 0;
}

/* One where both are the same. */
static void drop_copy(struct tf_buf segmenter[2])
{
    if (segmenter[1].len == segmenter[0].len &&
        memcmp(segmenter[1].p, segmenter[0].p, segmenter[0].len) == 0)
        tf_buf_release(&segmenter[1]);
}

int tf_import_codes(struct tf_import *m, struct tf_err *err)
{
    return m->files.codes == NULL || m->files.vocab[0] != NULL
               ? 0
               : tf_bpe_file_read(&m->codes, m->arena, m->files.codes, false, err);
}

int tf_import_segmenters(struct tf_import *m, struct tf_err *err)
{
    const struct tf_model_files *f = &m->files;
    const bool one_list = m->pieces[0].v == m->pieces[1].v;
    if (make_segmenter(m, 0, f->vocab[0], f->pieces[0], err) != 0 ||
        make_segmenter(m, 1, f->vocab[1] != NULL ? f->vocab[1] : f->vocab[0], f->pieces[!one_list],
                       err) != 0)
        return -1;
    drop_copy(m->segmenter);
    return 0;
}

int tf_import_pad_pieces(struct tf_import *m, struct tf_err *err)
{
    const size_t size = (size_t)m->config.vocab_size;
    struct tf_piece_list *list = &m->pieces[0];
    if (list->n > size)
        return tf_fail(err, "%zu pieces, and %zu embeddings", list->n, size);
    const char **v = tf_arena_alloc(m->arena, (size + 1) * sizeof *v);
    for (size_t i = 0; i < size; i++)
        v[i] = i < list->n && list->v[i] != NULL ? list->v[i] : tf_piece_unused(m->arena, i);
    *list = (struct tf_piece_list){v, size};
    return 0;
}

static int use_tokenizer(struct tf_import *m, const struct tf_buf *spm, const uint8_t *flags,
                         struct tf_err *err)
{
    const size_t n = m->pieces[0].n;
    if (tf_import_pad_pieces(m, err) != 0)
        return -1;
    uint8_t *added = tf_arena_zalloc(m->arena, m->pieces[0].n + 1);
    memcpy(added, flags, n);
    for (int i = 0; i < 2; i++) {
        struct tf_sp_side is = side_of(m, i);
        is.own_tags = true;
        if (tf_sp_renumber(&m->segmenter[i], spm->p, spm->len, &m->pieces[0], added, &is, err) != 0)
            return -1;
    }
    drop_copy(m->segmenter);
    return 0;
}

int tf_import_tokenizer(struct tf_import *m, struct tf_err *err)
{
    const char *path = m->files.tokenizer;
    struct tf_buf spm = {0};
    const uint8_t *flags;
    char *json;
    size_t n;
    if (tf_text_read_file(&json, &n, path, TF_MAX_VOCAB, err) != 0)
        return -1;
    int rc = tf_hf_tokenizer(&spm, &m->pieces[0], &flags, m->arena, json, n, err);
    free(json);
    if (rc == 0)
        rc = use_tokenizer(m, &spm, flags, err);
    tf_buf_release(&spm);
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

/* ---- lists ---- */

int tf_import_pieces(struct tf_import *m, struct tf_err *err)
{
    const char *const *path = m->files.pieces;
    if (path[0] == NULL)
        return 0;
    if (tf_piece_list_read(&m->pieces[0], m->arena, path[0], err) != 0)
        return -1;
    m->pieces[1] = m->pieces[0];
    return path[1] == NULL ? 0 : tf_piece_list_read(&m->pieces[1], m->arena, path[1], err);
}

bool tf_import_same_pieces(const struct tf_import *m)
{
    const struct tf_piece_list *a = &m->pieces[0], *b = &m->pieces[1];
    for (size_t i = 0; i < a->n && a->n == b->n; i++)
        if (strcmp(a->v[i], b->v[i]) != 0)
            return false;
    return a->n == b->n;
}

int tf_import_one_list(struct tf_import *m, const char *name, const char *what, struct tf_err *err)
{
    if (!tf_import_same_pieces(m))
        return m->config.tie != TF_TIE_ALL
                   ? 0
                   : tf_fail(err, "%s: one matrix of embeddings, and two %s", name, what);
    m->pieces[1] = m->pieces[0];
    m->config.source_vocab_size = 0;
    return 0;
}
