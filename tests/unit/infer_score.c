/* tf_score_stream on small random models: scores equal to those of a forward pass and of tf-decode,
 * and the same bytes for any batch, window and number of threads. */
/* tags: no-emulator */
#include "../harness/model.h"
#include "../harness/stream.h"
#include "../harness/temp.h"
#include "base/bad.h"
#include "base/rng.h"
#include "infer/decode_stream.h"
#include "infer/score_stream.h"

enum { LINES = 80 };

static struct token_line src[LINES], tgt[LINES];
static const char *models[2];
static struct tf_opt no_opts[] = {{.kind = TF_OPT_END}};

static struct tf_score_opts defaults(void)
{
    return (struct tf_score_opts){.run.models = {.v = models, .n = 1},
                                  .run.device = "cpu",
                                  .run.max_length = 40,
                                  .run.batch = 64,
                                  .run.window = 2048,
                                  .run.threads = 1,
                                  .run.quiet = true};
}

static int score(struct tf_score_opts o, const char *a, const char *b, const char *out,
                 struct tf_err *err)
{
    const char *in[] = {a, b};
    *err = (struct tf_err){0};
    return tf_score_stream(&o, in, b ? 2 : 1, out, no_opts, err);
}

struct scores {
    float logp[LINES], terms[LINES][64];
    size_t n_terms[LINES], n;
    int type[LINES];
    uint64_t idx[LINES];
};

static void read_back(struct scores *s, const char *path)
{
    struct tf_err err = {0};
    struct tf_in in;
    struct tf_reader *r;
    struct tf_record rec;
    int rc;
    memset(s, 0, sizeof *s);
    must(tf_in_open(&in, path, &err), &err);
    must(tf_reader_new(&r, &in, NULL, 0, &err), &err);
    is_str(tf_reader_header(r)->kind, "scores", "a score stream");
    while ((rc = tf_reader_next(r, &rec, &err)) > 0 && s->n < LINES) {
        s->type[s->n] = rec.type;
        s->idx[s->n] = rec.idx;
        s->logp[s->n] = rec.score.logp;
        s->n_terms[s->n] = rec.score.token_logp ? rec.score.n : 0;
        if (rec.type == TF_REC_SCORE && rec.score.token_logp)
            memcpy(s->terms[s->n], rec.score.token_logp, rec.score.n * sizeof(float));
        s->n++;
    }
    must(rc, &err);
    tf_reader_free(r);
    tf_in_close(&in);
}

/* Write src and tgt as a pair stream, and the good ones as a batch stream. */
static void write_pairs(const char *pairs, const char *batches)
{
    struct tf_err err = {0};
    struct tf_out out;
    struct tf_writer w = {0};
    struct tf_header h;
    plain_header(&h, "pairs", 7, TOKEN_LINE_V);
    must(tf_out_open(&out, pairs, 0, &err), &err);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    for (size_t i = 0; i < LINES; i++)
        must(src[i].code || tgt[i].code
                 ? tf_writer_bad(&w, i, TF_BAD_UTF8, "damaged", &err)
                 : write_pair(&w, i, src[i].ids, src[i].n, tgt[i].ids, tgt[i].n, &err),
             &err);
    must(tf_writer_end(&w, &err), &err);
    tf_writer_release(&w);
    must(tf_out_commit(&out, &err), &err);

    static uint32_t s[LINES * 64], t[LINES * 64], s_off[LINES + 1], t_off[LINES + 1], idx[LINES];
    struct tf_batch b = {.src = s, .tgt = t, .src_off = s_off, .tgt_off = t_off, .idx = idx};
    for (size_t i = LINES; i-- > 0;) { /* in another order */
        if (src[i].code || tgt[i].code || src[i].n > 40)
            continue;
        memcpy(s + s_off[b.n], src[i].ids, src[i].n * sizeof *s);
        memcpy(t + t_off[b.n], tgt[i].ids, tgt[i].n * sizeof *t);
        idx[b.n] = (uint32_t)i;
        s_off[b.n + 1] = s_off[b.n] + (uint32_t)src[i].n;
        t_off[b.n + 1] = t_off[b.n] + (uint32_t)tgt[i].n;
        b.n++;
    }
    plain_header(&h, "batch", 7, TOKEN_LINE_V);
    must(tf_out_open(&out, batches, 0, &err), &err);
    must(tf_writer_begin(&w, &out, &h, &err), &err);
    must(tf_writer_batch(&w, &b, &err), &err);
    must(tf_writer_end(&w, &err), &err);
    tf_writer_release(&w);
    must(tf_out_commit(&out, &err), &err);
}

static void layouts(const char *what, struct tf_score_opts o)
{
    struct tf_err err;
    static const int64_t batches[] = {1, 7, 64}, windows[] = {1, 9, 2048};
    is_int(score(o, temp_path("src.tfs"), temp_path("tgt.tfs"), temp_path("first"), &err),
           TF_PARTIAL, "%s: finishes", what);
    bool same = true;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int64_t threads = 1; threads <= 2; threads++) {
                o.run.batch = batches[i], o.run.window = windows[j], o.run.threads = threads;
                if (score(o, temp_path("src.tfs"), temp_path("tgt.tfs"), temp_path("again"),
                          &err) != TF_PARTIAL ||
                    !same_files(temp_path("first"), temp_path("again"))) {
                    same = false;
                    printf("# batch %lld window %lld threads %lld: %s\n", (long long)o.run.batch,
                           (long long)o.run.window, (long long)threads, err.msg);
                }
            }
    ok(same, "%s: the same bytes for every batch, window and number of threads", what);
}

static double number(const char *json, const char *key)
{
    char want[40];
    snprintf(want, sizeof want, "\"%s\":", key);
    const char *at = strstr(json, want);
    return at ? strtod(at + strlen(want), NULL) : NAN;
}

/* tf-score gives tf-decode's outputs the scores that tf-decode gave them. */
static void agrees(const char *what, const char **paths, size_t n_models)
{
    struct tf_err err = {0};
    struct tf_score_opts o = defaults();
    struct tf_decode_opts d = {.run = o.run,
                               .beam = 4,
                               .nbest = 1,
                               .nbest_out = true,
                               .max_extra = 10,
                               .max_factor = 1,
                               .search = {.alpha = 0.6, .temperature = 1}};
    struct tf_in in;
    struct tf_reader *rd;
    struct tf_record rec;
    float logp[LINES] = {0};
    double worst = 0;
    static struct token_line hyp[LINES];
    static struct scores b;
    o.run.models = d.run.models = (struct tf_strs){.v = paths, .n = n_models};
    is_int(tf_decode_stream(&d, temp_path("src.tfs"), temp_path("nbest"), no_opts, &err),
           TF_PARTIAL, "%s: decoded", what);
    must(tf_in_open(&in, temp_path("nbest"), &err), &err);
    must(tf_reader_new(&rd, &in, NULL, 0, &err), &err);
    for (size_t i = 0; i < LINES && tf_reader_next(rd, &rec, &err) > 0; i++) {
        hyp[i].idx = i;
        hyp[i].code = rec.type == TF_REC_BAD ? rec.fault.code : 0;
        if (hyp[i].code)
            continue;
        hyp[i].n = rec.hyps[0].n;
        memcpy(hyp[i].ids, rec.hyps[0].ids, hyp[i].n * sizeof(uint32_t));
        logp[i] = rec.hyps[0].logp;
    }
    tf_reader_free(rd);
    tf_in_close(&in);
    write_tokens(temp_path("hyp.tfs"), hyp, LINES, 7);
    is_int(score(o, temp_path("src.tfs"), temp_path("hyp.tfs"), temp_path("one"), &err), TF_PARTIAL,
           "%s: scored", what);
    read_back(&b, temp_path("one"));
    for (size_t i = 0; i < LINES; i++)
        if (b.type[i] == TF_REC_SCORE && src[i].n > 0)
            worst = fmax(worst, fabs((double)b.logp[i] - (double)logp[i]));
    ok(worst < 1e-4, "%s: tf-decode and tf-score agree (off by %g)", what, worst);
}

/* Every option of the configuration that changes the decoder. */
static void configurations(void)
{
    static const struct {
        const char *what;
        struct tf_config c;
    } v[] = {{"attention window of 2", {.attention_window = 2}},
             {"attention window of 1, learned positions",
              {.attention_window = 1, .positions = TF_POS_LEARNED, .max_positions = 128}},
             {"pre-norm", {.pre_norm = true, .final_norm = true}},
             {"keys wider than values", {.d_k = 12, .d_v = 5}},
             {"three matrices, biases", {.tie = TF_TIE_NONE, .attention_bias = true}},
             {"swish, output bias", {.activation = TF_ACTIVATION_SWISH, .output_bias = true}},
             {"gelu, norm on the embeddings, pre-norm",
              {.activation = TF_ACTIVATION_GELU,
               .embedding_norm = true,
               .unscaled_embeddings = true,
               .pre_norm = true,
               .final_norm = true}},
             {"norm on the embeddings", {.embedding_norm = true}},
             {"pre-norm in the encoder", {.pre_norm = true, .decoder_norms = TF_NORMS_AFTER}},
             {"pre-norm in the decoder", {.decoder_norms = TF_NORMS_BEFORE_TOP}},
             {"recurrent units", {.decoder_self = TF_DECODER_SSRU}},
             {"recurrent units, window of 1, pre-norm",
              {.decoder_self = TF_DECODER_SSRU,
               .attention_window = 1,
               .pre_norm = true,
               .final_norm = true}},
             {"post-norm with final norms", {.final_norm = true}},
             {"pre-norm without", {.pre_norm = true}},
             {"halves from the third row on",
              {.position_table = TF_TABLE_HALVES, .position_offset = 2}},
             {"t2t", {.dialect = TF_AS_T2T, .start = TF_START_ZERO, .bos = -1}}};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        struct tf_config c = decode_config();
        char path[320];
        const char *paths[] = {path};
        snprintf(path, sizeof path, "%s", temp_path("axis.tfm"));
        c.attention_window = v[i].c.attention_window;
        c.positions = v[i].c.positions;
        c.max_positions = v[i].c.max_positions;
        c.pre_norm = v[i].c.pre_norm;
        c.final_norm = v[i].c.final_norm;
        c.activation = v[i].c.activation;
        c.decoder_norms = v[i].c.decoder_norms;
        c.embedding_norm = v[i].c.embedding_norm;
        c.unscaled_embeddings = v[i].c.unscaled_embeddings;
        c.output_bias = v[i].c.output_bias;
        c.decoder_self = v[i].c.decoder_self;
        c.position_table = v[i].c.position_table;
        c.position_offset = v[i].c.position_offset;
        c.d_k = v[i].c.d_k ? v[i].c.d_k : c.d_k;
        c.d_v = v[i].c.d_v ? v[i].c.d_v : c.d_v;
        c.tie = v[i].c.tie;
        c.attention_bias = v[i].c.attention_bias;
        c.dialect = v[i].c.dialect;
        c.start = v[i].c.start;
        c.bos = v[i].c.bos ? v[i].c.bos : c.bos;
        write_random_model(path, &c, 31 + i, 3);
        agrees(v[i].what, paths, 1);
    }
}

int main(void)
{
    static struct scores a, b;
    struct tf_err err;
    char path[2][320], *text;
    tf_progname = "tf-score";
    struct tf_rng r = tf_rng_new(4, 0);
    for (size_t i = 0; i < LINES; i++)
        for (int side = 0; side < 2; side++) {
            struct token_line *l = side ? &tgt[i] : &src[i];
            l->idx = i;
            l->n = tf_rng_below(&r, 15);
            for (size_t j = 0; j < l->n; j++)
                l->ids[j] = 4 + (uint32_t)tf_rng_below(&r, TOKEN_LINE_V - 4);
        }
    src[4].code = tgt[9].code = TF_BAD_UTF8;
    src[11].n = 41;
    write_tokens(temp_path("src.tfs"), src, LINES, 7);
    write_tokens(temp_path("tgt.tfs"), tgt, LINES, 7);
    write_pairs(temp_path("pairs.tfs"), temp_path("batch.tfs"));
    for (int i = 0; i < 2; i++) {
        struct tf_config c = decode_config();
        snprintf(path[i], sizeof path[i], "%s/model%d.tfm", temp_path(""), i);
        models[i] = path[i];
        c.start = i ? TF_START_ZERO : TF_START_BOS;
        write_random_model(path[i], &c, (uint64_t)i + 1, 2);
    }

    struct tf_score_opts o = defaults();
    layouts("log-probabilities", o);
    o.token = true;
    layouts("of tokens", o);
    o.form = TF_SCORE_TEXT;
    layouts("text", o);
    o.form = TF_SCORE_SUMMARY;
    layouts("summary", o);
    o = defaults();
    o.run.models = (struct tf_strs){.v = models, .n = 2};
    layouts("two models", o);

    o = defaults();
    o.token = true;
    is_int(score(o, temp_path("src.tfs"), temp_path("tgt.tfs"), temp_path("two"), &err), TF_PARTIAL,
           "two streams: %s", err.msg);
    is_int(score(o, temp_path("pairs.tfs"), NULL, temp_path("one"), &err), TF_PARTIAL,
           "a pair stream");
    read_back(&a, temp_path("two"));
    read_back(&b, temp_path("one"));
    is_mem(&a, &b, sizeof a, "give the same scores");
    bool good = a.n == LINES;
    double worst = 0, total = 0;
    for (size_t i = 0; i < a.n; i++) {
        double sum = 0;
        good &= a.idx[i] == i && (a.type[i] == TF_REC_BAD) == (i == 4 || i == 9 || i == 11) &&
                (a.type[i] == TF_REC_BAD || a.n_terms[i] == tgt[i].n + 1);
        for (size_t j = 0; j < a.n_terms[i]; j++)
            sum += (double)a.terms[i][j];
        worst = fmax(worst, fabs(sum - (double)a.logp[i]));
        total += sum;
    }
    ok(good, "one record per pair, one log-probability per token, EOS included");
    ok(worst < 1e-5, "token log-probabilities sum to the log-probability (off by %g)", worst);
    is_int(score(o, temp_path("batch.tfs"), NULL, temp_path("one"), &err), 0, "a batch stream");
    read_back(&b, temp_path("one"));
    good = b.n == LINES - 3;
    for (size_t i = 0; i < b.n; i++)
        good &= b.logp[i] == a.logp[b.idx[i]] &&
                memcmp(b.terms[i], a.terms[b.idx[i]], sizeof b.terms[i]) == 0;
    ok(good, "gives the same scores in its own order");

    o = defaults();
    o.run.device = "ref64";
    o.token = true;
    is_int(score(o, temp_path("src.tfs"), temp_path("tgt.tfs"), temp_path("one"), &err), TF_PARTIAL,
           "in double precision");
    read_back(&b, temp_path("one"));
    for (size_t i = 0; i < a.n; i++)
        worst = fmax(worst, fabs((double)a.logp[i] - (double)b.logp[i]));
    ok(worst < 1e-4, "the CPU agrees with double precision (off by %g)", worst);

    o = defaults();
    o.form = TF_SCORE_SUMMARY;
    is_int(score(o, temp_path("src.tfs"), temp_path("tgt.tfs"), temp_path("sum"), &err), TF_PARTIAL,
           "the summary");
    text = read_file(temp_path("sum"), NULL);
    double tokens = 0;
    for (size_t i = 0; i < LINES; i++)
        tokens += a.type[i] == TF_REC_BAD ? 0 : (double)tgt[i].n + 1;
    is_near(number(text, "tokens"), tokens, 0, "tokens, EOS included");
    is_near(number(text, "logp"), total, 1e-6, "log-probability");
    is_near(number(text, "perplexity"), exp(-total / tokens), 1e-6, "perplexity");
    ok(number(text, "pairs") == LINES - 3 && number(text, "bad") == 3 &&
           number(text, "accuracy") >= 0 && number(text, "accuracy") < 0.5,
       "pairs, bad and accuracy: %s", text);
    free(text);

    o = defaults();
    o.form = TF_SCORE_TEXT;
    o.token = true;
    is_int(score(o, temp_path("src.tfs"), temp_path("tgt.tfs"), temp_path("text"), &err),
           TF_PARTIAL, "text");
    text = read_file(temp_path("text"), NULL);
    size_t line = 0;
    worst = 0;
    for (char *p = text, *end; *p; p = end + 1, line++) {
        end = strchr(p, '\n');
        if (a.type[line] == TF_REC_BAD)
            worst += p != end;
        else
            worst = fmax(worst, fabs(strtod(p, NULL) - (double)a.logp[line]));
    }
    ok(line == LINES && worst < 1e-4, "one line per pair, empty for a bad pair");
    free(text);

    agrees("two models", models, 2);
    configurations();

    o = defaults();
    write_tokens(temp_path("short.tfs"), tgt, LINES - 1, 7);
    ok(score(o, temp_path("src.tfs"), temp_path("short.tfs"), temp_path("one"), &err) < 0 &&
           strstr(err.msg, "ends before"),
       "a short target: %s", err.msg);
    ok(score(o, temp_path("short.tfs"), temp_path("tgt.tfs"), temp_path("one"), &err) < 0 &&
           strstr(err.msg, "continues after the end of"),
       "a short source: %s", err.msg);
    tgt[50].idx = 51;
    write_tokens(temp_path("short.tfs"), tgt, LINES, 7);
    ok(score(o, temp_path("src.tfs"), temp_path("short.tfs"), temp_path("one"), &err) < 0 &&
           strstr(err.msg, "record 51"),
       "different record numbers: %s", err.msg);
    ok(score(o, temp_path("src.tfs"), NULL, temp_path("one"), &err) < 0 &&
           strstr(err.msg, "tokens"),
       "one token stream alone: %s", err.msg);
    o.run.bad = TF_ON_BAD_FAIL;
    ok(score(o, temp_path("pairs.tfs"), NULL, temp_path("one"), &err) < 0 &&
           strstr(err.msg, "record 4: "),
       "--bad=fail: %s", err.msg);
    return done();
}
