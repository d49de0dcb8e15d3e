/* tf-score - what a model thinks of given translations: options, one run. */
#include "base/opt.h"
#include "base/thread.h"
#include "decode/score.h"

#include <string.h>

static struct tf_score_opts o;
static const char *output;
static bool text, summary;
static const char *const devices[] = {"auto", "cpu", "ref", "ref64", "cuda", NULL};
static int device;

static struct tf_opt opts[] = {
    {TF_OPT_GROUP, .help = "Models and streams"},
    {TF_OPT_LIST, 'm', "model", .target = &o.models, .arg = "FILE", .flags = TF_OPT_FILE, .help = "model or checkpoint; several times: their probabilities are averaged"},
    {TF_OPT_STR, 'o', "output", .target = &output, .arg = "FILE", .def = "-", .flags = TF_OPT_FILE, .help = "write here instead of to stdout"},
    {TF_OPT_FLAG, .name = "force-vocab", .target = &o.force_vocab, .help = "go on when vocabularies have different hashes"},
    {TF_OPT_CHOICE, .name = "bad", .target = &o.bad, .arg = "WORD", .def = "mark", .choices = tf_on_bad_words, .help = "bad records: go on and exit with 4, fail at the first, or exit with 0"},
    {TF_OPT_INT, .name = "max-length", .target = &o.max_length, .arg = "N", .def = "1024", .lo = 1, .hi = 1 << 20, .flags = TF_OPT_SEMANTIC, .help = "a pair with a longer side becomes a bad record"},
    {TF_OPT_GROUP, .help = "Output"},
    {TF_OPT_FLAG, .name = "token", .target = &o.token, .flags = TF_OPT_SEMANTIC, .help = "the log-probability of every token too"},
    {TF_OPT_FLAG, .name = "text", .target = &text, .help = "lines of text instead of a score stream"},
    {TF_OPT_FLAG, .name = "summary", .target = &summary, .help = "only the totals, as one line of JSON"},
    {TF_OPT_FLAG, 'q', "quiet", .target = &o.quiet, .help = "no totals on stderr"},
    {TF_OPT_GROUP, .help = "Running (the output does not depend on these)"},
    {TF_OPT_CHOICE, 'd', "device", .target = &device, .arg = "NAME", .def = "auto", .choices = devices, .help = "where to compute"},
    {TF_OPT_INT, 't', "threads", .target = &o.threads, .arg = "N", .lo = 1, .hi = 64, .help = "threads; default: the CPUs at hand"},
    {TF_OPT_INT, 'b', "batch", .target = &o.batch, .arg = "N", .def = "64", .lo = 1, .hi = 65536, .help = "pairs scored together"},
    {TF_OPT_INT, 'w', "window", .target = &o.window, .arg = "N", .def = "2048", .lo = 1, .hi = 1 << 20, .help = "pairs read ahead and sorted by length, while input is ready"},
    {TF_OPT_FLAG, .name = "progress", .target = &o.progress, .help = "show the rate even where stderr is no terminal"},
    {TF_OPT_END},
};

static const struct tf_tool tool = {
    .name = "tf-score",
    .synopsis = "-m MODEL [options] SRC.tfs TGT.tfs >scores.tfs\n-m MODEL [options] [PAIRS.tfs]",
    .summary = "log-probabilities that a model gives to pairs of source and target",
    .opts = opts,
    .max_args = 2,
};

static int check(const char *const *inputs, size_t n, struct tf_err *err)
{
    int in = 0;
    if (o.models.n == 0)
        return tf_fail_status(err, TF_USAGE, "no model: give -m FILE");
    for (size_t i = 0; i < o.models.n; i++)
        in += strcmp(o.models.v[i], "-") == 0;
    for (size_t i = 0; i < n; i++)
        in += strcmp(inputs[i], "-") == 0;
    if (in > 1)
        return tf_fail_status(err, TF_USAGE, "only one of model and inputs can be stdin");
    if (text && summary)
        return tf_fail_status(err, TF_USAGE, "--text and --summary do not go together");
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
        o.threads = o.threads > 0 ? o.threads : tf_threads_default();
        o.device = devices[device];
        rc = tf_score_run(&o, inputs, n, output, opts, &err);
    }
    return tf_finish(rc, &err);
}
