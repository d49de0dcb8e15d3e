/* export.c - see export_private.h. */
#include "base/log.h"
#include "base/output_dir.h"
#include "convert/export_members_private.h"
#include "convert/export_private.h"
#include "convert/foreign_private.h"
#include "stream/search_settings.h"
#include "text/sp_json.h"

#include <string.h>

struct export {
    struct tf_export e;
    struct tf_conversion *m;
    const struct tf_export_format *f;
    const char *format; /* its name */
    struct tf_out_dir dir;
};

/* ---- what is common to the formats ---- */

static int list_texts(struct export *x, int side, int64_t size, struct tf_err *err)
{
    struct tf_arena *a = &x->m->arena;
    const struct tf_buf *vocab = &x->m->in.segmenter[side];
    const char *const *own;
    size_t n_own;
    if (tf_sp_foreign_texts(a, vocab->p, vocab->len, &own, &n_own, err) != 0)
        return tf_context(err, "vocabulary");
    const char **v = tf_arena_alloc(a, ((size_t)size + 1) * sizeof *v);
    for (size_t i = 0; i < (size_t)size; i++)
        v[i] = i < n_own && own[i] != NULL ? own[i] : tf_piece_unused(a, i);
    x->e.pieces[side] = (struct tf_piece_list){v, (size_t)size};
    return 0;
}

static int read_texts(struct export *x, struct tf_err *err)
{
    const struct tf_import *in = &x->m->in;
    const struct tf_config *c = &in->config;
    if (in->segmenter[0].p == NULL && x->f->without_vocab)
        return 0;
    if (in->segmenter[0].p == NULL)
        return tf_fail(err, "the model carries no vocabulary: --vocab gives it one");
    if (c->source_vocab_size > 0 && in->segmenter[1].p == NULL)
        return tf_fail(err, "the model carries no vocabulary of its targets");
    if (list_texts(x, 0, tf_config_source_ids(c), err) != 0)
        return -1;
    x->e.pieces[1] = x->e.pieces[0];
    x->e.added =
        tf_sp_added(&x->m->arena, in->segmenter[0].p, in->segmenter[0].len, &x->e.n_added);
    return c->source_vocab_size == 0 ? 0 : list_texts(x, 1, c->vocab_size, err);
}

/* The parameters, with biases of zeros where the other program has some and the model none. */
static void complete_params(struct export *x)
{
    struct tf_conversion *m = x->m;
    struct tf_export *e = &x->e;
    e->config = m->in.config;
    e->config.attention_bias = true;
    e->config.position_table = tf_config_position_table(&m->in.config);
    e->config.output_bias |= x->f->output_bias;
    tf_params_init(&e->params, &e->config);
    e->ours = tf_arena_zalloc(&m->arena, (e->params.n + 1) * sizeof *e->ours);
    for (size_t i = 0, k = 0; i < e->params.n; i++) {
        const struct tf_param *q = &e->params.v[i];
        if (k < m->params.n && strcmp(m->params.v[k].name, q->name) == 0) {
            e->ours[i] = m->out[k++];
            continue;
        }
        const size_t bytes = q->n * tf_dtype_size(m->out[0].dtype);
        e->ours[i] = (struct tf_tensor){.name = q->name,
                                        .dtype = m->out[0].dtype,
                                        .rank = 1,
                                        .dims = {q->n},
                                        .data = tf_arena_zalloc(&m->arena, bytes),
                                        .bytes = bytes};
    }
}

static int fail_refused(const struct export *x, struct tf_err *err)
{
    const struct tf_buf *b = &x->e.refused;
    return b->len == 0 ? 0 : tf_fail(err, "%s has no %.*s", x->format, (int)b->len, b->p);
}

/* What the format cannot express, all of it by name. */
static int check_format(struct export *x, struct tf_err *err)
{
    struct tf_export *e = &x->e;
    const struct tf_config *c = &e->config;
    if (c->d_k * c->heads != c->d_model || c->d_v != c->d_k)
        tf_export_refuse(e, "d_k and d_v other than d_model / heads");
    tf_export_check_members(e, x->f);
    if (x->f->check != NULL)
        x->f->check(e);
    return fail_refused(x, err);
}

static int make_all(struct export *x, struct tf_err *err)
{
    x->e.unk = x->m->in.header.special.unk;
    x->e.search = &x->m->in.header.search;
    x->e.segmenter = x->m->in.segmenter;
    x->e.own_segmenter = x->m->in.segmenter[1].p != NULL;
    if (tf_search_settings_check(x->e.search, err) != 0 || read_texts(x, err) != 0)
        return -1;
    complete_params(x);
    if (check_format(x, err) != 0)
        return -1;
    x->f->convert(&x->e);
    return fail_refused(x, err);
}

/* What of a vocabulary is not in the SentencePiece models that are written, nor beside them. */
static void warn_lost(const struct export *x, const char *path)
{
    const struct tf_buf *b = x->e.segmenter;
    struct tf_buf lost = {0};
    if (b->p != NULL && tf_sp_splits(b->p, b->len))
        tf_buf_item(&lost, "codes of byte-pair encoding");
    if (x->e.n_added > 0 && !x->f->added_beside)
        tf_buf_item(&lost, "added tokens");
    if (b->p != NULL && tf_sp_white(b->p, b->len) && !x->e.has_tokenizer)
        tf_buf_item(&lost, "rules of a tokenizer.json for white space");
    if (lost.len > 0)
        tf_warn("%s/%s: SentencePiece, which splits text by it, has no %s", path,
                x->f->segmenter[0], lost.p);
    tf_buf_release(&lost);
}

/* ---- files ---- */

/* Open a file of the directory. */
static int open_file(struct export *x, struct tf_out *out, const char *name, struct tf_err *err)
{
    return tf_out_open_at(out, x->dir.fd, name, name, err);
}

static int write_bytes(struct export *x, const char *name, const void *p, size_t n,
                       struct tf_err *err)
{
    struct tf_out out = {0};
    int rc = open_file(x, &out, name, err);
    if (rc == 0)
        rc = tf_out_write(&out, p, n, err);
    return tf_out_finish(&out, rc, err);
}

static int write_weights(struct export *x, struct tf_err *err)
{
    struct tf_out out = {0};
    int rc = open_file(x, &out, x->f->weights, err);
    if (rc == 0)
        rc = x->f->write_weights(&out, &x->e.theirs, err);
    return tf_out_finish(&out, rc, err);
}

static int write_segmenter(struct export *x, const char *name, const struct tf_buf *b,
                           struct tf_err *err)
{
    struct tf_buf foreign = {0};
    if (!x->f->ids_beside)
        return write_bytes(x, name, b->p, b->len, err);
    tf_sp_put_foreign(&foreign, b->p, b->len);
    const int rc = write_bytes(x, name, foreign.p, foreign.len, err);
    tf_buf_release(&foreign);
    return rc;
}

static int write_segmenters(struct export *x, struct tf_err *err)
{
    const struct tf_buf *b = x->m->in.segmenter;
    const char *const *name = x->f->segmenter;
    const bool own = b[1].p != NULL;
    if (b[0].p == NULL)
        return 0;
    if (x->e.one_segmenter.p != NULL)
        return write_bytes(x, name[0], x->e.one_segmenter.p, x->e.one_segmenter.len, err);
    if (write_segmenter(x, name[0], &b[0], err) != 0)
        return -1;
    return own || x->f->two_segmenters ? write_segmenter(x, name[1], &b[own], err) : 0;
}

static int write_all(struct export *x, struct tf_err *err)
{
    if (write_weights(x, err) != 0 || write_segmenters(x, err) != 0)
        return -1;
    for (int i = 0; i < TF_EXPORT_TEXTS; i++)
        if (x->e.text[i].len > 0 &&
            write_bytes(x, x->f->text[i], x->e.text[i].p, x->e.text[i].len, err) != 0)
            return -1;
    return 0;
}

/* ---- the directory ---- */

/* Its files, which a signal removes. */
static const char *names[3 + TF_EXPORT_TEXTS];

static size_t list_names(const struct tf_export_format *f)
{
    size_t n = 0;
    names[n++] = f->weights;
    names[n++] = f->segmenter[0];
    if (f->segmenter[1] != NULL)
        names[n++] = f->segmenter[1];
    for (int i = 0; i < TF_EXPORT_TEXTS && f->text[i] != NULL; i++)
        names[n++] = f->text[i];
    return n;
}

int tf_export(struct tf_conversion *m, const char *output, const struct tf_export_format *f,
              const char *name, struct tf_err *err)
{
    size_t n = strlen(output);
    while (n > 1 && output[n - 1] == '/')
        n--;
    const char *path = tf_arena_strndup(&m->arena, output, n);
    struct export x = {.m = m, .f = f, .format = name, .dir = {.fd = -1}};
    int rc = make_all(&x, err);
    if (rc == 0)
        rc = tf_out_dir_open(&x.dir, path, names, list_names(x.f), err);
    if (rc == 0)
        rc = write_all(&x, err);
    if (rc == 0)
        rc = tf_out_dir_commit(&x.dir, path, err);
    else
        tf_out_dir_abort(&x.dir);
    if (rc == 0)
        warn_lost(&x, path);
    tf_params_release(&x.e.params);
    tf_bundle_release(&x.e.theirs);
    for (int i = 0; i < TF_EXPORT_TEXTS; i++)
        tf_buf_release(&x.e.text[i]);
    tf_buf_release(&x.e.one_segmenter);
    tf_buf_release(&x.e.refused);
    return rc;
}
