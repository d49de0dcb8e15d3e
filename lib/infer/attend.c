/* attend.c - the stream around a pass whose attention is looked at: pairs in, a record for each
 * pair, kind and layer out, in the order of the input. */
#include "infer/attend.h"
#include "base/parse.h"
#include "text/sp_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_WEIGHTS = 1 << 24 }; /* a window ends with the pair that brings it to so many */

const char *const tf_attend_kinds[] = {"all", "encoder", "decoder", "cross", NULL};

struct run {
    struct tf_stage s;
    const struct tf_attend_opts *o;
    const char *const *pieces; /* texts by id; NULL where the model carries no vocabulary */
    size_t n_pieces;
    bool *layers[TF_ATTENTION_KINDS]; /* NULL: not asked for */
    struct tf_watch watch;
    uint32_t *heads; /* asked for, from 1 on */
    size_t n_heads;
    struct tf_scorer *scorer;
    struct tf_arena mem;
    struct tf_scored **todo;
    float *some; /* weights of the heads asked for */
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
    const struct tf_config *c = &f->s.models.v[0].config;
    bool alone = tf_paired_alone(f->s.in);
    if (alone && f->o->kind > 1 + TF_ATTENTION_ENCODER)
        return tf_fail_status(err, TF_USAGE,
                              "%s: sources without targets have encoder attention only",
                              tf_paired_name(f->s.in));
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
    const struct tf_config *c = &f->s.models.v[0].config;
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
    v[n] = piece(f, (uint32_t)f->s.models.v[0].config.eos);
    return v;
}

/* The start, and then the pieces of ids. */
static const char *const *with_start(struct run *f, const uint32_t *ids, size_t n)
{
    const char **v = tf_arena_alloc(&f->mem, (n + 1) * sizeof *v);
    uint32_t start = tf_start_id(&f->s.models.v[0].config);
    v[0] = start == TF_NO_ID ? "" : piece(f, start);
    for (size_t i = 0; i < n; i++)
        v[i + 1] = piece(f, ids[i]);
    return v;
}

/* ---- the stream ---- */

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
    return tf_writer_attention(&f->s.out, idx, t, err);
}

static int put(struct run *f, struct tf_pair_entry *e, struct tf_err *err)
{
    const struct tf_config *c = &f->s.models.v[0].config;
    const struct tf_scored *s = &e->s;
    size_t S = s->n_src + (size_t)1, T = s->n_tgt + (size_t)1;
    int good = tf_stage_take(&f->s, e, err);
    if (good <= 0)
        return good;
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
    if (tf_progress_due(&f->s.progress))
        tf_progress_show(&f->s.progress, "%llu pairs", (unsigned long long)f->s.bads.lines);
    return rc;
}

static int attend(struct run *f, struct tf_err *err)
{
    const struct tf_stage_job job = {f, "attention", NULL, run_window};
    const int64_t longest = f->o->run.max_length;
    const struct tf_paired_limits limits = {.side = {{"source", longest, "--max-length allows"},
                                                     {"target", longest, "--max-length allows"}},
                                            .cost = weights_of,
                                            .most = WINDOW_WEIGHTS};
    struct tf_err none = {0}; /* another kind of vocabulary has no texts for us */
    if (f->s.models.vocab != NULL &&
        tf_sp_texts(&f->s.models.arena, f->s.models.vocab, f->s.models.vocab_n, &f->pieces,
                    &f->n_pieces, &none) < 0)
        f->n_pieces = 0;
    if (choose(f, err) < 0)
        return -1;
    f->scorer = tf_scorer_new(&f->s.models, f->s.threads, f->s.batch, &f->watch, err);
    return f->scorer != NULL ? tf_stage_run(&f->s, &job, limits, err) : -1;
}

int tf_attend_run(const struct tf_attend_opts *o, const char *const *inputs, size_t n,
                  const char *output, const struct tf_opt *table, struct tf_err *err)
{
    static const char *const alone[] = {"pairs", "batch", "tokens", NULL},
                             *const second[] = {"tokens", NULL};
    const struct tf_stage_inputs in = {inputs, n, alone, second};
    struct run f = {.o = o};
    int rc = tf_stage_open(&f.s, &o->run, TF_USE_SCORING, &in, output, TF_OUT_BINARY, table, err);
    if (rc == 0)
        rc = attend(&f, err);
    tf_scorer_free(f.scorer);
    tf_arena_release(&f.mem);
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        free(f.layers[kind]);
    free(f.heads);
    free(f.todo);
    free(f.some);
    return tf_stage_close(&f.s, rc, err);
}
