/* decode.c - the stream around the decoder: sources in, token or n-best records out, in the order
 * of the input. */
#include "infer/decode.h"

#include <stdlib.h>
#include <string.h>

struct run {
    struct tf_stage s;
    const struct tf_decode_opts *o;
    struct tf_decoder *decoder;
    struct tf_sentence *v, **todo; /* of a window */
    uint64_t tokens;
};

/* The stages of a prefix don't say what it was for, and may be those of the input. */
static void mark_prefix(void *arg, struct tf_header *h, const struct tf_header *const from[2])
{
    struct run *f = arg;
    if (from[1] != NULL)
        tf_value_put(&f->s.header_mem, &h->made.items[h->made.n - 1], "prefix",
                     tf_value_bool(true));
}

/* The tokens that an output may have at most. */
static uint32_t limit_of(const struct run *f, const struct tf_scored *s)
{
    size_t limit = (size_t)s->n_src + (size_t)f->o->max_extra,
           reach = tf_models_reach(&f->s.models);
    limit = limit > s->n_tgt ? limit : s->n_tgt;
    return (uint32_t)(limit < reach ? limit : reach - 1);
}

static int put(struct run *f, struct tf_pair_entry *e, const struct tf_sentence *s,
               struct tf_err *err)
{
    static const float nothing[1] = {0};
    struct tf_hyp empty = {.ids = NULL, .n = 0, .score = 0, .logp = 0, .token_logp = nothing};
    struct tf_hyp *h = s->n_src > 0 ? s->hyps : &empty;
    size_t n = s->n_src > 0 ? s->n_hyps : 1, ids = 0;
    for (size_t i = 0; e->code == 0 && i < n; i++)
        ids += h[i].n;
    if (e->code == 0 && n == 0) {
        e->code = TF_BAD_OTHER;
        e->text = "no hypothesis of finite probability";
    } else if (ids > TF_MAX_IDS) {
        e->code = TF_BAD_TOO_MANY_TOKENS;
        e->text = "hypotheses of more ids than a record holds";
    }
    int good = tf_stage_take(&f->s, e, err);
    if (good <= 0)
        return good;
    f->tokens += h[0].n;
    if (!f->o->nbest_out)
        return tf_writer_tokens(&f->s.out, e->idx, h[0].ids, h[0].n, err);
    for (size_t i = 0; i < n && !f->o->token_scores; i++)
        h[i].token_logp = NULL;
    return tf_writer_nbest(&f->s.out, e->idx, h, n, err);
}

static int run_window(void *arg, struct tf_pair_entry *e, size_t n, struct tf_err *err)
{
    struct run *f = arg;
    size_t good = 0;
    f->v = tf_xarray(f->v, n, sizeof *f->v);
    f->todo = tf_xarray(f->todo, n, sizeof *f->todo);
    for (size_t i = 0; i < n; i++) {
        const struct tf_scored *s = &e[i].s;
        f->v[i] = (struct tf_sentence){.src = s->src,
                                       .prefix = s->tgt,
                                       .n_src = s->n_src,
                                       .n_prefix = s->n_tgt,
                                       .limit = limit_of(f, s),
                                       .key = e[i].idx};
        if (e[i].code == 0 && s->n_src > 0)
            f->todo[good++] = &f->v[i];
    }
    int rc = tf_decoder_run(f->decoder, f->todo, good, err);
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = put(f, &e[i], &f->v[i], err);
        free(f->v[i].hyps);
    }
    if (tf_progress_due(&f->s.progress)) {
        double t = tf_now() - f->s.progress.start;
        tf_progress_show(&f->s.progress, "%llu lines, %.1f lines/s, %.0f tokens/s",
                         (unsigned long long)f->s.bads.lines, (double)f->s.bads.lines / t,
                         (double)f->tokens / t);
    }
    return rc;
}

static struct tf_search_opts rule_of(const struct tf_decode_opts *o, const struct tf_model_set *m)
{
    const struct tf_config *c = &m->v[0].config;
    struct tf_search_opts r = {.V = (size_t)c->vocab_size,
                               .K = (size_t)(o->sample ? o->nbest : o->beam),
                               .N = (size_t)o->nbest,
                               .alpha = o->alpha,
                               .start = tf_start_id(c),
                               .eos = (uint32_t)c->eos,
                               .sample = o->sample,
                               .temperature = o->temperature,
                               .top_k = (size_t)o->top_k,
                               .top_p = o->top_p,
                               .seed = (uint64_t)o->seed};
    int64_t ban[] = {c->pad, c->bos, m->header.special.bos,
                     o->allow_unk ? -1 : m->header.special.unk};
    for (size_t i = 0; i < sizeof ban / sizeof *ban; i++)
        if (ban[i] >= 0 && ban[i] != c->eos)
            r.ban[r.n_ban++] = (uint32_t)ban[i];
    return r;
}

static int decode(struct run *f, struct tf_err *err)
{
    const struct tf_decode_opts *o = f->o;
    const int64_t most = o->run.max_length;
    const struct tf_stage_job job = {f, o->nbest_out ? "nbest" : "tokens", mark_prefix, run_window};
    const struct tf_paired_limits limits = {
        .side = {{"source", most, "--max-length allows"},
                 {"prefix", most + o->max_extra, "--max-length and --max-extra allow"}}};
    struct tf_search_opts rule = rule_of(o, &f->s.models);
    f->decoder = tf_decoder_new(&f->s.models, &rule, f->s.threads, f->s.batch, err);
    return f->decoder != NULL ? tf_stage_run(&f->s, &job, limits, err) : -1;
}

int tf_decode_run(const struct tf_decode_opts *o, const char *input, const char *output,
                  const struct tf_opt *table, struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL};
    const struct tf_stage_inputs in = {(const char *const[]){input, o->prefix},
                                       o->prefix != NULL ? 2 : 1, tokens, tokens};
    struct run f = {.o = o};
    int rc = tf_stage_open(&f.s, &o->run, TF_USE_DECODING, &in, output, TF_OUT_BINARY, table, err);
    if (rc == 0)
        rc = decode(&f, err);
    tf_decoder_free(f.decoder);
    free(f.v);
    free(f.todo);
    return tf_stage_close(&f.s, rc, err);
}
