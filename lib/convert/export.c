/* export.c - see export_private.h. */
#include "base/json.h"
#include "base/memory.h"
#include "base/output_dir.h"
#include "convert/ct2_private.h"
#include "convert/export_private.h"
#include "convert/foreign_private.h"
#include "convert/hf_private.h"
#include "convert/marian_private.h"
#include "exchange/ct2_bin.h"
#include "exchange/npz.h"
#include "exchange/safetensors.h"
#include "text/sp_renumber.h"

#include <stdio.h>
#include <string.h>

struct export {
    struct tf_export e;
    struct tf_conversion *m;
    enum tf_format to;
    const char *format; /* its name */
    struct tf_out_dir dir;
};

/* ---- what is common to the formats ---- */

static int list_pieces(struct export *x, int side, const uint8_t *vocab, size_t n, int64_t size,
                       struct tf_err *err)
{
    struct tf_arena *a = &x->m->arena;
    const char *const *own;
    size_t n_own;
    if (tf_sp_foreign_texts(a, vocab, n, &own, &n_own, err) != 0)
        return tf_context(err, "vocabulary");
    const char **v = tf_arena_alloc(a, ((size_t)size + 1) * sizeof *v);
    for (size_t i = 0; i < (size_t)size; i++) {
        char unused[32];
        const int k = snprintf(unused, sizeof unused, "<unused-%zu>", i);
        v[i] = i < n_own && own[i] != NULL ? own[i] : tf_arena_strndup(a, unused, (size_t)k);
    }
    x->e.pieces[side] = (struct tf_piece_list){v, (size_t)size};
    return 0;
}

static int read_pieces(struct export *x, struct tf_err *err)
{
    const struct tf_conversion *m = x->m;
    const struct tf_config *c = &m->config;
    if (m->vocab == NULL)
        return tf_fail(err, "the model carries no vocabulary: --vocab gives it one");
    if (c->source_vocab_size > 0 && m->vocab_target == NULL)
        return tf_fail(err, "the model carries no vocabulary of its targets");
    if (list_pieces(x, 0, m->vocab, m->vocab_n, tf_config_source_ids(c), err) != 0)
        return -1;
    x->e.pieces[1] = x->e.pieces[0];
    return c->source_vocab_size == 0
               ? 0
               : list_pieces(x, 1, m->vocab_target, m->vocab_target_n, c->vocab_size, err);
}

/* The parameters, with biases of zeros where the other program has some and the model none. */
static void complete_params(struct export *x)
{
    struct tf_conversion *m = x->m;
    struct tf_export *e = &x->e;
    e->config = m->config;
    e->config.attention_bias = true;
    e->config.position_table = tf_config_position_table(&m->config);
    e->config.output_bias |= x->to == TF_FORMAT_HF;
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

static int make(struct export *x, struct tf_err *err)
{
    struct tf_export *e = &x->e;
    const struct tf_config *c = &x->m->config;
    e->unk = x->m->header.special.unk;
    if (read_pieces(x, err) != 0)
        return -1;
    complete_params(x);
    if (c->d_k * c->heads != c->d_model || c->d_v != c->d_k)
        tf_export_refuse(e, "d_k and d_v other than d_model / heads");
    if (x->to == TF_FORMAT_MARIAN)
        tf_marian_export(e, x->m->vocab_target != NULL);
    else if (x->to == TF_FORMAT_HF)
        tf_hf_export(e);
    else
        tf_ct2_export(e);
    return e->refused.len == 0 ? 0
                               : tf_fail(err, "%s has no %.*s", x->format,
                                         (int)e->refused.len, e->refused.p);
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

static int write_weights(struct export *x, const char *name, struct tf_err *err)
{
    struct tf_out out = {0};
    const struct tf_bundle *b = &x->e.theirs;
    int rc = open_file(x, &out, name, err);
    if (rc == 0)
        rc = x->to == TF_FORMAT_MARIAN ? tf_npz_write(&out, b, err)
             : x->to == TF_FORMAT_HF   ? tf_safetensors_write(&out, b, err)
                                       : tf_ct2_bin_write(&out, b, err);
    return tf_out_finish(&out, rc, err);
}

static int write_settings(struct export *x, const char *name, struct tf_err *err)
{
    return write_bytes(x, name, x->e.settings.p, x->e.settings.len, err);
}

static int write_segmenters(struct export *x, const char *source, const char *target, bool always,
                            struct tf_err *err)
{
    const struct tf_conversion *m = x->m;
    const bool own = m->vocab_target != NULL;
    if (write_bytes(x, source, m->vocab, m->vocab_n, err) != 0)
        return -1;
    return own      ? write_bytes(x, target, m->vocab_target, m->vocab_target_n, err)
           : always ? write_bytes(x, target, m->vocab, m->vocab_n, err)
                    : 0;
}

/* pieces: an array, or an object of pieces and ids with one more for the padding id. */
static int write_pieces(struct export *x, const char *name, const struct tf_piece_list *pieces,
                        const char *pad, struct tf_err *err)
{
    struct tf_buf text = {0};
    struct tf_json j = {.out = &text};
    tf_json_open(&j, pad != NULL ? '{' : '[');
    for (size_t i = 0; i < pieces->n; i++)
        if (pad != NULL)
            tf_json_put_uint(&j, pieces->v[i], i);
        else
            tf_json_str(&j, pieces->v[i]);
    if (pad != NULL && x->e.config.start == TF_START_ZERO)
        tf_json_put_uint(&j, pad, pieces->n);
    tf_json_close(&j, pad != NULL ? '}' : ']');
    tf_buf_byte(&text, '\n');
    const int rc = write_bytes(x, name, text.p, text.len, err);
    tf_buf_release(&text);
    return rc;
}

static int write_tokenizer(struct export *x, struct tf_err *err)
{
    struct tf_buf text = {0};
    struct tf_json j = {.out = &text};
    tf_json_open(&j, '{');
    tf_json_put_str(&j, "tokenizer_class", "MarianTokenizer");
    tf_json_put_str(&j, "pad_token", tf_hf_pad(&x->e));
    tf_json_put_str(&j, "unk_token", "<unk>");
    tf_json_put_str(&j, "eos_token", "</s>");
    tf_json_put_int(&j, "model_max_length", TF_EXPORT_POSITIONS);
    tf_json_close(&j, '}');
    const int rc = write_bytes(x, "tokenizer_config.json", text.p, text.len, err);
    tf_buf_release(&text);
    return rc;
}

static int write_marian(struct export *x, struct tf_err *err)
{
    if (write_weights(x, "model.npz", err) != 0 ||
        write_segmenters(x, "vocab.spm", "vocab.target.spm", false, err) != 0)
        return -1;
    return write_settings(x, "decoder.yml", err);
}

static int write_hf(struct export *x, struct tf_err *err)
{
    if (write_weights(x, "model.safetensors", err) != 0 ||
        write_segmenters(x, "source.spm", "target.spm", true, err) != 0 ||
        write_pieces(x, "vocab.json", &x->e.pieces[1], tf_hf_pad(&x->e), err) != 0 ||
        write_tokenizer(x, err) != 0)
        return -1;
    return write_settings(x, "config.json", err);
}

static int write_ct2(struct export *x, struct tf_err *err)
{
    const bool separate = x->m->config.source_vocab_size > 0;
    const struct tf_piece_list *pieces = x->e.pieces;
    if (write_weights(x, "model.bin", err) != 0 ||
        write_segmenters(x, "source.spm", "target.spm", true, err) != 0)
        return -1;
    if (separate ? write_pieces(x, "source_vocabulary.json", &pieces[0], NULL, err) != 0 ||
                       write_pieces(x, "target_vocabulary.json", &pieces[1], NULL, err) != 0
                 : write_pieces(x, "shared_vocabulary.json", &pieces[1], NULL, err) != 0)
        return -1;
    return write_settings(x, "config.json", err);
}

/* ---- the directory ---- */

static const char *const names[] = {
    "model.npz", "vocab.spm", "vocab.target.spm", "decoder.yml", "model.safetensors", "source.spm",
    "target.spm", "vocab.json", "tokenizer_config.json", "config.json", "model.bin",
    "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json"};

int tf_export(struct tf_conversion *m, const char *output, enum tf_format to, const char *format,
              struct tf_err *err)
{
    size_t n = strlen(output);
    while (n > 1 && output[n - 1] == '/')
        n--;
    const char *path = tf_arena_strndup(&m->arena, output, n);
    struct export x = {.m = m, .to = to, .format = format, .dir = {.fd = -1}};
    int rc = make(&x, err);
    if (rc == 0)
        rc = tf_out_dir_open(&x.dir, path, names, sizeof names / sizeof *names, err);
    if (rc == 0)
        rc = to == TF_FORMAT_MARIAN ? write_marian(&x, err)
             : to == TF_FORMAT_HF   ? write_hf(&x, err)
                                    : write_ct2(&x, err);
    if (rc == 0)
        rc = tf_out_dir_commit(&x.dir, path, err);
    else
        tf_out_dir_abort(&x.dir);
    tf_params_release(&x.e.params);
    tf_bundle_release(&x.e.theirs);
    tf_buf_release(&x.e.settings);
    tf_buf_release(&x.e.refused);
    return rc;
}
