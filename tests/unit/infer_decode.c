/* tf_decode_stream on small random models: the same bytes for any batch, window and number of
 * threads; one output record per input record; scores equal to those of a forward pass. */
/* tags: no-emulator */
#include "../harness/model.h"
#include "../harness/stream.h"
#include "../harness/temp.h"
#include "base/bad.h"
#include "base/rng.h"
#include "base/sanitize_private.h"
#include "infer/decode_stream.h"

#if TF_ASAN
enum { LINES = 34 };
#else
enum { LINES = 90 };
#endif
enum { MAX_HYPS = 8 };

static struct token_line lines[LINES];
static const char *models[4];
static struct tf_opt no_opts[] = {{.kind = TF_OPT_END}};

/* A decoded stream in memory. */
struct got {
    int type[2 * LINES];
    uint64_t idx[2 * LINES];
    struct tf_hyp hyps[2 * LINES][MAX_HYPS];
    uint32_t ids[2 * LINES][MAX_HYPS][160];
    float terms[2 * LINES][MAX_HYPS][160];
    size_t n_hyps[2 * LINES], n;
    int code[2 * LINES];
    struct tf_special special;
    char kind[16];
};

static struct got a, b;

static struct tf_decode_opts defaults(void)
{
    return (struct tf_decode_opts){.run.models = {.v = models, .n = 1},
                                   .run.device = "cpu",
                                   .beam = 4,
                                   .nbest = 1,
                                   .max_extra = 12,
                                   .max_factor = 1,
                                   .run.max_length = 40,
                                   .run.batch = 64,
                                   .run.window = 2048,
                                   .run.threads = 1,
                                   .search = {.alpha = 0.6, .temperature = 1},
                                   .seed = 1};
}

static void keep_hyp(struct got *g, size_t k, const struct tf_hyp *h)
{
    size_t i = g->n;
    if (h->n >= 160 || k >= MAX_HYPS)
        TF_BUG("too long");
    g->hyps[i][k] = *h;
    memcpy(g->ids[i][k], h->ids, h->n * sizeof *h->ids);
    if (h->token_logp)
        memcpy(g->terms[i][k], h->token_logp, (h->n + 1) * sizeof *h->token_logp);
}

static void read_back(struct got *g, const char *path)
{
    struct tf_err err = {0};
    struct tf_in in;
    struct tf_reader *r;
    struct tf_record rec;
    memset(g, 0, sizeof *g);
    must(tf_in_open(&in, path, &err), &err);
    must(tf_reader_new(&r, &in, NULL, 0, &err), &err);
    g->special = tf_reader_header(r)->special;
    snprintf(g->kind, sizeof g->kind, "%s", tf_reader_header(r)->kind);
    int rc;
    while ((rc = tf_reader_next(r, &rec, &err)) > 0) {
        g->type[g->n] = rec.type;
        g->idx[g->n] = rec.idx;
        g->code[g->n] = rec.type == TF_REC_BAD ? rec.fault.code : 0;
        if (rec.type == TF_REC_TOKENS)
            keep_hyp(g, 0, &(struct tf_hyp){.ids = rec.ids, .n = rec.n});
        for (size_t k = 0; rec.type == TF_REC_NBEST && k < rec.n_hyps; k++)
            keep_hyp(g, k, &rec.hyps[k]);
        g->n_hyps[g->n++] = rec.type == TF_REC_NBEST ? rec.n_hyps : 1;
    }
    must(rc, &err);
    tf_reader_free(r);
    tf_in_close(&in);
}

static int decode(struct tf_decode_opts o, const char *in, const char *out, struct tf_err *err)
{
    *err = (struct tf_err){0};
    return tf_decode_stream(&o, in, out, no_opts, err);
}

static void make_lines(void)
{
    struct tf_rng r = tf_rng_new(2, 0);
    for (size_t i = 0; i < LINES; i++) {
        lines[i].idx = i;
        lines[i].n = tf_rng_below(&r, 20);
        lines[i].code = i % 17 == 5 ? TF_BAD_UTF8 : 0;
        for (size_t j = 0; j < lines[i].n; j++)
            lines[i].ids[j] = 4 + (uint32_t)tf_rng_below(&r, TOKEN_LINE_V - 4);
    }
    lines[3].n = 0;
    lines[8].n = 45; /* over max_length */
    for (size_t j = 0; j < lines[8].n; j++)
        lines[8].ids[j] = 9;
}

static void layouts(const char *what, struct tf_decode_opts o)
{
    struct tf_err err;
    static const int64_t batches[] = {1, 7, 64}, windows[] = {1, 5, 2048};
    char first[128];
    snprintf(first, sizeof first, "%s", temp_path("first.tfs"));
    is_int(decode(o, temp_path("in.tfs"), first, &err), TF_PARTIAL,
           "%s: finishes, with bad records", what);
    bool same = true;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int64_t threads = 1; threads <= 2; threads++) {
                /* With AddressSanitizer each batch and window once with each number of threads. */
                if (TF_ASAN && (i + j + threads) % 3 != 0)
                    continue;
                o.run.batch = batches[i], o.run.window = windows[j], o.run.threads = threads;
                if (decode(o, temp_path("in.tfs"), temp_path("again.tfs"), &err) != TF_PARTIAL ||
                    !same_files(first, temp_path("again.tfs"))) {
                    same = false;
                    printf("# batch %lld window %lld threads %lld: %s\n", (long long)o.run.batch,
                           (long long)o.run.window, (long long)threads, err.msg);
                }
            }
    ok(same, "%s: the same bytes for batch 1, 7, 64, window 1, 5, 2048, 1 and 2 threads", what);
}

static void one_for_one(void)
{
    struct tf_err err;
    struct tf_decode_opts o = defaults();
    is_int(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err), TF_PARTIAL, "decodes");
    read_back(&a, temp_path("out.tfs"));
    is_str(a.kind, "tokens", "token stream to token stream");
    bool order = a.n == LINES, bad = true, special = true, some = false;
    for (size_t i = 0; order && i < LINES; i++) {
        order = a.idx[i] == i;
        bad &= (a.type[i] == TF_REC_BAD) == (lines[i].code != 0 || i == 8);
        for (size_t j = 0; j < a.hyps[i][0].n; j++)
            special &= a.ids[i][0][j] > 3;
        special &= a.hyps[i][0].n <= lines[i].n + 12;
        some |= a.hyps[i][0].n > 3;
    }
    ok(order, "one record per input record, in order");
    ok(bad, "bad records are passed on, and a sentence that is too long becomes one");
    is_int(a.code[8], TF_BAD_TOO_MANY_TOKENS, "too many tokens");
    ok(a.type[3] == TF_REC_TOKENS && a.hyps[3][0].n == 0, "an empty source has an empty output");
    ok(special && some, "no special ids, and no output exceeds its limit");

    o.allow_unk = o.search.sample = o.nbest_out = true;
    o.nbest = MAX_HYPS;
    is_int(decode(o, temp_path("in.tfs"), temp_path("unk.tfs"), &err), TF_PARTIAL, "unk allowed");
    read_back(&b, temp_path("unk.tfs"));
    bool unk = false;
    special = true;
    for (size_t i = 0; i < b.n; i++)
        for (size_t k = 0; b.type[i] == TF_REC_NBEST && k < b.n_hyps[i]; k++)
            for (size_t j = 0; j < b.hyps[i][k].n; j++) {
                unk |= b.ids[i][k][j] == 1;
                special &= b.ids[i][k][j] == 1 || b.ids[i][k][j] > 3;
            }
    ok(unk && special, "the output has unk, and no other special id");

    o = defaults();
    o.run.bad = TF_ON_BAD_OK;
    is_int(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err), 0, "--bad=ok");
    o.run.bad = TF_ON_BAD_FAIL;
    ok(decode(o, temp_path("in.tfs"), temp_path("none.tfs"), &err) < 0 &&
           strstr(err.msg, "record 5: "),
       "--bad=fail: %s", err.msg);
    ok(!file_exists(temp_path("none.tfs")), "and the output file does not appear");

    /* The result of a line does not depend on its place. */
    static struct token_line back[LINES];
    for (size_t i = 0; i < LINES; i++) {
        back[i] = lines[LINES - 1 - i];
        back[i].idx = i;
    }
    write_tokens(temp_path("back.tfs"), back, LINES, 7);
    o = defaults();
    is_int(decode(o, temp_path("back.tfs"), temp_path("back.out"), &err), TF_PARTIAL,
           "decodes the lines in reverse");
    read_back(&b, temp_path("back.out"));
    bool same = b.n == a.n;
    for (size_t i = 0; same && i < LINES; i++) {
        size_t j = LINES - 1 - i;
        same = a.type[i] == b.type[j] && a.hyps[i][0].n == b.hyps[j][0].n &&
               memcmp(a.ids[i][0], b.ids[j][0], a.hyps[i][0].n * sizeof(uint32_t)) == 0;
    }
    ok(same, "and finds the same outputs");
}

/* The log-probability of a pair by tf_forward. */
static double forward(struct tf_ensemble *m, struct tf_work *k, const struct token_line *src,
                      const struct tf_hyp *h, const uint32_t *ids, float *terms)
{
    struct tf_err err = {0};
    struct tf_pairs p = {0};
    struct tf_sums sums = {0};
    uint32_t src_off[] = {0, (uint32_t)src->n}, tgt_off[] = {0, (uint32_t)h->n};
    must(tf_pairs_set(&p, &m->model[0].config, 1, src->ids, src_off, ids, tgt_off, &err), &err);
    must(tf_ensemble_positions(m, p.longest, &err), &err);
    must(tf_forward(k, &sums, terms, &p, 0, 1, &err), &err);
    tf_pairs_release(&p);
    return -sums.nll;
}

static void scores(const char *model, const char *device, double tolerance)
{
    struct tf_err err = {0};
    struct tf_decode_opts o = defaults();
    struct tf_ensemble m;
    o.run.models.v = &model;
    o.run.device = device;
    o.nbest = 3, o.nbest_out = o.token_scores = true;
    is_int(decode(o, temp_path("in.tfs"), temp_path("nbest.tfs"), &err), TF_PARTIAL,
           "%s: 3 best with token scores", device);
    read_back(&a, temp_path("nbest.tfs"));
    must(tf_ensemble_open(&m, &o.run.models, device, NULL, false, 1, TF_USE_SCORING, false,
                          (struct tf_force){0}, &err),
         &err);
    struct tf_work *k = tf_work_new(&m.model[0], m.replica->ctx);
    double worst = 0, worst_term = 0, worst_score = 0;
    bool sorted = true, full = true;
    for (size_t i = 0; i < a.n; i++) {
        full &= a.type[i] != TF_REC_NBEST || lines[i].n == 0 || a.n_hyps[i] == 3;
        for (size_t j = 0; a.type[i] == TF_REC_NBEST && lines[i].n > 0 && j < a.n_hyps[i]; j++) {
            float terms[160];
            const struct tf_hyp *h = &a.hyps[i][j];
            double logp = forward(&m, k, &lines[i], h, a.ids[i][j], terms);
            worst = fmax(worst, fabs(logp - (double)h->logp));
            worst_score =
                fmax(worst_score, fabs((double)h->score -
                                       (double)h->logp / pow((5 + (double)h->n + 1) / 6, 0.6)));
            for (size_t t = 0; t <= h->n; t++)
                worst_term = fmax(worst_term, fabs((double)terms[t] - (double)a.terms[i][j][t]));
            sorted &= j == 0 || h->score <= a.hyps[i][j - 1].score;
        }
    }
    ok(worst < tolerance && worst_term < tolerance,
       "%s: log-probabilities equal a forward pass's (off by %g per sentence, %g per token)",
       device, worst, worst_term);
    ok(worst_score < 1e-5, "%s: score = logp / ((5 + len) / 6)^0.6, len with EOS", device);
    ok(sorted && full, "%s: three hypotheses each, best first", device);
    tf_work_free(k);
    tf_ensemble_close(&m);
}

static void devices_agree(void)
{
    struct tf_err err;
    struct tf_decode_opts o = defaults();
    is_int(decode(o, temp_path("in.tfs"), temp_path("cpu.tfs"), &err), TF_PARTIAL, "cpu");
    o.run.device = "ref";
    is_int(decode(o, temp_path("in.tfs"), temp_path("ref.tfs"), &err), TF_PARTIAL, "ref");
    read_back(&a, temp_path("cpu.tfs"));
    read_back(&b, temp_path("ref.tfs"));
    int differ = 0;
    for (size_t i = 0; i < a.n; i++)
        differ += a.hyps[i][0].n != b.hyps[i][0].n ||
                  memcmp(a.ids[i][0], b.ids[i][0], a.hyps[i][0].n * sizeof(uint32_t)) != 0;
    ok(a.n == b.n && differ <= 1, "cpu and ref find the same outputs (%d of %zu differ)", differ,
       a.n);
}

static void prefixes(void)
{
    struct tf_err err;
    static struct token_line prefix[LINES];
    struct tf_rng r = tf_rng_new(9, 0);
    memcpy(prefix, lines, sizeof prefix);
    for (size_t i = 0; i < LINES; i++) {
        prefix[i].code = i == 20 ? TF_BAD_UTF8 : 0;
        prefix[i].n = tf_rng_below(&r, 6);
        for (size_t j = 0; j < prefix[i].n; j++)
            prefix[i].ids[j] = 4 + (uint32_t)tf_rng_below(&r, TOKEN_LINE_V - 4);
    }
    prefix[30].n = 35; /* longer than the limit */
    for (size_t j = 0; j < 35; j++)
        prefix[30].ids[j] = 11;
    prefix[31].n = 1;
    prefix[31].ids[0] = 3; /* EOS */
    prefix[32].n = 1;
    prefix[32].ids[0] = 1; /* unk may be forced */
    write_tokens(temp_path("prefix.tfs"), prefix, LINES, 7);
    struct tf_decode_opts o = defaults();
    char path[128];
    snprintf(path, sizeof path, "%s", temp_path("prefix.tfs"));
    o.prefix = path;
    is_int(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err), TF_PARTIAL,
           "decodes with prefixes");
    read_back(&a, temp_path("out.tfs"));
    bool good = a.n == LINES;
    for (size_t i = 0; good && i < LINES; i++)
        if (a.type[i] == TF_REC_TOKENS && lines[i].n > 0)
            good = a.hyps[i][0].n >= prefix[i].n &&
                   memcmp(a.ids[i][0], prefix[i].ids, prefix[i].n * sizeof(uint32_t)) == 0;
    ok(good, "every output begins with its prefix");
    is_int(a.type[20], TF_REC_BAD, "a bad prefix makes its line bad");
    is_int(a.hyps[30][0].n, 35, "a prefix longer than the limit gets no more tokens");
    ok(a.type[31] == TF_REC_BAD && a.type[32] == TF_REC_TOKENS,
       "EOS in a prefix is refused, unk is not");
    layouts("prefixes", o);
    write_tokens(temp_path("prefix.tfs"), prefix, LINES - 1, 7);
    ok(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err) < 0 &&
           strstr(err.msg, "ends before"),
       "too few prefixes: %s", err.msg);
    write_tokens(temp_path("prefix.tfs"), prefix, LINES, 8);
    ok(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err) < 0 &&
           strstr(err.msg, "vocabulary"),
       "prefixes of another vocabulary: %s", err.msg);
}

static void ensembles(void)
{
    struct tf_err err;
    struct tf_decode_opts o = defaults();
    const char *twice[] = {models[0], models[0]}, *mixed[] = {models[0], models[1]},
               *other[] = {models[0], models[3]};
    o.nbest = 2, o.nbest_out = true;
    is_int(decode(o, temp_path("in.tfs"), temp_path("one.tfs"), &err), TF_PARTIAL, "one model");
    o.run.models = (struct tf_strs){.v = twice, .n = 2};
    is_int(decode(o, temp_path("in.tfs"), temp_path("two.tfs"), &err), TF_PARTIAL,
           "the same twice");
    read_back(&a, temp_path("one.tfs"));
    read_back(&b, temp_path("two.tfs"));
    int differ = 0;
    double worst = 0;
    for (size_t i = 0; i < a.n; i++) {
        differ += a.hyps[i][0].n != b.hyps[i][0].n ||
                  memcmp(a.ids[i][0], b.ids[i][0], a.hyps[i][0].n * sizeof(uint32_t)) != 0;
        worst = fmax(worst, fabs((double)a.hyps[i][0].logp - (double)b.hyps[i][0].logp));
    }
    ok(differ <= 1 && worst < 1e-3,
       "a model averaged with itself is itself (%d differ, logp off by %g)", differ, worst);
    o.run.models = (struct tf_strs){.v = mixed, .n = 2};
    is_int(decode(o, temp_path("in.tfs"), temp_path("mix.tfs"), &err), TF_PARTIAL, "two models");
    ok(!same_files(temp_path("mix.tfs"), temp_path("one.tfs")), "have an output of their own");
    layouts("ensemble", o);
    o.run.models = (struct tf_strs){.v = other, .n = 2};
    ok(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err) < 0 && strstr(err.msg, "60 ids"),
       "models of different sizes: %s", err.msg);
}

static void limits(void)
{
    struct tf_err err;
    struct tf_decode_opts o = defaults();
    o.run.models.v = &models[2]; /* 16 learned positions */
    is_int(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err), TF_PARTIAL,
           "a model with learned positions");
    read_back(&a, temp_path("out.tfs"));
    bool good = a.n == LINES;
    for (size_t i = 0; good && i < LINES; i++)
        good = (a.type[i] == TF_REC_BAD) == (lines[i].code != 0 || lines[i].n > 15) &&
               a.hyps[i][0].n <= 15;
    ok(good, "sources and outputs do not exceed the learned positions");

    static struct token_line odd[3];
    odd[0].ids[0] = 49, odd[0].n = 1;
    odd[1].ids[0] = TOKEN_LINE_V, odd[1].n = 1, odd[1].idx = 1;
    odd[2].ids[0] = 3, odd[2].n = 1, odd[2].idx = 2;
    const char *small = temp_path("small.tfm");
    struct tf_config c = decode_config();
    c.vocab_size = 40;
    write_random_model(small, &c, 1, 1);
    o = defaults();
    write_tokens(temp_path("odd.tfs"), odd, 1, 7);
    o.run.models.v = &small;
    ok(decode(o, temp_path("odd.tfs"), temp_path("out.tfs"), &err) < 0 &&
           strstr(err.msg, "vocabulary of 50 ids"),
       "a stream of a larger vocabulary: %s", err.msg);
    write_tokens(temp_path("odd.tfs"), lines, 2, 9);
    o = defaults();
    ok(decode(o, temp_path("odd.tfs"), temp_path("out.tfs"), &err) < 0 && strstr(err.msg, "0707") &&
           strstr(err.msg, "0909"),
       "another vocabulary: %s", err.msg);
    o.run.force.vocab = true;
    is_int(decode(o, temp_path("odd.tfs"), temp_path("out.tfs"), &err), 0, "unless forced");

    o = defaults();
    o.max_extra = 0, o.beam = 1;
    is_int(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err), TF_PARTIAL,
           "no extra length, greedy");
    o.beam = 60;
    o.max_extra = 3;
    is_int(decode(o, temp_path("in.tfs"), temp_path("out.tfs"), &err), TF_PARTIAL,
           "a beam larger than the vocabulary");

    write_tokens(temp_path("parts.tfs"), lines, 10, 7);
    append_tokens(temp_path("parts.tfs"), lines, 4, 7);
    append_tokens(temp_path("parts.tfs"), lines, 0, 7);
    o = defaults();
    is_int(decode(o, temp_path("parts.tfs"), temp_path("out.tfs"), &err), TF_PARTIAL,
           "three parts");
    read_back(&a, temp_path("out.tfs"));
    is_int(a.n, 10 + 1 + 4 + 1, "give three parts with all records");
    ok(a.idx[9] == 9 && a.type[10] == TF_REC_HEADER && a.idx[11] == 0 &&
           a.type[15] == TF_REC_HEADER,
       "each with its own record numbers");
}

/* 1024 hypotheses that share a prefix of 1030 tokens, then a short sentence. */
static void too_many_ids(void)
{
    enum { LONG = 1030 };
    struct tf_err err = {0};
    struct tf_config c = decode_config();
    struct tf_decode_opts o = defaults();
    char tiny_path[128], path[128];
    const char *tiny = tiny_path;
    uint32_t ids[LONG];
    snprintf(tiny_path, sizeof tiny_path, "%s", temp_path("tiny.tfm"));
    snprintf(path, sizeof path, "%s", temp_path("long.tfs"));
    c.encoder_layers = c.decoder_layers = c.heads = 1;
    c.d_model = c.d_ff = 8, c.d_k = c.d_v = 4;
    write_random_model(tiny, &c, 1, 1);
    for (size_t i = 0; i < LONG; i++)
        ids[i] = 9;
    struct tf_out out;
    struct tf_writer w;
    struct tf_header h;
    plain_header(&h, "tokens", 7, TOKEN_LINE_V);
    must(tf_out_open(&out, path, 0, &err), &err);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    must(tf_writer_tokens(&w, 0, ids, LONG, &err), &err);
    must(tf_writer_tokens(&w, 1, ids, 1, &err), &err);
    must(tf_writer_end(&w, &err), &err);
    tf_writer_release(&w);
    must(tf_out_commit(&out, &err), &err);
    o.run.models.v = &tiny;
    o.prefix = path;
    o.run.max_length = LONG;
    o.max_extra = 2;
    o.beam = o.nbest = TF_SEARCH_MAX_BEAM, o.nbest_out = true;
    is_int(decode(o, path, temp_path("out.tfs"), &err), TF_PARTIAL,
           "more ids than a record holds: %s", err.msg);
    o.nbest = MAX_HYPS;
    is_int(decode(o, path, temp_path("few.tfs"), &err), 0, "fewer hypotheses fit");
    struct tf_in in;
    struct tf_reader *r;
    struct tf_record rec;
    must(tf_in_open(&in, temp_path("out.tfs"), &err), &err);
    must(tf_reader_new(&r, &in, NULL, 0, &err), &err);
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_BAD &&
           rec.fault.code == TF_BAD_TOO_MANY_TOKENS,
       "too many ids: a bad record");
    ok(tf_reader_next(r, &rec, &err) == 1 && rec.type == TF_REC_NBEST && rec.n_hyps > 100,
       "and the next sentence has its hypotheses");
    is_int(tf_reader_next(r, &rec, &err), 0, "and the stream ends");
    tf_reader_free(r);
    tf_in_close(&in);
}

static void damage(void)
{
    struct tf_err err;
    struct tf_decode_opts o = defaults();
    char *p;
    size_t n;
    p = read_file(temp_path("in.tfs"), &n);
    int refused = 0, tried = 0;
    for (size_t cut = 0; cut < n; cut += cut < 200 ? 7 : 331, tried++) {
        write_file(temp_path("cut.tfs"), p, cut);
        refused += decode(o, temp_path("cut.tfs"), temp_path("out.tfs"), &err) < 0 &&
                   strstr(err.msg, "truncated");
    }
    is_int(refused, tried, "a truncated stream is never taken for a complete one");
    free(p);
}

int main(void)
{
    tf_progname = "tf-decode";
    make_lines();
    write_tokens(temp_path("in.tfs"), lines, LINES, 7);
    for (int i = 0; i < 4; i++) {
        struct tf_config c = decode_config();
        char name[16];
        snprintf(name, sizeof name, "model%d.tfm", i);
        models[i] = temp_path(name);
        if (i == 1)
            c.pre_norm = c.final_norm = c.attention_bias = true, c.tie = TF_TIE_NONE,
            c.d_model = 24;
        if (i == 2)
            c.positions = TF_POS_LEARNED, c.max_positions = 16, c.start = TF_START_ZERO,
            c.tie = TF_TIE_DECODER;
        if (i == 3)
            c.vocab_size = 60;
        write_random_model(models[i], &c, (uint64_t)i + 1, 2);
    }
    struct tf_decode_opts o = defaults();
    one_for_one();
    layouts("beam 4", o);
    o.beam = 1;
    layouts("greedy", o);
    o = defaults();
    o.nbest = 3, o.nbest_out = o.token_scores = true;
    layouts("n-best with token scores", o);
    static const char *const rules[] = {"paper", "fairseq", "ctranslate2", "transformers",
                                        "marian"};
    for (int rule = TF_SEARCH_FAIRSEQ; rule <= TF_SEARCH_MARIAN; rule++) {
        o.rule = 1 + rule;
        layouts(rules[rule], o);
    }
    o = defaults();
    o.search.sample = o.nbest_out = true, o.nbest = 3;
    layouts("sampling", o);
    o = defaults();
    o.run.models.v = &models[1];
    layouts("pre-norm, separate embeddings, biases", o);
    scores(models[0], "cpu", 2e-4);
    scores(models[0], "ref64", 2e-5);
    scores(models[1], "cpu", 2e-4);
    scores(models[1], "ref64", 2e-5);
    devices_agree();
    prefixes();
    ensembles();
    limits();
    too_many_ids();
    damage();
    return done();
}
