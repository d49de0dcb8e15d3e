/* attention_stream.c - see attention_stream.h. */
#include "infer/attention_stream.h"
#include "base/memory.h"
#include "base/parse.h"
#include "infer/alignment_private.h"
#include "text/piece_list.h"
#include "text/sp_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tf_attention_choices[] = {"all", "encoder", "decoder", "cross", NULL};

struct attention {
    struct tf_session s;
    const struct tf_attention_opts *o;
    const struct tf_opt *table;
    struct tf_piece_list pieces[2]; /* text by id, of sources and targets; empty: not known */
    bool *layers[TF_ATTENTION_KINDS]; /* NULL: no layer of this kind */
    struct tf_watch watch;            /* the same layers */
    struct tf_alignment alignment;    /* with --alignment; watch is its */
    uint32_t *heads;                  /* the chosen ones, from 1 */
    size_t n_heads;
    struct tf_lane_forward **forward; /* one per lane */
    struct tf_forward_pair *pairs;    /* of the window */
    struct tf_lane_item *items;       /* the good ones among them */
    struct tf_arena labels;           /* of the pair being checked or written */
    float *chosen;                    /* weights of the chosen heads in one layer */
};

/* ---- choice of layers and heads ---- */

static int parse_list(bool *on, int64_t most, const char *list, const char *option,
                      struct tf_err *err)
{
    if (tf_parse_list(on, most, list, err) == 0)
        return 0;
    err->status = TF_USAGE;
    return tf_context(err, "--%s", option);
}

static int choose_layers(struct attention *a, struct tf_err *err)
{
    const struct tf_weights *model = &a->s.models.model[0];
    const struct tf_config *c = &model->config;
    bool encoder_only = a->s.in.sources_only;
    int only = a->o->kind - 1; /* -1: all kinds */
    if (encoder_only && only > TF_ATTENTION_ENCODER)
        return tf_fail_status(err, TF_USAGE,
                              "%s: sources without targets have encoder attention only",
                              a->s.in.name);
    if (only == TF_ATTENTION_DECODER && !model->params.attends[TF_ATTENTION_DECODER])
        return tf_fail_status(err, TF_USAGE,
                              "--kind decoder: the decoder has recurrent units (decoder_self "
                              "%s), which attend to nothing",
                              tf_decoder_selves[c->decoder_self]);
    int64_t most = c->encoder_layers > c->decoder_layers ? c->encoder_layers : c->decoder_layers;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++) {
        if ((only >= 0 && only != kind) || (encoder_only && kind != TF_ATTENTION_ENCODER) ||
            !model->params.attends[kind])
            continue;
        a->layers[kind] = tf_xcalloc((size_t)most, sizeof(bool));
        /* With several kinds, a number that only one stack has is no mistake. */
        int64_t layers = only >= 0 || encoder_only ? tf_attention_layers(c, kind) : most;
        if (parse_list(a->layers[kind], layers, a->o->layers, "layer", err) != 0)
            return -1;
        a->watch.layers[kind] = a->layers[kind];
    }
    return 0;
}

static int choose_heads(struct attention *a, struct tf_err *err)
{
    const struct tf_config *c = &a->s.models.model[0].config;
    bool *on = tf_xcalloc((size_t)c->heads, sizeof *on);
    int rc = parse_list(on, c->heads, a->o->heads, "head", err);
    a->heads = tf_xcalloc((size_t)c->heads, sizeof *a->heads);
    for (int64_t h = 0; rc == 0 && h < c->heads; h++)
        if (on[h])
            a->heads[a->n_heads++] = (uint32_t)(h + 1);
    free(on);
    return rc;
}

/* A vocabulary of another kind, or none: pieces are written as numbers. */
static void read_pieces(struct attention *a)
{
    struct tf_ensemble *m = &a->s.models;
    struct tf_piece_list *source = &a->pieces[0], *target = &a->pieces[1];
    struct tf_err ignored = {0};
    if (m->vocab == NULL ||
        tf_sp_texts(&m->arena, m->vocab, m->vocab_n, &source->v, &source->n, &ignored) != 0)
        source->n = 0;
    if (m->model[0].config.source_vocab_size == 0)
        *target = *source;
    else if (m->target_vocab.p == m->vocab ||
             tf_sp_texts(&m->arena, m->target_vocab.p, m->target_vocab.n, &target->v, &target->n,
                         &ignored) != 0)
        target->n = 0;
}

static int choose_alignment(struct attention *a, struct tf_err *err)
{
    if (a->s.in.sources_only)
        return tf_fail_status(err, TF_USAGE, "%s: sources without targets have no alignment",
                              a->s.in.name);
    if (tf_alignment_open(&a->alignment, a->o->alignment_head, &a->s.models, err) != 0)
        return -1;
    a->watch = a->alignment.watch;
    return 0;
}

static int start_attention(struct attention *a, struct tf_err *err)
{
    const int64_t longest = a->o->run.max_length;
    const struct tf_config *c = &a->s.models.model[0].config;
    if (a->o->alignment) {
        if (choose_alignment(a, err) != 0)
            return -1;
    } else {
        read_pieces(a);
        if (choose_layers(a, err) != 0 || choose_heads(a, err) != 0)
            return -1;
    }
    a->s.in.side[0] = tf_input_side(&a->s.models, 0, "source", longest, "--max-length allows");
    a->s.in.side[1] =
        tf_input_side(&a->s.models, 1, "target", longest + TF_MAX_EXTRA, "--max-length allows");
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        a->s.in.weights_per_cell += tf_watched_layers(&a->watch, c, kind) * (size_t)c->heads;
    if (tf_session_start(&a->s, tf_forward_budget(&a->s.models), err) != 0)
        return -1;
    a->forward = tf_lane_forward_new(a->s.lanes);
    return 0;
}

static int begin_part(void *arg, struct tf_err *err)
{
    struct attention *a = arg;
    struct tf_arena mem = {0};
    struct tf_header h = tf_ensemble_header(&a->s.models, &mem, a->s.in.header,
                                            a->o->alignment ? "tokens" : "attention", a->table);
    int rc = tf_output_begin(&a->s.out, &h, err);
    tf_arena_release(&mem);
    return rc;
}

/* ---- labels ---- */

static const char *piece(struct attention *a, int side, uint32_t id)
{
    const struct tf_piece_list *list = &a->pieces[side];
    char number[16];
    if (id < list->n && list->v[id] != NULL)
        return list->v[id];
    snprintf(number, sizeof number, "%u", id);
    return tf_arena_strndup(&a->labels, number, strlen(number));
}

/* The pieces of ids, and before or after them that of one more id. */
static const char *const *pieces(struct attention *a, int side, const char *before,
                                 const uint32_t *ids, size_t n, const char *after)
{
    const char **v = tf_arena_alloc(&a->labels, (n + 1) * sizeof *v);
    size_t k = 0;
    if (before != NULL)
        v[k++] = before;
    for (size_t i = 0; i < n; i++)
        v[k++] = piece(a, side, ids[i]);
    if (after != NULL)
        v[k++] = after;
    return v;
}

/* Upper bound of the bytes of these labels in a record, the start or end included. */
static size_t label_bytes(struct attention *a, int side, const uint32_t *ids, size_t n)
{
    size_t bytes = 2 * 32;
    for (size_t i = 0; i < n; i++) {
        bytes += 5 + strlen(piece(a, side, ids[i]));
        tf_arena_clear(&a->labels);
    }
    return bytes;
}

/* ---- a window ---- */

/* Rows of the encoder for a source of n tokens. */
static size_t source_rows(const struct attention *a, size_t n)
{
    return n + a->s.models.model[0].config.source_eos;
}

/* A pair without weights, or with a record that would be too large, becomes bad before anything is
 * computed. */
static void check_size(struct attention *a, struct tf_item *it)
{
    size_t S = source_rows(a, it->n_source), T = it->n_given + (size_t)1;
    if (a->o->alignment) {
        if (4 * (S * T + S + T) + 1024 > TF_MAX_RECORD) {
            it->code = TF_BAD_TOO_MANY_TOKENS;
            it->text = "alignments of more weights than a record holds";
        }
        return;
    }
    if (S == 0 && (a->layers[TF_ATTENTION_ENCODER] != NULL ||
                   a->layers[TF_ATTENTION_CROSS] != NULL)) {
        it->code = TF_BAD_OTHER;
        it->text = "an empty source, which nothing attends to";
        return;
    }
    size_t cells[TF_ATTENTION_KINDS] = {S * S, T * T, T * S}, most = 0;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        if (a->layers[kind] != NULL && cells[kind] > most)
            most = cells[kind];
    size_t room = TF_MAX_RECORD - 1024 - 5 * a->n_heads;
    if (most <= room / sizeof(float) / a->n_heads) {
        room -= most * sizeof(float) * a->n_heads;
        if (2 * (label_bytes(a, 0, it->source, it->n_source) +
                 label_bytes(a, 1, it->given, it->n_given)) <=
            room)
            return;
    }
    it->code = TF_BAD_TOO_MANY_TOKENS;
    it->text = "weights and texts are more than a record holds";
}

static int attention_group(void *arg, size_t lane, const struct tf_lane_item *group, size_t n,
                           struct tf_err *err)
{
    struct attention *a = arg;
    if (a->o->alignment)
        return tf_alignment_group(&a->alignment, a->forward[lane], group, n, err);
    return tf_lane_forward_attention(a->forward[lane], &a->watch, group, n, err);
}

/* weights: [heads, rows, columns] of all heads. */
static int write_layer(struct attention *a, uint64_t idx, struct tf_attn *t, const float *weights,
                       struct tf_err *err)
{
    size_t cells = t->n_rows * t->n_cols;
    a->chosen = tf_xarray(a->chosen, a->n_heads * cells, sizeof *a->chosen);
    for (size_t h = 0; h < a->n_heads; h++)
        memcpy(a->chosen + h * cells, weights + (a->heads[h] - 1) * cells,
               cells * sizeof *a->chosen);
    t->heads = a->heads;
    t->n_heads = a->n_heads;
    t->weights = a->chosen;
    return tf_writer_attention(&a->s.out.writer, idx, t, err);
}

/* As in decoding, a record without a finite result is bad. */
static void check_finite(struct tf_item *it, const float *weights, size_t n)
{
    if (tf_alignment_is_finite(weights, n))
        return;
    it->code = TF_BAD_OTHER;
    it->text = "an attention weight that is not finite";
}

static void check_weights(const struct attention *a, struct tf_item *it,
                          const struct tf_forward_pair *p)
{
    const struct tf_config *c = &a->s.models.model[0].config;
    size_t S = source_rows(a, p->n_src), T = p->n_tgt + (size_t)1;
    size_t cells[TF_ATTENTION_KINDS] = {S * S, T * T, T * S};
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        if (it->code == 0 && p->weights[kind] != NULL)
            check_finite(it, p->weights[kind],
                         tf_watched_layers(&a->watch, c, kind) * (size_t)c->heads * cells[kind]);
}

static int write_result(struct attention *a, struct tf_item *it, const struct tf_forward_pair *p,
                        struct tf_err *err)
{
    const struct tf_config *c = &a->s.models.model[0].config;
    size_t S = source_rows(a, p->n_src), T = p->n_tgt + (size_t)1;
    uint32_t start = tf_start_id(c);
    check_weights(a, it, p);
    int good = tf_output_count(&a->s.out, it, a->s.in.name, err);
    if (good <= 0)
        return good;
    const uint32_t end = (uint32_t)c->eos;
    const char *eos = piece(a, 1, end), *bos = start == TF_NO_ID ? "" : piece(a, 1, start);
    const char *const *src = pieces(a, 0, NULL, p->src, p->n_src,
                                    c->source_eos ? piece(a, 0, end) : NULL),
                      *const *tgt_out = pieces(a, 1, NULL, p->tgt, p->n_tgt, eos),
                      *const *tgt_in = pieces(a, 1, bos, p->tgt, p->n_tgt, NULL);
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++) {
        bool encoder = kind == TF_ATTENTION_ENCODER, decoder = kind == TF_ATTENTION_DECODER;
        struct tf_attn t = {.kind = tf_attention_choices[1 + kind],
                            .rows = encoder ? src : tgt_out,
                            .cols = decoder ? tgt_in : src,
                            .n_rows = encoder ? S : T,
                            .n_cols = decoder ? T : S};
        const float *w = p->weights[kind];
        for (int64_t l = 0; w != NULL && l < tf_attention_layers(c, kind); l++)
            if (a->layers[kind][l]) {
                t.layer = (uint64_t)l + 1;
                if (write_layer(a, it->idx, &t, w, err) != 0)
                    return -1;
                w += (size_t)c->heads * t.n_rows * t.n_cols;
            }
    }
    return 0;
}

/* The target as tf_decode_stream writes it. */
static int write_alignment(struct attention *a, struct tf_item *it, const struct tf_forward_pair *p,
                           struct tf_err *err)
{
    const float *w = p->weights[TF_ATTENTION_CROSS];
    static const float nothing[1] = {0};
    const size_t cells = w != NULL ? tf_alignment_cells(&a->alignment, p->n_src, p->n_tgt) : 0;
    if (it->code == 0)
        check_finite(it, w, cells);
    int good = tf_output_count(&a->s.out, it, a->s.in.name, err);
    if (good <= 0)
        return good;
    return tf_writer_record(&a->s.out.writer,
                            &(struct tf_record){.type = TF_REC_TOKENS,
                                                .idx = it->idx,
                                                .ids = p->tgt,
                                                .n = p->n_tgt,
                                                .source = p->src,
                                                .n_source = p->n_src,
                                                .alignment = w != NULL ? w : nothing,
                                                .n_alignment = cells},
                            err);
}

static int attention_window(void *arg, struct tf_err *err)
{
    struct attention *a = arg;
    struct tf_item *in = a->s.in.items;
    size_t n = a->s.in.n, good = 0;
    a->pairs = tf_xarray(a->pairs, n, sizeof *a->pairs);
    a->items = tf_xarray(a->items, n, sizeof *a->items);
    for (size_t i = 0; i < n; i++) {
        a->pairs[i] = (struct tf_forward_pair){.src = in[i].source,
                                               .n_src = in[i].n_source,
                                               .tgt = in[i].given,
                                               .n_tgt = in[i].n_given};
        if (in[i].code == 0)
            check_size(a, &in[i]);
        if (in[i].code == 0 && (!a->o->alignment || in[i].n_source > 0))
            a->items[good++] = tf_forward_item(&a->pairs[i], &a->s.models, &a->watch);
    }
    int rc = tf_lanes_run(a->s.lanes, a->items, good, attention_group, a, err);
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = a->o->alignment ? write_alignment(a, &in[i], &a->pairs[i], err)
                                 : write_result(a, &in[i], &a->pairs[i], err);
        for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
            free(a->pairs[i].weights[kind]);
        tf_arena_clear(&a->labels);
    }
    if (tf_progress_due(&a->s.progress))
        tf_progress_show(&a->s.progress, "%llu pairs", (unsigned long long)a->s.out.count.total);
    return rc;
}

static void release_attention(struct attention *a)
{
    tf_lane_forward_free(a->forward, a->s.lanes);
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        free(a->layers[kind]);
    tf_alignment_close(&a->alignment);
    free(a->heads);
    free(a->pairs);
    free(a->items);
    free(a->chosen);
    tf_arena_release(&a->labels);
}

int tf_attention_stream(const struct tf_attention_opts *o, const char *const *inputs, size_t n,
                        const char *output, const struct tf_opt *table, struct tf_err *err)
{
    static const char *const single[] = {"pairs", "batch", "tokens", NULL};
    static const char *const second[] = {"tokens", NULL};
    const struct tf_input_spec in = {inputs, n, single, second};
    struct attention a = {.o = o, .table = table};
    int rc = tf_session_open(&a.s, &o->run, TF_USE_SCORING, output, false, err);
    if (rc == 0)
        rc = tf_session_input(&a.s, &in, err);
    if (rc == 0)
        rc = start_attention(&a, err);
    if (rc == 0)
        rc = tf_session_run(&a.s, begin_part, attention_window, &a, err);
    release_attention(&a);
    return tf_session_close(&a.s, rc, err);
}
