/* filter.c - the stream around the decoder: sources in, token or n-best records out, in the order
 * of the input. */
#include "decode/filter.h"
#include "base/log.h"
#include "decode/paired.h"

#include <stdlib.h>
#include <string.h>

struct filter {
    const struct tf_decode_opts *o;
    const struct tf_opt *table;
    struct tf_model_set models;
    struct tf_decoder *decoder;
    struct tf_paired *in;
    struct tf_out *out_file;
    struct tf_writer out;
    bool begun;
    struct tf_arena header_mem;
    struct tf_sentence *v, **todo; /* of a window */
    struct tf_bads bads;
    uint64_t tokens;
    struct tf_progress progress;
};

static int begin_part(void *arg, const struct tf_header *const from[2], struct tf_err *err)
{
    struct filter *f = arg;
    tf_writer_release(&f->out);
    tf_arena_clear(&f->header_mem);
    struct tf_header h = tf_models_header(&f->models, &f->header_mem, from,
                                          f->o->nbest_out ? "nbest" : "tokens", f->table);
    if (from[1] != NULL) /* its stages don't say what it was for, and may be those of the input */
        tf_value_put(&f->header_mem, &h.made.items[h.made.n - 1], "prefix", tf_value_bool(true));
    if (tf_writer_begin(&f->out, f->out_file, &h, err) < 0)
        return -1;
    f->begun = true;
    return 0;
}

/* The tokens that an output may have at most. */
static uint32_t limit_of(const struct filter *f, const struct tf_scored *s)
{
    size_t limit = (size_t)s->n_src + (size_t)f->o->max_extra,
           reach = tf_models_reach(&f->models);
    limit = limit > s->n_tgt ? limit : s->n_tgt;
    return (uint32_t)(limit < reach ? limit : reach - 1);
}

static int put(struct filter *f, struct tf_pair_entry *e, const struct tf_sentence *s,
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
    if (tf_bads_count(&f->bads, e->idx, e->code, e->text, tf_paired_name(f->in), err) < 0)
        return -1;
    if (e->code != 0)
        return tf_writer_bad(&f->out, e->idx, e->code, e->text, err);
    f->tokens += h[0].n;
    if (!f->o->nbest_out)
        return tf_writer_tokens(&f->out, e->idx, h[0].ids, h[0].n, err);
    for (size_t i = 0; i < n && !f->o->token_scores; i++)
        h[i].token_logp = NULL;
    return tf_writer_nbest(&f->out, e->idx, h, n, err);
}

static int run_window(void *arg, struct tf_pair_entry *e, size_t n, struct tf_err *err)
{
    struct filter *f = arg;
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
    if (tf_progress_due(&f->progress)) {
        double t = tf_now() - f->progress.start;
        tf_progress_show(&f->progress, "%llu lines, %.1f lines/s, %.0f tokens/s",
                         (unsigned long long)f->bads.lines, (double)f->bads.lines / t,
                         (double)f->tokens / t);
    }
    return rc;
}

static int flush(void *arg, struct tf_err *err)
{
    struct filter *f = arg;
    return tf_writer_flush(&f->out, err);
}

static int end_part(void *arg, struct tf_err *err)
{
    struct filter *f = arg;
    f->begun = false;
    return tf_writer_end(&f->out, err);
}

static struct tf_search_rule rule_of(const struct tf_decode_opts *o, const struct tf_model_set *m)
{
    const struct tf_config *c = &m->v[0].config;
    struct tf_search_rule r = {.V = (size_t)c->vocab_size,
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

static int filter(struct filter *f, struct tf_err *err)
{
    const struct tf_decode_opts *o = f->o;
    const struct tf_paired_job job = {f, begin_part, run_window, flush, end_part};
    const struct tf_paired_limits limits = {
        .side = {{"source", o->max_length, "--max-length allows"},
                 {"prefix", o->max_length + o->max_extra, "--max-length and --max-extra allow"}},
        .window = tf_models_window(&f->models, o->window),
        .force_vocab = o->force_vocab};
    struct tf_search_rule rule = rule_of(o, &f->models);
    size_t batch = tf_models_batch(&f->models, o->batch);
    f->decoder = tf_decoder_new(&f->models, &rule, (int)o->threads, batch, err);
    if (f->decoder == NULL)
        return -1;
    tf_progress_begin(&f->progress, o->progress, o->quiet);
    tf_models_told(&f->models, &f->progress);
    int rc = tf_paired_run(f->in, &job, &limits, err);
    tf_progress_end(&f->progress);
    if (rc < 0 && f->begun)
        tf_writer_fail(&f->out, err);
    return rc;
}

int tf_decode_run(const struct tf_decode_opts *o, const char *input, const char *output,
                  const struct tf_opt *table, struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL};
    const char *const inputs[] = {input, o->prefix};
    struct tf_out out = {0};
    struct filter f = {.o = o, .table = table, .out_file = &out, .bads.policy = o->bad};
    if (tf_out_open(&out, output, TF_OUT_BINARY, err) < 0)
        return -1;
    int rc = tf_models_open(&f.models, &o->models, o->device, o->precision, (int)o->threads,
                            TF_USE_DECODING, o->force_vocab, err);
    if (rc == 0 && (f.in = tf_paired_new(&f.models, inputs, o->prefix != NULL ? 2 : 1, tokens,
                                         tokens, err)) == NULL)
        rc = -1;
    if (rc == 0)
        rc = filter(&f, err);
    tf_decoder_free(f.decoder);
    tf_paired_free(f.in);
    tf_models_close(&f.models);
    tf_writer_release(&f.out);
    tf_arena_release(&f.header_mem);
    free(f.v);
    free(f.todo);
    rc = tf_out_finish(&out, rc, err);
    return rc < 0 ? rc : tf_bads_verdict(&f.bads, strcmp(input, "-") == 0 ? "stdin" : input, err);
}
