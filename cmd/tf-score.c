/* tf-score - what a model thinks of given translations: options, one run. */
#include "base/file.h"
#include "infer/score_stream.h"
#include "rows.h"

static struct tf_score_opts o;
static const char *output;
static bool text, summary;
static int device, precision;

static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "Models and streams"},
    ROW_MODELS(o.run.models),
    ROW_OUTPUT(output),
    ROW_FORCE_VOCAB(o.run.force_vocab),
    ROW_BAD(o.run.bad, "bad records"),
    ROW_MAX_LENGTH(o.run.max_length, "a pair with a longer side"),
    {TF_OPT_GROUP, .help = "Output"},
    {TF_OPT_REAL, 'a', "alpha", .target = &o.alpha, .arg = "X", .def = "0.6", .lo = 0, .hi = 100,
     .help = "of n-best lists: score = logp / ((5 + length) / 6)^X"},
    {TF_OPT_FLAG, .name = "token", .target = &o.token, .flags = TF_OPT_SEMANTIC,
     .help = "the log-probability of every token too"},
    {TF_OPT_FLAG, .name = "text", .target = &text,
     .help = "lines of text instead of a score stream"},
    {TF_OPT_FLAG, .name = "summary", .target = &summary,
     .help = "only the totals, as one line of JSON"},
    {TF_OPT_GROUP, .help = "Device"},
    ROW_DEVICE(device),
    ROW_PRECISION(precision, precisions, "of activations", "fp16"),
    ROWS_RUNNING(o.run, "pairs"),
    {.kind = TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-score",
    .synopsis = "-m MODEL [options] SRC.tfs TGT.tfs >scores.tfs\n"
                "-m MODEL [options] SRC.tfs NBEST.tfs >nbest.tfs\n"
                "-m MODEL [options] [PAIRS.tfs]",
    .summary = "log-probabilities that a model gives to pairs of source and target",
    .opts = opts,
    .max_args = 2,
};

static int check(const char *const *inputs, size_t n, struct tf_err *err)
{
    if (o.run.models.n == 0)
        return tf_fail_status(err, TF_USAGE, "no model: give -m FILE");
    if (tf_count_stdin(o.run.models.v, o.run.models.n) + tf_count_stdin(inputs, n) > 1)
        return tf_fail_status(err, TF_USAGE, "only one of model and inputs can be stdin");
    if (text && summary)
        return tf_fail_status(err, TF_USAGE, "--text and --summary do not go together");
    if (o.token && summary)
        return tf_fail_status(err, TF_USAGE, "--token and --summary do not go together");
    o.alpha_given = tf_opt_find(opts, "alpha")->set;
    if (o.alpha_given && (text || summary))
        return tf_fail_status(err, TF_USAGE, "--alpha and --%s do not go together",
                              text ? "text" : "summary");
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const std_in[] = {"-"};
    struct tf_err err = {0};
    struct tf_args args;
    int rc = tf_opt_parse(&tool, argc, argv, &args, &err);
    const char *const *inputs = rc == 0 && args.n > 0 ? args.v : std_in;
    size_t n = rc == 0 && args.n > 0 ? (size_t)args.n : 1;
    if (rc == 0)
        rc = check(inputs, n, &err);
    if (rc == 0) {
        o.form = summary ? TF_SCORE_SUMMARY : text ? TF_SCORE_TEXT : TF_SCORE_STREAM;
        o.run.device = devices[device];
        o.run.precision = precision > 0 ? precisions[precision] : NULL;
        rc = tf_score_stream(&o, inputs, n, output, opts, &err);
    }
    return tf_finish(rc, &err);
}
