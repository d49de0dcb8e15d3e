/* decode_stream.c - see decode_stream.h. */
#include "infer/decode_stream.h"
#include "base/log.h"
#include "base/memory.h"
#include "infer/alignment_private.h"
#include "infer/lane_search_private.h"
#include "infer/terms_private.h"
#include "text/tags.h"
#include "text/vocab_file.h"

#include <stdlib.h>

struct decode {
    struct tf_session s;
    const struct tf_decode_opts *o;
    const struct tf_opt *table;
    struct tf_search_opts search_opts;
    struct tf_search_memory memory;
    struct tf_insertions insertions;
    struct tf_forbidden forbidden;
    struct tf_terms terms;
    struct tf_diverse diverse;
    struct tf_shortlist shortlist;
    bool list_is_text;
    struct tf_allowed_rule allowed;
    struct tf_arena wanted;         /* of the window */
    uint64_t number;                /* of its first record */
    struct tf_lane_search **search; /* one per lane */
    struct tf_sentence *sentences;  /* of the window */
    struct tf_lane_item *items;     /* the good ones among them */
    /* Lanes write what is ready of the window, in order: held by one that does. */
    pthread_mutex_t lock;
    size_t next; /* the first that is not written */
    int rc;      /* -1: writing has failed, as `failure` says */
    struct tf_err failure;
    /* With --alignment a forward pass over the outputs follows the search. */
    struct tf_alignment alignment;
    struct tf_lane_forward **forward; /* one per lane */
    struct tf_forward_pair *outputs;  /* of the window */
    uint64_t tokens;
    uint32_t begin; /* id of the first piece of every output, if has_begin */
    bool has_begin;
};

static struct tf_search_opts search_opts(const struct tf_decode_opts *o,
                                         const struct tf_ensemble *m)
{
    const struct tf_config *c = &m->model[0].config;
    struct tf_search_opts r = o->search;
    r.V = (size_t)c->vocab_size;
    r.K = (size_t)(r.sample ? o->nbest : o->beam);
    r.N = (size_t)o->nbest;
    if (o->diverse > 0)
        r.N = r.K = (size_t)(o->beam / o->diverse);
    r.start = tf_start_id(c);
    r.eos = (uint32_t)c->eos;
    r.ids = (size_t)m->ids;
    r.seed = (uint64_t)o->seed;
    r.rule = o->constraints != NULL || o->terms != NULL ? TF_SEARCH_PAPER
             : o->early_stopping ? TF_SEARCH_CTRANSLATE2
             : o->rule > 0     ? (enum tf_search_rule)(o->rule - 1)
                               : TF_SEARCH_PAPER;
    if (o->constraints != NULL || o->terms != NULL) {
        r.ngram = 0;
        r.K = (size_t)o->terms_beam;
    }
    if (r.rule == TF_SEARCH_TRANSFORMERS) /* its end depends on the K-th */
        r.N = r.K;
    int64_t ban[] = {c->pad, c->bos, m->header.special.bos,
                     o->allow_unk ? -1 : m->header.special.unk};
    for (size_t i = 0; i < sizeof ban / sizeof *ban; i++)
        if (ban[i] >= 0 && ban[i] != c->eos)
            r.ban[r.n_ban++] = (uint32_t)ban[i];
    return r;
}

/* A model of many languages whose outputs begin with a tag does not choose one. */
static void warn_untagged(const struct tf_ensemble *m)
{
    struct tf_tags tags;
    if (m->vocab == NULL || m->model[0].config.source_vocab_size > 0)
        return;
    tf_tags_read(&tags, m->vocab, m->vocab_n);
    if (tags.n > 1 && !tags.of_text)
        tf_warn("%s: a model of %zu languages without --begin, such as --begin %s (tf-info lists "
                "the tags)",
                m->name, tags.n, tags.v[0]);
    tf_tags_release(&tags);
}

static int find_begin(struct decode *d, struct tf_err *err)
{
    const struct tf_ensemble *m = &d->s.models;
    const char *text = d->o->begin;
    d->has_begin = text != NULL;
    if (text == NULL) {
        if (d->o->prefix == NULL)
            warn_untagged(m);
        return 0;
    }
    if (m->vocab == NULL || m->model[0].config.source_vocab_size > 0)
        return tf_fail_status(err, TF_USAGE,
                              "--begin: %s has no vocabulary of both sides; use "
                              "--prefix",
                              m->name);
    const struct tf_config *c = &m->model[0].config;
    const struct tf_special *special = &m->header.special;
    const struct tf_begin b = {m->vocab,
                               m->vocab_n,
                               m->ids,
                               {c->eos, c->pad, c->bos, special->bos, special->unk, special->pad,
                                special->eos},
                               m->name};
    return tf_begin_find(&b, text, &d->begin, err);
}

static bool has_terms(const struct decode *d)
{
    return d->o->constraints != NULL || d->o->terms != NULL;
}

/* Some constraints need the memory of the search on the host. */
static int refuse_gpu(const struct decode *d, struct tf_err *err)
{
    const struct tf_decode_opts *o = d->o;
    const char *option = o->insert != NULL        ? "insert"
                         : o->forbid != NULL      ? "forbid"
                         : o->constraints != NULL ? "constraints"
                         : o->terms != NULL       ? "terms"
                         : o->diverse > 0         ? "diverse"
                                                  : NULL;
    if (option == NULL || d->s.models.be->host)
        return 0;
    return tf_fail_status(err, TF_USAGE, "--%s: runs on the CPU only; use --device cpu", option);
}

static int parse_own_list(struct decode *d, const struct tf_shortlist_vocab *vocab, uint8_t sum[32],
                          struct tf_err *err)
{
    const struct tf_ensemble *m = &d->s.models;
    const struct tf_value *v = &m->shortlist;
    if (v->kind == TF_NULL)
        return tf_fail(err, "%s: has no shortlist (tf-convert --shortlist adds one)", m->name);
    if (v->kind != TF_BYTES)
        return tf_fail(err, "%s: state shortlist: not bytes", m->name);
    tf_sha256_of(sum, v->text, v->n);
    return tf_shortlist_parse(&d->shortlist, v->text, v->n, vocab, err) == 0
               ? 0
               : tf_fail(err, "%s: %s (--shortlist none does without)", m->name, err->msg);
}

static int read_shortlist(struct decode *d, struct tf_err *err)
{
    const struct tf_decode_opts *o = d->o;
    struct tf_ensemble *m = &d->s.models;
    const struct tf_config *c = &m->model[0].config;
    const struct tf_shortlist_vocab vocab = {
        .source = m->vocab,
        .source_n = m->vocab_n,
        .target = m->target_vocab.p,
        .target_n = m->target_vocab.n,
        .source_ids = (size_t)m->source_ids,
        .target_ids = (size_t)m->ids,
        .unk = m->header.special.unk,
    };
    const struct tf_shortlist_cut cut = {(size_t)o->shortlist_first, (size_t)o->shortlist_best,
                                         o->shortlist_threshold};
    uint8_t sum[32];
    const int rc = o->run.list == TF_LIST_FILE
                       ? tf_shortlist_read(&d->shortlist, o->shortlist, &vocab,
                                           o->shortlist_cut ? &cut : NULL, sum,
                                           &d->list_is_text, err)
                       : parse_own_list(d, &vocab, sum, err);
    if (rc != 0)
        return -1;
    d->allowed = (struct tf_allowed_rule){.list = &d->shortlist,
                                          .ids = (size_t)m->ids,
                                          .eos = (uint32_t)c->eos,
                                          .source_eos = c->source_eos,
                                          .one_vocab = c->source_vocab_size == 0};
    tf_ensemble_add_input(m, "shortlist", sum);
    return 0;
}

/* The options of the search, and what they name besides streams. */
static int read_lists(struct decode *d, struct tf_err *err)
{
    d->search_opts = search_opts(d->o, &d->s.models);
    return refuse_gpu(d, err) != 0 || (d->s.models.listed && read_shortlist(d, err) != 0) ||
                   (d->o->forbid != NULL &&
                    tf_forbidden_read(&d->forbidden, d->o->forbid, &d->s.models, err) != 0) ||
                   (has_terms(d) &&
                    tf_terms_read(&d->terms, d->o->constraints, d->o->terms, d->o->terms_name,
                                  &d->s.models, &d->search_opts, err) != 0)
               ? -1
               : 0;
}

static int start_decode(struct decode *d, struct tf_err *err)
{
    if (find_begin(d, err) != 0 ||
        (d->o->alignment &&
         tf_alignment_open(&d->alignment, d->o->alignment_head, &d->s.models, err) != 0))
        return -1;
    const int64_t longest = d->o->run.max_length;
    d->s.in.side[0] = tf_input_side(&d->s.models, 0, "source", longest, "--max-length allows");
    d->s.in.side[1] = tf_input_side(&d->s.models, 1, "prefix", longest + d->o->max_extra,
                                    "--max-length and --max-extra allow");
    d->s.in.truncate = d->o->truncate;
    d->memory = tf_search_memory(&d->s.models, &d->search_opts);
    d->diverse = (struct tf_diverse){(size_t)d->o->diverse, d->o->diversity};
    if (d->o->diverse > 0)
        d->memory.copies = d->diverse.groups;
    d->insertions.most = (size_t)d->o->max_insert;
    if (d->o->insert != NULL &&
        tf_insertions_read(&d->insertions, d->o->insert, &d->s.models, &d->search_opts,
                           d->o->run.force, err) != 0)
        return -1;
    if (d->o->alignment)
        d->s.in.weights_per_cell = (size_t)d->o->nbest;
    if (tf_session_start(&d->s, d->memory.budget, err) != 0)
        return -1;
    if (d->o->alignment)
        d->forward = tf_lane_forward_new(d->s.lanes);
    const struct tf_search_limits limits = {
        .insertions = d->o->insert != NULL ? &d->insertions : NULL,
        .forbidden = d->o->forbid != NULL ? &d->forbidden : NULL,
        .allowed = d->s.models.listed ? &d->allowed : NULL,
        .continues = has_terms(d) ? &d->terms.continues : NULL,
        .wanted = {(size_t)d->o->beam, d->o->terms_sum},
        .diverse = d->o->diverse > 0 ? &d->diverse : NULL};
    d->search = tf_lane_search_new(d->s.lanes, &d->search_opts, limits);
    return 0;
}

/* The provenance of the prefixes does not tell what they were used for, and may equal that of the
 * sources: the stage gets a member "prefix". */
static int begin_part(void *arg, struct tf_err *err)
{
    struct decode *d = arg;
    struct tf_arena mem = {0};
    struct tf_header h = tf_ensemble_header(&d->s.models, &mem, d->s.in.header,
                                            d->o->nbest_out ? "nbest" : "tokens", d->table);
    if (d->o->prefix != NULL)
        tf_value_put(&mem, &h.made.items[h.made.n - 1], "prefix", tf_value_bool(true));
    if (has_terms(d) && d->o->terms_beam != d->o->beam)
        tf_value_put(&mem, &h.made.items[h.made.n - 1], "terms-beam",
                     tf_value_int(d->o->terms_beam));
    if (has_terms(d) && d->o->terms_sum)
        tf_value_put(&mem, &h.made.items[h.made.n - 1], "terms-alpha", tf_value_int(0));
    if (d->list_is_text) { /* other lists have their own numbers */
        tf_header_add_opt(&h, &mem, "shortlist-first", tf_value_int(d->o->shortlist_first));
        tf_header_add_opt(&h, &mem, "shortlist-best", tf_value_int(d->o->shortlist_best));
        tf_header_add_opt(&h, &mem, "shortlist-threshold",
                          tf_value_real(d->o->shortlist_threshold));
    }
    int rc = tf_output_begin(&d->s.out, &h, err);
    tf_arena_release(&mem);
    return rc;
}

/* Most tokens of the output for this item, but for those that it must have. */
static uint32_t output_limit(const struct decode *d, const struct tf_item *it)
{
    const double tokens = (double)it->n_source + d->o->count_end;
    size_t limit = (size_t)(d->o->max_factor * tokens) + (size_t)d->o->max_extra,
           positions = tf_ensemble_max_positions(&d->s.models);
    return (uint32_t)(limit < positions ? limit : positions - 1);
}

/* Find what the output of an item must have, and make room for it; or the item is bad. */
static int want(struct decode *d, struct tf_item *it, uint64_t number, struct tf_sentence *s,
                struct tf_err *err)
{
    if (has_terms(d) &&
        tf_terms_of(&d->terms, &d->wanted, number, it->source, it->n_source, &s->wanted) != 0)
        return tf_fail(err, "%s: %zu lines, fewer than the records of %s", d->o->constraints,
                       d->terms.n_lines, d->s.in.name);
    const size_t given = it->code == 0 ? s->n_prefix : 0,
                 terms = tf_wanted_rest(&s->wanted, d->terms.continues, s->prefix, given),
                 copied = d->o->insert != NULL ? it->n_source : 0,
                 least = s->n_prefix + terms + copied,
                 positions = tf_ensemble_max_positions(&d->s.models);
    if (it->code == 0 && (terms > TF_TERMS_MOST || least >= positions)) {
        it->code = TF_BAD_TOO_MANY_TOKENS;
        it->text = "its output must contain more tokens than it can have";
    } else if (s->limit < least) {
        s->limit = (uint32_t)least;
    }
    return 0;
}

/* The outputs of a sentence that are written; an item without becomes bad. */
static void judge(const struct decode *d, struct tf_item *it, struct tf_sentence *s)
{
    size_t ids = 0, bytes = 0;
    if (s->n_hyps > (size_t)d->o->nbest)
        s->n_hyps = (size_t)d->o->nbest;
    for (size_t i = 0; i < s->n_hyps; i++) {
        ids += s->hyps[i].n;
        bytes += 8 * s->hyps[i].n + 64;
        if (d->o->alignment)
            bytes += 4 * tf_alignment_cells(&d->alignment, s->n_src, s->hyps[i].n);
    }
    if (it->code != 0)
        return;
    if (s->n_src > 0 && s->n_hyps == 0) {
        it->code = TF_BAD_OTHER;
        it->text = "no hypothesis of finite probability";
    } else if (ids > TF_MAX_IDS) {
        it->code = TF_BAD_TOO_MANY_TOKENS;
        it->text = "hypotheses of more ids than a record holds";
    } else if (d->o->alignment && bytes + 4 * (size_t)s->n_src + 1024 > TF_MAX_RECORD) {
        it->code = TF_BAD_TOO_MANY_TOKENS;
        it->text = "alignments of more weights than a record holds";
    }
}

/* An empty source has one hypothesis, which is empty. */
static int write_result(struct decode *d, struct tf_item *it, const struct tf_sentence *s,
                        struct tf_err *err)
{
    static const float nothing[1] = {0};
    struct tf_hyp empty = {.token_logp = nothing, .alignment = d->o->alignment ? nothing : NULL};
    struct tf_hyp *h = s->n_src > 0 ? s->hyps : &empty;
    const size_t n = s->n_src > 0 ? s->n_hyps : 1;
    int good = tf_output_count(&d->s.out, it, d->s.in.name, err);
    if (good <= 0)
        return good;
    d->tokens += h[0].n;
    for (size_t i = 0; i < n && !d->o->token_scores; i++)
        h[i].token_logp = NULL;
    struct tf_record rec = {.type = d->o->nbest_out ? TF_REC_NBEST : TF_REC_TOKENS,
                            .idx = it->idx,
                            .ids = h[0].ids,
                            .n = h[0].n,
                            .hyps = h,
                            .n_hyps = n,
                            .cut = it->cut,
                            .has_cut = it->cut > 0,
                            .source = d->o->alignment ? it->source : NULL,
                            .n_source = it->n_source,
                            .alignment = h[0].alignment,
                            .n_alignment = h[0].n_alignment};
    return tf_writer_record(&d->s.out.writer, &rec, err);
}

static void free_hyps(const struct tf_sentence *s)
{
    for (size_t k = 0; k < s->n_hyps; k++)
        free((void *)(uintptr_t)s->hyps[k].alignment);
    free(s->hyps);
}

/* Write the sentences of the window that are ready, up to the first that is not. */
static void write_ready(struct decode *d)
{
    struct tf_sentence *s = d->sentences;
    for (; d->rc == 0 && d->next < d->s.in.n && s[d->next].ready; d->next++) {
        d->rc = write_result(d, &d->s.in.items[d->next], &s[d->next], &d->failure);
        free_hyps(&s[d->next]);
    }
}

/* Nobody sends more before the answers where the input pauses: they do not wait for the rest of the
 * window, and those that come together are sent together. With --alignment they get it first. */
static void sentence_done(void *arg, struct tf_sentence *s)
{
    struct decode *d = arg;
    pthread_mutex_lock(&d->lock);
    if (s != NULL) {
        judge(d, &d->s.in.items[s - d->sentences], s);
        s->ready = !d->o->alignment;
    } else {
        const size_t written = d->next;
        write_ready(d);
        if (d->rc == 0 && d->s.in.paused && d->next > written)
            d->rc = tf_output_flush(&d->s.out, &d->failure);
    }
    pthread_mutex_unlock(&d->lock);
}

static int search_group(void *arg, size_t lane, const struct tf_lane_item *group, size_t n,
                        struct tf_err *err)
{
    struct decode *d = arg;
    return tf_lane_search_run(d->search[lane], group, n, sentence_done, d, err);
}

static int align_group(void *arg, size_t lane, const struct tf_lane_item *group, size_t n,
                       struct tf_err *err)
{
    struct decode *d = arg;
    return tf_alignment_group(&d->alignment, d->forward[lane], group, n, err);
}

/* Give each output of the window its alignment. */
static int align_window(struct decode *d, struct tf_err *err)
{
    struct tf_item *in = d->s.in.items;
    const struct tf_ensemble *m = &d->s.models;
    size_t n = 0;
    for (size_t i = 0; i < d->s.in.n; i++)
        n += in[i].code == 0 ? d->sentences[i].n_hyps : 0;
    d->outputs = tf_xarray(d->outputs, n + 1, sizeof *d->outputs);
    d->items = tf_xarray(d->items, n + 1, sizeof *d->items);
    struct tf_forward_pair *p = d->outputs;
    for (size_t i = 0; i < d->s.in.n; i++)
        for (size_t k = 0; in[i].code == 0 && k < d->sentences[i].n_hyps; k++, p++) {
            const struct tf_hyp *h = &d->sentences[i].hyps[k];
            *p = (struct tf_forward_pair){.src = in[i].source,
                                          .n_src = in[i].n_source,
                                          .tgt = h->ids,
                                          .n_tgt = (uint32_t)h->n};
            struct tf_lane_item *item = &d->items[p - d->outputs];
            *item = tf_forward_item(p, m, &d->alignment.watch);
            /* The lanes' budget is that of the search. */
            item->cost = item->cost * (d->memory.budget / tf_forward_budget(m) + 1);
        }
    const int rc = tf_lanes_run(d->s.lanes, d->items, n, align_group, d, err);
    p = d->outputs;
    for (size_t i = 0; i < d->s.in.n; i++) {
        const bool good = in[i].code == 0;
        for (size_t k = 0; good && k < d->sentences[i].n_hyps; k++, p++) {
            struct tf_hyp *h = &d->sentences[i].hyps[k];
            h->alignment = p->weights[TF_ATTENTION_CROSS];
            h->n_alignment = tf_alignment_cells(&d->alignment, p->n_src, p->n_tgt);
            if (rc == 0 && !tf_alignment_is_finite(h->alignment, h->n_alignment)) {
                in[i].code = TF_BAD_OTHER;
                in[i].text = "an attention weight that is not finite";
            }
        }
    }
    return rc;
}

static int decode_window(void *arg, struct tf_err *err)
{
    struct decode *d = arg;
    struct tf_item *in = d->s.in.items;
    size_t n = d->s.in.n, good = 0;
    d->sentences = tf_xarray(d->sentences, n, sizeof *d->sentences);
    d->items = tf_xarray(d->items, n, sizeof *d->items);
    tf_arena_clear(&d->wanted);
    for (size_t i = 0; i < n; i++) {
        d->sentences[i] = (struct tf_sentence){.src = in[i].source,
                                               .n_src = in[i].n_source,
                                               .prefix = d->has_begin ? &d->begin : in[i].given,
                                               .n_prefix = d->has_begin ? 1 : in[i].n_given,
                                               .limit = output_limit(d, &in[i]),
                                               .key = in[i].idx};
        if (want(d, &in[i], d->number++, &d->sentences[i], err) != 0)
            return -1;
        if (in[i].code == 0 && in[i].n_source > 0)
            d->items[good++] = tf_search_item(&d->sentences[i], &d->search_opts, &d->memory);
        else
            d->sentences[i].ready = true;
    }
    d->next = 0;
    int rc = tf_lanes_run(d->s.lanes, d->items, good, search_group, d, err);
    if (rc == 0 && d->rc == 0 && d->o->alignment)
        rc = align_window(d, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        d->sentences[i].ready = true;
    write_ready(d);
    for (; d->next < n; d->next++)
        free_hyps(&d->sentences[d->next]);
    if (rc == 0 && d->rc != 0)
        *err = d->failure;
    if (rc == 0)
        rc = d->rc;
    if (tf_progress_due(&d->s.progress)) {
        double t = tf_now() - d->s.progress.start;
        tf_progress_show(&d->s.progress, "%llu lines, %.1f lines/s, %.0f tokens/s",
                         (unsigned long long)d->s.out.count.total, (double)d->s.out.count.total / t,
                         (double)d->tokens / t);
    }
    return rc;
}

static void release_decode(struct decode *d)
{
    pthread_mutex_destroy(&d->lock);
    tf_lane_search_free(d->search, d->s.lanes);
    tf_lane_forward_free(d->forward, d->s.lanes);
    tf_alignment_close(&d->alignment);
    free(d->sentences);
    free(d->outputs);
    free(d->items);
    tf_insertions_release(&d->insertions);
    tf_forbidden_release(&d->forbidden);
    tf_shortlist_release(&d->shortlist);
    tf_terms_release(&d->terms);
    tf_arena_release(&d->wanted);
}

int tf_decode_stream(const struct tf_decode_opts *o, const char *input, const char *output,
                     const struct tf_opt *table, struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL};
    const struct tf_input_spec in = {.paths = (const char *const[]){input, o->prefix},
                                     .n = o->prefix != NULL ? 2 : 1,
                                     .single = tokens,
                                     .second = tokens};
    struct decode d = {.o = o, .table = table};
    pthread_mutex_init(&d.lock, NULL);
    int rc = tf_session_open(&d.s, &o->run, TF_USE_DECODING, output, false, err);
    if (rc == 0)
        rc = read_lists(&d, err);
    if (rc == 0)
        rc = tf_session_input(&d.s, &in, err);
    if (rc == 0)
        rc = start_decode(&d, err);
    if (rc == 0)
        rc = tf_session_run(&d.s, begin_part, decode_window, &d, err);
    if (rc == 0 && d.terms.n_lines > d.number)
        rc = tf_fail(err, "%s: %zu lines for %llu records", o->constraints, d.terms.n_lines,
                     (unsigned long long)d.number);
    release_decode(&d);
    return tf_session_close(&d.s, rc, err);
}
