/* attend.c - the stream around a pass whose attention is looked at: pairs in, a record for each
 * pair, kind and layer out, in the order of the input. */
#include "decode/attend.h"
#include "base/log.h"
#include "base/parse.h"
#include "decode/paired.h"
#include "text/sp_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_WEIGHTS = 1 << 24 }; /* a window ends with the pair that brings it to so many */

const char *const tf_attend_kinds[] = {"all", "encoder", "decoder", "cross", NULL};

struct run {
    const struct tf_attend_opts *o;
    const struct tf_opt *table;
    struct tf_model_set models;
    const char *const *pieces; /* texts by id; NULL where the model carries no vocabulary */
    size_t n_pieces;
    bool *layers[TF_ATTENTION_KINDS]; /* NULL: not asked for */
    struct tf_watch watch;
    uint32_t *heads; /* asked for, from 1 on */
    size_t n_heads;
    struct tf_paired *in;
    struct tf_scorer *scorer;
    struct tf_out *out_file;
    struct tf_writer out;
    bool begun;
    struct tf_arena header_mem, mem;
    struct tf_scored **todo;
    float *some; /* weights of the heads asked for */
    struct tf_bads bads;
    struct tf_progress progress;
};

/* ---- what is asked for ---- */

/* A list of the command line into on[0 .. most). */
static int parse_list(bool *on, int64_t most, const char *list, const char *option,
                      struct tf_err *err)
{
    if (tf_parse_list(on, most, list, err) == 0)
        return 0;
    err->status = TF_USAGE;
    return tf_context(err, "--%s", option);
}

static int choose(struct run *f, struct tf_err *err)
{
    const struct tf_config *c = &f->models.v[0].config;
    bool alone = tf_paired_alone(f->in);
    if (alone && f->o->kind > 1 + TF_ATTENTION_ENCODER)
        return tf_fail_status(err, TF_USAGE,
                              "%s: sources without targets have encoder attention only",
                              tf_paired_name(f->in));
    int64_t most =
        c->encoder_layers > c->decoder_layers ? c->encoder_layers : c->decoder_layers;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++) {
        if ((f->o->kind > 0 && f->o->kind != 1 + kind) || (alone && kind != TF_ATTENTION_ENCODER))
            continue;
        f->layers[kind] = tf_xcalloc((size_t)most, sizeof(bool));
        /* A layer that only the other side has is none of this kind. */
        if (parse_list(f->layers[kind],
                       f->o->kind > 0 || alone ? tf_attention_layers(c, kind) : most, f->o->layers,
                       "layer", err) < 0)
            return -1;
        f->watch.layers[kind] = f->layers[kind];
    }
    bool *on = tf_xcalloc((size_t)c->heads, sizeof *on);
    int rc = parse_list(on, c->heads, f->o->heads, "head", err);
    f->heads = tf_xcalloc((size_t)c->heads, sizeof *f->heads);
    for (int64_t h = 0; rc == 0 && h < c->heads; h++)
        if (on[h])
            f->heads[f->n_heads++] = (uint32_t)(h + 1);
    free(on);
    return rc;
}

static size_t weights_of(const void *arg, uint32_t n_src, uint32_t n_tgt)
{
    const struct run *f = arg;
    const struct tf_config *c = &f->models.v[0].config;
    size_t S = n_src + (size_t)1, T = n_tgt + (size_t)1, layers = 0;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        layers += tf_watched_layers(&f->watch, c, kind);
    return layers * (size_t)c->heads * (S > T ? S * S : T * T);
}

/* ---- labels ---- */

static const char *piece(struct run *f, uint32_t id)
{
    char number[16];
    if (id < f->n_pieces && f->pieces[id] != NULL)
        return f->pieces[id];
    snprintf(number, sizeof number, "%u", id);
    return tf_arena_strndup(&f->mem, number, strlen(number));
}

/* The pieces of ids and then the end. */
static const char *const *with_end(struct run *f, const uint32_t *ids, size_t n)
{
    const char **v = tf_arena_alloc(&f->mem, (n + 1) * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = piece(f, ids[i]);
    v[n] = piece(f, (uint32_t)f->models.v[0].config.eos);
    return v;
}

/* The start, and then the pieces of ids. */
static const char *const *with_start(struct run *f, const uint32_t *ids, size_t n)
{
    const char **v = tf_arena_alloc(&f->mem, (n + 1) * sizeof *v);
    uint32_t start = tf_start_id(&f->models.v[0].config);
    v[0] = start == TF_NO_ID ? "" : piece(f, start);
    for (size_t i = 0; i < n; i++)
        v[i + 1] = piece(f, ids[i]);
    return v;
}

/* ---- the stream ---- */

static int begin_part(void *arg, const struct tf_header *const from[2], struct tf_err *err)
{
    struct run *f = arg;
    tf_writer_release(&f->out);
    tf_arena_clear(&f->header_mem);
    struct tf_header h =
        tf_models_header(&f->models, &f->header_mem, from, "attention", f->table);
    if (tf_writer_begin(&f->out, f->out_file, &h, err) < 0)
        return -1;
    f->begun = true;
    return 0;
}

static int put_layer(struct run *f, uint64_t idx, struct tf_attn *t, const float *all,
                     struct tf_err *err)
{
    size_t cells = t->n_rows * t->n_cols;
    f->some = tf_xarray(f->some, f->n_heads * cells, sizeof *f->some);
    for (size_t h = 0; h < f->n_heads; h++)
        memcpy(f->some + h * cells, all + (f->heads[h] - 1) * cells, cells * sizeof *f->some);
    t->heads = f->heads;
    t->n_heads = f->n_heads;
    t->weights = f->some;
    return tf_writer_attention(&f->out, idx, t, err);
}

static int put(struct run *f, struct tf_pair_entry *e, struct tf_err *err)
{
    const struct tf_config *c = &f->models.v[0].config;
    const struct tf_scored *s = &e->s;
    size_t S = s->n_src + (size_t)1, T = s->n_tgt + (size_t)1;
    if (tf_bads_count(&f->bads, e->idx, e->code, e->text, tf_paired_name(f->in), err) < 0)
        return -1;
    if (e->code != 0)
        return tf_writer_bad(&f->out, e->idx, e->code, e->text, err);
    const char *const *src = with_end(f, s->src, s->n_src),
                      *const *tgt = with_end(f, s->tgt, s->n_tgt),
                      *const *read = with_start(f, s->tgt, s->n_tgt);
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++) {
        bool of_src = kind == TF_ATTENTION_ENCODER;
        struct tf_attn t = {.kind = tf_attend_kinds[1 + kind],
                            .rows = of_src ? src : tgt,
                            .cols = kind == TF_ATTENTION_DECODER ? read : src,
                            .n_rows = of_src ? S : T,
                            .n_cols = kind == TF_ATTENTION_DECODER ? T : S};
        const float *w = s->weights[kind];
        for (int64_t l = 0; w != NULL && l < tf_attention_layers(c, kind); l++)
            if (f->layers[kind][l]) {
                t.layer = (uint64_t)l + 1;
                if (put_layer(f, e->idx, &t, w, err) < 0)
                    return -1;
                w += (size_t)c->heads * t.n_rows * t.n_cols;
            }
    }
    return 0;
}

/* Bytes of the texts of ids in a record. */
static size_t text_bytes(struct run *f, const uint32_t *ids, size_t n)
{
    size_t bytes = 2 * 32; /* the start and the end */
    for (size_t i = 0; i < n; i++) {
        bytes += 5 + strlen(piece(f, ids[i]));
        tf_arena_clear(&f->mem);
    }
    return bytes;
}

/* A pair with a record that would be too large becomes bad before anything is computed. */
static void check_size(struct run *f, struct tf_pair_entry *e)
{
    const struct tf_scored *s = &e->s;
    size_t S = s->n_src + (size_t)1, T = s->n_tgt + (size_t)1;
    size_t cells[TF_ATTENTION_KINDS] = {S * S, T * T, T * S}, most = 0;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        if (f->layers[kind] != NULL && cells[kind] > most)
            most = cells[kind];
    size_t room = TF_MAX_RECORD - 1024 - 5 * f->n_heads;
    if (most <= room / sizeof(float) / f->n_heads) {
        room -= most * sizeof(float) * f->n_heads;
        if (2 * (text_bytes(f, s->src, s->n_src) + text_bytes(f, s->tgt, s->n_tgt)) <= room)
            return;
    }
    e->code = TF_BAD_TOO_MANY_TOKENS;
    e->text = "weights and texts are more than a record holds";
}

static int run_window(void *arg, struct tf_pair_entry *v, size_t n, struct tf_err *err)
{
    struct run *f = arg;
    size_t good = 0;
    uint64_t none = 0;
    f->todo = tf_xarray(f->todo, n, sizeof *f->todo);
    for (size_t i = 0; i < n; i++) {
        if (v[i].code == 0)
            check_size(f, &v[i]);
        if (v[i].code == 0)
            f->todo[good++] = &v[i].s;
    }
    int rc = good > 0 ? tf_scorer_run(f->scorer, f->todo, good, &none, err) : 0;
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = put(f, &v[i], err);
        for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
            free(v[i].s.weights[kind]);
        tf_arena_clear(&f->mem);
    }
    if (tf_progress_due(&f->progress))
        tf_progress_show(&f->progress, "%llu pairs", (unsigned long long)f->bads.lines);
    return rc;
}

static int flush(void *arg, struct tf_err *err)
{
    struct run *f = arg;
    return tf_writer_flush(&f->out, err);
}

static int end_part(void *arg, struct tf_err *err)
{
    struct run *f = arg;
    f->begun = false;
    return tf_writer_end(&f->out, err);
}

static int attend(struct run *f, struct tf_err *err)
{
    const struct tf_paired_job job = {f, begin_part, run_window, flush, end_part};
    const struct tf_paired_limits limits = {
        .side = {{"source", f->o->max_length, "--max-length allows"},
                 {"target", f->o->max_length, "--max-length allows"}},
        .window = tf_models_window(&f->models, f->o->window),
        .cost = weights_of,
        .most = WINDOW_WEIGHTS,
        .force_vocab = f->o->force_vocab};
    size_t batch = tf_models_batch(&f->models, f->o->batch);
    f->scorer = tf_scorer_new(&f->models, (int)f->o->threads, batch, &f->watch, err);
    if (f->scorer == NULL)
        return -1;
    tf_progress_begin(&f->progress, f->o->progress, f->o->quiet);
    tf_models_told(&f->models, &f->progress);
    int rc = tf_paired_run(f->in, &job, &limits, err);
    tf_progress_end(&f->progress);
    if (rc < 0 && f->begun)
        tf_writer_fail(&f->out, err);
    return rc;
}

int tf_attend_run(const struct tf_attend_opts *o, const char *const *inputs, size_t n,
                  const char *output, const struct tf_opt *table, struct tf_err *err)
{
    static const char *const alone[] = {"pairs", "batch", "tokens", NULL}, *const second[] = {
                                                                               "tokens", NULL};
    const struct tf_strs models = {.v = (const char **)&o->model, .n = 1};
    struct tf_out out = {0};
    struct run f = {.o = o, .table = table, .out_file = &out, .bads.policy = o->bad};
    if (tf_out_open(&out, output, TF_OUT_BINARY, err) < 0)
        return -1;
    int rc = tf_models_open(&f.models, &models, o->device, o->precision, (int)o->threads,
                            TF_USE_SCORING, o->force_vocab, err);
    if (rc == 0 && f.models.vocab != NULL) {
        struct tf_err none = {0}; /* another kind of vocabulary has no texts for us */
        if (tf_sp_texts(&f.models.arena, f.models.vocab, f.models.vocab_n, &f.pieces, &f.n_pieces,
                        &none) < 0)
            f.n_pieces = 0;
    }
    if (rc == 0 && (f.in = tf_paired_new(&f.models, inputs, n, alone, second, err)) == NULL)
        rc = -1;
    if (rc == 0)
        rc = choose(&f, err);
    if (rc == 0)
        rc = attend(&f, err);
    tf_scorer_free(f.scorer);
    tf_paired_free(f.in);
    tf_models_close(&f.models);
    tf_writer_release(&f.out);
    tf_arena_release(&f.header_mem);
    tf_arena_release(&f.mem);
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        free(f.layers[kind]);
    free(f.heads);
    free(f.todo);
    free(f.some);
    rc = tf_out_finish(&out, rc, err);
    return rc < 0
               ? rc
               : tf_bads_verdict(&f.bads, strcmp(inputs[0], "-") == 0 ? "stdin" : inputs[0], err);
}
