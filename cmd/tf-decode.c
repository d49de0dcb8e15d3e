/* tf-decode - token streams through a model: options, one run. */
#include "base/file.h"
#include "infer/decode_stream.h"
#include "modes.h"
#include "rows.h"

static struct tf_decode_opts o;
static const char *output;
static const char *const decoding[] = {PRECISIONS, "int8", NULL};
static int device, precision;

static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "Models and streams"},
    ROW_MODELS(o.run.models),
    ROW_OUTPUT(output),
    {TF_OPT_STR, .name = "prefix", .target = &o.prefix, .arg = "FILE", .flags = TF_OPT_FILE,
     .help = "token stream of the same lines: every output begins with its prefix"},
    ROW_FORCE_VOCAB(o.run.force_vocab),
    ROW_BAD(o.run.bad, "bad records"),
    {TF_OPT_GROUP, .help = "Search"},
    {TF_OPT_INT, 'k', "beam", .target = &o.beam, .arg = "K", .def = "4", .lo = 1,
     .hi = TF_SEARCH_MAX_BEAM, .flags = TF_OPT_SEMANTIC,
     .help = "hypotheses kept; 1 is greedy search"},
    {TF_OPT_REAL, 'a', "alpha", .target = &o.alpha, .arg = "X", .def = "0.6", .lo = 0, .hi = 100,
     .flags = TF_OPT_SEMANTIC, .help = "length penalty: score = logp / ((5 + length) / 6)^X"},
    {TF_OPT_INT, .name = "max-extra", .target = &o.max_extra, .arg = "N", .def = "50", .lo = 0,
     .hi = 1 << 20, .flags = TF_OPT_SEMANTIC,
     .help = "an output has at most so many tokens more than its input"},
    ROW_MAX_LENGTH(o.run.max_length, "a longer input"),
    {TF_OPT_FLAG, .name = "allow-unk", .target = &o.allow_unk, .flags = TF_OPT_SEMANTIC,
     .help = "allow the unknown token in outputs"},
    {TF_OPT_GROUP, .help = "Sampling"},
    {TF_OPT_FLAG, .name = "sample", .target = &o.sample, .flags = TF_OPT_SEMANTIC,
     .help = "draw each token from the model's distribution; with --nbest so many draws"},
    {TF_OPT_INT, .name = "seed", .target = &o.seed, .arg = "N", .def = "1", .lo = 0,
     .hi = 9007199254740992.0, .flags = TF_OPT_SEMANTIC,
     .help = "of --sample; a line's draws depend on this and its number alone"},
    {TF_OPT_REAL, .name = "temperature", .target = &o.temperature, .arg = "X", .def = "1",
     .lo = 1e-3, .hi = 1e3, .flags = TF_OPT_SEMANTIC,
     .help = "of --sample: below 1 draws the likely more often"},
    {TF_OPT_INT, .name = "top-k", .target = &o.top_k, .arg = "N", .def = "0", .lo = 0,
     .hi = 4294967295.0, .flags = TF_OPT_SEMANTIC,
     .help = "of --sample: draw from the N likeliest tokens only; 0: from all"},
    {TF_OPT_REAL, .name = "top-p", .target = &o.top_p, .arg = "P", .def = "1", .lo = 1e-9, .hi = 1,
     .flags = TF_OPT_SEMANTIC,
     .help = "of --sample: draw from the fewest tokens that hold the share P only"},
    {TF_OPT_GROUP, .help = "Output"},
    {TF_OPT_INT, 'n', "nbest", .target = &o.nbest, .arg = "N", .lo = 1, .hi = TF_SEARCH_MAX_BEAM,
     .flags = TF_OPT_SEMANTIC,
     .help = "an n-best stream with the N best and their scores, N at most the beam"},
    {TF_OPT_FLAG, .name = "token-scores", .target = &o.token_scores, .flags = TF_OPT_SEMANTIC,
     .help = "an n-best stream with the log-probability of every token"},
    {TF_OPT_GROUP, .help = "Device"},
    ROW_DEVICE(device),
    ROW_PRECISION(precision, decoding, "of activations; int8: products in 8 bits, on the CPU",
                  "fp16"),
    ROWS_RUNNING(o.run, "sentences"),
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-decode",
    .synopsis = "-m MODEL [-m MODEL ...] [options] [tokens.tfs] >tokens.tfs",
    .summary = "translate token streams with a model: beam search, greedy search, sampling, n-best",
    .opts = opts,
    .max_args = 1,
};

enum { SEARCH = 1, SAMPLE = 2 };
static const struct mode_row modes[] = {
    {SEARCH, "search; with --sample, --nbest says how many draws", {"beam"}},
    {SAMPLE, "--sample", {"seed", "temperature", "top-k", "top-p"}},
    {0},
};

static int check(const char *input, struct tf_err *err)
{
    if (o.run.models.n == 0)
        return tf_fail_status(err, TF_USAGE, "no model: give -m FILE");
    if (tf_count_stdin(o.run.models.v, o.run.models.n) +
            tf_count_stdin((const char *const[]){input, o.prefix}, 2) >
        1)
        return tf_fail_status(err, TF_USAGE, "only one of model, prefix and input can be stdin");
    if (check_modes(opts, modes, o.sample ? SAMPLE : SEARCH, err) < 0)
        return -1;
    if (!o.sample && o.nbest > o.beam)
        return tf_fail_status(err, TF_USAGE, "--nbest %lld: larger than --beam %lld",
                              (long long)o.nbest, (long long)o.beam);
    return 0;
}

int main(int argc, char **argv)
{
    struct tf_err err = {0};
    struct tf_args args;
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    const char *input = rc == 0 && args.n > 0 ? args.v[0] : "-";
    if (rc == 0)
        rc = check(input, &err);
    if (rc == 0) {
        o.nbest_out = o.nbest > 0 || o.token_scores;
        o.nbest = o.nbest > 0 ? o.nbest : 1;
        o.run.device = devices[device];
        o.run.precision = precision > 0 ? decoding[precision] : NULL;
        rc = tf_decode_stream(&o, input, output, opts, &err);
    }
    return tf_finish(rc, &err);
}
