/* tf-decode - translate token streams with a model. */
#include "base/sandbox.h"
#include "infer/decode_stream.h"
#include "model_options.h"
#include "ops/backend.h"

static struct tf_decode_opts o;
static const char *output;
static const char *const decoding[] = {PRECISIONS, "int8", NULL};
static int precision;

enum { SEARCH = 1, SAMPLE = 2 };

static struct tf_opt opts[] = {
    OPT_GROUP("Models and streams"),
    COMMON_MODELS(&o.run.models),
    COMMON_OUTPUT(&output),
    OPT_STR(0, "prefix", &o.prefix, .arg = "FILE", .flags = TF_OPT_FILE,
            .help = "token stream with one prefix per input; each output starts with its prefix"),
    OPT_STR(0, "insert", &o.insert, .arg = "FILE", .flags = TF_OPT_FILE, .excludes = "prefix",
            .help = "each output is its input with tokens of this stream between (CPU only)"),
    OPT_INT(0, "max-insert", &o.max_insert, .arg = "N", .def = "0", .lo = 0, .hi = 1 << 20,
            .flags = TF_OPT_SEMANTIC, .needs = "insert",
            .help = "--insert: at most N of these tokens in a row; 0: any number"),
    COMMON_FORCE(o.run.force),
    COMMON_BAD(&o.run.bad, "bad records"),
    OPT_GROUP("Search"),
    OPT_INT('k', "beam", &o.beam, .arg = "K", .def = "4", .lo = 1, .hi = TF_SEARCH_MAX_BEAM,
            .flags = TF_OPT_SEMANTIC, .modes = SEARCH, .help = "beam size; 1 is greedy search"),
    OPT_REAL('a', "alpha", &o.alpha, .arg = "X", .def = "0.6", .lo = 0, .hi = 100,
             .flags = TF_OPT_SEMANTIC,
             .help = "length penalty: score = logp / ((5 + length) / 6)^X"),
    OPT_REAL(0, "normalize", &o.normalize, .arg = "X", .lo = 0, .hi = 100,
             .flags = TF_OPT_SEMANTIC, .excludes = "alpha",
             .help = "another length penalty instead, Marian's: score = logp / length^X"),
    OPT_INT(0, "max-extra", &o.max_extra, .arg = "N", .def = TEXT(TF_MAX_EXTRA), .lo = 0,
            .hi = 1 << 20, .flags = TF_OPT_SEMANTIC,
            .help = "limit each output to N tokens more than its input"),
    COMMON_MAX_LENGTH(&o.run.max_length, "an input longer than N tokens"),
    OPT_FLAG(0, "truncate", &o.truncate, .flags = TF_OPT_SEMANTIC,
             .help = "cut a longer input to N tokens instead"),
    OPT_INT(0, "min-length", &o.min_length, .arg = "N", .lo = 1, .hi = 1 << 20,
            .flags = TF_OPT_SEMANTIC, .excludes = "insert",
            .help = "no output ends with fewer than N tokens, prefix included"),
    OPT_INT(0, "no-repeat-ngram", &o.ngram, .arg = "N", .lo = 1,
            .hi = 1 << 20, .flags = TF_OPT_SEMANTIC, .excludes = "insert",
            .help = "no N tokens in a row occur twice in an output"),
    OPT_REAL(0, "repetition-penalty", &o.repetition, .arg = "X", .lo = 1e-3, .hi = 1e3,
             .flags = TF_OPT_SEMANTIC, .excludes = "insert",
             .help = "multiply log P of each token that the output has already by X"),
    OPT_FLAG(0, "allow-unk", &o.allow_unk, .flags = TF_OPT_SEMANTIC,
             .help = "allow the unknown token in outputs"),
    OPT_GROUP("Sampling"),
    OPT_FLAG(0, "sample", &o.sample, .flags = TF_OPT_SEMANTIC, .selects = SAMPLE,
             .help = "draw each token from the model's distribution; --nbest N draws N outputs"),
    OPT_INT(0, "seed", &o.seed, .arg = "N", .def = "1", .lo = 0, .hi = TF_SEED_MAX,
            .flags = TF_OPT_SEMANTIC, .modes = SAMPLE,
            .help = "random seed; the draws of a line depend only on the seed and the line number"),
    OPT_REAL(0, "temperature", &o.temperature, .arg = "X", .def = "1", .lo = 1e-3, .hi = 1e3,
             .flags = TF_OPT_SEMANTIC, .modes = SAMPLE,
             .help = "temperature; below 1 favours likely tokens"),
    OPT_INT(0, "top-k", &o.top_k, .arg = "N", .def = "0", .lo = 0, .hi = 4294967295.0,
            .flags = TF_OPT_SEMANTIC, .modes = SAMPLE,
            .help = "draw from the N most likely tokens; 0: from all"),
    OPT_REAL(0, "top-p", &o.top_p, .arg = "P", .def = "1", .lo = 1e-9, .hi = 1,
             .flags = TF_OPT_SEMANTIC, .modes = SAMPLE,
             .help = "draw from the fewest tokens whose probabilities sum to at least P"),
    OPT_GROUP("Output"),
    OPT_INT('n', "nbest", &o.nbest, .arg = "N", .lo = 1, .hi = TF_SEARCH_MAX_BEAM,
            .flags = TF_OPT_SEMANTIC,
            .help = "write an n-best stream: the N best outputs with scores, N at most --beam"),
    OPT_FLAG(0, "token-scores", &o.token_scores, .flags = TF_OPT_SEMANTIC,
             .help = "write an n-best stream with the log-probability of every token"),
    OPT_GROUP("Device"),
    COMMON_DEVICE(&o.run.device),
    COMMON_PRECISION(&precision, decoding, "int8: 8-bit products on the CPU; ", "fp16"),
    COMMON_RUNNING(o.run, "sentences"),
    OPT_END,
};

/* No sandbox where the device may be a plugin. */
static void widen(const struct tf_args *args, struct tf_sandbox *sandbox)
{
    (void)args;
    sandbox->off = tf_backend_may_load(o.run.device);
}

static const struct tf_tool tool = {
    .name = "tf-decode",
    .synopsis = "-m MODEL [-m MODEL ...] [options] [tokens.tfs] >tokens.tfs",
    .summary = "translate token streams with a model: beam search, greedy search, sampling, n-best",
    .opts = opts,
    .max_args = 1,
    .default_mode = "search",
    .stdin_modes = SEARCH | SAMPLE,
    .widen = widen,
};

static int run(const struct tf_args *args, struct tf_err *err)
{
    if (o.run.models.n == 0)
        return tf_fail_status(err, TF_USAGE, "-m FILE is required");
    if (args->mode == SEARCH && o.nbest > o.beam)
        return tf_fail_status(err, TF_USAGE, "--nbest %lld: larger than --beam %lld",
                              (long long)o.nbest, (long long)o.beam);
    if (tf_opt_given(opts, "normalize"))
        o.alpha = 0;
    o.nbest_out = o.nbest > 0 || o.token_scores;
    o.nbest = o.nbest > 0 ? o.nbest : 1;
    o.run.precision = precision > 0 ? decoding[precision] : NULL;
    return tf_decode_stream(&o, args->v[0], output, opts, err);
}

int main(int argc, char **argv)
{
    return tf_tool_main(&tool, argc, argv, run);
}
